//! The API objects that scheduling reads, slim: fields that no decision needs are never kept.
//!
//! The same types decode watch events and cluster files. `null` reads as absent everywhere.

pub mod metadata;
pub mod namespace;
pub mod node;
pub mod pod;

pub use namespace::Namespace;
pub use node::Node;
pub use pod::Pod;

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default value, as the API server does.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
