//! What is waited for will come, and nothing grows without a bound.

use std::collections::BTreeSet;

use crate::engine::Engine;
use crate::engine::audit::{Findings, Truth};
use crate::engine::binding_cycle::StageView;
use crate::engine::queue::{Place, QueuePlugins};

/// `RECORDED_CHANGES_MAX` of the queue.
const RECORDED_MAX: usize = 4096;

pub(super) fn audit(engine: &Engine, truth: &Truth, findings: &mut Findings) {
    let recorded = engine.queue.recorded_changes();
    if recorded > RECORDED_MAX {
        findings.add(format!("{recorded} changes are recorded"));
    }
    if recorded > 0 && engine.queue.count(Place::InFlight) == 0 {
        findings.add(format!(
            "{recorded} changes are recorded and no pod is in flight"
        ));
    }
    let mut awaited = BTreeSet::new();
    for binding in engine.bindings.views() {
        let has_exit = !binding.awaited.is_empty() || binding.deadline.is_some();
        if !has_exit {
            let (uid, stage) = (binding.uid, binding.stage);
            findings.add(format!("nothing brings pod {uid} out of {stage:?}"));
        }
        if binding.stage == StageView::Waiting && engine.queue.get(binding.uid).is_none() {
            findings.add(format!(
                "pod {} waits and the queue has lost it",
                binding.uid
            ));
        }
        if binding.deadline.is_some() && !binding.is_watched {
            findings.add(format!("nobody watches the time of pod {}", binding.uid));
        }
        for id in &binding.awaited {
            awaited.insert(*id);
            if !truth.under_way.contains(id) {
                let uid = binding.uid;
                findings.add(format!(
                    "pod {uid} waits for {id:?}, which is not under way"
                ));
            }
        }
        if binding
            .deadline
            .is_some_and(|deadline| deadline <= engine.now)
        {
            findings.add(format!("the time of pod {} is up", binding.uid));
        }
    }
    for (id, uid) in engine.effects.owners() {
        if !truth.under_way.contains(&id) {
            findings.add(format!(
                "pod {uid} is told of {id:?}, which is not under way"
            ));
        }
    }
    audit_suspensions(engine, findings);
    audit_gates(engine, findings);
    let nominated = engine.cache.nominator.iter().count();
    let known = engine.cache.nominator.len();
    findings.expect(
        || "the count of nominated pods".to_owned(),
        &known,
        &nominated,
    );
}

/// An attempt waits for answers that will come, or is about to be resumed.
fn audit_suspensions(engine: &Engine, findings: &mut Findings) {
    let suspensions = &engine.suspensions;
    for uid in suspensions.resumable() {
        if !suspensions.contains(uid) {
            findings.add(format!("pod {uid} is to be resumed and is not suspended"));
        }
    }
    for uid in suspensions.suspended() {
        // Questions of an attempt that ended before may be open beside those of this one.
        for id in suspensions.open(uid) {
            if !engine.effects.is_open_question(id, uid) {
                findings.add(format!(
                    "pod {uid} waits for the answer to {id:?}, which nobody asked"
                ));
            }
        }
        let resumable = suspensions.resumable().filter(|other| *other == uid);
        let wanted = usize::from(suspensions.open(uid).next().is_none());
        findings.expect(
            || format!("how often pod {uid} is about to be resumed"),
            &resumable.count(),
            &wanted,
        );
    }
}

/// A gate is closed, or the pod is woken when its victims are gone.
fn audit_gates(engine: &Engine, findings: &mut Findings) {
    let gated = engine.queue.pods();
    for (pod, _) in gated.filter(|(_, place)| *place == Place::Gated) {
        let info = &pod.info;
        let awaits = engine.cache.preemptions.views();
        let awaits_victims = awaits.into_iter().any(|one| *one.preemptor == info.uid);
        if !awaits_victims && engine.plugins().pre_enqueue(info).is_none() {
            let (key, gate) = (&info.key, pod.gating_plugin);
            findings.add(format!(
                "pod {key} is gated by {gate:?}, which has nothing against it"
            ));
        }
    }
}
