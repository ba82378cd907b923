//! Each way to a certificate that the operator does not make itself. cert-manager's part is played by this test: it writes
//! the Secret, and what its injector writes.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use testkit::workdir;

use crate::helm;
use crate::replica::{Release, apply, pipeline};
use crate::rights::cluster;

/// What the Secret of a release holds, and the folder in which a kubelet would show it.
struct Mounted {
    folder: PathBuf,
    authority: String,
}

/// A certificate for `host` by an authority of its own; with `ca.crt` beside it or not.
fn mounted(host: &str, with_authority: bool) -> Mounted {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = ca.self_signed(&ca_key).unwrap().pem();
    let issuer = Issuer::from_params(&ca, &ca_key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec![host.to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let folder = workdir::workdir("mounted").unwrap();
    std::fs::write(folder.join("tls.crt"), leaf.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
    if with_authority {
        std::fs::write(folder.join("ca.crt"), &authority).unwrap();
    }
    Mounted { folder, authority }
}

/// Two texts: the bundles of both webhook configurations, in PEM. All entries of one have the same.
async fn bundles(release: &Release<'_>) -> Vec<String> {
    let mut bundles = Vec::new();
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let template = "--output=go-template={{range .webhooks}}{{.clientConfig.caBundle | base64decode}}{{end}}";
        let text = release.kubectl(&["get", kind, &release.name, template]).await;
        let (first, second) = text.split_at(text.len() / 2);
        assert_eq!(first, second, "{kind}");
        bundles.push(first.to_owned());
    }
    bundles
}

async fn refuses_what_is_wrong(release: &Release<'_>, namespace: &str) {
    let mut bad = pipeline("bad");
    bad["spec"]["segment_id"] = 7.into();
    let refusal = apply(release.cluster, namespace, &bad, &[])
        .await
        .expect_err("a refusal");
    assert!(refusal.contains("spec.segment_id"), "{refusal}");
}

fn host(release: &Release<'_>) -> String {
    format!("{}.{}.svc", release.name, release.namespace)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_the_users_own_is_served_and_its_authority_goes_into_both_bundles() {
    let cluster = cluster().await;
    let namespace = cluster.namespace("secret").await.unwrap();
    let release = Release::new(cluster, &namespace, "by-hand-streaming-operator");
    let chart = helm::chart();
    let chart = chart.to_str().unwrap();
    let mode = |mode: &str| format!("crds.install=false,watchNamespaces={{{namespace}}},{mode}");
    let by_hand = mode("webhook.tls.mode=secret,webhook.tls.secretName=by-hand");
    release.helm("install", chart, &["--set", &by_hand]).await;
    release.lead_here().await;
    let deployment = release.get("deployment", &release.name).await;
    let volume = &deployment["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"];
    assert_eq!(volume, "by-hand");
    let mounted = mounted(&host(&release), true);
    let operator = release.start(Some(&mounted.folder)).await;
    operator.ready().await;
    assert_eq!(bundles(&release).await, [&*mounted.authority, &*mounted.authority]);
    refuses_what_is_wrong(&release, &namespace).await;

    // As the documentation has a change of the mode: to no replica, then to the other mode.
    release
        .helm("upgrade", chart, &["--set", &by_hand, "--set", "replicas=0"])
        .await;
    operator.stop().await;
    release
        .helm("upgrade", chart, &["--set", &mode("webhook.tls.mode=self")])
        .await;
    let operator = release.start(None).await;
    operator.ready().await;
    assert!(!bundles(&release).await[0].contains(&mounted.authority));
    refuses_what_is_wrong(&release, &namespace).await;
    operator.stop().await;
}

/// As much of cert-manager's kinds as the chart's objects need.
fn cert_manager_kinds() -> Vec<Value> {
    let kind = |kind: &str, plural: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.cert-manager.io") },
            "spec": {
                "group": "cert-manager.io",
                "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                } } }],
            },
        })
    };
    vec![kind("Certificate", "certificates"), kind("Issuer", "issuers")]
}

/// What cert-manager's injector does where the annotation tells it to.
async fn injected(release: &Release<'_>, authority: &str) {
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let configuration = release.get(kind, &release.name).await;
        let told = &configuration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"];
        assert_eq!(told, &json!(format!("{}/{}", release.namespace, release.name)));
        let bundle = BASE64.encode(authority);
        let patch = [0, 1].map(|entry| {
            let path = format!("/webhooks/{entry}/clientConfig/caBundle");
            json!({ "op": "add", "path": path, "value": bundle })
        });
        let patch = json!(patch).to_string();
        release
            .kubectl(&["patch", kind, &release.name, "--type=json", "--patch", &patch])
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_cert_manager_its_certificate_is_served_and_the_bundle_is_left_to_its_injector() {
    let cluster = cluster().await;
    cluster.apply(&cert_manager_kinds()).await.unwrap();
    let established = [
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd/certificates.cert-manager.io",
    ];
    cluster
        .kubectl(&[&established[..], &["crd/issuers.cert-manager.io"]].concat())
        .await
        .unwrap();
    let namespace = cluster.namespace("managed").await.unwrap();
    let release = Release::new(cluster, &namespace, "managed-streaming-operator");
    let chart = helm::chart();
    let values = format!("crds.install=false,watchNamespaces={{{namespace}}},webhook.tls.mode=certManager");
    release
        .helm("install", chart.to_str().unwrap(), &["--set", &values])
        .await;
    release.lead_here().await;

    let certificate = release.get("certificate.cert-manager.io", &release.name).await;
    assert_eq!(certificate["spec"]["dnsNames"], json!([host(&release)]));
    let secret = format!("{}-webhook-tls", release.name);
    assert_eq!(certificate["spec"]["secretName"], json!(secret));
    let deployment = release.get("deployment", &release.name).await;
    let volume = &deployment["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"];
    assert_eq!(volume, &json!(secret));
    // The issuer that the certificate names is there, and so is the CA behind it.
    let issuer = certificate["spec"]["issuerRef"]["name"].as_str().expect("an issuer");
    let issuer = release.get("issuer.cert-manager.io", issuer).await;
    let authority = format!("{}-ca", release.name);
    assert_eq!(issuer["spec"]["ca"]["secretName"], json!(authority));
    let authority = release.get("certificate.cert-manager.io", &authority).await;
    assert_eq!(authority["spec"]["isCA"], true);

    let mounted = mounted(&host(&release), false);
    let operator = release.start(Some(&mounted.folder)).await;
    operator
        .readyz("it to miss the injector's bundle", |code, body| {
            code == 503 && body.contains("certificate")
        })
        .await;
    injected(&release, &mounted.authority).await;
    operator.ready().await;
    refuses_what_is_wrong(&release, &namespace).await;
    // An upgrade leaves the injector's bundle alone.
    release
        .helm(
            "upgrade",
            chart.to_str().unwrap(),
            &["--set", &values, "--set", "replicas=3"],
        )
        .await;
    assert_eq!(bundles(&release).await, [&*mounted.authority, &*mounted.authority]);
    operator.stop().await;
}
