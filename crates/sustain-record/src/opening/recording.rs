//! A recording as the members tell of it, and what of it is there, without its being read.

use sustain_disk::driver::Ending;
use uuid::Uuid;

use super::EndDurability;
use crate::format::{AppendPlace, ClockDrift, EndNote};

/// One recording, as far as the members that are there tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Its number in the store, from 1.
    pub number: u32,
    /// Its identity.
    pub id: Uuid,
    /// When it began, in nanoseconds since 1970; none if no start that tells of it can be read.
    pub started_ns: Option<i64>,
    /// Whether old slots were written over when the members were full.
    pub ring: bool,
    /// How many appends of parity each of its groups was to have; none if no start that tells of it
    /// can be read.
    pub parities: Option<u16>,
    /// The place in the table of members of one that was to be retired, if it only has copies of
    /// what that had.
    pub copies_of: Option<u16>,
    /// The places in the table of the members that were missing when it began, as far as a start
    /// that tells of them can be read: nothing of it was given to them.
    pub absent: Vec<u16>,
    /// Its streams, in the order of their numbers.
    pub streams: Vec<StreamSummary>,
    /// What its end says, if that can be read.
    pub end: Option<EndNote>,
    /// Whether no member has an end mark: a crash or a kill ended it.
    pub open_end: bool,
    /// The first sequence from which on all appends are there that are to be; what lies before has
    /// been written over in part. None if nothing has been.
    pub readable_from_sequence: Option<u64>,
    /// What each member of the store has of it, in the order of the table of members.
    pub per_member: Vec<Option<StreamExtent>>,
    /// Whether it went on while it was found: then its streams are known as far as all was durable
    /// before, and what came later is left out.
    pub under_way: bool,
    /// Whether a ring has gone on over all that some member may have had of it, or over accounts of
    /// gaps that were all that it had there: what is on none of the others may have been there.
    pub is_gone_from_a_member: bool,
    /// The number of the pin that keeps it, if this is only what that keeps.
    pub pin: Option<u32>,
    /// Whether the append that tells that all of the pin was durable is found on no member: then
    /// the pin may keep more of it, or of a later one.
    pub lacks_end_of_pin: bool,
    /// Of what a pin keeps: nothing is missing at its beginning of what arrived from this time on,
    /// in nanoseconds since 1970; none if that is not known.
    pub kept_from_ns: Option<i64>,
}

/// The part of a recording that is on one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamExtent {
    /// The oldest append that is still there.
    pub first: AppendPlace,
    /// Where one before it was that is not found, in a slot that nothing has written over.
    pub lost_first: Option<AppendPlace>,
    /// The newest append.
    pub last: AppendPlace,
    /// The length of the newest append.
    pub last_bytes: u32,
    /// Whether what came before the oldest append has been written over in a ring.
    pub is_overwritten: bool,
    /// The first slot from which on nothing has been written over, nor can have been hit by a crash
    /// in a ring.
    pub kept_from_slot: u64,
    /// The newest start there, as the newest append has it.
    pub start: Option<AppendPlace>,
    /// Whether the newest append is an end mark.
    pub has_end: bool,
    /// Whether recovering found the newest start there whole, as its end mark says.
    pub start_was_whole: bool,
    /// Whether its end mark there may have been half written over in a ring when the power was cut.
    pub end_is_overwritten: bool,
    /// Whether its end mark there, if it has one, became durable.
    pub end_durability: EndDurability,
    /// Where its end mark should be there, if it was durable and is not found.
    pub lost_end: Option<AppendPlace>,
    /// Appends up to here were durable there when the newest was made.
    pub flushed_sequence: u64,
    /// The last append of it there, as the next recording names it, if that append is not found.
    pub lost_last: Option<AppendPlace>,
    /// The append before it there, as its own start names it, if that append is not found, and
    /// nothing else of the recording that it belonged to.
    pub lost_before: Option<AppendPlace>,
    /// Where a mark was there that is not found, if a power cut may have hit it in a ring.
    pub unknown_mark: Option<AppendPlace>,
    /// The slot in which a recording before it ended there, as its own start says, if nothing of
    /// that recording is found there.
    pub lost_recording: Option<AppendPlace>,
}

/// One stream of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSummary {
    /// As the user calls it; `stream 0` and so on if no start that tells of it can
    /// be read.
    pub name: String,
    /// How its frames are told apart, if known.
    pub framing: Option<String>,
    /// All that the source offered, as far as it was handed out to members.
    pub offered_bytes: u64,
    /// Below this all was durable when the newest appends were made, or was a gap whose account
    /// was.
    pub settled_bytes: u64,
    /// Lost before it reached a member.
    pub gap_bytes: u64,
    /// Of `gap_bytes`, what may be there all the same, at most: the members were given so much
    /// more than counts as recorded. A member has it that was given up, or it is copies of what
    /// lay on a slow one; which, shows only when it is read. 0 while members are missing, for then
    /// it is not known.
    pub given_up_bytes: u64,
    /// Put on members.
    pub recorded_bytes: u64,
    /// Frames begun.
    pub frames: u64,
    /// Put on members that are not there, or not there with all that they had. What is damaged on
    /// members that are there shows only when it is read. At least so much: copies, and what a
    /// member has that was given up, make up for it in this figure.
    pub hole_bytes: u64,
    /// The same of all that was handed out to members. At an open end, what lies behind what was
    /// durable may be no loss but the work of the crash, and `hole_bytes` leaves out as much as
    /// that may be.
    pub absent_bytes: u64,
    /// When its first byte arrived, in nanoseconds since 1970; the recording's start where the
    /// appends at its beginning do not tell.
    pub first_time_ns: Option<i64>,
    /// When its last byte arrived; the time of the last append where the last few do not tell.
    pub last_time_ns: i64,
    /// Below this some bytes have been written over in the ring.
    pub readable_from_bytes: u64,
    /// Frames that have begun below that.
    pub readable_from_frame: u64,
    /// Lost before they reached a member, as was told below that.
    pub readable_from_gap_bytes: u64,
    /// How far the times of its source lie from the recorder's clock; none if that is not told.
    pub drift: Option<ClockDrift>,
}

