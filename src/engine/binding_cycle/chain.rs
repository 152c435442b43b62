//! The chain of effects: nominate, `PreBind`, `Bind`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::binding_cycle::{Binding, Stage};
use crate::engine::cache::snapshot::PodView;
use crate::engine::effect::{EffectAction, EffectId, EffectOutcome, StatusPatch};
use crate::engine::effects::Effects;
use crate::engine::framework::PluginError;
use crate::engine::framework::extender::EXTENDER;
use crate::engine::framework::extension_points::{PreBindPreFlight, PreBindStep, Refusal};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::engine::{BoundPod, Engine, TimedPoint};
use crate::model::map::IdMap;
use crate::model::pod_info::{PodInfo, PodUid};

impl Engine {
    /// Starts the chain, unless plugins hold the pod: then its node is written into the status.
    pub(super) fn start_when_permitted(&mut self, uid: &PodUid) {
        let Some(binding) = self.bindings.by_uid.get(uid) else {
            return;
        };
        let Stage::Waiting { held_by, .. } = &binding.stage else {
            return;
        };
        if held_by.is_empty() {
            let takes_time = self.has_pre_bind_work(uid);
            return self.start_chain(uid, takes_time);
        }
        let node = Arc::clone(&binding.node);
        self.nominate(uid, node, Effects::tell);
    }

    /// Leaves the queue and starts the chain. `takes_time` writes the node into the status first.
    pub(super) fn start_chain(&mut self, uid: &PodUid, takes_time: bool) {
        let queued = self.queue.done(uid);
        let Some(binding) = self.bindings.by_uid.get_mut(uid) else {
            return;
        };
        binding.queued = queued;
        binding.stage = Stage::PreBinding {
            next: 0,
            running: IdMap::default(),
            waiting: BTreeMap::new(),
            since: self.now,
        };
        let node = Arc::clone(&binding.node);
        if takes_time {
            let nominating = self.nominate(uid, node, Effects::emit);
            if let (Some(id), Some(binding)) = (nominating, self.bindings.by_uid.get_mut(uid)) {
                binding.stage = Stage::Nominating(id);
                return;
            }
        }
        self.pre_bind(uid);
    }

    /// Writes the node into the status of a pod whose binding takes time.
    fn nominate<T>(
        &mut self,
        uid: &PodUid,
        node: Arc<str>,
        send: impl FnOnce(&mut Effects, &PodInfo, EffectAction) -> T,
    ) -> Option<T> {
        let pod = self.cache.pod(uid)?;
        if pod.nominated_node.as_ref() == Some(&node) {
            return None;
        }
        if let Some(binding) = self.bindings.by_uid.get_mut(uid) {
            binding.is_nominated = true;
        }
        let patch = StatusPatch {
            condition: None,
            nominated_node: Some(node),
        };
        Some(send(
            &mut self.effects,
            pod,
            EffectAction::PatchStatus(patch),
        ))
    }

    fn has_pre_bind_work(&self, uid: &PodUid) -> bool {
        let Some(binding) = self.bindings.by_uid.get(uid) else {
            return false;
        };
        let profile = &binding.profile;
        let status = |has_work: &bool| match has_work {
            true => StatusCode::Success,
            false => StatusCode::Skip,
        };
        self.observer.during(
            ObservedPoint::PreBindPreFlight,
            &profile.scheduler_name,
            status,
            || {
                (0..profile.points.pre_bind.len())
                    .any(|at| self.pre_flight(binding, uid, at) != PreBindPreFlight::Skip)
            },
        )
    }

    /// `PreBind` ended.
    pub(super) fn observe_pre_bind(&mut self, uid: &PodUid, status: StatusCode) {
        if let Some(binding) = self.bindings.by_uid.get(uid)
            && let Stage::PreBinding { since, .. } = binding.stage
        {
            self.observations.timed_points.push(TimedPoint {
                point: ObservedPoint::PreBind,
                status,
                profile: Arc::clone(&binding.profile.scheduler_name),
                duration: self.now.since(since),
            });
        }
    }

    fn pre_flight(&self, binding: &Binding, uid: &PodUid, at: usize) -> PreBindPreFlight {
        let plugin = binding.profile.plugin(binding.profile.points.pre_bind[at]);
        let views = self
            .cache
            .pod(uid)
            .and_then(|info| self.views(info, &binding.node));
        match (plugin.as_pre_bind(), views) {
            (Some(plugin), Some((pod, node))) => plugin.pre_flight(&binding.state, &pod, &node),
            _ => PreBindPreFlight::Skip,
        }
    }

