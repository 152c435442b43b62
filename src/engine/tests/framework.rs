//! Extension points that the default plugins do not use, with plugins that do what the test says.

mod extenders;
mod observer;
mod permit;
mod pre_bind;
mod reserve;

use std::any::Any;
use std::sync::Mutex;

use super::*;
use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::effect::PreBindWork;
use crate::engine::framework::extension_points::{
    BindPlugin, PermitDecision, PermitPlugin, PermitVerdict, PostBindPlugin, PostFilterPlugin,
    PostFilterVerdict, PreBindPlugin, PreBindPreFlight, PreBindStep, Refusal, ReservePlugin,
};
use crate::engine::framework::failed_attempt::FailedAttempt;
use crate::engine::framework::reservations::Reservations;
use crate::engine::framework::{CycleState, Plugin, PluginError, PluginName, Rejection};

/// What a probe says at `Permit` about a pod, given who waits.
type Permit = fn(&str, &[PodUid]) -> PermitVerdict;

/// A plugin at every extension point after the filters, which writes down its calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    name: PluginName,
    log: Arc<Mutex<Vec<String>>>,
    refuses_reserve: bool,
    permit: Option<Permit>,
    /// The `allow_parallel` of its work before the binding, if it has any.
    work: Option<bool>,
    /// The node it nominates at `PostFilter`.
    nominates: Option<&'static str>,
}

#[derive(Debug)]
struct Work(PluginName);

impl PreBindWork for Work {
    fn name(&self) -> &'static str {
        self.0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A plugin that holds every pod at `Permit` but `preemptor`.
pub(super) fn holding(name: PluginName) -> Probe {
    let hold: Permit = |pod, _| match pod {
        "preemptor" => PermitDecision::Allow.into(),
        _ => PermitDecision::Wait(Duration::from_mins(1)).into(),
    };
    Probe {
        permit: Some(hold),
        ..Probe::new(name)
    }
}

/// A plugin that has work to do before every binding.
pub(super) fn working(name: PluginName) -> Probe {
    Probe {
        work: Some(false),
        ..Probe::new(name)
    }
}

fn small(name: &str) -> NodeBuilder {
    make_node(name).allocatable(&[("cpu", "1"), ("pods", "9")])
}

fn done() -> EffectOutcome {
    EffectOutcome::Done {
        resource_version: None,
    }
}

fn failed(message: &str) -> EffectOutcome {
    EffectOutcome::Failed(EffectFailure {
        kind: FailureKind::Unavailable,
        message: message.to_owned(),
    })
}

impl Probe {
    fn new(name: PluginName) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    fn note(&self, call: &str) {
        self.log
            .lock()
            .unwrap()
            .push(format!("{call} {}", self.name));
    }
}

impl Plugin for Probe {
    fn name(&self) -> PluginName {
        self.name
    }

    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        Some(self)
    }

    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }

    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }

    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }

    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        Some(self)
    }

    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        Some(self)
    }
}

impl PostFilterPlugin for Probe {
    fn post_filter(&self, _: &FailedAttempt<'_>) -> PostFilterVerdict {
        match self.nominates {
            Some(node) => PostFilterVerdict::Nominated {
                node: node.into(),
                victims: Vec::new(),
                message: "room is being made.".to_owned(),
                choice: None,
            },
            None => PostFilterVerdict::Rejected(Rejection::unschedulable(self.name, "no help.")),
        }
    }
}

impl ReservePlugin for Probe {
    fn reserve(
        &self,
        _: &mut CycleState,
        _: &mut Reservations,
        _: &PodView<'_>,
        _: &NodeView<'_>,
    ) -> Option<Refusal> {
        self.note("reserve");
        self.refuses_reserve
            .then(|| Refusal::Rejected(Rejection::unschedulable(self.name, "nothing to reserve")))
    }

    fn unreserve(&self, _: &mut CycleState, _: &mut Reservations, _: &PodView<'_>, _: &str) {
        self.note("unreserve");
    }
}

