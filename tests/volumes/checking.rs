//! The checker finds what it is there for.

use serde_json::{Value, json};

use crate::harness::builders::{make_node, make_pod};
use crate::harness::storage::{claim, csi_node, local_volume};
use crate::harness::volume_checker::Storage;

const CLAIM: &str = "mine";

/// Pods with a claim whose volume, bound to the claim with UID `bound_to`, is on `n1`.
fn storage(pods: &[(&str, &str)], bound_to: &str) -> anyhow::Result<Storage> {
    let mut bound = claim(CLAIM, "disk", "1Gi", "ReadWriteOncePod");
    bound["metadata"]["uid"] = "uid-mine".into();
    bound["spec"]["volumeName"] = "volume".into();
    let mut volume = local_volume("volume", "disk", "1Gi", "n1");
    volume["spec"]["claimRef"] = json!({"uid": bound_to});
    let pods = pods.iter();
    Ok(Storage {
        nodes: ["n0", "n1"].map(|name| make_node(name).build()).into(),
        pods: pods
            .map(|(name, node)| make_pod(name).claim(CLAIM).on(node).build())
            .collect(),
        claims: vec![serde_json::from_value(bound)?],
        volumes: vec![serde_json::from_value(volume)?],
        csi_nodes: Vec::new(),
    })
}

#[test]
fn pods_that_are_not_where_they_should_be_are_found() -> anyhow::Result<()> {
    let fine = storage(&[("p", "n1")], "uid-mine")?;
    assert_eq!(fine.findings(), [""; 0]);
    let misplaced = storage(&[("p", "n0")], "uid-mine")?;
    assert_eq!(misplaced.findings(), ["p is on n0, where volume cannot go"]);
    let shared = storage(&[("p", "n1"), ("q", "n1")], "uid-mine")?;
    assert_eq!(shared.findings(), ["p and q share mine"]);
    let stolen = storage(&[("p", "n1")], "uid-of-another")?;
    let finding = "p has a node, but mine has a volume of somebody else";
    assert_eq!(stolen.findings(), [finding]);
    Ok(())
}

#[test]
fn more_volumes_than_a_node_can_attach_are_found() -> anyhow::Result<()> {
    let mut full = storage(&[("p", "n1")], "uid-mine")?;
    let csi: Value = json!({"driver": "d", "volumeHandle": "h"});
    for volume in &mut full.volumes {
        if let Some(spec) = &mut volume.spec {
            spec.csi = Some(serde_json::from_value(csi.clone())?);
        }
    }
    full.csi_nodes = vec![serde_json::from_value(csi_node("n1", "d", 0))?];
    assert_eq!(full.findings(), ["n1 has 1 volumes of d"]);
    Ok(())
}
