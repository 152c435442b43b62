//! `Container`, `EphemeralContainer` and what they consist of (k8s.io/api, `core/v1`).

use prost::Message;

use crate::kubernetes::protobuf::quantity::{Amount, resource_list};
use crate::kubernetes::protobuf::{each, omit_empty};
use crate::model::objects::pod as model;

/// `Container`, and `EphemeralContainerCommon`, which has the same fields.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Container {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    image: String,
    #[prost(message, repeated, tag = "6")]
    ports: Vec<ContainerPort>,
    #[prost(message, optional, tag = "8")]
    resources: Option<ResourceRequirements>,
    #[prost(message, repeated, tag = "9")]
    volume_mounts: Vec<VolumeMount>,
    #[prost(string, optional, tag = "24")]
    restart_policy: Option<String>,
    #[prost(message, repeated, tag = "25")]
    restart_policy_rules: Vec<ContainerRestartRule>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EphemeralContainer {
    #[prost(message, optional, tag = "1")]
    common: Option<Container>,
}

#[derive(Clone, PartialEq, Message)]
struct ContainerPort {
    #[prost(int32, tag = "2")]
    host_port: i32,
    #[prost(string, tag = "4")]
    protocol: String,
    #[prost(string, tag = "5")]
    host_ip: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceRequirements {
    #[prost(message, repeated, tag = "2")]
    requests: Vec<Amount>,
}

#[derive(Clone, PartialEq, Message)]
struct VolumeMount {
    #[prost(string, repeated, tag = "8")]
    bind_mount_options: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ContainerRestartRule {
    #[prost(string, tag = "1")]
    action: String,
}

impl From<Container> for model::Container {
    fn from(container: Container) -> Self {
        let mut mounts = container.volume_mounts;
        mounts.retain(|mount| !mount.bind_mount_options.is_empty());
        Self {
            name: container.name,
            image: omit_empty(container.image),
            ports: each(container.ports),
            resources: container.resources.unwrap_or_default().into(),
            restart_policy: container.restart_policy,
            restart_policy_rules: each(container.restart_policy_rules),
            volume_mounts: each(mounts),
        }
    }
}

impl From<EphemeralContainer> for model::Container {
    fn from(container: EphemeralContainer) -> Self {
        container.common.unwrap_or_default().into()
    }
}

impl From<ContainerPort> for model::ContainerPort {
    fn from(port: ContainerPort) -> Self {
        Self {
            host_port: omit_empty(port.host_port),
            host_ip: omit_empty(port.host_ip),
            protocol: omit_empty(port.protocol),
        }
    }
}

impl From<ResourceRequirements> for model::ResourceRequirements {
    fn from(requirements: ResourceRequirements) -> Self {
        Self {
            requests: resource_list(requirements.requests),
        }
    }
}

impl From<VolumeMount> for model::VolumeMount {
    fn from(mount: VolumeMount) -> Self {
        Self {
            bind_mount_options: mount.bind_mount_options,
        }
    }
}

impl From<ContainerRestartRule> for model::RestartRule {
    fn from(rule: ContainerRestartRule) -> Self {
        Self {
            action: rule.action,
        }
    }
}
