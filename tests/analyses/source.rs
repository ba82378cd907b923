//! A metrics source whose one value a test sets.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use tokio::task::JoinSet;

/// Answers every query as Prometheus does. Ends with the test.
pub(crate) struct Source {
    value: Arc<Mutex<f64>>,
    addr: SocketAddr,
    _server: JoinSet<()>,
}

impl Source {
    pub(crate) async fn start(value: f64) -> Self {
        let value = Arc::new(Mutex::new(value));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shown = Arc::clone(&value);
        let routes = Router::new().fallback(move || {
            let value = *shown.lock().unwrap();
            async move {
                let result = format!(r#"[{{"metric":{{"pod":"a"}},"value":[1767225600,"{value}"]}}]"#);
                let body = format!(r#"{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}"#);
                ([(CONTENT_TYPE, "application/json")], body)
            }
        });
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            value,
            addr,
            _server: server,
        }
    }

    pub(crate) fn set(&self, value: f64) {
        *self.value.lock().unwrap() = value;
    }

    /// The file for `--metrics-source`.
    pub(crate) fn file(&self, folder: &Path) -> PathBuf {
        let path = folder.join("source.yaml");
        std::fs::write(&path, format!("url: http://{}\n", self.addr)).unwrap();
        path
    }
}
