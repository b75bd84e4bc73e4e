//! The payload of start and end marks: JSON, so that it can be read with a hex editor in thirty
//! years.
//!
//! Unknown keys are passed over, because later versions add some.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::geometry::AppendPlace;

/// The note in the start of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartNote {
    /// When the recording began, in nanoseconds since 1970.
    #[serde(rename = "started")]
    pub started_ns: i64,
    /// The program that recorded it, with its version.
    pub tool: String,
    /// Whether old slots are overwritten when the members are full.
    pub ring: bool,
    /// How many appends of parity each group was to have; 0 without parity.
    #[serde(rename = "parity", default, skip_serializing_if = "is_zero")]
    pub parities: u16,
    /// The streams, in the order of their numbers.
    pub streams: Vec<StreamNote>,
    /// The start of the recording before on this member.
    #[serde(default)]
    pub previous_start: Option<PlaceNote>,
    /// Whether the superblock here told, when this recording began, that the end mark before it had
    /// become durable; none in the notes of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows_end: Option<bool>,
    /// The slot of the last end mark that had become durable on this member, as the superblock told
    /// when this recording began; none if there was none, or an older recorder did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_slot: Option<u64>,
    /// The place in the table of members of the one that was to be retired, if this only holds
    /// copies of what that had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies_of: Option<u16>,
    /// The places in the table of members of those that were missing when it began, and are given
    /// nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<u16>,
    /// Recordings whose own starts this one may overwrite while data of theirs is left, oldest
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierNote>,
}

/// The note about an earlier recording in the start of a ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierNote {
    /// Its identity.
    #[serde(with = "hyphenated")]
    pub id: Uuid,
    /// Its number in the store.
    pub number: u32,
    /// When it began, in nanoseconds since 1970.
    #[serde(rename = "started")]
    pub started_ns: i64,
    /// Whether it was recorded in a ring.
    pub ring: bool,
    /// Its streams, in the order of their numbers.
    pub streams: Vec<StreamNote>,
    /// The places in the table of members of those that were missing when it began; none in the
    /// notes of older recorders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<u16>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn is_zero(count: &u16) -> bool {
    *count == 0
}

/// UUIDs as RFC 9562 writes them.
mod hyphenated {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use uuid::Uuid;

    pub(super) fn serialize<S: Serializer>(id: &Uuid, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Uuid, D::Error> {
        let text = String::deserialize(from)?;
        Uuid::parse_str(&text).map_err(de::Error::custom)
    }
}

/// The name of the stream that has the marks of users.
pub const MARKS_STREAM: &str = "marks";
/// How its frames are told apart, as its note says: each is a mark, and no other stream has this.
pub const MARKS_FRAMING: &str = "marks";

/// The note about one stream in the start of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamNote {
    /// The name that the user gave it.
    pub name: String,
    /// How its frames are told apart.
    pub framing: String,
    /// The source of its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A [`AppendPlace`] in a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceNote {
    /// The serial of the slot; see [`AppendPlace`].
    pub slot_serial: u64,
    /// The offset in the slot; see [`AppendPlace`].
    #[serde(rename = "slot_offset")]
    pub slot_offset_bytes: u32,
}

/// The note in the end mark of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndNote {
    /// Why it ended, in the words of the command's result.
    pub ended: String,
    /// The streams, in the order of their numbers.
    pub streams: Vec<StreamTotal>,
    /// Stretches behind what was durable that were already missing or damaged, if `recover` wrote
    /// the end mark.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub torn: Vec<TornNote>,
    /// Whether the superblock here told, when `recover` wrote the end mark, that an end mark which
    /// was not found any more had become durable; none in other end marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows_end: Option<bool>,
    /// Whether the newest start here was whole when `recover` wrote the end mark; none in other end
    /// marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_was_whole: Option<bool>,
    /// Bytes of all streams that parity protected; none without parity, or where a member failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected_bytes: Option<u64>,
}

impl EndNote {
    /// What `ended` says where `recover` wrote the end mark.
    pub const RECOVERED: &str = "recovered";
    /// What `ended` says where the store was full.
    pub const FULL: &str = "full";
}

