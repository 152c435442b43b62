//! What the engine is told: one closed enum, so that every trigger is visible in one place.

use std::sync::Arc;

use crate::engine::cache::listers::ListedEvent;
use crate::engine::effect::{EffectId, EffectOutcome};
use crate::engine::framework::profile::Profile;
use crate::model::objects::{Node, Pod};
use crate::model::pod_info::PodUid;

/// A watch event, the completion of an effect, or a change of configuration.
#[derive(Debug)]
pub enum ClusterEvent {
    /// A node is new or changed.
    NodeApplied(Arc<Node>),
    /// A node is gone.
    NodeDeleted(Arc<Node>),
    /// A list ended: the names of all nodes there are, each of which was told before. What is not
    /// among them is gone.
    NodesListed(Vec<Arc<str>>),
    /// A pod is new or changed.
    PodApplied(Arc<Pod>),
    /// A pod is gone.
    PodDeleted(Arc<Pod>),
    /// A list ended: all pods there are, each of which was told before. What is not among them is
    /// gone.
    PodsListed(Vec<PodUid>),
    /// An object that plugins look up by name came, changed or went.
    Listed(ListedEvent),
    /// The profiles to run from the next cycle on. Pods of a profile that is gone leave the queue;
    /// those of a new one are told again.
    ProfilesChanged(Vec<Profile>),
    /// An effect ended.
    EffectCompleted {
        /// Which one.
        id: EffectId,
        /// How.
        outcome: EffectOutcome,
    },
}
