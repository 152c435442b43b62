//! A scheduler as its driver runs it: an engine, what it was told, and the way back after a panic.
//!
//! Every call is followed by an audit against what the replica was told: always by the cheap part, in
//! which nothing is counted anew, and by the whole after one call in [`AUDITED`], by chance, after
//! each call that comes with a fault, and at the end.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bayplan::apis::effective_profile::EffectiveProfile;
use bayplan::engine::audit::{Auditor, Placement, Truth};
use bayplan::engine::decision::{Decision, Outcome};
use bayplan::engine::effect::volumes::VolumeWrites;
use bayplan::engine::effect::{Effect, EffectAction, EffectId, EffectOutcome, FailureKind};
use bayplan::engine::event::ClusterEvent;
use bayplan::engine::framework::extender::Question;
use bayplan::engine::set_aside::SetAside;
use bayplan::engine::{Activity, Engine, EngineConfig};
use bayplan::model::objects::Pod;
use bayplan::model::pod_info::{PodKey, PodUid};
use bayplan::model::timestamp::Timestamp;
use bayplan::plugins::registry::Registry;

use crate::bomb;
use crate::doorkeeper;
use crate::extenders;
use crate::generator::dice::Dice;
use crate::nominations::Nominations;
use crate::store::Store;
use crate::traced::described;
use crate::watches::nodes_listed;

/// Two panics within this time end the process.
const PANIC_WINDOW: Duration = Duration::from_mins(1);

/// Of so many calls one is followed by the whole audit.
const AUDITED: usize = 8;

/// An effect under way.
#[derive(Debug)]
struct UnderWay {
    uid: PodUid,
    is_binding: bool,
    writes: Option<Arc<VolumeWrites>>,
    /// What an extender is asked about the pod.
    question: Option<(PodKey, Question)>,
}

/// A scheduler.
#[derive(Debug)]
pub(crate) struct Replica {
    engine: Engine,
    now: Timestamp,
    set_aside: SetAside,
    store: Store,
    /// What the engine must know; objects are taken from the store when that has changed.
    truth: Truth,
    store_has_changed: bool,
    under_way: BTreeMap<EffectId, UnderWay>,
    /// Pods of which a binding said that they are gone or elsewhere: the watch has yet to say so.
    lost: BTreeSet<PodUid>,
    /// Pods about which an extender said in this attempt what it does not mean.
    misjudged: BTreeSet<PodUid>,
    profiles: Vec<EffectiveProfile>,
    last_panic: Option<Timestamp>,
    auditor: Auditor,
    /// Which calls are followed by the whole audit.
    dice: Dice,
    /// Handed over by the engine, not yet taken by the executor.
    effects: Vec<Effect>,
    findings: Vec<String>,
    /// Pods that were placed only because the flush had woken them.
    pub(crate) rescued: u64,
    pub(crate) attempts: u64,
    pub(crate) audits: u64,
    /// Writes what happens to the standard error stream.
    trace: bool,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// Back.
    Back,
    /// To a panic; the engine is another one, which must catch up before it decides.
    Recovered,
    /// To a second panic within a minute: the process ends.
    Ended,
}

