//! The way from a chosen node to a bound pod: assume, reserve, permit, then a chain of effects.
//!
//! ```text
//!  assume ─▶ Reserve ─▶ Permit ─┬─ allow ─▶ (nominate) ─▶ PreBind … ─▶ Bind ─▶ PostBind
//!                               └─ wait ──▶ Waiting ─┘          any failure: unreserve, forget,
//!                                                               back to the queue
//! ```
//!
//! The engine owns the chain: each effect has exactly one completion, and the next step follows
//! it. A pod that is deleted on the way leaves no trace. Mirrors `bindingCycle` of
//! `schedule_one.go`.

mod chain;
mod failure;
mod permit;
mod view;
mod waiting;

pub(super) use view::{BindingView, StageView};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::effect::{EffectId, EffectOutcome};
use crate::engine::framework::extender::Answer;
use crate::engine::framework::extension_points::Refusal;
use crate::engine::framework::profile::Profile;
use crate::engine::framework::reservations::Reservations;
use crate::engine::framework::{CycleState, PluginName};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::engine::queue::{QueuedPod, target_pod_change};
use crate::model::map::IdMap;
use crate::model::objects::Pod;
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::timestamp::Timestamp;

/// Pods on their way to a node.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    by_uid: BTreeMap<PodUid, Binding>,
    /// Every pod that waits at `Permit` or `PreBind` is among these; there may be some that no
    /// longer do. In a burst thousands are on their way and none of them waits.
    waiting: BTreeSet<PodUid>,
}

/// A pod on its way to a node.
#[derive(Debug)]
struct Binding {
    node: Arc<str>,
    profile: Arc<Profile>,
    state: CycleState,
    stage: Stage,
    assumed: Timestamp,
    /// The node was or will be written into the status.
    is_nominated: bool,
    /// The queue's entry; while the pod waits at `Permit` the queue has it, in flight.
    queued: Option<QueuedPod>,
}

/// How far a pod has come.
#[derive(Debug)]
enum Stage {
    /// Held at `Permit` by these plugins, each until then. Exits: all let it go; one rejects it;
    /// a time is up; the pod is deleted.
    Waiting {
        held_by: BTreeMap<PluginName, Timestamp>,
        since: Timestamp,
    },
    /// The node is being written into the status, since the rest takes time (KEP-5278). Exits:
    /// completion, whatever it says.
    Nominating(EffectId),
    /// Effects of `PreBind` plugins are under way, or plugins wait for what others do, each until
    /// then. Exits: all done; one fails.
    PreBinding {
        next: usize,
        running: IdMap<EffectId, usize>,
        waiting: BTreeMap<usize, Timestamp>,
        since: Timestamp,
    },
    /// The binding is under way, by this plugin. Exits: completion.
    Binding(EffectId, PluginName),
}

// === impl Bindings ===

impl Bindings {
    /// Whether the pod is on its way.
    pub(super) fn contains(&self, uid: &PodUid) -> bool {
        self.by_uid.contains_key(uid)
    }

    /// When a wait at `Permit` or `PreBind` ends at the latest.
    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        let waiting = self.waiting();
        let deadlines = waiting.filter_map(|(_, binding)| binding.stage.deadline());
        deadlines.min()
    }

    /// The pods that wait at `Permit` or `PreBind`, by UID.
    fn waiting(&self) -> impl Iterator<Item = (&PodUid, &Binding)> {
        let bindings = self.waiting.iter().filter_map(|uid| {
            let binding = self.by_uid.get(uid)?;
            Some((uid, binding))
        });
        bindings.filter(|(_, binding)| binding.stage.deadline().is_some())
    }

    /// The pod waits from now on.
    fn begin_waiting(&mut self, uid: &PodUid) {
        self.waiting.insert(uid.clone());
    }

    /// Forgets those that no longer wait.
    fn forget_idle(&mut self) {
        let by_uid = &self.by_uid;
        self.waiting.retain(|uid| {
            let binding = by_uid.get(uid);
            binding.is_some_and(|binding| binding.stage.deadline().is_some())
        });
    }
}

// === impl Stage ===

impl Stage {
    /// The earliest time at which a wait for others ends.
    fn deadline(&self) -> Option<Timestamp> {
        match self {
            Self::Waiting { held_by, .. } => held_by.values().min().copied(),
            Self::PreBinding { waiting, .. } => waiting.values().min().copied(),
            Self::Nominating(_) | Self::Binding(..) => None,
        }
    }
}

// === impl Engine ===

