//! Books that outlive an attempt: preemptions, questions, gates, reservations.

use std::time::Duration;

use super::*;
use crate::engine::queue::{Place, QueuePlugins};

fn uid(name: &str) -> PodUid {
    PodUid::of(&make_pod(name).object())
}

fn done() -> EffectOutcome {
    EffectOutcome::Done {
        resource_version: None,
    }
}

impl Audited {
    fn take_effects(&mut self) -> Vec<(EffectId, EffectAction)> {
        let effects = self.engine.drain_effects();
        let effects = effects.map(|effect| (effect.id, effect.action));
        let effects: Vec<_> = effects
            .filter(|(_, action)| !matches!(action, EffectAction::RecordEvent(_)))
            .collect();
        self.truth
            .under_way
            .extend(effects.iter().map(|(id, _)| *id));
        effects
    }

    fn complete(&mut self, id: EffectId, outcome: EffectOutcome) {
        self.truth.under_way.remove(&id);
        self.engine
            .handle(ClusterEvent::EffectCompleted { id, outcome });
    }

    /// Carries every eviction out.
    fn evict_all(&mut self) {
        let next = |engine: &Engine| Some(engine.cache.preemptions.evictions().next()?.id);
        while let Some(id) = next(&self.engine) {
            self.complete(id, done());
            self.take_effects();
        }
    }
}

/// A pod waits until two others are evicted for it.
fn evicting() -> Audited {
    let mut audited = Audited::new();
    audited.node(&make_node("n").allocatable(&[("cpu", "2"), ("pods", "9")]));
    for name in ["a", "b"] {
        audited.pod(&make_pod(name).priority(1).request("cpu", "1").on("n"));
    }
    audited.pod(&make_pod("preemptor").priority(10).request("cpu", "2"));
    let decision = audited.engine.schedule_one().unwrap();
    assert_eq!(decision.nominated_node.as_deref(), Some("n"));
    let nominations = &mut audited.truth.nominations;
    let node = Some("n".to_owned());
    let nominated = Nominated {
        node,
        decided: None,
    };
    nominations.insert(uid("preemptor"), nominated);
    audited
}

fn sent() -> Audited {
    let mut audited = evicting();
    audited.take_effects();
    audited
}

#[test]
fn a_preemption_that_goes_on_passes_until_its_victims_are_gone() {
    let mut audited = sent();
    assert_eq!(audited.findings(), [""; 0]);
    audited.evict_all();
    assert_eq!(audited.findings(), [""; 0]);
    for name in ["a", "b"] {
        let pod = make_pod(name).priority(1).request("cpu", "1").on("n");
        audited.truth.pods.remove(&PodKey::new("default", name));
        let event = ClusterEvent::PodDeleted(Arc::new(pod.object()));
        audited.engine.handle(event);
        assert_eq!(audited.findings(), [""; 0]);
    }
    assert_eq!(
        audited.engine.queue.place(&uid("preemptor")),
        Some(Place::Backoff)
    );
}

#[test]
fn a_preemption_that_nothing_ends_is_noticed() {
    sent().notices(|_, truth| truth.under_way.clear(), "will not be reported");
    sent().notices(
        |engine, _| drop(engine.queue.delete(&uid("preemptor"))),
        "room is made on node n for pod uid-preemptor, which is not in the queue",
    );
    sent().notices(
        |engine, _| drop(engine.cache.clear_nomination(&uid("preemptor"))),
        "room is made on node n for pod uid-preemptor, which is nominated for None",
    );
    sent().notices(
        |engine, _| drop(engine.cache.remove_pod(&uid("a"))),
        "pod uid-preemptor waits until uid-a is gone from node n; it is on None",
    );
    let mut audited = sent();
    audited.evict_all();
    audited.notices(
        |engine, _| engine.now = engine.now + Duration::from_mins(6),
        "the victims of pod uid-preemptor on node n are overdue",
    );
}

#[test]
fn a_nomination_that_nobody_decided_is_noticed() {
    sent().notices(
        |_, truth| truth.nominations.clear(),
        "nomination of pod default/preemptor",
    );
}

#[test]
fn a_gate_that_is_open_is_noticed() {
    let mut audited = Audited::new();
    audited.pod(&make_pod("gated").gate("later"));
    audited.notices(
        |engine, _| {
            let open = engine
                .cache
                .vocabulary
                .compile_pod(&make_pod("gated").object());
            let now = engine.now;
            let (queue, plugins) = engine.queue_and_plugins();
            assert!(plugins.pre_enqueue(open.as_ref().unwrap()).is_none());
            drop(queue.update(now, open.unwrap(), None, &plugins));
        },
        "pod default/gated is gated by Some(\"SchedulingGates\"), which has nothing against it",
    );
}

#[test]
fn an_answer_that_is_lost_is_noticed() {
    let mut audited = Audited::new();
    audited.profile(json!({"schedulerName": "bayplan", "extenders": [
        {"urlPrefix": "http://outside", "filterVerb": "filter"}]}));
    audited.node(&make_node("n"));
    audited.pod(&make_pod("asked"));
    audited.engine.schedule_one();
    let effects = audited.take_effects();
    audited.notices(
        |engine, truth| {
            let (id, _) = effects[0];
            truth.under_way.clear();
            engine.effects.owner(id);
            engine.effects.asked(id);
        },
        "pod uid-asked waits for the answer to EffectId(1), which nobody asked",
    );
}

#[test]
fn what_is_left_of_a_cluster_that_is_gone_is_noticed() {
    let mut audited = sent();
    let left = |audited: &Audited| audit_leftovers(&audited.engine).len();
    assert!(left(&audited) > 5);
    audited.evict_all();
    let engine = &mut audited.engine;
    engine.handle(ClusterEvent::PodsListed(Vec::new()));
    engine.handle(ClusterEvent::NodesListed(Vec::new()));
    engine.handle(ClusterEvent::ProfilesChanged(Vec::new()));
    assert_eq!(audit_leftovers(engine), []);
}
