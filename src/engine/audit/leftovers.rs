//! Nothing is left of a cluster that is gone.

use crate::engine::Engine;
use crate::engine::audit::{Finding, Findings};

/// What `engine` still holds although it was told that every object is gone and no profile runs,
/// and nothing is under way.
pub fn audit_leftovers(engine: &Engine) -> Vec<Finding> {
    let (cache, preemptions) = (&engine.cache, &engine.cache.preemptions);
    let size = cache.size();
    let classes = cache.vocabulary.class_counts();
    let remains = [
        ("nodes", size.nodes),
        ("pods on nodes", size.pods),
        ("assumed pods", size.assumed_pods),
        ("pods in the queue", engine.queue.pods().count()),
        (
            "changes for pods in flight",
            engine.queue.recorded_changes(),
        ),
        ("pods on their way", engine.bindings.views().count()),
        ("names of pods", engine.known.len()),
        ("nominations", cache.nominator.len()),
        ("preemptions", preemptions.views().count()),
        ("victims", preemptions.victims().count()),
        ("evictions that wait", preemptions.waiting().count()),
        ("evictions under way", preemptions.evictions().count()),
        ("remembered preemptions", preemptions.remembered().count()),
        ("suspended attempts", engine.suspensions.suspended().count()),
        ("effects under way", engine.effects.owners().count()),
        ("unreadable objects", engine.quarantine.iter().count()),
        ("carried terms", cache.topology.carried.len()),
        ("classes and label sets", classes.iter().sum()),
    ];
    let mut findings = Findings::default();
    for (what, count) in remains.into_iter().filter(|(_, count)| *count > 0) {
        findings.add(format!("of nothing there are {count} {what}"));
    }
    findings.0
}
