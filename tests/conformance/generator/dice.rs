//! Chance that is the same everywhere: splitmix64 (Steele, Lea, Flood 2014).

/// A stream of numbers that follows from its seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound` - 1; the bias for small bounds does not matter here.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there must be something to choose from");
        usize::try_from(self.next() % bound as u64).expect("it must be below a usize")
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of 100 throws.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// Each of `choices` with `percent` of 100, in their order.
    pub(crate) fn some<'a>(&mut self, choices: &[&'a str], percent: usize) -> Vec<&'a str> {
        choices
            .iter()
            .copied()
            .filter(|_| self.chance(percent))
            .collect()
    }

    /// `count` of `choices` at most, in another order.
    pub(crate) fn hand<T: Clone>(&mut self, choices: &[T], count: usize) -> Vec<T> {
        let mut rest = choices.to_vec();
        let mut hand = Vec::new();
        while hand.len() < count && !rest.is_empty() {
            let at = self.below(rest.len());
            hand.push(rest.swap_remove(at));
        }
        hand
    }
}
