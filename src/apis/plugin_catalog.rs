//! The question that resolving a profile asks about plugins, so that `apis` need not know them.

use crate::apis::extension_point::ExtensionPoints;

/// The plugins that this build implements. Which upstream plugins exist beside them, and the
/// default order and weights, are in [`crate::apis::upstream_plugins`].
pub trait PluginCatalog {
    /// The extension points of the plugin called `name`; `None` if it is not implemented.
    fn extension_points(&self, name: &str) -> Option<ExtensionPoints>;

    /// The names of all implemented plugins, for suggestions.
    fn names(&self) -> Vec<&str>;
}

#[cfg(test)]
pub(crate) mod tests {
    //! A catalog for the tests of `apis`: the first plugins, with upstream's extension points.

    use super::PluginCatalog;
    use crate::apis::extension_point::ExtensionPoints;
    use crate::apis::upstream_plugins;

    /// What the first release implements.
    const IMPLEMENTED: [&str; 11] = [
        "SchedulingGates",
        "PrioritySort",
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
        "DefaultBinder",
    ];

    #[derive(Debug)]
    pub(crate) struct TestCatalog;

    impl PluginCatalog for TestCatalog {
        fn extension_points(&self, name: &str) -> Option<ExtensionPoints> {
            let plugin = upstream_plugins::find(name)?;
            IMPLEMENTED.contains(&name).then_some(plugin.points)
        }

        fn names(&self) -> Vec<&str> {
            IMPLEMENTED.into()
        }
    }
}
