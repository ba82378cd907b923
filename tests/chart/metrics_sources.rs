//! The value metricsSources: what is mounted is what the program reads, and the policy of the network lets it through.

use std::path::Path;

use serde_json::{Value, json};
use streaming_operator::metrics_sources::file;
use streaming_operator::metrics_sources::settings::Credentials;
use testkit::workdir;

use crate::helm::{arguments_of, named, objects, of_kind, refusal, with_chart};

const FOLDER: &str = "/etc/streaming-operator/metrics-sources";
const SECRETS: &str = "/etc/streaming-operator/metrics-secrets";

/// Sources of every shape.
const VALUES: &str = "
networkPolicy: {enabled: true}
metricsSources:
  default:
    url: http://prometheus.monitoring
    timeout: 5s
    maxConcurrent: 8
    bodyLimitBytes: 2000000
  mimir:
    url: https://mimir.example:8443/prometheus
    authSecret: {name: mimir}
    caSecret: {name: mimir-tls, key: tls.crt}
    headers: {X-Scope-OrgID: ingest}
  thanos:
    url: https://thanos.example
    basicAuthSecret: {name: thanos-user, passwordKey: pass}
    caConfigMap: {name: authorities}
  own:
    url: https://prometheus.example:9091
    serviceAccountToken: true
    caConfigMap: {name: authorities, key: service-ca.crt}
";

