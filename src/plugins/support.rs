//! What each plugin supports, field by field: the arguments it takes and the fields of objects it
//! reads, with upstream's level of each and the release of Bayplan that has it.
//!
//! The table of `docs/compatibility.md` is made from it. A test holds it complete: against the
//! registry, the schema of the arguments and what [`crate::model::objects`] deserialises.

mod engine;
mod placement;
mod pods;
mod volumes;

pub use engine::{ENGINE, UNREAD};

/// How far upstream takes responsibility for a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Part of a v1 API that never had a feature gate of its own.
    Ungated,
    /// Its feature gate was generally available as of this release of Kubernetes.
    Stable(&'static str),
    /// Beta as of this release.
    Beta(&'static str),
    /// Alpha as of this release; off by default.
    Alpha(&'static str),
}

/// Since when Bayplan has a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The version of this package that brought it.
    Version(&'static str),
    /// It is not there.
    No,
}

/// A field of an object of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The kind, as `Pod`; `*` stands for all kinds.
    pub kind: &'static str,
    /// The path, as `spec.taints[].key`. One that ends in `.*` stands for all below it; `= value`
    /// behind it narrows it to a value.
    pub path: &'static str,
    /// Upstream's level.
    pub level: Level,
    /// Since when it is there.
    pub since: Since,
}

/// An argument of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The path below the plugin's part of `pluginConfig`.
    pub path: &'static str,
    /// Upstream's level.
    pub level: Level,
    /// Since when it is there.
    pub since: Since,
}

/// What is supported of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginSupport {
    /// Upstream's name of the plugin.
    pub plugin: &'static str,
    /// Upstream's level of the plugin as a whole.
    pub level: Level,
    /// Since when it is there.
    pub since: Since,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// The fields it reads.
    pub fields: &'static [Field],
}

/// A field that comes with a type of the API and that nobody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The kind; `*` stands for all.
    pub kind: &'static str,
    /// The path; one that ends in `.*` stands for all below it.
    pub path: &'static str,
}

/// The first release.
const FIRST: Since = Since::Version("0.1.0");

/// Every upstream plugin, in upstream's order.
pub const PLUGINS: [PluginSupport; 24] = [
    pods::SCHEDULING_GATES,
    pods::PRIORITY_SORT,
    placement::NODE_NAME,
    placement::NODE_UNSCHEDULABLE,
    placement::TAINT_TOLERATION,
    placement::NODE_AFFINITY,
    placement::NODE_PORTS,
    placement::NODE_RESOURCES_FIT,
    volumes::VOLUME_RESTRICTIONS,
    volumes::NODE_VOLUME_LIMITS,
    volumes::VOLUME_BINDING,
    volumes::VOLUME_ZONE,
    pods::POD_TOPOLOGY_SPREAD,
    pods::INTER_POD_AFFINITY,
    pods::DYNAMIC_RESOURCES,
    pods::DEFAULT_PREEMPTION,
    placement::NODE_RESOURCES_BALANCED_ALLOCATION,
    placement::IMAGE_LOCALITY,
    pods::DEFAULT_BINDER,
    placement::NODE_DECLARED_FEATURES,
    pods::DEFERRED_POD_SCHEDULING,
    pods::GANG_SCHEDULING,
    pods::TOPOLOGY_PLACEMENT_GENERATOR,
    pods::POD_GROUP_PODS_COUNT,
];

const fn field(kind: &'static str, path: &'static str, level: Level) -> Field {
    Field {
        kind,
        path,
        level,
        since: FIRST,
    }
}

const fn pod(path: &'static str, level: Level) -> Field {
    field("Pod", path, level)
}

const fn node(path: &'static str, level: Level) -> Field {
    field("Node", path, level)
}

const fn argument(path: &'static str, level: Level) -> Argument {
    Argument {
        path,
        level,
        since: FIRST,
    }
}

impl Field {
    const fn missing(mut self) -> Self {
        self.since = Since::No;
        self
    }
}

impl Argument {
    const fn missing(mut self) -> Self {
        self.since = Since::No;
        self
    }
}

impl PluginSupport {
    const fn new(plugin: &'static str, level: Level, fields: &'static [Field]) -> Self {
        Self {
            plugin,
            level,
            since: FIRST,
            arguments: &[],
            fields,
        }
    }

    const fn with_arguments(mut self, arguments: &'static [Argument]) -> Self {
        self.arguments = arguments;
        self
    }

    const fn missing(mut self) -> Self {
        self.since = Since::No;
        self
    }
}
