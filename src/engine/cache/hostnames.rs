//! Whether the label `kubernetes.io/hostname` tells nodes apart.

use crate::model::map::IdMap;
use crate::model::symbols::Symbol;

/// How many nodes have each value of the label.
#[derive(Debug, Default)]
pub(super) struct Hostnames {
    nodes: IdMap<Symbol, u32>,
    /// Values that more than one node has.
    shared: usize,
}

impl Hostnames {
    /// Whether no value is that of two nodes.
    pub(super) fn are_unique(&self) -> bool {
        self.shared == 0
    }

    pub(super) fn add(&mut self, hostname: Option<Symbol>) {
        let Some(hostname) = hostname else { return };
        let nodes = self.nodes.entry(hostname).or_insert(0);
        *nodes += 1;
        self.shared += usize::from(*nodes == 2);
    }

    pub(super) fn remove(&mut self, hostname: Option<Symbol>) {
        let Some(hostname) = hostname else { return };
        let Some(nodes) = self.nodes.get_mut(&hostname) else {
            return;
        };
        *nodes -= 1;
        match nodes {
            0 => {
                self.nodes.swap_remove(&hostname);
            }
            1 => self.shared -= 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::symbols::Symbols;

    #[test]
    fn hostnames_are_unique_until_two_nodes_have_one() {
        let mut symbols = Symbols::new(1);
        let mut scope = symbols.scope();
        let (a, b) = (Some(scope.intern("a")), Some(scope.intern("b")));
        scope.abandon();
        let mut hostnames = Hostnames::default();
        let mut step = |add: bool, hostname| {
            if add {
                hostnames.add(hostname);
            } else {
                hostnames.remove(hostname);
            }
            hostnames.are_unique()
        };
        assert!(step(true, a) && step(true, b) && step(true, None) && step(true, None));
        assert!(!step(true, a) && !step(true, a) && !step(false, b) && !step(false, a));
        assert!(step(false, a) && step(false, a) && step(true, a));
    }
}
