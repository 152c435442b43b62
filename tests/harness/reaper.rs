//! Cleans up behind a harness that was killed: `Drop` does not run on SIGKILL.
//!
//! A small shell reads from a pipe which processes and folders are ours. The pipe closes when the
//! harness ends, however it ends; the shell then kills and removes what is still on its list.

use std::fmt::Display;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Context;

/// Lines `+ENTRY` and `-ENTRY` add to and take from the list; an entry is `pid N` or `dir PATH`.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
IFS='
'
set -f
entries=
while read -r line; do
  case $line in
    +*) entries="$entries${line#+}$IFS" ;;
    -*) kept=
        for entry in $entries; do [ "$entry" = "${line#-}" ] || kept="$kept$entry$IFS"; done
        entries=$kept ;;
  esac
done
for entry in $entries; do case $entry in pid\ *) kill -9 "${entry#pid }" ;; esac; done
for entry in $entries; do case $entry in dir\ *) rm -rf -- "${entry#dir }" ;; esac; done
"#;

static REAPER: OnceLock<Mutex<Child>> = OnceLock::new();

/// Has the process killed when the harness dies.
pub(crate) fn watch_process(pid: u32) -> anyhow::Result<()> {
    tell('+', "pid", pid)
}

/// Takes a process off the list: it has been waited for, or is meant to stay.
pub(crate) fn forget_process(pid: u32) -> anyhow::Result<()> {
    tell('-', "pid", pid)
}

/// Has the folder removed when the harness dies.
pub(crate) fn watch_folder(path: &Path) -> anyhow::Result<()> {
    tell('+', "dir", path.display())
}

/// Takes a folder off the list: it is gone, or is meant to stay.
pub(crate) fn forget_folder(path: &Path) -> anyhow::Result<()> {
    tell('-', "dir", path.display())
}

fn tell(sign: char, kind: &str, what: impl Display) -> anyhow::Result<()> {
    let reaper = if let Some(reaper) = REAPER.get() {
        reaper
    } else {
        let started = start()?;
        REAPER.get_or_init(|| Mutex::new(started))
    };
    let mut child = reaper.lock().unwrap_or_else(PoisonError::into_inner);
    let pipe = child.stdin.as_mut().context("the reaper has no pipe")?;
    writeln!(pipe, "{sign}{kind} {what}").context("the reaper does not listen")
}

fn start() -> anyhow::Result<Child> {
    Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .context("the shell that cleans up behind the harness could not be started")
}
