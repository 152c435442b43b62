//! JSON as Go's `encoding/json` reads it into structs: names of fields match whatever their case,
//! `null` is the zero value, unknown fields and what follows the value are ignored.

use bytes::Bytes;
use serde::de::DeserializeOwned;

/// Reads the first value of `text`. The errors about empty and broken off texts are Go's.
pub(super) fn read<T: DeserializeOwned>(text: &Bytes) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    T::deserialize(&mut reader).map_err(|error| match () {
        () if text.trim_ascii().is_empty() => "EOF".to_owned(),
        () if error.is_eof() => "unexpected EOF".to_owned(),
        () => format!("the extender's answer cannot be read: {error}"),
    })
}

/// A struct whose fields are found as Go finds them. Every field has a default.
macro_rules! go_struct {
    ($(#[$doc:meta])* struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $go:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(super) struct $name { $($(#[$field_doc])* pub(super) $field: $type,)* }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object with the fields" $(, " ", $go)*))
                    }

                    fn visit_unit<E>(self) -> Result<$name, E> {
                        Ok($name::default())
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        let mut read = $name::default();
                        while let Some(key) = map.next_key::<String>()? {
                            $(if key.eq_ignore_ascii_case($go) {
                                read.$field = map.next_value::<Option<$type>>()?.unwrap_or_default();
                                continue;
                            })*
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                        Ok(read)
                    }
                }
                deserializer.deserialize_any(Fields)
            }
        }
    };
}
pub(super) use go_struct;
