//! Runs the real helm on the chart.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_yaml::Value;

/// The folder of the package.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the chart.
pub(crate) fn chart() -> PathBuf {
    root().join("charts/bayplan")
}

/// The helm binary, built on first use.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let output = Command::new(root().join("tests/controlplane/build"))
            .arg("helm")
            .output()
            .expect("tests/controlplane/build must be executable");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "helm could not be built: {stderr}");
        let folder = stdout
            .lines()
            .last()
            .expect("the build script must print the folder");
        Path::new(folder).join("helm")
    })
}

/// Runs `helm ARGS` without the configuration of whoever runs the tests.
pub(crate) fn helm(args: &[&str]) -> Output {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helm");
    Command::new(binary())
        .args(args)
        .env("HELM_CACHE_HOME", home.join("cache"))
        .env("HELM_CONFIG_HOME", home.join("config"))
        .env("HELM_DATA_HOME", home.join("data"))
        .env_remove("KUBECONFIG")
        .output()
        .expect("helm must start")
}

/// Renders a release called `bayplan`; the error is what helm says.
pub(crate) fn try_template(namespace: &str, args: &[&str]) -> Result<String, String> {
    let chart = chart();
    let mut all = vec![
        "template",
        "bayplan",
        chart.to_str().expect("the path must be UTF-8"),
    ];
    all.extend(["--namespace", namespace, "--kube-version", "1.37.2"]);
    all.extend(args);
    let output = helm(&all);
    if output.status.success() {
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Renders a release with the values of `ci/NAME-values.yaml`.
pub(crate) fn template_ci(namespace: &str, name: &str) -> String {
    let values = chart().join(format!("ci/{name}-values.yaml"));
    let values = values.to_str().expect("the path must be UTF-8");
    try_template(namespace, &["--values", values]).expect("the chart must render")
}

/// The objects of a rendered manifest.
pub(crate) fn objects(manifest: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(manifest)
        .map(|document| Value::deserialize(document).expect("manifests must be YAML"))
        .filter(|object| !object.is_null())
        .collect()
}

/// The objects of one kind.
pub(crate) fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects
        .iter()
        .filter(|object| object["kind"].as_str() == Some(kind))
        .collect()
}
