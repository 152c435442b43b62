//! What is decoded from the protobuf of a real API server equals what is decoded from its JSON,
//! and every field of the slim objects is seen at least once; what is written in protobuf reads back
//! the same.
#![cfg(feature = "live")]
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]

#[path = "../conformance"]
mod conformance {
    #![allow(dead_code, reason = "random clusters alone are wanted of it")]

    pub(crate) mod generator;
    #[path = "live/stage.rs"]
    pub(crate) mod stage;
}
#[path = "../harness/mod.rs"]
mod harness;
mod requests;
mod rich;
mod seen;
mod written;

use std::collections::BTreeSet;
use std::fmt::Debug;

use bayplan::kubernetes::protobuf::{ListPart, ListReader, Protobuf, WatchMessage, status};
use bayplan::model::objects::{Node, Pod};
use kube::Resource;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::conformance::{generator, stage};
use crate::generator::families::Families;
use crate::generator::{Size, generate};
use crate::harness::control_plane::{ControlPlane, Options};
use crate::harness::objects;
use crate::requests::{Encoding, Server};

/// Of the random cluster beside the written objects.
const SIZE: Size = Size {
    nodes: 12,
    pods: 40,
};

/// All that the API server takes.
const FAMILIES: &str = "taints,nodeaffinity,ports,images,gates,priorities,podlevel,resize,spread,\
    owners,podaffinity,volumes,preemption,declaredfeatures";

/// Any will do.
const SEED: u64 = 1;

/// An alpha gate, off by default, for a field that is read.
const GATES: &str = "--feature-gates=VolumeBindMountOptions=true";

#[tokio::test]
async fn protobuf_decodes_to_the_same_objects_as_json() -> anyhow::Result<()> {
    let options = Options {
        apiserver_args: vec![GATES.to_owned()],
        ..Options::default()
    };
    let mut control_plane = ControlPlane::start(options).await?;
    let client = control_plane.client();
    let server = Server::new(client.clone());
    let start = server.version().await?;
    let families: Families = FAMILIES.parse().map_err(anyhow::Error::msg)?;
    let cluster = generate(SEED, SIZE, &families, &[]).objects;
    let cluster = cluster.iter().filter(|object| has_kind(object)).collect();
    stage::set(&client, cluster).await?;
    objects::create(&client, rich::surroundings()).await?;
    objects::create(&client, rich::objects()).await?;
    add_ephemeral_container(&control_plane).await?;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    pods.delete("leaving", &DeleteParams::default()).await?;
    let nodes: Api<Node> = Api::all(client.clone());
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    nodes
        .patch("bare", &PatchParams::default(), &cordon)
        .await?;
    for gone in rich::objects()
        .iter()
        .filter(|object| object["metadata"]["name"] == "gone")
    {
        objects::erase(&client, gone).await?;
    }

    let mut seen = lists_agree::<Pod>(&server).await?;
    watches_agree::<Pod>(&server, &start).await?;
    seen.extend(lists_agree::<Node>(&server).await?);
    watches_agree::<Node>(&server, &start).await?;
    assert_eq!(seen::unseen(&seen), [""; 0], "no object has these fields");
    written::objects_agree(&client).await?;
    // It then knows of no events before its start.
    control_plane.restart_apiserver().await?;
    refusals_agree(&server).await?;
    control_plane.stop()
}

/// Profiles are of no kind that this API server knows.
fn has_kind(object: &Value) -> bool {
    object["kind"] != "SchedulerProfile"
}

async fn add_ephemeral_container(control_plane: &ControlPlane) -> anyhow::Result<()> {
    let container = json!({"name": "debug", "image": "busybox:1.36",
        "targetContainerName": "main", "terminationMessagePolicy": "File"});
    let patch = json!({"spec": {"ephemeralContainers": [container]}});
    let resource = kube::core::ApiResource::erase::<Pod>(&());
    let pods: Api<DynamicObject> =
        Api::namespaced_with(control_plane.client(), "default", &resource);
    pods.patch_subresource(
        "ephemeralcontainers",
        "rich",
        &PatchParams::default(),
        &Patch::Strategic(patch),
    )
    .await?;
    Ok(())
}

