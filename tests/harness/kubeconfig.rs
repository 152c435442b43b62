//! Kubeconfig files and the clients made from them.

use std::path::Path;

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::json;

use super::credentials::write_private;

/// Writes a kubeconfig for one server and one bearer token. JSON is YAML, so kubectl reads it.
pub(crate) fn write(
    path: &Path,
    server: &str,
    ca_certificate: &Path,
    user: &str,
    token: &str,
) -> anyhow::Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "test",
            "cluster": { "server": server, "certificate-authority": ca_certificate },
        }],
        "users": [{ "name": user, "user": { "token": token } }],
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": user } }],
        "current-context": "test",
    });
    write_private(path, &serde_json::to_string_pretty(&config)?)?;
    Ok(())
}

/// A client for a kubeconfig. It does not retry by itself: a test must see what the server says.
pub(crate) async fn client(path: &Path) -> anyhow::Result<Client> {
    Ok(Client::try_from(config(path).await?)?)
}

/// The configuration of such a client.
pub(crate) async fn config(path: &Path) -> anyhow::Result<Config> {
    let file = Kubeconfig::read_from(path)?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    config.proxy_url = None;
    Ok(config)
}
