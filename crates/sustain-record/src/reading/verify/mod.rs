//! Checks a whole store: it reads every slot in use and accounts for every byte of every recording.
//! It repairs nothing, and calls nothing whole that it has not read.

mod absent;
mod account;
mod flaws;
mod given_up;
mod lost_by_reading;
mod meanwhile;
mod names;
mod on_member;
mod pinned;
mod protection;
mod ring;
mod stretches;
mod tail;
mod torn;

use serde::Serialize;

use sustain_disk::units::Size;
use sustain_targets::Stop;

use self::absent::check_missing;
use self::account::Account;
pub(crate) use self::lost_by_reading::lost_by_reading;
pub use self::meanwhile::{RemainingFrom, left_by_now};
use self::names::Names;
pub use self::pinned::VerifiedPin;
use self::pinned::{ReadSlots, check_pins, judge_pins};
pub use self::protection::VerifiedProtection;
use self::protection::lessened;
pub(crate) use self::tail::{TailFindings, torn_tail};
pub use super::checkable::Checkable;
pub(crate) use super::checkable::IS_GONE;
use super::parts::Parts;
use super::readable::readable;
use super::scope::Scope;
use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, Superblock, SuperblockError};
use crate::opening::Recording;
use crate::store::OpenMember;

/// The schema that a [`VerifyResult`] names.
pub const SCHEMA: &str = "sustain.verify/1";
/// The most flaws that are listed. More are only counted.
const BAD_MAX: usize = 100_000;

/// The progress of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Bytes of members that were read and checked.
    pub checked_bytes: u64,
    /// Bytes of members that will be read and checked in all, as far as is known; 0 while it is
    /// found out what can be read of a ring.
    pub total_bytes: u64,
    /// Flaws found.
    pub bad: u64,
}

/// The findings of the check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyResult {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Whether nothing is damaged or missing that was durable or that `recover` found whole, as far
    /// as the members show.
    pub ok: bool,
    /// Whether everything was checked, and the user did not end it before.
    pub complete: bool,
    /// Bytes of members that were read and checked.
    pub checked_bytes: u64,
    /// Every flaw, by recording, in the order of their streams; behind these, those that lie in
    /// what only pins keep.
    pub bad: Vec<Discrepancy>,
    /// Number of flaws that are not listed.
    pub bad_unlisted: u64,
    /// What no append calls durable, in the same order: a crash took it before `recover` came, or
    /// the recorder gave it up with its member. Where the end is open it may have been damaged
    /// since; the members cannot tell.
    pub not_durable: Vec<Discrepancy>,
    /// Number of those that are not listed.
    pub not_durable_unlisted: u64,
    /// The findings for each recording, oldest first.
    pub recordings: Vec<VerifiedRecording>,
    /// The findings for each pin.
    pub pins: Vec<VerifiedPin>,
    /// What the members cannot tell, in words for the user.
    pub notes: Vec<String>,
}

/// A place that is not as it was recorded: a flaw, or what was not durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discrepancy {
    /// The member's name as typed, if one can be named.
    pub member: Option<String>,
    /// Offset on the member.
    pub offset_bytes: Option<u64>,
    /// Number of a pin that keeps the place, if one does.
    pub pin: Option<u32>,
    /// Number of the recording, if it belongs to one.
    pub recording: Option<u32>,
    /// Number of the stream, if it belongs to one.
    pub stream: Option<u16>,
    /// The first byte of the stream that is lost by it.
    pub from_byte: Option<u64>,
    /// The first byte behind the loss; equal to `from_byte` if no byte is lost.
    pub to_byte: Option<u64>,
    /// What is wrong.
    pub why: String,
}

/// The findings for a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedRecording {
    /// Its number.
    pub number: u32,
    /// Whether it has no end mark.
    pub open_end: bool,
    /// Its streams, by number.
    pub streams: Vec<VerifiedStream>,
    /// How parity protects it, if it does.
    pub protection: Option<VerifiedProtection>,
}

