//! The definitions that are checked in are the ones that the types give. `UPDATE=1` rewrites them.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Where the definition is kept: for people, and for helm, which wants it inside the chart.
const COPIES: [&str; 2] = [
    "crds/bayplan.dev_schedulerprofiles.yaml",
    "charts/bayplan/crds/bayplan.dev_schedulerprofiles.yaml",
];

#[test]
fn checked_in_definitions_are_those_of_the_types() {
    let output = Command::new(env!("CARGO_BIN_EXE_bayplan"))
        .arg("crd")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let wanted = String::from_utf8(output.stdout).unwrap();
    for copy in COPIES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(copy);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &wanted).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == wanted,
            "{copy} is not what 'bayplan crd' prints: run 'make crds' and commit the result"
        );
    }
}
