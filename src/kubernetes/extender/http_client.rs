//! One POST to an extender: over TLS as its profile says, within a time limit, without following
//! redirects, and with an answer of limited size.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use k8s_openapi::ByteString;
use kube::Config;
use kube::client::ConfigExt;
use kube::config::AuthInfo;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;
use tokio::time::timeout;
use tower::util::BoxCloneSyncService;
use tower::{ServiceExt, service_fn};

use crate::apis::extender::{Extender, ExtenderTlsConfig};
use crate::kubernetes::extender::body::Chunks;

/// What an answer may be larger than its request, in bytes: an extender that is sent whole nodes
/// sends them back.
const ANSWER_SURPLUS: usize = 16 << 20;
/// Connections that nobody uses are closed after this time (`http.Transport` as upstream sets it).
const IDLE_CONNECTION: Duration = Duration::from_secs(90);

type BoxError = Box<dyn Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, BrokenAnswer>>;

/// An answer broke off.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BrokenAnswer(String);

/// The connections to one extender. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct HttpClient {
    service: BoxCloneSyncService<Request<Chunks>, Answer, BoxError>,
}

impl HttpClient {
    /// Prepares connections as `extender` says. Certificate files are read now.
    pub(super) fn try_new(extender: &Extender) -> Result<Self, String> {
        let config = config(extender).map_err(|error| {
            format!(
                "extender {:?} cannot be asked: {error}",
                extender.url_prefix
            )
        })?;
        let connector = config.rustls_https_connector().map_err(|error| {
            let why = innermost(&error);
            format!("extender {:?} cannot be asked: {why}", extender.url_prefix)
        })?;
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_CONNECTION)
            .pool_timer(TokioTimer::new())
            .build(connector);
        let service = service_fn(move |request: Request<Chunks>| {
            let client = client.clone();
            async move {
                let answer = client.request(request).await.map_err(BoxError::from)?;
                let broken = |error| BrokenAnswer(innermost(&error));
                Ok(answer.map(|body| body.map_err(broken).boxed_unsync()))
            }
        });
        Ok(Self {
            service: BoxCloneSyncService::new(service),
        })
    }

    /// Posts `arguments` and gives the body of an answer with status 200. Errors are in the words
    /// of upstream's HTTP client where they can be.
    pub(super) async fn post(
        &self,
        url: &str,
        verb: &str,
        arguments: Chunks,
        limit: Duration,
    ) -> Result<Bytes, String> {
        let failed = |why: &str| format!("Post {url:?}: {why}");
        let mut has_begun = false;
        match timeout(limit, self.exchange(url, verb, arguments, &mut has_begun)).await {
            Ok(answer) => answer,
            Err(_elapsed) if has_begun => Err(
                "context deadline exceeded (Client.Timeout or context cancellation while reading \
                 body)"
                    .to_owned(),
            ),
            Err(_elapsed) => Err(failed(
                "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
            )),
        }
    }

    /// `has_begun`: the head of the answer is there.
    async fn exchange(
        &self,
        url: &str,
        verb: &str,
        arguments: Chunks,
        has_begun: &mut bool,
    ) -> Result<Bytes, String> {
        let failed = |why: &str| format!("Post {url:?}: {why}");
        let largest = arguments.len() + ANSWER_SURPLUS;
        let uri: Uri = url.parse().map_err(|_| failed("the address is none"))?;
        let request = Request::post(uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(arguments)
            .map_err(|error| failed(&error.to_string()))?;
        let sent = self.service.clone().oneshot(request).await;
        let answer = sent.map_err(|error| failed(&why_not_sent(&*error, &uri)))?;
        *has_begun = true;
        if answer.status() != StatusCode::OK {
            let code = answer.status().as_u16();
            return Err(format!(
                "failed {verb} with extender at URL {url}, code {code}"
            ));
        }
        match Limited::new(answer.into_body(), largest).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(failed(&format!(
                "the answer is longer than {largest} bytes"
            ))),
            Err(error) => Err(failed(&innermost(&*error))),
        }
    }
}

/// The connection as kube's client would make it (`makeTransport`).
fn config(extender: &Extender) -> Result<Config, String> {
    let uri: Uri = extender
        .url_prefix
        .parse()
        .map_err(|error| format!("urlPrefix is no address: {error}"))?;
    let mut config = Config::new(uri);
    let tls = extender.tls_config.clone().unwrap_or_default();
    config.root_cert = roots(&tls)?;
    let unchecked = extender.enable_https && config.root_cert.is_none();
    config.accept_invalid_certs = tls.insecure || unchecked;
    config.tls_server_name = Some(tls.server_name.clone()).filter(|name| !name.is_empty());
    config.auth_info = identity(&tls)?;
    Ok(config)
}

/// Whom to trust; data goes before the file. `None` leaves it to the system.
fn roots(tls: &ExtenderTlsConfig) -> Result<Option<Vec<Vec<u8>>>, String> {
    let Some(pem) = data_or_file(&tls.ca_data, &tls.ca_file)? else {
        return Ok(None);
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = certificates.ok().filter(|found| !found.is_empty());
    let certificates = certificates.ok_or("caData or caFile holds no certificate in PEM form")?;
    let der = certificates.into_iter().map(|found| found.to_vec());
    Ok(Some(der.collect()))
}

/// The certificate that is shown, with its key.
fn identity(tls: &ExtenderTlsConfig) -> Result<AuthInfo, String> {
    let certificate = data_or_file(&tls.cert_data, &tls.cert_file)?;
    let key = data_or_file(&tls.key_data, &tls.key_file)?;
    let (Some(certificate), Some(key)) = (certificate, key) else {
        return Ok(AuthInfo::default());
    };
    let shown = json!({
        "client-certificate-data": ByteString(certificate),
        "client-key-data": ByteString(key),
    });
    // The error would show what it could not read.
    serde_json::from_value(shown).map_err(|_| "the client certificate cannot be read".to_owned())
}

fn data_or_file(data: &ByteString, file: &str) -> Result<Option<Vec<u8>>, String> {
    if !data.0.is_empty() {
        return Ok(Some(data.0.clone()));
    }
    if file.is_empty() {
        return Ok(None);
    }
    let read = std::fs::read(file);
    read.map(Some)
        .map_err(|error| format!("cannot read {file:?}: {error}"))
}

/// In Go's words if nobody listens, else in ours.
fn why_not_sent(error: &(dyn Error + 'static), uri: &Uri) -> String {
    let refused = causes(error).any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    });
    if !refused {
        return innermost(error);
    }
    let host = uri.host().unwrap_or_default();
    let https = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
    format!("dial tcp {host}:{port}: connect: connection refused")
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    let last = causes(error).last();
    last.map(ToString::to_string).unwrap_or_default()
}

/// The error and what it comes from.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |cause| (*cause).source())
}
