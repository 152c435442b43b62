//! Seeds one after the other, until a difference or the end.

use std::path::PathBuf;

use serde_json::Value;

use crate::compare::{Difference, compare};
use crate::generator::families::Families;
use crate::generator::{Size, generate};
use crate::oracle::Oracle;
use crate::statistics::Statistics;
use crate::subject::Subject;
use crate::{report, shrink};

/// What is run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The first seed.
    pub(crate) first: u64,
    /// How many seeds.
    pub(crate) seeds: u64,
    pub(crate) size: Size,
    /// What is held against upstream.
    pub(crate) subject: Subject,
    pub(crate) families: Families,
    /// Upstream's scheduler; built from source if there is none.
    pub(crate) oracle: Option<PathBuf>,
    /// Go on after a difference; every seed that differs is shrunk.
    pub(crate) keep_going: bool,
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) statistics: Statistics,
    /// One text for each seed that differs.
    pub(crate) differences: Vec<String>,
}

/// Runs the seeds.
///
/// # Errors
/// The oracle cannot be built or asked.
pub(crate) fn judge(plan: &Plan) -> anyhow::Result<Verdict> {
    let mut oracle = Oracle::start(plan.oracle.as_deref())?;
    let mut verdict = Verdict {
        statistics: Statistics::default(),
        differences: Vec::new(),
    };
    for seed in plan.first..plan.first.saturating_add(plan.seeds) {
        let objects = generate(seed, plan.size, &plan.families, &plan.subject.plugins());
        let comparison = compare(&objects, plan.subject, &mut oracle)?;
        verdict
            .statistics
            .add(&comparison.records, &comparison.preemptions);
        let Some(found) = comparison.difference else {
            continue;
        };
        let text = if found.pod.is_empty() {
            report::refusal(&found)
        } else {
            smallest(objects, &found, plan.subject, &mut oracle)?
        };
        verdict.differences.push(format!("# Seed {seed}\n{text}"));
        if !plan.keep_going {
            break;
        }
    }
    Ok(verdict)
}

/// The smallest cluster of which the same field differs.
fn smallest(
    objects: Vec<Value>,
    found: &Difference,
    subject: Subject,
    oracle: &mut Oracle,
) -> anyhow::Result<String> {
    let still = |objects: &[Value]| -> anyhow::Result<bool> {
        let smaller = compare(objects, subject, oracle)?.difference;
        Ok(smaller.is_some_and(|smaller| smaller.field == found.field))
    };
    let smallest = shrink::shrink(objects, still)?;
    let shown = compare(&smallest, subject, oracle)?.difference;
    Ok(report::difference(
        &smallest,
        shown.as_ref().unwrap_or(found),
    ))
}
