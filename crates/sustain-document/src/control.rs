//! What is said over the socket of a recording that can be commanded while it runs: a request and
//! its answer, each a line of JSON. docs/control.md describes the protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::LimitedBy;
use crate::status::StatusLine;

/// The version of [`ControlAnswer`].
pub const CONTROL_SCHEMA: &str = "sustain.control/1";

/// The longest line that is taken as a request, its newline included.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

/// A request to a running recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlRequest {
    /// How the recording stands: the line that `--status` would write now.
    Status {},
    /// The rates of streams and members over the last second, and what waits for members.
    Rate {},
    /// Take nothing more from the sources until `resume`.
    Pause {},
    /// Take from the sources again.
    Resume {},
    /// End the recording and begin the next one in the same store, without losing a byte between.
    Split {},
    /// End the recording in order, as the first Ctrl-C does.
    Stop {},
    /// Keep these words in the recording, with their time and the offset of each stream.
    Mark {
        /// The words: 1 to 1,000 bytes of UTF-8 without control characters.
        text: String,
    },
    /// Keep a stretch of a ring from being overwritten, while the ring goes on in what is left.
    /// `from` or `around` says what to keep.
    Pin {
        /// The beginning: a time such as `2026-03-01T10:00:00Z`, or `-30s` for so long before now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// The end: a time, `+10s` for so long from now, or `-5s`; now if it is not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        /// What arrived around a mark of this recording: its number, or its text if only one has
        /// it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        around: Option<String>,
        /// With `around`, how long before the mark it begins, such as `30s`; `10s` if it is not
        /// given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        /// With `around`, how long behind the mark it ends; `10s` if it is not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    },
    /// Keep what this pin keeps no longer.
    Unpin {
        /// Its number.
        number: u32,
    },
}

/// The answer to one request. The answers of a connection come in the order of its requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlAnswer {
    /// Always `sustain.control/1`.
    pub schema: String,
    /// Whether the request was carried out.
    pub ok: bool,
    /// Why not, and what to do next, if `ok` is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The answer to `pause` and `resume`: whether the recording is paused now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// The answer to `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusLine>,
    /// The answer to `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RatesNow>,
    /// The answer to `split`, which comes when the one recording has its end and the next one has
    /// begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<RecordingSplit>,
    /// The answer to `mark`: the mark as it was handed to the recorder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<UserMark>,
    /// The answer to `pin`, which comes when all members have noted that it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<PinnedStretch>,
    /// The answer to `unpin`, which comes when all members have noted it: the number of the pin
    /// that keeps nothing any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpinned: Option<u32>,
}

impl ControlAnswer {
    /// That a request was carried out, without more to say.
    #[must_use]
    pub fn done() -> ControlAnswer {
        ControlAnswer {
            schema: CONTROL_SCHEMA.to_owned(),
            ok: true,
            error: None,
            paused: None,
            status: None,
            rate: None,
            split: None,
            mark: None,
            pin: None,
            unpinned: None,
        }
    }

    /// That a request was not carried out, and why.
    #[must_use]
    pub fn refused(why: impl Into<String>) -> ControlAnswer {
        ControlAnswer {
            ok: false,
            error: Some(why.into()),
            ..ControlAnswer::done()
        }
    }
}

/// Where one recording ended and the next one began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingSplit {
    /// The number of the recording that has ended, all of it durable.
    pub ended: u32,
    /// The number of the one that runs.
    pub recording: u32,
}

/// A stretch of a ring that is kept from being overwritten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedStretch {
    /// The number of the pin in the store.
    pub number: u32,
    /// The beginning that was asked for, RFC 3339, in UTC.
    pub asked_from: String,
    /// The same in nanoseconds since 1970.
    pub asked_from_ns: i64,
    /// From when on all that arrived is kept: later than what was asked for if that is gone in
    /// part.
    pub from: String,
    /// The same in nanoseconds since 1970.
    pub from_ns: i64,
    /// Up to when what arrives is kept.
    pub to: String,
    /// The same in nanoseconds since 1970.
    pub to_ns: i64,
    /// Whether that was still to come when this was answered.
    pub is_to_come: bool,
    /// In how many seconds the ring will have nothing left to write to, at the rate of the last
    /// minute. It is there only if that is, or may be, before the end of the pin, which is to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_full_in_s: Option<f64>,
    /// Whether the pin may end before, and so free the ring: how soon what it keeps is durable
    /// decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_end_first: bool,
}

