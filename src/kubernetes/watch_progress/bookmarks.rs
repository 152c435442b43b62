//! Finds bookmarks in the bytes of a watch response, however these are cut, without decoding the other events.

use serde::Deserialize;

use crate::kubernetes::resource_version::ResourceVersion;

/// How the API server begins a bookmark (`metav1.WatchEvent`, encoded by encoding/json).
const PREFIX: &[u8] = br#"{"type":"BOOKMARK""#;
/// A bookmark has an object with hardly more than its version; a longer line is passed over.
const LINE_MAX: usize = 64 << 10;

/// A reader of one response.
#[derive(Debug)]
pub(super) struct Bookmarks {
    line: Line,
}

/// Where in a line the reader is.
#[derive(Debug)]
enum Line {
    /// So many bytes of it, and all of them those of a bookmark. Leaves to `Bookmark` and `Other`.
    Beginning(usize),
    /// In a bookmark that began with these bytes. Leaves to `Beginning` at its end, to `Other` if it is too long.
    Bookmark(Vec<u8>),
    /// In anything else. Leaves to `Beginning` at its end.
    Other,
}

#[derive(Deserialize)]
struct BookmarkEvent {
    object: BookmarkObject,
}

#[derive(Deserialize)]
struct BookmarkObject {
    metadata: BookmarkMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMetadata {
    resource_version: String,
}

impl Default for Bookmarks {
    fn default() -> Self {
        Self {
            line: Line::Beginning(0),
        }
    }
}

impl Bookmarks {
    /// Reads on. Returns the version of the last bookmark that ended in these bytes.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Option<ResourceVersion> {
        let mut last = None;
        while !bytes.is_empty() {
            let consumed = match &mut self.line {
                Line::Beginning(matched) => {
                    let expected = &PREFIX[*matched..];
                    let length = expected.len().min(bytes.len());
                    if bytes[..length] != expected[..length] {
                        self.line = Line::Other;
                        0
                    } else if length == expected.len() {
                        self.line = Line::Bookmark(PREFIX.to_vec());
                        length
                    } else {
                        *matched += length;
                        length
                    }
                }
                Line::Bookmark(line) => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let length = end.unwrap_or(bytes.len());
                    if line.len() + length > LINE_MAX {
                        self.line = Line::Other;
                        continue;
                    }
                    line.extend_from_slice(&bytes[..length]);
                    if end.is_some() {
                        last = version_of(line).or(last);
                        self.line = Line::Beginning(0);
                    }
                    length + usize::from(end.is_some())
                }
                Line::Other => match bytes.iter().position(|byte| *byte == b'\n') {
                    Some(end) => {
                        self.line = Line::Beginning(0);
                        end + 1
                    }
                    None => bytes.len(),
                },
            };
            bytes = &bytes[consumed..];
        }
        last
    }
}

fn version_of(line: &[u8]) -> Option<ResourceVersion> {
    let event: BookmarkEvent = serde_json::from_slice(line).ok()?;
    event.object.metadata.resource_version.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bookmark(version: &str) -> String {
        format!(
            "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{version}\"}}}}}}\n"
        )
    }

    fn added(version: &str) -> String {
        format!(
            "{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{version}\",\"annotations\":{{\"a\":\"{{\\\"type\\\":\\\"BOOKMARK\\\"\"}}}}}}}}\n"
        )
    }

    fn version(number: u64) -> Option<ResourceVersion> {
        number.to_string().parse().ok()
    }

    #[test]
    fn the_last_bookmark_of_the_bytes_counts_and_events_do_not() {
        let mut bookmarks = Bookmarks::default();
        let text = added("5") + &bookmark("7") + &added("8") + &bookmark("9") + &added("11");
        assert_eq!(bookmarks.read(text.as_bytes()), version(9));
        assert_eq!(bookmarks.read(added("12").as_bytes()), None);
    }

    #[test]
    fn a_bookmark_too_long_to_be_one_is_passed_over_and_the_next_is_found() {
        let mut bookmarks = Bookmarks::default();
        let long = bookmark(&"1".repeat(LINE_MAX));
        assert_eq!(bookmarks.read(long.as_bytes()), None);
        assert_eq!(bookmarks.read(bookmark("3").as_bytes()), version(3));
    }

    #[test]
    fn malformed_lines_are_passed_over() {
        let mut bookmarks = Bookmarks::default();
        let text = "\n{\"type\":\"BOOKMARK\"\n{\"type\":\"BOOK\n".to_owned() + &bookmark("4");
        assert_eq!(bookmarks.read(text.as_bytes()), version(4));
        assert_eq!(bookmarks.read(bookmark("abc").as_bytes()), None);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_bytes_are_cut(cuts in prop::collection::vec(0_usize..600, 0..20)) {
            let text = added("5") + &bookmark("7") + &added("8") + &bookmark("9") + &added("11");
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut bookmarks = Bookmarks::default();
            let found: Vec<_> = cuts
                .windows(2)
                .filter_map(|cut| bookmarks.read(&text.as_bytes()[cut[0]..cut[1]]))
                .collect();
            prop_assert_eq!(found.last().copied(), version(9));
            prop_assert!(found.iter().all(|found| [version(7), version(9)].contains(&Some(*found))));
        }
    }
}
