//! Collects what is lost of a stream while it is read back: ranges, and the reasons in words. It is
//! pure.

use std::ops::Range;

use sustain::document::extract::{LOST_MAX, Lost, LostKind};
use sustain::document::record::RecordingEnd;
use sustain::record::format::GapReason;
use sustain::record::opening::{Recording, StreamSummary};
use sustain::record::reading::part::{HoleReason, StreamPart};
use sustain::record::store::{Missing, Store};

/// The most losses that get a line each.
const LINES_MAX: usize = 10;

/// Lost ranges, in order. Those that touch and have the same reason are one.
#[derive(Debug)]
pub(super) struct Losses {
    /// Whether a crash ended the recording, as far as is known.
    is_crashed: bool,
    /// The pin that keeps what is read, if it is one.
    pin: Option<u32>,
    /// Where the stream ends, if the recording ended because the store was full.
    full_at_byte: Option<u64>,
    /// Whether it is a ring, which is full only if pins keep all of it.
    is_ring: bool,
    listed: Vec<Lost>,
    unlisted: u64,
    bytes: u64,
}

impl Losses {
    /// Of a stream of a recording, which a crash or a full store may have ended.
    pub(super) fn of(recording: &Recording, stream: &StreamSummary) -> Losses {
        let end = recording.end.as_ref().map(|end| end.ended.parse());
        let is_full = matches!(end, Some(Ok(RecordingEnd::Full)));
        Losses {
            is_crashed: recording.is_crashed() && !recording.is_cut_by_pin(),
            pin: recording.pin,
            full_at_byte: is_full.then_some(stream.offered_bytes),
            is_ring: recording.ring,
            listed: Vec::new(),
            unlisted: 0,
            bytes: 0,
        }
    }

    /// Notes that a ring has overwritten what was asked for, before a byte of the stream.
    pub(super) fn take_overwritten(&mut self, before_byte: u64, why: String) {
        self.add(Lost {
            kind: LostKind::Overwritten,
            from_byte: before_byte,
            to_byte: before_byte,
            why,
        });
    }

    /// Notes frames that lay in these bytes. All of the bytes are there, but not where one frame
    /// ends and the next begins.
    pub(super) fn take_frames(&mut self, bytes: Range<u64>, frames: &str) {
        self.add(Lost {
            kind: LostKind::Hole,
            from_byte: bytes.start,
            to_byte: bytes.end,
            why: frames.to_owned(),
        });
    }

    /// Notes that it is not known what lies behind a byte of the stream.
    pub(super) fn take_unknown_end(&mut self, behind_byte: u64, why: String) {
        self.add(Lost {
            kind: LostKind::Hole,
            from_byte: behind_byte,
            to_byte: behind_byte,
            why,
        });
    }

    /// Whether the last loss so far ends at this byte or behind it.
    pub(super) fn reaches(&self, byte: u64) -> bool {
        let last = self.listed.last();
        self.unlisted > 0 || last.is_some_and(|last| last.to_byte >= byte)
    }

    /// Notes a part if it is a loss of bytes. Returns whether it is.
    pub(super) fn take(&mut self, part: &StreamPart, store: &Store) -> bool {
        let (kind, why) = match part {
            StreamPart::Data { .. } | StreamPart::OpenEnd { .. } => return false,
            StreamPart::Gap {
                reason: GapReason::NoRoom,
                ..
            } => (LostKind::Gap, self.full_words().to_owned()),
            // Recorders did not tell this apart before.
            StreamPart::Gap {
                reason: GapReason::NotWritten,
                ..
            } if self.full_at_byte == Some(part.end_bytes()) => {
                (LostKind::Gap, self.full_words().to_owned())
            }
            StreamPart::Gap { reason, .. } => (LostKind::Gap, reason.to_string()),
            StreamPart::Overwritten { .. }
            | StreamPart::Hole {
                why: HoleReason::WrittenOver,
                ..
            } => (LostKind::Overwritten, self.overwritten_words()),
            StreamPart::Hole { why, .. } => {
                (LostKind::Hole, hole_words(*why, store, self.is_crashed))
            }
        };
        if part.length_bytes() == 0 {
            return false;
        }
        self.add(Lost {
            kind,
            from_byte: part.offset_bytes(),
            to_byte: part.end_bytes(),
            why,
        });
        true
    }

