//! A real control plane for the integration tests and the demo, and the instruments around it.
//!
//! [`ControlPlane`] runs etcd and kube-apiserver, a fake kubelet plays the nodes, and an
//! independent watch ([`history`]) with the API server's audit log ([`audit`]) says afterwards
//! what really happened. Nothing here uses the code of the library: what checks must not share
//! the mistakes of what is checked.
#![allow(dead_code, reason = "every test uses another part of the harness")]
#![allow(
    clippy::disallowed_methods,
    reason = "real processes live in real time"
)]

pub(crate) mod audit;
pub(crate) mod bayplan;
pub(crate) mod binaries;
pub(crate) mod builders;
pub(crate) mod checker;
pub(crate) mod commands;
pub(crate) mod control_plane;
pub(crate) mod create;
pub(crate) mod credentials;
pub(crate) mod footprint;
pub(crate) mod history;
pub(crate) mod interruptible;
pub(crate) mod kube_controller_manager;
pub(crate) mod kubeconfig;
pub(crate) mod kubelet;
pub(crate) mod objects;
pub(crate) mod process;
pub(crate) mod provisioner;
pub(crate) mod quantity;
pub(crate) mod reaper;
pub(crate) mod storage;
pub(crate) mod volume_checker;
pub(crate) mod volumes;
pub(crate) mod wait;
