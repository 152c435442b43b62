//! Volumes from end to end: a real API server, kube-controller-manager's own volume controllers, a
//! player for the external provisioner, and Bayplan under the chart's rights.
#![cfg(feature = "live")]
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]

mod binding;
mod checking;
mod cluster;
#[path = "../harness/mod.rs"]
mod harness;
mod limits;
mod waiting;
