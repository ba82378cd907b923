//! A folder as a kubelet mounts a Secret: files are links through `..data`, which is swapped as a whole. The clock is
//! paused, so a look every 10 seconds takes no time.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
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
    let now = Timestamp::now();
    let life = SignedDuration::from_hours(1);
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
}

impl Fixture {
    fn start() -> Self {
        let mount = Mount::new();
        let served = Arc::new(ServingCertificate::default());
        let deps = Deps {
            client: Client::new(service_fn(no_api_server), "default"),
            as_leader: Client::new(service_fn(no_api_server), "default"),
            served: Arc::clone(&served),
            readiness: Readiness::new(&[]),
            metrics: Metrics::new("0", "0", false),
            is_leader: watch::channel(false).1,
        };
        let (publish, bundle) = watch::channel(None);
        let folder = mount.folder.path().to_owned();
        tokio::spawn(async move { follow(&folder, &deps, publish).await });
        Self { mount, served, bundle }
    }

    /// PEM of what is served after two more looks.
    async fn served(&self) -> Option<String> {
        sleep(POLL_INTERVAL * 2).await;
        let current = self.served.current()?;
        let leaf = Certificate::parse(current.cert[0].clone()).expect("a certificate");
        Some(leaf.to_pem())
    }
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
