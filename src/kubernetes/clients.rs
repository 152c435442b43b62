//! The API clients: one for watches and reads, one for writes; the election makes its own.

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use thiserror::Error;
use tower::util::MapRequestLayer;

use crate::options::{self, RateLimit};

/// Why there is no client.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The kubeconfig cannot be read.
    #[error("cannot use kubeconfig {path:?}; check --kubeconfig")]
    Kubeconfig {
        /// The file.
        path: String,
        /// Why.
        source: kube::config::KubeconfigError,
    },
    /// Neither a kubeconfig nor a cluster around the process.
    #[error("no API server is known; run in a cluster or give --kubeconfig")]
    Infer(#[source] kube::config::InferConfigError),
    /// The address is none.
    #[error("--master {address:?} is no URL; give one such as https://10.0.0.1:6443")]
    Master {
        /// As given.
        address: String,
    },
    /// The connection cannot be set up.
    #[error("cannot set up the connection to the API server")]
    Client(#[source] Box<kube::Error>),
}

/// The clients of one process.
#[derive(Clone)]
pub struct Clients {
    /// How the API server is reached.
    pub config: Config,
    /// For lists, watches and reads; tries again by itself.
    pub reads: Client,
    /// For writes; never tries again by itself.
    pub writes: Client,
}

impl Clients {
    /// Makes the clients. `identity` goes into the user agent, so that the audit log tells the
    /// replicas apart.
    pub async fn try_new(
        configured: &options::Config,
        identity: &str,
    ) -> Result<Self, ClientError> {
        let kubeconfig = &configured.settings.client_connection.kubeconfig;
        let mut config = config(kubeconfig).await?;
        if let Some(master) = &configured.master {
            config.cluster_url = master.parse().map_err(|_| ClientError::Master {
                address: master.clone(),
            })?;
        }
        let limit = configured.rate_limit();
        let reads = client(&config, identity, true, limit)?;
        let writes = client(&config, identity, false, limit)?;
        Ok(Self {
            config,
            reads,
            writes,
        })
    }
}

async fn config(kubeconfig: &str) -> Result<Config, ClientError> {
    if kubeconfig.is_empty() {
        return Config::infer().await.map_err(ClientError::Infer);
    }
    let failed = |source| ClientError::Kubeconfig {
        path: kubeconfig.to_owned(),
        source,
    };
    let file = Kubeconfig::read_from(kubeconfig).map_err(failed)?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(failed)
}

fn client(
    config: &Config,
    identity: &str,
    retries: bool,
    limit: Option<RateLimit>,
) -> Result<Client, ClientError> {
    let mut config = config.clone();
    config.default_retry = retries;
    let failed = |error| ClientError::Client(Box::new(error));
    let builder = kube::client::ClientBuilder::try_from(config).map_err(failed)?;
    let agent = format!("bayplan/{} ({identity})", env!("CARGO_PKG_VERSION"));
    let agent = HeaderValue::from_str(&agent).ok();
    let layer = MapRequestLayer::new(move |mut request: http::Request<kube::client::Body>| {
        if let Some(agent) = &agent {
            request.headers_mut().insert(USER_AGENT, agent.clone());
        }
        request
    });
    let inner = builder.with_layer(&layer).build();
    Ok(crate::kubernetes::rate_limit::limited(inner, limit))
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients")
            .field("server", &self.config.cluster_url)
            .finish_non_exhaustive()
    }
}
