//! `sustain repair`: rebuilds a lost member of a store with parity onto a new one.

use anyhow::anyhow;
use sustain::Stop;
use sustain::disk::clock::{Clock, Timestamp};
use sustain::disk::units::Size;
use sustain::host::Roots;
use sustain::record::RecordError;
use sustain::record::document::{repair_document, spread_document};
use sustain::record::opening::Recording;
use sustain::record::repair::{RecordingBeside, Repair, RepairEvent, Repaired, SETTLED_AFTER_NS};
use sustain::record::store::{Missing, Mode, Onto, RepairClaim, Store};
use sustain::report::terminal::{repair_text, retire_text};

use super::progress::ProgressLine;
use super::retire::{rehearse, retire};
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::repair::RepairFlags;
use crate::interrupt;
use crate::usage_error::UsageError;

/// How often it is looked whether a recording has ended.
const LOOK_NS: u64 = 100_000_000;

/// So often the store may be changed by other commands before a repair gives up.
const CHANGES_MAX: usize = 16;

pub(crate) fn run(flags: &RepairFlags) -> anyhow::Result<Exit> {
    let Some(onto) = &flags.onto else {
        return spread(flags);
    };
    let all: Vec<String> = flags.members.iter().chain([onto]).cloned().collect();
    stores::check_result(flags.json.as_deref(), &all)?;
    let stop = Stop::default();
    interrupt::watch(&stop, super::say)?;
    let begun_at = Clock::Real.now();
    let store = stores::open(&flags.members, Mode::Read)?;
    let mut rebuilding = Rebuilding {
        flags,
        onto,
        stop: &stop,
        progress: ProgressLine::new("rebuilding"),
        notes: Vec::new(),
        claim: store.claim_repair()?,
    };
    let rebuilt = rebuilding.run(store);
    rebuilding.progress.finish();
    let (store, repaired) = rebuilt?;
    let elapsed_s = Clock::Real.now().since_ns(begun_at) as f64 / 1e9;
    let missing = match repaired.still_missing.is_empty() {
        true => Some(MissingBytes::of_store(&all)?),
        false => None,
    };
    let missing_bytes = missing.as_ref().map(|missing| missing.certain_bytes);
    let mut notes = rebuilding.notes;
    if let Some(note) = missing.and_then(MissingBytes::note_of_rings) {
        super::say(&format!("note: {note}"));
        notes.push(note);
    }
    for number in &repaired.unseen_recordings {
        let note = format!(
            "recording {number} was begun, and nothing of it is on the other members: what was \
             recorded of it, if anything, is lost with the member that was lost"
        );
        super::say(&format!("note: {note}"));
        notes.push(note);
    }
    let unknown_groups = repaired.tally.unknown_groups;
    if unknown_groups > 0 {
        let note = unknown_words(unknown_groups);
        super::say(&format!("note: {note}"));
        notes.push(note);
    }
    let document = repair_document(&store, &repaired, (elapsed_s, missing_bytes), &notes);
    let text = repair_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(match (document.lost.appends, missing_bytes) {
        (0, None | Some(0)) if repaired.unseen_recordings.is_empty() && unknown_groups == 0 => {
            Exit::Done
        }
        _ => Exit::Failed,
    })
}

/// What to say of groups of which nothing tells what the lost member had.
fn unknown_words(groups: u64) -> String {
    let groups = match groups {
        1 => "1 group of appends".to_owned(),
        groups => format!("{groups} groups of appends"),
    };
    format!(
        "of {groups} no parity is on the members that are there, so nothing tells what the lost \
         member had of them. That is lost, if it was any, and `sustain verify` names the bytes"
    )
}

