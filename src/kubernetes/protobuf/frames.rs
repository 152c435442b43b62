//! The frames of a watch: four bytes of length, big endian, and the message of an event.

use bytes::{Buf, Bytes, BytesMut};

use crate::kubernetes::protobuf::{DecodeError, OBJECT_MAX, partial};

const HEADER: usize = size_of::<u32>();

/// Splits the body of a watch into frames. Whoever takes all frames out after each push never
/// holds more than one frame and what was pushed last.
#[derive(Debug, Default)]
pub struct Frames {
    unread: BytesMut,
}

impl Frames {
    /// Adds the next bytes of the body.
    pub fn push(&mut self, data: Bytes) {
        partial::append(&mut self.unread, data);
    }

    /// The next whole frame, if it has arrived. After an error every further call fails alike.
    #[expect(
        clippy::should_implement_trait,
        reason = "`None` is not the end: more may be pushed"
    )]
    pub fn next(&mut self) -> Result<Option<Bytes>, DecodeError> {
        let Some(header) = self.unread.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*header);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > OBJECT_MAX {
            return Err(DecodeError::FrameTooLong(length));
        }
        if self.unread.len() < HEADER + length {
            return Ok(None);
        }
        self.unread.advance(HEADER);
        Ok(Some(self.unread.split_to(length).freeze()))
    }
}
