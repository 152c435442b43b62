//! An engine with the default profile, and objects for it.

use bayplan::apis::effective_profile::EffectiveProfile;
use bayplan::engine::event::ClusterEvent;
use bayplan::engine::{Engine, EngineConfig};
use bayplan::model::timestamp::Timestamp;
use bayplan::plugins::registry::Registry;
use serde_json::{Value, json};

/// An engine that knows the default profile and nothing else.
pub(crate) fn engine() -> Engine {
    let mut engine = Engine::new(EngineConfig::default());
    engine.tick(Timestamp::from_seconds(1));
    let spec = decode(json!({"schedulerName": "bayplan"}));
    let profile = EffectiveProfile::try_new(&spec, &Registry).expect("it must be valid");
    let profile = Registry
        .build(&profile, 1, engine.symbols_mut())
        .expect("it must be built");
    engine.handle(ClusterEvent::ProfilesChanged(vec![profile]));
    engine
}

/// An object of the benchmark.
pub(crate) fn decode<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("an object of the benchmark must decode")
}
