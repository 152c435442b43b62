//! What a run should have exercised and did not.

use std::collections::BTreeMap;

use crate::generator::families::{Families, Family};
use crate::statistics::{Statistics, in_percent};

/// Seeds over which shares come close to what they are over all seeds.
const MANY_SEEDS: u64 = 200;

/// Seeds over which half of each share can be expected.
const SOME_SEEDS: u64 = 25;

/// Seeds over which every plugin can be expected to do its part once. Fewer are a replay.
const FEW_SEEDS: u64 = 10;

/// Records that name victims, in tenths of a percent.
const WITH_VICTIMS: usize = 60;

/// Pods that fit nowhere, in tenths of a percent: at least and at most.
const UNSCHEDULABLE: (usize, usize) = (300, 450);

/// Kinds of preemption by the oracle's names, in tenths of a percent of the records.
const KINDS: [(&str, usize); 8] = [
    ("a budget is violated", 3),
    ("decided by budgets", 1),
    ("decided by the highest priority", 5),
    ("decided by the number of victims", 1),
    ("decided by the start", 1),
    ("decided by the sum of priorities", 1),
    ("lower pods are spared", 5),
    ("one candidate", 1),
];

/// How much of what the families promise a run must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// A replay of what differed.
    Nothing,
    /// Each plugin does its part once.
    Traces,
    /// Half of each share.
    Half,
    /// Each share, and as many unschedulable pods as it should be.
    Full,
}

impl Demand {
    /// Of a run over so many seeds; of one with families of somebody's choice.
    pub(crate) const fn on(seeds: u64, is_choice: bool) -> Self {
        match seeds {
            ..FEW_SEEDS => Self::Nothing,
            _ if is_choice => Self::Traces,
            MANY_SEEDS.. => Self::Full,
            SOME_SEEDS.. => Self::Half,
            _ => Self::Traces,
        }
    }

    /// What is left of a share.
    const fn of(self, tenths: usize) -> usize {
        match self {
            Self::Nothing | Self::Traces => 0,
            Self::Half => tenths / 2,
            Self::Full => tenths,
        }
    }
}

impl Statistics {
    /// Sentences about what `families` should have exercised and did not.
    pub(crate) fn shortfalls(&self, families: &Families, demand: Demand) -> Vec<String> {
        let mut sentences = Vec::new();
        if demand == Demand::Nothing {
            return sentences;
        }
        for (plugins, counts, part) in [
            (families.rejecting(), &self.rejecting, "refused a node"),
            (families.scoring(), &self.scoring, "told nodes apart"),
        ] {
            sentences.extend(plugins.into_iter().filter_map(|(plugin, percent)| {
                let subject = format!("{plugin} has {part}");
                self.shortfall(&subject, count_of(counts, plugin), demand.of(percent * 10))
            }));
        }
        if families.has(Family::Preemption) && demand != Demand::Traces {
            let wanted = demand.of(WITH_VICTIMS);
            sentences.extend(self.shortfall("victims are named", self.with_victims, wanted));
            sentences.extend(KINDS.iter().filter_map(|(kind, tenths)| {
                let count = count_of(&self.preemptions, kind);
                self.shortfall(
                    &format!("of preemptions, {kind:?}"),
                    count,
                    demand.of(*tenths),
                )
            }));
        }
        if demand == Demand::Full {
            let (least, most) = UNSCHEDULABLE;
            let share = self.tenths(count_of(&self.outcomes, "unschedulable"));
            if !(least..=most).contains(&share) {
                sentences.push(format!(
                    "{} of the pods fit nowhere: {} to {} are wanted",
                    in_percent(share),
                    in_percent(least),
                    in_percent(most)
                ));
            }
        }
        sentences
    }

    /// With nothing at all there is a shortfall even if nothing is wanted.
    fn shortfall(&self, subject: &str, count: usize, wanted: usize) -> Option<String> {
        let share = self.tenths(count);
        (count == 0 || share < wanted).then(|| {
            format!(
                "{subject} in {} of the records: at least {} are wanted",
                in_percent(share),
                in_percent(wanted)
            )
        })
    }
}

fn count_of(counts: &BTreeMap<String, usize>, name: &str) -> usize {
    counts.get(name).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plugins_that_do_not_do_their_part_are_named() {
        let families: Families = "ports".parse().unwrap();
        let mut statistics = Statistics::default();
        let score = |fit: i64| json!({"plugins": {"NodeResourcesFit": {"normalized": fit}}});
        let none = BTreeMap::new();
        let first = [json!({"outcome": "scheduled",
            "rejections": {"n3": {"plugin": "NodePorts", "reasons": ["x"]}},
            "scores": {"n1": score(7), "n2": {}}})];
        statistics.add(&first, &none);
        assert_eq!(
            statistics.shortfalls(&families, Demand::Traces),
            [
                "NodeResourcesFit has refused a node in 0.0 % of the records: at least 0.0 % are wanted",
                "NodeResourcesBalancedAllocation has told nodes apart in 0.0 % of the records: \
                 at least 0.0 % are wanted"
            ]
        );
        let second = [json!({"scores": {"n1": score(7), "n2": score(7)}})];
        statistics.add(&second, &none);
        assert_eq!(statistics.scoring["NodeResourcesFit"], 1);
        assert!(statistics.shortfalls(&families, Demand::Nothing).is_empty());
        for _ in 0..98 {
            statistics.add(&[json!({"outcome": "unschedulable"})], &none);
        }
        let sentences = statistics.shortfalls(&families, Demand::Full);
        let expected = [
            "NodePorts has refused a node in 1.0 % of the records: at least 4.0 % are wanted",
            "98.0 % of the pods fit nowhere: 30.0 % to 45.0 % are wanted",
        ];
        for sentence in expected {
            assert!(sentences.contains(&sentence.to_owned()), "{sentences:?}");
        }
    }

    #[test]
    fn the_more_seeds_the_more_is_wanted() {
        assert_eq!(Demand::on(200, false), Demand::Full);
        assert_eq!(Demand::on(30, false), Demand::Half);
        assert_eq!(Demand::on(10, false), Demand::Traces);
        assert_eq!(Demand::on(1, false), Demand::Nothing);
        assert_eq!(Demand::on(1, true), Demand::Nothing);
        assert_eq!(Demand::on(1000, true), Demand::Traces);
    }
}
