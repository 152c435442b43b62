//! What each values file of `ci/` renders to. `UPDATE=1` rewrites the goldens.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::helm::{chart, root, template_ci, try_template};

/// Compares `text` with a checked-in file, or rewrites the file if `UPDATE` is set.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
pub(crate) fn assert_golden(path: &Path, text: &str) {
    if std::env::var("UPDATE").is_ok() {
        fs::write(path, text).expect("the golden must be writable");
        return;
    }
    let golden = fs::read_to_string(path).unwrap_or_default();
    let line = golden
        .lines()
        .zip(text.lines())
        .position(|(want, got)| want != got);
    let line = line.unwrap_or(golden.lines().count().min(text.lines().count()));
    assert!(
        golden == text,
        "{} differs at line {}:\n  golden: {:?}\n  now:    {:?}\n\
         if the change is meant: UPDATE=1 cargo test --test chart",
        path.display(),
        line + 1,
        golden.lines().nth(line),
        text.lines().nth(line),
    );
}

#[test]
fn defaults_in_kube_system_render_as_checked_in() {
    let text = try_template("kube-system", &[]).expect("the chart must render");
    assert_golden(&root().join("tests/golden/chart/defaults.yaml"), &text);
}

#[test]
fn each_values_file_renders_as_checked_in() {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(chart().join("ci")).expect("ci/ must exist") {
        let file = entry.expect("ci/ must be readable").file_name();
        let file = file.to_str().expect("names must be UTF-8");
        let name = file
            .strip_suffix("-values.yaml")
            .expect("ci/ holds *-values.yaml only");
        let golden = root().join(format!("tests/golden/chart/{name}.yaml"));
        assert_golden(&golden, &template_ci("scheduling", name));
        names.insert(name.to_owned());
    }
    assert_eq!(
        names,
        ["everything", "ha", "minimal", "secure"]
            .map(String::from)
            .into()
    );
}
