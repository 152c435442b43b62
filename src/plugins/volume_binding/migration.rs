//! In-tree volumes that a node serves through a CSI driver: the driver has topology labels of its
//! own (`csi-translation-lib`).

use k8s_openapi::api::core::v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, VolumeNodeAffinity,
};

use crate::engine::cache::snapshot::NodeView;
use crate::model::objects::{CsiNode, PersistentVolume};
use crate::model::symbols::Symbols;
use crate::plugins::csi_translation;
use crate::plugins::volume_binding::place::Place;

/// Which in-tree plugins a node has handed over, separated by commas
/// (`v1.MigratedPluginsAnnotationKey`).
pub(super) const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// Separates zones in one label (`labelMultiZoneDelimiter`).
const ZONE_DELIMITER: &str = "__";

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// What an in-tree volume becomes on nodes that handed its plugin over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Migration {
    plugin: &'static str,
    /// The affinity of the volume as the driver has it, or why there is none.
    place: Result<Place, String>,
}

/// Where a volume can be used, whichever way a node serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VolumePlace {
    in_tree: Place,
    migration: Option<Migration>,
}

// === impl VolumePlace ===

impl VolumePlace {
    pub(super) fn of(volume: &PersistentVolume, symbols: &Symbols) -> Self {
        Self {
            in_tree: Place::of_volume(volume.spec.node_affinity.as_ref(), symbols),
            migration: Migration::of(volume, symbols),
        }
    }

    /// Whether the volume can be used on the node; an error if it cannot be translated
    /// (`tryTranslatePVToCSI`).
    pub(super) fn contains(&self, node: &NodeView<'_>) -> Result<bool, String> {
        let Some(migration) = &self.migration else {
            return Ok(self.in_tree.contains(node));
        };
        let cluster = node.cluster();
        let csi_node = cluster.listers().csi_nodes.get("", node.name());
        if !csi_node.is_some_and(|csi_node| has_handed_over(csi_node, migration.plugin)) {
            return Ok(self.in_tree.contains(node));
        }
        match &migration.place {
            Ok(place) => Ok(place.contains(node)),
            Err(reason) => Err(format!("could not translate pv: {reason}")),
        }
    }
}

/// `isPluginMigratedToCSIOnNode`.
fn has_handed_over(csi_node: &CsiNode, plugin: &str) -> bool {
    let annotations = csi_node.metadata.annotations.as_ref();
    let plugins = annotations.and_then(|annotations| annotations.get(MIGRATED_PLUGINS));
    plugins.is_some_and(|plugins| plugins.split(',').any(|other| other == plugin))
}

// === impl Migration ===

impl Migration {
    /// `None` for volumes whose plugin cannot be handed over (`isCSIMigrationOnForPlugin`).
    fn of(volume: &PersistentVolume, symbols: &Symbols) -> Option<Self> {
        let (plugin, handle) = csi_translation::translate(volume)?;
        let place = handle.map(|_| {
            let affinity = match plugin.zone_label {
                Some(label) => translate(volume, label),
                None => volume.spec.node_affinity.clone(),
            };
            Place::of_volume(affinity.as_ref(), symbols)
        });
        let plugin = plugin.name;
        Some(Self { plugin, place })
    }
}

fn label<'a>(volume: &'a PersistentVolume, key: &str) -> Option<&'a str> {
    let labels = volume.metadata.labels.as_ref()?;
    labels.get(key).map(String::as_str)
}

/// `translateTopologyFromInTreeToCSI`: zones become the label of the driver, be they in the
/// affinity or in the labels of the volume; a beta region becomes the one that nodes have.
fn translate(volume: &PersistentVolume, driver_key: &str) -> Option<VolumeNodeAffinity> {
    let mut affinity = volume.spec.node_affinity.clone();
    let (zone, region) = topology_labels(volume);
    if has_values(affinity.as_ref(), zone) {
        rename(&mut affinity, zone, driver_key);
    } else if let Some(zones) = label(volume, zone) {
        add_zones(&mut affinity, driver_key, zones);
    }
    if region == BETA_REGION && has_values(affinity.as_ref(), region) {
        rename(&mut affinity, region, REGION);
    }
    affinity
}

/// `getTopologyLabel`.
fn topology_labels(volume: &PersistentVolume) -> (&'static str, &'static str) {
    let affinity = volume.spec.node_affinity.as_ref();
    let in_affinity = |key: &str| requirements(affinity).any(|requirement| requirement.key == key);
    let is_beta = !in_affinity(ZONE)
        && (in_affinity(BETA_ZONE)
            || (label(volume, ZONE).is_none() && label(volume, BETA_ZONE).is_some()));
    if is_beta {
        (BETA_ZONE, BETA_REGION)
    } else {
        (ZONE, REGION)
    }
}

