//! Counts by domain.

use crate::model::map::IdMap;
use crate::model::symbols::Symbol;

/// A count for each domain that has one; a domain is the value of a node label, or the name of a
/// node. Domains whose count is 0 are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainCounts(IdMap<Symbol, i64>);

impl DomainCounts {
    /// The count of `domain`.
    pub fn get(&self, domain: Symbol) -> i64 {
        self.0.get(&domain).copied().unwrap_or(0)
    }

    /// Adds to the count of `domain`.
    pub fn add(&mut self, domain: Symbol, by: i64) {
        let count = self.0.entry(domain).or_insert(0);
        *count += by;
        if *count == 0 {
            self.0.swap_remove(&domain);
        }
    }

    /// Whether every count is 0.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The counts that are not 0, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (Symbol, i64)> + '_ {
        self.0.iter().map(|(domain, count)| (*domain, *count))
    }
}
