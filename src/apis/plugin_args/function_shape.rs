//! The piecewise linear function from utilization to score that two plugins take.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::ArgProblems;

/// The highest score of a point; it is scaled to the scheduler's 0 to 100 (upstream's
/// `MaxCustomPriorityScore`).
const MAX_SCORE: i64 = 10;

/// A point of the function that turns utilization into a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UtilizationShapePoint {
    /// Utilization in percent: 0 to 100.
    #[schemars(range(min = 0, max = 100))]
    pub utilization: i32,

    /// Score at this utilization: 0 to 10.
    #[schemars(range(min = 0, max = 10))]
    pub score: i32,
}

impl UtilizationShapePoint {
    pub(super) const fn new(utilization: i32, score: i32) -> Self {
        Self { utilization, score }
    }
}

/// Points must exist, rise in utilization and stay in range (`validateFunctionShape`).
pub(super) fn check(shape: &[UtilizationShapePoint], path: &str, problems: &mut ArgProblems) {
    if shape.is_empty() {
        problems.add(path, "the shape has no point", "give at least one point");
    }
    if let Some(i) = shape
        .windows(2)
        .position(|pair| pair[0].utilization >= pair[1].utilization)
    {
        problems.add(
            format!("{path}[{}].utilization", i + 1),
            format!(
                "{} does not rise above the point before",
                shape[i + 1].utilization
            ),
            "sort the points by utilization and name each utilization once",
        );
    }
    for (i, point) in shape.iter().enumerate() {
        let utilization = i64::from(point.utilization);
        problems.check_range(format!("{path}[{i}].utilization"), utilization, 0, 100);
        problems.check_range(
            format!("{path}[{i}].score"),
            i64::from(point.score),
            0,
            MAX_SCORE,
        );
    }
}
