//! Amounts of resources, compiled: three dense ones and the scalars.

use std::collections::BTreeMap;

use crate::model::label_syntax::key_problems;
use crate::model::quantity::{InvalidQuantity, Quantity};
use crate::model::symbols::{Symbol, SymbolScope};

/// The resource `cpu`, in thousandths of a core.
pub const CPU: &str = "cpu";
/// The resource `memory`, in bytes.
pub const MEMORY: &str = "memory";
/// The resource `ephemeral-storage`, in bytes.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// The resource `pods`: how many pods a node takes.
pub const PODS: &str = "pods";

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// `cpu`.
    Cpu,
    /// `memory`.
    Memory,
    /// `ephemeral-storage`.
    EphemeralStorage,
    /// Anything else: extended resources, huge pages, attachable volumes.
    Scalar(Symbol),
}

/// Amounts by resource: CPU in thousandths, the others in units or bytes. All sums saturate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Thousandths of a core.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub ephemeral_storage: i64,
    /// Sorted by symbol.
    scalars: Vec<(Symbol, i64)>,
}

// === impl Resources ===

impl Resources {
    /// Compiles exact amounts, rounding up (`Resource.Add` of framework/types.go). `pods` is not
    /// an amount that pods request and is left out.
    pub fn compile(amounts: &BTreeMap<String, Quantity>, scope: &mut SymbolScope<'_>) -> Self {
        let mut resources = Self::default();
        for (name, amount) in amounts {
            match name.as_str() {
                CPU => resources.milli_cpu = amount.millis(),
                MEMORY => resources.memory = amount.units(),
                EPHEMERAL_STORAGE => resources.ephemeral_storage = amount.units(),
                PODS => {}
                _ if is_scalar(name) => {
                    resources.scalars.push((scope.intern(name), amount.units()));
                }
                _ => {}
            }
        }
        resources.scalars.sort_unstable();
        resources
    }

    /// Parses a list of quantities as the API has them.
    pub fn parse_list(
        list: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Quantity>, InvalidQuantity> {
        list.iter()
            .map(|(name, text)| Ok((name.clone(), Quantity::parse(text)?)))
            .collect()
    }

    /// The same as a part of the sum of a node: nothing less than 0, and nothing so large that the
    /// sum could overflow. Only then does taking it away again leave what was there before.
    #[must_use]
    pub fn summand(mut self) -> Self {
        self.milli_cpu = summand(self.milli_cpu);
        self.memory = summand(self.memory);
        self.ephemeral_storage = summand(self.ephemeral_storage);
        for (_, amount) in &mut self.scalars {
            *amount = summand(*amount);
        }
        self
    }

    /// The amount of one resource.
    pub fn get(&self, resource: Resource) -> i64 {
        match resource {
            Resource::Cpu => self.milli_cpu,
            Resource::Memory => self.memory,
            Resource::EphemeralStorage => self.ephemeral_storage,
            Resource::Scalar(name) => self.scalar(name).unwrap_or(0),
        }
    }

    /// The amount of a scalar resource, if it was named.
    pub fn scalar(&self, name: Symbol) -> Option<i64> {
        let index = self
            .scalars
            .binary_search_by_key(&name, |entry| entry.0)
            .ok()?;
        Some(self.scalars[index].1)
    }

    /// The scalar resources, by symbol.
    pub fn scalars(&self) -> &[(Symbol, i64)] {
        &self.scalars
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::saturating_add);
    }

    /// Subtracts `other`; a scalar that comes to zero is dropped.
    pub fn subtract(&mut self, other: &Self) {
        self.combine(other, i64::saturating_sub);
        self.scalars.retain(|entry| entry.1 != 0);
    }

    fn combine(&mut self, other: &Self, sum: fn(i64, i64) -> i64) {
        self.milli_cpu = sum(self.milli_cpu, other.milli_cpu);
        self.memory = sum(self.memory, other.memory);
        self.ephemeral_storage = sum(self.ephemeral_storage, other.ephemeral_storage);
        for &(name, amount) in &other.scalars {
            match self.scalars.binary_search_by_key(&name, |entry| entry.0) {
                Ok(index) => self.scalars[index].1 = sum(self.scalars[index].1, amount),
                Err(index) => self.scalars.insert(index, (name, sum(0, amount))),
            }
        }
    }
}

/// See [`Resources::summand`].
pub(crate) fn summand(amount: i64) -> i64 {
    /// 2^49 (half a petabyte): 16,384 pods with so much come to less than 2^63.
    const MAX_SUMMAND: i64 = 1 << 49;
    amount.clamp(0, MAX_SUMMAND)
}

/// Whether the scheduler counts the resource `name` beside the dense ones
/// (`schedutil.IsScalarResourceName`): extended resources, huge pages, attachable volumes and
/// other `kubernetes.io/` names.
fn is_scalar(name: &str) -> bool {
    is_extended(name)
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
}

/// Whether `name` is an extended resource (`v1helper.IsExtendedResourceName`): outside
/// `kubernetes.io/`, no quota name, and valid as a part of one.
pub fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && key_problems(&format!("requests.{name}")).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::symbols::Symbols;

    fn compiled(amounts: &[(&str, &str)]) -> Resources {
        let amounts = amounts.iter();
        let amounts = amounts.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let amounts = Resources::parse_list(&amounts.collect()).unwrap();
        Resources::compile(&amounts, &mut Symbols::new(0).scope())
    }

    #[test]
    fn a_sum_is_what_it_was_when_an_absurd_amount_has_gone() {
        let mut sum = compiled(&[("cpu", "2"), ("memory", "1Gi")]);
        let before = sum.clone();
        for absurd in ["1e400", "-1e400", "1E", "-5"] {
            let absurd = compiled(&[("cpu", absurd), ("memory", absurd)]).summand();
            sum.add(&absurd);
            sum.add(&absurd);
            sum.subtract(&absurd);
            sum.subtract(&absurd);
            assert_eq!(sum, before);
        }
        let full = compiled(&[("memory", "1e400")]).summand();
        assert!(full.memory > 1 << 48);
    }

    #[test]
    fn names_that_are_no_resources_do_not_count() {
        let amounts = [
            "a/b/c",
            "/x",
            "x/",
            "a b/c",
            "requests.example.com/x",
            "cores",
        ];
        for name in amounts {
            assert_eq!(compiled(&[(name, "1")]).scalars().len(), 0, "{name}");
        }
        for name in [
            "example.com/x",
            "hugepages-2Mi",
            "kubernetes.io/x",
            "attachable-volumes-x",
        ] {
            assert_eq!(compiled(&[(name, "1")]).scalars().len(), 1, "{name}");
        }
    }
}
