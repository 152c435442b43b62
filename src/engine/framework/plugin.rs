//! A plugin: a name, and the extension points at which it has something to say.

use std::fmt;

use crate::engine::framework::extension_points::{
    BindPlugin, EnqueueExtensions, FilterPlugin, PermitPlugin, PostBindPlugin, PostFilterPlugin,
    PreBindPlugin, PreEnqueuePlugin, PreFilterPlugin, PreScorePlugin, QueueSortPlugin,
    ReservePlugin, ScorePlugin,
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
    fn pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        None
    }

    /// Its part at `QueueSort`.
    fn queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        None
    }

    /// Its part at `PreFilter`.
    fn pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        None
    }

    /// Its part at `Filter`.
    fn filter(&self) -> Option<&dyn FilterPlugin> {
        None
    }

    /// Its part at `PostFilter`.
    fn post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        None
    }

    /// Its part at `PreScore`.
    fn pre_score(&self) -> Option<&dyn PreScorePlugin> {
        None
    }

    /// Its part at `Score`.
    fn score(&self) -> Option<&dyn ScorePlugin> {
        None
    }

    /// Its part at `Reserve`.
    fn reserve(&self) -> Option<&dyn ReservePlugin> {
        None
    }

    /// Its part at `Permit`.
    fn permit(&self) -> Option<&dyn PermitPlugin> {
        None
    }

    /// Its part at `PreBind`.
    fn pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        None
    }

    /// Its part at `Bind`.
    fn bind(&self) -> Option<&dyn BindPlugin> {
        None
    }

    /// Its part at `PostBind`.
    fn post_bind(&self) -> Option<&dyn PostBindPlugin> {
        None
    }

    /// The changes that may help pods it rejected. Without them any change may.
    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        None
    }
}
