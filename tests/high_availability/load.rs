//! Admission requests without end: on new connections that are verified in full against the live `caBundle`, on one
//! connection that is kept, and through the API server. Counts what came of each.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::StreamExt;
use http::{Request, header};
use http_body_util::BodyExt;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt, reflector};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use streaming_operator::server::tls;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use tokio_rustls::TlsConnector;

use super::bed::{Bed, manifest, post};

/// Half of all requests and more are on new connections: 34 + 18 + 12 = 64 a second.
const NEW_CONNECTIONS_A_SECOND: u32 = 34;
const KEPT_CONNECTION_A_SECOND: u32 = 18;
const API_SERVER_A_SECOND: u32 = 12;

/// On which way a request came to the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    NewConnection,
    KeptConnection,
    ApiServer,
}

/// The certificate that was shown in a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) serial: String,
    /// Who signed it.
    pub(crate) ca: String,
}

/// A request that was answered as it ought to be.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) way: Way,
    /// `None` through the API server.
    pub(crate) leaf: Option<Leaf>,
}

/// What came of all requests, in order.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) answered: Vec<Answered>,
    /// Handshakes that failed.
    pub(crate) tls_errors: Vec<String>,
    /// Requests without an answer, or with another than "allowed".
    pub(crate) refused: Vec<String>,
    /// How often the client that keeps its connection had to make one.
    pub(crate) kept_connections: usize,
}

impl Tally {
    /// How many were answered on this way.
    pub(crate) fn on(&self, way: Way) -> usize {
        self.answered.iter().filter(|answered| answered.way == way).count()
    }
}

/// The load; ends when dropped.
pub(crate) struct Load {
    clients: Arc<Clients>,
    began: Instant,
    _tasks: JoinSet<()>,
}

struct Clients {
    tally: Mutex<Tally>,
    configurations: reflector::Store<ValidatingWebhookConfiguration>,
    api: kube::Client,
    namespace: String,
    host: String,
    port: u16,
    review: Bytes,
}

impl Load {
    /// Begins once the `caBundle` is known.
    pub(crate) async fn start(bed: &Bed) -> Self {
        let (configurations, writer) = reflector::store();
        let only_ours = watcher::Config::default().fields(&format!("metadata.name={}", bed.webhooks.name));
        let live = watcher(Api::all(bed.admin.clone()), only_ours).default_backoff();
        let mut tasks = JoinSet::new();
        tasks.spawn(live.reflect(writer).for_each(|_| std::future::ready(())));
        configurations.wait_until_ready().await.unwrap();
        let clients = Arc::new(Clients {
            tally: Mutex::default(),
            configurations,
            api: bed.admin.clone(),
            namespace: bed.pipelines.clone(),
            host: bed.webhooks.host(),
            port: bed.balancer.port(),
            review: review(&bed.pipelines),
        });
        tasks.spawn(Arc::clone(&clients).on_new_connections());
        tasks.spawn(Arc::clone(&clients).on_one_connection());
        tasks.spawn(Arc::clone(&clients).through_the_api_server());
        Self {
            clients,
            began: Instant::now(),
            _tasks: tasks,
        }
    }

    /// What came of it until now.
    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.clients.tally()
    }

    /// One line of figures; fails the test when a request was refused.
    pub(crate) fn judge(&self, what: &str) {
        let tally = self.tally();
        let seconds = self.began.elapsed().as_secs_f64();
        let all = tally.answered.len();
        println!(
            "{what}: {all} requests in {seconds:.1} s ({:.0} a second): {} on new connections, {} on a kept one ({} \
             connections), {} through the API server; {} refused, {} TLS errors",
            f64::from(u32::try_from(all).unwrap()) / seconds,
            tally.on(Way::NewConnection),
            tally.on(Way::KeptConnection),
            tally.kept_connections,
            tally.on(Way::ApiServer),
            tally.refused.len(),
            tally.tls_errors.len(),
        );
        assert_eq!((&tally.refused, &tally.tls_errors), (&vec![], &vec![]));
        for way in [Way::NewConnection, Way::KeptConnection, Way::ApiServer] {
            assert!(tally.on(way) > 0, "no request by {way:?}");
        }
        assert!(
            tally.on(Way::NewConnection) * 2 >= all,
            "half of them on new connections"
        );
    }
}

/// Why there is no connection.
enum Fault {
    Tls(String),
    Refused(String),
}

struct Connection {
    sender: SendRequest<Body>,
    leaf: Leaf,
}

