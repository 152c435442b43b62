//! The engine from outside: events in, effects and decisions out.

mod bindings;
mod classes;
mod crowd;
mod disuse;
mod framework;
mod lifecycle;
mod nominations;
mod placement;
mod preemption;
mod sampling;
mod volumes;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::apis::effective_profile::EffectiveProfile;
use crate::engine::cache::tie_break::TieBreak;
use crate::engine::decision::{Decision, Outcome};
use crate::engine::effect::{
    Effect, EffectAction, EffectFailure, EffectId, EffectOutcome, FailureKind,
};
use crate::engine::event::ClusterEvent;
use crate::engine::framework::profile::Profile;
use crate::engine::queue::Place;
use crate::engine::{Engine, EngineConfig};
use crate::model::pod_info::PodUid;
use crate::model::timestamp::Timestamp;
use crate::plugins::fixtures::{NodeBuilder, PodBuilder, make_node, make_pod};
use crate::plugins::registry::Registry;

/// An engine with the default profile, but without preemption, driven by hand.
#[derive(Debug)]
struct Driver {
    engine: Engine,
    now: Timestamp,
    effects: Vec<Effect>,
    spec: serde_json::Value,
}

impl Driver {
    fn new(nodes: impl IntoIterator<Item = NodeBuilder>) -> Self {
        let engine = Engine::new(EngineConfig {
            seed: 1,
            ..EngineConfig::default()
        });
        let mut driver = Self {
            engine,
            now: Timestamp::from_seconds(1_000),
            effects: Vec::new(),
            spec: json!({"schedulerName": "bayplan",
                "plugins": {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}}),
        };
        driver.wait(Duration::ZERO);
        driver.profile(driver.spec.clone());
        for node in nodes {
            driver.node(&node);
        }
        driver
    }

    fn profile(&mut self, spec: serde_json::Value) {
        let profile = self.build(spec);
        self.engine
            .handle(ClusterEvent::ProfilesChanged(vec![profile]));
    }

    fn build(&mut self, spec: serde_json::Value) -> Profile {
        let spec = serde_json::from_value(spec).unwrap();
        let effective = EffectiveProfile::try_new(&spec, &Registry).unwrap();
        Registry
            .build(&effective, 1, self.engine.symbols_mut())
            .unwrap()
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.engine.tick(self.now);
    }

    fn node(&mut self, node: &NodeBuilder) {
        self.engine
            .handle(ClusterEvent::NodeApplied(Arc::new(node.object())));
    }

    fn pod(&mut self, pod: &PodBuilder) {
        self.engine
            .handle(ClusterEvent::PodApplied(Arc::new(pod.object())));
    }

    fn delete(&mut self, pod: &PodBuilder) {
        self.engine
            .handle(ClusterEvent::PodDeleted(Arc::new(pod.object())));
    }

    fn schedule(&mut self) -> Option<Decision> {
        let decision = self.engine.schedule_one();
        self.effects.extend(self.engine.drain_effects());
        decision
    }

    /// Schedules the only pod that is ready and tells what came out.
    fn outcome(&mut self) -> Outcome {
        self.schedule().expect("a pod must be ready").outcome
    }

    /// The node that the only ready pod goes to.
    fn placed(&mut self) -> String {
        match self.outcome() {
            Outcome::Scheduled { node } => node.to_string(),
            other => panic!("the pod must be placed, not {other:?}"),
        }
    }

    fn message(&mut self) -> String {
        match self.outcome() {
            Outcome::Unschedulable { message } | Outcome::Error { message } => message,
            other => panic!("the pod must not be placed, but {other:?}"),
        }
    }

    /// The binding that is under way.
    fn binding(&self) -> EffectId {
        let bind = |effect: &&Effect| matches!(effect.action, EffectAction::Bind { .. });
        self.effects
            .iter()
            .rev()
            .find(bind)
            .expect("a binding must be under way")
            .id
    }

    fn complete(&mut self, id: EffectId, outcome: EffectOutcome) {
        self.engine
            .handle(ClusterEvent::EffectCompleted { id, outcome });
        self.effects.extend(self.engine.drain_effects());
    }

    fn fail_binding(&mut self, kind: FailureKind) {
        let message = "the server said no".to_owned();
        let failure = EffectFailure { kind, message };
        self.complete(self.binding(), EffectOutcome::Failed(failure));
    }

    fn place(&self, pod: &PodBuilder) -> Option<Place> {
        self.engine.queue().place(&PodUid::of(&pod.object()))
    }

    /// Reasons of the events so far.
    fn events(&self) -> Vec<&str> {
        let reason = |effect: &'_ Effect| match &effect.action {
            EffectAction::RecordEvent(event) => Some(event.reason),
            _ => None,
        };
        self.effects.iter().filter_map(reason).collect()
    }

    /// Nothing is left of any pod, class or name.
    fn assert_empty(&mut self) {
        assert_eq!(self.engine.queue().pods().count(), 0);
        assert_eq!(self.engine.cache().pods().count(), 0);
        let Engine { classes, cache, .. } = &mut self.engine;
        classes.clear(&mut cache.vocabulary);
        assert_eq!(cache.vocabulary.class_counts()[..2], [0, 0]);
        assert!(self.engine.known.is_empty());
    }
}