    fn full_words(&self) -> &'static str {
        match self.is_ring {
            true => "they were never recorded, because pins kept all of the ring",
            false => "they were never recorded, because the store was full",
        }
    }

    fn overwritten_words(&self) -> String {
        match self.pin {
            None => "the ring has overwritten them".to_owned(),
            Some(pin) => format!("pin {pin} does not keep them"),
        }
    }

    /// Tells that of what a ring has overwritten so many bytes had never been recorded, as `verify`
    /// counts them. The ring has overwritten what told where they were.
    pub(super) fn report_overwritten_gaps(&mut self, bytes: u64) {
        let is_overwritten = |lost: &&mut Lost| lost.kind == LostKind::Overwritten;
        let first = self.listed.iter_mut().find(is_overwritten);
        if let Some(first) = first.filter(|_| bytes > 0) {
            first.why.push_str(&format!(
                ". Of all that is overwritten, {bytes} bytes had never been recorded; the ring has \
                 overwritten the account of where they were, too"
            ));
        }
    }

    fn add(&mut self, lost: Lost) {
        self.bytes += lost.to_byte - lost.from_byte;
        if let Some(last) = self.listed.last_mut()
            && last.to_byte == lost.from_byte
            && last.kind == lost.kind
            && last.why == lost.why
        {
            last.to_byte = lost.to_byte;
        } else if self.listed.len() < LOST_MAX {
            self.listed.push(lost);
        } else {
            self.unlisted += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(super) fn listed(&self) -> &[Lost] {
        &self.listed
    }

    pub(super) fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// The losses in words, for a stream of this name.
    pub(super) fn lines(&self, stream: &str) -> Vec<String> {
        let line = |lost: &Lost| {
            if lost.from_byte == lost.to_byte {
                return format!("stream {stream}: {}", lost.why);
            }
            let are = match lost.kind {
                LostKind::Gap => "are lost",
                LostKind::Hole => "cannot be read",
                LostKind::Overwritten if self.pin.is_some() => "are left out",
                LostKind::Overwritten => "are gone",
            };
            format!(
                "stream {stream}: bytes {} to {} {are}: {}",
                lost.from_byte, lost.to_byte, lost.why
            )
        };
        let mut lines: Vec<String> = self.listed.iter().take(LINES_MAX).map(line).collect();
        let more = self.listed.len().saturating_sub(LINES_MAX) as u64 + self.unlisted;
        if more > 0 {
            lines.push(format!(
                "stream {stream}: {more} more ranges are not there, {} bytes in all: use --json to \
                 list them",
                self.bytes
            ));
        }
        lines
    }
}

fn missing_words(missing: &Missing) -> String {
    format!("member {} (UUID {})", missing.index + 1, missing.member)
}

fn hole_words(why: HoleReason, store: &Store, is_crashed: bool) -> String {
    let name = |index: usize| {
        let found = store.members.iter().find(|member| member.index() == index);
        found.map_or_else(
            || format!("member {}", index + 1),
            |member| member.name.clone(),
        )
    };
    match why {
        HoleReason::Missing if store.not_given().is_empty() => {
            let crash = if is_crashed {
                ", or a crash took them before they were durable"
            } else {
                ""
            };
            format!(
                "they are on no member any more: their descriptors were damaged or replaced{crash} \
                 (`sustain verify` tells more)"
            )
        }
        HoleReason::Missing => {
            let missing: Vec<String> = store.not_given().iter().map(missing_words).collect();
            let them = if missing.len() == 1 { "it" } else { "them" };
            format!(
                "they are on none of the members that were given. Not given: {}; name {them}, too",
                missing.join(", ")
            )
        }
        HoleReason::WrittenOver => why.to_string(),
        HoleReason::Damaged {
            member,
            offset_bytes,
        } => format!("damaged on {} at byte {offset_bytes}", name(member)),
        HoleReason::Unreadable {
            member,
            offset_bytes,
            errno: Some(errno),
        } => format!(
            "{} cannot be read at byte {offset_bytes}: {errno}",
            name(member)
        ),
        HoleReason::Unreadable {
            member,
            offset_bytes,
            errno: None,
        } => format!("{} ends before byte {offset_bytes}", name(member)),
    }
}
