//! What the chart renders, without a cluster.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};
use testkit::install;

use crate::helm::{named, objects, of_kind, template, with_chart};

/// Everything that is off unless a value turns it on.
const EVERYTHING: &str =
    "networkPolicy.enabled=true,podMonitor.enabled=true,prometheusRule.enabled=true,dashboard.enabled=true";
/// Each way to a certificate.
const TLS_MODES: [&str; 3] = [
    "webhook.tls.mode=self",
    "webhook.tls.mode=certManager",
    "webhook.tls.mode=secret,webhook.tls.secretName=by-hand",
];

fn print(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_streaming-operator"))
        .args(arguments)
        .output()
        .expect("the program");
    assert!(output.status.success(), "{arguments:?}");
    install::documents(std::str::from_utf8(&output.stdout).expect("UTF-8")).expect("YAML")
}

#[test]
fn lint_has_nothing_to_say_against_it_whatever_is_turned_on() {
    for mode in TLS_MODES {
        let output = with_chart(&["lint", "--strict"], &["--set", EVERYTHING, "--set", mode]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn two_renders_are_the_same_bytes() {
    for mode in TLS_MODES {
        let arguments = ["--set", EVERYTHING, "--set", mode];
        assert_eq!(template(&arguments), template(&arguments));
    }
}

#[test]
fn no_secret_no_key_and_no_ca_bundle_is_ever_rendered() {
    for mode in TLS_MODES {
        let text = template(&["--set", EVERYTHING, "--set", mode]);
        for word in ["caBundle", "PRIVATE KEY", "BEGIN CERTIFICATE", "\nkind: Secret\n"] {
            assert!(!text.contains(word), "{mode}: {word:?}");
        }
    }
}

/// A rendered configuration without what is the release's own: labels and annotations.
fn bare(mut configuration: Value) -> Value {
    let metadata = configuration["metadata"].as_object_mut().expect("metadata");
    metadata.retain(|key, _| key == "name");
    configuration
}

#[test]
fn the_webhook_configurations_are_those_that_the_program_prints() {
    let cases: [(&[&str], &[&str]); 2] = [
        (&[], &["webhook-config", "--service", "ops/streaming-operator"]),
        (
            &[
                "--set",
                "service.port=8443,webhook.configName=ours,watchNamespaces={a,b},fullnameOverride=narrow",
            ],
            &[
                "webhook-config",
                "--service=ops/narrow:8443",
                "--webhook-config-name=ours",
                "--watch-namespace=a",
                "--watch-namespace=b",
            ],
        ),
    ];
    for (values, flags) in cases {
        let rendered = objects(&[values, &["--show-only", "templates/webhooks.yaml"]].concat());
        let rendered: Vec<Value> = rendered.into_iter().map(bare).collect();
        assert_eq!(rendered, print(flags));
    }
}

#[test]
fn the_failure_policy_is_a_value_and_the_rules_name_our_kinds_alone() {
    let rendered = objects(&["--set", "webhook.failurePolicy=Ignore"]);
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        let webhooks = &named(&rendered, kind, "streaming-operator")["webhooks"];
        let webhooks = webhooks.as_array().expect("a list");
        assert_eq!(webhooks.len(), 2);
        for (webhook, resource) in webhooks.iter().zip(["streamingpipelines", "rolloutanalyses"]) {
            assert_eq!(webhook["failurePolicy"], "Ignore");
            assert_eq!(webhook["rules"][0]["apiGroups"], json!(["streams.sentry.io"]));
            assert_eq!(webhook["rules"][0]["resources"], json!([resource]));
        }
    }
}

#[test]
fn the_crds_are_those_that_the_program_prints_and_stay_unless_told_otherwise() {
    let mut printed = print(&["crd"]);
    // As their files are called.
    printed.sort_by_key(|crd| crd["metadata"]["name"].to_string());
    let rendered = objects(&["--show-only", "templates/crds.yaml"]);
    assert_eq!(rendered.len(), printed.len());
    for (rendered, printed) in rendered.iter().zip(&printed) {
        assert_eq!(rendered["metadata"]["name"], printed["metadata"]["name"]);
        assert_eq!(rendered["spec"], printed["spec"]);
        let kept = &rendered["metadata"]["annotations"]["helm.sh/resource-policy"];
        assert_eq!(kept, "keep");
    }
    let dropped = objects(&["--set", "crds.keep=false", "--show-only", "templates/crds.yaml"]);
    assert!(dropped[0]["metadata"].get("annotations").is_none());
    assert!(of_kind(&objects(&["--set", "crds.install=false"]), "CustomResourceDefinition").is_empty());
}

#[test]
fn the_pods_fit_the_restricted_standard() {
    let rendered = objects(&[]);
    let deployment = named(&rendered, "Deployment", "streaming-operator");
    let hook = named(&rendered, "Pod", "streaming-operator-test");
    for pod in [&deployment["spec"]["template"]["spec"], &hook["spec"]] {
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["readOnlyRootFilesystem"], true);
        assert_eq!(container["capabilities"], json!({ "drop": ["ALL"] }));
        assert!(pod.get("hostNetwork").is_none());
    }
}

#[test]
fn two_replicas_take_turns_and_end_in_peace() {
    let rendered = objects(&[]);
    let spec = &named(&rendered, "Deployment", "streaming-operator")["spec"];
    assert_eq!(spec["replicas"], 2);
    assert_eq!(
        spec["strategy"]["rollingUpdate"],
        json!({ "maxUnavailable": 0, "maxSurge": 1 })
    );
    let pod = &spec["template"]["spec"];
    // 5 s of shutdown delay, at most 10 s of drain, 5 s for the passes in hand and 10 s for the lease.
    assert_eq!(pod["terminationGracePeriodSeconds"], 60);
    let probes = &pod["containers"][0];
    assert_eq!(
        probes["readinessProbe"]["httpGet"],
        json!({ "path": "/readyz", "port": "http" })
    );
    assert_eq!(
        probes["livenessProbe"]["httpGet"],
        json!({ "path": "/livez", "port": "http" })
    );
    let keys: Vec<_> = pod["topologySpreadConstraints"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|constraint| (&constraint["topologyKey"], &constraint["labelSelector"]))
        .collect();
    let selector = &spec["selector"];
    assert_eq!(
        keys,
        [
            (&json!("kubernetes.io/hostname"), selector),
            (&json!("topology.kubernetes.io/zone"), selector)
        ]
    );
    let budget = &named(&rendered, "PodDisruptionBudget", "streaming-operator")["spec"];
    assert_eq!(budget["maxUnavailable"], 1);
    assert_eq!(&budget["selector"], selector);
    // Neither the Service nor the budget may count the Pod of `helm test`.
    let hook = &named(&rendered, "Pod", "streaming-operator-test")["metadata"]["labels"];
    assert_ne!(
        hook["app.kubernetes.io/name"],
        selector["matchLabels"]["app.kubernetes.io/name"]
    );
}

#[test]
fn the_port_of_the_webhook_agrees_everywhere() {
    let rendered = objects(&[
        "--set",
        "webhook.port=10250,hostNetwork=true,networkPolicy.enabled=true",
    ]);
    let pod = &named(&rendered, "Deployment", "streaming-operator")["spec"]["template"]["spec"];
    assert_eq!(pod["hostNetwork"], true);
    let ports = &pod["containers"][0]["ports"];
    assert_eq!(ports[0], json!({ "name": "webhook", "containerPort": 10250 }));
    let service = &named(&rendered, "Service", "streaming-operator")["spec"]["ports"];
    assert_eq!(service[0]["targetPort"], "webhook");
    let policy = &named(&rendered, "NetworkPolicy", "streaming-operator")["spec"]["ingress"];
    assert_eq!(policy[0]["ports"], json!([{ "port": "webhook" }]));
}

#[test]
fn two_releases_share_no_name() {
    let names = |release: &str, namespace: &str| -> BTreeSet<String> {
        let output = with_chart(
            &["template", release, "--namespace", namespace],
            &["--set", "crds.install=false"],
        );
        let rendered = install::documents(&String::from_utf8_lossy(&output.stdout)).expect("YAML");
        rendered
            .iter()
            .map(|object| format!("{} {}", object["kind"], object["metadata"]["name"]))
            .collect()
    };
    // Longer than any release may be: they differ in the last letter alone.
    let long = "a-release-whose-name-is-as-long-as-helm-lets-it-become-";
    let long = &long[..52];
    let (a, b) = (names(&format!("{long}a"), "x"), names(&format!("{long}b"), "y"));
    assert!(a.len() > 10, "{a:?}");
    assert!(a.is_disjoint(&b), "{a:?}\n{b:?}");
}

#[test]
fn without_a_webhook_there_is_neither_service_nor_configuration_nor_certificate() {
    let rendered = objects(&["--set", "webhook.enabled=false,webhook.tls.mode=certManager"]);
    for kind in [
        "Service",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "Certificate",
        "StreamingPipeline",
    ] {
        assert!(of_kind(&rendered, kind).is_empty(), "{kind}");
    }
}
