//! A store on simulated disks: it is created, recorded to, and damaged here.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use sustain_disk::clock::{Clock, Timestamp, UnixClock};
use sustain_disk::driver::{Driver, DriverSetup, QueueSetup};
use sustain_disk::engine::{Engine, SharedMachine, SimulatedEngine, SimulatedTarget};
use sustain_disk::meter::IntervalRule;
use sustain_disk::simulated::{
    CacheDescription, DiskDescription, FaultDescription, FaultKind, Machine, MachineFile,
    StallDescription,
};
use sustain_disk::target::{Target, TargetKind};
use sustain_record::error::RecordError;
use sustain_record::format::{BLOCK_BYTES, Geometry, Kind, Superblock};
use sustain_record::reading::verify::{Checkable, verify};
use sustain_record::recorder::{
    Earlier, Inlet, MemberSetup, ParitySetup, RecordFeed, RecordSetup, RecordingBoard, StreamSetup,
};
use sustain_record::store::{Mode, Renewal, Store, add_simulated};
use sustain_targets::{SimulatedDisk, Stop};
use uuid::Uuid;

use crate::draw::Draw;
use crate::engine::{Fate, FaultyEngine, Kept, Watch};
use crate::history::History;
use crate::inlet::TimetableInlet;
use crate::outcome::check_result;
use crate::plan::{MemberPlan, Plan, RecordingPlan};
use crate::split::Passed;

/// 2026-07-14 12:34:56 UTC.
const EPOCH_NS: i64 = 1_784_032_496_000_000_000;

/// The store and everything that is known of it.
pub struct Bench {
    pub plan: Plan,
    pub clock: Clock,
    pub unix_clock: UnixClock,
    pub machine: SharedMachine,
    /// Those of the store's members.
    pub disks: Vec<SimulatedDisk>,
    /// So many of them are there in a recording: the last ones may be missing.
    pub present: usize,
    /// Those that are to be added to them.
    spare_disks: Vec<SimulatedDisk>,
    pub history: Rc<RefCell<History>>,
    pub draw: Draw,
    pub struck: Vec<&'static str>,
    /// The longest time from acceptance to durability in the last recording, per stream.
    pub durable_latency_ns_max: Vec<u64>,
    /// Whether someone repeats it and wants to know more.
    pub is_reported: bool,
    /// The bytes that a crash took of each recording, when one was recovered first.
    pub torn_bytes: BTreeMap<Uuid, u64>,
}

impl Bench {
    pub fn new(plan: &Plan) -> Bench {
        let clock = Clock::simulated();
        let file = MachineFile {
            path: PathBuf::from("simulation.toml"),
            disks: plan.members.iter().enumerate().map(disk).collect(),
            limits: Vec::new(),
            warnings: Vec::new(),
        };
        let machine = SharedMachine::with_contents(Machine::new(&file, plan.seed), &clock);
        let disks = plan
            .members
            .iter()
            .enumerate()
            .map(|(index, member)| SimulatedDisk {
                target: Target {
                    name: format!("m{index}"),
                    kind: TargetKind::Simulated,
                    file: None,
                    capacity_bytes: Some(member.capacity_bytes),
                    alignment_bytes: 512,
                    device: None,
                    lock: None,
                },
                simulated: SimulatedTarget {
                    machine: 0,
                    disk: index,
                },
            });
        let mut disks: Vec<SimulatedDisk> = disks.collect();
        let count = plan.addition.map_or(disks.len(), |one| one.members_before);
        let mut bench = Bench {
            spare_disks: disks.split_off(count),
            present: count,
            disks,
            unix_clock: UnixClock::fixed(clock.now(), EPOCH_NS),
            history: Rc::default(),
            draw: Draw::new(!plan.seed),
            struck: Vec::new(),
            durable_latency_ns_max: Vec::new(),
            is_reported: false,
            torn_bytes: BTreeMap::new(),
            plan: plan.clone(),
            clock,
            machine,
        };
        bench.create();
        bench
    }

