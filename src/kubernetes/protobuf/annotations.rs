//! An entry of the annotations. They may be as large as the rest of the object, so that the values
//! of those that nobody reads are not even copied out of the message.

use prost::DecodeError;
use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, skip_field, string};

use crate::model::objects::metadata;

const KEY: u32 = 1;
const VALUE: u32 = 2;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Annotation {
    key: String,
    /// Empty if nobody reads the annotation and the key came first, as it does.
    value: String,
}

impl Annotation {
    /// The entry, if somebody reads it.
    pub(super) fn kept(self) -> Option<(String, String)> {
        metadata::is_kept(&self.key).then_some((self.key, self.value))
    }
}

impl Message for Annotation {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        string::encode(KEY, &self.key, buffer);
        string::encode(VALUE, &self.value, buffer);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        let is_wanted = self.key.is_empty() || metadata::is_kept(&self.key);
        match tag {
            KEY => string::merge(wire_type, &mut self.key, buffer, context),
            VALUE if is_wanted => string::merge(wire_type, &mut self.value, buffer, context),
            _ => skip_field(wire_type, tag, buffer, context),
        }
    }

    fn encoded_len(&self) -> usize {
        string::encoded_len(KEY, &self.key) + string::encoded_len(VALUE, &self.value)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