    /// An effect of the chain ended; what is next?
    pub(super) fn advance(&mut self, uid: &PodUid, id: EffectId, outcome: EffectOutcome) {
        let Some(binding) = self.bindings.by_uid.get_mut(uid) else {
            return;
        };
        match &mut binding.stage {
            Stage::Nominating(expected) if *expected == id => {
                binding.stage = Stage::PreBinding {
                    next: 0,
                    running: IdMap::default(),
                    waiting: BTreeMap::new(),
                    since: self.now,
                };
                self.pre_bind(uid);
            }
            Stage::PreBinding { running, .. } => {
                if let Some(at) = running.swap_remove(&id) {
                    let step = self.pre_bind_completed(uid, at, &outcome);
                    if self.take_step(uid, at, step) {
                        self.pre_bind(uid);
                    }
                }
            }
            Stage::Binding(expected, plugin) if *expected == id => {
                let plugin = *plugin;
                match outcome {
                    EffectOutcome::Done { .. } | EffectOutcome::Written(_) => self.bound(uid),
                    EffectOutcome::Failed(failure) => self.bind_failed(uid, plugin, &failure),
                    EffectOutcome::Answered(_) | EffectOutcome::Superseded => {
                        let message =
                            format!("running Bind plugin {plugin:?}: the binding was dropped");
                        self.fail_binding(uid, Refusal::Failed(PluginError { plugin, message }));
                    }
                }
            }
            Stage::Waiting { .. } | Stage::Nominating(_) | Stage::Binding(..) => {}
        }
    }

    /// Runs `PreBind` plugins until one has to be waited for, then binds. Neighbours that allow it
    /// run beside each other.
    pub(super) fn pre_bind(&mut self, uid: &PodUid) {
        loop {
            let Some(binding) = self.bindings.by_uid.get(uid) else {
                return;
            };
            let Stage::PreBinding {
                next,
                running,
                waiting,
                ..
            } = &binding.stage
            else {
                return;
            };
            let (at, idle) = (*next, running.is_empty() && waiting.is_empty());
            if at == binding.profile.points.pre_bind.len() {
                if idle {
                    self.observe_pre_bind(uid, StatusCode::Success);
                    self.bind(uid);
                }
                return;
            }
            let flight = self.pre_flight(binding, uid, at);
            let parallel = matches!(
                flight,
                PreBindPreFlight::Work {
                    allow_parallel: true
                }
            );
            let skipped = flight == PreBindPreFlight::Skip;
            if !skipped && !idle && (!parallel || !self.runs_in_parallel(uid)) {
                return;
            }
            if let Some(Binding {
                stage: Stage::PreBinding { next, .. },
                ..
            }) = self.bindings.by_uid.get_mut(uid)
            {
                *next += 1;
            }
            if skipped {
                continue;
            }
            let step = self.pre_bind_step(uid, at);
            if !self.take_step(uid, at, step) {
                return;
            }
        }
    }

    /// Whether everything that is under way allows company.
    fn runs_in_parallel(&self, uid: &PodUid) -> bool {
        let Some(binding) = self.bindings.by_uid.get(uid) else {
            return false;
        };
        let Stage::PreBinding {
            running, waiting, ..
        } = &binding.stage
        else {
            return false;
        };
        running.values().chain(waiting.keys()).all(|at| {
            matches!(
                self.pre_flight(binding, uid, *at),
                PreBindPreFlight::Work {
                    allow_parallel: true
                }
            )
        })
    }

    fn pre_bind_step(&mut self, uid: &PodUid, at: usize) -> PreBindStep {
        let Some(mut binding) = self.bindings.by_uid.remove(uid) else {
            return PreBindStep::Done;
        };
        let plugin = binding
            .profile
            .plugin(binding.profile.points.pre_bind[at])
            .as_pre_bind();
        let views = self
            .cache
            .pod(uid)
            .and_then(|info| self.views(info, &binding.node));
        let step = match (plugin, views) {
            (Some(plugin), Some((pod, node))) => plugin.pre_bind(&mut binding.state, &pod, &node),
            _ => PreBindStep::Done,
        };
        self.bindings.by_uid.insert(uid.clone(), binding);
        step
    }

