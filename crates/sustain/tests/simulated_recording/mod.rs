//! Recording to disks of a simulated machine, from a source in memory.

use std::path::Path;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::clock::{Clock, Timestamp, UnixClock};
use sustain_disk::driver::{Driver, DriverSetup, Ending, QueueSetup};
use sustain_disk::engine::{SharedMachine, SimulatedEngine, SimulatedTarget};
use sustain_disk::meter::IntervalRule;
use sustain_disk::simulated::{Machine, MachineFile};
use sustain_disk::target::{Target, TargetKind};
use sustain_record::recorder::{
    Durability, Filling, Inlet, MemberSetup, ParitySetup, Patience, PayloadMemory, Polled,
    RecordFeed, RecordSetup, RecordingProgress, ScatterWindow, StreamSetup,
};
use sustain_record::store::{Mode, Store, create_simulated};
use sustain_targets::SimulatedDisk;

/// Appends in a slot.
const SLOT_APPENDS: u32 = 4;
const BUFFERS: usize = 32;
const DEPTH: u32 = 8;
const WINDOW: ScatterWindow = ScatterWindow {
    depth: DEPTH,
    time_ns: 100_000_000,
};

/// What is recorded, and how.
pub struct Recording {
    /// The machine file.
    pub machine: String,
    /// The source's rate; none if it gives as much as is taken.
    pub rate_bytes_per_s: Option<f64>,
    /// When the source ends; none if it goes on until the store is full.
    pub time_s: Option<u64>,
    /// Appends of parity of each group.
    pub parities: usize,
    /// The length of an append.
    pub append_bytes: u32,
}

/// A source with as much as is taken, or with so many bytes per second.
struct Endless {
    clock: Clock,
    rate_bytes_per_s: Option<f64>,
    ends_at: Option<Timestamp>,
    pool: BufferPool,
    offset_bytes: u64,
    is_closed: bool,
}

impl Endless {
    fn filled(&mut self, buffer: Buffer, now: Timestamp) -> Polled {
        let mut filling = Filling::new(buffer, &self.clock);
        let (count, _) = filling.take(filling.room_bytes(), &[], 0);
        let filled = filling.finish(0, self.offset_bytes, None, now);
        self.offset_bytes += count as u64;
        Polled::Append(filled)
    }
}

impl Inlet for Endless {
    fn poll(&mut self, now: Timestamp) -> Polled {
        if self.is_closed {
            return Polled::Ended(Ending::Full);
        }
        if self.ends_at.is_some_and(|ends_at| now >= ends_at) {
            return Polled::Ended(Ending::Source);
        }
        let due_s = self
            .rate_bytes_per_s
            .map(|rate| self.offset_bytes as f64 / rate);
        let due_at = Timestamp(due_s.map_or(0, |due_s| (due_s * 1e9) as u64));
        if due_at > now {
            return Polled::Nothing(Some(due_at));
        }
        match self.pool.take() {
            Some(buffer) => self.filled(buffer, now),
            None => Polled::Nothing(None),
        }
    }

    fn give_back(&mut self, _stream: u16, memory: PayloadMemory) {
        if let PayloadMemory::Lent(buffer) = memory {
            self.pool.give(buffer);
        }
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    fn buffer_fill(&self) -> f64 {
        0.0
    }
}

impl Recording {
    /// Records to all disks of the machine, and returns how it stood on the way, and why it ended.
    pub fn run(&self) -> (Vec<RecordingProgress>, Option<Ending>) {
        let clock = Clock::simulated();
        let file = MachineFile::parse(&self.machine, Path::new("machine.toml")).unwrap();
        let machine = [SharedMachine::with_contents(Machine::new(&file, 1), &clock)];
        let disks = file.disks.iter().enumerate();
        let disks: Vec<SimulatedDisk> = disks
            .map(|(disk, described)| SimulatedDisk {
                target: Target {
                    name: described.name.clone(),
                    kind: TargetKind::Simulated,
                    file: None,
                    capacity_bytes: Some(described.capacity_bytes),
                    alignment_bytes: 512,
                    device: None,
                    lock: None,
                },
                simulated: SimulatedTarget { machine: 0, disk },
            })
            .collect();
        let slot_bytes = SLOT_APPENDS * self.append_bytes;
        create_simulated(&disks, &machine, &clock, slot_bytes).unwrap();
        let mut feed = self.feed(&disks, &machine, &clock);
        let board = feed.board();
        let targets = disks.iter().map(|disk| disk.simulated).collect();
        let engine = SimulatedEngine::new(machine.to_vec(), targets, clock.clone());
        let queues = (0..disks.len()).map(|target| QueueSetup {
            targets: vec![target],
            depth: DEPTH + 2,
        });
        let queues: Vec<QueueSetup> = queues.collect();
        let driver_setup = DriverSetup {
            start: clock.now(),
            interval: IntervalRule::Time(1_000_000_000),
            report_every_ns: 100_000_000,
            flush_at_end: false,
        };
        let mut driver = Driver::new(Box::new(engine), clock.clone(), &queues, driver_setup);
        let mut standings = Vec::new();
        let ran = driver.run(&mut feed, &mut |_| standings.push(board.read()));
        ran.unwrap();
        feed.close(clock.now());
        standings.push(board.read());
        (standings, feed.ending())
    }

    fn feed(
        &self,
        disks: &[SimulatedDisk],
        machine: &[SharedMachine],
        clock: &Clock,
    ) -> RecordFeed<Endless> {
        let store = Store::open_simulated(disks, machine, clock, Mode::Record).unwrap();
        let start = clock.now();
        let parity = (self.parities > 0).then_some(ParitySetup {
            parities: self.parities,
            append_bytes: self.append_bytes,
        });
        let setup = RecordSetup {
            store: store.id,
            members: MemberSetup::of_store(&store),
            streams: vec![StreamSetup::plain("main")],
            recording: store.next_recording(),
            recording_id: store.id,
            first_sequence: store.first_sequence(),
            ring: false,
            outlasts_pins: false,
            absent: Vec::new(),
            earlier: Vec::new(),
            durability: Durability::default(),
            parity,
            window: WINDOW,
            patience: Patience::default(),
            unix_clock: UnixClock::fixed(start, 0),
            start,
            tool: "test".to_owned(),
        };
        let source = Endless {
            clock: clock.clone(),
            rate_bytes_per_s: self.rate_bytes_per_s,
            ends_at: self.time_s.map(|time_s| start + time_s * 1_000_000_000),
            pool: BufferPool::new(BUFFERS, self.append_bytes as usize).unwrap(),
            offset_bytes: 0,
            is_closed: false,
        };
        RecordFeed::new(setup, source).unwrap()
    }
}
