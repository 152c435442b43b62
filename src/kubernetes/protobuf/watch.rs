//! Events of a watch: `WatchEvent` (k8s.io/apimachinery, `pkg/apis/meta/v1`) without an envelope,
//! around an object in one.

use bytes::Bytes;
use prost::Message;

use crate::kubernetes::protobuf::status::Status;
use crate::kubernetes::protobuf::{DecodeError, envelope, identity};

#[derive(Clone, PartialEq, Message)]
struct WatchEvent {
    #[prost(string, tag = "1")]
    type_: String,
    #[prost(message, optional, tag = "2")]
    object: Option<RawExtension>,
}

#[derive(Clone, PartialEq, Message)]
struct RawExtension {
    #[prost(bytes = "bytes", tag = "1")]
    raw: Bytes,
}

/// One event of a watch. Messages of objects share the bytes of their frame.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchMessage {
    /// An object is new.
    Added(Bytes),
    /// An object has changed.
    Modified(Bytes),
    /// An object is gone; this is its last state.
    Deleted(Bytes),
    /// All events up to a version have been sent.
    Bookmark {
        /// The version; never empty.
        resource_version: String,
    },
    /// The watch cannot go on.
    Error(Status),
}

/// Reads one frame of a watch.
pub fn watch_message(frame: Bytes) -> Result<WatchMessage, DecodeError> {
    let event = WatchEvent::decode(frame)?;
    let object = envelope::open(event.object.unwrap_or_default().raw)?;
    match &*event.type_ {
        "ADDED" => Ok(WatchMessage::Added(object.raw)),
        "MODIFIED" => Ok(WatchMessage::Modified(object.raw)),
        "DELETED" => Ok(WatchMessage::Deleted(object.raw)),
        "BOOKMARK" => {
            let version = identity(&object.raw).resource_version;
            let resource_version = version.ok_or(DecodeError::NoVersion)?;
            Ok(WatchMessage::Bookmark { resource_version })
        }
        "ERROR" => Status::of(object).map(WatchMessage::Error),
        _ => Err(DecodeError::EventType(event.type_)),
    }
}