/// The findings for a stream: `offered = recorded + gap_bytes + hole_bytes + overwritten_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct VerifiedStream {
    /// Its name.
    pub name: String,
    /// Whether it is the stream of the recording's marks.
    pub is_marks: bool,
    /// Bytes that are known to have been offered.
    pub offered: u64,
    /// Bytes that are there and whole.
    pub recorded: u64,
    /// Those of `recorded` that lie below the readable range: between them a ring has overwritten
    /// others.
    pub below_readable_bytes: u64,
    /// Where the readable range begins; 0 where no ring has overwritten anything.
    pub readable_from_bytes: u64,
    /// Bytes lost before they reached a member.
    pub gap_bytes: u64,
    /// Bytes lost since they were recorded.
    pub hole_bytes: u64,
    /// Bytes overwritten in the ring.
    pub overwritten_bytes: u64,
    /// Those of `hole_bytes` that are in [`VerifyResult::not_durable`].
    pub not_durable_bytes: u64,
    /// The watermark: below this every byte was durable, or was a gap whose account was, as the
    /// appends say.
    pub settled_bytes: u64,
}

/// Checks a store. `observer` is called when it begins and after every few MiB. The user can end
/// the check early; the result then has what was found so far.
///
/// # Errors
/// If the members cannot be driven. What cannot be read on them is a flaw, not an error.
pub fn verify(
    store: Checkable<'_>,
    observer: &mut dyn FnMut(VerifyProgress),
    stop: &Stop,
) -> Result<VerifyResult, RecordError> {
    let mut looked_bytes = 0;
    let mut look = |read_bytes: u64| {
        looked_bytes += read_bytes;
        observer(VerifyProgress {
            checked_bytes: looked_bytes,
            total_bytes: 0,
            bad: 0,
        });
    };
    let readable = readable(store, stop, &mut look)?;
    let store = Checkable {
        recordings: &readable,
        ..store
    };
    let mut recordings: Vec<&Recording> = store.recordings.iter().collect();
    recordings.sort_by_key(|recording| recording.number);
    let scopes: Vec<Scope> = recordings
        .iter()
        .map(|recording| Scope::of(recording, store.members, store.machines, store.clock))
        .collect();
    let mut read = ReadSlots::default();
    for (recording, scope) in recordings.iter().zip(&scopes) {
        read.add(recording, scope);
    }
    let total_bytes =
        scopes.iter().map(Scope::slot_bytes).sum::<u64>() + pinned_bytes(store, &read);
    let mut result = VerifyResult::begun(store.unknown_mark_notes());
    let mut observing = ObservedCheck {
        observer,
        total_bytes,
        stop,
    };
    observing.report(0, 0);
    check_superblocks(store, &mut result)?;
    check_newest_slots(store, &mut result);
    check_missing(store, &mut result);
    for number in store.unseen_recordings() {
        result.add(Discrepancy::of_store(Some(number), &store.unseen_words()));
    }
    let given = VerifyBasis::of(&store);
    for (recording, scope) in recordings.into_iter().zip(&scopes) {
        if let Some(why) = store.unknown_end(recording) {
            result.add(Discrepancy::of_store(Some(recording.number), &why));
        }
        let before_bytes = result.checked_bytes;
        let bad_before = (result.bad.len(), result.bad_unlisted);
        let mut report =
            |checked_bytes: u64, bad: u64| observing.report(before_bytes + checked_bytes, bad);
        if !check_recording(recording, scope, given, &mut result, &mut report)? {
            result.complete = false;
            break;
        }
        add_lessened(recording, given, bad_before, &mut result);
        let checked = result.recordings.last();
        let notes = checked.map(|checked| unfound_gap_notes(recording, checked));
        result.notes.extend(notes.into_iter().flatten());
    }
    if result.complete {
        let mut report = |checked_bytes: u64, bad: u64| observing.report(checked_bytes, bad);
        result.complete = check_pins(store, given, read, &mut result, &mut report)?;
    }
    meanwhile::excuse_overwritten(store, &mut result);
    judge_pins(store, &mut result);
    result.ok = result.complete && result.bad.is_empty() && result.bad_unlisted == 0;
    Ok(result)
}

/// Who is told how far the check has come, and may end it.
struct ObservedCheck<'a> {
    observer: &'a mut dyn FnMut(VerifyProgress),
    total_bytes: u64,
    stop: &'a Stop,
}

impl ObservedCheck<'_> {
    /// Returns whether the check goes on.
    fn report(&mut self, checked_bytes: u64, bad: u64) -> bool {
        (self.observer)(VerifyProgress {
            checked_bytes,
            total_bytes: self.total_bytes,
            bad,
        });
        self.stop.reason().is_none()
    }
}