/// A stretch of a stream that a crash took. Everything around it was found whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TornNote {
    /// Number of the stream.
    pub stream: u16,
    /// Its first byte.
    pub from_byte: u64,
    /// The byte behind the last one. Equal to `from_byte` where the bytes are whole and only the
    /// frame marks around them are damaged.
    pub to_byte: u64,
}

/// The totals of one stream; `offered = recorded + gap_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTotal {
    /// Bytes that the source offered.
    pub offered: u64,
    /// Bytes that were written to members.
    pub recorded: u64,
    /// Bytes that were lost before that.
    pub gap_bytes: u64,
    /// Frames begun.
    pub frames: u64,
}

/// The error for a note that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the note of a start or end mark cannot be read")]
pub struct NoteError(#[from] serde_json::Error);

impl StartNote {
    /// Encodes the payload of a start.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("its keys are strings")
    }

    /// Reads the payload of a start.
    ///
    /// # Errors
    /// If it is not a JSON object with these keys.
    pub fn from_json(payload: &[u8]) -> Result<StartNote, NoteError> {
        Ok(serde_json::from_slice(payload)?)
    }
}

impl EndNote {
    /// Encodes the payload of an end mark.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("its keys are strings")
    }

    /// Reads the payload of an end mark.
    ///
    /// # Errors
    /// If it is not a JSON object with these keys.
    pub fn from_json(payload: &[u8]) -> Result<EndNote, NoteError> {
        Ok(serde_json::from_slice(payload)?)
    }
}

impl From<AppendPlace> for PlaceNote {
    fn from(place: AppendPlace) -> PlaceNote {
        PlaceNote {
            slot_serial: place.slot_serial,
            slot_offset_bytes: place.slot_offset_bytes,
        }
    }
}

