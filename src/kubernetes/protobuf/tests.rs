//! Messages are written here byte by byte, so that nothing is checked against itself. What a real
//! API server sends is compared with its JSON in `tests/protobuf`.

use bytes::Bytes;

use super::*;
use crate::model::objects::{Node, Pod};

/// A field of bytes, text or a message.
fn field(tag: usize, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    let mut bytes = varint(tag << 3 | 2);
    bytes.extend(varint(value.len()));
    bytes.extend(value);
    bytes
}

/// A field of a number.
fn number(tag: usize, value: usize) -> Vec<u8> {
    [varint(tag << 3), varint(value)].concat()
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn envelope(kind: &str, message: impl AsRef<[u8]>) -> Vec<u8> {
    let types = [field(1, "v1"), field(2, kind)].concat();
    [b"k8s\0".to_vec(), field(1, types), field(2, message)].concat()
}

fn event(type_: &str, object: impl AsRef<[u8]>) -> Bytes {
    [field(1, type_), field(2, field(1, object))]
        .concat()
        .into()
}

/// The metadata and the node of a pod.
fn pod() -> Vec<u8> {
    let label = [field(1, "app"), field(2, "web")].concat();
    let metadata = [
        field(1, "web-0"),
        field(2, ""),
        field(3, "default"),
        field(5, "uid-0"),
        field(6, "17"),
        number(7, 3),
        field(8, number(1, 1_700_000_000)),
        field(11, label),
    ];
    [field(1, metadata.concat()), field(2, field(10, "n1"))].concat()
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut message = field(1, [field(2, "42"), field(3, "more")].concat());
    message.extend(items.iter().flat_map(|item| field(2, item)));
    envelope("PodList", message)
}

fn expired() -> Vec<u8> {
    let message = [field(3, "too old"), field(4, "Expired"), number(6, 410)];
    envelope("Status", message.concat())
}

#[test]
fn frames_are_found_wherever_the_body_is_split() {
    let frames = [vec![7; 300], vec![], vec![1], vec![9; 70_000]];
    let mut body = Vec::new();
    for frame in &frames {
        body.extend(u32::try_from(frame.len()).unwrap().to_be_bytes());
        body.extend(frame);
    }
    for size in [1, 2, 3, 5, 7, 303, 304, 305, 4096, body.len()] {
        let (mut splitter, mut found) = (Frames::default(), Vec::new());
        for chunk in body.chunks(size) {
            splitter.push(Bytes::copy_from_slice(chunk));
            while let Some(frame) = splitter.next().unwrap() {
                found.push(frame.to_vec());
            }
        }
        assert_eq!(found, frames, "in pieces of {size} bytes");
    }
}

#[test]
fn frame_that_is_not_whole_is_waited_for() {
    let mut frames = Frames::default();
    assert_eq!(frames.next(), Ok(None));
    frames.push(Bytes::from_static(&[1, 0, 0, 0, 5]));
    assert_eq!(frames.next(), Ok(None), "16 MiB are not too long");
}

#[test]
fn frame_that_is_too_long_is_an_error_again_and_again() {
    let mut frames = Frames::default();
    frames.push(Bytes::from_static(&[1, 0, 0, 1]));
    for _ in 0..2 {
        assert_eq!(frames.next(), Err(DecodeError::FrameTooLong(16_777_217)));
        frames.push(Bytes::from_static(&[0; 8]));
    }
}

/// Everything in a list that comes in pieces of `size` bytes.
fn read(body: &[u8], size: usize) -> Result<Vec<ListPart>, DecodeError> {
    let (mut reader, mut parts) = (ListReader::default(), Vec::new());
    for chunk in body.chunks(size) {
        reader.push(Bytes::copy_from_slice(chunk));
        while let Some(part) = reader.next()? {
            parts.push(part);
        }
    }
    reader.finish()?;
    Ok(parts)
}

fn whole(body: &[u8]) -> Result<Vec<ListPart>, DecodeError> {
    read(body, body.len().max(1))
}

fn metadata(next: Option<&str>) -> ListPart {
    ListPart::Metadata {
        resource_version: "42".to_owned(),
        next: next.map(str::to_owned),
    }
}

#[test]
fn a_list_has_its_version_its_token_and_its_items_wherever_it_is_split() {
    let large = [pod(), field(15, vec![7; 70_000])].concat();
    let body = list(&[pod(), Vec::new(), large.clone()]);
    let items = [pod(), Vec::new(), large].map(|item| ListPart::Item(item.into()));
    let parts = [vec![metadata(Some("more"))], items.to_vec()].concat();
    for size in [1, 2, 3, 5, 7, 64, 4096, body.len()] {
        assert_eq!(
            read(&body, size).as_ref(),
            Ok(&parts),
            "in pieces of {size}"
        );
    }
    let last = field(1, [field(2, "42"), field(3, "")].concat());
    let last = whole(&envelope("NodeList", last));
    assert_eq!(last, Ok(vec![metadata(None)]));
}

#[test]
fn the_version_of_a_list_is_known_before_its_items_have_come() {
    let body = list(&[pod()]);
    let mut reader = ListReader::default();
    reader.push(Bytes::copy_from_slice(&body[..body.len() - 1]));
    assert_eq!(reader.next(), Ok(Some(metadata(Some("more")))));
    assert_eq!(reader.next(), Ok(None));
    reader.push(Bytes::copy_from_slice(&body[body.len() - 1..]));
    assert_eq!(reader.next(), Ok(Some(ListPart::Item(pod().into()))));
}

#[test]
fn fields_that_are_not_known_are_skipped() {
    let unknown = [
        number(9, 1),
        field(10, "text"),
        [varint(11 << 3 | 1), vec![0; 8]].concat(),
        [varint(12 << 3 | 5), vec![0; 4]].concat(),
    ];
    let message = [
        unknown.concat(),
        field(1, field(2, "42")),
        unknown.concat(),
        field(2, pod()),
    ];
    let body = [envelope("PodList", message.concat()), unknown.concat()].concat();
    let parts = vec![metadata(None), ListPart::Item(pod().into())];
    for size in [1, body.len()] {
        assert_eq!(read(&body, size).as_ref(), Ok(&parts));
    }
}

#[test]
fn what_is_no_list_is_an_error_that_says_so() {
    let error = |body: Vec<u8>| whole(&body).unwrap_err();
    let json = error(b"{\"kind\":\"PodList\"}".into());
    assert_eq!(json, DecodeError::NoEnvelope);
    assert_eq!(error(Vec::new()), DecodeError::NoEnvelope);
    let status = error(expired()).to_string();
    assert_eq!(status, "answer holds \"Status\" instead of a list");
    assert_eq!(error(envelope("PodList", "")), DecodeError::NoVersion);
    let zipped = [list(&[]), field(3, "gzip")].concat();
    assert_eq!(error(zipped), DecodeError::Encoding("gzip".to_owned()));
    let no_field = error(envelope("PodList", "\u{7f}"));
    assert_eq!(no_field, DecodeError::WireType(7));
    let no_number = error(envelope("PodList", [0xff; 11]));
    assert!(matches!(no_number, DecodeError::Malformed(_)));
    let twice = [list(&[]), field(2, "")].concat();
    assert!(matches!(error(twice), DecodeError::Kind { .. }));
}

#[test]
fn a_list_that_promises_too_much_is_an_error_before_it_is_waited_for() {
    let promising = |bytes| {
        let message = [varint(2 << 3 | 2), varint(bytes)].concat();
        let mut reader = ListReader::default();
        reader.push(envelope("PodList", message).into());
        reader.next()
    };
    let too_long = DecodeError::ObjectTooLong(OBJECT_MAX + 1);
    assert_eq!(promising(OBJECT_MAX + 1), Err(too_long));
    assert_eq!(promising(1), Err(DecodeError::CutOff));
}

#[test]
fn a_list_cut_off_anywhere_is_an_error() {
    let body = list(&[pod()]);
    for length in 0..body.len() {
        assert!(whole(&body[..length]).is_err(), "at {length}");
    }
}

#[test]
fn events_of_a_watch_are_told_apart() {
    let of = |type_| watch_message(event(type_, envelope("Pod", pod())));
    let object = Bytes::from(pod());
    assert_eq!(of("ADDED"), Ok(WatchMessage::Added(object.clone())));
    assert_eq!(of("MODIFIED"), Ok(WatchMessage::Modified(object.clone())));
    assert_eq!(of("DELETED"), Ok(WatchMessage::Deleted(object)));
    let resource_version = "17".to_owned();
    assert_eq!(
        of("BOOKMARK"),
        Ok(WatchMessage::Bookmark { resource_version })
    );
    assert_eq!(of("GONE"), Err(DecodeError::EventType("GONE".to_owned())));
    let bookmark = watch_message(event("BOOKMARK", envelope("Pod", "")));
    assert_eq!(bookmark, Err(DecodeError::NoVersion));
    assert_eq!(watch_message(Bytes::new()), Err(DecodeError::NoEnvelope));
}

#[test]
fn error_of_a_watch_is_a_status() {
    let Ok(WatchMessage::Error(status)) = watch_message(event("ERROR", expired())) else {
        panic!("no error");
    };
    assert_eq!((status.code, &*status.reason), (410, "Expired"));
    assert_eq!(status.to_string(), "too old");
    let object = watch_message(event("ERROR", envelope("Pod", pod())));
    assert!(matches!(object, Err(DecodeError::Kind { .. })));
}

#[test]
fn a_status_says_when_to_come_back() {
    let details = [number(5, 7), field(2, "pods")].concat();
    let message = [field(3, "later"), field(5, details), number(6, 429)].concat();
    let json = br#"{"kind":"Status","message":"later","details":{"kind":"pods",
        "retryAfterSeconds":7},"code":429}"#;
    let wanted = status(json).unwrap();
    assert_eq!(wanted.details.as_ref().unwrap().retry_after_seconds, 7);
    assert_eq!(status(&envelope("Status", message)), Some(wanted));
}

