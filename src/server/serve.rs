//! One server: accepts, shakes hands, speaks HTTP/1.1, and ends without losing a request.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::Body;
use axum::serve::Listener;
use http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::connections::{Connections, Place};
use super::limits::{Limits, READ_AHEAD_MAX_BYTES};

/// What lies between TCP and HTTP.
#[derive(Clone)]
pub enum Transport {
    /// Nothing.
    Plain,
    /// TLS.
    Tls(TlsAcceptor),
}

/// Serves `router` on `listener` until `cancel`, and then to the end of every request.
///
/// After `cancel` connections are accepted and served for another `limits.shutdown_delay`, each answer with
/// `Connection: close`, so that clients move elsewhere by themselves; then idle connections are closed, requests may
/// take `limits.drain` more, and what is left is cut off. A cut is logged. Never fails: faults of a connection end that
/// connection.
pub async fn serve<L: Listener>(
    mut listener: L,
    transport: Transport,
    router: Router,
    limits: Limits,
    cancel: CancellationToken,
) {
    let server = Arc::new(Server {
        transport,
        router,
        limits,
        leaving: cancel.clone(),
        closing: CancellationToken::new(),
    });
    let connections = Connections::new(limits.connections);
    let tasks = TaskTracker::new();
    let cut = CancellationToken::new();
    let accept = async {
        loop {
            let (io, _) = listener.accept().await;
            let Some(place) = connections.admit().await else {
                tracing::debug!("connection refused: all {} places are taken", limits.connections);
                continue;
            };
            let server = Arc::clone(&server);
            tasks.spawn(cut.clone().run_until_cancelled_owned(server.connection(io, place)));
        }
    };
    let told_to_stop = async {
        cancel.cancelled().await;
        sleep(limits.shutdown_delay).await;
    };
    tokio::select! {
        () = accept => {}
        () = told_to_stop => {}
    }
    drop(listener);
    server.closing.cancel();
    tasks.close();
    if timeout(limits.drain, tasks.wait()).await.is_err() {
        tracing::warn!(
            "{} connections still had a request after {:?} and are cut off",
            tasks.len(),
            limits.drain
        );
        cut.cancel();
        tasks.wait().await;
    }
}

struct Server {
    transport: Transport,
    router: Router,
    limits: Limits,
    /// Told to stop: answers ask the client to go elsewhere.
    leaving: CancellationToken,
    /// Idle connections end now.
    closing: CancellationToken,
}

impl Server {
    async fn connection<Io>(self: Arc<Self>, io: Io, place: Place)
    where
        Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        tokio::select! {
            () = place.evicted() => tracing::debug!("connection closed: it sent no request and its place was needed"),
            () = self.converse(io, &place) => {}
        }
    }

    async fn converse<Io>(&self, io: Io, place: &Place)
    where
        Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let acceptor = match &self.transport {
            Transport::Plain => return self.http(io, place).await,
            Transport::Tls(acceptor) => acceptor,
        };
        let handshake = async {
            tokio::select! {
                result = timeout(self.limits.handshake, acceptor.accept(io)) => Some(result),
                () = self.closing.cancelled() => None,
            }
        };
        match handshake.await {
            Some(Ok(Ok(stream))) => self.http(stream, place).await,
            // Whoever can reach the port can cause these, so they are no more than debug lines.
            Some(Ok(Err(error))) => tracing::debug!("TLS handshake failed: {error}"),
            Some(Err(_)) => tracing::debug!("TLS handshake took longer than {:?}", self.limits.handshake),
            None => {}
        }
    }

    async fn http<Io>(&self, io: Io, place: &Place)
    where
        Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let spoken = AtomicBool::new(false);
        let service = service_fn(|request: Request<Incoming>| {
            if !spoken.swap(true, Ordering::Relaxed) {
                place.spoke();
            }
            self.answer(request)
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.idle)
            .max_buf_size(READ_AHEAD_MAX_BYTES);
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(io), service));
        let mut first_header = std::pin::pin!(sleep(self.limits.first_header));
        let (mut awaits_first, mut closing) = (true, false);
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!("connection ended: {error}");
                    }
                    return;
                }
                () = first_header.as_mut(), if awaits_first => {
                    awaits_first = false;
                    if !spoken.load(Ordering::Relaxed) {
                        tracing::debug!("no request within {:?}", self.limits.first_header);
                        return;
                    }
                }
                () = self.closing.cancelled(), if !closing => {
                    closing = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        let mut response = self.router.clone().oneshot(request.map(Body::new)).await?;
        if self.leaving.is_cancelled() {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests;