/// What only pins have, as far as it does not overlap.
fn pinned_bytes(store: Checkable<'_>, read: &ReadSlots<'_>) -> u64 {
    let pinned = store.pins.iter().flat_map(|kept| &kept.recordings);
    let scopes = pinned.map(|one| Scope::of(one, store.members, store.machines, store.clock));
    scopes.map(|scope| read.unread_bytes(&scope)).sum()
}

impl Discrepancy {
    /// A flaw that is in no stream.
    fn of_store(recording: Option<u32>, why: &str) -> Discrepancy {
        Discrepancy {
            member: None,
            offset_bytes: None,
            pin: None,
            recording,
            stream: None,
            from_byte: None,
            to_byte: None,
            why: why.to_owned(),
        }
    }
}

impl VerifyResult {
    /// A result in which nothing has been found so far.
    fn begun(notes: Vec<String>) -> VerifyResult {
        VerifyResult {
            schema: SCHEMA,
            ok: false,
            complete: true,
            checked_bytes: 0,
            bad: Vec::new(),
            bad_unlisted: 0,
            not_durable: Vec::new(),
            not_durable_unlisted: 0,
            recordings: Vec::new(),
            pins: Vec::new(),
            notes,
        }
    }

    fn add(&mut self, bad: Discrepancy) {
        if self.bad.len() < BAD_MAX {
            self.bad.push(bad);
        } else {
            self.bad_unlisted += 1;
        }
    }
}

/// Whether all members of the store are there, and none has become smaller.
fn is_all_there(store: &Checkable<'_>) -> bool {
    let is_whole = |member: &OpenMember| {
        let member_bytes = member.superblock.geometry.member_bytes;
        !ends_before(member, member_bytes)
    };
    let mut there = store.members.iter().filter(|member| member.is_there());
    store.missing().is_empty() && there.all(is_whole)
}

/// Facts that all recordings of a store have in common.
#[derive(Clone, Copy)]
struct VerifyBasis {
    has_laps: bool,
    is_all_there: bool,
}

impl VerifyBasis {
    fn of(store: &Checkable<'_>) -> VerifyBasis {
        VerifyBasis {
            has_laps: store.has_laps(),
            is_all_there: is_all_there(store),
        }
    }
}

/// Says where parity protects less of a recording that was checked, if nothing bad was found in it
/// since so much had been.
fn add_lessened(
    recording: &Recording,
    given: VerifyBasis,
    bad_before: (usize, u64),
    result: &mut VerifyResult,
) {
    let checked = result.recordings.last();
    let lessened = checked.and_then(|checked| lessened(recording, checked.protection));
    let is_known = !given.has_laps && given.is_all_there;
    let is_sound = (result.bad.len(), result.bad_unlisted) == bad_before;
    if let Some(why) = lessened.filter(|_| is_known && is_sound) {
        result.add(Discrepancy::of_store(Some(recording.number), &why));
    }
}

