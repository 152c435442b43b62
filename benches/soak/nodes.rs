//! Nodes that change: labels and taints come and go, and so does a node.

use std::time::{Duration, Instant};

use kube::Client;
use serde_json::json;

use crate::arena;
use crate::arena::node_name;
use crate::requests;
use crate::writes;

/// Between two rounds.
const INTERVAL: Duration = Duration::from_secs(1);
/// Rounds that a node keeps its label.
const LABELLED: usize = 10;
/// Rounds that a node keeps its taint. There are more zones, so that no zone is tainted as a whole.
const TAINTED: usize = 5;
/// Rounds that a guest stays.
const GUEST: usize = 10;
/// The label that comes and goes, with another value each time.
const LABEL: &str = "example.com/round";
/// Where nodes are.
const NODES: &str = "/api/v1/nodes";

/// What is done with a node.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    /// It gets a label with this value.
    Label(usize, usize),
    /// It loses it.
    Unlabel(usize),
    /// It gets a taint with this value.
    Taint(usize, usize),
    /// It loses it.
    Untaint(usize),
    /// A node that was not there joins, and takes pods.
    Join(usize),
    /// It leaves, and its pods stay until they are deleted.
    Leave(usize),
}

/// Changes nodes until `end`.
pub(crate) async fn churn(client: Client, nodes: usize, end: Instant) -> anyhow::Result<()> {
    for number in 0.. {
        if Instant::now() >= end {
            break;
        }
        for change in round(number, nodes) {
            carry_out(&client, change).await?;
        }
        tokio::time::sleep(INTERVAL).await;
    }
    Ok(())
}

/// What happens in a round: neighbours, which lie in different zones, take turns.
fn round(number: usize, nodes: usize) -> Vec<Change> {
    let labelled = |round: usize| round % nodes;
    let tainted = |round: usize| (round + nodes / 2) % nodes;
    let mut changes = vec![
        Change::Label(labelled(number), number),
        Change::Taint(tainted(number), number),
    ];
    let before = |rounds| number.checked_sub(rounds);
    changes.extend(before(LABELLED).map(|round| Change::Unlabel(labelled(round))));
    changes.extend(before(TAINTED).map(|round| Change::Untaint(tainted(round))));
    if number.is_multiple_of(GUEST) {
        changes.push(Change::Join(number));
        changes.extend(before(GUEST).map(Change::Leave));
    }
    changes
}

async fn carry_out(client: &Client, change: Change) -> anyhow::Result<()> {
    let guest = |number| format!("guest-{number}");
    let (node, patch) = match change {
        Change::Label(node, value) => {
            let value = value.to_string();
            (node, json!({"metadata": {"labels": {LABEL: value}}}))
        }
        Change::Unlabel(node) => (node, json!({"metadata": {"labels": {LABEL: null}}})),
        Change::Taint(node, value) => {
            let taint = json!({"key": "example.com/maintenance",
                "value": value.to_string(), "effect": "NoSchedule"});
            (node, json!({"spec": {"taints": [taint]}}))
        }
        Change::Untaint(node) => (node, json!({"spec": {"taints": null}})),
        Change::Join(number) => {
            let node = serde_json::to_vec(&arena::node(&guest(number), number))?;
            return requests::post(client, NODES, node.into()).await;
        }
        Change::Leave(number) => {
            return writes::delete(client, &format!("{NODES}/{}", guest(number))).await;
        }
    };
    writes::merge(client, &format!("{NODES}/{}", node_name(node)), &patch).await
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn what_a_node_gets_it_loses_and_few_have_it_at_a_time() {
        for nodes in [20, 1_000] {
            let (mut labels, mut taints, mut guests) =
                (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
            for number in 0..3_000 {
                for change in round(number, nodes) {
                    match change {
                        Change::Label(node, value) => {
                            assert_eq!(labels.insert(node, value), None);
                        }
                        Change::Unlabel(node) => assert!(labels.remove(&node).is_some()),
                        Change::Taint(node, value) => {
                            assert_eq!(taints.insert(node, value), None);
                        }
                        Change::Untaint(node) => assert!(taints.remove(&node).is_some()),
                        Change::Join(guest) => assert!(guests.insert(guest)),
                        Change::Leave(guest) => assert!(guests.remove(&guest)),
                    }
                }
                assert!(labels.len() <= LABELLED && taints.len() <= TAINTED);
                assert_eq!(guests.len(), 1);
            }
        }
    }

    #[test]
    fn no_zone_loses_two_nodes_to_taints() {
        let taints = |number| {
            round(number, 100)
                .into_iter()
                .find_map(|change| match change {
                    Change::Taint(node, _) => Some(node % 10),
                    _ => None,
                })
        };
        let mut zones: Vec<_> = (200..200 + TAINTED).map(taints).collect();
        zones.sort_unstable();
        zones.dedup();
        assert_eq!(zones.len(), TAINTED);
    }
}
