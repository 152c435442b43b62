//! How the pods of one constraint are spread over its domains, under a hypothesis too.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::model::map::IdMap;
use crate::model::symbols::Symbol;

/// Pods by domain. Copies share what was counted and keep their own changes.
#[derive(Clone, Debug)]
pub(super) struct DomainSpread {
    counted: Arc<Counted>,
    /// What pods that were added or removed since changed, by domain: one, as a hypothesis is
    /// about one node.
    changes: SmallVec<[(Symbol, i64); 1]>,
}

#[derive(Debug)]
struct Counted {
    by_domain: IdMap<Symbol, i64>,
    /// The two domains with the fewest pods, the fewest first.
    fewest: SmallVec<[(Symbol, i64); 2]>,
}

impl DomainSpread {
    pub(super) fn new(by_domain: IdMap<Symbol, i64>) -> Self {
        let mut fewest: SmallVec<[(Symbol, i64); 2]> = SmallVec::new();
        for (domain, count) in &by_domain {
            let place = fewest.partition_point(|(_, fewer)| fewer <= count);
            if place < 2 {
                fewest.truncate(1);
                fewest.insert(place, (*domain, *count));
            }
        }
        Self {
            counted: Arc::new(Counted { by_domain, fewest }),
            changes: SmallVec::new(),
        }
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
        let unchanged = |domain: Symbol| self.change_of(domain).is_none();
        let Counted { by_domain, fewest } = &*self.counted;
        let known = fewest.iter().find(|(domain, _)| unchanged(*domain));
        if let Some((_, count)) = known {
            return Some(*count);
        }
        let others = by_domain.iter().filter(|(domain, _)| unchanged(**domain));
        others.map(|(_, count)| *count).min()
    }

    fn base(&self, domain: Symbol) -> i64 {
        let count = self.counted.by_domain.get(&domain);
        count.copied().unwrap_or(0)
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
            let by_domain = domains.iter().copied().zip(counts.iter().copied()).collect();
            let counted = DomainSpread::new(by_domain);
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
