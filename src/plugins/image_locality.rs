//! `ImageLocality`: prefers nodes that have the pod's images, weighed by their size and by how
//! many nodes have them, so that one node does not draw all pods.

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::{ClassPlugin, Places};
use crate::engine::framework::extension_points::{MAX_NODE_SCORE, ScorePlugin};
use crate::engine::framework::{CycleState, Plugin, PluginError, PluginName};
use crate::model::images::ImageState;
use crate::model::symbols::Symbol;

pub(crate) const NAME: &str = "ImageLocality";

const MEBIBYTE: i64 = 1024 * 1024;
/// Sums below score 0 (`minThreshold`).
const MIN_THRESHOLD: i64 = 23 * MEBIBYTE;
/// Sums above this per image score 100 (`maxContainerThreshold`).
const MAX_THRESHOLD_PER_IMAGE: i64 = 1000 * MEBIBYTE;

/// Images of a pod that are told in one number of a place: as many as it has bits that keep it
/// positive.
const IMAGES_PER_NUMBER: usize = 63;

/// The plugin.
#[derive(Debug)]
pub(crate) struct ImageLocality;

impl Plugin for ImageLocality {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }
}

impl ClassPlugin for ImageLocality {
    fn places(&self, _: &PodView<'_>, _: &Snapshot<'_>) -> Option<Box<dyn Places>> {
        Some(Box::new(ImagePlaces))
    }
}

/// Nodes are told apart by which of the images they have: what that is worth depends on how many
/// other nodes have them, too.
#[derive(Debug)]
struct ImagePlaces;

impl Places for ImagePlaces {
    fn provide(&mut self, _: &mut CycleState, _: &PodView<'_>, _: &Snapshot<'_>) -> bool {
        true
    }

    fn withdraw(&self, _: &mut CycleState) {}

    fn keys(&self) -> Option<Vec<Symbol>> {
        Some(Vec::new())
    }

    fn place(&self, _: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>, place: &mut Vec<i64>) {
        for names in pod.class.images.chunks(IMAGES_PER_NUMBER) {
            let has = names.iter().map(|name| i64::from(node.has_image(*name)));
            place.push(has.fold(0, |bits, bit| bits << 1 | bit));
        }
    }
}

impl ScorePlugin for ImageLocality {
    fn score(
        &self,
        _: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> Result<i64, PluginError> {
        let cluster = node.cluster();
        let images = &pod.class.images;
        let sum = images
            .iter()
            .filter(|name| node.has_image(**name))
            .filter_map(|name| cluster.image(*name))
            .map(|state| scaled(state, cluster.len()))
            .fold(0, i64::saturating_add);
        Ok(score(sum, images.len()))
    }
}

/// The size, scaled by the share of nodes that have the image (`scaledImageScore`).
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "upstream computes it in float64 too, and a share of a size fits i64"
)]
fn scaled(image: ImageState, nodes: usize) -> i64 {
    let spread = f64::from(image.nodes) / nodes as f64;
    (image.size as f64 * spread) as i64
}

/// `calculatePriority`: linear between the thresholds.
fn score(sum: i64, images: usize) -> i64 {
    let max = MAX_THRESHOLD_PER_IMAGE.saturating_mul(i64::try_from(images).unwrap_or(i64::MAX));
    if max <= MIN_THRESHOLD {
        return 0;
    }
    MAX_NODE_SCORE.saturating_mul(sum.clamp(MIN_THRESHOLD, max) - MIN_THRESHOLD)
        / (max - MIN_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{Cluster, make_node, make_pod};

    #[test]
    fn c26_a_small_image_on_one_of_three_nodes_scores_nothing() {
        let image = ImageState {
            size: 76_595_659,
            nodes: 1,
        };
        assert_eq!(scaled(image, 3), 25_531_886);
        assert_eq!(score(25_531_886, 1), 0);
    }

    #[test]
    fn large_images_draw_pods_to_their_nodes() {
        let size = 500 * MEBIBYTE;
        let cluster = Cluster::new([
            make_node("a").image(&["registry/app:v1", "registry/app@sha256:1"], size),
            make_node("b").image(&["registry/app:v1"], size),
            make_node("c").image(&["registry/other:latest"], 40 * size),
        ])
        .with_pod(&make_pod("p").image("registry/app:v1"));
        // 2/3 of 500 MiB = 349525333 bytes.
        assert_eq!(cluster.scores(&ImageLocality).0, [31, 31, 0]);
        let cluster = Cluster::new([make_node("c").image(&["registry/other:latest"], 40 * size)])
            .with_pod(&make_pod("p").image("registry/other"));
        assert_eq!(cluster.scores(&ImageLocality).0, [100]);
    }

    #[test]
    fn a_pod_without_images_scores_nothing() {
        assert_eq!(score(0, 0), 0);
    }
}
