//! A folder as a kubelet mounts a Secret: files are links through `..data`, which is swapped as a whole. The clock is
//! paused, so a look every 10 seconds takes no time.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Mutex;

use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::sleep;
use tower::service_fn;

use super::*;
use crate::certs::authority::{new_authority, new_leaf};
use crate::certs::resolver::ServingCertificate;
use crate::server::Readiness;
use crate::telemetry::Metrics;

/// A mounted Secret.
struct Mount {
    folder: TempDir,
    versions: usize,
}

impl Mount {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        for name in ["tls.crt", "tls.key", "ca.crt"] {
            symlink(PathBuf::from("..data").join(name), folder.path().join(name)).expect("a link");
        }
        Self { folder, versions: 0 }
    }

    /// Puts new files in place as the kubelet does: a new folder, and one rename of the link to it.
    fn swap(&mut self, files: &[(&str, &str)]) {
        self.versions += 1;
        let version = format!("..version_{}", self.versions);
        let path = self.folder.path().join(&version);
        fs::create_dir(&path).expect("a folder");
        for (name, text) in files {
            fs::write(path.join(name), text).expect("a file");
        }
        let link = self.folder.path().join("..data_tmp");
        symlink(version, &link).expect("a link");
        fs::rename(link, self.folder.path().join("..data")).expect("the swap");
    }
}

/// Three texts of a certificate: the chain, the key, the authority.
struct Texts {
    certificate: String,
    key: String,
    authority: String,
}

fn issue() -> Texts {
    issue_for(SignedDuration::from_hours(15 * 24))
}

fn issue_for(life: SignedDuration) -> Texts {
    let now = Timestamp::now();
    let authority = new_authority(now, life).expect("an authority");
    let leaf = new_leaf(&authority, &["localhost".to_owned()].into(), now, life).expect("a leaf");
    Texts {
        certificate: leaf.chain_pem(),
        key: String::from_utf8(leaf.key_pem().to_vec()).expect("PEM"),
        authority: authority.chain_pem(),
    }
}

struct Fixture {
    mount: Mount,
    served: Arc<ServingCertificate>,
    bundle: watch::Receiver<Bundle>,
    metrics: Metrics,
    leads: watch::Sender<bool>,
    /// Bodies of the Events that were published.
    events: Arc<Mutex<Vec<Value>>>,
}

impl Fixture {
    fn start() -> Self {
        let mount = Mount::new();
        let served = Arc::new(ServingCertificate::default());
        let (leads, is_leader) = watch::channel(true);
        let (metrics, events) = (Metrics::new("0", "0", false), Arc::default());
        let deps = Deps {
            client: Client::new(service_fn(no_api_server), "default"),
            as_leader: takes_events(Arc::clone(&events)),
            served: Arc::clone(&served),
            readiness: Readiness::new(&[]),
            metrics: metrics.clone(),
            is_leader,
        };
        let (publish, bundle) = watch::channel(None);
        let mounted = Mounted {
            folder: mount.folder.path().to_owned(),
            namespace: "ops".to_owned(),
            pod: "streaming-operator-0".to_owned(),
        };
        tokio::spawn(async move { follow(&mounted, &deps, publish).await });
        Self {
            mount,
            served,
            bundle,
            metrics,
            leads,
            events,
        }
    }

    fn swap(&mut self, texts: &Texts) {
        self.mount.swap(&[
            ("tls.crt", &texts.certificate),
            ("tls.key", &texts.key),
            ("ca.crt", &texts.authority),
        ]);
    }

    /// Reason and beginning of the note of each Event.
    fn events(&self) -> Vec<(String, String)> {
        let events = self.events.lock().expect("no panic");
        let text = |event: &Value, key: &str| event[key].as_str().expect("text").to_owned();
        let first_words = |note: String| note.split_whitespace().take(5).collect::<Vec<_>>().join(" ");
        events
            .iter()
            .map(|event| (text(event, "reason"), first_words(text(event, "note"))))
            .collect()
    }

    /// PEM of what is served after two more looks.
    async fn served(&self) -> Option<String> {
        sleep(POLL_INTERVAL * 2).await;
        let current = self.served.current()?;
        let leaf = Certificate::parse(current.cert[0].clone()).expect("a certificate");
        Some(leaf.to_pem())
    }
}

/// An API server that takes Events and nothing else.
fn takes_events(events: Arc<Mutex<Vec<Value>>>) -> Client {
    let server = service_fn(move |request: Request<Body>| {
        let events = Arc::clone(&events);
        async move {
            assert_eq!(request.uri().path(), "/apis/events.k8s.io/v1/namespaces/ops/events");
            let body = request.into_body().collect_bytes().await.expect("a body");
            let event: Value = serde_json::from_slice(&body).expect("JSON");
            events.lock().expect("no panic").push(event);
            Ok::<_, Infallible>(Response::new(Body::from(body.to_vec())))
        }
    });
    Client::new(server, "default")
}

