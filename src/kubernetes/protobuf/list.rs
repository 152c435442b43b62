//! Pages of a list: `PodList` and `NodeList` (k8s.io/api, `core/v1`), which are alike.

use bytes::Bytes;
use prost::Message;

use crate::kubernetes::protobuf::{DecodeError, envelope, omit_empty};

#[derive(Clone, PartialEq, Message)]
struct List {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ListMeta>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    items: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct ListMeta {
    #[prost(string, tag = "2")]
    resource_version: String,
    #[prost(string, tag = "3")]
    continue_: String,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The version of the whole list; never empty.
    pub resource_version: String,
    /// The token with which the next page is asked for; the last page has none.
    pub next: Option<String>,
    /// The messages of the objects, which share the bytes of the page.
    pub items: Vec<Bytes>,
}

/// Reads the body of an answer to a list.
pub fn page(body: Bytes) -> Result<Page, DecodeError> {
    let list = envelope::open(body)?;
    if !list.kind.ends_with("List") {
        return Err(DecodeError::Kind {
            found: list.kind,
            wanted: "list",
        });
    }
    let List { metadata, items } = List::decode(list.raw)?;
    let metadata = metadata.unwrap_or_default();
    Ok(Page {
        resource_version: omit_empty(metadata.resource_version).ok_or(DecodeError::NoVersion)?,
        next: omit_empty(metadata.continue_),
        items,
    })
}
