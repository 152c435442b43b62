//! `Status` (k8s.io/apimachinery, `pkg/apis/meta/v1`): why the API server refuses a request.

use bytes::Bytes;
use prost::Message;
use serde::Deserialize;

use crate::kubernetes::protobuf::DecodeError;
use crate::kubernetes::protobuf::envelope::{self, Enveloped, MAGIC};

/// The name of the kind.
const KIND: &str = "Status";

#[derive(Clone, PartialEq, Message)]
struct StatusMessage {
    #[prost(string, tag = "3")]
    message: String,
    #[prost(string, tag = "4")]
    reason: String,
    #[prost(message, optional, tag = "5")]
    details: Option<Details>,
    #[prost(int32, tag = "6")]
    code: i32,
}

/// The same in JSON.
#[derive(Deserialize)]
struct StatusObject {
    kind: String,
    #[serde(flatten)]
    status: Status,
}

/// What the API server says of a request that it refuses.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, thiserror::Error)]
#[serde(default)]
#[error("{message}")]
pub struct Status {
    /// As of HTTP; 410 if a version is too old to go on from it.
    pub code: i32,
    /// A word for programs, such as `Expired`.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// More about it.
    pub details: Option<Details>,
}

/// What else the API server says of a request that it refuses.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Details {
    /// How many seconds it wants to be left alone, 0 if it does not say.
    #[prost(int32, tag = "5")]
    pub retry_after_seconds: i32,
}

impl Status {
    /// Reads the object if it is a status.
    pub(super) fn of(object: Enveloped) -> Result<Self, DecodeError> {
        if object.kind != KIND {
            return Err(DecodeError::Kind {
                found: object.kind,
                wanted: KIND,
            });
        }
        let status = StatusMessage::decode(object.raw)?;
        Ok(Self {
            code: status.code,
            reason: status.reason,
            message: status.message,
            details: status.details,
        })
    }
}

/// Reads the body of a failed answer, which may be protobuf or JSON, or neither if it comes from
/// something between here and the API server.
pub fn status(body: &[u8]) -> Option<Status> {
    if body.starts_with(MAGIC) {
        let object = envelope::open(Bytes::copy_from_slice(body)).ok()?;
        return Status::of(object).ok();
    }
    let object: StatusObject = serde_json::from_slice(body).ok()?;
    (object.kind == KIND).then_some(object.status)
}