async fn no_api_server(_: Request<Body>) -> Result<Response<Body>, Infallible> {
    Ok(Response::builder().status(500).body(Body::empty()).expect("an answer"))
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_served_when_its_files_appear_and_each_time_they_are_swapped() {
    let mut fixture = Fixture::start();
    assert_eq!(fixture.served().await, None);
    for _ in 0..3 {
        let texts = issue();
        let files = [
            ("tls.crt", &*texts.certificate),
            ("tls.key", &*texts.key),
            ("ca.crt", &*texts.authority),
        ];
        fixture.mount.swap(&files);
        assert_eq!(fixture.served().await, Some(texts.certificate));
        let published = fixture.bundle.borrow().clone().expect("a bundle");
        assert_eq!(*published, texts.authority.into_bytes());
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_or_mismatched_pair_is_refused_and_the_old_one_kept() {
    let mut fixture = Fixture::start();
    let (good, other) = (issue(), issue());
    let good_files = [
        ("tls.crt", &*good.certificate),
        ("tls.key", &*good.key),
        ("ca.crt", &*good.authority),
    ];
    fixture.mount.swap(&good_files);
    assert_eq!(fixture.served().await.as_ref(), Some(&good.certificate));
    for (certificate, key, authority) in [
        (&*other.certificate, &*good.key, &*other.authority),
        (&*other.certificate, "", &*other.authority),
        ("no PEM", &*other.key, &*other.authority),
        (&*other.certificate, &*other.key, "no PEM"),
    ] {
        fixture
            .mount
            .swap(&[("tls.crt", certificate), ("tls.key", key), ("ca.crt", authority)]);
        assert_eq!(fixture.served().await.as_ref(), Some(&good.certificate));
        let published = fixture.bundle.borrow().clone().expect("a bundle");
        assert_eq!(*published, good.authority.clone().into_bytes());
    }
    fixture
        .mount
        .swap(&[("tls.crt", &other.certificate), ("tls.key", &other.key)]);
    assert_eq!(
        fixture.served().await,
        Some(other.certificate),
        "a whole pair is taken again"
    );
}

#[tokio::test(start_paused = true)]
async fn without_ca_crt_the_bundle_is_someone_elses_to_write() {
    let mut fixture = Fixture::start();
    let texts = issue();
    fixture
        .mount
        .swap(&[("tls.crt", &texts.certificate), ("tls.key", &texts.key)]);
    assert_eq!(fixture.served().await, Some(texts.certificate));
    assert_eq!(*fixture.bundle.borrow(), None);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_warned_of_14_days_before_it_expires_and_once() {
    let mut fixture = Fixture::start();
    fixture.swap(&issue_for(SignedDuration::from_hours(14 * 24 + 1)));
    assert!(fixture.served().await.is_some());
    assert_eq!(fixture.events(), []);
    let soon = issue_for(SignedDuration::from_hours(14 * 24 - 1));
    fixture.swap(&soon);
    assert_eq!(
        fixture.served().await,
        Some(soon.certificate),
        "it is served all the same"
    );
    sleep(Duration::from_secs(3600)).await;
    let expected = (
        "CertificateExpiring".to_owned(),
        "the serving certificate expires at".to_owned(),
    );
    assert_eq!(fixture.events(), [expected]);
    let event = fixture.events.lock().expect("no panic")[0].clone();
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["regarding"]["kind"], "Pod");
    assert_eq!(event["regarding"]["name"], "streaming-operator-0");
}

#[tokio::test(start_paused = true)]
async fn files_that_are_refused_are_an_event_and_so_is_their_loss() {
    let mut fixture = Fixture::start();
    let (good, other) = (issue(), issue());
    fixture.swap(&good);
    assert!(fixture.served().await.is_some());
    fixture.swap(&Texts {
        key: good.key.clone(),
        ..other
    });
    fixture.served().await;
    fixture.swap(&good);
    fixture.served().await;
    fixture.mount.swap(&[("tls.crt", &good.certificate)]);
    assert_eq!(fixture.served().await, Some(good.certificate));
    let reasons: Vec<_> = fixture.events().into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["CertificateRefused", "CertificateRefused"]);
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_publishes_and_one_that_leads_later_does_so_then() {
    let mut fixture = Fixture::start();
    fixture.leads.send_replace(false);
    fixture.swap(&issue_for(SignedDuration::from_hours(24)));
    fixture.served().await;
    assert_eq!(fixture.events(), []);
    fixture.leads.send_replace(true);
    fixture.served().await;
    assert_eq!(fixture.events().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_expiry_of_leaf_and_authority_is_a_metric() {
    let mut fixture = Fixture::start();
    fixture.swap(&issue());
    fixture.served().await;
    let text = fixture.metrics.exposition().expect("text");
    for role in ["leaf", "ca"] {
        let name = format!("streaming_operator_certificate_expiry_timestamp_seconds{{role=\"{role}\"}}");
        let line = text.lines().find(|line| line.starts_with(&name)).expect("a line");
        let expiry: i64 = line.rsplit(' ').next().expect("a number").parse().expect("a number");
        let left = expiry - Timestamp::now().as_second();
        assert!((14 * 86_400..=15 * 86_400).contains(&left), "{line}");
    }
}
