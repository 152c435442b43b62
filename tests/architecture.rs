//! The fences between the layers: what they may name, orphan files, registered plugins, file sizes.
//!
//! Each rule is a function of a text, so that the last test can show it a violation.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::{DEFAULT_PLUGINS, OPTIONAL_PLUGINS};
use bayplan::plugins::registry::Registry;

/// What a pure layer must not name: the network, clocks, files, threads, randomness.
const IMPURE: [&str; 14] = [
    "kube::Api",
    "kube::Client",
    "kube::client",
    "kube::runtime",
    "tokio",
    "futures",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "rand",
    "uuid",
    "Instant::now",
    "SystemTime",
];

/// Locks, which tests may use to look into what they hand over.
const LOCKS: [&str; 3] = ["std::sync::Mutex", "std::sync::RwLock", "parking_lot"];

const PURE_LAYERS: [&str; 3] = ["engine", "plugins", "model"];

/// Which layers each layer may import beside itself.
const LAYERS: [(&str, &[&str]); 9] = [
    ("apis", &["model"]),
    ("model", &[]),
    ("engine", &["apis", "model"]),
    ("plugins", &["apis", "engine", "model"]),
    ("options", &["apis", "engine"]),
    ("sim", &["apis", "engine", "model", "plugins"]),
    ("metrics", &["engine", "kubernetes", "model"]),
    (
        "kubernetes",
        &["apis", "engine", "metrics", "model", "options", "plugins"],
    ),
    (
        "cli",
        &["apis", "engine", "kubernetes", "options", "plugins", "sim"],
    ),
];

/// Files of `src/plugins` that are no plugin of the registry.
const NO_PLUGINS: [(&str, &str); 8] = [
    (
        "claims.rs",
        "which claims a pod names, for the volume plugins",
    ),
    ("class_verdicts.rs", "tests over several plugins"),
    (
        "csi_translation.rs",
        "which drivers took over in-tree volumes, for the volume plugins",
    ),
    ("fixtures.rs", "builders for tests"),
    ("queueing_hints.rs", "tests over several plugins"),
    ("registry.rs", "the registry itself"),
    ("support.rs", "what is supported of each plugin"),
    (
        "unimplemented_needs.rs",
        "the stand-in for missing plugins, which every profile gets and none may name",
    ),
];

/// A file that is longer has more than one subject.
const LINES_MAX: usize = 600;

fn root(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("the file must be readable")
}

