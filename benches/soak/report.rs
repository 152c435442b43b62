//! What was seen, as JSON and as Markdown.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::arguments::Arguments;
use crate::judgement::{self, GROWTH_MAX, Growth};
use crate::output;
use crate::samples::{Sample, Used};

/// Lines of the table of samples, about.
const LINES: usize = 30;

/// All of a run.
#[derive(Serialize)]
pub(crate) struct Report {
    arguments: Arguments,
    /// Not judged, from the beginning.
    warm_up_seconds: u64,
    leader: Option<Growth>,
    standby: Option<Growth>,
    /// What must not be.
    findings: Vec<String>,
    samples: Vec<Sample>,
}

impl Report {
    /// Nothing yet.
    pub(crate) fn new(arguments: &Arguments) -> Self {
        Self {
            arguments: arguments.clone(),
            warm_up_seconds: judgement::warm_up(arguments.duration()).as_secs(),
            leader: None,
            standby: None,
            findings: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Takes a sample.
    pub(crate) fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
        self.leader = Growth::of(&self.judged(|sample| sample.leader));
        self.standby = Growth::of(&self.judged(|sample| sample.standby));
    }

    /// Takes what must not be.
    pub(crate) fn found(&mut self, finding: String) {
        self.findings.push(finding);
    }

    /// Judges the memory.
    pub(crate) fn conclude(&mut self) {
        for (role, growth) in [("leader", self.leader), ("standby", self.standby)] {
            match growth {
                Some(growth) if growth.is_too_much() => self.findings.push(format!(
                    "the {role} grew by {:.1} %, more than {GROWTH_MAX} %",
                    growth.percent
                )),
                Some(_) => {}
                None => self
                    .findings
                    .push(format!("too few samples of the {role} to judge")),
            }
        }
    }

    /// Whether nothing was found.
    pub(crate) fn passed(&self) -> bool {
        self.findings.is_empty()
    }

    fn judged(&self, used: impl Fn(&Sample) -> Used) -> Vec<(f64, f64)> {
        let warm_up = self.warm_up_seconds as f64;
        let judged = self.samples.iter();
        let judged = judged.filter(|sample| sample.seconds >= warm_up);
        judged
            .map(|sample| (sample.seconds, used(sample).mebibytes))
            .collect()
    }

    /// Writes `soak.json` and `soak.md`.
    pub(crate) fn save(&self, folder: &Path) -> anyhow::Result<()> {
        let json = serde_json::to_string_pretty(self)?;
        output::write(folder, "soak", &[("json", json), ("md", self.markdown())])
    }

    /// The tables.
    pub(crate) fn markdown(&self) -> String {
        let Arguments {
            minutes,
            nodes,
            running,
            rate,
            ..
        } = self.arguments;
        let mut text = format!(
            "{minutes} minutes, {nodes} nodes, {running} running pods, {rate} pods a second. \
             Judged from second {} on.\n\n",
            self.warm_up_seconds
        );
        text.push_str(
            "| MiB, by the line through the samples | beginning | end | growth in an hour | growth \
             | smallest | largest |\n|---|---:|---:|---:|---:|---:|---:|\n",
        );
        for (role, growth) in [("leader", self.leader), ("standby", self.standby)] {
            text.push_str(&judged_line(role, growth));
        }
        text.push('\n');
        for finding in &self.findings {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "**Not as it must be:** {finding}\n");
        }
        text.push_str(
            "| s | leader, MiB | CPU, % of a core | standby, MiB | CPU, % of a core | bound pods \
             | pending |\n|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for sample in thinned(&self.samples, LINES) {
            text.push_str(&sample_line(sample));
        }
        text
    }
}

fn judged_line(role: &str, growth: Option<Growth>) -> String {
    let Some(growth) = growth else {
        return format!("| {role} | – | – | – | – | – | – |\n");
    };
    let Growth {
        begin,
        end,
        per_hour,
        percent,
        smallest,
        largest,
    } = growth;
    format!(
        "| {role} | {begin:.1} | {end:.1} | {per_hour:+.1} | {percent:+.1} % | {smallest:.1} \
         | {largest:.1} |\n"
    )
}

fn sample_line(sample: &Sample) -> String {
    let Sample {
        seconds,
        leader,
        standby,
        bound,
        pending,
    } = sample;
    format!(
        "| {seconds:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {bound} | {pending} |\n",
        leader.mebibytes, leader.cpu_percent, standby.mebibytes, standby.cpu_percent
    )
}

/// About so many of all, evenly, the last one among them.
fn thinned<T>(all: &[T], about: usize) -> impl Iterator<Item = &T> {
    let step = all.len().div_ceil(about).max(1);
    let skipped = all.len().saturating_sub(1) % step;
    all.iter().skip(skipped).step_by(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(mebibytes: impl Fn(f64) -> f64) -> Report {
        let words = ["minutes=10".to_owned()];
        let mut report = Report::new(&Arguments::read(&words).unwrap());
        for number in 1..=60 {
            let seconds = f64::from(number) * 10.0;
            let used = |mebibytes| Used {
                mebibytes,
                cpu_percent: 1.0,
            };
            report.add(Sample {
                seconds,
                leader: used(mebibytes(seconds)),
                standby: used(30.0),
                bound: 100,
                pending: 7,
            });
        }
        report.conclude();
        report
    }

    #[test]
    fn what_happens_while_caches_fill_is_not_judged() {
        let filled = report(|seconds| if seconds < 60.0 { 10.0 } else { 40.0 });
        assert!(filled.passed(), "{:?}", filled.findings);
    }

    #[test]
    fn a_leader_that_grows_is_found_and_told() {
        let leaking = report(|seconds| 40.0 + seconds / 60.0);
        assert!(!leaking.passed());
        let text = leaking.markdown();
        assert!(text.contains("the leader grew by 22.0 %"), "{text}");
        assert!(!text.contains("the standby grew"), "{text}");
    }

    #[test]
    fn a_run_without_samples_has_not_passed() {
        let mut empty = Report::new(&Arguments::read(&[]).unwrap());
        empty.conclude();
        assert!(!empty.passed());
    }

    #[test]
    fn thinned_samples_are_few_and_end_with_the_last() {
        let all: Vec<u32> = (1..=360).collect();
        let few: Vec<_> = thinned(&all, 30).copied().collect();
        assert_eq!((few.len(), few.last()), (30, Some(&360)));
        let few: Vec<_> = thinned(&all[..18], 30).copied().collect();
        assert_eq!(few, all[..18]);
        assert_eq!(thinned::<u32>(&[], 30).count(), 0);
    }
}