impl From<PlaceNote> for AppendPlace {
    fn from(note: PlaceNote) -> AppendPlace {
        AppendPlace {
            slot_serial: note.slot_serial,
            slot_offset_bytes: note.slot_offset_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn start() -> StartNote {
        StartNote {
            started_ns: 1_700_000_000_000_000_000,
            tool: "sustain 0.2.0".into(),
            ring: true,
            parities: 0,
            streams: vec![StreamNote {
                name: "camera".into(),
                framing: "none".into(),
                source: None,
            }],
            previous_start: Some(PlaceNote {
                slot_serial: u64::MAX - 1,
                slot_offset_bytes: 4096,
            }),
            follows_end: None,
            end_slot: None,
            copies_of: None,
            absent: Vec::new(),
            earlier: Vec::new(),
        }
    }

    #[test]
    fn the_keys_are_those_of_the_format() {
        let text = String::from_utf8(start().to_json()).unwrap();
        assert_eq!(
            text,
            r#"{"started":1700000000000000000,"tool":"sustain 0.2.0","ring":true,"#.to_owned()
                + r#""streams":[{"name":"camera","framing":"none"}],"#
                + r#""previous_start":{"slot_serial":18446744073709551614,"slot_offset":4096}}"#
        );
        let first = StartNote {
            previous_start: None,
            ..start()
        };
        assert!(first.to_json().ends_with(br#""previous_start":null}"#));
        let told = EarlierNote {
            id: Uuid::from_u128(0x0123_4567_89AB_CDEF),
            number: 3,
            started_ns: 5,
            ring: false,
            streams: first.streams.clone(),
            absent: vec![2],
        };
        let telling = StartNote {
            absent: vec![0, 3],
            earlier: vec![told],
            ..first
        };
        let text = String::from_utf8(telling.to_json()).unwrap();
        assert!(text.contains(r#""absent":[0,3],"#), "{text}");
        let key = r#""earlier":[{"id":"00000000-0000-0000-0123-456789abcdef","number":3,"#
            .to_owned()
            + r#""started":5,"ring":false,"streams":[{"name":"camera","framing":"none"}],"#
            + r#""absent":[2]}]}"#;
        assert!(text.ends_with(&key), "{text}");
        assert_eq!(StartNote::from_json(text.as_bytes()).unwrap(), telling);
        let end = EndNote {
            ended: "stopped".into(),
            streams: vec![StreamTotal {
                offered: 10,
                recorded: 7,
                gap_bytes: 3,
                frames: 2,
            }],
            torn: Vec::new(),
            follows_end: None,
            start_was_whole: None,
            protected_bytes: None,
        };
        assert_eq!(
            String::from_utf8(end.to_json()).unwrap(),
            r#"{"ended":"stopped","streams":[{"offered":10,"recorded":7,"gap_bytes":3,"#.to_owned()
                + r#""frames":2}]}"#
        );
        let recovered = EndNote {
            torn: vec![TornNote {
                stream: 0,
                from_byte: 5,
                to_byte: 7,
            }],
            ..end
        };
        let text = String::from_utf8(recovered.to_json()).unwrap();
        assert!(
            text.ends_with(r#""torn":[{"stream":0,"from_byte":5,"to_byte":7}]}"#),
            "{text}"
        );
        assert_eq!(EndNote::from_json(text.as_bytes()).unwrap(), recovered);
    }

    #[test]
    fn keys_of_later_versions_are_passed_over() {
        let text = br#"{"later":[{"a":1}],"started":-1,"tool":"t","ring":false,
            "streams":[{"name":"n","framing":"f","rate":9.5}]}"#;
        let note = StartNote::from_json(text).unwrap();
        assert_eq!(note.started_ns, -1);
        assert_eq!(note.previous_start, None);
        assert_eq!(note.streams[0].name, "n");
        let end = EndNote::from_json(br#"{"ended":"e","streams":[],"later":null}"#).unwrap();
        assert_eq!(end.ended, "e");
    }

    #[test]
    fn what_is_no_note_is_refused() {
        let texts: [&[u8]; 7] = [
            b"",
            b"{}",
            b"null",
            b"[",
            b"\xFF",
            br#"{"ended":"e","streams":[{"offered":-1,"recorded":0,"gap_bytes":0,"frames":0}]}"#,
            br#"{"ended":"e","streams":[]} x"#,
        ];
        for text in texts {
            assert!(StartNote::from_json(text).is_err());
            assert!(EndNote::from_json(text).is_err());
        }
        let deep = "[".repeat(1 << 20);
        let nested = format!(r#"{{"ended":"e","streams":[],"later":{deep}}}"#);
        assert!(EndNote::from_json(nested.as_bytes()).is_err());
    }

    #[test]
    fn every_shortening_is_refused() {
        let bytes = start().to_json();
        for length in 0..bytes.len() {
            assert!(StartNote::from_json(&bytes[..length]).is_err());
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(
            started_ns in any::<i64>(),
            tool in any::<String>(),
            ring in any::<bool>(),
            streams in prop::collection::vec(any::<(String, String, Option<String>)>(), 0..5),
            previous in prop::option::of(any::<(u64, u32)>()),
            totals in prop::collection::vec(any::<[u64; 4]>(), 0..5),
        ) {
            let start = StartNote {
                started_ns,
                tool: tool.clone(),
                ring,
                parities: 0,
                streams: streams
                    .into_iter()
                    .map(|(name, framing, source)| StreamNote { name, framing, source })
                    .collect(),
                previous_start: previous.map(|(slot_serial, slot_offset_bytes)| {
                    AppendPlace { slot_serial, slot_offset_bytes }.into()
                }),
                follows_end: previous.map(|_| ring),
                end_slot: previous.map(|_| 41),
                copies_of: None,
                absent: Vec::new(),
                earlier: Vec::new(),
            };
            prop_assert_eq!(StartNote::from_json(&start.to_json()).unwrap(), start);
            let end = EndNote {
                ended: tool,
                streams: totals
                    .into_iter()
                    .map(|[offered, recorded, gap_bytes, frames]| {
                        StreamTotal { offered, recorded, gap_bytes, frames }
                    })
                    .collect(),
                torn: Vec::new(),
                follows_end: None,
                start_was_whole: None,
                protected_bytes: None,
            };
            prop_assert_eq!(EndNote::from_json(&end.to_json()).unwrap(), end);
        }
    }
}
