//! The command line as people meet it: what is printed where, and how it ends.
//!
//! Long texts are compared with files in `tests/golden/cli`; `UPDATE=1` rewrites them.
#![expect(clippy::unwrap_used, reason = "a failed step is how a test fails")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run of the command gave.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bayplan"));
    command.args(arguments).env_remove("COLUMNS");
    command
}

fn bayplan(arguments: &[&str]) -> Run {
    bayplan_with_input(arguments, "")
}

fn bayplan_with_input(arguments: &[&str], input: &str) -> Run {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing may have ended already.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn assert_golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/cli")
        .join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, actual).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == wanted,
        "{name} has changed; if that is meant, run UPDATE=1 cargo test --test cli\n{actual}"
    );
}

/// A file with `content` in a directory of the test's own.
fn file(test: &str, name: &str, content: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("cli")
        .join(test);
    fs::create_dir_all(&dir).unwrap();
    let path = dir.join(name);
    fs::write(&path, content).unwrap();
    path
}

const COMMANDS: [&str; 7] = [
    "run",
    "simulate",
    "validate",
    "crd",
    "version",
    "completion",
    "man",
];

#[test]
fn help_goes_to_standard_output() {
    let run = bayplan(&["--help"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_golden("help/bayplan.txt", &run.stdout);
    for name in COMMANDS {
        let run = bayplan(&[name, "--help"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
        assert_golden(&format!("help/{name}.txt"), &run.stdout);
        assert_eq!(bayplan(&["help", name]).stdout, run.stdout, "{name}");
    }
}

#[test]
fn no_command_is_an_error_that_shows_the_help() {
    let run = bayplan(&[]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr.contains("Usage: bayplan <COMMAND>"),
        "{}",
        run.stderr
    );
}

#[test]
fn version_tells_build_commit_and_kubernetes_release() {
    let version = env!("CARGO_PKG_VERSION");
    let text = bayplan(&["version"]).stdout;
    assert!(
        text.starts_with(&format!("bayplan {version} (commit ")),
        "{text}"
    );
    assert!(text.ends_with(", Kubernetes 1.37)\n"), "{text}");
    let run = bayplan(&["version", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["version"], version);
    assert_eq!(json["kubernetes"], "1.37");
    assert!(json["commit"].is_string());
    assert_eq!(
        bayplan(&["--version"]).stdout,
        format!("bayplan {version}\n")
    );
}

#[test]
fn completion_scripts_exist_for_all_shells() {
    for (shell, sign) in [
        ("bash", "complete -F _bayplan"),
        ("zsh", "#compdef bayplan"),
        ("fish", "complete -c bayplan"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[bayplan]"),
    ] {
        let run = bayplan(&["completion", shell]);
        assert_eq!(run.code, 0, "{shell}");
        assert!(run.stdout.contains(sign), "{shell}");
        assert!(
            run.stdout.contains("leader-elect-lease-duration"),
            "{shell}"
        );
    }
    assert_eq!(bayplan(&["completion", "tcsh"]).code, 2);
}

#[test]
fn manual_pages_are_printed_or_written() {
    assert_golden("man/bayplan.1", &bayplan(&["man"]).stdout);
    let page = bayplan(&["man", "run"]).stdout;
    assert_golden("man/bayplan-run.1", &page);
    let dir = file("man", "placeholder", "").with_file_name("");
    let run = bayplan(&["man", "--dir", dir.to_str().unwrap()]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(dir.join("bayplan-run.1")).unwrap(), page);
    assert!(dir.join("bayplan.1").exists());
    let run = bayplan(&["man", "rum"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .starts_with("error: there is no command \"rum\"; use one of run, ")
    );
}

#[test]
fn bad_flags_are_named_with_a_remedy() {
    for (arguments, wanted) in [
        (
            &["run", "--leader-elct=false"][..],
            "a similar argument exists: '--leader-elect'",
        ),
        (&["runn"], "a similar subcommand exists: 'run'"),
        (
            &["run", "--leader-elect-lease-duration", "15"],
            "write for example 15s",
        ),
        (
            &["run", "--leader-elect", "false"],
            "unexpected argument 'false'",
        ),
        (
            &["run", "--logging-format=xml"],
            "[possible values: text, json]",
        ),
        (
            &["run", "--feature-gates=Nope=true"],
            "has no feature gate \"Nope\"; remove it",
        ),
        (
            &["run", "--leader-elect-lease-duration=5s"],
            "--leader-elect-lease-duration or leaderElection.leaseDuration: 5s is not longer",
        ),
        (
            &["--leader-elect=false", "crd"],
            "the flag --leader-elect belongs to 'bayplan run'",
        ),
        (
            &["-v=2", "version"],
            "the flag --v belongs to 'bayplan run'",
        ),
        (&["simulate"], "required arguments were not provided"),
        (
            &["simulate", "f.yaml", "--tie-break=first"],
            "[possible values: seeded, name]",
        ),
        (&["version", "-o", "xml"], "[possible values: text, json]"),
    ] {
        let run = bayplan(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
        assert!(run.stderr.contains(wanted), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn flags_stand_before_or_behind_run_and_the_last_one_wins() {
    let path = file("order", "written.yaml", "");
    let path = path.to_str().unwrap();
    let flags = [
        "--secure-port=1",
        "--leader-elect=false",
        "run",
        "--secure-port=2",
        "--secure-port=3",
    ];
    let run = bayplan(&[&flags[..], &["--write-config-to", path]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, "");
    let written = fs::read_to_string(path).unwrap();
    assert!(written.contains("securePort: 3\n"), "{written}");
    assert!(written.contains("leaderElect: false\n"), "{written}");
    assert_eq!(bayplan(&["validate", path]).stdout, "1 object valid\n");
}

#[test]
fn the_written_default_configuration_is_documented_by_its_golden() {
    let path = file("defaults", "written.yaml", "");
    let run = bayplan(&["run", "--write-config-to", path.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_golden(
        "default-configuration.yaml",
        &fs::read_to_string(path).unwrap(),
    );
}

#[test]
fn bad_configuration_files_are_named_with_line_and_field() {
    let head = "apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\n";
    let check = |name: &str, text: &str, flags: &[&str], wanted: &str| {
        let path = file("config", name, text);
        let path = path.to_str().unwrap();
        let run = bayplan(&[&["run", "--config", path], flags].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{name}");
        assert_eq!(
            run.stderr,
            format!("error: {}\n", wanted.replace("FILE", path))
        );
    };
    check(
        "unknown.yaml",
        &format!("{head}logging:\n  level: 3\n"),
        &[],
        "FILE:4:10: logging.level: unknown field `level`, expected `format` or `verbosity`",
    );
    check(
        "contradiction.yaml",
        &format!("{head}leaderElection: {{leaseDuration: 5s}}\n"),
        &[],
        "FILE:3:33: leaderElection.leaseDuration: 5s is not longer than the renew deadline, 10s; \
         make the lease longer or the deadline shorter, for example 15s and 10s",
    );
    // The file is fine without the flag, so the flag is named.
    check(
        "fine.yaml",
        &format!("{head}leaderElection: {{leaseDuration: 20s}}\n"),
        &["--leader-elect-renew-deadline=30s"],
        "--leader-elect-lease-duration or leaderElection.leaseDuration: 20s is not longer than the \
         renew deadline, 30s; make the lease longer or the deadline shorter, for example 15s and \
         10s",
    );
    check(
        "empty.yaml",
        "---\n",
        &[],
        "FILE: the file is empty; give a BayplanConfiguration",
    );
    check(
        "two.yaml",
        &format!("{head}---\n{head}"),
        &[],
        "FILE: the file has several documents; give one BayplanConfiguration",
    );
    check(
        "syntax.yaml",
        "a: [1\n",
        &[],
        "FILE:2:1: not valid YAML: did not find expected ',' or ']'",
    );
    let run = bayplan(&["run", "--config", "/does/not/exist"]);
    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: there is no file /does/not/exist; check the path\n"
    );
}

#[test]
fn a_configuration_file_that_flags_mend_is_accepted() {
    let text = "apiVersion: bayplan.dev/v1alpha1\nkind: BayplanConfiguration\n\
                leaderElection: {leaseDuration: 5s}\n";
    let path = file("mended", "config.yaml", text);
    let written = path.with_file_name("written.yaml");
    let run = bayplan(&[
        "run",
        "--config",
        path.to_str().unwrap(),
        "--leader-elect-renew-deadline=4s",
        "--write-config-to",
        written.to_str().unwrap(),
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn validate_says_no_with_1_and_names_every_problem() {
    let text = "apiVersion: bayplan.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: p}\n\
                spec:\n  schedulerName: p\n  plugins:\n    multiPoint:\n      enabled:\n      \
                - name: DynamicResources\n      - name: Nope\n  percentageOfNodesToScore: 101\n";
    let path = file("validate", "profile.yaml", text);
    let path = path.to_str().unwrap();
    let run = bayplan(&["validate", path]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (1, "3 problems in 1 object\n")
    );
    assert_golden(
        "validate/problems.txt",
        &run.stdout.replace(path, "profile.yaml"),
    );
    let run = bayplan_with_input(&["validate", "-"], text);
    assert_eq!(run.code, 1);
    assert!(
        run.stdout.starts_with("standard input:11:"),
        "{}",
        run.stdout
    );
    let run = bayplan(&["validate", "/does/not/exist"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert_eq!(
        run.stderr,
        "error: there is no file /does/not/exist; check the path\n"
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = command(&["crd"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stderr, b"");
}

#[cfg(feature = "live")]
#[test]
fn sigterm_ends_run_with_0_and_ctrl_c_with_130() {
    use std::io::{BufRead, BufReader};

    // Nobody listens on port 1; the scheduler goes on trying until it is told to stop.
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: x\n\
                      clusters: [{name: x, cluster: {server: 'https://127.0.0.1:1'}}]\n\
                      contexts: [{name: x, context: {cluster: x, user: x}}]\n\
                      users: [{name: x, user: {token: t}}]\n";
    let path = file("signals", "kubeconfig.yaml", kubeconfig);
    for (signal, code) in [("-TERM", 0), ("-INT", 130)] {
        let mut child = command(&["run", "--leader-elect=false", "--secure-port=0"])
            .args(["--kubeconfig", path.to_str().unwrap()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(log.any(|line| line.unwrap().contains("starting")));
        let kill = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        // The pipe must not fill up while the process ends.
        log.for_each(drop);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
    }
}
