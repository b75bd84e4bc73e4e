//! What a ring has overwritten of a recording, told apart while it is checked: what is still there
//! below the readable range, what was lost before it reached a member, and what is overwritten.
//! Pure.

use std::collections::BTreeSet;

use super::VerifiedStream;
use crate::format::Kind;
use crate::opening::Recording;
use crate::reading::part::{Origin, StreamPart};

/// The most accounts of gaps that are remembered. Of later ones copies would count twice.
const ACCOUNTS_MAX: usize = 1 << 20;

/// Gaps whose accounts a ring has overwritten. The totals of the recording still count them, and
/// nothing says where they were, but that they lay in what is overwritten.
pub(super) struct OverwrittenGaps<'a> {
    recording: &'a Recording,
    /// Accounts that were found: stream, end and length. An append may be on two members.
    found: BTreeSet<(u16, u64, u64)>,
    /// By stream, what they account for.
    found_bytes: Vec<u64>,
    /// By stream, those of `found_bytes` whose accounts are older than the readable range.
    older_bytes: Vec<u64>,
}

impl<'a> OverwrittenGaps<'a> {
    pub(super) fn of(recording: &'a Recording) -> OverwrittenGaps<'a> {
        let none = vec![0; recording.streams.len()];
        OverwrittenGaps {
            recording,
            found: BTreeSet::new(),
            found_bytes: none.clone(),
            older_bytes: none,
        }
    }

    /// An append was found.
    pub(super) fn found(&mut self, origin: &Origin) {
        let descriptor = &origin.descriptor;
        let readable_from = self.recording.readable_from_sequence;
        let is_ring = readable_from.is_some() || self.recording.is_gone_from_a_member;
        let stream = usize::from(descriptor.stream);
        let Some(gap) = descriptor.gap.filter(|gap| gap.bytes > 0) else {
            return;
        };
        if !is_ring || descriptor.kind != Kind::Data || stream >= self.found_bytes.len() {
            return;
        }
        let account = (descriptor.stream, descriptor.stream_offset_bytes, gap.bytes);
        if self.found.contains(&account) {
            return;
        }
        if self.found.len() < ACCOUNTS_MAX {
            self.found.insert(account);
        }
        self.found_bytes[stream] += gap.bytes;
        if Some(descriptor.sequence) < readable_from {
            self.older_bytes[stream] += gap.bytes;
        }
    }

    /// Counts them as gaps. Where something is damaged or missing besides, an account that is gone
    /// may have been there, and only those older than the readable range are surely overwritten.
    pub(super) fn count(&self, streams: &mut [VerifiedStream]) {
        for (number, stream) in streams.iter_mut().enumerate() {
            let summary = &self.recording.streams[number];
            let unfound_bytes = if stream.hole_bytes == 0 {
                summary.gap_bytes.saturating_sub(self.found_bytes[number])
            } else {
                let older_bytes = summary.readable_from_gap_bytes;
                older_bytes.saturating_sub(self.older_bytes[number])
            };
            let bytes = unfound_bytes.min(stream.overwritten_bytes);
            stream.overwritten_bytes -= bytes;
            stream.gap_bytes += bytes;
        }
    }
}

impl VerifiedStream {
    /// A part that lies below the readable range.
    pub(super) fn take_below(&mut self, part: &StreamPart) {
        let bytes = part.length_bytes();
        match part {
            StreamPart::Data { .. } => {
                self.recorded += bytes;
                self.below_readable_bytes += bytes;
            }
            StreamPart::Gap { .. } => self.gap_bytes += bytes,
            StreamPart::Hole { .. } | StreamPart::Overwritten { .. } => {
                self.overwritten_bytes += bytes;
            }
            StreamPart::OpenEnd { .. } => {}
        }
    }
}