/// Copies what a lost member had to the others, which are the store then.
fn spread(flags: &RepairFlags) -> anyhow::Result<Exit> {
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    let read = stores::open(&flags.members, Mode::Read)?;
    let missing = read.not_given();
    let Some(lost) = missing.first() else {
        read.check_sizes()?;
        let why = "no member of the store is missing, so there is nothing to repair: `sustain \
                   retire` takes out one that is there, and `sustain scrub` puts back what is \
                   damaged";
        return Err(UsageError(why.to_owned()).into());
    };
    if missing.len() > 1 {
        return Err(several_missing(&missing).into());
    }
    let lost = (lost.index, flags.accept_loss);
    if flags.dry_run {
        return rehearse(&flags.members, read, lost);
    }
    let (retired, exit) = retire(&flags.members, read, lost)?;
    let document = spread_document(&retired);
    let text = retire_text(&retired, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(exit)
}

/// Refuses to spread what one of several lost members had.
fn several_missing(missing: &[Missing]) -> UsageError {
    let numbers: Vec<String> = missing
        .iter()
        .map(|one| (one.index + 1).to_string())
        .collect();
    let numbers = match numbers.split_last() {
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    };
    UsageError(format!(
        "members {numbers} are missing: name all that are there. Without a new member only one \
         that is lost can be spread over the others, so rebuild the others first, each with --onto \
         and a new member"
    ))
}

/// A repair, and what its user hears of it.
struct Rebuilding<'a> {
    flags: &'a RepairFlags,
    /// The new member, as typed.
    onto: &'a str,
    stop: &'a Stop,
    progress: ProgressLine,
    notes: Vec<String>,
    /// It lasts while the end of a recording is waited for, too.
    claim: RepairClaim,
}

