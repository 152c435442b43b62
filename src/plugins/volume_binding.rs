//! `VolumeBinding`: are the volumes of the pod there, can they be used on the node, and if they
//! are not there yet, can they be bound or made for it? Binds them before the pod is bound.
//!
//! Mirrors `plugins/volumebinding`. What can be told without a node is told once per attempt
//! ([`pod_volumes`]); the choice for a node is computed when it is asked for and never kept. Where
//! upstream takes any of several equal volumes or capacities, the first by name is taken.
//!
//! The counters of upstream's binder cache are left out: there is no such cache here.

mod assumed;
mod binding;
mod claims;
mod events;
mod find_matching;
mod migration;
mod place;
mod pod_volumes;
mod provisioning;
mod scoring;

use std::sync::Arc;
use std::time::Duration;

use crate::apis::plugin_args::VolumeBindingArgs;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::effect::{EffectAction, EffectOutcome};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    EnqueueExtensions, FilterPlugin, FilterVerdict, PreBindPlugin, PreBindPreFlight, PreBindStep,
    PreFilterPlugin, PreFilterVerdict, PreScorePlugin, PreScoreVerdict, Refusal, ReservePlugin,
    ScorePlugin, WaitTime,
};
use crate::engine::framework::reservations::{Reservations, Reserved};
use crate::engine::framework::{
    CycleState, Plugin, PluginError, PluginName, Rejection, RejectionKind,
};
use crate::plugins::volume_binding::assumed::{AssumedVolumes, EffectiveVolumes};
use crate::plugins::volume_binding::binding::BindingVolumes;
use crate::plugins::volume_binding::pod_volumes::{Found, PodVolumes};
use crate::plugins::volume_binding::scoring::Shape;

pub(crate) const NAME: &str = "VolumeBinding";
const REASON_UNBOUND_IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

/// Scores of a shape are given as 0..=10 and count as 0..=100 (`MaxCustomPriorityScore`).
const SCORE_SCALE: i64 = 10;

/// The plugin with its arguments.
#[derive(Debug)]
pub(crate) struct VolumeBinding {
    bind_timeout: Duration,
    shape: Shape,
}

impl VolumeBinding {
    pub(crate) fn new(args: &VolumeBindingArgs) -> Self {
        let points = args.shape.iter().map(|point| {
            let score = i64::from(point.score) * SCORE_SCALE;
            (i64::from(point.utilization), score)
        });
        let seconds = u64::try_from(args.bind_timeout_seconds).unwrap_or(0);
        Self {
            bind_timeout: Duration::from_secs(seconds),
            shape: Shape(points.collect()),
        }
    }
}

fn error(message: impl Into<String>) -> PluginError {
    PluginError {
        plugin: NAME,
        message: message.into(),
    }
}

/// What is known of the volumes of a pod before any node is looked at.
enum Prepared {
    /// It has no claims.
    Nothing,
    Volumes(PodVolumes),
    Rejected(Rejection),
    Failed(PluginError),
}

fn prepare(pod: &PodView<'_>, cluster: Snapshot<'_>) -> Prepared {
    if !claims::any(pod) {
        return Prepared::Nothing;
    }
    let listers = cluster.listers();
    if let Err(reason) = claims::check(pod, listers) {
        return Prepared::Rejected(Rejection::unresolvable(NAME, reason));
    }
    match claims::sort(pod, &EffectiveVolumes::of(cluster), listers) {
        Err(message) => Prepared::Failed(error(message)),
        Ok(sorted) if sorted.has_unbound_immediate => {
            Prepared::Rejected(Rejection::unresolvable(NAME, REASON_UNBOUND_IMMEDIATE))
        }
        Ok(sorted) => Prepared::Volumes(PodVolumes::of(pod, sorted, cluster)),
    }
}

/// An error on the way from a chosen node to a bound pod, in the framework's words.
fn failed_at(point: &str, message: &str) -> Refusal {
    Refusal::Failed(error(format!("running {point} plugin {NAME:?}: {message}")))
}