fn rendered() -> Vec<Value> {
    let file = workdir::workdir("values").unwrap().join("values.yaml");
    std::fs::write(&file, VALUES).unwrap();
    let output = with_chart(&["lint", "--strict"], &["--values", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    objects(&["--values", file.to_str().unwrap()])
}

/// Writes what is mounted below `folder`: the ConfigMap's files, and for each key of a Secret a file with this text.
fn mount(objects: &[Value], folder: &Path, secret: &str) {
    let pod = &named(objects, "Deployment", "streaming-operator")["spec"]["template"]["spec"];
    let config = named(objects, "ConfigMap", "streaming-operator-metrics-sources");
    for (name, text) in config["data"].as_object().unwrap() {
        let text = text.as_str().unwrap().replace(SECRETS, folder.to_str().unwrap());
        std::fs::write(folder.join(name), text).unwrap();
    }
    let volumes = pod["volumes"].as_array().unwrap();
    let projected = volumes
        .iter()
        .find(|volume| volume["name"] == "metrics-secrets")
        .unwrap();
    for source in projected["projected"]["sources"].as_array().unwrap() {
        let of = source.get("secret").or_else(|| source.get("configMap")).unwrap();
        for item in of["items"].as_array().unwrap() {
            let path = folder.join(item["path"].as_str().unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let is_authority = path.ends_with("ca.crt");
            std::fs::write(&path, if is_authority { certificate() } else { secret.to_owned() }).unwrap();
        }
    }
}

fn certificate() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(["authority".to_owned()]).unwrap();
    certificate.self_signed(&key).unwrap().pem()
}

#[test]
fn the_program_reads_what_the_chart_mounts() {
    let objects = rendered();
    let folder = workdir::workdir("mounted").unwrap();
    mount(&objects, &folder, "secret");
    let arguments = arguments_of(named(&objects, "Deployment", "streaming-operator"));
    let flags = arguments
        .iter()
        .filter_map(|argument| argument.strip_prefix("--metrics-source="));
    let flags: Vec<String> = flags
        .map(|flag| flag.replace(FOLDER, folder.to_str().unwrap()))
        .collect();
    // The operator's own token is in no cluster that this test has.
    let (own, flags): (Vec<_>, Vec<_>) = flags.into_iter().partition(|flag| flag.starts_with("own="));
    let read = file::read(&flags).expect("sources");
    let names: Vec<_> = read.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["default", "mimir", "thanos"]);
    assert_eq!(read[0].credentials, Credentials::None);
    assert_eq!(
        (read[0].timeout.as_secs(), read[0].max_concurrent, read[0].body_limit),
        (5, 8, 2_000_000)
    );
    assert!(matches!(read[1].credentials, Credentials::Bearer { .. }));
    assert_eq!(read[1].headers["x-scope-orgid"], "ingest");
    assert!(matches!(read[2].credentials, Credentials::Basic { .. }));
    assert!(read[1].ca_file.is_some() && read[2].ca_file.is_some());
    let faults = file::read(&own).expect_err("no token here");
    let token = "bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token cannot be read";
    assert!(faults.len() == 1 && faults[0].contains(token), "{faults:?}");
}

#[test]
fn each_source_has_the_keys_of_its_secrets_and_no_other() {
    let objects = rendered();
    let pod = &named(&objects, "Deployment", "streaming-operator")["spec"]["template"]["spec"];
    let volumes = pod["volumes"].as_array().unwrap();
    let projected = volumes
        .iter()
        .find(|volume| volume["name"] == "metrics-secrets")
        .unwrap();
    assert_eq!(
        projected["projected"]["sources"],
        json!([
            {"secret": {"name": "mimir", "items": [{"key": "token", "path": "mimir/token"}]}},
            {"secret": {"name": "mimir-tls", "items": [{"key": "tls.crt", "path": "mimir/ca.crt"}]}},
            {"configMap": {"name": "authorities", "items": [{"key": "service-ca.crt", "path": "own/ca.crt"}]}},
            {"secret": {"name": "thanos-user", "items": [
                {"key": "username", "path": "thanos/username"}, {"key": "pass", "path": "thanos/password"}]}},
            {"configMap": {"name": "authorities", "items": [{"key": "ca.crt", "path": "thanos/ca.crt"}]}},
        ])
    );
    assert_eq!(
        pod["containers"][0]["volumeMounts"],
        json!([
            {"name": "metrics-sources", "mountPath": FOLDER, "readOnly": true},
            {"name": "metrics-secrets", "mountPath": SECRETS, "readOnly": true},
        ])
    );
}

#[test]
fn the_policy_of_the_network_lets_the_operator_reach_its_sources_and_their_pods() {
    let objects = rendered();
    let egress = &of_kind(&objects, "NetworkPolicy")[0]["spec"]["egress"];
    assert_eq!(
        egress[2],
        json!({"ports": [{"port": 443}, {"port": 80}, {"port": 8443}, {"port": 9090}, {"port": 9091}]})
    );
    let without = self::objects(&["--set", "networkPolicy.enabled=true"]);
    let egress = of_kind(&without, "NetworkPolicy")[0]["spec"]["egress"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(egress, 2, "the API server and DNS");
}

#[test]
fn without_sources_nothing_of_them_is_there() {
    let objects = objects(&[]);
    let text = serde_json::to_string(&objects).unwrap();
    assert!(
        !text.contains("metrics-sources") && !text.contains("metrics-secrets"),
        "{text}"
    );
}

#[test]
fn an_edit_of_a_source_starts_new_pods_which_read_it() {
    let checksum = |url: &str| {
        let objects = objects(&["--set", &format!("metricsSources.default.url={url}")]);
        let template = &named(&objects, "Deployment", "streaming-operator")["spec"]["template"];
        template["metadata"]["annotations"]["checksum/metrics-sources"].clone()
    };
    assert!(checksum("http://a").is_string());
    assert_ne!(checksum("http://a"), checksum("http://b"));
}

#[test]
fn a_source_that_no_program_would_take_is_refused_with_its_path() {
    for (value, told) in [
        ("metricsSources.Main.url=http://p", "invalid propertyName 'Main'"),
        (
            "metricsSources.a.timeout=5s",
            "at '/metricsSources/a': missing property 'url'",
        ),
        (
            "metricsSources.a.url=http://me:secret@p",
            "at '/metricsSources/a/url': ",
        ),
        ("metricsSources.a.url=http://p?a=b", "at '/metricsSources/a/url': "),
        (
            "metricsSources.a.url=http://p,metricsSources.a.caSecret.name=a,metricsSources.a.caConfigMap.name=b",
            "at '/metricsSources/a': 'allOf' failed",
        ),
        (
            "metricsSources.a.url=http://p,metricsSources.a.insecureSkipVerify=true",
            "at '/metricsSources/a': additional properties 'insecureSkipVerify' not allowed",
        ),
    ] {
        let answer = refusal(&["--set", value]);
        assert!(answer.contains(told), "{value}: {answer}");
    }
}