/// The Rust files below `folder`, relative to it, with their text.
fn rust_files(folder: &Path) -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder must exist") {
            let path = entry.expect("the folder must be readable").path();
            if path.is_dir() {
                collect(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    collect(folder, &mut files);
    files.sort();
    let relative = |file: PathBuf| {
        let text = read(&file);
        let below = file
            .strip_prefix(folder)
            .expect("the file must be below the folder");
        (below.to_owned(), text)
    };
    files.into_iter().map(relative).collect()
}

/// The files of a layer: `LAYER.rs` and what is in `LAYER/`.
fn layer_files(layer: &str) -> Vec<(PathBuf, String)> {
    let mut files = rust_files(&root("src"));
    let own = format!("{layer}.rs");
    files.retain(|(file, _)| file.starts_with(layer) || file.as_os_str() == own.as_str());
    files
}

/// Whether the whole file is tests.
fn is_test_file(file: &Path) -> bool {
    file.with_extension("")
        .iter()
        .any(|part| part == "tests" || part == "fixtures")
}

/// The text without comments.
fn code(text: &str) -> String {
    let uncommented = text.lines().map(|line| {
        if line.trim_start().starts_with("//") {
            ""
        } else {
            line.split(" // ").next().unwrap_or_default()
        }
    });
    uncommented.collect::<Vec<_>>().join("\n")
}

/// The text without the tests at its end.
fn production(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
}

/// Every path of the code, those in `use a::{b, c}` written out.
fn written_out(text: &str) -> String {
    let code = code(text);
    let mut all = code.clone();
    for statement in code.split(';') {
        let lines = statement.trim_start();
        if let Some(at) = lines.find("use ").filter(|_| lines.contains("::{")) {
            all.push('\n');
            all.push_str(&expand(&lines[at + "use ".len()..]).join("\n"));
        }
    }
    all
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn expand(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut depth = 0_i32;
    let parts = inner.split(|character| {
        depth += i32::from(character == '{') - i32::from(character == '}');
        character == ',' && depth == 0
    });
    parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .flat_map(|part| expand(&format!("{}{part}", prefix.trim())))
        .collect()
}

/// Rule: the banned paths that the text names as whole words.
fn banned(text: &str, paths: &[&'static str]) -> Vec<&'static str> {
    let text = written_out(text);
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let named = |path: &&str| {
        text.match_indices(*path).any(|(at, _)| {
            !text[..at].ends_with(part_of_word)
                && !text[at + path.len()..].starts_with(part_of_word)
        })
    };
    paths.iter().copied().filter(named).collect()
}

/// Rule: the layers that the production code names and may not.
fn foreign(text: &str, layer: &str, allowed: &[&str]) -> BTreeSet<String> {
    let text = written_out(production(text));
    text.split("crate::")
        .skip(1)
        .map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            rest[..end.unwrap_or(rest.len())].to_owned()
        })
        .filter(|name| !name.is_empty() && name != layer && !allowed.contains(&name.as_str()))
        .collect()
}

/// Rule: the modules that a file declares.
fn declared(text: &str) -> BTreeSet<String> {
    let module = |line: &str| {
        let declaration = line.trim().strip_suffix(';')?.to_owned();
        let (visibility, name) = declaration.split_once("mod ")?;
        let is_visibility = visibility.is_empty() || visibility.starts_with("pub");
        is_visibility.then(|| name.to_owned())
    };
    code(text).lines().filter_map(module).collect()
}

/// Rule: the file that must declare `file`, and by which name; `None` for the roots.
fn parent(file: &Path) -> Option<(PathBuf, String)> {
    let name = file.file_stem()?.to_str()?.to_owned();
    match file.parent()? {
        top if top == Path::new("") => {
            (name != "lib" && name != "main").then(|| ("lib.rs".into(), name))
        }
        folder => Some((folder.with_extension("rs"), name)),
    }
}

/// Rule: the plugin's name in a file of `src/plugins`.
fn plugin_name(text: &str) -> Option<String> {
    let code = code(text);
    let (_, rest) = code.split_once("const NAME: &str = \"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Rule: the state that the compatibility page gives a plugin.
fn documented_state<'a>(page: &'a str, plugin: &str) -> Option<&'a str> {
    let row = format!("| {plugin} | ");
    let rest = page.lines().find_map(|line| line.strip_prefix(&row))?;
    rest.split(" | ").next()
}

/// Rule: whether a file is too long.
fn too_long(text: &str) -> bool {
    text.lines().count() > LINES_MAX
}

#[test]
fn engine_plugins_and_model_touch_nothing_outside() {
    for layer in PURE_LAYERS {
        let files = layer_files(layer);
        assert!(files.len() > 10, "{layer} has only {} files", files.len());
        for (file, text) in files {
            let mut found = banned(&text, &IMPURE);
            if !is_test_file(&file) {
                found.extend(banned(production(&text), &LOCKS));
            }
            assert!(found.is_empty(), "{} names {found:?}", file.display());
        }
    }
}

#[test]
fn layers_import_only_what_lies_below_them() {
    for (layer, allowed) in LAYERS {
        let mut files = layer_files(layer);
        files.retain(|(file, _)| !is_test_file(file));
        assert!(files.len() > 1, "{layer} has only {} files", files.len());
        for (file, text) in files {
            let found = foreign(&text, layer, allowed);
            assert!(found.is_empty(), "{} imports {found:?}", file.display());
        }
    }
    let modules = declared(&read(&root("src/lib.rs")));
    let layers = LAYERS.map(|(layer, _)| layer.to_owned());
    assert_eq!(modules, layers.into(), "a layer without a rule");
}

#[test]
fn every_file_is_reachable_from_a_mod_line() {
    let files = rust_files(&root("src"));
    assert!(files.len() > 120, "only {} files seen", files.len());
    for (file, _) in &files {
        let Some((parent, name)) = parent(file) else {
            continue;
        };
        let text = files.iter().find(|(other, _)| *other == parent);
        assert!(
            text.is_some_and(|(_, text)| declared(text).contains(&name)),
            "{} is not declared in {}",
            file.display(),
            parent.display()
        );
    }
}

#[test]
fn every_plugin_file_is_a_plugin_of_the_registry() {
    let mut found = BTreeSet::new();
    for (file, text) in rust_files(&root("src/plugins")) {
        let excepted = NO_PLUGINS.iter().any(|(name, _)| file == Path::new(name));
        if file.components().count() == 1 && !excepted {
            let name = plugin_name(&text);
            found.insert(name.unwrap_or_else(|| panic!("{} has no NAME", file.display())));
        }
    }
    assert!(!found.is_empty());
    let registered = Registry.names().into_iter().map(str::to_owned).collect();
    assert_eq!(found, registered);
    for (file, reason) in NO_PLUGINS {
        let path = root("src/plugins").join(file);
        assert!(path.exists(), "{file} ({reason}) is gone");
    }
}

#[test]
fn the_compatibility_page_says_which_plugins_there_are() {
    let page = read(&root("docs/compatibility.md"));
    for plugin in DEFAULT_PLUGINS.iter().chain(&OPTIONAL_PLUGINS) {
        let has = Registry.names().contains(&plugin.name);
        let want = if has { "yes" } else { "no" };
        let said = documented_state(&page, plugin.name);
        assert_eq!(said, Some(want), "{}", plugin.name);
    }
}

#[test]
fn files_have_one_subject() {
    for folder in ["src", "tests", "benches"] {
        let files = rust_files(&root(folder));
        assert!(!files.is_empty(), "no file in {folder}");
        for (file, text) in files {
            let file = file.display();
            assert!(
                !too_long(&text),
                "{folder}/{file} has over {LINES_MAX} lines"
            );
        }
    }
}

#[test]
fn the_rules_find_what_is_planted() {
    let impure = |text| banned(text, &IMPURE);
    assert_eq!(impure("let now = Instant::now();"), ["Instant::now"]);
    assert_eq!(impure("use std::{\n    fs,\n    io,\n};"), ["std::fs"]);
    assert_eq!(
        impure("pub use kube::{Resource, api::X, Client};"),
        ["kube::Client"]
    );
    assert_eq!(
        impure("// use std::fs;\nuse a::operand::b; // rand\nlet tokio_like = 1;"),
        [""; 0]
    );
    let locks = banned("use std::sync::{Arc, Mutex};", &LOCKS);
    assert_eq!(locks, ["std::sync::Mutex"]);

    let planted = "use crate::{model::map, plugins::{registry, node_name}};\nuse crate::engine::x;\n\
                   #[cfg(test)]\nmod tests {\n    use crate::cli::y;\n}";
    let found = foreign(planted, "engine", &["model"]);
    assert_eq!(found, ["plugins".to_owned()].into());

    let modules = declared("mod a;\npub mod b;\npub(crate) mod c;\n// mod d;\nmod e {}");
    assert_eq!(modules, ["a", "b", "c"].map(str::to_owned).into());
    let child = |parent: &str, name: &str| Some((PathBuf::from(parent), name.to_owned()));
    assert_eq!(
        parent(Path::new("engine/queue/places.rs")),
        child("engine/queue.rs", "places")
    );
    assert_eq!(parent(Path::new("sim.rs")), child("lib.rs", "sim"));
    assert_eq!(parent(Path::new("main.rs")), None);

    let named = plugin_name("pub(crate) const NAME: &str = \"NodeName\";");
    assert_eq!(named.as_deref(), Some("NodeName"));
    assert_eq!(plugin_name("// const NAME: &str = \"X\";"), None);
    let page = "| A | yes | x |\n| B | no | y |";
    assert_eq!(documented_state(page, "B"), Some("no"));
    assert_eq!(documented_state(page, "C"), None);
    assert!(is_test_file(Path::new("engine/tests/bindings.rs")));
    assert!(!is_test_file(Path::new("engine/latests.rs")));
    assert!(too_long(&"x\n".repeat(LINES_MAX + 1)));
    assert!(!too_long(&"x\n".repeat(LINES_MAX)));
}
