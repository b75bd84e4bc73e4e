//! One retirement: what is to be copied is planned, written, and looked for again before the
//! superblocks tell of it.

use std::sync::Arc;

use sustain_disk::units::Size;
use sustain_document::setting::{ACCEPT_LOSS, ADD, DEGRADED, ONTO};
use sustain_targets::Stop;

use super::copies_writer::{CopiesWriter, CopyToWrite};
use super::lanes::CopyLane;
use super::moving::{Moving, MovingData, MovingParity};
use super::places::{JustPlaced, Places};
use super::tally::{RehearsedRetirement, RetireTally, Retired};
use crate::error::RecordError;
use crate::format::BLOCK_BYTES;
use crate::member_io::MemberIo;
use crate::opening::{MemberTail, Recording};
use crate::reading::verify::{Checkable, verify};
use crate::rebuilt::{CopiedPart, FoundGroups, is_of_copies};
use crate::store::{OpenMember, Renewal, Store};

const WHY: &str = "it is looked for what the member has that is to be retired";
const WHY_AGAIN: &str = "it is checked that everything has been copied";

/// How far it has come: slots that were read, of how many.
pub(super) type Progress<'a> = dyn FnMut(u64, u64) + 'a;

/// A member that is being retired.
pub(super) struct Retirement<'a> {
    read: &'a Store,
    moving: Moving<'a>,
    /// Its place in the table of members.
    member: usize,
    is_there: bool,
    parities: Vec<MovingParity>,
    tally: RetireTally,
    /// The appends that were planned, to be looked for at the end.
    planned: Vec<Planned>,
    planned_bytes: u64,
    /// Bytes of streams that are on no member while it is missing, and cannot be computed.
    missing_bytes: u64,
    /// What a missing member may have had, in words.
    unknown: Vec<String>,
}

/// An append of which others are to have copies.
enum Planned {
    /// Data: the member that has it, its place there, and how many copies there are to be.
    Data(CopiedPart, usize),
    /// Parity, by its group and its number there.
    Parity(u64, usize),
}

