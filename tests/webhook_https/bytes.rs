//! Any bytes: the handler never panics, and its answer is a review or a status of HTTP that says what is wrong. The
//! slice of `make fuzz` that `make test` runs: the kept corpus as it is, and mutated by tokens that mean something.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use http::Request;
use kube::runtime::watcher::Event;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use streaming_operator::server::WorkLimits;
use streaming_operator::telemetry::Metrics;
use streaming_operator::webhook::{Deps, Names, router};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::oracle;

const PATHS: [&str; 2] = ["/mutate", "/validate"];

/// Pieces that turn one kind of body into another.
const TOKENS: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "1e400",
    "0.0",
    "18446744073709551616",
    "\"\"",
    "\\ud800",
    "\\u0000",
    "\"spec\":",
    "\"metadata\":",
    "\"uid\":",
    "\"request\":",
    "\"rollout\":",
    "\"object\":",
    "\"generateName\":\"a-\",",
    "\u{feff}",
];

/// A change of a body.
#[derive(Clone, Debug)]
enum Mutation {
    Cut(Index),
    Flip(Index, u8),
    Remove(Index, usize),
    Insert(Index, &'static str),
    /// What stands from one place on is taken from another place.
    Splice(Index, Index),
}

impl Mutation {
    fn apply(&self, body: &mut Vec<u8>) {
        let end = body.len() + 1;
        match self {
            Self::Cut(at) => body.truncate(at.index(end)),
            Self::Flip(at, bits) => {
                let at = at.index(end);
                if let Some(byte) = body.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Self::Remove(at, length) => {
                let at = at.index(end);
                body.drain(at..(at + length).min(body.len()));
            }
            Self::Insert(at, token) => {
                let at = at.index(end);
                body.splice(at..at, token.bytes());
            }
            Self::Splice(at, from) => {
                let tail = body.split_off(at.index(end));
                let from = from.index(tail.len() + 1);
                body.extend_from_slice(&tail[from..]);
            }
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        1 => any::<Index>().prop_map(Mutation::Cut),
        3 => (any::<Index>(), 1..=255_u8).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        3 => (any::<Index>(), 1..60_usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
        4 => (any::<Index>(), prop::sample::select(&TOKENS[..])).prop_map(|(at, token)| Mutation::Insert(at, token)),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(at, from)| Mutation::Splice(at, from)),
    ]
}

fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/admission");
    let files = std::fs::read_dir(folder)
        .expect("the corpus")
        .map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files
        .map(|file| (file.clone(), std::fs::read(file).expect("a file")))
        .collect();
    files.sort();
    files
}

/// The handler, without a connection around it.
struct Handler {
    runtime: Runtime,
    router: Router,
}

impl Handler {
    fn new() -> Self {
        let names = Names::new(None, Duration::from_secs(30));
        names.observe(&Event::Init);
        names.observe(&Event::InitDone);
        let deps = Deps {
            names: Arc::new(names),
            authorizer: None,
            metrics_sources: Arc::default(),
            metrics: Metrics::new("0", "0", false),
            limits: WorkLimits::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        Self {
            runtime: runtime.expect("a runtime"),
            router: router(deps),
        }
    }

    /// Status and body of the answer.
    fn answer(&self, path: &str, body: &[u8]) -> (u16, Bytes) {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Body::from(body.to_vec())).expect("a request");
        self.runtime.block_on(async {
            let (head, body) = self
                .router
                .clone()
                .oneshot(request)
                .await
                .expect("an answer")
                .into_parts();
            (head.status.as_u16(), to_bytes(body, usize::MAX).await.expect("a body"))
        })
    }

    /// Why an answer is none that may be given.
    fn fault(&self, body: &[u8]) -> Option<String> {
        PATHS.into_iter().find_map(|path| {
            let (status, answer) = self.answer(path, body);
            let fault = oracle::check(body, status, &answer).err()?;
            Some(format!("{path}: {fault}"))
        })
    }

    /// What kind of answer a body gets.
    fn kind(&self, path: &str, body: &[u8]) -> String {
        let (status, answer) = self.answer(path, body);
        let Ok(review) = serde_json::from_slice::<Value>(&answer) else {
            return format!("HTTP {status}");
        };
        let response = &review["response"];
        match (response["allowed"].as_bool(), response["patch"].is_string()) {
            (Some(true), true) => "patched".to_owned(),
            (Some(true), false) => "admitted".to_owned(),
            _ => format!("refused with {}", response["status"]["code"]),
        }
    }
}

#[test]
fn every_body_of_the_corpus_has_a_valid_answer() {
    let (handler, corpus) = (Handler::new(), corpus());
    assert!(corpus.len() > 20, "only {} bodies", corpus.len());
    for (file, body) in corpus {
        assert_eq!(handler.fault(&body), None, "{}", file.display());
    }
}

#[test]
fn the_corpus_has_answers_of_every_kind() {
    let handler = Handler::new();
    let kinds = |body: &[u8]| PATHS.map(|path| handler.kind(path, body));
    let mut kinds: Vec<_> = corpus().iter().flat_map(|(_, body)| kinds(body)).collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "HTTP 400",
            "admitted",
            "patched",
            "refused with 400",
            "refused with 422"
        ]
    );
}

#[test]
fn mutated_bodies_have_a_valid_answer() {
    let (handler, corpus) = (Handler::new(), corpus());
    let mutations = prop::collection::vec(mutation(), 1..6);
    let config = ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(of in any::<Index>(), mutations in mutations)| {
        let (_, mut body) = of.get(&corpus).clone();
        for mutation in &mutations {
            mutation.apply(&mut body);
        }
        let fault = handler.fault(&body);
        prop_assert_eq!(fault, None, "{}", String::from_utf8_lossy(&body));
    });
}

#[test]
fn any_bytes_have_a_valid_answer() {
    let handler = Handler::new();
    let config = ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(body in prop::collection::vec(any::<u8>(), 0..200))| {
        prop_assert_eq!(handler.fault(&body), None);
    });
}
