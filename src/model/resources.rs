//! Amounts of resources, compiled: three dense ones and the scalars.

use std::collections::BTreeMap;

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

/// Whether the scheduler counts the resource `name` beside the dense ones
/// (`schedutil.IsScalarResourceName`): extended resources, huge pages, attachable volumes and
/// other `kubernetes.io/` names.
fn is_scalar(name: &str) -> bool {
    is_extended(name)
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
}

/// Whether `name` is an extended resource (`v1helper.IsExtendedResourceName`): a qualified name
/// outside `kubernetes.io/` that is no quota name.
pub fn is_extended(name: &str) -> bool {
    /// A qualified name: at most 253 characters of prefix, `/`, 63 of name.
    const QUALIFIED_NAME_MAX: usize = 253 + 1 + 63;
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && name.len() + "requests.".len() <= QUALIFIED_NAME_MAX
}