impl<'a> Retirement<'a> {
    /// Finds what a member has that is to be retired.
    pub(super) fn of(
        store: &Store,
        read: &'a Store,
        member: usize,
    ) -> Result<Retirement<'a>, RecordError> {
        let groups = Arc::new(read.groups_to_retire(member));
        let found = groups.find(WHY)?;
        let is_there = store.members.iter().any(|one| one.index() == member);
        check_holds(store, &found, member)?;
        let moving = Moving::of(read, groups, found, member);
        Ok(Retirement {
            read,
            parities: moving.parities(),
            moving,
            member,
            is_there,
            tally: RetireTally::default(),
            planned: Vec::new(),
            planned_bytes: 0,
            missing_bytes: 0,
            unknown: Vec::new(),
        })
    }

    /// Finds out what would be copied, and whether there is room. Writes nothing.
    pub(super) fn rehearse(
        mut self,
        store: &Store,
        (recordings, accept_loss): (&[Recording], bool),
        (stop, progress): (&Stop, &mut Progress<'_>),
    ) -> Result<RehearsedRetirement, RecordError> {
        drop(self.prepare(store, (recordings, accept_loss), (stop, progress))?);
        let lanes = self.lanes(store);
        Ok(RehearsedRetirement {
            appends: self.planned.len() as u64,
            copies_bytes: self.planned_bytes,
            free_bytes: lanes.iter().map(CopyLane::free_bytes).sum(),
            lost_bytes: self.tally.lost_bytes,
            unknown: self.unknown,
        })
    }

    /// Copies everything, and retires the member. Returns the recording that has the copies, if
    /// any were written.
    pub(super) fn run(
        mut self,
        store: &mut Store,
        (recordings, accept_loss): (&[Recording], bool),
        (stop, progress): (&Stop, &mut Progress<'_>),
    ) -> Result<Retired, RecordError> {
        let _claim = store.claim_repair()?;
        let mut io = self.prepare(store, (recordings, accept_loss), (stop, progress))?;
        store.note_parity();
        let mut recording = None;
        let mut ends = Vec::new();
        if self.planned_bytes > 0 {
            let begun = store.slots_begun_to_retire(self.member);
            store.renew_superblocks(&begun, Renewal::Begins)?;
            let mut writer = CopiesWriter::new(store, self.lanes(store));
            writer.start(&mut io, store, self.member)?;
            self.copy(&mut io, &mut writer, (stop, progress))?;
            ends = writer.end(&mut io)?;
            recording = Some(writer.recording());
        }
        drop(io);
        // An earlier attempt may have been killed before its copies were durable.
        store.flush_staying(self.member)?;
        self.check_copied(store)?;
        store.tell_retired(self.member, &ends)?;
        let own = store.members.iter().find(|one| one.index() == self.member);
        Ok(Retired {
            member: self.member,
            uuid: store.members[0].superblock.members[self.member],
            name: own.map(|own| own.name.clone()),
            unknown: self.unknown,
            recording,
            tally: self.tally,
        })
    }

    /// Plans everything, and refuses what cannot be done, before anything is written.
    fn prepare(
        &mut self,
        store: &Store,
        (recordings, accept_loss): (&[Recording], bool),
        (stop, progress): (&Stop, &mut Progress<'_>),
    ) -> Result<MemberIo, RecordError> {
        self.count_missing(recordings, stop)?;
        let mut io = self.io(store)?;
        self.plan(&mut io, store, (stop, progress))?;
        if self.is_there && self.missing_bytes == 0 {
            // What a crash took was never durable, and nobody misses it.
            (self.tally.lost_appends, self.tally.lost_bytes) = (0, 0);
        }
        self.tally.lost_bytes = self.tally.lost_bytes.max(self.missing_bytes);
        self.check_loss(accept_loss)?;
        Ok(io)
    }

    /// Reads of all members, and writes of those that stay. A simulated machine serves one engine
    /// at a time, so it is the same for both.
    fn io(&self, store: &Store) -> Result<MemberIo, RecordError> {
        let members = self.read.members.iter().map(|member| {
            let mut written = store.members.iter();
            match member.rebuilt {
                Some(_) => member,
                None => written
                    .find(|one| one.index() == member.index())
                    .unwrap_or(member),
            }
        });
        store.io_over(&members.cloned().collect::<Vec<OpenMember>>())
    }

    /// The free slots of the members that stay.
    fn lanes(&self, store: &Store) -> Vec<CopyLane> {
        let staying = store.members.iter().zip(&store.tails);
        let staying = staying.filter(|(member, _)| member.index() != self.member);
        let lane = |(member, tail): (&OpenMember, &MemberTail)| {
            let geometry = &member.superblock.geometry;
            let mut read = self.read.members.iter();
            let position = read.position(|one| one.index() == member.index())?;
            let free = (tail.next_slot_serial, geometry.slot_count);
            let lane = CopyLane::new((member.index(), position), geometry.slot_bytes, free);
            (tail.next_slot_serial < geometry.slot_count).then_some(lane)
        };
        staying.filter_map(lane).collect()
    }

    /// Finds places for all copies before anything is written.
    fn plan(
        &mut self,
        io: &mut MemberIo,
        store: &Store,
        (stop, progress): (&Stop, &mut Progress<'_>),
    ) -> Result<(), RecordError> {
        let mut lanes = self.lanes(store);
        let free_bytes = lanes.iter().map(CopyLane::free_bytes).sum::<u64>();
        // Each begins with a start.
        for lane in &mut lanes {
            lane.take(START_BYTES);
        }
        let slots = self.moving.slots.clone();
        let all = slots.len() as u64;
        let mut is_enough = true;
        for (done, slot) in (1..).zip(slots) {
            check_stop(stop)?;
            let (data, lost) = self.moving.data_in(io, slot)?;
            self.tally.lost_appends += lost.len() as u64;
            self.tally.lost_bytes += lost.into_iter().map(u64::from).sum::<u64>();
            for data in &data {
                self.planned
                    .push(Planned::Data(data.part(), usize::from(data.copies)));
                let bytes = data.copy_bytes();
                let places = self.moving.places_of_data(&lanes, data);
                is_enough &= self.plan_one(&mut lanes, bytes, places);
            }
            progress(done, 2 * all);
        }
        let mut placed = JustPlaced::default();
        for moving in std::mem::take(&mut self.parities) {
            let lacking = &moving.lacking;
            self.planned
                .push(Planned::Parity(lacking.group, lacking.number));
            let places = self.moving.places_of_parity(&lanes, &moving, &mut placed);
            is_enough &= self.plan_one(&mut lanes, lacking.append_bytes(), places);
            self.parities.push(moving);
        }
        let goes_round = store.has_gone_round() && !self.planned.is_empty();
        match is_enough {
            _ if goes_round => Err(self.is_of_ring(store)),
            true => Ok(()),
            false => Err(self.no_room(free_bytes)),
        }
    }

    /// Takes these places. Returns whether there are any.
    fn plan_one(
        &mut self,
        lanes: &mut [CopyLane],
        bytes: u32,
        places: Result<Places, usize>,
    ) -> bool {
        let copies = places.as_ref().map_or_else(|copies| *copies, Vec::len);
        self.planned_bytes += copies as u64 * u64::from(bytes);
        let places = places.unwrap_or_default();
        let taken = places
            .iter()
            .filter_map(|(lane, _)| lanes[*lane].take(bytes));
        taken.count() == copies
    }

    /// Writes all copies.
    fn copy(
        &mut self,
        io: &mut MemberIo,
        writer: &mut CopiesWriter,
        (stop, progress): (&Stop, &mut Progress<'_>),
    ) -> Result<(), RecordError> {
        let slots = self.moving.slots.clone();
        let all = slots.len() as u64;
        for (done, slot) in (1..).zip(slots) {
            check_stop(stop)?;
            let (data, _) = self.moving.data_in(io, slot)?;
            for data in &data {
                self.copy_data(io, writer, data)?;
            }
            progress(all + done, 2 * all);
        }
        let mut placed = JustPlaced::default();
        for moving in std::mem::take(&mut self.parities) {
            check_stop(stop)?;
            self.copy_parity(io, writer, (&moving, &mut placed))?;
        }
        Ok(())
    }

    fn copy_data(
        &mut self,
        io: &mut MemberIo,
        writer: &mut CopiesWriter,
        data: &MovingData,
    ) -> Result<(), RecordError> {
        let places = self.moving.places_of_data(&writer.lanes(), data);
        let places = places.map_err(|_| changed_meanwhile())?;
        if !places.is_empty() {
            self.tally.data_appends += u64::from(data.ends_append());
            self.tally.data_bytes += data.bytes.len() as u64;
        }
        let list = data.list().encode();
        for (lane, number) in places {
            let copy = CopyToWrite {
                group: data.group,
                number,
                payload: &data.bytes,
                list: &list,
            };
            self.tally.written_bytes += writer.copy(io, lane, &copy)?;
        }
        Ok(())
    }

    fn copy_parity(
        &mut self,
        io: &mut MemberIo,
        writer: &mut CopiesWriter,
        (moving, placed): (&MovingParity, &mut JustPlaced),
    ) -> Result<(), RecordError> {
        let places = self
            .moving
            .places_of_parity(&writer.lanes(), moving, placed);
        let places = places.map_err(|_| changed_meanwhile())?;
        let Some((sum, list)) = self.moving.make(io, moving)? else {
            if is_of_copies(moving.lacking.group) {
                return Err(changed_meanwhile());
            }
            // Too much of the group is lost for parity to protect the rest.
            let is_it = |planned: &Planned| {
                matches!(planned, Planned::Parity(group, number)
                    if (*group, *number) == (moving.lacking.group, moving.lacking.number))
            };
            self.planned.retain(|planned| !is_it(planned));
            return Ok(());
        };
        self.tally.parity_appends += 1;
        self.tally.parity_bytes += sum.len() as u64;
        let list = list.encode();
        for (lane, number) in places {
            let copy = CopyToWrite {
                group: moving.lacking.group,
                number,
                payload: &sum,
                list: &list,
            };
            self.tally.written_bytes += writer.copy(io, lane, &copy)?;
        }
        Ok(())
    }

    /// Looks for all copies once more, as whoever reads them will.
    fn check_copied(&self, store: &Store) -> Result<(), RecordError> {
        let members = self.read.members.iter();
        let staying = members.filter(|one| one.is_there() && one.index() != self.member);
        let staying: Vec<OpenMember> = staying.cloned().collect();
        let anew = Store::open_anew(&staying, store.machines(), store.clock())?;
        let found = anew.groups_to_retire(self.member).find(WHY_AGAIN)?;
        let is_there = |planned: &Planned| match planned {
            Planned::Data(part, copies) => found.copies.holders(*part).count() >= *copies,
            Planned::Parity(group, number) => found
                .group(*group)
                .is_some_and(|one| found.is_placed_safely((*group, one), *number, None)),
        };
        let missing = self.planned.iter().filter(|one| !is_there(one)).count();
        match missing {
            0 => Ok(()),
            _ => Err(RecordError::Usage(format!(
                "{missing} of {} appends that were copied are not found again, so the member stays \
                 one of the store: `sustain verify` may tell why",
                self.planned.len()
            ))),
        }
    }

    /// Counts what is damaged or missing of all recordings, which are read for that: what is in no
    /// group is known by nothing else.
    fn count_missing(&mut self, recordings: &[Recording], stop: &Stop) -> Result<(), RecordError> {
        let checkable = Checkable::of(self.read, recordings);
        let checked = verify(checkable, &mut |_| {}, stop)?;
        check_stop(stop)?;
        let streams = checked.recordings.iter().flat_map(|one| &one.streams);
        let missing = streams.map(|one| one.hole_bytes.saturating_sub(one.not_durable_bytes));
        self.missing_bytes = missing.sum();
        if self.is_there {
            return Ok(());
        }
        self.unknown = checkable.unseen_notes();
        // Copies that were cut off are made again.
        let with_streams = recordings.iter().filter(|one| one.has_streams());
        let unknown = with_streams.filter_map(|recording| {
            let why = checkable.unknown_end(recording)?;
            Some(format!("recording {}: {why}", recording.number))
        });
        self.unknown.extend(unknown);
        Ok(())
    }

    /// What is lost stays lost once the member is retired.
    fn check_loss(&self, accept_loss: bool) -> Result<(), RecordError> {
        if accept_loss || self.tally.lost_bytes == 0 && self.unknown.is_empty() {
            return Ok(());
        }
        if let (Some(first), 0) = (self.unknown.first(), self.tally.lost_bytes) {
            return Err(RecordError::Usage(format!(
                "{first}. Nobody reads it any more once the member is retired: look for the member \
                 first. With {ACCEPT_LOSS} the rest is copied"
            )));
        }
        let lost = Size(self.tally.lost_bytes);
        Err(RecordError::Usage(match self.is_there {
            true => format!(
                "{lost} of the recordings are damaged or missing, which `sustain verify` names: \
                 repair or scrub the store first. What of that is on the member, nobody reads any \
                 more once it is retired. With {ACCEPT_LOSS} the rest is copied"
            ),
            false => format!(
                "{lost} of it cannot be computed, and nobody reads it any more once it is retired: \
                 look for the member first. With {ACCEPT_LOSS} the rest is copied"
            ),
        }))
    }

    /// Refuses because a ring goes over what would be copied, and over the copies.
    fn is_of_ring(&self, store: &Store) -> RecordError {
        let way = match store.parities() {
            0 => "extract what you need, and create a store without that member".to_owned(),
            _ => format!(
                "leave the member out, and record over the others with {} until the ring has gone \
                 over all that it has: nothing has to be copied then",
                DEGRADED.flag()
            ),
        };
        RecordError::Usage(format!(
            "a ring has gone round in the store, so there is no room for copies of what member {} \
             has: {way}. Nothing was written",
            self.member + 1,
        ))
    }

    fn no_room(&self, free_bytes: u64) -> RecordError {
        let way = match self.is_there {
            true => format!(
                "`sustain create` with {} makes the store larger",
                ADD.flag()
            ),
            // All members are needed to add another one.
            false => format!(
                "`sustain repair` with {} rebuilds the member on a new disk instead",
                ONTO.flag()
            ),
        };
        RecordError::Usage(format!(
            "the members that stay have {} free in all, and copies of what member {} has take {} \
             there. Each copy needs place on as many members at once as protect it, so what is \
             free on a single one is of no use: {way}. Nothing was written",
            Size(free_bytes),
            self.member + 1,
            Size(self.planned_bytes),
        ))
    }
}

/// What is left at the beginning of a lane for the start.
const START_BYTES: u32 = 2 * BLOCK_BYTES as u32;

fn check_stop(stop: &Stop) -> Result<(), RecordError> {
    match stop.reason() {
        None => Ok(()),
        Some(_) => Err(RecordError::Interrupted(
            "interrupted before everything was copied: the member stays one of the store, nothing \
             is lost, and the same command goes on where this ended"
                .to_owned(),
        )),
    }
}

fn changed_meanwhile() -> RecordError {
    RecordError::Usage(
        "what the member has, or the room on the others, is not what it was a moment ago: nothing \
         is lost, and it stays one of the store. Check it with `sustain verify`"
            .to_owned(),
    )
}

/// Refuses where the members that stay could not protect what is recorded as it is protected now.
fn check_holds(store: &Store, found: &FoundGroups, member: usize) -> Result<(), RecordError> {
    let staying = store.members.iter().filter(|one| one.index() != member);
    let staying = staying.count();
    let parities = usize::from(store.parities().max(found.parities()));
    if staying > parities {
        return Ok(());
    }
    let needed = match parities {
        0 => "a store needs one member".to_owned(),
        _ => format!("parity {parities} needs {} members", parities + 1),
    };
    let is_there = store.members.iter().any(|one| one.index() == member);
    let way = match is_there {
        true => format!(
            "make the store larger first, by `sustain create` with {}",
            ADD.flag()
        ),
        // All members are needed to add another one.
        false => format!(
            "rebuild the lost member on a new disk, by `sustain repair` with {}",
            ONTO.flag()
        ),
    };
    Err(RecordError::Usage(format!(
        "{needed}, and {staying} would stay: {way}"
    )))
}
