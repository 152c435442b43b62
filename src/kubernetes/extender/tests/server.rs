//! An HTTP server that answers every request in one way and notes what it was sent.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// How every request is answered.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Text(String),
    Code(u16),
    /// 307, to there.
    Redirect(String),
    /// Never.
    Silence,
    /// A body that does not come.
    HeadOnly,
    /// A body that does not end.
    Endless,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) line: String,
    headers: Vec<String>,
    pub(super) body: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    /// PEM.
    certificate: Option<String>,
    seen: Arc<Mutex<Vec<Seen>>>,
    running: JoinHandle<()>,
}

impl Reply {
    pub(super) fn json(value: &Value) -> Self {
        Self::Text(value.to_string())
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter().filter_map(|line| line.split_once(": "));
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Server {
    pub(super) async fn start(reply: Reply) -> Self {
        Self::listen(reply, None).await
    }

    /// For `127.0.0.1`.
    pub(super) async fn start_tls(reply: Reply) -> Self {
        let names = vec!["127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self::listen(reply, Some((acceptor, made.cert.pem()))).await
    }

    async fn listen(reply: Reply, tls: Option<(TlsAcceptor, String)>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (acceptor, certificate) = tls.unzip();
        let noted = Arc::clone(&seen);
        let running = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (reply, noted) = (reply.clone(), Arc::clone(&noted));
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, reply, noted).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, reply, noted).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            address,
            certificate,
            seen,
            running,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self) -> String {
        let scheme = if self.certificate.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}/x/", self.address)
    }

    /// Its certificate, as a profile has it.
    pub(super) fn certificate(&self) -> Value {
        let pem = self.certificate.clone().unwrap_or_default();
        json!(k8s_openapi::ByteString(pem.into_bytes()))
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// Nobody listens afterwards.
    pub(super) async fn stop(self) {
        self.running.abort();
        let _ = self.running.await;
    }
}

/// Answers one request and closes the connection.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    reply: Reply,
    noted: Arc<Mutex<Vec<Seen>>>,
) {
    let mut read = Vec::new();
    let head = loop {
        let mut piece = [0; 4096];
        let Ok(count @ 1..) = stream.read(&mut piece).await else {
            return;
        };
        read.extend_from_slice(&piece[..count]);
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
    };
    let text = String::from_utf8_lossy(&read[..head]).into_owned();
    let mut lines = text.split("\r\n").map(str::to_owned);
    let mut request = Seen {
        line: lines.next().unwrap_or_default(),
        headers: lines.collect(),
        body: read.split_off(head + 4),
    };
    let length = request.header("content-length");
    let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
    let arrived = request.body.len();
    request.body.resize(length, 0);
    if stream
        .read_exact(&mut request.body[arrived..])
        .await
        .is_err()
    {
        return;
    }
    noted.lock().push(request);
    let close = "connection: close\r\n";
    let answer = match &reply {
        Reply::Text(text) => format!(
            "HTTP/1.1 200 OK\r\n{close}content-length: {}\r\n\r\n{text}",
            text.len()
        ),
        Reply::Code(code) => format!("HTTP/1.1 {code} x\r\n{close}content-length: 0\r\n\r\n"),
        Reply::Redirect(to) => {
            format!("HTTP/1.1 307 x\r\n{close}location: {to}filter\r\ncontent-length: 0\r\n\r\n")
        }
        Reply::Silence => return std::future::pending().await,
        Reply::HeadOnly | Reply::Endless => {
            format!("HTTP/1.1 200 OK\r\n{close}content-length: 999999999\r\n\r\n")
        }
    };
    let _ = stream.write_all(answer.as_bytes()).await;
    match reply {
        Reply::HeadOnly => std::future::pending().await,
        Reply::Endless => while stream.write_all(&[b' '; 8192]).await.is_ok() {},
        _ => {
            let _ = stream.shutdown().await;
        }
    }
}
