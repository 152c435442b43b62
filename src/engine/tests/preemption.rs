//! Preemption carried out: who goes, in which order, and what the preemptor does meanwhile.

mod budgets;
mod exits;
mod permit;
mod repetition;

use super::*;
use crate::engine::effect::{EventRecord, StatusPatch};

/// When pods that are being deleted should be gone.
const DELETED: &str = "1970-01-01T00:17:10Z";

/// A node with room for `cores` pods.
fn node(name: &str, cores: u32) -> NodeBuilder {
    make_node(name).allocatable(&[("cpu", &cores.to_string()), ("pods", "20")])
}

fn pod(name: &str, priority: i32) -> PodBuilder {
    make_pod(name).priority(priority).request("cpu", "1")
}

fn low(name: &str) -> PodBuilder {
    pod(name, 1).on("n")
}

/// The pod as the API server shows it after its eviction.
fn leaving(pod: &PodBuilder) -> PodBuilder {
    let condition = json!({"type": "DisruptionTarget", "status": "True",
        "reason": "PreemptionByScheduler"});
    pod.clone()
        .metadata(json!({"deletionTimestamp": DELETED}))
        .status(json!({"conditions": [condition]}))
}

fn nominated(pod: &PodBuilder, node: &str) -> PodBuilder {
    pod.clone().status(json!({"nominatedNodeName": node}))
}

fn done() -> EffectOutcome {
    EffectOutcome::Done {
        resource_version: None,
    }
}

fn failed(kind: FailureKind) -> EffectOutcome {
    let message = "the server said no".to_owned();
    EffectOutcome::Failed(EffectFailure { kind, message })
}

/// Node `n` is full of pods of a lower priority, and `preemptor` needs the room of all of them.
fn scene(victims: u32) -> (Driver, Vec<PodBuilder>, PodBuilder) {
    let mut driver = Driver::preempting([node("n", victims)]);
    let victims: Vec<PodBuilder> = (0..victims).map(|i| low(&format!("v{i}"))).collect();
    for victim in &victims {
        driver.pod(victim);
    }
    let cpu = victims.len().to_string();
    let preemptor = make_pod("preemptor").priority(10).request("cpu", &cpu);
    driver.pod(&preemptor);
    (driver, victims, preemptor)
}

impl Driver {
    /// A driver of the default profile.
    fn preempting(nodes: impl IntoIterator<Item = NodeBuilder>) -> Self {
        let mut driver = Self::new(nodes);
        driver.spec = json!({"schedulerName": "bayplan"});
        driver.profile(driver.spec.clone());
        driver
    }

    /// The evictions since the last look: effect and name of the victim.
    fn evictions(&mut self) -> Vec<(EffectId, String)> {
        self.effects.extend(self.engine.drain_effects());
        let (evictions, others) = std::mem::take(&mut self.effects)
            .into_iter()
            .partition(|effect| matches!(effect.action, EffectAction::Evict(_)));
        self.effects = others;
        let evictions: Vec<Effect> = evictions;
        evictions
            .into_iter()
            .map(|effect| (effect.id, effect.pod.name.to_string()))
            .collect()
    }

    fn eviction(&mut self) -> (EffectId, String) {
        let mut evictions = self.evictions();
        assert_eq!(evictions.len(), 1, "{evictions:?}");
        evictions.remove(0)
    }

    /// Decides, and carries out every eviction.
    fn preempt(&mut self) {
        let decision = self.schedule().expect("a pod must be ready");
        assert!(decision.nominated_node.is_some(), "{decision:?}");
        while let [(id, _), ..] = self.evictions()[..] {
            self.complete(id, done());
        }
    }

    fn preempted_events(&self) -> Vec<(String, EventRecord)> {
        let event = |effect: &Effect| match &effect.action {
            EffectAction::RecordEvent(event) if event.reason == "Preempted" => {
                Some((effect.pod.name.to_string(), event.clone()))
            }
            _ => None,
        };
        self.effects.iter().filter_map(event).collect()
    }

    fn patches(&self, name: &str) -> Vec<StatusPatch> {
        let patch = |effect: &Effect| match &effect.action {
            EffectAction::PatchStatus(patch) if &*effect.pod.name == name => Some(patch.clone()),
            _ => None,
        };
        self.effects.iter().filter_map(patch).collect()
    }

    fn assert_nothing_is_remembered(&mut self) {
        self.engine.handle(ClusterEvent::PodsListed(Vec::new()));
        self.assert_empty();
        let preemptions = &self.engine.cache().preemptions;
        assert!(preemptions.is_empty(), "{preemptions:?}");
    }
}

#[test]
fn the_victim_goes_and_the_preemptor_takes_its_room() {
    let (mut driver, victims, preemptor) = scene(1);
    let decision = driver.schedule().unwrap();
    assert_eq!(decision.nominated_node.as_deref(), Some("n"));
    let (id, victim) = driver.eviction();
    assert_eq!(victim, "v0");
    driver.complete(id, done());
    let [(name, event)] = &driver.preempted_events()[..] else {
        panic!("the victim must be told")
    };
    assert_eq!((name.as_str(), event.action), ("v0", "Preempting"));
    let uid = PodUid::of(&preemptor.object());
    assert_eq!(event.note, format!("Preempted by pod {uid} on node n"));
    assert_eq!(event.related.as_ref().unwrap().1, uid);

    driver.pod(&leaving(&victims[0]));
    driver.delete(&victims[0]);
    assert_eq!(driver.placed(), "n");
    driver.assert_nothing_is_remembered();
}

