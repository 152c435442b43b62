//! A profile: the plugins that decide for the pods that name it, compiled and in order.

use std::sync::Arc;

use crate::engine::framework::extender::Extender;
use crate::engine::framework::plugin::{Plugin, PluginName};
use crate::model::symbols::HeldSymbols;

/// A profile that the engine runs.
#[derive(Debug)]
pub struct Profile {
    /// The `schedulerName` of its pods.
    pub scheduler_name: Arc<str>,
    /// The generation of the `SchedulerProfile` object, 0 outside a cluster.
    pub generation: i64,
    /// Every plugin that is enabled somewhere, once each.
    pub plugins: Vec<Arc<dyn Plugin>>,
    /// Of how many nodes, in percent, enough is known: 100 looks at every node, 0 adapts to the
    /// size of the cluster (`percentageOfNodesToScore`).
    pub percentage_of_nodes_to_score: i32,
    /// The order at each extension point.
    pub points: ExtensionPoints,
    /// Outside voices, in the order in which they are asked.
    pub extenders: Vec<Extender>,
    /// What the plugins' arguments hold in the symbol table.
    pub held: HeldSymbols,
}

/// Indices into [`Profile::plugins`], in the order in which the plugins are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionPoints {
    /// `PreEnqueue`.
    pub pre_enqueue: Vec<usize>,
    /// `QueueSort`: the one.
    pub queue_sort: usize,
    /// `PreFilter`.
    pub pre_filter: Vec<usize>,
    /// `Filter`.
    pub filter: Vec<usize>,
    /// `PostFilter`.
    pub post_filter: Vec<usize>,
    /// `PreScore`.
    pub pre_score: Vec<usize>,
    /// `Score`, each with its weight.
    pub score: Vec<(usize, i64)>,
    /// `Reserve`.
    pub reserve: Vec<usize>,
    /// `Permit`.
    pub permit: Vec<usize>,
    /// `PreBind`.
    pub pre_bind: Vec<usize>,
    /// `Bind`.
    pub bind: Vec<usize>,
    /// `PostBind`.
    pub post_bind: Vec<usize>,
}

impl Profile {
    /// The plugin at `index`.
    pub fn plugin(&self, index: usize) -> &dyn Plugin {
        &*self.plugins[index]
    }

    /// The plugin called `name`, if the profile has it.
    pub fn plugin_named(&self, name: PluginName) -> Option<&dyn Plugin> {
        self.plugins
            .iter()
            .map(|plugin| &**plugin)
            .find(|plugin| plugin.name() == name)
    }
}
