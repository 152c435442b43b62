//! The image is made of what the package and the chart say.

use std::fs;

use serde_yaml::Value;

use crate::helm::{chart, root};

fn dockerfile() -> String {
    fs::read_to_string(root().join("Dockerfile")).expect("Dockerfile must be readable")
}

#[test]
fn image_is_built_with_the_pinned_toolchain() {
    let toolchain = fs::read_to_string(root().join("rust-toolchain.toml"));
    let toolchain = toolchain.expect("rust-toolchain.toml must be readable");
    let (_, rest) = toolchain
        .split_once("channel = \"")
        .expect("a channel must be set");
    let (channel, _) = rest.split_once('"').expect("the channel must be a string");
    let argument = format!("ARG RUST_VERSION={channel}\n");
    assert!(dockerfile().contains(&argument), "{argument}");
}

#[test]
fn image_has_the_version_of_the_package() {
    let label = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(dockerfile().contains(&label), "{label}");
}

#[test]
fn image_runs_as_the_user_of_the_chart() {
    let values = fs::read_to_string(chart().join("values.yaml")).expect("values must be readable");
    let values: Value = serde_yaml::from_str(&values).expect("values must be YAML");
    let context = &values["podSecurityContext"];
    let user = context["runAsUser"].as_u64().expect("a user must be set");
    let group = context["runAsGroup"].as_u64().expect("a group must be set");
    let instruction = format!("USER {user}:{group}\n");
    assert!(dockerfile().contains(&instruction), "{instruction}");
}

#[test]
fn image_is_built_by_a_target_of_the_makefile() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("Makefile must be readable");
    let (_, rest) = makefile
        .split_once("\nrelease:")
        .expect("Makefile must have the target release");
    let mut lines = rest.lines();
    let prerequisites = lines.next().and_then(|line| line.split('#').next());
    assert_eq!(
        prerequisites.map(str::trim),
        Some(""),
        "the image has no Go"
    );
    assert_eq!(lines.next(), Some("\tcargo build --release --locked"));
    assert!(dockerfile().contains("make release"));
    assert!(dockerfile().contains("install -D target/release/bayplan "));
}
