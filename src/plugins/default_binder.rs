//! `DefaultBinder`: binds by POST to `pods/binding`.

use std::sync::Arc;

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::effect::EffectAction;
use crate::engine::framework::extension_points::BindPlugin;
use crate::engine::framework::{Plugin, PluginName};

pub(crate) const NAME: &str = "DefaultBinder";

/// The plugin.
#[derive(Debug)]
pub(crate) struct DefaultBinder;

impl Plugin for DefaultBinder {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        Some(self)
    }
}

impl BindPlugin for DefaultBinder {
    fn bind(&self, _: &PodView<'_>, node: &NodeView<'_>) -> Option<EffectAction> {
        Some(EffectAction::Bind {
            node: Arc::clone(node.name()),
        })
    }
}