#[test]
fn what_is_written_is_an_enveloped_message() {
    let binding = Binding {
        metadata: Some(Metadata {
            name: "p".to_owned(),
            annotations: [("a".to_owned(), "b".to_owned())].into(),
            ..Metadata::default()
        }),
        target: Some(ObjectReference {
            kind: "Node".to_owned(),
            name: "n".to_owned(),
            ..ObjectReference::default()
        }),
    };
    let request = with_body(http::Request::new(()), &binding);
    let annotation = [field(1, "a"), field(2, "b")].concat();
    let metadata = [field(1, "p"), field(12, annotation)].concat();
    let target = [field(1, "Node"), field(3, "n")].concat();
    let message = [field(1, metadata), field(2, target)].concat();
    assert_eq!(*request.body(), envelope("Binding", message));
    assert_eq!(request.headers()["content-type"], LIST);
}

#[test]
fn status_is_read_from_protobuf_and_from_json() {
    let wanted = status(&expired()).unwrap();
    let json = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
        "message":"too old","reason":"Expired","code":410}"#;
    assert_eq!(status(json), Some(wanted));
    let unexplained = status(br#"{"kind":"Status","code":500}"#).unwrap();
    assert_eq!((unexplained.code, &*unexplained.message), (500, ""));
    for body in ["", "bad gateway", "[]", r#"{"kind":"Pod"}"#, "k8s\0\u{1}"] {
        assert_eq!(status(body.as_bytes()), None, "{body}");
    }
    assert_eq!(status(&envelope("Pod", pod())), None);
}

