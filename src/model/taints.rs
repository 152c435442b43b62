//! Taints and tolerations, compiled.

use k8s_openapi::api::core::v1;

use crate::model::symbols::{Symbol, SymbolScope};

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods stay away if they can.
    PreferNoSchedule,
    /// New pods stay away, running ones are evicted.
    NoExecute,
    /// An effect this release does not know; it keeps nobody away.
    Unknown,
}

/// A taint of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// Its key.
    pub key: Symbol,
    /// Its value, maybe the empty text.
    pub value: Symbol,
    /// Its effect.
    pub effect: TaintEffect,
}

/// How a toleration compares the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TolerationOperator {
    /// The values are equal; the default.
    Equal,
    /// Any value.
    Exists,
    /// `Gt`, `Lt` (gate `TaintTolerationComparisonOperators`, off) or unknown: tolerates nothing.
    Unsupported,
}

/// A toleration of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// The key; `None` (an empty key) with `Exists` tolerates every taint.
    pub key: Option<Symbol>,
    /// The comparison.
    pub operator: TolerationOperator,
    /// The value.
    pub value: Symbol,
    /// The effect; `None` means all of them.
    pub effect: Option<TaintEffect>,
}

// === impl TaintEffect ===

impl TaintEffect {
    fn parse(text: &str) -> Self {
        match text {
            "NoSchedule" => Self::NoSchedule,
            "PreferNoSchedule" => Self::PreferNoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => Self::Unknown,
        }
    }
}

// === impl Taint ===

impl Taint {
    /// Compiles a taint.
    pub fn compile(taint: &v1::Taint, scope: &mut SymbolScope<'_>) -> Self {
        Self {
            key: scope.intern(&taint.key),
            value: scope.intern(taint.value.as_deref().unwrap_or("")),
            effect: TaintEffect::parse(&taint.effect),
        }
    }
}

// === impl Toleration ===

impl Toleration {
    /// Compiles a toleration.
    pub fn compile(toleration: &v1::Toleration, scope: &mut SymbolScope<'_>) -> Self {
        let key = toleration.key.as_deref().filter(|key| !key.is_empty());
        let effect = toleration
            .effect
            .as_deref()
            .filter(|effect| !effect.is_empty());
        Self {
            key: key.map(|key| scope.intern(key)),
            operator: match toleration.operator.as_deref() {
                None | Some("" | "Equal") => TolerationOperator::Equal,
                Some("Exists") => TolerationOperator::Exists,
                Some(_) => TolerationOperator::Unsupported,
            },
            value: scope.intern(toleration.value.as_deref().unwrap_or("")),
            effect: effect.map(TaintEffect::parse),
        }
    }

    /// Whether this toleration tolerates `taint` (`Toleration.ToleratesTaint`).
    pub fn tolerates(&self, taint: &Taint) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) {
            return false;
        }
        if self.key.is_some_and(|key| key != taint.key) {
            return false;
        }
        match self.operator {
            // An empty key with Equal is not valid in the API; upstream then compares values only.
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Unsupported => false,
        }
    }
}

/// Whether any of `tolerations` tolerates `taint`.
pub fn tolerated(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations
        .iter()
        .any(|toleration| toleration.tolerates(taint))
}
