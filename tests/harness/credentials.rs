//! Certificates, keys and the administrator's token of one control plane.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

/// Files that etcd and kube-apiserver are started with.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// The certificate authority that clients trust.
    pub(crate) ca_certificate: PathBuf,
    /// The API server's certificate, for 127.0.0.1 and localhost.
    pub(crate) server_certificate: PathBuf,
    /// Its key.
    pub(crate) server_key: PathBuf,
    /// Signs service account tokens.
    pub(crate) service_account_key: PathBuf,
    /// Verifies them.
    pub(crate) service_account_public_key: PathBuf,
    /// `token,user,uid,groups` of the administrator.
    pub(crate) token_file: PathBuf,
    /// The administrator's bearer token.
    pub(crate) admin_token: String,
}

impl Credentials {
    /// Makes fresh credentials in `folder`.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        let authority = authority()?;
        let server_key = KeyPair::generate()?;
        let certificate = server_certificate()?.signed_by(&server_key, &authority)?;
        let service_account_key = KeyPair::generate()?;
        let admin_token = token()?;
        let write = |name: &str, text: &str| write_private(&folder.join(name), text);
        Ok(Self {
            ca_certificate: write("ca.crt", &authority.pem())?,
            server_certificate: write("apiserver.crt", &certificate.pem())?,
            server_key: write("apiserver.key", &server_key.serialize_pem())?,
            service_account_key: write("sa.key", &service_account_key.serialize_pem())?,
            service_account_public_key: write("sa.pub", &service_account_key.public_key_pem())?,
            token_file: write(
                "tokens.csv",
                &format!("{admin_token},admin,admin,\"system:masters\"\n"),
            )?,
            admin_token,
        })
    }
}

/// Somebody who signs certificates.
pub(crate) fn authority() -> anyhow::Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
        .distinguished_name
        .push(DnType::CommonName, "bayplan-test-ca");
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn server_certificate() -> anyhow::Result<CertificateParams> {
    let mut params = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()])?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
        .distinguished_name
        .push(DnType::CommonName, "kube-apiserver");
    Ok(params)
}

/// A secret that nobody guesses: the public half of a key that is thrown away.
fn token() -> anyhow::Result<String> {
    let key = KeyPair::generate()?;
    let mut token = String::new();
    // The first byte says how the key is written and is always the same.
    for byte in key.public_key_raw().iter().skip(1).take(32) {
        write!(token, "{byte:02x}")?;
    }
    Ok(token)
}

/// Writes a file that only its owner can read, and returns its path.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<PathBuf> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("{} cannot be written", path.display()))?;
    file.write_all(text.as_bytes())?;
    Ok(path.to_owned())
}
