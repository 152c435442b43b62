//! The API server's audit log: who asked for what, when, and what was answered.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// Bodies of the writes that the checks look into; the bare facts of everything else.
pub(crate) const POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete]
  resources:
  - group: ''
    resources: [bindings, pods/binding, pods/status]
  - group: coordination.k8s.io
    resources: [leases]
- level: Metadata
";

/// Names the token of a service account in its user's extra attributes.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// One finished request.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditEvent {
    /// `create`, `patch`, `watch` and so on.
    pub(crate) verb: String,
    /// Path and query.
    #[serde(rename = "requestURI")]
    pub(crate) request_uri: String,
    /// Who asked.
    pub(crate) user: User,
    /// With what program; empty if it did not say.
    #[serde(default)]
    pub(crate) user_agent: String,
    /// What it was about; none for `/readyz` and the like.
    pub(crate) object_ref: Option<ObjectRef>,
    /// The answer; none if the connection broke.
    pub(crate) response_status: Option<ResponseStatus>,
    /// The body, at level `RequestResponse`.
    #[serde(default)]
    pub(crate) request_object: Value,
    /// When the server got the request.
    pub(crate) request_received_timestamp: Timestamp,
    /// When it had answered.
    pub(crate) stage_timestamp: Timestamp,
}

/// The authenticated user of a request.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct User {
    /// `admin`, `system:serviceaccount:NAMESPACE:NAME` and so on.
    #[serde(default)]
    pub(crate) username: String,
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

/// The object of a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ObjectRef {
    /// Plural, like `pods`.
    pub(crate) resource: String,
    /// Like `binding`; empty if none.
    pub(crate) subresource: String,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
}

/// The answer of the server.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ResponseStatus {
    /// The HTTP status.
    pub(crate) code: u16,
}

/// Who sent a bind. Replicas of one scheduler share a user; their tokens differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Issuer {
    /// The user name.
    pub(crate) user: String,
    /// The id of its token (`JTI=…`); empty for users without one.
    pub(crate) credential: String,
    /// The program.
    pub(crate) user_agent: String,
}

/// One request to bind a pod.
#[derive(Debug, Clone)]
pub(crate) struct Bind {
    /// `NAMESPACE/NAME`.
    pub(crate) pod: String,
    /// The pod's UID as the request gave it; empty if it gave none.
    pub(crate) uid: String,
    /// The node asked for.
    pub(crate) node: String,
    /// Who asked.
    pub(crate) issuer: Issuer,
    /// When the server got the request.
    pub(crate) received: Timestamp,
    /// When it had answered.
    pub(crate) answered: Timestamp,
    /// The HTTP status; 0 if the connection broke before.
    pub(crate) code: u16,
}

impl Bind {
    /// Whether the pod was bound by this request.
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

/// A file that the API server appends to.
#[derive(Debug, Clone)]
pub(crate) struct AuditLog {
    path: PathBuf,
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// All requests answered so far, in the order of the answers.
    pub(crate) fn events(&self) -> anyhow::Result<Vec<AuditEvent>> {
        self.read(|_| true)
    }

    /// All requests to bind a pod, successful or not, in the order of the answers.
    pub(crate) fn binds(&self) -> anyhow::Result<Vec<Bind>> {
        let events = self.read(|line| line.contains("binding"))?;
        Ok(events.into_iter().filter_map(Bind::from_event).collect())
    }

    /// Decodes the lines that `wanted` lets through. A last line without its end is being written
    /// just now and is left for the next call.
    fn read(&self, wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<AuditEvent>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).context("the audit log cannot be read"),
        };
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        complete
            .lines()
            .filter(|line| wanted(line))
            .map(|line| {
                serde_json::from_str(line).with_context(|| format!("no audit event: {line}"))
            })
            .collect()
    }
}

impl Bind {
    fn from_event(event: AuditEvent) -> Option<Self> {
        let object = event.object_ref?;
        let is_bind = match (object.resource.as_str(), object.subresource.as_str()) {
            ("pods", "binding") | ("bindings", "") => event.verb == "create",
            _ => false,
        };
        if !is_bind {
            return None;
        }
        let body = |pointer: &str| {
            let value = event
                .request_object
                .pointer(pointer)
                .and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let name = if object.name.is_empty() {
            body("/metadata/name")
        } else {
            object.name
        };
        let credential = event
            .user
            .extra
            .get(CREDENTIAL_ID)
            .and_then(|ids| ids.first());
        Some(Self {
            pod: format!("{}/{name}", object.namespace),
            uid: body("/metadata/uid"),
            node: body("/target/name"),
            issuer: Issuer {
                credential: credential.cloned().unwrap_or_default(),
                user: event.user.username,
                user_agent: event.user_agent,
            },
            received: event.request_received_timestamp,
            answered: event.stage_timestamp,
            code: event.response_status.map_or(0, |status| status.code),
        })
    }
}

/// The time between the last success of one issuer and the first success of the next.
#[derive(Debug, Clone)]
pub(crate) struct Handover {
    /// Who bound until then.
    pub(crate) from: Issuer,
    /// Who bound from then on.
    pub(crate) to: Issuer,
    /// When the last bind of `from` was answered.
    pub(crate) last: Timestamp,
    /// When the first bind of `to` was answered.
    pub(crate) first: Timestamp,
}

impl Handover {
    /// How long nothing was bound; zero if they overlap.
    pub(crate) fn gap(&self) -> Duration {
        self.first
            .duration_since(self.last)
            .try_into()
            .unwrap_or_default()
    }
}

/// The changes of issuer in the order of the successful binds. Two that bind at the same time show
/// as many handovers with hardly a gap.
pub(crate) fn handovers(binds: &[Bind]) -> Vec<Handover> {
    let mut successes: Vec<&Bind> = binds.iter().filter(|bind| bind.succeeded()).collect();
    successes.sort_by_key(|bind| bind.answered);
    let pairs = successes
        .windows(2)
        .filter(|pair| pair[0].issuer != pair[1].issuer);
    pairs
        .map(|pair| Handover {
            from: pair[0].issuer.clone(),
            to: pair[1].issuer.clone(),
            last: pair[0].answered,
            first: pair[1].answered,
        })
        .collect()
}
