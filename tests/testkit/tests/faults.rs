//! The proxy and the balancer.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy.toml excuses test functions; what they share is test code too"
)]

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use serde_json::json;
use testkit::balancer::{Balancer, LAG};
use testkit::children::Running;
use testkit::control_plane::{ControlPlane, Options, Shared};
use testkit::proxy::{Fault, Match, Proxy};
use testkit::wait::{self, Seen};
use testkit::{http, users, workdir};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

static CLUSTER: Shared = Shared::new(Options::api_server());

/// Config maps of a new namespace, straight and through a new proxy.
struct Bed {
    cluster: &'static ControlPlane,
    proxy: Proxy,
    straight: Api<ConfigMap>,
    through: Api<ConfigMap>,
}

impl Bed {
    async fn new() -> Self {
        let cluster = CLUSTER.get().await.unwrap();
        let namespace = cluster.namespace("faults").await.unwrap();
        let proxy = Proxy::start(cluster).unwrap();
        let kubeconfig = cluster.kubeconfig_via(users::ADMIN, &proxy.url()).unwrap();
        let client: Client = users::client(&kubeconfig).await.unwrap();
        Self {
            straight: Api::namespaced(cluster.admin().await.unwrap(), &namespace),
            through: Api::namespaced(client, &namespace),
            cluster,
            proxy,
        }
    }

    /// Creates a config map through the proxy.
    async fn create(&self, name: &str) -> kube::Result<ConfigMap> {
        self.through.create(&PostParams::default(), &config_map(name)).await
    }

