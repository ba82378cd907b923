//! Webhook configurations that lead to a server outside the cluster, in the form of production.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::KeyPair;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use testkit::control_plane::{Options, Shared};
use testkit::install::{Webhooks, service_host};
use testkit::wait::{self, Seen};
use testkit::workdir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

static CLUSTER: Shared = Shared::new(Options::api_server());

/// What was negotiated, and the path of each request.
type Heard = Arc<Mutex<Vec<(Option<String>, String)>>>;

/// A webhook that refuses what is called `refused`. Gives its port and its certificate.
async fn webhook(host: &str, heard: Heard) -> (u16, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new([host.to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    // Both on offer: what the API server takes is what is to be seen.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, heard) = (acceptor.clone(), Arc::clone(&heard));
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.unwrap();
                let protocol = stream
                    .get_ref()
                    .1
                    .alpn_protocol()
                    .map(|name| String::from_utf8_lossy(name).into_owned());
                let service = service_fn(move |request: Request<Incoming>| {
                    heard
                        .lock()
                        .unwrap()
                        .push((protocol.clone(), request.uri().path().to_owned()));
                    answer(request)
                });
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await
            });
        }
    });
    (port, certificate.pem())
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let allowed = review["request"]["name"] != "refused";
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": { "uid": review["request"]["uid"], "allowed": allowed, "status": { "message": "as the test wants it" } },
    });
    Ok(Response::new(Full::new(Bytes::from(answer.to_string()))))
}

/// Two configurations in the Service form, as the operator prints them, but for config maps.
fn manifest() -> String {
    let document = |kind: &str, path: &str| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": "streaming-operator" },
            "webhooks": [{
                "name": "test.streams.sentry.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": { "service": { "name": "x", "namespace": "x", "path": path, "port": 443 } },
                "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] }],
            }],
        })
        .to_string()
    };
    let mutating = document("MutatingWebhookConfiguration", "/mutate");
    let validating = document("ValidatingWebhookConfiguration", "/validate");
    format!("---\n{mutating}\n---\n{validating}\n")
}

#[tokio::test]
async fn the_api_server_calls_a_webhook_outside_the_cluster_through_its_service_with_http_1() {
    let cluster = CLUSTER.get().await.unwrap();
    let namespace = cluster.namespace("webhooks").await.unwrap();
    let other = cluster.namespace("webhooks").await.unwrap();
    let heard = Heard::default();
    let (port, certificate) = webhook(&service_host(&namespace), Arc::clone(&heard)).await;
    let file = workdir::workdir("webhooks").unwrap().join("webhooks.yaml");
    std::fs::write(&file, manifest()).unwrap();
    let webhooks = Webhooks {
        name: "mine".to_owned(),
        watch_namespaces: vec![namespace.clone()],
        manifest: file,
        ..Webhooks::new(&namespace, port)
    };

    cluster.install_webhooks(&webhooks).await.unwrap();

    // What the operator does itself.
    let bundle = serde_json::to_value(k8s_openapi::ByteString(certificate.into_bytes())).unwrap();
    let patch = json!([{ "op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle }]).to_string();
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        cluster
            .kubectl(&["patch", kind, "mine", "--type=json", "--patch", &patch])
            .await
            .unwrap();
    }
    let create = async |name: &str, namespace: &str| {
        cluster
            .kubectl(&["create", "configmap", name, "--namespace", namespace])
            .await
    };
    // The API server sees a new configuration through a watch.
    let refusal = wait::until("the refusal", wait::DEADLINE, async || {
        let answer = create("refused", &namespace)
            .await
            .err()
            .map(|error| format!("{error:#}"));
        cluster
            .kubectl(&[
                "delete",
                "configmap",
                "refused",
                "--ignore-not-found",
                "--namespace",
                &namespace,
            ])
            .await?;
        Ok(Seen::when(answer.unwrap_or_default(), |text| {
            text.contains("as the test wants it")
        }))
    })
    .await
    .unwrap();
    assert!(
        refusal.contains("\"test.streams.sentry.io\" denied the request"),
        "{refusal}"
    );
    create("allowed", &namespace).await.unwrap();
    create("refused", &other).await.unwrap();

    let heard = heard.lock().unwrap().clone();
    let paths: Vec<&str> = heard.iter().map(|(_, path)| path.as_str()).collect();
    assert!(paths.ends_with(&["/mutate", "/validate"]), "{paths:?}");
    assert!(
        heard.iter().all(|(protocol, _)| protocol.as_deref() != Some("h2")),
        "{heard:?}"
    );
}
