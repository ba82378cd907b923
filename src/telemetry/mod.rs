//! What the operator tells about itself: logs and metrics. Must never decide anything, and never log what a Secret
//! holds.

pub mod analyses;
pub mod labels;
pub mod metrics;
mod process;

use tracing_subscriber::EnvFilter;

pub use metrics::{Metrics, PipelineFigures};

/// In which form log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged when `RUST_LOG` does not say otherwise. The client logs each failed request of a watch itself and
/// hyper each connection; what matters of both we say ourselves.
const DEFAULT_FILTER: &str = "info,kube_client=off,kube_runtime=off,hyper_util=off";

/// Begins logging to stderr. `RUST_LOG` (as in `tracing_subscriber::EnvFilter`) selects what is logged.
///
/// Does nothing when a subscriber is already there.
pub fn init_logging(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    // An error means that a subscriber is there already, which then serves.
    let _already_there = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

/// The span of one reconcile: each line logged within has the object, its uid and its generation.
#[must_use]
pub fn reconcile_span(namespace: &str, name: &str, uid: &str, generation: i64) -> tracing::Span {
    tracing::info_span!("reconcile", object = %format_args!("{namespace}/{name}"), uid, generation)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_line_of_a_reconcile_names_its_object_uid_and_generation() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            reconcile_span("ingest", "checkout", "uid-1", 7).in_scope(|| tracing::info!("done"));
        });
        let text = String::from_utf8(lines.0.lock().expect("no panic").clone()).expect("UTF-8");
        let line: serde_json::Value = serde_json::from_str(&text).expect("one line of JSON");
        assert_eq!(line["span"]["object"], "ingest/checkout");
        assert_eq!(line["span"]["uid"], "uid-1");
        assert_eq!(line["span"]["generation"], 7);
    }
}