    fn create(&mut self) {
        let mut uuid = || {
            let high = u128::from(self.draw.number()) << 64;
            Uuid::from_u128(high | u128::from(self.draw.number()))
        };
        let store = uuid();
        let members: Vec<Uuid> = self.disks.iter().map(|_| uuid()).collect();
        let parities = self.plan.recordings.iter().map(|plan| plan.parities);
        let parities = parities.max().unwrap_or(0);
        let plans = &self.plan.members[..self.disks.len()];
        let slot_counts: Vec<u64> = plans.iter().map(|plan| plan.slots).collect();
        let mut history = self.history.borrow_mut();
        for (index, plan) in plans.iter().enumerate() {
            let geometry = Geometry::of_member(plan.capacity_bytes, self.plan.slot_bytes).unwrap();
            assert_eq!(geometry.slot_count, plan.slots);
            history.geometries.push(geometry);
            let superblock = Superblock {
                store,
                member: members[index],
                generation: 1,
                created_ns: EPOCH_NS,
                geometry,
                member_index: index as u16,
                members: members.clone(),
                is_prewritten: false,
                has_ended: false,
                recordings_begun: 0,
                end_slot: None,
                pins: Vec::new(),
                pins_numbered: 0,
                parities: parities as u16,
                slot_counts: match parities {
                    0 => Vec::new(),
                    _ => slot_counts.clone(),
                },
                repaired_slots: 0,
                is_being_repaired: false,
                first_recording: 0,
                retired: BTreeSet::new(),
                behind: BTreeSet::new(),
                slots_begun: 0,
            };
            for (copy, offset_bytes) in (0..).zip(geometry.superblock_offsets()) {
                self.machine
                    .write_contents(index, offset_bytes, &superblock.encode(copy));
            }
        }
    }

    /// Adds the members that the store does not have yet.
    fn grow(&mut self) {
        self.struck.push("members are added");
        let added = std::mem::take(&mut self.spare_disks);
        let machines = [self.machine.clone()];
        add_simulated(&self.disks, &added, &machines, &self.clock).expect("members can be added");
        let mut history = self.history.borrow_mut();
        for plan in &self.plan.members[self.disks.len()..] {
            let geometry = Geometry::of_member(plan.capacity_bytes, self.plan.slot_bytes);
            history.geometries.push(geometry.unwrap());
        }
        drop(history);
        self.disks.extend(added);
    }

    /// Opens the store, with all of its members.
    pub fn open(&self, mode: Mode) -> Store {
        self.open_without(None, mode)
    }

    pub fn open_without(&self, missing: Option<usize>, mode: Mode) -> Store {
        self.open_without_all(&missing.into_iter().collect(), mode)
    }

    pub fn open_without_all(&self, missing: &BTreeSet<usize>, mode: Mode) -> Store {
        let disks = self.disks_without(missing);
        let machines = [self.machine.clone()];
        Store::open_simulated(&disks, &machines, &self.clock, mode).expect("the store opens")
    }

    /// Opens the store to record without the last so many members, or fewer where others lack
    /// something.
    fn open_to_record(&mut self, absent: usize) -> Store {
        self.present = self.disks.len();
        if absent == 0 || absent >= self.present {
            return self.open(Mode::Record);
        }
        let missing: BTreeSet<usize> = (self.present - absent..self.present).collect();
        let disks = self.disks_without(&missing);
        let machines = [self.machine.clone()];
        match Store::open_simulated_degraded(&disks, &machines, &self.clock) {
            Ok(store) => {
                self.struck.push("recorded without all members");
                self.present -= absent;
                store
            }
            Err(RecordError::Incomplete(_)) => {
                self.struck.push("refused without all members");
                self.open(Mode::Record)
            }
            Err(error) => panic!("the store opens: {error}"),
        }
    }

    /// Opens the store without these, to retire a member that may be one of them.
    pub fn open_to_retire(&self, missing: &BTreeSet<usize>, member: usize) -> Store {
        let disks = self.disks_without(missing);
        let machines = [self.machine.clone()];
        Store::open_simulated_to_retire(&disks, &machines, &self.clock, member)
            .expect("the store opens")
    }

