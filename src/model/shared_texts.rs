//! Texts that many objects repeat and that are handed out whole: namespaces, scheduler names,
//! names of controllers. Each is kept once.
//!
//! Unlike [`symbols`](crate::model::symbols) they need no release: a text is forgotten when nobody
//! else has it, at the latest when the table has doubled.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::FixedState;
use hashbrown::HashTable;

/// The table is not swept below this size.
const SWEEP_MIN: usize = 1024;

/// Texts that are kept once each.
#[derive(Debug)]
pub(crate) struct SharedTexts {
    hasher: FixedState,
    texts: HashTable<Arc<str>>,
    /// At how many texts those that nobody else has are forgotten.
    sweep_at: usize,
}

impl SharedTexts {
    /// An empty table whose hasher is keyed with `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            texts: HashTable::new(),
            sweep_at: SWEEP_MIN,
        }
    }

    /// The one copy of `text`.
    pub(crate) fn share(&mut self, text: &str) -> Arc<str> {
        let hash = self.hasher.hash_one(text);
        if let Some(known) = self.texts.find(hash, |known| **known == *text) {
            return Arc::clone(known);
        }
        if self.texts.len() >= self.sweep_at {
            self.texts.retain(|text| Arc::strong_count(text) > 1);
            self.sweep_at = SWEEP_MIN.max(2 * self.texts.len());
        }
        let shared = Arc::<str>::from(text);
        let Self { hasher, texts, .. } = self;
        texts.insert_unique(hash, Arc::clone(&shared), |text| hasher.hash_one(&**text));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_kept_once() {
        let mut texts = SharedTexts::new(1);
        let (first, second) = (texts.share("default"), texts.share("default"));
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn texts_that_nobody_has_do_not_pile_up() {
        let mut texts = SharedTexts::new(1);
        let held = texts.share("held");
        for number in 0..10 * SWEEP_MIN {
            texts.share(&format!("namespace-{number}"));
        }
        assert!(texts.texts.len() <= SWEEP_MIN);
        assert!(Arc::ptr_eq(&held, &texts.share("held")));
    }
}
