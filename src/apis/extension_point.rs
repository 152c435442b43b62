//! The extension points of the scheduling framework, and sets of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place in the scheduling or binding cycle where plugins run.
///
/// `Display` and JSON give the PascalCase name that metrics and messages use (`"PreFilter"`);
/// [`ExtensionPoint::field_name`] gives the name of the field in a profile (`"preFilter"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ExtensionPoint {
    /// Before a pod may enter the active queue.
    PreEnqueue,
    /// The order of the active queue.
    QueueSort,
    /// Once per cycle, before any node is looked at.
    PreFilter,
    /// May the pod run on this node?
    Filter,
    /// When no node passed the filters.
    PostFilter,
    /// Once per cycle, before feasible nodes are scored.
    PreScore,
    /// How good is this feasible node?
    Score,
    /// Bookkeeping after a node was chosen.
    Reserve,
    /// Hold or release a pod that has a node.
    Permit,
    /// Work that must be done before the pod is bound.
    PreBind,
    /// Binding itself.
    Bind,
    /// After the pod was bound.
    PostBind,
}

impl ExtensionPoint {
    /// Every extension point, in the order in which a pod meets them.
    pub const ALL: [Self; 12] = [
        Self::PreEnqueue,
        Self::QueueSort,
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::Reserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];

    /// The PascalCase name, as in metric labels: `"PreFilter"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreEnqueue => "PreEnqueue",
            Self::QueueSort => "QueueSort",
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::PostFilter => "PostFilter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::Reserve => "Reserve",
            Self::Permit => "Permit",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
            Self::PostBind => "PostBind",
        }
    }

    /// The camelCase name of the field under `spec.plugins`: `"preFilter"`.
    pub const fn field_name(self) -> &'static str {
        match self {
            Self::PreEnqueue => "preEnqueue",
            Self::QueueSort => "queueSort",
            Self::PreFilter => "preFilter",
            Self::Filter => "filter",
            Self::PostFilter => "postFilter",
            Self::PreScore => "preScore",
            Self::Score => "score",
            Self::Reserve => "reserve",
            Self::Permit => "permit",
            Self::PreBind => "preBind",
            Self::Bind => "bind",
            Self::PostBind => "postBind",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for ExtensionPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of extension points, iterated in the order of [`ExtensionPoint::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtensionPoints(u16);

impl ExtensionPoints {
    /// No extension point.
    pub const NONE: Self = Self(0);

    /// The set that holds exactly `points`.
    pub const fn new(points: &[ExtensionPoint]) -> Self {
        let mut set = Self::NONE;
        let mut i = 0;
        while i < points.len() {
            set.0 |= points[i].bit();
            i += 1;
        }
        set
    }

    /// Is `point` in the set?
    pub const fn contains(self, point: ExtensionPoint) -> bool {
        self.0 & point.bit() != 0
    }

    /// Is the set empty?
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds `point`.
    pub const fn insert(&mut self, point: ExtensionPoint) {
        self.0 |= point.bit();
    }

    /// The points in the set.
    pub fn iter(self) -> impl Iterator<Item = ExtensionPoint> {
        ExtensionPoint::ALL
            .into_iter()
            .filter(move |point| self.contains(*point))
    }
}

impl Serialize for ExtensionPoints {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_name_is_the_name_with_a_small_first_letter() {
        for point in ExtensionPoint::ALL {
            let (first, rest) = point.name().split_at(1);
            assert_eq!(point.field_name(), first.to_lowercase() + rest);
        }
    }

    #[test]
    fn set_holds_what_was_put_in_and_iterates_in_cycle_order() {
        let mut set = ExtensionPoints::new(&[ExtensionPoint::Score, ExtensionPoint::PreFilter]);
        assert!(!set.contains(ExtensionPoint::Filter));
        set.insert(ExtensionPoint::Filter);
        let points: Vec<_> = set.iter().collect();
        assert_eq!(
            points,
            [
                ExtensionPoint::PreFilter,
                ExtensionPoint::Filter,
                ExtensionPoint::Score
            ]
        );
        assert_eq!(
            serde_json::to_value(set).unwrap(),
            serde_json::json!(["PreFilter", "Filter", "Score"])
        );
    }
}
