//! Pods and nodes as the API server sends them in protobuf, decoded into the slim objects, and what
//! is written for each pod.
//!
//! The messages hold only the fields that the objects have; everything else is skipped without
//! being copied. Their field numbers are those of `generated.proto` in k8s.io/api and
//! k8s.io/apimachinery v0.37 and never change. What comes out equals what the JSON of the same
//! object decodes to: a value that Go's JSON leaves out when it is empty is absent here too
//! (`omit_empty`), while protobuf always carries it; what is a pointer in Go is an `Option`.

mod affinity;
mod annotations;
mod containers;
mod envelope;
mod frames;
mod list;
mod metadata;
mod node;
mod partial;
mod placement;
mod pod;
mod pod_status;
mod quantity;
mod selector;
mod status;
#[cfg(test)]
mod tests;
mod time;
mod volumes;
mod watch;
mod written;

pub use frames::Frames;
pub use list::{ListPart, ListReader};
pub use metadata::identity;
pub use status::{Status, status};
pub use watch::{WatchMessage, watch_message};
#[cfg(test)]
pub use written::as_json;
pub use written::{Binding, Event, Metadata, MicroTime, ObjectReference, Written, with_body};

use prost::Message;

use crate::model::objects;

/// What a list is asked for in the `Accept` header.
pub const LIST: &str = "application/vnd.kubernetes.protobuf";

/// What a watch is asked for in the `Accept` header.
pub const WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// What an object, or a frame with one, may have in bytes: etcd takes 1.5 MiB; ten times as much leaves
/// room for whoever raises that.
const OBJECT_MAX: usize = 16 * 1024 * 1024;

/// An object of which the API server sends protobuf.
pub trait Protobuf: Sized {
    /// Decodes the bytes of one message, without envelope.
    fn decode(message: &[u8]) -> Result<Self, DecodeError>;
}

/// Why an answer in protobuf cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are no message, or not one of this kind.
    #[error("protobuf is malformed: {0}")]
    Malformed(prost::DecodeError),
    /// The envelope is missing.
    #[error("answer does not begin as protobuf of the API server does")]
    NoEnvelope,
    /// The envelope holds something else.
    #[error("answer holds {found:?} instead of a {wanted}")]
    Kind {
        /// What the envelope says that it holds.
        found: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// The contents of the envelope are not protobuf, or compressed.
    #[error("answer is encoded as {0:?} inside its envelope")]
    Encoding(String),
    /// A list or a bookmark does not say how far it is.
    #[error("answer names no resource version")]
    NoVersion,
    /// An event that no API server is known to send.
    #[error("watch event has the unknown type {0:?}")]
    EventType(String),
    /// A frame that no object of etcd can fill.
    #[error("frame of a watch says that it has {0} bytes, which is more than any object has")]
    FrameTooLong(usize),
    /// An object that etcd does not take.
    #[error("object of a list says that it has {0} bytes, which is more than any object has")]
    ObjectTooLong(usize),
    /// A kind of field that protobuf does not have, or has given up.
    #[error("protobuf is malformed: field of the unknown kind {0}")]
    WireType(usize),
    /// The answer ends in the middle.
    #[error("answer is cut off")]
    CutOff,
    /// A time that RFC 3339 cannot express.
    #[error("time of {0} seconds since 1970 is out of range")]
    Time(i64),
}

impl From<prost::DecodeError> for DecodeError {
    fn from(error: prost::DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl Protobuf for objects::Pod {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        pod::Pod::decode(message)?.try_into()
    }
}

impl Protobuf for objects::Node {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        node::Node::decode(message)?.try_into()
    }
}

/// A value that Go's JSON has `omitempty` for.
fn omit_empty<T: Default + PartialEq>(value: T) -> Option<T> {
    (value != T::default()).then_some(value)
}

/// Converts a list, which then takes no more room than it needs.
fn each<M, T: From<M>>(messages: Vec<M>) -> Vec<T> {
    let mut list = Vec::with_capacity(messages.len());
    list.extend(messages.into_iter().map(T::from));
    list
}
