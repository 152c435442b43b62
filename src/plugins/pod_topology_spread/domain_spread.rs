//! How the pods of one constraint are spread over its domains, under a hypothesis too.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::model::map::IdMap;
use crate::model::symbols::Symbol;

/// Pods by domain. Copies share what was counted and keep their own changes.
#[derive(Clone, Debug, Default)]
pub(super) struct DomainSpread {
    counted: Arc<Counted>,
    /// What pods that were added or removed since changed, by domain: one, as a hypothesis is
    /// about one node.
    changes: SmallVec<[(Symbol, i64); 1]>,
}

#[derive(Clone, Debug, Default)]
struct Counted {
    by_domain: IdMap<Symbol, Domain>,
    /// How many domains have how many pods.
    domains_by_pods: BTreeMap<i64, usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Domain {
    nodes: i64,
    pods: i64,
}

impl Counted {
    fn change(&mut self, domain: Symbol, nodes: i64, pods: i64) {
        let entry = self.by_domain.entry(domain).or_default();
        let before = *entry;
        entry.nodes += nodes;
        entry.pods += pods;
        let after = *entry;
        if before.nodes > 0 {
            self.take_domain(before.pods);
        }
        if after.nodes > 0 {
            *self.domains_by_pods.entry(after.pods).or_insert(0) += 1;
        } else {
            self.by_domain.swap_remove(&domain);
        }
    }

    fn take_domain(&mut self, pods: i64) {
        if let Some(domains) = self.domains_by_pods.get_mut(&pods) {
            *domains -= 1;
            if *domains == 0 {
                self.domains_by_pods.remove(&pods);
            }
        }
    }
}

impl DomainSpread {
    /// As many nodes of `domain` came with as many `pods` in all, or left, where they are negative.
    pub(super) fn count_nodes(&mut self, domain: Symbol, nodes: i64, pods: i64) {
        Arc::make_mut(&mut self.counted).change(domain, nodes, pods);
    }

    /// The pods in `domain`.
    pub(super) fn count(&self, domain: Symbol) -> i64 {
        self.base(domain) + self.change_of(domain).unwrap_or(0)
    }

    /// Adds to the pods in `domain`, in this copy only. Pods that were not counted may be removed:
    /// upstream then counts less than nothing, too.
    pub(super) fn add(&mut self, domain: Symbol, by: i64) {
        match self.changes.iter_mut().find(|(known, _)| *known == domain) {
            Some((_, change)) => *change += by,
            None => self.changes.push((domain, by)),
        }
    }

    /// How many domains there are.
    pub(super) fn domains(&self) -> usize {
        self.counted.by_domain.len()
    }

    /// The pods in the emptiest domain; 0 if there are fewer domains than `min_domains`
    /// (`minMatchNum`).
    pub(super) fn fewest(&self, min_domains: i64) -> i64 {
        let domains = i64::try_from(self.domains()).unwrap_or(i64::MAX);
        if domains < min_domains {
            return 0;
        }
        let changed = self.changes.iter().map(|(domain, _)| self.count(*domain));
        changed.chain(self.fewest_unchanged()).min().unwrap_or(0)
    }

    fn fewest_unchanged(&self) -> Option<i64> {
        let Counted {
            by_domain,
            domains_by_pods,
        } = &*self.counted;
        let changed_with = |pods: i64| {
            let changed = self.changes.iter();
            changed
                .filter_map(|(domain, _)| by_domain.get(domain))
                .filter(|domain| domain.pods == pods)
                .count()
        };
        let mut levels = domains_by_pods.iter();
        levels
            .find(|(pods, domains)| **domains > changed_with(**pods))
            .map(|(pods, _)| *pods)
    }

    fn base(&self, domain: Symbol) -> i64 {
        let counted = self.counted.by_domain.get(&domain);
        counted.map_or(0, |domain| domain.pods)
    }

    fn change_of(&self, domain: Symbol) -> Option<i64> {
        let mut changes = self.changes.iter();
        changes
            .find(|(changed, _)| *changed == domain)
            .map(|(_, by)| *by)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::symbols::Symbols;

    proptest! {
        #[test]
        fn the_emptiest_domain_is_right_whatever_was_changed(
            counts in proptest::collection::vec(0..5_i64, 1..6),
            changes in proptest::collection::vec((0..6_usize, -3..3_i64), 0..8),
        ) {
            let mut symbols = Symbols::new(1);
            let mut scope = symbols.scope();
            let domains: Vec<Symbol> =
                (0..counts.len()).map(|i| scope.intern(&i.to_string())).collect();
            scope.abandon();
            let mut counted = DomainSpread::default();
            for (domain, count) in domains.iter().zip(&counts) {
                // Two nodes that stay, and one that leaves again.
                counted.count_nodes(*domain, 1, 1);
                counted.count_nodes(*domain, 1, 7);
                counted.count_nodes(*domain, 1, count - 1);
                counted.count_nodes(*domain, -1, -7);
            }
            let mut changed = counted.clone();
            let mut expected = counts.clone();
            for (index, by) in changes {
                let index = index % counts.len();
                changed.add(domains[index], by);
                expected[index] += by;
                prop_assert_eq!(changed.count(domains[index]), expected[index]);
                prop_assert_eq!(Some(changed.fewest(1)), expected.iter().copied().min());
            }
            prop_assert_eq!(Some(counted.fewest(1)), counts.iter().copied().min());
            let one_more = i64::try_from(counts.len()).unwrap() + 1;
            prop_assert_eq!(changed.fewest(one_more), 0);
        }
    }
}