fn requirements(
    affinity: Option<&VolumeNodeAffinity>,
) -> impl Iterator<Item = &NodeSelectorRequirement> {
    let selector = affinity.and_then(|affinity| affinity.required.as_ref());
    let terms = selector.into_iter().flat_map(|s| &s.node_selector_terms);
    terms.flat_map(|term| term.match_expressions.iter().flatten())
}

fn has_values(affinity: Option<&VolumeNodeAffinity>, key: &str) -> bool {
    requirements(affinity).any(|requirement| {
        requirement.key == key && requirement.values.as_ref().is_some_and(|v| !v.is_empty())
    })
}

fn rename(affinity: &mut Option<VolumeNodeAffinity>, from: &str, to: &str) {
    let selector = affinity.as_mut().and_then(|a| a.required.as_mut());
    let terms = selector
        .into_iter()
        .flat_map(|s| &mut s.node_selector_terms);
    for requirement in terms.flat_map(|term| term.match_expressions.iter_mut().flatten()) {
        if requirement.key == from {
            to.clone_into(&mut requirement.key);
        }
    }
}

/// `addTopology`: adds the zones to every term, and makes one if there is none.
fn add_zones(affinity: &mut Option<VolumeNodeAffinity>, key: &str, zones: &str) {
    let zones: std::collections::BTreeSet<&str> = zones
        .split(ZONE_DELIMITER)
        .map(str::trim)
        .filter(|zone| !zone.is_empty())
        .collect();
    if zones.is_empty() {
        return;
    }
    let selector = affinity
        .get_or_insert_default()
        .required
        .get_or_insert_with(NodeSelector::default);
    if selector.node_selector_terms.is_empty() {
        selector
            .node_selector_terms
            .push(NodeSelectorTerm::default());
    }
    for term in &mut selector.node_selector_terms {
        let requirement = NodeSelectorRequirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: Some(zones.iter().map(ToString::to_string).collect()),
        };
        term.match_expressions
            .get_or_insert_default()
            .push(requirement);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn volume(value: Value) -> PersistentVolume {
        serde_json::from_value(value).unwrap()
    }

    fn affinity(expressions: &Value) -> Value {
        json!({"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}})
    }

    #[test]
    fn zones_of_the_affinity_become_the_label_of_the_driver() {
        let before = json!([
            {"key": BETA_ZONE, "operator": "In", "values": ["z"]},
            {"key": BETA_REGION, "operator": "In", "values": ["r"]}]);
        let after = json!([
            {"key": "driver/zone", "operator": "In", "values": ["z"]},
            {"key": REGION, "operator": "In", "values": ["r"]}]);
        let volume = volume(json!({"metadata": {"labels": {ZONE: "other"}},
            "spec": {"nodeAffinity": affinity(&before)}}));
        let translated = serde_json::to_value(translate(&volume, "driver/zone")).unwrap();
        assert_eq!(translated, affinity(&after));
    }

    #[test]
    fn without_an_affinity_the_labels_of_the_volume_tell_the_zones() {
        let volume = volume(json!({"metadata": {"labels": {BETA_ZONE: "z2__z1"}}}));
        let translated = serde_json::to_value(translate(&volume, "driver/zone")).unwrap();
        let expected = json!([{"key": "driver/zone", "operator": "In", "values": ["z1", "z2"]}]);
        assert_eq!(translated, affinity(&expected));
    }

    #[test]
    fn what_cannot_be_translated_says_why() {
        let symbols = Symbols::new(1);
        for (spec, labels, reason) in [
            (
                json!({"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}}),
                json!({}),
                Some("Invalid format for AWS volume (aws://zone/disk)"),
            ),
            (
                json!({"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}),
                json!({}),
                None,
            ),
            (
                json!({"azureDisk": {"diskName": "d", "diskURI": "u", "kind": "Dedicated"}}),
                json!({}),
                Some("kind(Dedicated) is not supported in csi migration"),
            ),
            (
                json!({"gcePersistentDisk": {"pdName": "d"}}),
                json!({ZONE: "us-east1-a__us-west1-b"}),
                Some("got: map[us-east1:{} us-west1:{}]"),
            ),
            (
                json!({"gcePersistentDisk": {"pdName": "d"}}),
                json!({ZONE: "a__b"}),
                Some("got: a"),
            ),
        ] {
            let volume = volume(json!({"metadata": {"labels": labels}, "spec": spec}));
            let place = Migration::of(&volume, &symbols).unwrap().place;
            match reason {
                Some(reason) => assert!(place.unwrap_err().ends_with(reason), "{reason}"),
                None => assert!(place.is_ok()),
            }
        }
    }
}
