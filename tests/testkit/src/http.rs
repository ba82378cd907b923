//! Plain HTTP GET of a loopback server: probes and metrics.

use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

/// A probe's answer takes milliseconds; a server that hangs must not hang the one who asks.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The status code and the body.
///
/// # Errors
/// When nobody answers within 5 s.
pub async fn get(url: &str) -> Result<(u16, String)> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let answer = async {
        let answer = client.get(url.parse()?).await?;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok::<_, anyhow::Error>((code, String::from_utf8_lossy(&body).into_owned()))
    };
    tokio::time::timeout(TIMEOUT, answer)
        .await
        .context("no answer")?
        .with_context(|| format!("GET {url}"))
}