impl Rebuilding<'_> {
    /// Rebuilds the member. Beside a recording, what can be first, and the rest when it has ended.
    fn run(&mut self, mut store: Store) -> anyhow::Result<(Store, Repaired)> {
        let mut changes = 0;
        loop {
            // Members that are there and lack something are found with the recordings.
            store.recordings()?;
            let mut beside = store.recording_beside()?;
            if let Some(before) = beside {
                self.note(
                    "the store is being recorded to: what can be rebuilt beside the recording is, \
                     and gives way to it; the rest follows when it has ended",
                );
                self.prepare(&mut store, beside)?;
                self.wait(|begun_at| Clock::Real.now().since_ns(begun_at) < SETTLED_AFTER_NS)?;
                store = self.reopened()?;
                let now = store.recording_beside()?;
                if now.is_some_and(|now| now.recording != before.recording) {
                    continue;
                }
                beside = now.map(|_| before);
            }
            match self.rebuild(&mut store, beside)? {
                Repair::Complete(repaired) => return Ok((store, repaired)),
                Repair::SoFar => {
                    match beside {
                        Some(_) => self
                            .note("all that can be is rebuilt: waiting for the recording to end"),
                        None => changes += 1,
                    }
                    if changes > CHANGES_MAX {
                        return Err(self.changed_too_often());
                    }
                    if changes > 0 {
                        self.note(
                            "another command has used the store meanwhile: what is different by \
                             now is rebuilt, too",
                        );
                    }
                    self.wait(|_| store.is_being_written())?;
                    store = self.reopened()?;
                }
            }
        }
    }

    fn changed_too_often(&self) -> anyhow::Error {
        let onto = self.onto;
        let words = format!(
            "other commands have used the store over and over meanwhile, so {onto} is not complete \
             yet: the same command completes it when nothing else does"
        );
        RecordError::Interrupted(words).into()
    }

    /// What is wrong with the new member is told before anything is waited for.
    fn prepare(
        &mut self,
        store: &mut Store,
        beside: Option<RecordingBeside>,
    ) -> anyhow::Result<()> {
        let (onto, roots, stop) = (self.onto(), Roots::default(), self.stop);
        let mut observer = |event| {
            if let RepairEvent::Note(note) = event {
                self.note(&note);
            }
        };
        Ok(store.prepare_onto(&onto, beside, (&roots, stop), &mut observer)?)
    }

    fn onto(&self) -> Onto {
        Onto {
            name: self.onto.to_owned(),
            destroy: self.flags.destroy.clone(),
            same_disk: self.flags.same_disk,
            accept_loss: self.flags.accept_loss,
            claim: Some(self.claim.clone()),
        }
    }

    fn rebuild(
        &mut self,
        store: &mut Store,
        beside: Option<RecordingBeside>,
    ) -> anyhow::Result<Repair> {
        let slot_bytes = u64::from(store.slot_bytes);
        let (onto, roots, stop) = (self.onto(), Roots::default(), self.stop);
        let mut observer = |event| match event {
            RepairEvent::Note(note) => self.note(&note),
            RepairEvent::Written {
                slots_done,
                slots_all,
            } => {
                let all_bytes = Some(slots_all * slot_bytes);
                self.progress.update(slots_done * slot_bytes, all_bytes);
            }
        };
        Ok(store.repair_onto(&onto, beside, (&roots, stop), &mut observer)?)
    }

    /// Each note is told once, however often the store is opened.
    fn note(&mut self, note: &str) {
        if self.notes.iter().any(|told| told == note) {
            return;
        }
        self.progress.note(&format!("note: {note}"));
        self.notes.push(note.to_owned());
    }

    fn reopened(&self) -> anyhow::Result<Store> {
        let opened = Store::open(&self.flags.members, Mode::Read, &Roots::default());
        let opened = opened.and_then(|mut store| {
            store.recordings()?;
            Ok(store)
        });
        opened.map_err(|error| {
            let onto = self.onto;
            anyhow!(
                "the members can no longer be read, so {onto} is not complete yet. Leave out \
                 whatever has failed meanwhile, and repair onto {onto} again: that goes on where \
                 this ended. {error}"
            )
        })
    }

    /// Waits as long as this is so, which is told when the waiting began.
    fn wait(&self, is_so: impl Fn(Timestamp) -> bool) -> anyhow::Result<()> {
        let begun_at = Clock::Real.now();
        while is_so(begun_at) {
            if self.stop.reason().is_some() {
                let onto = self.onto;
                let words = format!(
                    "interrupted before the recording had ended, so {onto} is not complete: the \
                     same command goes on where it ended"
                );
                return Err(RecordError::Interrupted(words).into());
            }
            let clock = Clock::Real;
            clock.wait_until(clock.now() + LOOK_NS);
        }
        Ok(())
    }
}

/// What the recordings of a store lack on all its members.
struct MissingBytes {
    /// Bytes that are on none of them.
    certain_bytes: u64,
    /// The most that may be missing of rings that have overwritten something. What a member that
    /// was rebuilt had before counts, too, although the ring may have passed it.
    of_rings_bytes: u64,
}

impl MissingBytes {
    fn of_store(members: &[String]) -> anyhow::Result<MissingBytes> {
        let mut store = Store::open(members, Mode::Read, &Roots::default())?;
        let recordings = store.recordings()?;
        let has_overwritten = |recording: &&Recording| {
            let mut extents = recording.per_member.iter().flatten();
            recording.ring && extents.any(|extent| extent.is_overwritten)
        };
        let (of_rings, others): (Vec<_>, Vec<_>) = recordings.iter().partition(has_overwritten);
        let missing = |recordings: Vec<&Recording>| {
            let streams = recordings.into_iter().flat_map(|one| &one.streams);
            streams.map(|stream| stream.hole_bytes).sum()
        };
        Ok(MissingBytes {
            certain_bytes: missing(others),
            of_rings_bytes: missing(of_rings),
        })
    }

    fn note_of_rings(self) -> Option<String> {
        (self.of_rings_bytes > 0).then(|| {
            format!(
                "of what is left of the ring, up to {} may be on none of the members, unless the \
                 ring had overwritten it: `sustain verify` reads it all and tells",
                Size(self.of_rings_bytes)
            )
        })
    }
}