impl Engine {
    /// Assumes that the pod is on `node`, reserves, asks for the permit, and starts the chain.
    pub(super) fn assume(
        &mut self,
        info: &PodInfo,
        profile: Arc<Profile>,
        node: Arc<str>,
        mut state: CycleState,
    ) -> Result<(), Refusal> {
        let mut assumed = self.cache.vocabulary.share_pod(info);
        assumed.node_name = Some(Arc::clone(&node));
        self.cache.assume_pod(assumed);
        let held = self.cache.nominator.promise_to(&info.uid);
        self.cache.clear_nomination(&info.uid);
        self.cache.preemptions.end(&info.uid);
        let outcome = self
            .reserve(&profile, &mut state, info, &node)
            .and_then(|()| self.permit(&profile, &mut state, info, &node));
        let held_by = match outcome {
            Ok(held_by) => held_by,
            Err(refusal) => {
                self.unreserve(&profile, &mut state, info, &node);
                self.forget_assumed(info);
                self.promise_ended(&info.uid, held);
                return Err(refusal);
            }
        };
        self.promise_ended(&info.uid, held.filter(|held| held.node != node));
        let uid = info.uid.clone();
        if !held_by.is_empty() {
            self.bindings.begin_waiting(&uid);
        }
        let waiting = Stage::Waiting {
            held_by,
            since: self.now,
        };
        self.bindings.by_uid.insert(
            uid.clone(),
            Binding {
                node,
                profile,
                state,
                stage: waiting,
                assumed: self.now,
                is_nominated: false,
                queued: None,
            },
        );
        self.start_when_permitted(&uid);
        Ok(())
    }

    fn reserve(
        &mut self,
        profile: &Profile,
        state: &mut CycleState,
        info: &PodInfo,
        node: &str,
    ) -> Result<(), Refusal> {
        let mut reservations = std::mem::take(&mut self.cache.reservations);
        self.observer.entered(ObservedPoint::Reserve);
        let result = self.views(info, node).map_or(Ok(()), |(pod, node)| {
            let plugins = profile
                .points
                .reserve
                .iter()
                .map(|index| profile.plugin(*index));
            plugins
                .filter_map(|plugin| plugin.as_reserve())
                .find_map(|plugin| plugin.reserve(state, &mut reservations, &pod, &node))
                .map_or(Ok(()), Err)
        });
        let status = result
            .as_ref()
            .map_or_else(StatusCode::from, |()| StatusCode::Success);
        let point = ObservedPoint::Reserve;
        self.observer.left(point, status, &profile.scheduler_name);
        self.cache.reservations = reservations;
        result
    }

    /// Undoes the reservations of all plugins, last first.
    fn unreserve(&mut self, profile: &Profile, state: &mut CycleState, info: &PodInfo, node: &str) {
        let (point, status) = (ObservedPoint::Unreserve, StatusCode::Success);
        self.observer.entered(point);
        self.with_reservations(info, |reservations, pod| {
            for index in profile.points.reserve.iter().rev() {
                if let Some(plugin) = profile.plugin(*index).as_reserve() {
                    plugin.unreserve(state, reservations, pod, node);
                }
            }
        });
        self.observer.left(point, status, &profile.scheduler_name);
    }

    fn with_reservations(
        &mut self,
        info: &PodInfo,
        act: impl FnOnce(&mut Reservations, &PodView<'_>),
    ) {
        let mut reservations = std::mem::take(&mut self.cache.reservations);
        act(
            &mut reservations,
            &PodView::new(info, &self.cache.vocabulary),
        );
        self.cache.reservations = reservations;
    }

    /// The pod and its node; `None` if the node is gone meanwhile.
    fn views<'a>(&'a self, info: &'a PodInfo, node: &str) -> Option<(PodView<'a>, NodeView<'a>)> {
        let cluster = self.cache.snapshot();
        Some((
            PodView::new(info, &self.cache.vocabulary),
            cluster.node(node)?,
        ))
    }

    /// An effect ended.
    pub(super) fn complete_effect(&mut self, id: EffectId, outcome: EffectOutcome) {
        let Some(uid) = self.effects.owner(id) else {
            return;
        };
        self.begin_deciding(&uid);
        if self.cache.preemptions.is_eviction(&uid, id) {
            return self.eviction_completed(&uid, &outcome);
        }
        if let Some(question) = self.effects.asked(id) {
            let answer = match outcome {
                EffectOutcome::Answered(answer) => answer,
                EffectOutcome::Failed(failure) => Answer::Failed(failure.message),
                _ => Answer::Failed("the question was not answered".to_owned()),
            };
            return self.suspensions.answer(uid, id, question, answer);
        }
        self.advance(&uid, id, outcome);
    }

    /// A newer version of a pod on its way, still without a node. What changed while it is held at
    /// `Permit` counts if it comes back; upstream forgets it.
    pub(super) fn update_binding(&mut self, pod: &Pod, uid: &PodUid) {
        let Ok(info) = self.cache.vocabulary.compile_pod(pod) else {
            return;
        };
        let binding = self.bindings.by_uid.get_mut(uid);
        let earlier = if let Some(queued) = binding.and_then(|binding| binding.queued.as_mut()) {
            Some(std::mem::replace(&mut queued.info, info))
        } else {
            let now = self.now;
            let (queue, plugins) = self.queue_and_plugins();
            let vocabulary = &plugins.cache.vocabulary;
            let change = queue.get(uid).and_then(|queued| {
                let old = (&queued.info, &**vocabulary.pod_class(queued.info.class));
                let new = (&info, &**vocabulary.pod_class(info.class));
                target_pod_change(old, new)
            });
            queue.update(now, info, change, &plugins)
        };
        if let Some(earlier) = earlier {
            self.cache.vocabulary.release_pod(&earlier);
        }
    }
}
