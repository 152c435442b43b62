//! Node classes: nodes that are alike in everything static.
//!
//! Labels, taints and the cordon are judged once per class instead of once per node. The label
//! `kubernetes.io/hostname` differs on every node and is kept beside the class.

use crate::model::declared_features::FeatureSet;
use crate::model::label_set::LabelSet;
use crate::model::objects;
use crate::model::symbols::SymbolScope;
use crate::model::taints::Taint;

/// The label that every kubelet sets to a value of its own; with it in the class, no two nodes
/// would be alike.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// What the nodes of a class have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeClass {
    /// Labels without [`HOSTNAME_LABEL`].
    pub labels: LabelSet,
    /// Taints in the order of the object.
    pub taints: Box<[Taint]>,
    /// Cordoned.
    pub unschedulable: bool,
    /// Features that the nodes offer.
    pub declared_features: FeatureSet,
}

impl NodeClass {
    /// Compiles the class of a node.
    pub fn compile(node: &objects::Node, scope: &mut SymbolScope<'_>) -> Self {
        let mut labels = node.metadata.labels.clone().unwrap_or_default();
        labels.remove(HOSTNAME_LABEL);
        Self {
            labels: LabelSet::compile(Some(&labels), scope),
            taints: node
                .spec
                .taints
                .iter()
                .map(|taint| Taint::compile(taint, scope))
                .collect(),
            unschedulable: node.spec.unschedulable,
            declared_features: FeatureSet::declared(&node.status.declared_features),
        }
    }
}