impl PermitPlugin for Probe {
    fn permit(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &NodeView<'_>,
        waiting: &[PodUid],
    ) -> PermitVerdict {
        match self.permit {
            Some(permit) => permit(&pod.info.key.name, waiting),
            None => PermitDecision::Allow.into(),
        }
    }
}

impl PreBindPlugin for Probe {
    fn pre_flight(&self, _: &CycleState, _: &PodView<'_>, _: &NodeView<'_>) -> PreBindPreFlight {
        self.work.map_or(PreBindPreFlight::Skip, |allow_parallel| {
            PreBindPreFlight::Work { allow_parallel }
        })
    }

    fn pre_bind(&self, _: &mut CycleState, _: &PodView<'_>, _: &NodeView<'_>) -> PreBindStep {
        PreBindStep::Effect(EffectAction::PreBind(Arc::new(Work(self.name))))
    }

    fn completed(
        &self,
        _: &mut CycleState,
        _: &PodView<'_>,
        outcome: &EffectOutcome,
    ) -> PreBindStep {
        match outcome {
            EffectOutcome::Failed(failure) => PreBindStep::Refuse(Refusal::Failed(PluginError {
                plugin: self.name,
                message: failure.message.clone(),
            })),
            _ => PreBindStep::Done,
        }
    }
}

impl BindPlugin for Probe {
    fn bind(&self, _: &PodView<'_>, _: &NodeView<'_>) -> Option<EffectAction> {
        self.note("pass");
        None
    }
}

impl PostBindPlugin for Probe {
    fn post_bind(&self, _: &mut CycleState, _: &mut Reservations, _: &PodView<'_>, _: &str) {
        self.note("bound");
    }
}

impl Driver {
    /// Runs the profile with the probes at the end of each point, and first at `Bind`.
    pub(super) fn with_probes(mut self, probes: &[Probe], extenders: &serde_json::Value) -> Self {
        let mut spec = self.spec.clone();
        spec["extenders"] = extenders.clone();
        let mut profile = self.build(spec);
        for (at, probe) in probes.iter().enumerate() {
            let index = profile.plugins.len();
            profile.plugins.push(Arc::new(probe.clone()));
            let points = &mut profile.points;
            points.post_filter.push(index);
            points.reserve.push(index);
            points.permit.push(index);
            points.pre_bind.push(index);
            points.bind.insert(at, index);
            points.post_bind.push(index);
        }
        self.engine
            .handle(ClusterEvent::ProfilesChanged(vec![profile]));
        self
    }

    /// What is to be done since the last look, by name, without events.
    fn actions(&mut self) -> Vec<(EffectId, &'static str)> {
        let effects = self.effects.drain(..);
        effects
            .map(|effect| (effect.id, effect.action.name()))
            .filter(|(_, name)| *name != "event")
            .collect()
    }

    /// The only thing that is to be done, which must be called `name`.
    fn action(&mut self, name: &str) -> EffectId {
        let actions = self.actions();
        match actions.as_slice() {
            [(id, found)] if *found == name => *id,
            _ => panic!("{name} must be the only action, not {actions:?}"),
        }
    }
}

#[test]
fn the_words_of_post_filter_end_the_message_and_the_nomination_is_in_the_same_patch() {
    let probe = Probe {
        nominates: Some("n"),
        ..Probe::new("maker")
    };
    let mut driver = Driver::new([small("n")]).with_probes(&[probe], &json!([]));
    driver.pod(&make_pod("p").request("cpu", "2"));
    let message = "0/1 nodes are available: 1 Insufficient cpu. room is being made.";
    assert_eq!(driver.message(), message);
    let patches: Vec<_> = driver
        .effects
        .iter()
        .filter_map(|effect| match &effect.action {
            EffectAction::PatchStatus(patch) => Some(patch),
            _ => None,
        })
        .collect();
    assert_eq!(patches.len(), 1);
    assert_eq!(patches[0].nominated_node.as_deref(), Some("n"));
    let condition = patches[0].condition.as_ref().unwrap();
    assert_eq!(condition.message, message);
}
