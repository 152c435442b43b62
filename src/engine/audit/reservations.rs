//! What plugins hold is held for a pod on its way, and for nobody else.
//!
//! The other way round is not so: of two pods that share a claim, the one that does not come to its
//! node gives the reservation of both up, as upstream's does. The write of the other is refused then
//! if the object has changed.

use std::collections::BTreeSet;

use crate::engine::Engine;
use crate::engine::audit::{Findings, Truth};
use crate::engine::framework::reservations::Reserved;

pub(super) fn audit(engine: &Engine, truth: &Truth, findings: &mut Findings) {
    let cluster = engine.cache.snapshot();
    let plugins = engine.profiles.iter().flat_map(|profile| &profile.plugins);
    let plugins = plugins.filter_map(|plugin| plugin.as_reserve());
    let booked: BTreeSet<Reserved> = plugins
        .flat_map(|plugin| plugin.reserved(&cluster))
        .collect();
    if booked.is_empty() {
        return;
    }
    let held: BTreeSet<Reserved> = engine.bindings.held(&cluster).collect();
    for reserved in booked.difference(&held) {
        if !is_written(reserved, truth) {
            let (object, version) = (&reserved.object, &reserved.version);
            findings.add(format!(
                "{object} is reserved at version {version} for no pod"
            ));
        }
    }
}

/// Whether the object was written, and the watch has yet to say so.
fn is_written(reserved: &Reserved, truth: &Truth) -> bool {
    let version: u64 = reserved.version.parse().unwrap_or(u64::MAX);
    let written = truth.written.get(&reserved.object);
    written.is_some_and(|written| *written > version)
}
