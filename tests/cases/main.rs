//! What users of schedulers suffered from, as decisions on small clusters: each test names the case
//! or the public report that it stands for, asserts the answer, and holds the whole records against
//! those of upstream's scheduler in `tests/golden/cases`.
//!
//! `UPDATE=1 cargo test --test cases` asks the oracle (`tests/controlplane/build oracle`) and writes
//! the records anew.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed unwrap is a failed test"
)]
#![expect(
    clippy::needless_pass_by_value,
    clippy::similar_names,
    clippy::too_many_lines,
    reason = "objects are written as they read best: as literals, in one place"
)]

mod bad_input;
mod builders;
#[path = "../conformance/configuration.rs"]
mod configuration;
mod images;
mod inter_pod_affinity;
mod mutations;
mod node_affinity;
mod ports;
mod preemption;
mod requests;
mod spread;
mod taints;
mod upstream;
mod verdict;
mod volumes;
