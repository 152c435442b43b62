//! The secure port: `/livez`, `/readyz`, `/healthz`, `/metrics`.
//!
//! Health paths are open, everything else needs a token that the API server knows
//! (`TokenReview`) and that may read the path (`SubjectAccessReview`), as kube-scheduler does it.

mod authorization;
mod health;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::metrics::Metrics;

pub use authorization::Authorizer;
pub use health::Health;
pub use tls::{TlsError, TlsFiles};

/// Connections at once.
const CONNECTIONS_MAX: usize = 64;
/// For the handshake, and for the head of a request.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// `text/plain` as Prometheus negotiates it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Why the port cannot be served.
#[derive(Debug, Error)]
pub enum ServingError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}; choose another --secure-port or --bind-address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Certificate or key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// What the handlers need.
#[derive(Clone, Debug)]
pub struct Served {
    /// Whether the process lives and is ready.
    pub health: Health,
    /// All metrics.
    pub metrics: Arc<Metrics>,
    /// Who may read what.
    pub authorizer: Arc<Authorizer>,
    /// Paths that everybody may read (`--authorization-always-allow-paths`). Health is always open.
    pub open_paths: Arc<[String]>,
}

/// A port that is open.
pub struct SecurePort {
    listener: TcpListener,
    acceptor: tokio_rustls::TlsAcceptor,
}

impl SecurePort {
    /// Opens the port. Without files a certificate is made in memory.
    pub async fn open(address: SocketAddr, files: Option<TlsFiles>) -> Result<Self, ServingError> {
        let acceptor = tls::acceptor(files)?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ServingError::Listen { address, source })?;
        Ok(Self { listener, acceptor })
    }

    /// The address that was opened.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `cancel`.
    pub async fn serve(self, served: Served, cancel: CancellationToken) {
        let router = router(served);
        let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = cancel.cancelled() => return,
            };
            // A connection that fails while it is accepted is the peer's affair.
            let Ok((stream, _)) = accepted else { continue };
            let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else {
                continue;
            };
            let (acceptor, router) = (self.acceptor.clone(), router.clone());
            tokio::spawn(async move {
                serve_connection(stream, acceptor, router).await;
                drop(slot);
            });
        }
    }
}

async fn serve_connection(
    stream: tokio::net::TcpStream,
    acceptor: tokio_rustls::TlsAcceptor,
    router: Router,
) {
    let Ok(Ok(stream)) = timeout(READ_LIMIT, acceptor.accept(stream)).await else {
        return;
    };
    let service = TowerToHyperService::new(router);
    let mut server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(READ_LIMIT);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        debug!(error = %error, "connection ended");
    }
}

fn router(served: Served) -> Router {
    let guarded = Router::new()
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(served.clone(), authorize));
    Router::new()
        .route("/livez", get(livez))
        .route("/healthz", get(livez))
        .route("/readyz", get(readyz))
        .merge(guarded)
        .with_state(served)
}

async fn metrics(State(served): State<Served>) -> Response {
    (
        [(header::CONTENT_TYPE, OPEN_METRICS)],
        served.metrics.encode(),
    )
        .into_response()
}

async fn livez(State(served): State<Served>) -> Response {
    health::answer("livez", served.health.live())
}

async fn readyz(State(served): State<Served>) -> Response {
    health::answer("readyz", served.health.ready())
}

async fn authorize(State(served): State<Served>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if served.open_paths.iter().any(|open| open == path) {
        return next.run(request).await;
    }
    let header = request.headers().get(header::AUTHORIZATION);
    let token = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let Some(token) = token else {
        return (StatusCode::UNAUTHORIZED, "a bearer token is needed\n").into_response();
    };
    match served.authorizer.may_get(token, path).await {
        Ok(true) => next.run(request).await,
        Ok(false) => (StatusCode::FORBIDDEN, "the token may not get this path\n").into_response(),
        Err(authorization::Denied::Unauthenticated) => {
            (StatusCode::UNAUTHORIZED, "the token is not valid\n").into_response()
        }
        Err(authorization::Denied::Unavailable) => {
            let text = "the API server could not be asked about the token\n";
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
    }
}

impl std::fmt::Debug for SecurePort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecurePort").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
