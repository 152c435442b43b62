//! What was measured, what was checked, and whether it holds.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::harness::checker::{check_binds, check_history};
use crate::harness::control_plane::ControlPlane;
use crate::harness::history::History;
use crate::harness::process::Usage;
use crate::judge::Fates;
use crate::workload::{Expected, Planned};

/// Lease duration + retry period + 1 s of the chart's defaults.
const KILL_LIMIT: Duration = Duration::from_secs(15 + 2 + 1);
/// Retry period + 1 s.
const TERM_LIMIT: Duration = Duration::from_secs(2 + 1);

/// A change of leader.
#[derive(Clone, Debug)]
pub(crate) struct Failover {
    /// How the leader ended.
    pub(crate) signal: &'static str,
    /// From the signal to the first bind of the next leader.
    pub(crate) gap: Duration,
    /// Of the leader; none after a SIGKILL.
    pub(crate) exit_code: Option<i32>,
}

/// Everything that the demo knows.
pub(crate) struct Measured {
    pub(crate) planned: Vec<Planned>,
    pub(crate) fates: Fates,
    pub(crate) said: BTreeMap<String, (String, String)>,
    pub(crate) findings: Vec<String>,
    pub(crate) failovers: Vec<Failover>,
    pub(crate) usage: Vec<Usage>,
    pub(crate) elapsed: Duration,
}

/// What must not have happened, from the API server's own history.
pub(crate) fn findings(
    history: &History,
    control_plane: &ControlPlane,
) -> anyhow::Result<Vec<String>> {
    let binds = control_plane.audit_log().binds()?;
    let found = check_history(&history.records())
        .into_iter()
        .chain(check_binds(&binds));
    Ok(found.map(|finding| finding.to_string()).collect())
}

struct Check {
    name: &'static str,
    result: String,
    passed: bool,
}

/// Prints the table and tells whether every check passed.
pub(crate) fn print(measured: &Measured) -> bool {
    let checks = checks(measured);
    println!();
    println!("{:<48}  {:<30}  RESULT", "CHECK", "MEASURED");
    for check in &checks {
        let verdict = if check.passed { "ok" } else { "FAILED" };
        println!("{:<48}  {:<30}  {verdict}", check.name, check.result);
    }
    println!();
    for (number, usage) in measured.usage.iter().enumerate() {
        println!(
            "replica {}: CPU {:.2} s, peak RSS {:.1} MiB",
            number + 1,
            usage.cpu.as_secs_f64(),
            mebibytes(usage.peak_rss)
        );
    }
    println!(
        "first pod to last bind: {:.1} s",
        measured.elapsed.as_secs_f64()
    );
    for finding in &measured.findings {
        println!("finding: {finding}");
    }
    for difference in differences(measured).iter().take(5) {
        println!("message differs: {difference}");
    }
    checks.iter().all(|check| check.passed)
}

#[expect(clippy::cast_precision_loss, reason = "printed with one decimal")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn checks(measured: &Measured) -> Vec<Check> {
    let count = |expected| {
        measured
            .planned
            .iter()
            .filter(|pod| pod.expected == expected)
            .count()
    };
    let fitting = count(Expected::Bound);
    let bound = count_fates(measured, Expected::Bound, |node, _| node);
    let unfit = count(Expected::Unschedulable);
    let differences = differences(measured).len();
    let gated = count(Expected::Gated);
    let held = count_fates(measured, Expected::Gated, |node, reason| {
        !node && reason == Some("SchedulingGated")
    });
    let mut checks = vec![
        Check {
            name: "every pod that fits is bound",
            result: format!("{bound} of {fitting}"),
            passed: bound == fitting,
        },
        Check {
            name: "bound twice, over-committed, clashing ports",
            result: format!("{} findings", measured.findings.len()),
            passed: measured.findings.is_empty(),
        },
        Check {
            name: "pods that fit nowhere say what kube-scheduler says",
            result: format!("{} of {unfit}", unfit - differences),
            passed: differences == 0,
        },
        Check {
            name: "gated pods are held",
            result: format!("{held} of {gated}"),
            passed: held == gated,
        },
    ];
    checks.extend(measured.failovers.iter().map(failover_check));
    checks
}

fn failover_check(failover: &Failover) -> Check {
    let (name, limit, exit) = match failover.signal {
        "SIGKILL" => (
            "SIGKILL of the leader to the first bind, <= 18 s",
            KILL_LIMIT,
            None,
        ),
        _ => (
            "SIGTERM of the leader to the first bind, <= 3 s",
            TERM_LIMIT,
            Some(0),
        ),
    };
    let code = failover
        .exit_code
        .map_or_else(|| "killed".to_owned(), |code| format!("exit {code}"));
    Check {
        name,
        result: format!("{:.1} s, {code}", failover.gap.as_secs_f64()),
        passed: failover.gap <= limit && failover.exit_code == exit,
    }
}

fn count_fates(
    measured: &Measured,
    expected: Expected,
    holds: impl Fn(bool, Option<&str>) -> bool,
) -> usize {
    let pods = measured
        .planned
        .iter()
        .filter(|pod| pod.expected == expected);
    pods.filter(|pod| {
        let fate = measured.fates.of(&pod.name);
        let reason = fate.refusal.as_ref().map(|(reason, _)| reason.as_str());
        holds(fate.node.is_some(), reason)
    })
    .count()
}

/// Pods whose reason or message is not kube-scheduler's.
fn differences(measured: &Measured) -> Vec<String> {
    let pods = measured
        .planned
        .iter()
        .filter(|pod| pod.expected == Expected::Unschedulable);
    pods.filter_map(|pod| {
        let fate = measured.fates.of(&pod.name);
        let wanted = measured.said.get(&pod.name);
        let same = fate.node.is_none() && fate.refusal.as_ref() == wanted;
        (!same).then(|| format!("{}: {:?}, kube-scheduler: {wanted:?}", pod.name, fate))
    })
    .collect()
}
