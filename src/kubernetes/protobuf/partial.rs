//! Bodies and messages of which not all bytes have come yet.

use bytes::{Buf, Bytes, BytesMut};

use crate::kubernetes::protobuf::DecodeError;

/// The longest varint, in bytes (<https://protobuf.dev/programming-guides/encoding/#varints>).
const VARINT_MAX: usize = 10;

/// Adds the next bytes of a body to those that are not read yet.
pub(super) fn append(unread: &mut BytesMut, data: Bytes) {
    if unread.is_empty() {
        // Often the only owner of whole parts: then nothing is copied.
        *unread = data.into();
    } else {
        unread.extend_from_slice(&data);
    }
}

/// The beginning of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Which field it is.
    pub(super) number: usize,
    /// Bytes before the value.
    pub(super) begins: usize,
    /// Bytes of the value.
    pub(super) length: usize,
}

// === impl Header ===

impl Header {
    /// That of the field with which `bytes` begin; `None` if more of them must come first.
    pub(super) fn peek(bytes: &[u8]) -> Result<Option<Self>, DecodeError> {
        let Some((key, begins)) = varint(bytes)? else {
            return Ok(None);
        };
        let rest = &bytes[begins..];
        let (before, length) = match key & 0b111 {
            0 => match varint(rest)? {
                Some((_, length)) => (0, length),
                None => return Ok(None),
            },
            1 => (0, size_of::<u64>()),
            2 => match varint(rest)? {
                Some((length, before)) => (before, length),
                None => return Ok(None),
            },
            5 => (0, size_of::<u32>()),
            other => return Err(DecodeError::WireType(other)),
        };
        Ok(Some(Self {
            number: key >> 3,
            begins: begins + before,
            length,
        }))
    }

    /// Bytes of the whole field.
    pub(super) fn whole(self) -> usize {
        self.begins.saturating_add(self.length)
    }

    /// Takes the field out and gives its value.
    pub(super) fn take(self, bytes: &mut BytesMut) -> Bytes {
        bytes.advance(self.begins);
        bytes.split_to(self.length).freeze()
    }
}

/// The number with which `bytes` begin, and how many of them it has; `None` if more must come first.
fn varint(bytes: &[u8]) -> Result<Option<(usize, usize)>, DecodeError> {
    let begin = &bytes[..bytes.len().min(VARINT_MAX)];
    let last = begin.iter().position(|byte| byte & 0x80 == 0);
    if last.is_none() && begin.len() < VARINT_MAX {
        return Ok(None);
    }
    let number = prost::decode_length_delimiter(begin)?;
    Ok(last.map(|last| (number, last + 1)))
}