#[test]
fn empty_values_are_absent() {
    let metadata = [
        field(2, ""),
        number(7, 0),
        field(8, ""),
        field(12, field(1, "a")),
    ]
    .concat();
    let spec = [field(10, ""), field(19, "")].concat();
    let status = [field(1, ""), field(7, ""), field(2, number(7, 0))].concat();
    let message = [field(1, metadata), field(2, spec), field(3, status)].concat();
    let mut wanted = Pod::default();
    wanted.status.conditions.resize_with(1, Default::default);
    assert_eq!(Pod::decode(&message), Ok(wanted));
}

#[test]
fn values_behind_pointers_are_there_even_if_they_are_empty() {
    let spec = [
        field(18, ""),
        number(25, 0),
        field(31, ""),
        number(37, 0),
        field(40, ""),
    ];
    let spec = Pod::decode(&field(2, spec.concat())).unwrap().spec;
    assert!(spec.affinity.is_some() && spec.resources.is_some());
    assert_eq!((spec.priority, spec.host_users), (Some(0), Some(false)));
    assert_eq!(spec.preemption_policy.as_deref(), Some(""));
}

#[test]
fn times_are_whole_seconds_and_in_range() {
    let created = |time: Vec<u8>| {
        let node = Node::decode(&field(1, field(8, time)))?;
        let time = node.metadata.creation_timestamp;
        Ok::<_, DecodeError>(time.map(|time| time.0.to_string()))
    };
    let text = |text: &str| Ok(Some(text.to_owned()));
    assert_eq!(created(number(1, 0)), text("1970-01-01T00:00:00Z"));
    let precise = [number(1, 1), number(2, 500_000_000)].concat();
    assert_eq!(created(precise), text("1970-01-01T00:00:01Z"));
    assert_eq!(created(number(1, 1 << 60)), Err(DecodeError::Time(1 << 60)));
}

