//! Runs this program under callgrind and reads the counts.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The function from whose entry to whose exit is counted.
const COUNTED: &str = "*counted_operation*";

/// Counts the operations that this program carries out when called with `argument` and their
/// number.
pub(crate) fn count(argument: &str, operations: usize) -> Result<Vec<u64>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/instructions-counts");
    // What an earlier run left would be read as this one's.
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let counts = (0..operations).map(|operation| {
        let counts = folder.join(format!("{operation}.callgrind"));
        run(&program, &format!("{argument}{operation}"), &counts)?;
        read(&counts, &program)
    });
    counts.collect()
}

fn run(program: &Path, argument: &str, counts: &Path) -> Result<(), String> {
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(program)
        .arg(argument)
        // Nothing in it may move the counts.
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| {
        format!(
            "valgrind does not start ({error}): install it ('apt-get install valgrind', 'dnf \
             install valgrind')"
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<_> = said.lines().rev().take(10).collect();
    let last: Vec<_> = last.into_iter().rev().collect();
    Err(format!(
        "valgrind ended with {}:\n{}",
        output.status,
        last.join("\n")
    ))
}

fn read(path: &Path, program: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let count = parse(&text, program);
    if count == 0 {
        return Err(format!(
            "{} counts nothing: is the binary stripped?",
            path.display()
        ));
    }
    Ok(count)
}

/// Adds up what the program itself executed (<https://valgrind.org/docs/manual/cl-format.html>).
///
/// A line of cost belongs to the object of the last `ob=`; the one after `calls=` repeats what the
/// called function took and is left out. Names are written once and then only numbered.
fn parse(text: &str, program: &Path) -> u64 {
    let mut objects = Names::default();
    let (mut instructions, mut is_own, mut is_repeated) = (0, false, false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            is_own = Path::new(objects.resolve(name)) == program;
        } else if let Some(name) = line.strip_prefix("cob=") {
            objects.resolve(name);
        } else if line.starts_with("calls=") {
            is_repeated = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            if is_own && !is_repeated {
                instructions += number(line.split(' ').nth(1));
            }
            is_repeated = false;
        }
    }
    instructions
}

fn number(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Names by their numbers: `(1) name` the first time, then `(1)`.
#[derive(Default)]
struct Names(Vec<(String, String)>);

impl Names {
    fn resolve(&mut self, text: &str) -> &str {
        let (key, name) = text
            .split_once(") ")
            .unwrap_or((text.trim_end_matches(')'), ""));
        let known = self.0.iter().position(|(known, _)| known == key);
        let index = known.unwrap_or_else(|| {
            self.0.push((key.to_owned(), name.to_owned()));
            self.0.len() - 1
        });
        &self.0[index].1
    }
}