#[test]
fn the_status_of_a_victim_names_the_profile() {
    let (mut driver, _, _) = scene(1);
    driver.schedule();
    let actions = driver.effects.iter().map(|effect| &effect.action);
    let evictions: Vec<_> = actions
        .filter_map(|action| match action {
            EffectAction::Evict(eviction) => Some(eviction.message.as_str()),
            _ => None,
        })
        .collect();
    let message = "bayplan: preempting to accommodate a higher priority pod";
    assert_eq!(evictions, [message]);
}

#[test]
fn the_last_victim_goes_when_the_others_have_been_evicted() {
    let (mut driver, victims, preemptor) = scene(3);
    driver.schedule();
    let first = driver.evictions();
    let names: Vec<&str> = first.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["v0", "v1"]);
    driver.complete(first[0].0, done());
    assert!(driver.evictions().is_empty());
    // Whatever wakes it, it is held until the last one is on its way out.
    driver.delete(&victims[0]);
    driver.node(&node("m", 9).taint("down", "", "NoSchedule"));
    driver.wait(Duration::from_secs(301));
    assert_eq!(driver.place(&preemptor), Some(Place::Gated));
    driver.complete(first[1].0, done());
    let (last, name) = driver.eviction();
    assert_eq!(name, "v2");
    driver.delete(&victims[1]);
    assert_eq!(driver.place(&preemptor), Some(Place::Gated));
    driver.pod(&leaving(&victims[2]));
    driver.delete(&victims[2]);
    assert_eq!(driver.placed(), "n");
    driver.complete(last, done());
    driver.assert_nothing_is_remembered();
}

#[test]
fn a_pod_whose_last_victim_had_left_before_is_not_left_behind() {
    let (mut driver, victims, preemptor) = scene(1);
    driver.schedule();
    let (id, _) = driver.eviction();
    driver.complete(id, failed(FailureKind::Gone));
    assert_eq!(driver.preempted_events(), []);
    driver.delete(&victims[0]);
    assert_ne!(driver.place(&preemptor), Some(Place::Unschedulable));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_pod_waits_for_victims_whose_objects_do_not_say_so_yet() {
    let (mut driver, victims, _) = scene(2);
    driver.preempt();
    driver.delete(&victims[0]);
    // The flush wakes it.
    driver.wait(Duration::from_secs(301));
    let message = driver.message();
    let waits = "preemption: not eligible due to a terminating pod on the nominated node.";
    assert!(message.ends_with(waits), "{message}");
    assert!(driver.evictions().is_empty());
    driver.delete(&victims[1]);
    driver.wait(Duration::from_secs(5));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn pods_that_are_on_their_way_out_are_awaited_and_not_evicted_again() {
    let mut driver = Driver::preempting([node("n", 2)]);
    let (going, staying) = (leaving(&low("going")), low("staying"));
    driver.pod(&going);
    driver.pod(&staying);
    driver.pod(&make_pod("preemptor").priority(10).request("cpu", "2"));
    driver.schedule();
    let (id, name) = driver.eviction();
    assert_eq!(name, "staying");
    driver.complete(id, done());
    driver.delete(&staying);
    driver.delete(&going);
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_victim_of_two_is_evicted_once() {
    let mut driver = Driver::preempting([node("n", 1)]);
    driver.pod(&low("v"));
    driver.pod(&pod("first", 10));
    driver.schedule();
    let (id, _) = driver.eviction();
    driver.pod(&pod("second", 11));
    let decision = driver.schedule().unwrap();
    assert_eq!(decision.victims.len(), 1);
    assert!(driver.evictions().is_empty());
    driver.complete(id, done());
    assert_eq!(driver.preempted_events().len(), 1);
    driver.delete(&low("v"));
    assert_eq!(driver.placed(), "n");
    assert!(matches!(driver.outcome(), Outcome::Unschedulable { .. }));
}

#[test]
fn evictions_under_way_are_bounded_and_none_is_forgotten() {
    let mut driver =
        Driver::preempting([make_node("n").allocatable(&[("cpu", "70"), ("pods", "99")])]);
    for i in 0..70 {
        driver.pod(&low(&format!("v{i}")));
    }
    driver.pod(&make_pod("preemptor").priority(10).request("cpu", "70"));
    driver.schedule();
    let mut under_way = driver.evictions();
    let mut evicted = 0;
    while let Some((id, _)) = under_way.pop() {
        assert!(under_way.len() < 32);
        driver.complete(id, done());
        evicted += 1;
        under_way.extend(driver.evictions());
    }
    assert_eq!(evicted, 70);
}

#[test]
fn a_pod_that_never_preempts_evicts_nobody() {
    let mut driver = Driver::preempting([node("n", 1)]);
    driver.pod(&low("v"));
    driver.pod(&pod("meek", 10).spec(json!({"preemptionPolicy": "Never"})));
    let message = driver.message();
    let never = "preemption: not eligible due to preemptionPolicy=Never.";
    assert!(message.ends_with(never), "{message}");
    assert!(driver.evictions().is_empty());
}

#[test]
fn the_decision_tells_why_this_node_and_these_victims() {
    let mut driver = Driver::preempting([node("n", 1), node("m", 1)]);
    driver.pod(&low("cheap"));
    driver.pod(&pod("dear", 5).on("m"));
    driver.pod(&pod("preemptor", 10));
    let choice = driver.schedule().unwrap().preemption.unwrap();
    assert_eq!(
        (choice.criteria.highest_priority, choice.candidates),
        (1, 2)
    );
    let (node, criteria) = choice.runner_up.unwrap();
    assert_eq!((&*node, criteria.highest_priority), ("m", 5));
}
