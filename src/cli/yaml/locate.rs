//! Finds the line of a field: reads the document again, follows the path, and fails on purpose
//! where it ends, since errors are the only things that `serde_yaml` gives a place to.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::cli::input::Place;

/// A step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The place of the value at `path` in `text`, or of the nearest one around it.
pub(super) fn locate(text: &str, path: &str) -> Option<Place> {
    let steps = steps(path);
    (0..=steps.len()).rev().find_map(|length| {
        let document = serde_yaml::Deserializer::from_str(text);
        let error = Seek(&steps[..length]).deserialize(document).err()?;
        let place = error.location()?;
        Some(Place {
            line: place.line(),
            column: place.column(),
        })
    })
}

fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let mut pieces = part.split('[');
        steps.extend(
            pieces
                .next()
                .filter(|key| !key.is_empty())
                .map(|key| Step::Key(key.into())),
        );
        for piece in pieces {
            let index = piece.trim_end_matches(']').parse();
            steps.extend(index.map(Step::Index));
        }
    }
    steps
}

/// Follows the steps; the end is an error with a place, a missing step is `Ok`.
struct Seek<'a>(&'a [Step]);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value that is looked for")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.0.split_first() else {
            return Err(A::Error::custom("here"));
        };
        while let Some(key) = map.next_key::<String>()? {
            if Step::Key(key) == *step {
                map.next_value_seed(Seek(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((step, rest)) = self.0.split_first() else {
            return Err(A::Error::custom("here"));
        };
        for index in 0.. {
            let found = if Step::Index(index) == *step {
                items.next_element_seed(Seek(rest))?
            } else {
                items.next_element::<IgnoredAny>()?.map(|_| ())
            };
            if found.is_none() {
                break;
            }
        }
        Ok(())
    }
}
