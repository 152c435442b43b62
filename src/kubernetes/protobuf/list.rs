//! Lists: `PodList` and `NodeList` (k8s.io/api, `core/v1`), which are alike. They are read while
//! they come, so that nobody holds a page as a whole.

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;

use crate::kubernetes::protobuf::envelope::{self, MAGIC, TypeMeta};
use crate::kubernetes::protobuf::partial::{self, Header};
use crate::kubernetes::protobuf::{DecodeError, OBJECT_MAX, omit_empty};

#[derive(Clone, PartialEq, Message)]
struct ListMeta {
    #[prost(string, tag = "2")]
    resource_version: String,
    #[prost(string, tag = "3")]
    continue_: String,
}

/// What a list has.
#[derive(Clone, Debug, PartialEq)]
pub enum ListPart {
    /// How far it is, which the API server says before anything else.
    Metadata {
        /// The version of the whole list; never empty.
        resource_version: String,
        /// The token with which the next page is asked for; the last page has none.
        next: Option<String>,
    },
    /// The message of an object.
    Item(Bytes),
}

/// Reads the body of an answer to a list. Whoever takes all parts out after each push makes it hold
/// no more than one object and what was pushed last.
#[derive(Debug, Default)]
pub struct ListReader {
    unread: BytesMut,
    place: Place,
    kind: String,
    has_metadata: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    /// The first bytes.
    #[default]
    Magic,
    /// Fields of the envelope before the list.
    Envelope,
    /// The list, of which so many bytes are left.
    List { left: usize },
    /// Fields of the envelope after the list.
    End,
}

// === impl ListReader ===

impl ListReader {
    /// Adds the next bytes of the body.
    pub fn push(&mut self, data: Bytes) {
        partial::append(&mut self.unread, data);
    }

    /// The next part, if it has come as a whole.
    #[expect(
        clippy::should_implement_trait,
        reason = "`None` is not the end: more may be pushed"
    )]
    pub fn next(&mut self) -> Result<Option<ListPart>, DecodeError> {
        loop {
            let is_through = match self.place {
                Place::Magic => self.magic()?,
                Place::Envelope | Place::End => self.envelope()?,
                Place::List { left: 0 } => {
                    self.place = Place::End;
                    true
                }
                Place::List { left } => {
                    let Some(field) = self.field(left)? else {
                        return Ok(None);
                    };
                    let left = left - field.whole();
                    self.place = Place::List { left };
                    let value = field.take(&mut self.unread);
                    match field.number {
                        1 => return self.metadata(value).map(Some),
                        2 => return Ok(Some(ListPart::Item(value))),
                        _ => true,
                    }
                }
            };
            if !is_through {
                return Ok(None);
            }
        }
    }

    /// The body has ended: tells whether the list was whole.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.place == Place::Magic {
            return Err(DecodeError::NoEnvelope);
        }
        if self.place != Place::End || !self.unread.is_empty() {
            return Err(DecodeError::CutOff);
        }
        self.has_metadata
            .then_some(())
            .ok_or(DecodeError::NoVersion)
    }

    fn magic(&mut self) -> Result<bool, DecodeError> {
        let length = self.unread.len().min(MAGIC.len());
        if self.unread[..length] != MAGIC[..length] {
            return Err(DecodeError::NoEnvelope);
        }
        if length < MAGIC.len() {
            return Ok(false);
        }
        self.unread.advance(length);
        self.place = Place::Envelope;
        Ok(true)
    }

    /// A field of the envelope; tells whether it was there.
    fn envelope(&mut self) -> Result<bool, DecodeError> {
        let begin = Header::peek(&self.unread)?;
        if let Some(list) = begin.filter(|begin| begin.number == envelope::RAW) {
            return self.begin_list(list).map(|()| true);
        }
        let Some(field) = self.field(usize::MAX)? else {
            return Ok(false);
        };
        let value = field.take(&mut self.unread);
        match field.number {
            envelope::TYPE_META => self.kind = TypeMeta::decode(value)?.kind,
            envelope::CONTENT_ENCODING | envelope::CONTENT_TYPE => {
                envelope::check_encoding(&String::from_utf8_lossy(&value))?;
            }
            _ => {}
        }
        Ok(true)
    }

    fn begin_list(&mut self, list: Header) -> Result<(), DecodeError> {
        if self.place == Place::End || !self.kind.ends_with("List") {
            return Err(DecodeError::Kind {
                found: self.kind.clone(),
                wanted: "list",
            });
        }
        self.unread.advance(list.begins);
        self.place = Place::List { left: list.length };
        Ok(())
    }

    /// The next field, if it has come as a whole; it may have `limit` bytes.
    fn field(&self, limit: usize) -> Result<Option<Header>, DecodeError> {
        let Some(field) = Header::peek(&self.unread)? else {
            return Ok(None);
        };
        if field.length > OBJECT_MAX {
            return Err(DecodeError::ObjectTooLong(field.length));
        }
        if field.whole() > limit {
            return Err(DecodeError::CutOff);
        }
        Ok((field.whole() <= self.unread.len()).then_some(field))
    }

    fn metadata(&mut self, message: Bytes) -> Result<ListPart, DecodeError> {
        let metadata = ListMeta::decode(message)?;
        self.has_metadata = true;
        Ok(ListPart::Metadata {
            resource_version: omit_empty(metadata.resource_version)
                .ok_or(DecodeError::NoVersion)?,
            next: omit_empty(metadata.continue_),
        })
    }
}
