//! Objects to make a history of: a random cluster of the conformance tests, cut into what is there
//! at the beginning and what may come.

use bayplan::apis::effective_profile::EffectiveProfile;
use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::plugins::registry::Registry;
use bayplan::sim::{self, NamedDocument};
use serde_json::{Value, json};

use crate::api_server::{Kind, text};
use crate::extenders;
use crate::generator::dice::Dice;
use crate::generator::families::Families;
use crate::generator::{Size, generate};

/// What `schedulerName` pods without one get.
const DEFAULT_NAME: &str = "default-scheduler";

/// The objects of a history.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) nodes: Vec<Value>,
    pub(crate) pods: Vec<Value>,
    /// Everything else that is watched.
    pub(crate) others: Vec<Value>,
    /// The profiles as the cluster has them; the first answers for pods that name none.
    pub(crate) profiles: Vec<EffectiveProfile>,
    /// The profile that runs without any object.
    pub(crate) default: EffectiveProfile,
}

fn effective(spec: Value) -> Result<EffectiveProfile, String> {
    let spec = serde_json::from_value(spec).map_err(|error| error.to_string())?;
    EffectiveProfile::try_new(&spec, &Registry).map_err(|error| format!("{error:?}"))
}

/// The plugins that decide in a real cluster.
pub(crate) fn plugins() -> Vec<&'static str> {
    let live = Registry.names();
    let default = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    default.filter(|name| live.contains(name)).collect()
}

impl Pool {
    /// The objects of `seed`.
    pub(crate) fn new(seed: u64, size: Size) -> Result<Self, String> {
        let plugins = plugins();
        let families = Families::of_plugins(&plugins);
        // Odd objects are what the conformance tests look into.
        let mut clusters = (0..).map(|again: u64| {
            let seed = seed.wrapping_add(again << 32);
            generate(seed, size, &families, &plugins)
        });
        let valid = clusters.find(|cluster| cluster.is_valid);
        let generated = valid.ok_or("no cluster is valid")?;
        let documents = generated.objects.into_iter().enumerate();
        let documents = documents.map(|(index, value)| NamedDocument {
            file: "history".to_owned(),
            index: index + 1,
            value,
        });
        let objects = sim::complete(documents.collect()).map_err(|error| error.to_string())?;
        let mut dice = Dice::new(seed ^ 0xe87e);
        let mut pool = Self {
            nodes: Vec::new(),
            pods: Vec::new(),
            others: vec![namespace("default"), namespace("unlisted")],
            profiles: Vec::new(),
            default: effective(json!({"schedulerName": DEFAULT_NAME}))?,
        };
        for object in objects {
            match Kind::of(&object) {
                Some(Kind::Node) => pool.nodes.push(object),
                Some(Kind::Pod) => pool.pods.push(object),
                Some(_) => pool.others.push(object),
                None if object["kind"] == "SchedulerProfile" => {
                    let mut spec = object["spec"].clone();
                    spec["extenders"] = extenders::draw(&mut dice);
                    pool.profiles.push(effective(spec)?);
                }
                None => {}
            }
        }
        if pool.profiles.is_empty() {
            let extenders = extenders::draw(&mut dice);
            let spec = json!({"schedulerName": DEFAULT_NAME, "extenders": extenders});
            pool.profiles.push(effective(spec)?);
        }
        for pod in &mut pool.pods {
            if text(pod, "/spec/schedulerName").is_empty() {
                pod["spec"]["schedulerName"] = DEFAULT_NAME.into();
            }
        }
        Ok(pool)
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name,
        "labels": {"kubernetes.io/metadata.name": name}}})
}
