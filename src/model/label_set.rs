//! Label sets of pods, interned apart from what else a pod asks for: labels are often unique to a
//! pod (`StatefulSets`, indexed Jobs).

use std::collections::BTreeMap;

use crate::model::symbols::{Symbol, SymbolScope};

/// Labels, sorted by the symbol of the key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSet(Box<[(Symbol, Symbol)]>);

/// The labels of a pod with its namespace: everything that selectors look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodLabels {
    /// The namespace.
    pub namespace: Symbol,
    /// The labels.
    pub labels: LabelSet,
}

impl LabelSet {
    /// Compiles the labels of an object.
    pub fn compile(labels: Option<&BTreeMap<String, String>>, scope: &mut SymbolScope<'_>) -> Self {
        let mut pairs: Vec<_> = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| (scope.intern(key), scope.intern(value)))
            .collect();
        pairs.sort_unstable();
        Self(pairs.into_boxed_slice())
    }

    /// The value under `key`.
    pub fn get(&self, key: Symbol) -> Option<Symbol> {
        let index = self.0.binary_search_by_key(&key, |pair| pair.0).ok()?;
        Some(self.0[index].1)
    }

    /// All pairs.
    pub fn pairs(&self) -> &[(Symbol, Symbol)] {
        &self.0
    }
}
