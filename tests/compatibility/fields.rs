//! Which fields a type reads: a deserializer that answers every question and writes down the path.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};

/// Types whose inside is one value to the reader.
const VALUES: [&str; 3] = [
    "LabelSelector",
    "NodeSelectorRequirement",
    "TopologySelectorLabelRequirement",
];

/// A text that every type of the model accepts, times included.
const TEXT: &str = "2024-01-01T00:00:00Z";

/// The paths of everything that `T` reads, as `spec.taints[].key`; a map is one value.
pub(crate) fn read_by<T: DeserializeOwned>() -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let tracer = Tracer {
        path: String::new(),
        paths: &mut paths,
        is_open: true,
    };
    T::deserialize(tracer).expect("the tracer must answer what the type asks");
    paths
}

/// Stands at a path and answers with a value of the wanted shape.
struct Tracer<'a> {
    path: String,
    paths: &'a mut BTreeSet<String>,
    /// Whether paths below this one are written down.
    is_open: bool,
}

/// Why a type could not be read.
#[derive(Debug)]
pub(crate) struct Unanswered(String);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unanswered {}

impl de::Error for Unanswered {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Tracer<'_> {
    fn note(&mut self) {
        if self.is_open {
            self.paths.insert(self.path.clone());
        }
    }

    fn below(&mut self, path: String) -> Tracer<'_> {
        Tracer {
            path,
            paths: self.paths,
            is_open: self.is_open,
        }
    }
}

/// Answers a question about a plain value.
macro_rules! plain {
    ($($method:ident => $visit:ident($($value:expr)?)),+ $(,)?) => {$(
        fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Unanswered> {
            self.note();
            visitor.$visit($($value)?)
        }
    )+};
}

impl<'de> de::Deserializer<'de> for Tracer<'_> {
    type Error = Unanswered;

    plain! {
        deserialize_any => visit_str(TEXT),
        deserialize_bool => visit_bool(false),
        deserialize_i8 => visit_i8(0),
        deserialize_i16 => visit_i16(0),
        deserialize_i32 => visit_i32(0),
        deserialize_i64 => visit_i64(0),
        deserialize_u8 => visit_u8(0),
        deserialize_u16 => visit_u16(0),
        deserialize_u32 => visit_u32(0),
        deserialize_u64 => visit_u64(0),
        deserialize_f32 => visit_f32(0.0),
        deserialize_f64 => visit_f64(0.0),
        deserialize_char => visit_char('x'),
        deserialize_str => visit_str(TEXT),
        deserialize_string => visit_str(TEXT),
        deserialize_bytes => visit_bytes(&[]),
        deserialize_byte_buf => visit_bytes(&[]),
        deserialize_unit => visit_unit(),
        deserialize_identifier => visit_str(TEXT),
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unanswered> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unanswered> {
        visitor.visit_some(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unanswered> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unanswered> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Unanswered> {
        let path = format!("{}[]", self.path);
        visitor.visit_seq(Once(Some(self.below(path))))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Unanswered> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Unanswered> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unanswered> {
        visitor.visit_map(Members {
            names: &["key"],
            within: self,
            is_struct: false,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unanswered> {
        if fields.is_empty() || VALUES.contains(&name) {
            self.note();
            self.is_open = false;
        }
        visitor.visit_map(Members {
            names: fields,
            within: self,
            is_struct: true,
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unanswered> {
        self.note();
        let first = variants.first().copied().unwrap_or_default();
        visitor.visit_enum(IntoDeserializer::<Unanswered>::into_deserializer(first))
    }
}

/// A list of one.
struct Once<'a>(Option<Tracer<'a>>);

impl<'de> de::SeqAccess<'de> for Once<'_> {
    type Error = Unanswered;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Unanswered> {
        self.0
            .take()
            .map(|tracer| seed.deserialize(tracer))
            .transpose()
    }
}

/// The fields of a struct, all of them, or the only entry of a map.
struct Members<'a> {
    names: &'static [&'static str],
    within: Tracer<'a>,
    is_struct: bool,
}

impl<'de> de::MapAccess<'de> for Members<'_> {
    type Error = Unanswered;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Unanswered> {
        let Some(name) = self.names.first() else {
            return Ok(None);
        };
        // A map's key may be any type that reads text, a struct's is one of its names.
        let key: StringDeserializer<Unanswered> = (*name).to_owned().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, Unanswered> {
        let Some((name, rest)) = self.names.split_first() else {
            return seed.deserialize(StrDeserializer::new(TEXT));
        };
        self.names = rest;
        let within = &self.within.path;
        let path = match (self.is_struct, within.is_empty()) {
            (false, _) => within.clone(),
            (true, true) => (*name).to_owned(),
            (true, false) => format!("{within}.{name}"),
        };
        seed.deserialize(self.within.below(path))
    }
}