    fn disks_without(&self, missing: &BTreeSet<usize>) -> Vec<SimulatedDisk> {
        let disks = self.disks.iter().enumerate();
        let there = disks.filter(|(index, _)| !missing.contains(index));
        there.map(|(_, disk)| disk.clone()).collect()
    }

    /// One recording, however it ends.
    pub fn record(&mut self, number: usize) -> Fate {
        let grows = self
            .plan
            .addition
            .is_some_and(|addition| addition.recording == number);
        if grows {
            self.grow();
        }
        let mut plan = self.plan.recordings[number].clone();
        let mut store = self.open_to_record(plan.absent);
        plan.keep_to_members(self.present);
        if self.is_reported {
            tell(&store);
        }
        self.history.borrow().close_pins();
        self.make_room(&mut store);
        let slots_begun = store.slots_begun_at_start(plan.ring);
        if plan.ring {
            self.history.borrow_mut().began(&slots_begun);
        }
        if plan.torn_superblocks {
            self.tear_superblocks(&store, &slots_begun);
            return Fate::Torn;
        }
        let superblocks = store.members.iter().map(|member| &member.superblock);
        let follow_ends: Vec<bool> = superblocks.map(|one| one.has_ended).collect();
        let renewed = store.renew_superblocks(&slots_begun, Renewal::Begins);
        if self
            .plan
            .members
            .iter()
            .all(|member| member.bad_byte.is_none())
        {
            renewed.expect("superblocks can be renewed");
        }
        let mut setup = self.setup(&plan, &mut store, number);
        // As the superblocks were before this recording.
        for (member, follows_end) in setup.members.iter_mut().zip(follow_ends) {
            member.follows_end = follows_end;
        }
        let inlet = TimetableInlet::new(
            &plan,
            self.plan.seed ^ (number as u64 + 1) << 48,
            &self.clock,
            self.unix_clock,
        );
        self.history.borrow_mut().begin(
            setup.recording_id,
            setup.recording,
            plan.ring,
            inlet.facts(),
            setup.members.iter().map(|member| member.previous).collect(),
        );
        let (fate, kept) = self.drive(&plan, &mut store, setup, inlet, number);
        drop(store);
        let has_failed = self.history.borrow().has_failed_members();
        if fate == Fate::Running && plan.renews_at_end && !has_failed {
            self.renew_at_end();
        }
        if let (Some(kept), Some((member, _))) = (kept, plan.stale) {
            self.come_back(member, kept);
        }
        fate
    }

    fn renew_at_end(&mut self) {
        let mut store = self.open_to_record(self.disks.len() - self.present);
        let newest = store.tails.iter().map(|tail| tail.newest_serial);
        let slots_begun: Vec<u64> = newest
            .map(|serial| serial.map_or(0, |serial| serial + 1))
            .collect();
        let of = self
            .history
            .borrow()
            .recordings
            .last()
            .map_or(0, |one| one.number);
        let lasts = store.tails.iter().map(|tail| tail.last.as_ref());
        let have_end: Vec<bool> = lasts
            .map(|last| last.is_some_and(|last| last.kind == Kind::End && last.recording == of))
            .collect();
        // A disk with a bad byte may refuse.
        let _ = store.renew_superblocks(&slots_begun, Renewal::Ended(&have_end));
    }

