//! Upstream's exponential buckets (`metrics.ExponentialBuckets` of component-base).

/// `count` buckets from `start`, each `factor` times the one before.
pub(super) fn exponential(start: f64, factor: f64, count: i32) -> impl Iterator<Item = f64> {
    // Multiplied step by step, as upstream does: dashboards select by the text of `le`.
    std::iter::successors(Some(start), move |bound| Some(bound * factor))
        .take(usize::try_from(count).unwrap_or(0))
}

/// 1 ms to 16.4 s: attempts and algorithm.
pub(super) fn attempt_seconds() -> impl Iterator<Item = f64> {
    exponential(0.001, 2.0, 15)
}

/// 10 ms to 87 min: from the first attempt to the binding.
pub(super) fn sli_seconds() -> impl Iterator<Item = f64> {
    exponential(0.01, 2.0, 20)
}

/// 1 to 16: attempts of a pod.
pub(super) fn attempts() -> impl Iterator<Item = f64> {
    exponential(1.0, 2.0, 5)
}

/// 1 to 64: victims of a preemption.
pub(super) fn victims() -> impl Iterator<Item = f64> {
    exponential(1.0, 2.0, 7)
}

/// 1 ms to 33 s: evictions of a preemption.
pub(super) fn preemption_seconds() -> impl Iterator<Item = f64> {
    exponential(0.001, 2.0, 16)
}

/// 0.1 ms to 205 ms: extension points.
pub(super) fn extension_point_seconds() -> impl Iterator<Item = f64> {
    exponential(0.0001, 2.0, 12)
}