impl PinnedStretch {
    /// Whether a part of what was asked for is not there.
    #[must_use]
    pub fn is_gone_in_part(&self) -> bool {
        self.from_ns > self.asked_from_ns
    }
}

/// The rates of a recording over the last second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatesNow {
    /// The time since the recording's start.
    pub time_s: f64,
    /// The time over which the rates are taken: about a second, less at the beginning; 0 before
    /// anything can be said.
    pub span_s: f64,
    /// The recording's streams.
    pub streams: Vec<StreamRate>,
    /// The store's members.
    pub members: Vec<MemberRate>,
    /// The part of the buffer that waits for members, 0 to 1.
    pub buffer_fill: f64,
    /// `source`, `members`, `pins` (which keep all of a ring), or the name of a member that is much
    /// slower than the others.
    pub limited_by: LimitedBy,
}

/// The rates of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRate {
    /// Its name.
    pub name: String,
    /// What its source offered, lost bytes included.
    pub in_bytes_per_s: f64,
    /// What was handed to members.
    pub out_bytes_per_s: f64,
    /// What was lost.
    pub lost_bytes_per_s: f64,
    /// Bytes that were offered, are not lost, and wait to be handed to members.
    pub backlog_bytes: u64,
}

/// The rate of one member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberRate {
    /// Its name as typed.
    pub name: String,
    /// The payload that was written on it.
    pub bytes_per_s: f64,
}

/// A mark that a user set in a recording. The stream `marks` of a recording has each as a line of
/// JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserMark {
    /// Its number in the recording, from 1.
    pub number: u64,
    /// When it was set, by the recorder's clock, in nanoseconds since 1970.
    pub time_ns: i64,
    /// The same time as RFC 3339, in UTC.
    pub time: String,
    /// The user's words.
    pub text: String,
    /// How far each stream had come.
    pub streams: Vec<MarkedOffset>,
}

/// How far a stream had come when a mark was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MarkedOffset {
    /// The stream's name.
    pub name: String,
    /// The bytes that its source had offered by then, lost ones included.
    pub offset_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<ControlRequest, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    #[test]
    fn requests_are_as_the_page_has_them() {
        assert_eq!(
            read(r#"{"command":"status"}"#),
            Ok(ControlRequest::Status {})
        );
        assert_eq!(
            read(r#"{"command":"resume"}"#),
            Ok(ControlRequest::Resume {})
        );
        let text = "door \u{201e}A\u{201c}".to_owned();
        let line = "{\"command\":\"mark\",\"text\":\"door \u{201e}A\u{201c}\"}";
        assert_eq!(read(line), Ok(ControlRequest::Mark { text }));
        for line in ["", "{}", "status", r#"{"command":"mark"}"#, "[]", "null"] {
            assert!(read(line).is_err(), "{line}");
        }
        for line in [
            r#"{"command":"stop","soon":true}"#,
            r#"{"soon":true,"command":"status"}"#,
            r#"{"command":"unpin","number":1,"soon":true}"#,
        ] {
            let why = read(line).unwrap_err();
            assert!(why.contains("unknown field `soon`"), "{line}: {why}");
        }
        let why = read(r#"{"command":"halt"}"#).unwrap_err();
        assert!(why.contains("`halt`") && why.contains("`stop`"), "{why}");
    }

    #[test]
    fn an_answer_has_no_keys_of_other_answers() {
        let text = serde_json::to_string(&ControlAnswer::done()).unwrap();
        assert_eq!(text, r#"{"schema":"sustain.control/1","ok":true}"#);
        let text = serde_json::to_string(&ControlAnswer::refused("no")).unwrap();
        assert_eq!(
            text,
            r#"{"schema":"sustain.control/1","ok":false,"error":"no"}"#
        );
    }
}
