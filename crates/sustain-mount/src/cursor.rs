//! Reads a stream for whoever reads a file of a mount: one after the other, or here and there. A
//! cursor keeps what it read last, because the kernel asks for what lies ahead in several requests
//! at once, in no order.

use std::collections::VecDeque;
use std::ops::Range as Span;
use std::sync::Arc;

use sustain_record::error::RecordError;
use sustain_record::reading::bytes::SharedBytes;
use sustain_record::reading::part::StreamPart;
use sustain_record::reading::parts::Background;
use sustain_record::reading::stream::{Range, StreamReader};

use crate::view::ShownRecording;

/// What was read is kept for so long behind the last request.
const KEPT_BYTES: u64 = 4 << 20;
/// Who has read so much in order will read on, and then it is read far ahead.
const IN_ORDER_BYTES: u64 = 2 << 20;
/// So will who begins a long stream at its start with so much at once.
const BEGIN_BYTES: u64 = 1 << 20;
const LONG_STREAM_BYTES: u64 = 64 << 20;

/// Why a read returns no bytes.
#[derive(Debug)]
pub(crate) enum ReadFailure {
    /// They are lost, or overwritten.
    Lost,
    /// They are of a frame whose end has not come, and nothing of it is lost.
    Unfinished,
    /// The members could not be driven.
    Members(RecordError),
}

/// What a read returns.
#[derive(Debug)]
pub(crate) enum ReadBytes {
    /// Of one append, where they lie.
    Shared(SharedBytes),
    /// Of several, joined.
    Joined(Vec<u8>),
}

impl ReadBytes {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            ReadBytes::Shared(bytes) => bytes,
            ReadBytes::Joined(bytes) => bytes,
        }
    }
}

/// What is wanted of a stream.
pub(crate) struct WantedBytes {
    /// It lies below the end of the stream.
    pub(crate) range: Span<u64>,
    /// Whether what lies before the first lost byte may be returned alone.
    pub(crate) may_be_short: bool,
}

/// A place in a stream.
#[derive(Default)]
pub(crate) struct StreamCursor {
    /// What was known of the recording when the first of these parts was read.
    known: Option<Arc<ShownRecording>>,
    reader: Option<StreamReader<Background>>,
    /// Whether it reads far ahead.
    is_deep: bool,
    /// Where it was opened.
    opened_bytes: u64,
    /// Parts that follow each other up to where the reader is.
    parts: VecDeque<KeptPart>,
}

struct KeptPart {
    part: StreamPart,
    /// Whether zeros stand for it, once that is known. It stays so.
    are_zeros: bool,
}

impl StreamCursor {
    /// What lies up to so far ahead is read on to; farther ahead is another place.
    pub(crate) const REACH_BYTES: u64 = 32 << 20;

    /// What of the stream can be had without beginning anew, roughly.
    pub(crate) fn near(&self) -> Span<u64> {
        let start = self.parts.front().map(|kept| kept.part.offset_bytes());
        match (start, self.parts.back()) {
            (Some(start), Some(last)) => start..last.part.end_bytes() + StreamCursor::REACH_BYTES,
            _ => 0..0,
        }
    }

