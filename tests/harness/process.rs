//! A child process with a log file, that ends with its owner.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::reaper;
use super::wait::POLL_INTERVAL;

/// Clock ticks of `/proc/PID/stat` in a second: `USER_HZ` is 100 on every Linux port in use.
const TICKS_PER_SECOND: u64 = 100;

/// What [`Process::signal`] can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Please end.
    Term,
    /// End now; cannot be caught.
    Kill,
    /// Ctrl-C.
    Interrupt,
    /// Freeze until `Continue`.
    Stop,
    /// Thaw after `Stop`.
    Continue,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Kill => "KILL",
            Self::Interrupt => "INT",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }
}

/// What a process has used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    /// User and system time of all its threads, in steps of 10 ms.
    pub(crate) cpu: Duration,
    /// The resident set now, in bytes.
    pub(crate) rss: u64,
    /// The largest resident set so far, in bytes.
    pub(crate) peak_rss: u64,
}

/// A running child. It is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    status: Option<ExitStatus>,
    detached: bool,
}

impl Process {
    /// Starts `command` in a process group of its own, so that Ctrl-C in a terminal reaches the
    /// harness alone. Standard output and error are appended to `log`.
    pub(crate) fn spawn(name: &str, mut command: Command, log: &Path) -> anyhow::Result<Self> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("the log {} cannot be written", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0)
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let process = Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
            status: None,
            detached: false,
        };
        reaper::watch_process(process.id())?;
        Ok(process)
    }

    /// The name given at the start.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The file with its output.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of its output.
    pub(crate) fn log_tail(&self, lines: usize) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// The exit status, if the process has ended.
    pub(crate) fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
            if self.status.is_some() {
                reaper::forget_process(self.id())?;
            }
        }
        Ok(self.status)
    }

    /// Waits for the end of the process.
    pub(crate) async fn wait(&mut self, timeout: Duration) -> anyhow::Result<ExitStatus> {
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(status);
            }
            if tokio::time::Instant::now() >= deadline {
                bail!(
                    "{} (pid {}) still runs after {timeout:?}",
                    self.name,
                    self.id()
                );
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Sends a signal; an error if the process has ended already.
    pub(crate) fn signal(&mut self, signal: Signal) -> anyhow::Result<()> {
        if let Some(status) = self.exit_status()? {
            bail!("{} has ended already ({status})", self.name);
        }
        if signal == Signal::Kill {
            return self
                .child
                .kill()
                .with_context(|| format!("{} cannot be killed", self.name));
        }
        // The shell's own kill: the program of that name is not installed everywhere.
        let status = Command::new("sh")
            .args([
                "-c",
                "kill -s \"$1\" \"$2\"",
                "sh",
                signal.name(),
                &self.id().to_string(),
            ])
            .status()?;
        ensure!(
            status.success(),
            "SIG{} did not reach {}",
            signal.name(),
            self.name
        );
        Ok(())
    }

    /// CPU time and memory of the running process, from `/proc`. They are gone once it has ended,
    /// so read them before.
    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        let folder = PathBuf::from(format!("/proc/{}", self.id()));
        let read = |file: &str| {
            fs::read_to_string(folder.join(file))
                .with_context(|| format!("{} has no /proc/{}/{file}", self.name, self.id()))
        };
        let status = read("status")?;
        Ok(Usage {
            cpu: cpu_time(&read("stat")?)?,
            rss: memory(&status, "VmRSS:")?,
            peak_rss: memory(&status, "VmHWM:")?,
        })
    }

    /// Kills the process and waits for its end. Does nothing if it has ended.
    pub(crate) fn kill(&mut self) {
        if self.status.is_none() {
            // An error means that it ended in between, which is what is wanted.
            let _ = self.child.kill();
            self.status = self.child.wait().ok();
            let _ = reaper::forget_process(self.id());
        }
    }

    /// Lets the process outlive the harness.
    pub(crate) fn detach(mut self) -> anyhow::Result<()> {
        self.detached = true;
        reaper::forget_process(self.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.detached {
            self.kill();
        }
    }
}

/// `utime` and `stime`, fields 14 and 15 of `/proc/PID/stat`. Field 2, the name, is in
/// parentheses and may itself hold spaces and parentheses.
fn cpu_time(stat: &str) -> anyhow::Result<Duration> {
    let after_name = stat.rsplit_once(')').context("no name in /proc stat")?.1;
    let ticks: Vec<u64> = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    ensure!(ticks.len() == 2, "no times in /proc stat");
    let milliseconds = ticks.iter().sum::<u64>() * (1000 / TICKS_PER_SECOND);
    Ok(Duration::from_millis(milliseconds))
}

/// A line of `/proc/PID/status` that is in kibibytes there.
fn memory(status: &str, name: &str) -> anyhow::Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes: u64 = line
        .and_then(|rest| rest.split_whitespace().next())
        .with_context(|| format!("no {name} in /proc status"))?
        .parse()?;
    Ok(kibibytes * 1024)
}