    fn setup(&mut self, plan: &RecordingPlan, store: &mut Store, number: usize) -> RecordSetup {
        let mut members = MemberSetup::of_store(store);
        // Every second one is treated as if it went through a page cache.
        for (index, member) in members.iter_mut().enumerate() {
            member.shares_errors = index % 2 == 1;
        }
        let shares_errors = members.iter().map(|member| member.shares_errors);
        self.history.borrow_mut().shares_errors = shares_errors.collect();
        let earlier = if plan.ring {
            Earlier::of_store(store).expect("the recordings can be listed")
        } else {
            Vec::new()
        };
        RecordSetup {
            store: store.id,
            members,
            streams: plan
                .streams
                .iter()
                .enumerate()
                .map(|(index, stream)| StreamSetup {
                    name: format!("s{index}"),
                    framing: if stream.frame_bytes.is_some() {
                        "lines"
                    } else {
                        "none"
                    }
                    .to_owned(),
                    source: None,
                })
                .collect(),
            recording: store.next_recording(),
            recording_id: Uuid::from_u128(
                (u128::from(self.draw.number()) << 64) | (number as u128 + 1),
            ),
            first_sequence: store.first_sequence(),
            ring: plan.ring,
            outlasts_pins: plan.drops,
            absent: store.absent(),
            earlier,
            durability: plan.durability,
            parity: (plan.parities > 0).then_some(ParitySetup {
                parities: plan.parities,
                append_bytes: plan.append_bytes as u32,
            }),
            window: plan.window,
            patience: plan.patience,
            unix_clock: self.unix_clock,
            start: self.clock.now(),
            tool: "simulation".to_owned(),
        }
    }

    /// Drives a recording, and all that follow it without a break.
    fn drive(
        &mut self,
        plan: &RecordingPlan,
        store: &mut Store,
        setup: RecordSetup,
        inlet: TimetableInlet,
        number: usize,
    ) -> (Fate, Option<Kept>) {
        let mut feed = RecordFeed::new(setup, inlet).unwrap();
        let board: std::sync::Arc<RecordingBoard> = feed.board();
        let start = self.clock.now();
        let inlet = feed.inlet_mut();
        inlet.pin(&plan.pins, start, &self.history.borrow());
        inlet.watch(board.clone(), self.plan.slot_bytes.into());
        let watch = Rc::new(Watch {
            history: Rc::clone(&self.history),
            fate: RefCell::new(Fate::Running),
            struck: RefCell::default(),
            kept: Cell::default(),
        });
        let engine = FaultyEngine::new(
            self.engine(),
            &self.clock,
            &self.machine,
            &plan.faults,
            self.present,
            self.plan.seed.wrapping_add(number as u64),
            plan.length_ns,
            &watch,
            &board,
            plan.stale,
        );
        let kept = Rc::clone(&engine.kept);
        let mut engine: Box<dyn Engine> = Box::new(engine);
        let fate = loop {
            let mut driver = self.driver(engine, plan, feed.setup().start);
            let ran = driver.run(&mut feed, &mut |_| {});
            self.struck.append(&mut watch.struck.borrow_mut());
            let fate = *watch.fate.borrow();
            assert_ne!(fate, Fate::Stuck, "the recorder hangs: {:?}", board.read());
            if fate != Fate::Running {
                self.history.borrow_mut().end(None, false);
                break fate;
            }
            ran.expect("the driver runs to its end");
            self.close(&mut feed);
            if !feed.is_cut() {
                drop(driver);
                let missing = feed.inlet_mut().missing_buffers();
                assert!(missing <= watch.kept.get(), "all buffers come back");
                break fate;
            }
            check_result(self, number);
            self.struck.push("split");
            // A machine must not tell the next engine of requests of this one.
            let left = match watch.kept.get() {
                0 => driver.into_parts().0,
                _ => {
                    drop(driver);
                    None
                }
            };
            match self.pass_on(store, left, feed) {
                Passed::On(on, next) => (engine, feed) = (on, next),
                Passed::Unbegun(mut next) => {
                    self.struck
                        .push("split where nothing takes the next recording");
                    next.inlet_mut().close();
                    next.end_unbegun(self.clock.now());
                    self.close(&mut next);
                    break fate;
                }
                Passed::Crashed(kind) => break Fate::Cut(kind),
            }
        };
        let kept = kept.borrow_mut().take();
        (fate, kept)
    }

