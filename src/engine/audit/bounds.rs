//! What is waited for will come, and nothing grows without a bound.

use std::collections::BTreeSet;

use crate::engine::Engine;
use crate::engine::audit::{Findings, Truth};
use crate::engine::binding_cycle::StageView;
use crate::engine::queue::Place;

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
    for uid in engine.suspensions.resumable() {
        if !engine.suspensions.contains(uid) {
            findings.add(format!("pod {uid} is to be resumed and is not suspended"));
        }
    }
    let nominated = engine.cache.nominator.iter().count();
    let known = engine.cache.nominator.len();
    findings.expect(
        || "the count of nominated pods".to_owned(),
        &known,
        &nominated,
    );
}
