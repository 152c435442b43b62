//! The fences between the layers: imports, orphan files, registered plugins, file sizes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What a pure layer must not name: the network, clocks, files, threads, randomness.
const IMPURE: [&str; 13] = [
    "kube::Client",
    "kube::Api",
    "kube::client",
    "kube::runtime",
    "tokio",
    "futures::",
    "std::net",
    "std::fs",
    "std::thread",
    "rand::",
    "Instant::now",
    "SystemTime",
    "crate::kubernetes",
];

/// A file that is longer has more than one subject.
const LINES_MAX: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder must exist");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder must be readable").path())
        .flat_map(|path| {
            if path.is_dir() {
                rust_files(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("the file must be readable")
}

/// The code without comments; what a comment says is not an import.
fn code(text: &str) -> String {
    let uncommented = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    uncommented.collect::<Vec<_>>().join("\n")
}

fn violations<'a>(text: &str, banned: &'a [&'a str]) -> Vec<&'a str> {
    let code = code(text);
    banned
        .iter()
        .copied()
        .filter(|word| code.contains(word))
        .collect()
}

/// The modules that a file declares.
fn declared(text: &str) -> BTreeSet<String> {
    code(text)
        .lines()
        .filter_map(|line| {
            let line = line.trim();
            let line = line
                .strip_prefix("pub(crate) ")
                .or(line.strip_prefix("pub "))
                .unwrap_or(line);
            line.strip_prefix("mod ")?
                .strip_suffix(';')
                .map(str::to_owned)
        })
        .collect()
}

/// The file that must declare `file`, and the name that it must declare.
fn parent(file: &Path, root: &Path) -> Option<(PathBuf, String)> {
    let name = file.file_stem()?.to_str()?.to_owned();
    let folder = file.parent()?;
    if folder == root {
        return (name != "lib" && name != "main").then(|| (root.join("lib.rs"), name));
    }
    Some((folder.with_extension("rs"), name))
}

#[test]
fn engine_plugins_and_model_touch_nothing_outside() {
    let mut seen = 0;
    for layer in ["engine", "plugins", "model"] {
        for file in rust_files(&root().join(layer)) {
            seen += 1;
            let found = violations(&read(&file), &IMPURE);
            assert!(found.is_empty(), "{} names {found:?}", file.display());
        }
    }
    assert!(seen > 50, "only {seen} files were looked at");
}

#[test]
fn the_engine_does_not_know_the_plugins() {
    let files = rust_files(&root().join("engine"));
    let production = files
        .iter()
        .filter(|file| !file.to_string_lossy().contains("tests"));
    let mut seen = 0;
    for file in production {
        seen += 1;
        let found = violations(&read(file), &["crate::plugins", "crate::sim", "crate::cli"]);
        assert!(found.is_empty(), "{} names {found:?}", file.display());
    }
    assert!(seen > 25, "only {seen} files were looked at");
}

#[test]
fn every_file_is_reachable_from_a_mod_line() {
    let root = root();
    let files = rust_files(&root);
    assert!(
        files.len() > 120,
        "only {} files were looked at",
        files.len()
    );
    for file in files {
        if let Some((parent, name)) = parent(&file, &root) {
            let declares = parent.exists() && declared(&read(&parent)).contains(&name);
            assert!(
                declares,
                "{} is not declared in {}",
                file.display(),
                parent.display()
            );
        }
    }
}

#[test]
fn every_plugin_is_registered() {
    let registry = read(&root().join("plugins/registry.rs"));
    // The builders of tests, the registry itself, and the stand-in that every profile gets.
    let others = ["fixtures", "registry", "unimplemented_needs"];
    let mut seen = 0;
    for name in declared(&read(&root().join("plugins.rs"))) {
        if !others.contains(&name.as_str()) {
            seen += 1;
            assert!(
                registry.contains(&format!("{name}::NAME")),
                "{name} is not registered"
            );
        }
    }
    assert_eq!(seen, 11);
}

#[test]
fn files_have_one_subject() {
    for file in rust_files(&root()) {
        let lines = read(&file).lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", file.display());
    }
}

#[test]
fn the_rules_find_what_is_planted() {
    let planted = "use tokio::time;\n// use std::fs;\nlet now = Instant::now();";
    assert_eq!(violations(planted, &IMPURE), ["tokio", "Instant::now"]);
    let modules = declared("mod a;\npub mod b;\npub(crate) mod c;\n// mod d;\nmod e {}");
    assert_eq!(modules, ["a", "b", "c"].map(str::to_owned).into());
    let root = Path::new("/src");
    assert_eq!(
        parent(Path::new("/src/engine/queue/active.rs"), root),
        Some((PathBuf::from("/src/engine/queue.rs"), "active".to_owned()))
    );
    assert_eq!(parent(Path::new("/src/main.rs"), root), None);
}
