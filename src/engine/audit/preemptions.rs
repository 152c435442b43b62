//! Preemptions: everybody who is waited for can go, every eviction is on its way, and nothing is
//! kept of a pod that is not in the queue any more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::Engine;
use crate::engine::audit::{Findings, Truth};
use crate::engine::effect::EffectId;
use crate::engine::preemption::{PreemptionView, StageView};
use crate::engine::queue::Place;
use crate::model::pod_info::PodUid;

/// `EVICTIONS_MAX` of the preemptions.
const EVICTIONS_MAX: usize = 32;

/// `OVERDUE_AFTER` of the preemptions.
const OVERDUE_AFTER: Duration = Duration::from_mins(5);

/// `NODES_MAX` of their history.
const REMEMBERED_MAX: usize = 64;

/// Preemptor and victim.
type Pair<'a> = (&'a PodUid, &'a PodUid);

pub(super) fn audit(engine: &Engine, truth: &Truth, findings: &mut Findings) {
    let preemptions = &engine.cache.preemptions;
    let waiting: BTreeSet<Pair<'_>> = preemptions.waiting().collect();
    let evictions = preemptions.evictions();
    let sent: BTreeSet<Pair<'_>> = evictions
        .flat_map(|eviction| {
            let preemptors = eviction.waited_for_by.iter();
            preemptors.map(move |preemptor| (preemptor, eviction.victim))
        })
        .collect();
    let mut awaited = BTreeSet::new();
    let mut victims = BTreeSet::new();
    for preemption in preemptions.views() {
        audit_preemptor(engine, &preemption, findings);
        audit_victims(engine, &preemption, findings);
        let preemptor = preemption.preemptor;
        for victim in &preemption.awaited {
            awaited.insert((preemptor, *victim));
            if !waiting.contains(&(preemptor, *victim)) && !sent.contains(&(preemptor, *victim)) {
                findings.add(format!(
                    "pod {preemptor} waits for the eviction of {victim}, which nobody sends"
                ));
            }
        }
        victims.extend(preemption.victims.iter().map(|victim| (victim, preemptor)));
    }
    for (preemptor, victim) in waiting.iter().chain(&sent) {
        if !awaited.contains(&(*preemptor, *victim)) {
            findings.add(format!(
                "pod {victim} is evicted for {preemptor}, which does not wait for it"
            ));
        }
    }
    let known: BTreeSet<Pair<'_>> = preemptions.victims().collect();
    findings.expect(|| "who waits for each victim".to_owned(), &known, &victims);
    audit_evictions(engine, truth, waiting.len(), findings);
    audit_remembered(engine, findings);
}

/// The preemptor waits in the queue, holds the room that is made for it, and is not tried before its
/// victims are on their way out.
fn audit_preemptor(engine: &Engine, preemption: &PreemptionView<'_>, findings: &mut Findings) {
    let (preemptor, node) = (preemption.preemptor, preemption.node);
    let place = engine.queue.place(preemptor);
    if place.is_none() {
        findings.add(format!(
            "room is made on node {node} for pod {preemptor}, which is not in the queue"
        ));
    }
    let waits = matches!(place, Some(Place::Unschedulable | Place::Gated));
    if engine.cache.preemptions.is_evicting(preemptor) && !waits {
        findings.add(format!(
            "pod {preemptor} is in {place:?} while its victims on node {node} are evicted"
        ));
    }
    let nominated = engine.cache.nominator.node_of(preemptor);
    let queued = engine.queue.get(preemptor);
    // An attempt that fails with an error gives up the nomination.
    let has_failed = queued
        .is_some_and(|pod| pod.unschedulable_plugins.is_empty() && pod.pending_plugins.is_empty());
    let gave_up = nominated.is_none() && has_failed;
    if nominated.map(|name| &**name) != Some(node) && !gave_up {
        findings.add(format!(
            "room is made on node {node} for pod {preemptor}, which is nominated for {nominated:?}"
        ));
    }
}

/// Who is yet to go is on the node, and is not waited for too long.
fn audit_victims(engine: &Engine, preemption: &PreemptionView<'_>, findings: &mut Findings) {
    let (preemptor, node) = (preemption.preemptor, preemption.node);
    for victim in preemption.victims {
        let on = engine.cache.pod(victim);
        let on = on.and_then(|pod| pod.node_name.as_deref());
        if on != Some(node) {
            findings.add(format!(
                "pod {preemptor} waits until {victim} is gone from node {node}; it is on {on:?}"
            ));
        }
    }
    if preemption.stage == StageView::Evicting {
        return;
    }
    if preemption.victims.is_empty() {
        findings.add(format!("pod {preemptor} waits for nobody on node {node}"));
    }
    let is_late = preemption.gone_by + OVERDUE_AFTER <= engine.now;
    if preemption.stage == StageView::Draining && is_late {
        findings.add(format!(
            "the victims of pod {preemptor} on node {node} are overdue, and it still waits"
        ));
    }
}

/// What was sent will be reported, and what waits does so only for want of room.
fn audit_evictions(engine: &Engine, truth: &Truth, waiting: usize, findings: &mut Findings) {
    let owners: BTreeMap<EffectId, &PodUid> = engine.effects.owners().collect();
    let mut count = 0;
    for eviction in engine.cache.preemptions.evictions() {
        count += 1;
        let (victim, id) = (eviction.victim, eviction.id);
        if owners.get(&id) != Some(&victim) || !truth.under_way.contains(&id) {
            findings.add(format!(
                "the end of {id:?}, which evicts pod {victim}, will not be reported"
            ));
        }
    }
    if count > EVICTIONS_MAX {
        findings.add(format!("{count} evictions are under way"));
    }
    if waiting > 0 && count < EVICTIONS_MAX {
        findings.add(format!(
            "{waiting} evictions wait, and only {count} are under way"
        ));
    }
}

/// What is remembered is about pods of the queue, once a node, and not for ever.
fn audit_remembered(engine: &Engine, findings: &mut Findings) {
    let mut seen = BTreeMap::<&PodUid, BTreeSet<&str>>::new();
    for remembered in engine.cache.preemptions.remembered() {
        let (preemptor, node) = (remembered.preemptor, remembered.node);
        let nodes = seen.entry(preemptor).or_default();
        if !nodes.insert(node) {
            findings.add(format!("node {node} is remembered twice for {preemptor}"));
        }
        if nodes.len() > REMEMBERED_MAX {
            findings.add(format!("too many nodes are remembered for {preemptor}"));
        }
        let waits = engine.queue.place(preemptor).is_some();
        if !waits && !engine.cache.is_assumed(preemptor) {
            findings.add(format!(
                "node {node} is remembered for {preemptor}, which is not in the queue"
            ));
        }
        if remembered.forgotten_at <= engine.now {
            findings.add(format!(
                "node {node} is remembered for {preemptor} longer than it should be"
            ));
        }
    }
}