    /// An engine over the disks that are there.
    fn engine(&self) -> SimulatedEngine {
        let targets = self.disks[..self.present].iter().map(|one| one.simulated);
        let machines = vec![self.machine.clone()];
        SimulatedEngine::new(machines, targets.collect(), self.clock.clone())
    }

    fn driver(&self, engine: Box<dyn Engine>, plan: &RecordingPlan, start: Timestamp) -> Driver {
        let queues: Vec<QueueSetup> = (0..self.present)
            .map(|member| QueueSetup {
                targets: vec![member],
                depth: plan.window.depth + 2,
            })
            .collect();
        let setup = DriverSetup {
            start,
            interval: IntervalRule::Time(1_000_000_000),
            report_every_ns: 100_000_000,
            flush_at_end: false,
        };
        Driver::new(engine, self.clock.clone(), &queues, setup)
    }

    /// Takes the result of a recording that came to its end.
    fn close(&mut self, feed: &mut RecordFeed<TimetableInlet>) {
        feed.close(self.clock.now());
        let standing = feed.board().read();
        let is_cut = feed.is_cut();
        assert_eq!(
            standing.is_over, !is_cut,
            "a recording that is over says so"
        );
        self.history.borrow_mut().shown(&standing);
        let ending = feed.ending().expect("it has an ending");
        let latencies = feed.take_durable_latency();
        self.durable_latency_ns_max = latencies
            .iter()
            .map(|latency| latency.max().latency_ns)
            .collect();
        let result = Some((standing, ending));
        self.history.borrow_mut().end(result, is_cut);
    }

    /// Simulates a crash while the copies A and C are renewed: any of their sectors are new.
    fn tear_superblocks(&mut self, store: &Store, slots_begun: &[u64]) {
        self.struck.push("torn superblocks");
        for (index, member) in store.members.iter().enumerate() {
            let mut superblock = member.superblock.clone();
            superblock.generation += 1;
            superblock.has_ended &= superblock.slots_begun == slots_begun[index];
            superblock.slots_begun = slots_begun[index];
            let offsets = superblock.geometry.superblock_offsets();
            for copy in [0, 2] {
                let block = superblock.encode(copy);
                for (sector, bytes) in block.chunks(512).enumerate() {
                    if self.draw.chance(500) {
                        let at = offsets[copy as usize] + sector as u64 * 512;
                        self.machine.write_contents(index, at, bytes);
                    }
                }
            }
        }
    }

    /// Puts a member back into an earlier state.
    fn come_back(&mut self, member: usize, kept: Kept) {
        self.struck.push("stale member");
        self.machine.restore(member, kept.medium);
        let mut history = self.history.borrow_mut();
        for append in history
            .appends
            .iter_mut()
            .filter(|append| append.member == member)
        {
            if append.durable_at.is_none_or(|at| at > kept.events) {
                append.is_gone = true;
            }
        }
    }

    /// Runs `recover`.
    pub fn recover(&mut self) {
        self.struck.push("recovered");
        let mut store = self.open(Mode::Record);
        let found = store.recordings().expect("the recordings can be listed");
        let checked = verify(Checkable::of(&store, &found), &mut |_| {}, &Stop::default());
        let checked = checked.expect("the store can be checked");
        let recovered = store.recover(&found, &mut |_| ());
        let has_bad_byte = self.plan.members.iter().any(|plan| plan.bad_byte.is_some());
        assert!(recovered.is_ok() || has_bad_byte, "{recovered:?}");
        if let Ok(recovered) = &recovered {
            let is_lossless = recovered.lost_marks == 0 && recovered.lost_bytes == 0;
            assert!(
                is_lossless || !checked.ok,
                "recover tells of losses, and verify of none: {recovered:?}"
            );
        }
        drop(store);
        let store = self.open(Mode::Read);
        let slots_begun = store.tails.iter().map(|tail| tail.next_slot_serial);
        let slots_begun: Vec<u64> = slots_begun.collect();
        // In a ring the end mark lies where the oldest slot was.
        self.history.borrow_mut().began(&slots_begun);
        self.note_torn(store);
    }