impl Replica {
    pub(crate) fn new(
        config: EngineConfig,
        profiles: Vec<EffectiveProfile>,
        now: Timestamp,
        trace: bool,
    ) -> Self {
        let mut replica = Self {
            engine: Engine::new(config),
            now,
            set_aside: SetAside::default(),
            store: Store::default(),
            truth: Truth::default(),
            store_has_changed: true,
            under_way: BTreeMap::new(),
            lost: BTreeSet::new(),
            misjudged: BTreeSet::new(),
            profiles,
            last_panic: None,
            auditor: Auditor::default(),
            dice: Dice::new(config.seed ^ 0xa0d1),
            effects: Vec::new(),
            findings: Vec::new(),
            rescued: 0,
            attempts: 0,
            audits: 0,
            trace,
        };
        replica.engine.tick(now);
        replica.apply_profiles();
        replica
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn take_findings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.findings)
    }

    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether the object of the pod is left out since it made the engine panic.
    pub(crate) fn has_set_aside(&self, uid: &PodUid) -> bool {
        self.set_aside.has_pod(uid)
    }

    fn trace(&self, line: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("  {}", line());
        }
    }

    pub(crate) fn tick(&mut self, now: Timestamp) -> Came {
        self.now = self.now.max(now);
        self.pass_time()
    }

    /// Other profiles from now on.
    pub(crate) fn change_profiles(&mut self, profiles: Vec<EffectiveProfile>) -> Came {
        self.profiles = profiles;
        self.call_self(Self::apply_profiles)
    }

    fn apply_profiles(&mut self) {
        let mut built = Vec::new();
        for profile in &self.profiles {
            match Registry.build(profile, 1, self.engine.symbols_mut()) {
                Ok(mut profile) => {
                    bomb::plant(&mut profile);
                    doorkeeper::plant(&mut profile);
                    built.push(profile);
                }
                Err(error) => self.findings.push(error.to_string()),
            }
        }
        self.engine.handle(ClusterEvent::ProfilesChanged(built));
        self.lost.clear();
        self.store_has_changed = true;
        // Pods of a new profile were passed over so far.
        let pods: Vec<_> = self.store.pods.values().cloned().collect();
        for pod in pods {
            self.admit(ClusterEvent::PodApplied(pod));
        }
    }

    fn admit(&mut self, event: ClusterEvent) {
        if let Some(event) = self.set_aside.admit(event) {
            let placed = &self.truth.placed;
            let is_placed = |uid: &PodUid| placed.contains_key(uid);
            let names = |pod: &Pod| {
                let mut profiles = self.profiles.iter();
                profiles.any(|profile| profile.scheduler_name == pod.profile_name())
            };
            let mut nominations = Nominations(&mut self.truth.nominations);
            nominations.take_in(&event, &self.engine, is_placed, names);
            self.engine.handle(event);
        }
    }

    /// Tells what a watch has brought.
    pub(crate) fn tell(&mut self, event: ClusterEvent) -> Came {
        self.trace(|| format!("told {}", described(&event)));
        self.store.take_in(&event);
        self.store_has_changed = true;
        self.find(&event);
        self.forget_placements();
        self.call_self(|replica| replica.admit(event))
    }

    /// Tells how an effect ended.
    pub(crate) fn complete(&mut self, id: EffectId, outcome: EffectOutcome) -> Came {
        self.trace(|| format!("{id:?} ended: {outcome:?}"));
        self.truth.under_way.remove(&id);
        let ended = self.under_way.remove(&id);
        let pod = ended.as_ref().map(|ended| ended.uid.clone());
        if let Some(ended) = ended {
            self.note_written(ended.writes.as_deref(), &outcome);
            self.note_answer(&ended, &outcome);
            let (uid, is_binding) = (ended.uid, ended.is_binding);
            let is_over = matches!(&outcome, EffectOutcome::Failed(failure)
                if matches!(failure.kind, FailureKind::AlreadyBound | FailureKind::Gone));
            let is_done = matches!(outcome, EffectOutcome::Done { .. });
            let placed = &mut self.truth.placed;
            if is_binding && is_over {
                // Unless the watch has said already what became of it.
                if placed.remove(&uid).is_some() {
                    self.lost.insert(uid);
                    self.store_has_changed = true;
                }
            } else if let Some(placement) = placed.get_mut(&uid).filter(|_| is_binding) {
                placement.is_bound |= is_done;
            }
        }
        let is_fault = !matches!(
            outcome,
            EffectOutcome::Done { .. } | EffectOutcome::Written(_) | EffectOutcome::Answered(_)
        );
        let rescued = self.rescued;
        let came = self.call(|engine| engine.handle(ClusterEvent::EffectCompleted { id, outcome }));
        if pod.is_some_and(|uid| self.misjudged.contains(&uid)) {
            // An extender that may be ignored refused the pod, and failed when it was asked again
            // after the flush: no event could have told.
            self.rescued = rescued;
        }
        if is_fault && came == Came::Back {
            self.audit_all();
        }
        came
    }

    fn note_answer(&mut self, ended: &UnderWay, outcome: &EffectOutcome) {
        if let (Some((pod, question)), EffectOutcome::Answered(answer)) = (&ended.question, outcome)
            && *answer != extenders::answer(question, pod)
        {
            self.misjudged.insert(ended.uid.clone());
        }
    }

    fn note_written(&mut self, writes: Option<&VolumeWrites>, outcome: &EffectOutcome) {
        let (Some(writes), EffectOutcome::Written(versions)) = (writes, outcome) else {
            return;
        };
        let volumes = writes.volumes.iter().map(|write| &write.volume.key);
        let volumes = volumes.map(|key| format!("volume {}", key.name));
        let claims = writes.claims.iter().map(|write| &write.claim.key);
        let objects = volumes.chain(claims.map(|key| format!("claim {key}")));
        let written = objects.zip(versions);
        let written = written.filter_map(|(object, version)| Some((object, (*version)?)));
        for (object, version) in written {
            // Answers may come in another order.
            let newest = self.truth.written.entry(object).or_default();
            *newest = version.max(*newest);
        }
    }

    /// Runs one cycle, if a pod is ready. `ours_on`: the pods that were bound to a node by a
    /// scheduler of ours and are still there by what the API server has.
    pub(crate) fn decide(
        &mut self,
        ours_on: impl FnOnce(&str) -> Vec<(PodKey, PodUid)>,
    ) -> Result<Option<Decision>, Came> {
        let mut decision = None;
        let came = self.call_self(|replica| {
            decision = replica.engine.schedule_one();
            if let Some(decision) = &decision {
                replica.note_decision(decision, ours_on);
            }
        });
        match came {
            Came::Back => Ok(decision),
            other => Err(other),
        }
    }

    fn note_decision(
        &mut self,
        decision: &Decision,
        ours_on: impl FnOnce(&str) -> Vec<(PodKey, PodUid)>,
    ) {
        self.attempts += 1;
        let pod = self.store.pods.get(&decision.pod);
        let is_terminating = pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some());
        Nominations(&mut self.truth.nominations).decided(decision, is_terminating);
        self.trace(|| format!("{} {:?}", decision.pod, decision.outcome));
        let Outcome::Scheduled { node } = &decision.outcome else {
            if decision.outcome != Outcome::Suspended {
                self.misjudged.remove(&decision.uid);
            }
            return;
        };
        let Some(pod) = self.store.pods.get(&decision.pod).cloned() else {
            let (pod, uid) = (&decision.pod, &decision.uid);
            return self
                .findings
                .push(format!("pod {pod} ({uid}) was placed and is gone"));
        };
        if self.filters_all(&decision.profile) {
            self.bring_up_to_date();
            // As the watch has told of them: nobody knows yet of a resize that it has not told, nor
            // of a pod that could not be read, of which it has told that it is gone.
            let ours = ours_on(node).into_iter();
            let told = ours.filter_map(|(key, uid)| self.store.pod(&key, &uid));
            let ours = told.map(|pod| &**pod);
            let found = self.auditor.audit_placement(&self.truth, &pod, node, ours);
            self.findings
                .extend(found.into_iter().map(|finding| finding.0));
        }
        let placement = Placement {
            node: Arc::clone(node),
            pod,
            is_bound: false,
        };
        if self
            .truth
            .placed
            .insert(decision.uid.clone(), placement)
            .is_some()
        {
            let pod = &decision.pod;
            self.findings
                .push(format!("pod {pod} was placed while it was on its way"));
        }
    }

    /// Whether the profile refuses nodes for everything that is held against a placement.
    fn filters_all(&self, scheduler_name: &str) -> bool {
        use bayplan::apis::extension_point::ExtensionPoint;
        let mut profiles = self.profiles.iter();
        let profile = profiles.find(|profile| profile.scheduler_name == scheduler_name);
        profile.is_some_and(|profile| {
            let fit = &profile.args.node_resources_fit;
            let names = [
                "NodeUnschedulable",
                "TaintToleration",
                "NodeAffinity",
                "NodePorts",
                "NodeResourcesFit",
            ];
            let filters = profile.plugins_at(ExtensionPoint::Filter);
            let has = |name: &str| filters.iter().any(|plugin| plugin.name == name);
            fit.ignored_resources.is_empty()
                && fit.ignored_resource_groups.is_empty()
                && names.iter().all(|name| has(name))
        })
    }

    fn call(&mut self, act: impl FnOnce(&mut Engine)) -> Came {
        self.call_self(|replica| act(&mut replica.engine))
    }

    /// Acts, takes what comes out, and audits; recovers from a panic.
    fn call_self(&mut self, act: impl FnOnce(&mut Self)) -> Came {
        let caught = catch_unwind(AssertUnwindSafe(|| act(self)));
        let came = match caught {
            Ok(()) => Came::Back,
            Err(panic) => self.recover(&*panic),
        };
        self.take_out();
        match came {
            Came::Back => self.audit(),
            // What was rebuilt is looked at as a whole.
            Came::Recovered => self.audit_all(),
            Came::Ended => {}
        }
        came
    }

    /// Tells the time. Most ticks do nothing, and are audited with what comes after them.
    fn pass_time(&mut self) -> Came {
        let (now, before) = (self.now, self.effects.len());
        let caught = catch_unwind(AssertUnwindSafe(|| self.engine.tick(now)));
        if let Err(panic) = caught {
            return self.call_self(|_| std::panic::resume_unwind(panic));
        }
        self.take_out();
        if self.effects.len() > before {
            self.audit();
        }
        Came::Back
    }

    /// Effects, and what the engine has observed.
    fn take_out(&mut self) {
        let effects: Vec<Effect> = self.engine.drain_effects().collect();
        for effect in effects {
            if let EffectAction::RecordEvent(record) = &effect.action {
                self.trace(|| format!("event of {}: {}", effect.pod, record.note));
                if record.reason == "FailedScheduling" {
                    self.truth.placed.remove(&effect.uid);
                }
                continue;
            }
            self.trace(|| format!("{:?} of {}: {:?}", effect.id, effect.pod, effect.action));
            let is_binding = matches!(
                effect.action,
                EffectAction::Bind { .. } | EffectAction::BindByExtender { .. }
            );
            let writes = match &effect.action {
                EffectAction::BindVolumes(writes) => Some(Arc::clone(writes)),
                _ => None,
            };
            let question = match &effect.action {
                EffectAction::Ask(question) => Some((effect.pod.clone(), question.clone())),
                _ => None,
            };
            let under_way = UnderWay {
                uid: effect.uid.clone(),
                is_binding,
                writes,
                question,
            };
            self.under_way.insert(effect.id, under_way);
            self.truth.under_way.insert(effect.id);
            self.effects.push(effect);
        }
        let observations = self.engine.take_observations();
        let rescued = observations.scheduled_after_flush;
        if rescued > 0 {
            self.trace(|| format!("the flush had woken {rescued} of the pods that are bound"));
        }
        self.rescued += rescued;
    }

    /// As the driver does it: one object is set aside and the engine rebuilt from the stores.
    fn recover(&mut self, panic: &(dyn Any + Send)) -> Came {
        let activity = self.engine.activity();
        let is_bomb = panic.downcast_ref::<&str>() == Some(&bomb::BANG);
        if is_bomb && !self.is_armed(activity.as_ref()) {
            self.findings
                .push(format!("a bomb went off and {activity:?} was blamed"));
        }
        if !is_bomb {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let text = text.unwrap_or_default();
            self.findings
                .push(format!("the engine panicked at {activity:?}: {text}"));
        }
        self.trace(|| format!("panic at {activity:?}"));
        let last = self.last_panic.replace(self.now);
        if last.is_some_and(|last| self.now.since(last) < PANIC_WINDOW) {
            return Came::Ended;
        }
        match activity {
            Some(Activity::TakingInNode(name)) => {
                if let Some(node) = self.store.nodes.get(&*name) {
                    self.set_aside.put_node(node);
                }
            }
            Some(Activity::TakingInPod(key, uid)) => {
                if let Some(pod) = self.store.pod(&key, &uid) {
                    self.set_aside.put_pod(pod);
                }
            }
            Some(Activity::Deciding(key, uid)) => {
                if let Some(pod) = self.store.pod(&key, &uid) {
                    self.set_aside.put_undecidable(pod);
                }
            }
            None => {}
        }
        match catch_unwind(AssertUnwindSafe(|| self.rebuild())) {
            Ok(()) => Came::Recovered,
            Err(panic) => self.recover(&*panic),
        }
    }

    fn rebuild(&mut self) {
        self.engine = self.engine.successor();
        self.truth = Truth::default();
        self.store_has_changed = true;
        self.under_way.clear();
        self.lost.clear();
        self.engine.tick(self.now);
        for event in nodes_listed(self.store.nodes.values().cloned().collect()) {
            self.admit(event);
        }
        self.apply_profiles();
    }

    /// Whether the engine was at work on a pod with a bomb.
    fn is_armed(&self, activity: Option<&Activity>) -> bool {
        let Some(Activity::TakingInPod(key, _) | Activity::Deciding(key, _)) = activity else {
            return false;
        };
        let labels = self.store.pods.get(key);
        let labels = labels.and_then(|pod| pod.metadata.labels.as_ref());
        labels.is_some_and(|labels| labels.contains_key(bomb::LABEL))
    }

    /// The watch tells of pods that were lost.
    fn find(&mut self, event: &ClusterEvent) {
        match event {
            ClusterEvent::PodApplied(pod) | ClusterEvent::PodDeleted(pod) => {
                self.lost.remove(&PodUid::of(pod));
            }
            ClusterEvent::PodsListed(_) => self.lost.clear(),
            _ => {}
        }
    }

    /// Placements of pods that are gone, or that have a node by what the watch says.
    fn forget_placements(&mut self) {
        let store = &self.store;
        self.truth.placed.retain(|uid, placement| {
            let pod = store.pod(&PodKey::of(&placement.pod.metadata), uid);
            pod.is_some_and(|pod| pod.bound_node().is_none() && !pod.is_terminal())
        });
    }

    /// Takes what the engine was told of into the truth.
    fn bring_up_to_date(&mut self) {
        if !std::mem::take(&mut self.store_has_changed) {
            return;
        }
        let all_are_there = self.set_aside.is_empty() && self.lost.is_empty();
        let pods = self.store.pods.iter();
        let pods = pods.filter(|(_, pod)| {
            if all_are_there {
                return true;
            }
            let uid = PodUid::of(pod);
            !self.set_aside.has_pod(&uid) && !self.lost.contains(&uid)
        });
        let nodes = self.store.nodes.iter();
        let nodes = nodes.filter(|(name, _)| !self.set_aside.has_node(name));
        let profiles = self.profiles.iter();
        let names = profiles.map(|profile| profile.scheduler_name.clone());
        self.truth.nodes = nodes
            .map(|(name, node)| (name.clone(), Arc::clone(node)))
            .collect();
        self.truth.pods = pods
            .map(|(key, pod)| (key.clone(), Arc::clone(pod)))
            .collect();
        self.truth.namespaces = self.store.namespaces.clone();
        self.truth.profiles = names.collect();
    }

    /// The whole audit for every [`AUDITED`]th call, by chance, and the cheap part of it for the
    /// others.
    fn audit(&mut self) {
        self.audits += 1;
        let is_whole = self.dice.below(AUDITED) == 0;
        self.audit_now(is_whole);
    }

    fn audit_now(&mut self, is_whole: bool) {
        self.bring_up_to_date();
        let found = if is_whole {
            self.auditor.audit(&self.engine, &self.truth)
        } else {
            self.auditor.audit_places(&self.engine, &self.truth)
        };
        for finding in &found {
            self.trace(|| format!("FINDING {finding}"));
        }
        self.findings
            .extend(found.into_iter().map(|finding| finding.0));
    }

    /// The whole audit, now.
    pub(crate) fn audit_all(&mut self) {
        self.audit_now(true);
    }
}
