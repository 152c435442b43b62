//! The hash maps of the engine: insertion-ordered or lookup-only, with fixed hashers, so that the
//! same events always give the same order.

use foldhash::quality::FixedState;
use rustc_hash::FxBuildHasher;

/// A map keyed by small integers (symbols, ids), in insertion order.
pub type IdMap<K, V> = indexmap::IndexMap<K, V, FxBuildHasher>;

/// A set of small integers, in insertion order.
pub type IdSet<K> = indexmap::IndexSet<K, FxBuildHasher>;

/// A map keyed by text that users choose. The hasher is keyed: `new_text_map` takes the key.
pub type TextMap<K, V> = indexmap::IndexMap<K, V, FixedState>;

/// A map that is only looked into, keyed by text that users choose. Its order is no one's business:
/// sort what is taken out of it. The hasher is keyed: `new_lookup_map` takes the key.
pub type LookupMap<K, V> = hashbrown::HashMap<K, V, FixedState>;

/// An empty [`LookupMap`] whose hasher is keyed with `seed`, as in [`new_text_map`].
pub fn new_lookup_map<K, V>(seed: u64) -> LookupMap<K, V> {
    LookupMap::with_hasher(FixedState::with_seed(seed))
}

/// An empty [`TextMap`] whose hasher is keyed with `seed`: a secret seed keeps names that collide
/// on purpose from slowing the scheduler down.
pub fn new_text_map<K, V>(seed: u64) -> TextMap<K, V> {
    TextMap::with_hasher(FixedState::with_seed(seed))
}
