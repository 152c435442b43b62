//! The certificate of the secure port: from files, or made in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// Where certificate and key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM, the chain (`--tls-cert-file`).
    pub certificate: PathBuf,
    /// PEM (`--tls-private-key-file`).
    pub key: PathBuf,
}

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path:?}; check --tls-cert-file and --tls-private-key-file")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file has no PEM of the right kind.
    #[error(
        "{path:?} holds no {what} in PEM form; check --tls-cert-file and --tls-private-key-file"
    )]
    Pem {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// Certificate and key do not go together.
    #[error("certificate and private key of the secure port do not go together")]
    Pair(#[source] rustls::Error),
    /// No certificate could be made.
    #[error("cannot make a certificate for the secure port")]
    SelfSigned(#[source] rcgen::Error),
}

pub(super) fn acceptor(files: Option<TlsFiles>) -> Result<TlsAcceptor, TlsError> {
    let (chain, key) = match files {
        Some(files) => (read_chain(&files.certificate)?, read_key(&files.key)?),
        None => self_signed()?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Pair)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(TlsError::Pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read {
        path: path.to_owned(),
        source,
    })
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = read(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    chain
        .ok()
        .filter(|chain| !chain.is_empty())
        .ok_or_else(|| TlsError::Pem {
            path: path.to_owned(),
            what: "certificate",
        })
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|_| TlsError::Pem {
        path: path.to_owned(),
        what: "private key",
    })
}

fn self_signed() -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(TlsError::SelfSigned)?;
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    Ok((vec![made.cert.der().clone()], key))
}
