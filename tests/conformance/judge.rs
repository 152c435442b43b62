//! Seeds one after the other, until a difference or the end.

use std::path::PathBuf;

use serde_json::Value;

use crate::compare::{Difference, compare};
use crate::generator::families::Families;
use crate::generator::{Cluster, Size, generate};
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
    /// Every how many clusters one has odd objects; 0 leaves that to the families.
    pub(crate) odd_each: u64,
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
        let families = match seed.checked_rem(plan.odd_each) {
            Some(0) => plan.families.with_odd_objects(),
            _ => plan.families.clone(),
        };
        let cluster = generate(seed, plan.size, &families, &plan.subject.plugins());
        let comparison = compare(&cluster, plan.subject, &mut oracle)?;
        verdict
            .statistics
            .add(&comparison.records, &comparison.preemptions);
        let Some(found) = comparison.difference else {
            continue;
        };
        let text = if found.pod.is_empty() {
            report::refusal(&found)
        } else {
            smallest(cluster, &found, plan.subject, &mut oracle)?
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
    cluster: Cluster,
    found: &Difference,
    subject: Subject,
    oracle: &mut Oracle,
) -> anyhow::Result<String> {
    let is_valid = cluster.is_valid;
    let mut difference = |objects: &[Value]| {
        let objects = objects.to_vec();
        let smaller = compare(&Cluster { objects, is_valid }, subject, oracle)?;
        anyhow::Ok(smaller.difference)
    };
    let still = |objects: &[Value]| -> anyhow::Result<bool> {
        let smaller = difference(objects)?;
        Ok(smaller.is_some_and(|smaller| smaller.field == found.field))
    };
    let smallest = shrink::shrink(cluster.objects, still)?;
    let shown = difference(&smallest)?;
    Ok(report::difference(
        &smallest,
        shown.as_ref().unwrap_or(found),
    ))
}