/// Compares all pages of a list and returns the objects.
async fn lists_agree<K>(server: &Server) -> anyhow::Result<Vec<Value>>
where
    K: Protobuf + Resource<DynamicType = ()> + DeserializeOwned + Serialize + Debug + PartialEq,
{
    let path = K::url_path(&(), None);
    let body = server
        .get(&format!("{path}?limit=500"), Encoding::Json)
        .await?;
    let json: Value = serde_json::from_slice(&body)?;
    let expected: Vec<K> = serde_json::from_value(json["items"].clone())?;
    assert!(expected.len() > 3, "{} {path}", expected.len());

    let (mut found, mut pages, mut token) = (Vec::<K>::new(), 0, Some(String::new()));
    while let Some(asked) = token.take() {
        let query = format!("{path}?limit=3&continue={asked}");
        let mut reader = ListReader::default();
        reader.push(server.get(&query, Encoding::Protobuf).await?);
        pages += 1;
        while let Some(part) = reader.next()? {
            match part {
                ListPart::Metadata {
                    resource_version,
                    next,
                } => {
                    assert_eq!(resource_version, json["metadata"]["resourceVersion"]);
                    token = next;
                }
                ListPart::Item(item) => found.push(K::decode(&item)?),
            }
        }
        reader.finish()?;
    }
    assert!(pages > 1, "{path} fits in one page");
    assert_eq!(found, expected);
    let values = found.iter().map(serde_json::to_value);
    Ok(values.collect::<Result<_, _>>()?)
}

/// Compares the events since `start`, and those with which a watch without a start begins.
async fn watches_agree<K>(server: &Server, start: &str) -> anyhow::Result<()>
where
    K: Protobuf + Resource<DynamicType = ()> + DeserializeOwned + Debug + PartialEq,
{
    let path = K::url_path(&(), None);
    let since = format!("{path}?watch=true&timeoutSeconds=2&resourceVersion={start}");
    let types = events_agree::<K>(server, &since).await?;
    assert_eq!(types, ["ADDED", "DELETED", "MODIFIED"], "{path}");
    let all = format!(
        "{path}?watch=true&timeoutSeconds=2&sendInitialEvents=true&allowWatchBookmarks=true&\
         resourceVersionMatch=NotOlderThan"
    );
    let types = events_agree::<K>(server, &all).await?;
    assert_eq!(types, ["ADDED", "BOOKMARK"], "{path}");
    Ok(())
}

/// Compares the events of a watch and returns their types.
async fn events_agree<K>(server: &Server, query: &str) -> anyhow::Result<Vec<&'static str>>
where
    K: Protobuf + DeserializeOwned + Debug + PartialEq,
{
    let (json, messages) = tokio::try_join!(server.lines(query), server.frames(query))?;
    assert_eq!(json.len(), messages.len(), "{query}");
    let mut types = BTreeSet::new();
    for (event, message) in json.iter().zip(&messages) {
        let (told, object) = match message {
            WatchMessage::Added(object) => ("ADDED", object),
            WatchMessage::Modified(object) => ("MODIFIED", object),
            WatchMessage::Deleted(object) => ("DELETED", object),
            WatchMessage::Bookmark { resource_version } => {
                types.insert("BOOKMARK");
                assert_eq!(event["type"], "BOOKMARK");
                assert_eq!(
                    event["object"]["metadata"]["resourceVersion"],
                    *resource_version
                );
                continue;
            }
            WatchMessage::Error(status) => anyhow::bail!("{query}: {status}"),
        };
        types.insert(told);
        assert_eq!(event["type"], told);
        let expected: K = serde_json::from_value(event["object"].clone())?;
        assert_eq!(K::decode(object)?, expected);
    }
    Ok(types.into_iter().collect())
}

/// A watch that is too old, and requests that are wrong.
async fn refusals_agree(server: &Server) -> anyhow::Result<()> {
    let frames = server
        .frames("/api/v1/pods?watch=true&resourceVersion=1&timeoutSeconds=1")
        .await?;
    let [WatchMessage::Error(expired)] = &*frames else {
        anyhow::bail!("{frames:?} instead of an error");
    };
    assert_eq!((expired.code, &*expired.reason), (410, "Expired"));
    for query in ["?resourceVersion=x", "?continue=x", "?limit=x"] {
        let query = format!("/api/v1/pods{query}");
        let protobuf = status(&server.get(&query, Encoding::Protobuf).await?);
        let json = status(&server.get(&query, Encoding::Json).await?);
        assert_eq!(protobuf, json, "{query}");
        assert!(
            matches!(&protobuf, Some(status) if status.code >= 400),
            "{query}: {protobuf:?}"
        );
    }
    Ok(())
}
