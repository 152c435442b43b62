//! Answers the queue's questions with the pod's profile and the cluster as it is.

use crate::engine::Engine;
use crate::engine::cache::Cache;
use crate::engine::cache::snapshot::PodView;
use crate::engine::framework::extension_points::{Change, EnqueueExtensions, SortKey};
use crate::engine::framework::{HintScope, Plugin, PluginName, QueueingHint, Rejection};
use crate::engine::observer::{CycleObserver, ObservedPoint, StatusCode};
use crate::engine::profiles::Profiles;
use crate::engine::queue::{QueuePlugins, RecordedChange, SchedulingQueue};
use crate::model::pod_info::PodInfo;
use crate::model::timestamp::Timestamp;

/// The plugins as the queue sees them.
pub(super) struct Ask<'a> {
    profiles: &'a Profiles,
    pub(super) cache: &'a Cache,
    observer: &'a dyn CycleObserver,
    /// A pod that is gone, of which plugins still see what it was like.
    gone: Option<&'a PodInfo>,
}

impl Engine {
    /// The plugins that the queue asks.
    pub(super) fn plugins(&self) -> Ask<'_> {
        Ask {
            profiles: &self.profiles,
            cache: &self.cache,
            observer: &*self.observer,
            gone: None,
        }
    }

    /// The queue, and the plugins that it asks.
    pub(super) fn queue_and_plugins(&mut self) -> (&mut SchedulingQueue, Ask<'_>) {
        let plugins = Ask {
            profiles: &self.profiles,
            cache: &self.cache,
            observer: &*self.observer,
            gone: None,
        };
        (&mut self.queue, plugins)
    }
}

impl<'a> Ask<'a> {
    /// The same about a pod that is gone: plugins still see what it was like.
    pub(super) fn with_gone(self, gone: Option<&'a PodInfo>) -> Self {
        Self { gone, ..self }
    }

    fn plugin_of(&self, name: PluginName, pod: &PodInfo) -> Option<&'a dyn Plugin> {
        self.profiles.get(&pod.scheduler_name)?.plugin_named(name)
    }
}

/// Whether the plugin registered for `change`; without a list it is told of every one.
fn registers(plugin: &dyn Plugin, change: &RecordedChange) -> bool {
    plugin.enqueue_extensions().is_none_or(|extensions| {
        let mut registered = extensions.events_to_register().iter();
        registered.any(|event| event.matches(&change.event))
    })
}

impl QueuePlugins for Ask<'_> {
    fn sort_key(&self, pod: &PodInfo, queued: Timestamp) -> SortKey {
        let Some(profile) = self.profiles.get(&pod.scheduler_name) else {
            return SortKey::default();
        };
        let sort = profile.plugin(profile.points.queue_sort).as_queue_sort();
        let view = PodView::new(pod, &self.cache.vocabulary);
        let key = || sort.map(|plugin| plugin.sort_key(&view, queued));
        self.profiles.ask_about(&pod.uid, key).unwrap_or_default()
    }

    fn pre_enqueue(&self, pod: &PodInfo) -> Option<Rejection> {
        let profile = self.profiles.get(&pod.scheduler_name)?;
        let view = PodView::new(pod, &self.cache.vocabulary);
        let cluster = self.cache.snapshot();
        let plugins = profile.points.pre_enqueue.iter();
        let ask = || {
            plugins
                .filter_map(|index| profile.plugin(*index).as_pre_enqueue())
                .find_map(|plugin| plugin.pre_enqueue(&view, &cluster))
        };
        let ask = || self.profiles.ask_about(&pod.uid, ask);
        // Upstream's status of this point is `Success`, whatever the plugins say.
        let (point, status) = (ObservedPoint::PreEnqueue, StatusCode::Success);
        self.observer
            .during(point, &profile.scheduler_name, |_| status, ask)
    }

    fn hint(
        &self,
        plugin: PluginName,
        pod: &PodInfo,
        change: &RecordedChange,
    ) -> Option<QueueingHint> {
        // Without a plugin it was an extender, or one that the profile no longer has: any event may
        // help.
        let plugin = self.plugin_of(plugin, pod);
        let Some((plugin, extensions)) =
            plugin.and_then(|plugin| Some((plugin, plugin.enqueue_extensions()?)))
        else {
            return Some(QueueingHint::Queue);
        };
        if !registers(plugin, change) {
            return None;
        }
        let cluster = self.cache.snapshot();
        let seen = Change {
            event: change.event,
            node: change.node.as_deref().and_then(|name| cluster.node(name)),
            other: change.pod.as_ref().and_then(|uid| {
                let gone = self.gone.filter(|gone| gone.uid == *uid);
                gone.map(|gone| cluster.view(gone))
                    .or_else(|| cluster.pod(uid))
            }),
            object: change.object.as_ref(),
            cluster,
        };
        let view = PodView::new(pod, &self.cache.vocabulary);
        let hint = || extensions.queueing_hint(&seen, &view);
        Some(self.profiles.ask_about(&pod.uid, hint))
    }

    fn is_registered(&self, plugin: PluginName, change: &RecordedChange) -> bool {
        let mut known = self.profiles.running_plugins(plugin).peekable();
        known.peek().is_none() || known.any(|plugin| registers(plugin, change))
    }

    fn hint_scope(&self, plugin: PluginName, pod: &PodInfo) -> HintScope {
        let Some(plugin) = self.plugin_of(plugin, pod) else {
            return HintScope::Class;
        };
        let extensions = plugin.enqueue_extensions();
        extensions.map_or(HintScope::Class, EnqueueExtensions::hint_scope)
    }
}
