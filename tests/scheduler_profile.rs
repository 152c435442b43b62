//! What the real API server makes of the `SchedulerProfile` definition: it accepts the schema and
//! its rules, fills in defaults, and refuses bad profiles with a message that says what to do.
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]

use std::time::Duration;

use bayplan::apis::scheduler_profile::SchedulerProfile;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, CustomResourceExt};
use serde_json::{Value, json};

mod harness;

use harness::control_plane::{ControlPlane, Options};
use harness::wait;

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(1);

/// Creates the definition and waits until the API server serves it.
async fn install_crd(client: &Client) -> anyhow::Result<CustomResourceDefinition> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let crd = SchedulerProfile::crd();
    api.create(&PostParams::default(), &crd).await?;
    let profiles: Api<SchedulerProfile> = Api::all(client.clone());
    wait::until("the definition to be served", PATIENCE, async || {
        let served = profiles.list(&ListParams::default()).await.is_ok();
        let crd = api
            .get(crd.metadata.name.as_deref().unwrap_or_default())
            .await?;
        let conditions = crd
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let established = conditions
            .into_iter()
            .any(|c| c.type_ == "Established" && c.status == "True");
        Ok((served && established).then_some(crd))
    })
    .await
}

fn profiles(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::erase::<SchedulerProfile>(&()))
}

fn profile(name: &str, mut spec: Value) -> DynamicObject {
    if spec["schedulerName"].is_null() {
        spec["schedulerName"] = json!(name);
    }
    DynamicObject::new(name, &ApiResource::erase::<SchedulerProfile>(&()))
        .data(json!({ "spec": spec }))
}

/// Profiles that are refused, each with a part of the message.
fn refused() -> Vec<(Value, &'static str)> {
    let many: Vec<_> = (0..65).map(|i| json!({"name": format!("P{i}")})).collect();
    let mut cases = vec![
        (json!({"schedulerName": ""}), "spec.schedulerName"),
        (
            json!({"percentageOfNodesToScore": 101}),
            "less than or equal to 100",
        ),
        (
            json!({"plugins": {"filter": {"enabled": [{"name": "NodeName", "weight": 2}]}}}),
            "weights have a meaning under score and multiPoint only",
        ),
        (
            json!({"plugins": {"score": {"enabled": [{"name": "NodeName", "weight": -1}]}}}),
            "greater than or equal to 0",
        ),
        (
            json!({"plugins": {"score": {"disabled": many}}}),
            "must have at most 64 items",
        ),
    ];
    let args = refused_args().into_iter().chain(refused_scoring());
    cases.extend(args.map(|(args, want)| (json!({"pluginConfig": args}), want)));
    cases
}

/// Arguments of plugins that are refused.
fn refused_args() -> Vec<(Value, &'static str)> {
    let balanced =
        |resources: Value| json!({"nodeResourcesBalancedAllocation": {"resources": resources}});
    let spread = |args: Value| json!({"podTopologySpread": args});
    let constraint =
        json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"});
    vec![
        (
            json!({"nodeResourcesFit": {"ignoredResourceGroups": ["a/b"]}}),
            "name the group alone",
        ),
        (
            balanced(json!([{"name": "cpu", "weight": 2}])),
            "weights have no meaning here",
        ),
        (
            balanced(json!([{"name": "cpu"}, {"name": "cpu"}])),
            "Duplicate value",
        ),
        (
            json!({"defaultPreemption":
                {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}}),
            "above 0",
        ),
        (
            json!({"dynamicResources": {"bindingTimeout": "900ms"}}),
            "must be 1s or longer",
        ),
        (
            json!({"dynamicResources": {"filterTimeout": "soon"}}),
            "filterTimeout",
        ),
        (
            spread(json!({"defaultConstraints": [constraint]})),
            "set defaultingType to List to use defaultConstraints",
        ),
        (
            spread(
                json!({"defaultingType": "List", "defaultConstraints": [constraint, constraint]}),
            ),
            "use each pair of topologyKey and whenUnsatisfiable once",
        ),
    ]
}

/// Scoring strategies of `NodeResourcesFit` that are refused.
fn refused_scoring() -> Vec<(Value, &'static str)> {
    const EXACTLY_WHEN: &str =
        "set requestedToCapacityRatio exactly when type is RequestedToCapacityRatio";
    let fit = |strategy: Value| json!({"nodeResourcesFit": {"scoringStrategy": strategy}});
    let point = |utilization: i32, score: i32| json!({"utilization": utilization, "score": score});
    let shape = |points: Value| {
        let ratio = json!({"shape": points});
        fit(json!({"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": ratio}))
    };
    vec![
        (fit(json!({"type": "Tetris"})), "supported values"),
        (
            fit(json!({"type": "RequestedToCapacityRatio"})),
            EXACTLY_WHEN,
        ),
        (
            fit(json!({"requestedToCapacityRatio": {"shape": [point(0, 0)]}})),
            EXACTLY_WHEN,
        ),
        (
            shape(json!([point(50, 0), point(10, 1)])),
            "sort the points by utilization",
        ),
        (
            shape(json!([point(50, 0), point(50, 1)])),
            "name each utilization once",
        ),
        (shape(json!([])), "should have at least 1 items"),
    ]
}

#[tokio::test]
async fn the_api_server_accepts_the_definition_and_enforces_it() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let client = control_plane.client();
    let crd = install_crd(&client).await?;
    let conditions = crd
        .status
        .and_then(|status| status.conditions)
        .unwrap_or_default();
    let wrong: Vec<_> = conditions
        .iter()
        .filter(|c| c.type_ == "NonStructuralSchema")
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");

    let api = profiles(&client);
    let create = PostParams::default();
    for (spec, want) in refused() {
        let error = api
            .create(&create, &profile("bad", spec.clone()))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(want),
            "{spec}\n{error}\ndoes not say {want:?}"
        );
    }

    let plain = api.create(&create, &profile("plain", json!({}))).await?;
    assert_eq!(
        plain.data["spec"],
        json!({"schedulerName": "plain", "percentageOfNodesToScore": 100})
    );
    let named = json!({"nodeResourcesFit": {}, "volumeBinding": {}, "dynamicResources": {},
        "defaultPreemption": {}, "interPodAffinity": {}, "podTopologySpread": {},
        "nodeResourcesBalancedAllocation": {}});
    let named = api
        .create(&create, &profile("named", json!({"pluginConfig": named})))
        .await?;
    let config = &named.data["spec"]["pluginConfig"];
    assert_eq!(
        config["nodeResourcesFit"]["scoringStrategy"]["resources"][1]["name"],
        "memory"
    );
    assert_eq!(config["volumeBinding"]["shape"][0]["score"], 10);
    assert_eq!(config["dynamicResources"]["bindingTimeout"], "10m0s");
    assert_eq!(config["defaultPreemption"], json!({}));
    // What the API server filled in is what the types mean by it.
    let typed: Api<SchedulerProfile> = Api::all(client.clone());
    let read = typed.get("named").await?;
    assert_eq!(serde_json::to_value(&read.spec.plugin_config)?, *config);

    let rename = json!({"spec": {"schedulerName": "other"}});
    let error = api
        .patch("plain", &PatchParams::default(), &Patch::Merge(rename))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("schedulerName cannot be changed"),
        "{error}"
    );
    let by_name = ListParams::default().fields("spec.schedulerName=plain");
    assert_eq!(api.list(&by_name).await?.items.len(), 1);
    control_plane.stop()?;
    Ok(())
}
