//! The server on a paused clock: connections are pipes within the process, so time moves only when nobody has anything
//! left to do.

use std::io;
use std::time::Duration;

use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::certs::resolver::ServingCertificate;
use crate::server::tls;

/// Accepts what the test connects.
struct Pipes(mpsc::Receiver<DuplexStream>);

impl Listener for Pipes {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(stream) => (stream, ()),
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

const REQUEST: &[u8] = b"GET /quick HTTP/1.1\r\nhost: h\r\n\r\n";
const SLOW_REQUEST: &[u8] = b"GET /slow HTTP/1.1\r\nhost: h\r\n\r\n";
const ENDLESS_REQUEST: &[u8] = b"GET /endless HTTP/1.1\r\nhost: h\r\n\r\n";

struct Fixture {
    connect: mpsc::Sender<DuplexStream>,
    cancel: CancellationToken,
    ended: JoinHandle<()>,
}

impl Fixture {
    fn start(transport: Transport, limits: Limits) -> Self {
        let router = Router::new()
            .route("/quick", get(|| async { "done" }))
            .route("/slow", get(|| async { sleep(Duration::from_secs(3)).await }))
            .route("/endless", get(std::future::pending::<()>));
        let (connect, pipes) = mpsc::channel(16);
        let cancel = CancellationToken::new();
        let ended = tokio::spawn(serve(Pipes(pipes), transport, router, limits, cancel.clone()));
        Self { connect, cancel, ended }
    }

    fn plain(connections: usize) -> Self {
        let limits = Limits {
            connections,
            ..Limits::webhook(Duration::from_secs(5))
        };
        Self::start(Transport::Plain, limits)
    }

    async fn connect(&self) -> DuplexStream {
        let (ours, theirs) = duplex(64 * 1024);
        self.connect.send(theirs).await.expect("the server accepts");
        ours
    }
}

/// Sends a request and gives the head of the answer.
async fn ask(stream: &mut DuplexStream, request: &[u8]) -> String {
    stream.write_all(request).await.expect("the request is taken");
    let mut buffer = vec![0; 4096];
    let length = stream.read(&mut buffer).await.expect("an answer");
    String::from_utf8(buffer[..length].to_vec()).expect("UTF-8")
}

/// Waits for the end of the connection and says how long that took.
async fn time_to_end(stream: &mut DuplexStream) -> Duration {
    let start = Instant::now();
    let mut rest = Vec::new();
    // A reset is an end as well.
    let _ended = stream.read_to_end(&mut rest).await;
    start.elapsed()
}

fn about(duration: Duration, seconds: u64) -> bool {
    // The timer wheel of tokio has a resolution of a millisecond.
    duration.abs_diff(Duration::from_secs(seconds)) < Duration::from_millis(10)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_shake_hands_is_cut_off_after_5_seconds() {
    let config = tls::server_config(Arc::new(ServingCertificate::default())).expect("a TLS configuration");
    let transport = Transport::Tls(TlsAcceptor::from(Arc::new(config)));
    let server = Fixture::start(transport, Limits::webhook(Duration::ZERO));
    let mut stream = server.connect().await;
    assert!(about(time_to_end(&mut stream).await, 5));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_request_is_cut_off_after_10_seconds() {
    let server = Fixture::plain(10);
    let mut stream = server.connect().await;
    assert!(about(time_to_end(&mut stream).await, 10));
}

#[tokio::test(start_paused = true)]
async fn half_a_header_is_no_request() {
    let server = Fixture::plain(10);
    let mut stream = server.connect().await;
    stream.write_all(b"GET /quick HTT").await.expect("taken");
    assert!(about(time_to_end(&mut stream).await, 10));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sent_a_request_may_be_idle_for_120_seconds() {
    let server = Fixture::plain(10);
    let mut stream = server.connect().await;
    assert!(ask(&mut stream, REQUEST).await.starts_with("HTTP/1.1 200 OK\r\n"));
    sleep(Duration::from_secs(100)).await;
    assert!(ask(&mut stream, REQUEST).await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(about(time_to_end(&mut stream).await, 120));
}

#[tokio::test(start_paused = true)]
async fn when_connections_run_out_a_silent_one_makes_room() {
    let server = Fixture::plain(2);
    let mut spoken = server.connect().await;
    ask(&mut spoken, REQUEST).await;
    let mut silent = server.connect().await;
    let mut new = server.connect().await;
    assert!(ask(&mut new, REQUEST).await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(about(time_to_end(&mut silent).await, 0));
    assert!(ask(&mut spoken, REQUEST).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test(start_paused = true)]
async fn while_leaving_new_connections_are_served_and_every_answer_says_close() {
    let server = Fixture::plain(10);
    let mut known = server.connect().await;
    let first = ask(&mut known, REQUEST).await;
    assert!(!first.contains("connection: close"), "{first}");
    server.cancel.cancel();
    let second = ask(&mut known, REQUEST).await;
    assert!(second.contains("connection: close"), "{second}");
    let mut new = server.connect().await;
    let third = ask(&mut new, REQUEST).await;
    assert!(
        third.starts_with("HTTP/1.1 200 OK\r\n") && third.contains("connection: close"),
        "{third}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_server_ends_when_the_last_request_has_its_answer() {
    let server = Fixture::plain(10);
    let mut idle = server.connect().await;
    ask(&mut idle, REQUEST).await;
    let mut silent = server.connect().await;
    let mut slow = server.connect().await;
    let start = Instant::now();
    server.cancel.cancel();
    sleep(Duration::from_secs(4)).await;
    let answer = ask(&mut slow, SLOW_REQUEST).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    server.ended.await.expect("no panic");
    assert!(
        about(start.elapsed(), 7),
        "4 s before the request and 3 s for it: {:?}",
        start.elapsed()
    );
    assert!(about(time_to_end(&mut idle).await, 0));
    assert!(about(time_to_end(&mut silent).await, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_end_is_cut_off_10_seconds_after_the_delay() {
    let server = Fixture::plain(10);
    let mut stream = server.connect().await;
    stream.write_all(ENDLESS_REQUEST).await.expect("taken");
    server.cancel.cancel();
    let start = Instant::now();
    server.ended.await.expect("no panic");
    assert!(about(start.elapsed(), 15), "{:?}", start.elapsed());
    assert!(about(time_to_end(&mut stream).await, 0));
}
