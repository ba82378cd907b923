//! Plain HTTP of a loopback server: probes, metrics, the JSON interface of etcd.

use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

/// A probe's answer takes milliseconds; a server that hangs must not hang the one who asks.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Gets: the status code and the body.
///
/// # Errors
/// When nobody answers within 5 s.
pub async fn get(url: &str) -> Result<(u16, String)> {
    send(Request::get(url).body(Full::default())?).await
}

/// Posts a body: the status code and the body of the answer.
///
/// # Errors
/// When nobody answers within 5 s.
pub async fn post(url: &str, body: String) -> Result<(u16, String)> {
    send(Request::post(url).body(Full::from(body))?).await
}

async fn send(request: Request<Full<Bytes>>) -> Result<(u16, String)> {
    let what = format!("{} {}", request.method(), request.uri());
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let answer = async {
        let answer = client.request(request).await?;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok::<_, anyhow::Error>((code, String::from_utf8_lossy(&body).into_owned()))
    };
    tokio::time::timeout(TIMEOUT, answer)
        .await
        .context("no answer")?
        .context(what)
}
