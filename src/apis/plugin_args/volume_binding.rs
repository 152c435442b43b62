//! Arguments of the plugin VolumeBinding.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::ArgProblems;
use super::function_shape::{self, UtilizationShapePoint};

/// How VolumeBinding waits and scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeBindingArgs {
    /// Seconds to wait for the volumes of a pod to be bound: 0 or more, default 600. 0 does not
    /// wait.
    #[serde(default = "ten_minutes")]
    #[schemars(range(min = 0))]
    pub bind_timeout_seconds: i64,

    /// Score by the utilization of storage capacity on a node, as points that rise in utilization.
    /// Between points the score is interpolated. Default: 10 at 0 percent, 0 at 100 percent, which
    /// prefers nodes with more free capacity.
    #[serde(default = "default_shape")]
    #[schemars(length(min = 1, max = 101))]
    #[x_kube(
        merge_strategy = kube::core::ListMerge::Atomic,
        validation = kube::core::Rule::new(
            "self.map(p, p.utilization).isSorted() && self.all(p, self.exists_one(q, q.utilization == p.utilization))"
        ).message("sort the points by utilization and name each utilization once")
    )]
    pub shape: Vec<UtilizationShapePoint>,
}

const fn ten_minutes() -> i64 {
    600
}

/// Prefers nodes with more free capacity (upstream, gate StorageCapacityScoring).
fn default_shape() -> Vec<UtilizationShapePoint> {
    vec![
        UtilizationShapePoint::new(0, 10),
        UtilizationShapePoint::new(100, 0),
    ]
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        Self {
            bind_timeout_seconds: ten_minutes(),
            shape: default_shape(),
        }
    }
}

impl VolumeBindingArgs {
    pub(super) fn completed(mut self) -> Self {
        if self.shape.is_empty() {
            self.shape = default_shape();
        }
        self
    }

    pub(super) fn check(&self, path: &str, problems: &mut ArgProblems) {
        let seconds = self.bind_timeout_seconds;
        problems.check_range(format!("{path}.bindTimeoutSeconds"), seconds, 0, i64::MAX);
        function_shape::check(&self.shape, &format!("{path}.shape"), problems);
    }
}
