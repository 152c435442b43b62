//! What the API server wraps an object in: four bytes and `runtime.Unknown` (k8s.io/apimachinery,
//! `pkg/runtime`), which says what the object is.

use bytes::{Buf, Bytes};
use prost::Message;

use crate::kubernetes::protobuf::DecodeError;

/// Begins every object (`pkg/runtime/serializer/protobuf`).
pub(super) const MAGIC: &[u8] = b"k8s\0";

/// Numbers of the fields of `runtime.Unknown`.
pub(super) const TYPE_META: usize = 1;
pub(super) const RAW: usize = 2;
pub(super) const CONTENT_ENCODING: usize = 3;
pub(super) const CONTENT_TYPE: usize = 4;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Unknown {
    #[prost(message, optional, tag = "1")]
    pub(super) type_meta: Option<TypeMeta>,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) raw: Bytes,
    #[prost(string, tag = "3")]
    pub(super) content_encoding: String,
    #[prost(string, tag = "4")]
    pub(super) content_type: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeMeta {
    #[prost(string, tag = "1")]
    pub(super) api_version: String,
    #[prost(string, tag = "2")]
    pub(super) kind: String,
}

/// An object out of its envelope, not copied.
pub(super) struct Enveloped {
    /// Such as `PodList`.
    pub(super) kind: String,
    /// Its message.
    pub(super) raw: Bytes,
}

/// Takes an object out of its envelope.
pub(super) fn open(mut body: Bytes) -> Result<Enveloped, DecodeError> {
    if !body.starts_with(MAGIC) {
        return Err(DecodeError::NoEnvelope);
    }
    body.advance(MAGIC.len());
    let unknown = Unknown::decode(body)?;
    check_encoding(&unknown.content_encoding)?;
    check_encoding(&unknown.content_type)?;
    Ok(Enveloped {
        kind: unknown.type_meta.unwrap_or_default().kind,
        raw: unknown.raw,
    })
}

/// Whether the object can be read as it is.
pub(super) fn check_encoding(encoding: &str) -> Result<(), DecodeError> {
    if matches!(encoding, "" | super::LIST) {
        Ok(())
    } else {
        Err(DecodeError::Encoding(encoding.to_owned()))
    }
}
