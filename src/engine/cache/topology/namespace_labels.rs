//! Labels of namespaces, compiled.

use crate::model::label_set::LabelSet;
use crate::model::map::IdMap;
use crate::model::objects::Namespace;
use crate::model::symbols::{HeldSymbols, Symbol, Symbols};

/// The labels of every known namespace.
#[derive(Debug, Default)]
pub struct NamespaceLabels {
    labels: IdMap<Symbol, (LabelSet, HeldSymbols)>,
    /// Rises when labels change.
    generation: u64,
}

impl NamespaceLabels {
    /// The labels of the namespace, if it is known.
    pub fn get(&self, namespace: Symbol) -> Option<&LabelSet> {
        self.labels.get(&namespace).map(|(labels, _)| labels)
    }

    /// A number that is another one after every change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Every symbol that is held for the labels, as often as it is held.
    pub(crate) fn held(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.labels.values().flat_map(|(_, held)| held.iter())
    }

    /// A namespace is new, changed, or gone (`None`). Tells whether its labels changed.
    pub(super) fn apply(
        &mut self,
        name: &str,
        namespace: Option<&Namespace>,
        symbols: &mut Symbols,
    ) -> bool {
        let changed = self.replace(name, namespace, symbols);
        self.generation += u64::from(changed);
        changed
    }

    fn replace(
        &mut self,
        name: &str,
        namespace: Option<&Namespace>,
        symbols: &mut Symbols,
    ) -> bool {
        let mut scope = symbols.scope();
        let key = scope.intern(name);
        let Some(namespace) = namespace else {
            scope.abandon();
            let Some((_, held)) = self.labels.swap_remove(&key) else {
                return false;
            };
            symbols.release(held);
            return true;
        };
        let labels = LabelSet::compile(namespace.metadata.labels.as_ref(), &mut scope);
        let held = scope.finish();
        match self.labels.insert(key, (labels.clone(), held)) {
            Some((earlier, held)) => {
                symbols.release(held);
                earlier != labels
            }
            None => true,
        }
    }
}