#[test]
fn annotations_that_somebody_reads_are_kept_whichever_order_they_are_written_in() {
    let [key, value] = [field(1, "pv.kubernetes.io/a"), field(2, "1")];
    let other = [field(1, "example.com/large"), field(2, "x".repeat(1000))].concat();
    for entry in [[&*key, &value].concat(), [&*value, &key].concat()] {
        let metadata = [field(12, &other), field(12, entry)].concat();
        let node = Node::decode(&field(1, metadata)).unwrap();
        let kept = node.metadata.annotations.unwrap();
        let wanted = ("pv.kubernetes.io/a".to_owned(), "1".to_owned());
        assert_eq!(kept.into_iter().collect::<Vec<_>>(), [wanted]);
    }
}

#[test]
fn object_that_cannot_be_decoded_has_an_identity() {
    let no_text = [b"k8s".as_slice(), &[0xff]].concat();
    let label = [field(1, "app"), field(2, no_text)].concat();
    let metadata = [
        field(1, "web-0"),
        field(3, "default"),
        field(5, "uid-0"),
        field(6, "17"),
        field(11, label),
    ];
    let message = field(1, metadata.concat());
    assert!(matches!(
        Pod::decode(&message),
        Err(DecodeError::Malformed(_))
    ));
    let texts = |message: &[u8]| {
        let found = identity(message);
        [
            found.name,
            found.namespace,
            found.uid,
            found.resource_version,
        ]
    };
    let wanted = ["web-0", "default", "uid-0", "17"].map(|text| Some(text.to_owned()));
    assert_eq!(texts(&message), wanted);
    assert_eq!(texts(&[message, vec![0xff]].concat()), wanted);
    assert_eq!(texts(b"nonsense"), [const { None }; 4]);
}

/// A small generator of numbers: the same seed gives the same numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

#[test]
fn mutated_bytes_are_read_or_refused_but_never_a_panic() {
    let mut dice = Dice(0x5eed);
    let body = list(&[pod(), pod()]);
    let frame = event("MODIFIED", envelope("Pod", pod())).to_vec();
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut mutate = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for _ in 0..=dice.below(3) {
                let at = dice.below(bytes.len());
                bytes[at] = u8::try_from(dice.below(256)).unwrap();
            }
            bytes.truncate(bytes.len() - dice.below(2) * dice.below(bytes.len()));
            bytes
        };
        let [object, body, frame] = [&*pod(), &body, &frame].map(&mut mutate);
        identity(&object);
        status(&body);
        let outcomes = [
            Pod::decode(&object).is_ok(),
            Node::decode(&object).is_ok(),
            whole(&body).is_ok(),
            watch_message(frame.clone().into()).is_ok(),
        ];
        read += outcomes.iter().filter(|is_ok| **is_ok).count();
        refused += outcomes.iter().filter(|is_ok| !**is_ok).count();
        let mut frames = Frames::default();
        frames.push(frame.into());
        while let Ok(Some(_)) = frames.next() {}
    }
    assert!(
        read > 1000 && refused > 1000,
        "{read} read, {refused} refused"
    );
}
