//! Pods on nodes: each in a place of its own, found by its UID.
//!
//! Places are kept in blocks, so that nothing is moved or doubled as their number grows, and are
//! used again. What refers to a pod often, as its node does, keeps the number of its place.

use std::hash::BuildHasher;

use foldhash::quality::FixedState;
use hashbrown::HashTable;

use crate::engine::cache::nodes::Slot;
use crate::model::pod_info::{PodInfo, PodUid};

/// Places in a block: some 200 KiB.
const BLOCK: usize = 1024;

/// The place of a pod, as long as it is on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PodPlace(pub(super) u32);

/// A pod on a node.
#[derive(Debug)]
pub(super) struct CachedPod {
    pub(super) info: PodInfo,
    pub(super) slot: Slot,
    /// Not yet confirmed by the watch.
    pub(super) is_assumed: bool,
}

/// All pods on nodes.
#[derive(Debug)]
pub(super) struct CachedPods {
    hasher: FixedState,
    by_uid: HashTable<PodPlace>,
    blocks: Vec<Vec<Option<CachedPod>>>,
    free: Vec<PodPlace>,
}

// === impl PodPlace ===

impl PodPlace {
    fn position(self) -> (usize, usize) {
        let index = self.0 as usize;
        (index / BLOCK, index % BLOCK)
    }
}

// === impl CachedPods ===

impl CachedPods {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            by_uid: HashTable::new(),
            blocks: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_uid.len()
    }

    /// The pod called `uid`.
    pub(super) fn find(&self, uid: &PodUid) -> Option<&CachedPod> {
        let place = self.by_uid.find(self.hasher.hash_one(uid), |&place| {
            self.get(place).is_some_and(|pod| pod.info.uid == *uid)
        });
        self.get(*place?)
    }

    /// The pod in `place`.
    pub(super) fn get(&self, place: PodPlace) -> Option<&CachedPod> {
        let (block, offset) = place.position();
        self.blocks.get(block)?.get(offset)?.as_ref()
    }

    /// All pods, in the order of their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = &CachedPod> {
        self.blocks.iter().flatten().flatten()
    }

    /// Adds a pod whose UID is not there yet.
    pub(super) fn insert(&mut self, pod: CachedPod) -> PodPlace {
        debug_assert!(self.find(&pod.info.uid).is_none(), "a pod has one place");
        let hash = self.hasher.hash_one(&pod.info.uid);
        let place = self.put(pod);
        let Self {
            hasher,
            by_uid,
            blocks,
            ..
        } = self;
        by_uid.insert_unique(hash, place, |place| {
            let (block, offset) = place.position();
            let pod = blocks[block][offset].as_ref();
            hasher.hash_one(&pod.expect("a place in the index must hold a pod").info.uid)
        });
        place
    }

    fn put(&mut self, pod: CachedPod) -> PodPlace {
        if let Some(place) = self.free.pop() {
            let (block, offset) = place.position();
            self.blocks[block][offset] = Some(pod);
            return place;
        }
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        let full = (self.blocks.len() - 1) * BLOCK;
        let block = self.blocks.last_mut();
        let block = block.expect("a block was added if there was none");
        let place = u32::try_from(full + block.len());
        block.push(Some(pod));
        PodPlace(place.expect("fewer than 2^32 pods must be on nodes"))
    }

    /// Takes out the pod called `uid`.
    pub(super) fn remove(&mut self, uid: &PodUid) -> Option<(PodPlace, CachedPod)> {
        let hash = self.hasher.hash_one(uid);
        let blocks = &self.blocks;
        let found = self.by_uid.find_entry(hash, |place| {
            let (block, offset) = place.position();
            let pod = blocks[block][offset].as_ref();
            pod.is_some_and(|pod| pod.info.uid == *uid)
        });
        let (place, _) = found.ok()?.remove();
        let (block, offset) = place.position();
        let pod = self.blocks[block][offset].take()?;
        if self.by_uid.is_empty() {
            self.blocks.clear();
            self.free.clear();
        } else {
            self.free.push(place);
        }
        Some((place, pod))
    }
}