impl Recording {
    /// Whether a member was missing when it was recorded, so that it has nothing of it.
    pub(crate) fn was_absent(&self, member: usize) -> bool {
        let mut absent = self.absent.iter();
        absent.any(|index| usize::from(*index) == member)
    }

    /// Whether it ended because its sources had no more. Every other ending, and a crash, may have
    /// cut off what a source was giving.
    pub fn is_ended_by_source(&self) -> bool {
        let end = self.end.as_ref();
        end.is_some_and(|end| end.ended == Ending::Source.name())
    }

    /// Whether its end mark was written by `recover`.
    pub fn is_recovered(&self) -> bool {
        let end = self.end.as_ref();
        end.is_some_and(|end| end.ended == EndNote::RECOVERED)
    }

    /// Whether a crash has ended it: it has no end mark, or one that was written afterwards.
    pub fn is_crashed(&self) -> bool {
        self.open_end || self.is_recovered()
    }

    /// Whether it was made of streams, and not of copies of what a retired member had.
    pub fn has_streams(&self) -> bool {
        self.copies_of.is_none()
    }

    /// Whether it went on behind what the pin keeps of it, if this is what a pin keeps.
    pub fn is_cut_by_pin(&self) -> bool {
        self.pin.is_some() && self.under_way
    }

    /// Bytes of a stream that a crash took, as its end mark says, of those that a ring has not
    /// overwritten since.
    pub fn crash_bytes(&self, stream: u16) -> u64 {
        let known = self.streams.get(usize::from(stream));
        let from_bytes = known.map_or(0, |known| known.readable_from_bytes);
        let torn = self.end.iter().flat_map(|end| &end.torn);
        let of_stream = torn.filter(|torn| torn.stream == stream);
        of_stream
            .map(|torn| torn.to_byte.saturating_sub(torn.from_byte.max(from_bytes)))
            .sum()
    }

    /// All that a member had of it, before this sequence, has been written over: if bytes are
    /// missing by the sum of what the others have, nothing of it can be read as a whole any more.
    /// That sum counts copies twice and no accounts of gaps, so what is missing all the same shows
    /// only when it is read.
    pub(crate) fn count_as_gone(&mut self, sequence: u64) {
        self.is_gone_from_a_member = true;
        if self.streams.iter().all(|stream| stream.hole_bytes == 0) {
            return;
        }
        self.readable_from_sequence = self.readable_from_sequence.max(Some(sequence));
        for stream in &mut self.streams {
            stream.readable_from_bytes = stream.offered_bytes;
            stream.readable_from_frame = stream.frames;
            stream.readable_from_gap_bytes = stream.gap_bytes;
            stream.hole_bytes = 0;
            stream.absent_bytes = 0;
        }
    }

    /// When the first and the last of its bytes arrived that are there, in nanoseconds since 1970;
    /// none if none are.
    pub fn arrival_ns(&self) -> Option<(i64, i64)> {
        let is_pinned = self.pin.is_some();
        let there = self.streams.iter();
        let there = there.filter(|stream| stream.has_any_left(is_pinned));
        let times = there.map(|stream| {
            let last_ns = stream.last_time_ns;
            (stream.first_time_ns.unwrap_or(last_ns), last_ns)
        });
        times.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
    }

    /// Whether bytes of it are missing that its appends call durable.
    pub(crate) fn lacks_durable(&self) -> bool {
        self.streams.iter().any(|stream| {
            let unsettled_bytes = stream.offered_bytes.saturating_sub(stream.settled_bytes);
            stream.absent_bytes > unsettled_bytes
        })
    }
}

impl StreamSummary {
    /// Whether a byte of it is there that can be read: neither overwritten nor lost, nor on a
    /// member that is not there. What a missing member had is counted over the whole recording, so
    /// for the part of it that a pin keeps, what is found on another member decides.
    fn has_any_left(&self, is_pinned: bool) -> bool {
        let left_bytes = self.offered_bytes.saturating_sub(self.readable_from_bytes);
        let gap_bytes = self.gap_bytes.saturating_sub(self.readable_from_gap_bytes);
        let hole_bytes = if is_pinned { 0 } else { self.hole_bytes };
        left_bytes > gap_bytes.saturating_add(hole_bytes)
    }
}
