//! Topology spread constraints, compiled.

use k8s_openapi::api::core::v1;

use crate::model::label_selector::{InvalidSelector, LabelRequirement, LabelSelector};
use crate::model::symbols::{Symbol, SymbolScope};

/// How evenly pods of a kind are to be spread over the values of a node label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TopologySpreadConstraint {
    /// By how many a domain may exceed the emptiest one.
    pub max_skew: i64,
    /// The node label whose values are the domains.
    pub topology_key: Symbol,
    /// `None` for a word that is none of the two: such a constraint is nobody's, as upstream.
    pub strictness: Option<Strictness>,
    /// Which pods of the pod's namespace are counted, but for [`Self::match_label_keys`]; or why
    /// that cannot be read.
    pub selector: Result<LabelSelector, InvalidSelector>,
    /// Keys of labels for which the counted pods have the pod's own values, as far as the pod has
    /// them. The API server merges them into the selector of pods that are created now; pods from
    /// before keep them apart.
    pub match_label_keys: Box<[Symbol]>,
    /// With fewer domains than this the emptiest one counts as empty.
    pub min_domains: i64,
    /// Nodes that the pod's node selector and affinity rule out are not counted (the default).
    pub honors_node_affinity: bool,
    /// Nodes whose taints the pod does not tolerate are not counted.
    pub honors_node_taints: bool,
}

/// What becomes of a pod that would break a constraint (`whenUnsatisfiable`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// `DoNotSchedule`: filters.
    Hard,
    /// `ScheduleAnyway`: scores.
    Soft,
}

// === impl Strictness ===

impl Strictness {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "DoNotSchedule" => Some(Self::Hard),
            "ScheduleAnyway" => Some(Self::Soft),
            _ => None,
        }
    }
}

// === impl TopologySpreadConstraint ===

impl TopologySpreadConstraint {
    /// Compiles a constraint.
    pub fn compile(constraint: &v1::TopologySpreadConstraint, scope: &mut SymbolScope<'_>) -> Self {
        let keys = constraint.match_label_keys.iter().flatten();
        Self {
            max_skew: i64::from(constraint.max_skew),
            topology_key: scope.intern(&constraint.topology_key),
            strictness: Strictness::parse(&constraint.when_unsatisfiable),
            selector: LabelSelector::compile(constraint.label_selector.as_ref(), scope),
            match_label_keys: keys.map(|key| scope.intern(key)).collect(),
            min_domains: constraint.min_domains.map_or(1, i64::from),
            honors_node_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
            honors_node_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
        }
    }

    /// The selector with the pod's own values of [`Self::match_label_keys`]; `value` gives them. A
    /// selector of nothing stays one.
    pub fn selector_for(
        &self,
        value: impl Fn(Symbol) -> Option<Symbol>,
    ) -> Result<LabelSelector, InvalidSelector> {
        let LabelSelector::All(requirements) = self.selector.as_ref().map_err(Clone::clone)? else {
            return Ok(LabelSelector::Nothing);
        };
        let own = self.match_label_keys.iter().filter_map(|key| {
            let value = value(*key)?;
            Some(LabelRequirement::In(*key, Box::from([value])))
        });
        Ok(LabelSelector::of(
            requirements.iter().cloned().chain(own).collect(),
        ))
    }
}
