//! The end of a history: nothing goes wrong any more, and what can be placed is.

use std::time::Duration;

use bayplan::engine::audit::audit_leftovers;
use bayplan::engine::decision::Outcome;
use bayplan::engine::effect::{Effect, EffectAction, EffectOutcome};
use bayplan::engine::event::ClusterEvent;
use bayplan::engine::queue::Place;
use bayplan::engine::{Engine, EngineConfig};
use bayplan::model::objects::Pod;
use bayplan::model::pod_info::PodKey;
use bayplan::plugins::registry::Registry;
use serde::Deserialize;

use crate::api_server::{ApiServer, Kind, text};
use crate::extenders;
use crate::replica::Replica;
use crate::traced::seen_by;
use crate::watches::everything;
use crate::world::World;

/// Long enough for everybody's back-off, and shorter than the flush.
const SETTLING: Duration = Duration::from_secs(90);

/// A call that was begun last is answered by then.
const ANSWERED: Duration = Duration::from_secs(10);

/// Lets the history end and looks at what is left.
pub(crate) fn conclude(world: &mut World) {
    world.stop_faults();
    let end = world.now + SETTLING;
    world.run_until(end);
    if world.is_busy() {
        world.run_until(end + ANSWERED);
    }
    world.close();
    if !world.findings.is_empty() {
        return;
    }
    let Some(mut replica) = world.replica.take() else {
        return world.findings.push("no process runs at the end".to_owned());
    };
    if world.is_busy() {
        world
            .findings
            .push("effects are under way at the end".to_owned());
    }
    if world.tally.rescued > 0 {
        let rescued = world.tally.rescued;
        world
            .findings
            .push(format!("the flush rescued {rescued} pods"));
    }
    let found = [
        misplaced(&replica, &world.api),
        forgotten(world, &replica),
        restless(&mut replica, &world.api),
        left_over(&mut replica, &world.api),
    ];
    world.findings.extend(found.into_iter().flatten());
    world.tally.bound += world
        .api
        .list(Kind::Pod)
        .filter(|(_, pod)| world.api.bound_by_us(text(pod, "/metadata/uid")).is_some())
        .count() as u64;
}

/// Pods that are on their way, or where the API server does not have them.
fn misplaced(replica: &Replica, api: &ApiServer) -> Vec<String> {
    let mut found = Vec::new();
    let cache = replica.engine().cache();
    for pod in cache.pods() {
        let object = api.pod(&pod.key, &pod.uid.0);
        let node = object.map(|object| text(object, "/spec/nodeName"));
        if node != pod.node_name.as_deref() || cache.is_assumed(&pod.uid) {
            let (key, has) = (&pod.key, &pod.node_name);
            found.push(format!(
                "pod {key} is on node {has:?}, and by the API server on {node:?}"
            ));
        }
    }
    let queue = replica.engine().queue();
    let ready = [Place::Active, Place::Backoff, Place::InFlight];
    for (pod, place) in queue.pods().filter(|(_, place)| ready.contains(place)) {
        let fails = pod.unschedulable_plugins.is_empty() && pod.pending_plugins.is_empty();
        if fails && place == Place::Backoff {
            // An attempt that fails with an error, as without any node, is repeated for ever.
            continue;
        }
        found.push(format!("pod {} is in {place:?} at the end", pod.info.key));
    }
    found
}

/// Pods that wait although an engine that is new would place them.
fn forgotten(world: &World, replica: &Replica) -> Vec<String> {
    let mut engine = Engine::new(EngineConfig {
        seed: world.seed,
        ..EngineConfig::default()
    });
    engine.tick(world.now);
    let profiles = world.running_profiles();
    let built = profiles.iter();
    let built = built.filter_map(|profile| Registry.build(profile, 1, engine.symbols_mut()).ok());
    let built = built.collect();
    engine.handle(ClusterEvent::ProfilesChanged(built));
    for event in everything(&world.api) {
        engine.handle(event);
    }
    let mut found = Vec::new();
    while let Some(decision) = engine.schedule_one() {
        if let Outcome::Scheduled { node } = &decision.outcome {
            let (pod, uid) = (&decision.pod, &decision.uid);
            let left_out = world.is_undecided(uid);
            world.trace(|| format!("new: {}", seen_by(&engine, node, uid)));
            world.trace(|| format!("old: {}", seen_by(replica.engine(), node, uid)));
            found.push(format!(
                "pod {pod} waits, and fits on node {node} (set aside: {left_out})"
            ));
        }
        let effects: Vec<Effect> = engine.drain_effects().collect();
        for effect in effects {
            if let EffectAction::Ask(question) = &effect.action {
                let outcome = EffectOutcome::Answered(extenders::answer(question, &effect.pod));
                let id = effect.id;
                engine.handle(ClusterEvent::EffectCompleted { id, outcome });
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// What a list of everything that is known already sets going.
fn restless(replica: &mut Replica, api: &ApiServer) -> Vec<String> {
    let places = |replica: &Replica| {
        let pods = replica.engine().queue().pods();
        let mut places: Vec<(PodKey, Place)> = pods
            .map(|(pod, place)| (pod.info.key.clone(), place))
            .collect();
        places.sort();
        places
    };
    replica.audit_all();
    let before = places(replica);
    for event in everything(api) {
        replica.tell(event);
    }
    replica.audit_all();
    let mut found = replica.take_findings();
    for effect in replica.take_effects() {
        let quarantine = replica.engine().quarantine();
        let name = format!("pod {}", effect.pod);
        if quarantine.iter().any(|(unreadable, _)| unreadable == name) {
            // It is told why until its object says so: the earlier patch may have failed.
            continue;
        }
        found.push(format!("a list of what is known makes {:?}", effect.action));
    }
    let after = places(replica);
    if before != after {
        found.push(format!(
            "a list of what is known moves pods: {before:?} to {after:?}"
        ));
    }
    found
}

/// What is kept of a cluster that is gone.
fn left_over(replica: &mut Replica, api: &ApiServer) -> Vec<String> {
    let gone = ApiServer::default();
    for (_, pod) in api.list(Kind::Pod) {
        if let Ok(pod) = Pod::deserialize(pod) {
            replica.tell(ClusterEvent::PodDeleted(pod.into()));
        }
    }
    for event in everything(&gone) {
        replica.tell(event);
    }
    replica.change_profiles(Vec::new());
    replica.tick(bayplan::model::timestamp::Timestamp::EPOCH);
    let mut found = replica.take_findings();
    let left = audit_leftovers(replica.engine());
    found.extend(left.into_iter().map(|finding| finding.0));
    found
}
