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
    nodes: usize,
    pods: i64,
}

impl Counted {
    /// A node of `domain` came with `pods`.
    fn add_node(&mut self, domain: Symbol, pods: i64) {
        let entry = self.by_domain.entry(domain).or_default();
        let before = *entry;
        entry.nodes += 1;
        entry.pods += pods;
        let after = entry.pods;
        if before.nodes == 0 {
            *self.domains_by_pods.entry(after).or_insert(0) += 1;
        } else {
            self.move_domain(before.pods, after);
        }
    }

    /// A node of `domain`, which had come with `pods`, left.
    fn remove_node(&mut self, domain: Symbol, pods: i64) {
        let Some(entry) = self.by_domain.get_mut(&domain) else {
            return;
        };
        let before = entry.pods;
        entry.nodes -= 1;
        entry.pods -= pods;
        let after = *entry;
        if after.nodes == 0 {
            self.by_domain.swap_remove(&domain);
            self.take_domain(before);
        } else {
            self.move_domain(before, after.pods);
        }
    }

    fn move_domain(&mut self, before: i64, after: i64) {
        if before != after {
            self.take_domain(before);
            *self.domains_by_pods.entry(after).or_insert(0) += 1;
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
    /// A node of `domain` came with `pods`.
    pub(super) fn add_node(&mut self, domain: Symbol, pods: i64) {
        Arc::make_mut(&mut self.counted).add_node(domain, pods);
    }

    /// A node of `domain`, which had come with `pods`, left.
    pub(super) fn remove_node(&mut self, domain: Symbol, pods: i64) {
        Arc::make_mut(&mut self.counted).remove_node(domain, pods);
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

    /// The pods in the emptiest domain; 0 if there are fewer domains than `min_domains`
    /// (`minMatchNum`).
    pub(super) fn fewest(&self, min_domains: i64) -> i64 {
        let domains = i64::try_from(self.counted.by_domain.len()).unwrap_or(i64::MAX);
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
                counted.add_node(*domain, 1);
                counted.add_node(*domain, 7);
                counted.add_node(*domain, count - 1);
                counted.remove_node(*domain, 7);
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
