//! Certificates of the extender and of those who ask it.

use std::path::{Path, PathBuf};

use rcgen::{
    CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
};

use crate::harness::credentials::{authority, write_private};

/// The name in the extender's certificate, which is not in its address.
pub(crate) const SERVER_NAME: &str = "extender.test";

/// Files in PEM form.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    /// Who signed all of them.
    pub(crate) authority: PathBuf,
    /// Who signed none of them.
    pub(crate) stranger: PathBuf,
    pub(crate) server: PathBuf,
    pub(crate) server_key: PathBuf,
    pub(crate) client: PathBuf,
    pub(crate) client_key: PathBuf,
}

impl Certificates {
    /// Makes fresh ones in `folder`.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        let stranger = authority()?.pem();
        let authority = authority()?;
        let (server, server_key) = signed(
            folder,
            &authority,
            SERVER_NAME,
            ExtendedKeyUsagePurpose::ServerAuth,
        )?;
        let (client, client_key) = signed(
            folder,
            &authority,
            "scheduler.test",
            ExtendedKeyUsagePurpose::ClientAuth,
        )?;
        Ok(Self {
            authority: write_private(&folder.join("extender-ca.crt"), &authority.pem())?,
            stranger: write_private(&folder.join("stranger-ca.crt"), &stranger)?,
            server,
            server_key,
            client,
            client_key,
        })
    }
}

fn signed(
    folder: &Path,
    authority: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
    purpose: ExtendedKeyUsagePurpose,
) -> anyhow::Result<(PathBuf, PathBuf)> {
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok((
        write_private(&folder.join(format!("{name}.crt")), &certificate.pem())?,
        write_private(&folder.join(format!("{name}.key")), &key.serialize_pem())?,
    ))
}
