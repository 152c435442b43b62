//! A plugin: a name, and the extension points at which it has something to say.

use std::fmt;

use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    BindPlugin, EnqueueExtensions, FilterPlugin, PermitPlugin, PostBindPlugin, PostFilterPlugin,
    PreBindPlugin, PreEnqueuePlugin, PreFilterPlugin, PreScorePlugin, QueueSortPlugin,
    ReservePlugin, ScorePlugin, TopologyReader,
};

/// The name of a plugin, as upstream has it.
pub type PluginName = &'static str;

/// A plugin of one profile, compiled with its arguments. It is immutable: what it remembers is in
/// the [`CycleState`](crate::engine::framework::CycleState) of an attempt or in the
/// [`Reservations`](crate::engine::framework::reservations::Reservations) of the engine.
pub trait Plugin: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> PluginName;

    /// Its part at `PreEnqueue`.
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        None
    }

    /// Its part at `QueueSort`.
    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        None
    }

    /// Its part at `PreFilter`.
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        None
    }

    /// The counts by topology domain that it reads.
    fn as_topology_reader(&self) -> Option<&dyn TopologyReader> {
        None
    }

    /// Its part at `Filter`.
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        None
    }

    /// Its part at `PostFilter`.
    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        None
    }

    /// Its part at `PreScore`.
    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        None
    }

    /// Its part at `Score`.
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        None
    }

    /// Its part at `Reserve`.
    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        None
    }

    /// Its part at `Permit`.
    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        None
    }

    /// Its part at `PreBind`.
    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        None
    }

    /// Its part at `Bind`.
    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        None
    }

    /// Its part at `PostBind`.
    fn as_post_bind(&self) -> Option<&dyn PostBindPlugin> {
        None
    }

    /// What of its judgement can be kept for all pods of a class. Without it nothing is, for any
    /// profile that has the plugin at `PreFilter`, `Filter`, `PreScore` or `Score`.
    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        None
    }

    /// The changes that may help pods it rejected. Without them any change may.
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}