impl Clients {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap()
    }

    fn answered(&self, way: Way, leaf: Option<Leaf>) {
        self.tally().answered.push(Answered { way, leaf });
    }

    fn fault(&self, fault: Fault) {
        match fault {
            Fault::Tls(why) => self.tally().tls_errors.push(why),
            Fault::Refused(why) => self.tally().refused.push(why),
        }
    }

    async fn on_new_connections(self: Arc<Self>) {
        let mut requests = JoinSet::new();
        let mut ticks = interval(Duration::from_secs(1) / NEW_CONNECTIONS_A_SECOND);
        loop {
            ticks.tick().await;
            let clients = Arc::clone(&self);
            requests.spawn(async move {
                let asked = async {
                    let mut connection = clients.connect().await?;
                    connection.ask(&clients).await?;
                    Ok(connection.leaf)
                };
                match asked.await {
                    Ok(leaf) => clients.answered(Way::NewConnection, Some(leaf)),
                    Err(fault) => clients.fault(fault),
                }
            });
            while requests.try_join_next().is_some() {}
        }
    }

    /// One request after the other, on one connection as long as the server leaves it open.
    async fn on_one_connection(self: Arc<Self>) {
        let mut ticks = interval(Duration::from_secs(1) / KEPT_CONNECTION_A_SECOND);
        let mut kept = None;
        loop {
            ticks.tick().await;
            let mut connection = match kept.take() {
                Some(connection) => connection,
                None => match self.connect().await {
                    Ok(connection) => {
                        self.tally().kept_connections += 1;
                        connection
                    }
                    Err(fault) => {
                        self.fault(fault);
                        continue;
                    }
                },
            };
            match connection.ask(&self).await {
                Ok(goes_on) => {
                    self.answered(Way::KeptConnection, Some(connection.leaf.clone()));
                    kept = goes_on.then_some(connection);
                }
                Err(fault) => self.fault(fault),
            }
        }
    }

    async fn through_the_api_server(self: Arc<Self>) {
        let mut requests = JoinSet::new();
        let mut ticks = interval(Duration::from_secs(1) / API_SERVER_A_SECOND);
        loop {
            ticks.tick().await;
            let clients = Arc::clone(&self);
            requests.spawn(async move {
                let pipeline = manifest(&clients.namespace, "load");
                match post(&clients.api, &clients.namespace, &pipeline, "?dryRun=All").await {
                    Ok(_) => clients.answered(Way::ApiServer, None),
                    Err(why) => clients.fault(Fault::Refused(why)),
                }
            });
            while requests.try_join_next().is_some() {}
        }
    }

    /// A new connection that trusts the `caBundle` as it is now and nothing else.
    async fn connect(&self) -> Result<Connection, Fault> {
        let refused = |error: io::Error| Fault::Refused(format!("no connection: {error}"));
        let config = ClientConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()
            .expect("TLS")
            .with_root_certificates(self.roots())
            .with_no_client_auth();
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.map_err(refused)?;
        let name = ServerName::try_from(self.host.clone()).expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let stream = stream.map_err(|error| match error.get_ref() {
            Some(inner) if inner.is::<rustls::Error>() => Fault::Tls(error.to_string()),
            _ => refused(error),
        })?;
        let leaf = leaf(&stream.get_ref().1.peer_certificates().expect("certificates")[0]);
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::spawn(connection);
        Ok(Connection { sender, leaf })
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        let configurations = self.configurations.state();
        let webhooks = configurations.iter().flat_map(|found| found.webhooks.iter().flatten());
        for bundle in webhooks.filter_map(|webhook| webhook.client_config.ca_bundle.as_ref()) {
            for certificate in CertificateDer::pem_slice_iter(&bundle.0) {
                roots.add(certificate.expect("PEM")).expect("a CA");
            }
        }
        roots
    }
}

impl Connection {
    /// Sends a review; whether the server leaves the connection open.
    async fn ask(&mut self, clients: &Clients) -> Result<bool, Fault> {
        let request = Request::post("/validate")
            .header(header::HOST, &clients.host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(clients.review.clone()))
            .expect("a request");
        let refused = |error: hyper::Error| Fault::Refused(format!("no answer: {error}"));
        self.sender.ready().await.map_err(refused)?;
        let answer = self.sender.send_request(request).await.map_err(refused)?;
        let closes = answer
            .headers()
            .get(header::CONNECTION)
            .is_some_and(|value| value == "close");
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(refused)?.to_bytes();
        let review: Value = serde_json::from_slice(&body).unwrap_or_default();
        if review["response"]["allowed"] == json!(true) {
            Ok(!closes)
        } else {
            Err(Fault::Refused(format!("{status}: {review}")))
        }
    }
}

fn leaf(certificate: &[u8]) -> Leaf {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).expect("a certificate");
    let issuer = certificate.issuer().to_string();
    Leaf {
        serial: certificate
            .raw_serial_as_string()
            .replace(':', "")
            .chars()
            .take(12)
            .collect(),
        ca: issuer.trim_start_matches("CN=streaming-operator CA ").to_owned(),
    }
}

/// A review of the creation of a good pipeline, as a dry run: nothing is reserved.
fn review(namespace: &str) -> Bytes {
    let mut object = manifest(namespace, "load");
    object["spec"]["pipeline_name"] = json!("load");
    let kind = json!({"group": "streams.sentry.io", "version": "v1alpha1", "kind": "StreamingPipeline"});
    let resource = json!({"group": "streams.sentry.io", "version": "v1alpha1", "resource": "streamingpipelines"});
    let review = json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "load", "namespace": namespace, "operation": "CREATE", "dryRun": true,
            "userInfo": {"username": "admin", "groups": ["system:masters"]},
            "object": object, "oldObject": null,
        }
    });
    review.to_string().into()
}