    async fn exists(&self, name: &str) -> bool {
        self.straight.get_opt(name).await.unwrap().is_some()
    }
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn the_proxy_passes_everything_and_counts_it_by_verb_and_resource() {
    let bed = Bed::new().await;
    let created = bed.create("a").await.unwrap();
    bed.through.get("a").await.unwrap();
    bed.through.list(&ListParams::default()).await.unwrap();
    bed.through
        .replace("a", &PostParams::default(), &created)
        .await
        .unwrap();
    bed.through
        .patch(
            "a",
            &PatchParams::default(),
            &Patch::Merge(json!({ "data": { "k": "v" } })),
        )
        .await
        .unwrap();
    bed.through
        .create(
            &PostParams {
                dry_run: true,
                ..PostParams::default()
            },
            &config_map("b"),
        )
        .await
        .unwrap();
    bed.through.delete("a", &DeleteParams::default()).await.unwrap();

    let counts: Vec<_> = bed
        .proxy
        .counts()
        .into_iter()
        .map(|((verb, resource), n)| format!("{verb} {resource} {n}"))
        .collect();

    let expected = ["create 2", "delete 1", "get 1", "list 1", "patch 1", "update 1"]
        .map(|part| part.replace(' ', " configmaps "));
    assert_eq!(counts, expected);
    assert_eq!(bed.proxy.count("create", "configmaps"), 2);
    assert_eq!(bed.proxy.writes(), 4);
}

#[tokio::test]
async fn the_user_passes_through_the_proxy() {
    let cluster = CLUSTER.get().await.unwrap();
    let proxy = Proxy::start(cluster).unwrap();
    let tenant = users::client(&cluster.kubeconfig_via(users::TENANT_A, &proxy.url()).unwrap())
        .await
        .unwrap();
    let error = Api::<ConfigMap>::namespaced(tenant, "default")
        .list(&ListParams::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("\"tenant-a\" cannot list"), "{error}");
}

#[tokio::test]
async fn a_watch_streams_through_the_proxy_and_ends_with_a_cut() {
    let bed = Bed::new().await;
    let mut watch = Box::pin(bed.through.watch(&WatchParams::default(), "0").await.unwrap());
    let next = async |watch: &mut std::pin::Pin<Box<_>>| {
        tokio::time::timeout(wait::DEADLINE, futures::TryStreamExt::try_next(watch))
            .await
            .expect("an event within a minute")
    };
    bed.straight
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    loop {
        match next(&mut watch).await.unwrap() {
            Some(WatchEvent::Added(object)) if object.metadata.name.as_deref() == Some("a") => break,
            Some(_) => {}
            None => panic!("the watch ended"),
        }
    }

    bed.proxy.cut();

    assert!(!matches!(next(&mut watch).await, Ok(Some(_))));
    bed.through.get("a").await.unwrap_err();
    bed.proxy.restore();
    bed.through.get("a").await.unwrap();
    assert_eq!(bed.proxy.count("watch", "configmaps"), 1);
}

#[tokio::test]
async fn a_dropped_request_never_reaches_the_api_server() {
    let bed = Bed::new().await;
    let rule = bed.proxy.on(Match::of("create", "configmaps").nth(2), Fault::Drop);
    bed.create("a").await.unwrap();
    assert_eq!(rule.acted(), 0);

    bed.create("b").await.unwrap_err();

    assert_eq!(rule.acted(), 1);
    assert!(!bed.exists("b").await);
    bed.create("b").await.unwrap();
}

#[tokio::test]
async fn a_request_whose_answer_is_lost_has_been_done() {
    let bed = Bed::new().await;
    let rule = bed.proxy.on(Match::writes(), Fault::LoseAnswer);
    bed.through.list(&ListParams::default()).await.unwrap();

    bed.create("a").await.unwrap_err();

    rule.fired(wait::DEADLINE).await.unwrap();
    assert!(bed.exists("a").await);
}

#[tokio::test]
async fn a_process_is_killed_after_its_request_was_done_and_before_it_knows() {
    let bed = Bed::new().await;
    let log = workdir::workdir("victim").unwrap().join("log");
    let victim = Running::start("victim", Command::new("sleep").arg("600"), &log).unwrap();
    bed.proxy
        .on(Match::of("create", "configmaps"), Fault::PassThenKill(victim.clone()));

    bed.create("a").await.unwrap_err();

    let status = victim.wait(wait::DEADLINE).await.unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    assert!(bed.exists("a").await);
}

#[tokio::test]
async fn from_a_given_request_on_everything_can_be_cut_until_told() {
    let bed = Bed::new().await;
    let watch = Box::pin(bed.through.watch(&WatchParams::default(), "0").await.unwrap());
    bed.proxy.on(Match::writes().nth(2), Fault::CutAll);
    bed.create("a").await.unwrap();

    bed.create("b").await.unwrap_err();

    let ended = tokio::time::timeout(wait::DEADLINE, futures::StreamExt::count(watch)).await;
    ended.expect("the watch ends with the cut");
    bed.through.get("a").await.unwrap_err();
    assert!(!bed.exists("b").await);
    bed.proxy.restore();
    bed.create("b").await.unwrap();
}

#[tokio::test]
async fn an_injected_answer_looks_like_one_of_the_api_server() {
    let bed = Bed::new().await;
    for (code, reason) in [(403, "Forbidden"), (429, "TooManyRequests"), (500, "InternalError")] {
        let fault = Fault::answer(code, reason, "as the test wants it");
        bed.proxy.on(Match::of("get", "configmaps").name("a"), fault);
        let error = bed.through.get("a").await.unwrap_err();
        let kube::Error::Api(status) = error else {
            panic!("{error:?}")
        };
        assert_eq!(
            (status.code, &*status.reason, &*status.message),
            (code, reason, "as the test wants it")
        );
    }
    bed.proxy.on(
        Match::of("create", "configmaps").times(2),
        Fault::answer(403, "Forbidden", "no"),
    );
    bed.create("a").await.unwrap_err();
    bed.create("a").await.unwrap_err();
    bed.create("a").await.unwrap();
    let always = bed.proxy.on(
        Match::any().resource("configmaps").always(),
        Fault::answer(503, "ServiceUnavailable", "no"),
    );
    bed.through.get("a").await.unwrap_err();
    bed.through.get("a").await.unwrap_err();
    assert_eq!(always.acted(), 2);
    bed.proxy.clear();
    bed.through.get("a").await.unwrap();
}

#[tokio::test]
async fn a_delayed_request_is_done_after_its_delay() {
    let bed = Bed::new().await;
    let delay = Duration::from_millis(300);
    let rule = bed.proxy.on(Match::of("create", "configmaps"), Fault::Delay(delay));
    let started = std::time::Instant::now();
    bed.create("a").await.unwrap();
    assert!(started.elapsed() >= delay);
    assert_eq!(rule.acted(), 1);
}

#[tokio::test]
async fn what_passes_the_proxy_is_in_the_audit_log_too() {
    let bed = Bed::new().await;
    let admin = bed.cluster.admin().await.unwrap();
    let mark = bed.cluster.audit().mark(&admin).await.unwrap();
    let created = bed.create("audited").await.unwrap();
    let records = bed.cluster.audit().since(mark, &admin).await.unwrap();
    let mine = records
        .iter()
        .filter(|record| record.is("create", "configmaps") && record.name == "audited");
    let namespaces: Vec<_> = mine.map(|record| Some(&*record.namespace)).collect();
    assert_eq!(namespaces, [created.metadata.namespace.as_deref()]);
}

/// A server that is a replica to the balancer: says its name on its webhook port, and whether it is ready.
struct StandIn {
    webhook_port: u16,
    http_port: u16,
    ready: Arc<AtomicBool>,
}

impl StandIn {
    async fn start(name: &'static str) -> Self {
        let ready = Arc::new(AtomicBool::new(true));
        let webhook = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let probes = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (webhook_port, http_port) = (
            webhook.local_addr().unwrap().port(),
            probes.local_addr().unwrap().port(),
        );
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = webhook.accept().await {
                tokio::io::AsyncWriteExt::write_all(&mut stream, name.as_bytes())
                    .await
                    .unwrap();
            }
        });
        let told = Arc::clone(&ready);
        tokio::spawn(async move {
            while let Ok((stream, _)) = probes.accept().await {
                let told = Arc::clone(&told);
                let service = service_fn(move |_: Request<_>| {
                    let code = if told.load(Ordering::SeqCst) { 200 } else { 503 };
                    async move {
                        Ok::<_, Infallible>(Response::builder().status(code).body(Full::new(Bytes::new())).unwrap())
                    }
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Self {
            webhook_port,
            http_port,
            ready,
        }
    }
}

/// Who answers on a new connection; empty when it is closed.
async fn who(balancer: &Balancer) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, balancer.port()))
        .await
        .unwrap();
    let mut text = String::new();
    // A reset is a closed connection too.
    stream.read_to_string(&mut text).await.unwrap_or_default();
    text
}

async fn until_receivers(balancer: &Balancer, wanted: &[&str]) {
    let look = async || Ok(Seen::when(balancer.receivers(), |names| names == wanted));
    wait::until("receivers of the balancer", wait::DEADLINE, look)
        .await
        .unwrap();
}

#[tokio::test]
async fn the_balancer_sends_in_turn_to_those_that_were_ready_a_second_ago() {
    let (one, two) = (StandIn::start("one").await, StandIn::start("two").await);
    let balancer = Balancer::start().unwrap();
    assert_eq!(who(&balancer).await, "");
    balancer.add_ports("one", one.webhook_port, one.http_port);
    balancer.add_ports("two", two.webhook_port, two.http_port);
    until_receivers(&balancer, &["one", "two"]).await;
    let mut answers = [who(&balancer).await, who(&balancer).await];
    answers.sort();
    assert_eq!(answers, ["one", "two"]);

    let stopped = std::time::Instant::now();
    one.ready.store(false, Ordering::SeqCst);
    until_receivers(&balancer, &["two"]).await;
    assert!(
        stopped.elapsed() >= LAG,
        "a replica that is not ready any more still gets connections for a while"
    );

    let answers = [who(&balancer).await, who(&balancer).await];
    assert_eq!(answers, ["two", "two"]);
    assert_eq!((balancer.connections("one"), balancer.connections("two")), (1, 3));
    balancer.remove("two");
    assert_eq!(who(&balancer).await, "");
}

#[tokio::test]
async fn a_probe_gives_the_code_and_an_unreachable_server_is_an_error() {
    let server = StandIn::start("one").await;
    let url = format!("http://127.0.0.1:{}/readyz", server.http_port);
    assert_eq!(http::get(&url).await.unwrap(), (200, String::new()));
    server.ready.store(false, Ordering::SeqCst);
    assert_eq!(http::get(&url).await.unwrap(), (503, String::new()));
    let port = testkit::ports::free_port().unwrap();
    http::get(&format!("http://127.0.0.1:{port}/readyz")).await.unwrap_err();
}