/// Checks one recording. Returns whether the check came to its end.
fn check_recording(
    recording: &Recording,
    scope: &Scope,
    given: VerifyBasis,
    result: &mut VerifyResult,
    report: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<bool, RecordError> {
    let names = Names::of(recording, scope);
    let mut account = Account::new(recording, names, given.has_laps, given.is_all_there);
    let mut order = scope.all(0..recording.streams.len() as u16);
    for wanted in &mut order.wanted {
        // What is still there below the readable range is told from what is overwritten.
        wanted.durable_bytes = wanted.durable_bytes.max(wanted.readable_from_bytes);
        wanted.readable_from_bytes = 0;
    }
    let mut parts = Parts::open(scope, &order)?;
    parts.keep_found();
    let mut reported_bytes = 0;
    let mut is_complete = true;
    while let Some(item) = parts.next() {
        let (stream, part) = item?;
        for (member, origin, is_whole) in parts.take_found() {
            account.found(member, &origin, is_whole);
        }
        account.part(stream, &part);
        if parts.read_bytes() > reported_bytes {
            reported_bytes = parts.read_bytes();
            if !report(reported_bytes, account.bad_count()) {
                is_complete = false;
                break;
            }
        }
    }
    for (member, origin, is_whole) in parts.take_found() {
        account.found(member, &origin, is_whole);
    }
    for (member, headless) in parts.headless() {
        account.headless(*member, *headless);
    }
    account.contradictions(parts.contradictions());
    result.checked_bytes += parts.read_bytes();
    let checked = account.finish(is_complete);
    result.recordings.push(checked.recording);
    let checked = checked.flaws;
    result.bad_unlisted += checked.unlisted;
    let room = BAD_MAX.saturating_sub(result.not_durable.len());
    let beyond = checked.not_durable.len().saturating_sub(room) as u64;
    result.not_durable_unlisted += checked.not_durable_unlisted + beyond;
    result
        .not_durable
        .extend(checked.not_durable.into_iter().take(room));
    checked.bad.into_iter().for_each(|bad| result.add(bad));
    Ok(is_complete)
}

/// Where accounts of gaps are missing, too, `list` still counts their gaps by the sums that appends
/// keep, and the check finds only that bytes are missing.
fn unfound_gap_notes(recording: &Recording, checked: &VerifiedRecording) -> Vec<String> {
    let is_overwritten = recording.readable_from_sequence.is_some();
    let streams = recording.streams.iter().zip(&checked.streams);
    let streams = streams.filter(|_| !is_overwritten && !recording.is_gone_from_a_member);
    streams
        .filter_map(|(summary, stream)| {
            let unfound_bytes = summary.gap_bytes.saturating_sub(stream.gap_bytes);
            let most_bytes = unfound_bytes.min(stream.hole_bytes);
            (most_bytes > 0).then(|| {
                format!(
                    "recording {}, stream {}: up to {most_bytes} of the {} bytes that are damaged \
                     or missing were lost before they reached a member, as `sustain list` counts \
                     them: where these were is damaged or missing, too",
                    recording.number, summary.name, stream.hole_bytes
                )
            })
        })
        .collect()
}

/// Checks all four copies of the superblock on every member.
fn check_superblocks(store: Checkable<'_>, result: &mut VerifyResult) -> Result<(), RecordError> {
    if store.members.is_empty() {
        return Ok(());
    }
    let mut io = super::scope::open_io(store.members, store.machines, store.clock)?;
    let members = store.members.iter().enumerate();
    for (index, member) in members.filter(|(_, member)| member.is_there()) {
        for offset_bytes in member.superblock.geometry.superblock_offsets() {
            let why = match io.read(index, offset_bytes, BLOCK_BYTES) {
                Err(_) if ends_before(member, offset_bytes + BLOCK_BYTES as u64) => Some(format!(
                    "this copy of the superblock is gone: the member ends at {}, but {} are \
                     expected",
                    Size(member.target.capacity_bytes.unwrap_or(0)),
                    Size(member.superblock.geometry.member_bytes)
                )),
                Err(errno) => Some(format!("a copy of the superblock cannot be read: {errno}")),
                Ok(block) => {
                    result.checked_bytes += BLOCK_BYTES as u64;
                    superblock_flaw(&block, &member.superblock)
                }
            };
            if let Some(why) = why {
                result.add(Discrepancy {
                    member: Some(member.name.clone()),
                    offset_bytes: Some(offset_bytes),
                    ..Discrepancy::of_store(None, &why)
                });
            }
        }
    }
    io.check_engine()
}

/// Tells of the recordings that ended in order, and of which a member has nothing left.
fn check_newest_slots(store: Checkable<'_>, result: &mut VerifyResult) {
    for (member, place) in store.gone_ends() {
        result.add(Discrepancy {
            member: Some(member.name.clone()),
            offset_bytes: Some(member.superblock.geometry.offset_of(place)),
            ..Discrepancy::of_store(None, IS_GONE)
        });
    }
}

fn ends_before(member: &OpenMember, end_bytes: u64) -> bool {
    let capacity_bytes = member.target.capacity_bytes;
    capacity_bytes.is_some_and(|capacity_bytes| capacity_bytes < end_bytes)
}

fn superblock_flaw(block: &[u8], newest: &Superblock) -> Option<String> {
    match Superblock::decode(block) {
        Err(error @ SuperblockError::Newer { .. }) => {
            Some(format!("a copy of the superblock: {error}"))
        }
        Err(SuperblockError::Foreign | SuperblockError::Damaged) => {
            Some("this copy of the superblock is damaged; `sustain recover` repairs it".to_owned())
        }
        // A copy of an older generation is left by a crash, and differs in hints only.
        Ok(copy) => (copy.store != newest.store
            || copy.member != newest.member
            || copy.geometry != newest.geometry
            // Before members were added the table was shorter.
            || !newest.members.starts_with(&copy.members))
        .then(|| "this copy of the superblock belongs to another store or member".to_owned()),
    }
}
