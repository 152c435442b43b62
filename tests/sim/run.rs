//! Histories one after the other; one that shows a fault is made as short as it can be.

use std::fmt::Write;

use crate::judge::conclude;
use crate::world::{Step, Tally, World, steps_of};

/// Runs of shorter histories after which what there is must do.
const SHRINKING_MAX: usize = 60;

/// What came of a history.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) findings: Vec<String>,
    pub(crate) tally: Tally,
}

/// Runs `steps` in the cluster of `seed`.
pub(crate) fn run_steps(seed: u64, steps: Vec<Step>, trace: bool) -> Verdict {
    let mut world = match World::new(seed, steps, trace) {
        Ok(world) => world,
        Err(error) => {
            return Verdict {
                findings: vec![format!("the cluster cannot be made: {error}")],
                tally: Tally::default(),
            };
        }
    };
    world.run_until(world.last_step());
    conclude(&mut world);
    Verdict {
        findings: world.findings,
        tally: world.tally,
    }
}

/// Runs the history of `seed`.
pub(crate) fn run(seed: u64) -> Verdict {
    run_steps(seed, steps_of(seed), false)
}

/// What a finding is about, without names and numbers.
fn shape(finding: &str) -> String {
    let words = finding.split(' ');
    let kept = words.filter(|word| word.chars().all(char::is_alphabetic));
    kept.take(8).collect::<Vec<_>>().join(" ")
}

/// What was found, as a text for people.
pub(crate) fn brief(seed: u64, verdict: &Verdict) -> String {
    let mut text = format!("# Seed {seed}\n");
    for finding in verdict.findings.iter().take(5) {
        let _ = writeln!(text, "  {finding}");
    }
    let _ = writeln!(text, "# Replay: make sim SEEDS=1 FIRST={seed}");
    text
}

/// The shortest history that was found to end in the same way, as a text for people.
pub(crate) fn report(seed: u64, verdict: &Verdict) -> String {
    let first = verdict.findings.first().map(|finding| shape(finding));
    let still = |steps: &[Step]| {
        let findings = run_steps(seed, steps.to_vec(), false).findings;
        findings.first().map(|finding| shape(finding)) == first
    };
    let steps = shrink(steps_of(seed), still);
    let mut text = brief(seed, verdict);
    let indices: Vec<String> = steps.iter().map(|step| step.index.to_string()).collect();
    let _ = writeln!(
        text,
        "# Shortest: --first {seed} --steps {} --trace",
        indices.join(",")
    );
    text
}

/// Leaves steps out, first long ranges and then shorter ones.
fn shrink(mut steps: Vec<Step>, still: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut left = SHRINKING_MAX;
    let mut length = steps.len() / 2;
    while length > 0 {
        let mut start = 0;
        while start < steps.len() && left > 0 {
            left -= 1;
            let end = (start + length).min(steps.len());
            let mut fewer = steps.clone();
            let waited: std::time::Duration = fewer.drain(start..end).map(|step| step.wait).sum();
            // What comes later comes at the same time as before.
            if let Some(next) = fewer.get_mut(start) {
                next.wait += waited;
            }
            if still(&fewer) {
                steps = fewer;
            } else {
                start = end;
            }
        }
        length /= 2;
    }
    steps
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.audits += other.audits;
        self.rescued += other.rescued;
        self.restarts += other.restarts;
        self.panics += other.panics;
        self.bound += other.bound;
        self.faults += other.faults;
    }
}