    /// Notes how much a crash has taken of the recording to which `recover` has just given an end
    /// mark.
    fn note_torn(&mut self, mut store: Store) {
        let found = store.recordings().expect("the recordings can be listed");
        let checked = verify(Checkable::of(&store, &found), &mut |_| {}, &Stop::default());
        let checked = checked.expect("the store can be checked");
        for (recording, verified) in found.iter().rev().zip(&checked.recordings) {
            assert_eq!(recording.number, verified.number);
            let checked_bytes: u64 = verified
                .streams
                .iter()
                .map(|one| one.not_durable_bytes)
                .sum();
            // The check counts as overwritten what lies below the readable range. That range may
            // grow again when a ring has overwritten the last trace of what it had cut off, and
            // then the end mark's notes say what was torn there.
            let notes = recording.end.iter().flat_map(|end| &end.torn);
            let noted_bytes = notes.map(|note| note.to_byte - note.from_byte).sum();
            self.torn_bytes
                .entry(recording.id)
                .or_insert(checked_bytes.max(noted_bytes));
        }
    }

    pub fn cut_power(&mut self) {
        self.struck.push("power cut at rest");
        self.machine.power_cut(self.draw.number());
    }

    /// Flips bits in a few stretches of the slots or the superblocks.
    pub fn flip_bits(&mut self, count: u64) {
        for _ in 0..count {
            self.struck.push("flipped bits");
            let member = self.draw.below(self.disks.len() as u64) as usize;
            let geometry = self.history.borrow().geometries[member];
            let blocks = geometry.member_bytes / BLOCK_BYTES as u64;
            // Copies B and D of the superblock are left alone, because one valid copy must be left.
            let safe = 2 * SUPERBLOCK_ROOM / BLOCK_BYTES as u64;
            let at = self.draw.between(safe / 2, blocks - safe / 2 - 1) * BLOCK_BYTES as u64
                + self.draw.below(BLOCK_BYTES as u64);
            let length = self.draw.magnitude(1.0, 5000.0) as u64;
            let end = (at + length).min(geometry.member_bytes - SUPERBLOCK_ROOM);
            let mut bytes = vec![0; (end - at) as usize];
            self.machine.read_contents(member, at, &mut bytes);
            for byte in &mut bytes {
                *byte ^= 1 << self.draw.below(8);
            }
            self.machine.write_contents(member, at, &bytes);
            self.history.borrow_mut().damage(member, at..end);
        }
    }
}

const SUPERBLOCK_ROOM: u64 = 128 << 10;

fn disk((index, plan): (usize, &MemberPlan)) -> DiskDescription {
    let rate = plan.rate_bytes_per_s;
    let mut disk = DiskDescription::new(&format!("m{index}"), plan.capacity_bytes, rate, rate);
    disk.request_ns = plan.request_ns;
    disk.noise_fraction = plan.noise_fraction;
    disk.cache = plan.cache_bytes.map(|capacity_bytes| CacheDescription {
        capacity_bytes,
        rate_bytes_per_s: Some(rate * 20.0),
        volatile: plan.is_volatile,
    });
    disk.stall = plan
        .stall_ns
        .map(|(every_ns, for_ns)| StallDescription { every_ns, for_ns });
    disk.fault = plan.bad_byte.map(|at_bytes| FaultDescription {
        at_bytes,
        kind: FaultKind::InputOutput,
        once: false,
    });
    disk
}

/// Prints what is found on a store when it is opened.
pub fn tell(store: &Store) {
    for (member, tail) in store.tails.iter().enumerate() {
        let last = tail
            .last
            .as_ref()
            .map(|last| (last.recording, last.kind, last.place));
        eprintln!(
            "member {member}: newest {:?}, next {}, clean {}, hint {}, last {last:?}, start {:?}",
            tail.newest_serial,
            tail.next_slot_serial,
            tail.clean_end,
            store.members[member].superblock.slots_begun,
            tail.start
        );
    }
}
