//! Labels of namespaces, compiled.

use crate::model::label_set::LabelSet;
use crate::model::map::IdMap;
use crate::model::objects::Namespace;
use crate::model::symbols::{HeldSymbols, Symbol, Symbols};

/// The labels of every known namespace.
#[derive(Debug, Default)]
pub struct NamespaceLabels(IdMap<Symbol, (LabelSet, HeldSymbols)>);

impl NamespaceLabels {
    /// The labels of the namespace, if it is known.
    pub fn get(&self, namespace: Symbol) -> Option<&LabelSet> {
        self.0.get(&namespace).map(|(labels, _)| labels)
    }

    /// A namespace is new, changed, or gone (`None`). Tells whether its labels changed.
    pub(super) fn apply(
        &mut self,
        name: &str,
        namespace: Option<&Namespace>,
        symbols: &mut Symbols,
    ) -> bool {
        let mut scope = symbols.scope();
        let key = scope.intern(name);
        let Some(namespace) = namespace else {
            scope.abandon();
            let Some((_, held)) = self.0.swap_remove(&key) else {
                return false;
            };
            symbols.release(held);
            return true;
        };
        let labels = LabelSet::compile(namespace.metadata.labels.as_ref(), &mut scope);
        let held = scope.finish();
        match self.0.insert(key, (labels.clone(), held)) {
            Some((earlier, held)) => {
                symbols.release(held);
                earlier != labels
            }
            None => true,
        }
    }
}