    fn pre_bind_completed(
        &mut self,
        uid: &PodUid,
        at: usize,
        outcome: &EffectOutcome,
    ) -> PreBindStep {
        let Some(mut binding) = self.bindings.by_uid.remove(uid) else {
            return PreBindStep::Done;
        };
        let plugin = binding
            .profile
            .plugin(binding.profile.points.pre_bind[at])
            .as_pre_bind();
        let step = match (plugin, self.cache.pod(uid)) {
            (Some(plugin), Some(info)) => {
                let pod = PodView::new(info, &self.cache.vocabulary);
                plugin.completed(&mut binding.state, &pod, outcome)
            }
            _ => PreBindStep::Done,
        };
        self.bindings.by_uid.insert(uid.clone(), binding);
        step
    }

    /// Takes a step of the `PreBind` plugin at `at`. Tells whether the chain goes on.
    pub(super) fn take_step(&mut self, uid: &PodUid, at: usize, step: PreBindStep) -> bool {
        match step {
            PreBindStep::Done => true,
            PreBindStep::Wait(limit) => self.start_waiting(uid, at, limit),
            PreBindStep::Effect(action) => {
                let Some(pod) = self.cache.pod(uid) else {
                    return false;
                };
                let id = self.effects.emit(pod, action);
                if let Some(Binding {
                    stage: Stage::PreBinding { running, .. },
                    ..
                }) = self.bindings.by_uid.get_mut(uid)
                {
                    running.insert(id, at);
                }
                true
            }
            PreBindStep::Refuse(refusal) => {
                self.observe_pre_bind(uid, StatusCode::from(&refusal));
                self.fail_binding(uid, refusal);
                false
            }
        }
    }

    /// An extender that binds goes before the plugins (`bind`).
    fn bind(&mut self, uid: &PodUid) {
        let Some(binding) = self.bindings.by_uid.get_mut(uid) else {
            return;
        };
        let Some(info) = self.cache.pod(uid) else {
            return;
        };
        let pod = PodView::new(info, &self.cache.vocabulary);
        // Nobody binds to a node that is gone meanwhile.
        let is_there = self.cache.snapshot().node(&binding.node).is_some();
        let mut extenders = binding.profile.extenders.iter().filter(|_| is_there);
        let Some(binder) = extenders.find(|e| e.binds() && e.is_interested(&pod)) else {
            return self.bind_by_plugins(uid);
        };
        let action = EffectAction::BindByExtender {
            node: Arc::clone(&binding.node),
            extender: Arc::clone(&binder.config),
        };
        binding.stage = Stage::Binding(self.effects.emit(info, action), EXTENDER);
    }

    pub(super) fn bind_by_plugins(&mut self, uid: &PodUid) {
        let Some(binding) = self.bindings.by_uid.get(uid) else {
            return;
        };
        let Some(info) = self.cache.pod(uid) else {
            return;
        };
        let profile = &binding.profile;
        let action = self.views(info, &binding.node).and_then(|(pod, node)| {
            profile.points.bind.iter().find_map(|index| {
                let plugin = profile.plugin(*index);
                let action = plugin.as_bind()?.bind(&pod, &node)?;
                Some((action, plugin.name()))
            })
        });
        let Some((action, plugin)) = action else {
            let message = format!(
                "no plugin bound pod \"{}\": node {:?} is gone or every Bind plugin passed",
                info.key, binding.node
            );
            let error = PluginError {
                plugin: "",
                message,
            };
            return self.fail_binding(uid, Refusal::Failed(error));
        };
        let id = self.effects.emit(info, action);
        if let Some(binding) = self.bindings.by_uid.get_mut(uid) {
            binding.stage = Stage::Binding(id, plugin);
        }
    }

    fn bound(&mut self, uid: &PodUid) {
        let Some(mut binding) = self.bindings.by_uid.remove(uid) else {
            return;
        };
        let profile = Arc::clone(&binding.profile);
        if let Some(queued) = binding.queued.take() {
            let (point, status) = (ObservedPoint::PostBind, StatusCode::Success);
            self.observer.entered(point);
            self.with_reservations(&queued.info, |reservations, pod| {
                for index in &profile.points.post_bind {
                    if let Some(plugin) = profile.plugin(*index).as_post_bind() {
                        plugin.post_bind(&mut binding.state, reservations, pod, &binding.node);
                    }
                }
            });
            self.observer.left(point, status, &profile.scheduler_name);
            self.report_bound(&queued.info, &binding.node);
            self.queue.note_bound(&queued);
            let first_attempt = queued.initial_attempt.unwrap_or(self.now);
            self.observations.bound.push(BoundPod {
                profile: Arc::clone(&profile.scheduler_name),
                attempts: queued.attempts,
                since_first_attempt: self.now.since(first_attempt),
                since_assumed: self.now.since(binding.assumed),
            });
            self.cache.vocabulary.release_pod(&queued.info);
        }
    }
}
