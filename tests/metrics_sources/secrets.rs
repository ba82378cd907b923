//! Credentials and certificates: read from files that are swapped while the operator runs, and never shown.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use streaming_operator::core::analysis::answer::QueryError;
use streaming_operator::metrics_sources::settings::{Credentials, Username};
use streaming_operator::metrics_sources::{SourceSettings, Sources};
use streaming_operator::telemetry::Metrics;
use testkit::metrics_proxy::Fault;
use testkit::workdir;

use super::bed::Bed;

/// A mounted Secret: files behind a symlink, which a kubelet swaps.
struct Mounted(PathBuf);

impl Mounted {
    fn new(files: &[(&str, &str)]) -> Self {
        let mounted = Self(workdir::workdir("secret").unwrap());
        for (name, _) in files {
            symlink(Path::new("..data").join(name), mounted.0.join(name)).unwrap();
        }
        mounted.swap("1", files);
        mounted
    }

    /// As a kubelet does: a new folder, and a symlink to it that is renamed over the old one.
    fn swap(&self, version: &str, files: &[(&str, &str)]) {
        let folder = self.0.join(format!("..{version}"));
        std::fs::create_dir(&folder).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        symlink(&folder, self.0.join("..data_tmp")).unwrap();
        std::fs::rename(self.0.join("..data_tmp"), self.0.join("..data")).unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

#[tokio::test]
async fn the_token_of_the_moment_is_sent() {
    let secret = Mounted::new(&[("token", "first\n")]);
    let token_file = secret.file("token");
    let bed = Bed::with(|_, settings| settings.credentials = Credentials::Bearer { token_file }).await;
    bed.value("vector(1)").await;
    secret.swap("2", &[("token", "second\n")]);
    bed.value("vector(1)").await;
    let sent: Vec<_> = bed
        .proxy
        .asked()
        .iter()
        .map(|asked| asked.headers["authorization"].clone())
        .collect();
    assert_eq!(sent, ["Bearer first", "Bearer second"]);
}

#[tokio::test]
async fn a_user_name_and_a_password_are_sent_as_basic_authentication_with_the_headers_of_the_source() {
    let secret = Mounted::new(&[("username", "ingest"), ("password", "p:ss\n")]);
    let credentials = Credentials::Basic {
        username: Username::File(secret.file("username")),
        password_file: secret.file("password"),
    };
    let bed = Bed::with(|_, settings| {
        settings.credentials = credentials;
        settings.headers.insert("x-scope-orgid", "ingest".parse().unwrap());
    })
    .await;
    bed.value("vector(1)").await;
    let asked = &bed.proxy.asked()[0];
    assert_eq!(asked.headers["authorization"], "Basic aW5nZXN0OnA6c3M=");
    assert_eq!(asked.headers["x-scope-orgid"], "ingest");
}

#[tokio::test]
async fn a_token_that_is_gone_or_empty_is_an_outage_and_nothing_is_asked_without_it() {
    let secret = Mounted::new(&[("token", "first")]);
    let token_file = secret.file("token");
    let shown = token_file.display().to_string();
    let bed = Bed::with(|_, settings| settings.credentials = Credentials::Bearer { token_file }).await;
    secret.swap("2", &[]);
    assert_eq!(
        bed.outage().await,
        format!(
            "metrics source default cannot be asked: bearerTokenFile: {shown} cannot be read: No such file or directory (os error 2)"
        )
    );
    secret.swap("3", &[("token", "\n")]);
    assert_eq!(
        bed.outage().await,
        format!("metrics source default cannot be asked: bearerTokenFile: {shown} is empty")
    );
    assert_eq!(bed.proxy.asked(), []);
    secret.swap("4", &[("token", "fourth")]);
    assert_eq!(bed.value("vector(1)").await, "1");
}

#[tokio::test]
async fn no_secret_is_in_what_is_said_of_a_refusal() {
    let secret = Mounted::new(&[("token", "s3cret")]);
    let token_file = secret.file("token");
    let bed = Bed::with(|_, settings| settings.credentials = Credentials::Bearer { token_file }).await;
    for fault in [
        Fault::Answer(401, "no".to_owned()),
        Fault::HangUp,
        Fault::Redirect("/login".to_owned()),
    ] {
        bed.proxy.fail(fault);
        let words = bed.outage().await;
        assert!(!words.contains("s3cret"), "{words}");
    }
    assert!(!format!("{:?}", bed.sources).contains("s3cret"));
    secret.swap("2", &[("token", "s3c\nret")]);
    let words = bed.outage().await;
    assert!(words.ends_with("bearerTokenFile holds what is no token"), "{words}");
}

#[tokio::test]
async fn a_certificate_is_taken_from_those_alone_whom_the_ca_file_names() {
    let authority = Mounted::new(&[("ca.crt", "")]);
    let bed = Bed::with_tls(|certificate, settings| {
        authority.swap("2", &[("ca.crt", certificate)]);
        settings.ca_file = Some(authority.file("ca.crt"));
    })
    .await;
    assert_eq!(bed.value("vector(1)").await, "1");
    let other = Bed::with_tls(|_, settings| settings.ca_file = Some(authority.file("ca.crt"))).await;
    let words = other.outage().await;
    let begin = "metrics source default cannot be reached: invalid peer certificate: ";
    assert!(words.starts_with(begin), "{words}");
    assert_eq!(other.proxy.asked(), []);
}

#[tokio::test]
async fn a_ca_file_that_is_swapped_counts_from_the_next_request_on() {
    let authority = Mounted::new(&[("ca.crt", "")]);
    let bed = Bed::with_tls(|certificate, settings| {
        authority.swap("2", &[("ca.crt", certificate)]);
        settings.ca_file = Some(authority.file("ca.crt"));
    })
    .await;
    assert_eq!(bed.value("vector(1)").await, "1");
    let renewed = bed.proxy.renew_certificate().unwrap();
    authority.swap("3", &[("ca.crt", &renewed)]);
    assert_eq!(bed.value("vector(2)").await, "2");
    authority.swap("4", &[("ca.crt", "no certificate")]);
    let words = bed.outage().await;
    assert!(
        words.starts_with("metrics source default cannot be asked: caFile: "),
        "{words}"
    );
}

#[tokio::test]
async fn a_source_over_tls_is_not_spoken_to_without_tls() {
    let bed = Bed::start().await;
    let settings = SourceSettings::at("default", &bed.proxy.url().replace("http:", "https:")).unwrap();
    // What this machine trusts, if anything, has not signed for a proxy that speaks no TLS.
    let Ok(sources) = Sources::new(vec![settings], Metrics::new("0.1.0", "abc1234", false)) else {
        return;
    };
    let answer = sources.query("default", "vector(1)", super::bed::ENOUGH).await;
    let Err(QueryError::Unavailable(words)) = answer else {
        panic!("{answer:?}");
    };
    assert!(
        words.starts_with("metrics source default cannot be reached: "),
        "{words}"
    );
    assert_eq!(bed.proxy.asked(), []);
}
