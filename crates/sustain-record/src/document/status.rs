//! Makes the line of JSON that `--status` writes, for programs that watch a recording. It repeats
//! what the recorder reports; nothing is computed here.

use sustain_document::status::{
    STATUS_SCHEMA, StatusLine, StatusMarks, StatusMember, StatusPins, StatusStream,
};

use crate::recorder::{MemberStanding, RecordingProgress, StreamStanding};

/// Makes the status line of a recording at one moment.
pub fn status_line(standing: &RecordingProgress) -> StatusLine {
    StatusLine {
        schema: STATUS_SCHEMA.to_owned(),
        recording: standing.recording,
        time_s: standing.time_s,
        streams: standing.streams.iter().map(stream).collect(),
        members: standing.members.iter().map(member).collect(),
        buffer_fill: standing.buffer_fill,
        longest_write_ns: standing.longest_write_ns,
        is_longest_write_under_way: standing.is_longest_write_under_way,
        limited_by: standing.limited_by.clone(),
        others_bytes_per_s: standing.others_bytes_per_s,
        paused: standing.is_paused,
        marks: standing.marks.as_ref().map(|marks| StatusMarks {
            made: marks.made,
            settled: marks.settled,
        }),
        pins: standing.pins.as_ref().map(|pins| StatusPins {
            numbers: pins.numbers.clone(),
            kept_bytes: pins.kept_bytes,
            ring_bytes: pins.ring_bytes,
            leave_nothing: pins.leave_nothing,
        }),
    }
}

fn stream(standing: &StreamStanding) -> StatusStream {
    StatusStream {
        name: standing.name.clone(),
        offered_bytes: standing.offered_bytes,
        durable_bytes: standing.durable_bytes,
        settled_bytes: standing.settled_bytes,
        protected_bytes: standing.protected_bytes,
        protected_settled_bytes: standing.protected_settled_bytes,
        gap_bytes: standing.gap_bytes,
    }
}

fn member(standing: &MemberStanding) -> StatusMember {
    StatusMember {
        name: standing.name.clone(),
        bytes: standing.bytes,
        state: standing.state,
    }
}
