//! What the queue asks the plugins. The engine answers with the pod's profile and the cluster as
//! it is.

use crate::engine::framework::extension_points::SortKey;
use crate::engine::framework::{HintScope, PluginName, QueueingHint, Rejection};
use crate::engine::queue::in_flight::RecordedChange;
use crate::model::pod_info::PodInfo;
use crate::model::timestamp::Timestamp;

/// The plugins as the queue sees them.
pub trait QueuePlugins {
    /// The place in the active queue.
    fn sort_key(&self, pod: &PodInfo, queued: Timestamp) -> SortKey;

    /// The first `PreEnqueue` plugin that holds the pod.
    fn pre_enqueue(&self, pod: &PodInfo) -> Option<Rejection>;

    /// Whether `change` may help a pod that `plugin` rejected; `None` if the plugin did not
    /// register the event.
    fn hint(
        &self,
        plugin: PluginName,
        pod: &PodInfo,
        change: &RecordedChange,
    ) -> Option<QueueingHint>;

    /// Whether `plugin` registered the event at all. Asked once per plugin and change, so that a
    /// change nobody waits for costs nothing per pod.
    fn is_registered(&self, plugin: PluginName, change: &RecordedChange) -> bool;

    /// What the hints of `plugin` read of `pod`.
    fn hint_scope(&self, plugin: PluginName, pod: &PodInfo) -> HintScope;
}
