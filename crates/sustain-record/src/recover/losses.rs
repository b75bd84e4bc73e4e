//! Tells of what was durable and is not found when a store is recovered, be it marks or bytes.
//! Nothing takes its place.

use sustain_disk::units::Size;

use super::Recovered;
use crate::error::RecordError;
use crate::opening::{Recording, StreamExtent};
use crate::reading::part::{HoleReason, StreamPart};
use crate::reading::readable::behind_cuts;
use crate::reading::verify::{Checkable, IS_GONE, TailFindings, lost_by_reading, torn_tail};
use crate::store::Store;

impl Store {
    /// Tells of all that is lost. Returns what is not whole behind the durable mark of the newest
    /// recording, if its end is open.
    pub(super) fn report_losses(
        &self,
        recordings: &[Recording],
        recovered: &mut Recovered,
        observer: &mut dyn FnMut(u64),
    ) -> Result<Option<TailFindings>, RecordError> {
        let store = Checkable::of(self, recordings);
        for (member, place) in store.gone_ends() {
            recovered.lost_marks += 1;
            recovered.notes.push(format!(
                "{}: at byte {}: {IS_GONE}. `sustain verify` goes on telling this",
                member.name,
                member.superblock.geometry.offset_of(place)
            ));
        }
        let mut tail_of_newest = None;
        for (found, recording) in recordings.iter().zip(&behind_cuts(store, observer)?) {
            self.report_lost_marks(recording, recovered);
            let is_newest = recordings.first().is_some_and(|one| one.id == recording.id);
            let tail = match recording.open_end {
                true => Some(torn_tail(self, found, observer)?),
                false => None,
            };
            self.report_lost_bytes(store, recording, tail.as_ref(), recovered, observer)?;
            if is_newest {
                tail_of_newest = tail;
            }
        }
        Ok(tail_of_newest)
    }

    fn report_lost_marks(&self, recording: &Recording, recovered: &mut Recovered) {
        let left: Vec<String> = recording
            .streams
            .iter()
            .map(|stream| format!("{} ends at byte {}", stream.name, stream.offered_bytes))
            .collect();
        for member in &self.members {
            let extent = recording.per_member.get(member.index()).copied().flatten();
            for (place, why) in extent.iter().flat_map(StreamExtent::lost_marks) {
                recovered.lost_marks += 1;
                recovered.notes.push(format!(
                    "{}: recording {}, at byte {}: {why}. What is left of {}. `sustain verify` \
                     names what is missing, and goes on telling this",
                    member.name,
                    recording.number,
                    member.superblock.geometry.offset_of(place),
                    left.join(", and of ")
                ));
            }
        }
    }

    /// Tells how much of a recording is lost, given what is not whole behind its durable mark.
    ///
    /// The sums that its appends keep tell how much is missing: all that is on no member, but for
    /// what reading has found missing behind the durable mark. Of what is there and damaged, only
    /// reading tells. The sums still count what a ring has overwritten, so where one has gone round
    /// and they lack something, the recording is read as `verify` reads it.
    fn report_lost_bytes(
        &self,
        store: Checkable<'_>,
        recording: &Recording,
        tail: Option<&TailFindings>,
        recovered: &mut Recovered,
        observer: &mut dyn FnMut(u64),
    ) -> Result<(), RecordError> {
        let unreadable_bytes =
            tail.map_or(0, |tail| self.report_unreadable(recording, tail, recovered));
        let by_sums = (0..)
            .zip(&recording.streams)
            .map(|(number, stream)| match tail {
                Some(tail) => {
                    let behind_bytes = tail.missing_bytes.get(&number).copied().unwrap_or(0);
                    stream.absent_bytes.saturating_sub(behind_bytes)
                }
                None => stream
                    .hole_bytes
                    .saturating_sub(recording.crash_bytes(number)),
            });
        let mut lost_bytes: Vec<u64> = by_sums.collect();
        // What a member that failed lacks is on no member, and parity may give it all the same. So
        // do copies of what a retired one had.
        let mut superblocks = self.members.iter().map(|member| &member.superblock);
        let is_any_behind = superblocks.any(|one| !one.behind.is_empty());
        let may_be_computed =
            recording.parities.unwrap_or(0) > 0 && (is_any_behind || self.leaves_any_alone());
        if may_be_computed || self.has_retired_members() {
            recovered.notes.extend(parity_note(recording, &lost_bytes));
            recovered.lost_bytes += unreadable_bytes;
            return Ok(());
        }
        let mut what = "are on no member any more";
        let has_lost = lost_bytes.iter().any(|bytes| *bytes > 0);
        if has_lost && store.has_gone_round() {
            lost_bytes = lost_by_reading(store, recording, observer)?;
            what = "are on no member any more, or are damaged";
        } else {
            recovered.lost_bytes += unreadable_bytes;
        }
        for (number, (stream, bytes)) in (0..).zip(recording.streams.iter().zip(lost_bytes)) {
            if bytes > 0 {
                recovered.lost_bytes += bytes;
                let of_recording = recovered.holes.entry(recording.number).or_default();
                of_recording.insert(number, bytes);
                recovered.notes.push(format!(
                    "recording {}, stream {}: {bytes} bytes were recorded and {what}. `sustain \
                     verify` names them",
                    recording.number, stream.name
                ));
            }
        }
        Ok(())
    }

    /// Tells of what the medium refused at the end of a recording, which is no work of a crash, and
    /// returns how many bytes that is.
    fn report_unreadable(
        &self,
        recording: &Recording,
        found: &TailFindings,
        recovered: &mut Recovered,
    ) -> u64 {
        let mut lost_bytes = 0;
        for (stream, part) in &found.unreadable {
            let StreamPart::Hole { why, .. } = part else {
                continue;
            };
            let HoleReason::Unreadable {
                member,
                offset_bytes,
                errno,
            } = why
            else {
                continue;
            };
            lost_bytes += part.length_bytes();
            let why = errno.map_or(String::new(), |errno| format!(" ({errno})"));
            recovered.notes.push(format!(
                "{}: it cannot be read at byte {offset_bytes}{why}, where bytes {} to {} of \
                 recording {}, stream {}, lie. `sustain verify` goes on telling this",
                self.name_of(*member),
                part.offset_bytes(),
                part.end_bytes(),
                recording.number,
                recording.streams[usize::from(*stream)].name,
            ));
        }
        lost_bytes
    }
}

/// What is to be said of bytes that a member lacks that is left alone.
fn parity_note(recording: &Recording, lost_bytes: &[u64]) -> Option<String> {
    let bytes: u64 = lost_bytes.iter().sum();
    (bytes > 0).then(|| {
        format!(
            "recording {}: {} of it are on no member that has all it was given. `sustain verify` \
             tells whether parity or copies give them",
            recording.number,
            Size(bytes)
        )
    })
}