impl Plugin for VolumeBinding {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }

    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }

    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for VolumeBinding {
    /// What is known of volumes changes beside the nodes.
    fn inputs(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Vec<u64>> {
        pod.class.volumes.is_empty().then(Vec::new)
    }
}

impl PreFilterPlugin for VolumeBinding {
    fn pre_filter(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        match prepare(pod, *cluster) {
            Prepared::Nothing => PreFilterVerdict::Skip,
            Prepared::Volumes(volumes) => {
                state.write(volumes);
                PreFilterVerdict::Proceed
            }
            Prepared::Rejected(rejection) => PreFilterVerdict::Rejected(rejection),
            Prepared::Failed(error) => PreFilterVerdict::Failed(error),
        }
    }
}

impl FilterPlugin for VolumeBinding {
    fn filter(&self, state: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        let found = match state.read::<PodVolumes>() {
            Some(volumes) => volumes.on(node),
            // The profile has the plugin at `Filter` alone.
            None => match prepare(pod, node.cluster()) {
                Prepared::Nothing => return FilterVerdict::Fits,
                Prepared::Volumes(volumes) => volumes.on(node),
                Prepared::Rejected(rejection) => return FilterVerdict::Rejected(rejection),
                Prepared::Failed(error) => return FilterVerdict::Failed(error),
            },
        };
        match found {
            Ok(Found::Volumes(_)) => FilterVerdict::Fits,
            Ok(Found::Conflicts(reasons)) => FilterVerdict::Rejected(Rejection {
                kind: RejectionKind::UnschedulableAndUnresolvable,
                plugin: NAME,
                reasons,
            }),
            Err(message) => FilterVerdict::Failed(error(message)),
        }
    }
}

impl PreScorePlugin for VolumeBinding {
    /// Pods without volumes to bind score 0 everywhere, which is the same as no score.
    fn pre_score(
        &self,
        state: &mut CycleState,
        _: &PodView<'_>,
        _: &[NodeView<'_>],
    ) -> PreScoreVerdict {
        let volumes = state.read::<PodVolumes>();
        if volumes.is_none_or(PodVolumes::are_all_bound) {
            PreScoreVerdict::Skip
        } else {
            PreScoreVerdict::Proceed
        }
    }
}

impl ScorePlugin for VolumeBinding {
    fn score(
        &self,
        state: &CycleState,
        _: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError> {
        let Some(volumes) = state.read::<PodVolumes>() else {
            return Ok(0);
        };
        match volumes.on(node).map_err(error)? {
            Found::Volumes(found) => Ok(self.shape.score(&found)),
            Found::Conflicts(_) => Ok(0),
        }
    }
}

impl ReservePlugin for VolumeBinding {
    fn reserve(
        &self,
        state: &mut CycleState,
        reservations: &mut Reservations,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Option<Refusal> {
        let Some(volumes) = state.read::<PodVolumes>() else {
            let is_unprepared = claims::any(pod);
            return is_unprepared.then(|| failed_at("Reserve", "not found"));
        };
        if volumes.are_all_bound() {
            return None;
        }
        let found = match volumes.on(node) {
            Ok(Found::Volumes(found)) => found,
            Ok(Found::Conflicts(_)) => {
                let message = format!("no pod volume found for node {:?}", node.name());
                return Some(failed_at("Reserve", &message));
            }
            Err(message) => return Some(failed_at("Reserve", &message)),
        };
        let book = reservations.book::<AssumedVolumes>();
        book.drop_void(node.cluster().listers());
        let binding = BindingVolumes::assume(found, node.name(), book);
        state.write(binding);
        None
    }

    fn unreserve(
        &self,
        state: &mut CycleState,
        reservations: &mut Reservations,
        _: &PodView<'_>,
        _: &str,
    ) {
        if let Some(binding) = state.read::<BindingVolumes>() {
            binding.restore(reservations.book::<AssumedVolumes>());
        }
    }

    fn reserved(&self, cluster: &Snapshot<'_>) -> Vec<Reserved> {
        let book = cluster.reservations().read::<AssumedVolumes>();
        book.map_or_else(Vec::new, |book| book.reserved(cluster.listers()))
    }

    fn reserved_by(&self, state: &CycleState, cluster: &Snapshot<'_>) -> Vec<Reserved> {
        let binding = state.read::<BindingVolumes>();
        binding.map_or_else(Vec::new, |binding| binding.reserved(cluster.listers()))
    }
}

impl PreBindPlugin for VolumeBinding {
    fn pre_flight(
        &self,
        state: &CycleState,
        _: &PodView<'_>,
        _: &NodeView<'_>,
    ) -> PreBindPreFlight {
        match state.read::<BindingVolumes>() {
            None => PreBindPreFlight::Skip,
            Some(_) => PreBindPreFlight::Work {
                allow_parallel: true,
            },
        }
    }

    fn pre_bind(
        &self,
        state: &mut CycleState,
        _: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> PreBindStep {
        match state.read::<BindingVolumes>() {
            None => PreBindStep::Done,
            Some(binding) => {
                let writes = Arc::new(binding.writes(node.name()));
                PreBindStep::Effect(EffectAction::BindVolumes(writes))
            }
        }
    }

    fn completed(
        &self,
        state: &mut CycleState,
        _: &PodView<'_>,
        outcome: &EffectOutcome,
    ) -> PreBindStep {
        match outcome {
            EffectOutcome::Done { .. } => PreBindStep::Done,
            EffectOutcome::Written(versions) => {
                if let Some(binding) = state.read_mut::<BindingVolumes>() {
                    binding.note_written(versions.clone());
                }
                PreBindStep::Wait(self.bind_timeout)
            }
            EffectOutcome::Failed(failure) => {
                PreBindStep::Refuse(failed_at("PreBind", &failure.message))
            }
            EffectOutcome::Superseded | EffectOutcome::Answered(_) => {
                let message = "the volumes were not written";
                PreBindStep::Refuse(failed_at("PreBind", message))
            }
        }
    }

    fn poll(
        &self,
        state: &mut CycleState,
        _: &PodView<'_>,
        node: &str,
        cluster: &Snapshot<'_>,
        time: WaitTime,
    ) -> PreBindStep {
        let Some(binding) = state.read::<BindingVolumes>() else {
            return PreBindStep::Done;
        };
        let message = match (binding.are_bound(node, *cluster), time) {
            (Ok(true), _) => return PreBindStep::Done,
            (Ok(false), WaitTime::Left) => return PreBindStep::Wait(self.bind_timeout),
            (Ok(false), WaitTime::Up) => "context deadline exceeded".to_owned(),
            (Err(message), _) => message,
        };
        PreBindStep::Refuse(failed_at("PreBind", &format!("binding volumes: {message}")))
    }
}

#[cfg(test)]
mod tests;
