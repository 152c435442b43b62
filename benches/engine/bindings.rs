//! What stands in for the API server.

use bayplan::engine::Engine;
use bayplan::engine::effect::{EffectAction, EffectOutcome};
use bayplan::engine::event::ClusterEvent;

/// Takes the effects; bindings are carried out at once.
pub(crate) fn carry_out(engine: &mut Engine) {
    let effects = engine.drain_effects();
    let bound: Vec<_> = effects
        .filter(|effect| matches!(effect.action, EffectAction::Bind { .. }))
        .map(|effect| effect.id)
        .collect();
    for id in bound {
        let outcome = EffectOutcome::Done {
            resource_version: None,
        };
        engine.handle(ClusterEvent::EffectCompleted { id, outcome });
    }
}
