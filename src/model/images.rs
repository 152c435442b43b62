//! Which images lie on how many nodes, counted as nodes come and go.

use crate::model::map::IdMap;
use crate::model::objects::node::ContainerImage;
use crate::model::symbols::{Symbol, SymbolScope};

/// An image on a node: one of its names, and the size that the node reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeImage {
    /// A name of the image.
    pub name: Symbol,
    /// Bytes.
    pub size: i64,
}

/// What is known of an image over all nodes (`ImageStateSummary`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageState {
    /// Bytes, as the first node that had the image reported them.
    pub size: i64,
    /// How many nodes have it.
    pub nodes: u32,
}

/// The images of the cluster.
#[derive(Debug, Default)]
pub struct Images(IdMap<Symbol, ImageState>);

// === impl NodeImage ===

impl NodeImage {
    /// Compiles the image list of a node: one entry a name, sorted, the first of equal names.
    pub fn compile_all(images: &[ContainerImage], scope: &mut SymbolScope<'_>) -> Box<[Self]> {
        let mut compiled: Vec<Self> = images
            .iter()
            .flat_map(|image| image.names.iter().map(move |name| (name, image.size_bytes)))
            .map(|(name, size)| Self {
                name: scope.intern(name),
                size,
            })
            .collect();
        compiled.sort_by_key(|image| image.name);
        compiled.dedup_by_key(|image| image.name);
        compiled.into_boxed_slice()
    }
}

// === impl Images ===

impl Images {
    /// A node has these images.
    pub fn add(&mut self, images: &[NodeImage]) {
        for image in images {
            self.0
                .entry(image.name)
                .or_insert(ImageState {
                    size: image.size,
                    nodes: 0,
                })
                .nodes += 1;
        }
    }

    /// A node no longer has these images.
    pub fn remove(&mut self, images: &[NodeImage]) {
        for image in images {
            if let Some(state) = self.0.get_mut(&image.name) {
                state.nodes -= 1;
                if state.nodes == 0 {
                    self.0.swap_remove(&image.name);
                }
            }
        }
    }

    /// All images.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Symbol, ImageState)> + '_ {
        self.0.iter().map(|(name, state)| (*name, *state))
    }

    /// What is known of the image called `name`.
    pub fn get(&self, name: Symbol) -> Option<ImageState> {
        self.0.get(&name).copied()
    }
}
