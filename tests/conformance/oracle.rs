//! The oracle: upstream's own scheduler as a server on a pipe, one cluster a line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::configuration::configuration;

/// For one cluster on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// What upstream says about a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) records: Vec<Value>,
    /// How often a kind of preemption occurred in them.
    pub(crate) preemptions: BTreeMap<String, u64>,
}

/// A running oracle; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Oracle {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<std::io::Result<String>>,
}

impl Oracle {
    /// Starts the one at `binary`, or builds one first, which takes minutes on a fresh machine.
    pub(crate) fn start(binary: Option<&Path>) -> anyhow::Result<Self> {
        let binary = binary.map_or_else(build, |given| Ok(given.to_owned()))?;
        let mut child = Command::new(binary)
            .arg("--serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .context("the oracle cannot be started")?;
        let requests = child.stdin.take();
        let output = child.stdout.take().context("the oracle must have a pipe")?;
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            requests,
            answers,
        })
    }

    /// Upstream's answer for a cluster, decided without the `disabled` plugins, or why it takes no
    /// such cluster. With `validate` it takes none with pods that the API server would refuse.
    ///
    /// # Errors
    /// The oracle is gone or answers nothing that can be read.
    pub(crate) fn decide(
        &mut self,
        objects: &[Value],
        disabled: &[&str],
        validate: bool,
    ) -> anyhow::Result<Result<Answer, String>> {
        let request = json!({"cluster": documents(objects),
            "configuration": configuration(objects, disabled).to_string(), "validate": validate});
        let requests = self.requests.as_mut().context("the oracle must listen")?;
        writeln!(requests, "{request}").context("the oracle is gone")?;
        let answer = match self.answers.recv_timeout(PATIENCE) {
            Ok(line) => line.context("the oracle's answer cannot be read")?,
            Err(error) => bail!("the oracle does not answer: {error}"),
        };
        let mut answer: Value =
            serde_json::from_str(&answer).context("the oracle's answer is no JSON")?;
        if let Some(error) = answer["error"].as_str().filter(|error| !error.is_empty()) {
            return Ok(Err(error.to_owned()));
        }
        let records = match answer["records"].take() {
            Value::Array(records) => records,
            Value::Null => Vec::new(),
            _ => bail!("the oracle's records are no list"),
        };
        let preemptions = answer["preemptions"].as_object().into_iter().flatten();
        let count = |(kind, count): (&String, &Value)| Some((kind.clone(), count.as_u64()?));
        Ok(Ok(Answer {
            records,
            preemptions: preemptions.filter_map(count).collect(),
        }))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It ends with its input; one that hangs is killed.
        self.requests = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The cluster file. JSON is YAML, and has no doubtful words.
fn documents(objects: &[Value]) -> String {
    let texts: Vec<_> = objects.iter().map(Value::to_string).collect();
    texts.join("\n---\n")
}

fn build() -> anyhow::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane/build");
    let output = Command::new(&script)
        .arg("oracle")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{} cannot be run", script.display()))?;
    ensure!(
        output.status.success(),
        "the oracle could not be built, see above"
    );
    let text = String::from_utf8(output.stdout)?;
    let folder = text
        .lines()
        .last()
        .context("the build script printed no folder")?;
    Ok(Path::new(folder).join("oracle"))
}