    /// Reads what is wanted of the stream. It is asked of each loss whether zeros stand for it.
    pub(crate) fn read(
        &mut self,
        shown: &Arc<ShownRecording>,
        stream: u16,
        WantedBytes {
            range: wanted,
            may_be_short,
        }: WantedBytes,
        are_zeros: &dyn Fn(&StreamPart) -> bool,
    ) -> Result<ReadBytes, ReadFailure> {
        self.reach(shown, stream, &wanted)?;
        let is_lost = |kept: &KeptPart| {
            let part = &kept.part;
            !matches!(part, StreamPart::Data { .. })
                && part.offset_bytes() < wanted.end
                && part.end_bytes() > wanted.start
        };
        let has_losses = self.parts.iter().any(is_lost);
        let is_known = |known: &Arc<ShownRecording>| Arc::ptr_eq(known, shown);
        if has_losses && !self.known.as_ref().is_some_and(is_known) {
            // What was lost when it was read may have come since, and what was there, a ring may
            // have overwritten.
            *self = StreamCursor::default();
            self.reach(shown, stream, &wanted)?;
        }
        self.forget_before(wanted.start);
        let mut joined = Vec::new();
        for KeptPart {
            part,
            are_zeros: known,
        } in &mut self.parts
        {
            let from = wanted.start.max(part.offset_bytes());
            let to = wanted.end.min(part.end_bytes());
            if from >= to {
                continue;
            }
            let within = (from - part.offset_bytes()) as usize..(to - part.offset_bytes()) as usize;
            match part {
                StreamPart::Data { bytes, .. } if from == wanted.start && to == wanted.end => {
                    return Ok(ReadBytes::Shared(bytes.slice(within)));
                }
                StreamPart::Data { bytes, .. } => {
                    if joined.is_empty() {
                        joined.reserve_exact((wanted.end - wanted.start) as usize);
                    }
                    joined.extend_from_slice(&bytes[within]);
                }
                lost if *known || are_zeros(lost) => {
                    *known = true;
                    joined.resize(joined.len() + within.len(), 0);
                }
                _ if may_be_short && !joined.is_empty() => return Ok(ReadBytes::Joined(joined)),
                _ => {
                    // What is lost now may be there later, if it was on its way.
                    if shown.may_move {
                        *self = StreamCursor::default();
                    }
                    return Err(ReadFailure::Lost);
                }
            }
        }
        assert_eq!(
            joined.len() as u64,
            wanted.end - wanted.start,
            "the parts follow each other"
        );
        Ok(ReadBytes::Joined(joined))
    }

    /// Reads on until there are parts of all that is wanted.
    fn reach(
        &mut self,
        shown: &Arc<ShownRecording>,
        stream: u16,
        wanted: &Span<u64>,
    ) -> Result<(), ReadFailure> {
        if !self.near().contains(&wanted.start) {
            *self = StreamCursor::default();
        }
        let mut is_fresh = false;
        loop {
            let end = self.parts.back().map(|kept| kept.part.end_bytes());
            let end = end.unwrap_or(wanted.start);
            if end >= wanted.end {
                return Ok(());
            }
            let is_in_order = !self.is_deep
                && (end - self.opened_bytes.min(end) > IN_ORDER_BYTES
                    || end == 0 && reads_all(shown, stream, wanted));
            if self.reader.is_none() || is_in_order {
                let opened = open(shown, stream, end, is_in_order);
                self.reader = Some(opened.map_err(ReadFailure::Members)?);
                if self.parts.is_empty() {
                    self.known = Some(Arc::clone(shown));
                    self.opened_bytes = end;
                }
                self.is_deep = is_in_order;
                is_fresh = true;
            }
            match self.reader.as_mut().and_then(Iterator::next) {
                Some(Ok(part)) => self.take(part, wanted.start),
                Some(Err(error)) => {
                    *self = StreamCursor::default();
                    return Err(ReadFailure::Members(error));
                }
                // The stream has grown since this was opened, or it has become shorter.
                None if is_fresh => {
                    *self = StreamCursor::default();
                    return Err(ReadFailure::Lost);
                }
                None => {
                    self.reader = None;
                    self.is_deep = false;
                    self.opened_bytes = end;
                }
            }
        }
    }

    fn take(&mut self, part: StreamPart, wanted_from: u64) {
        if part.length_bytes() > 0 {
            self.parts.push_back(KeptPart {
                part,
                are_zeros: false,
            });
            self.forget_before(wanted_from);
        }
    }

    fn forget_before(&mut self, offset_bytes: u64) {
        let kept_from = offset_bytes.saturating_sub(KEPT_BYTES);
        while self.parts.len() > 1 && self.parts[0].part.end_bytes() <= kept_from {
            self.parts.pop_front();
        }
    }
}

/// Whether this looks like the first of the reads that copy a long stream.
fn reads_all(shown: &ShownRecording, stream: u16, wanted: &Span<u64>) -> bool {
    let stream = shown.stream(stream);
    let is_long = stream.is_some_and(|stream| stream.offered_bytes >= LONG_STREAM_BYTES);
    is_long && wanted.start == 0 && wanted.end >= BEGIN_BYTES
}

fn open(
    shown: &ShownRecording,
    stream: u16,
    from_bytes: u64,
    is_deep: bool,
) -> Result<StreamReader<Background>, RecordError> {
    let range = Range::Bytes(from_bytes..u64::MAX);
    let reads_ahead = if is_deep { None } else { Some(1) };
    StreamReader::open_between_threads(&shown.scope, stream, &range, reads_ahead)
}
