//! Everything that a seed fixes: the store, its disks, the recordings on it and all that goes
//! wrong.

use sustain_disk::driver::Ending;
use sustain_record::recorder::{Durability, ParitySetup, Patience, ScatterWindow};

use crate::draw::Draw;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// More is not offered in one recording of which stretches are pinned, and appends are not made so
/// many times as many: it takes long.
const PINNED_BYTES_MAX: u64 = 12 * MIB;
const PINNED_TIMES_MAX: u64 = 8;
/// The slots of members that have parity and pins.
const PINNED_SLOT_BYTES_MAX: u32 = 128 << 10;
pub const SECOND_NS: u64 = 1_000_000_000;
const EIO: i32 = 5;
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const EFAULT: i32 = 14;
const ENOSPC: i32 = 28;

/// The plan of one run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub slot_bytes: u32,
    pub members: Vec<MemberPlan>,
    pub recordings: Vec<RecordingPlan>,
    /// When the last ones of the members become members; none if all are from the beginning.
    pub addition: Option<Addition>,
    /// Whether members are retired at the end.
    pub retires: bool,
    pub afterwards: Afterwards,
}

/// Members that are added to a store.
#[derive(Debug, Clone, Copy)]
pub struct Addition {
    /// So many members are there before.
    pub members_before: usize,
    /// The recording before which they are added.
    pub recording: usize,
}

/// A disk.
#[derive(Debug, Clone)]
pub struct MemberPlan {
    pub slots: u64,
    pub capacity_bytes: u64,
    pub rate_bytes_per_s: f64,
    pub cache_bytes: Option<u64>,
    pub is_volatile: bool,
    pub noise_fraction: f64,
    /// The interval between stalls, and their length.
    pub stall_ns: Option<(u64, u64)>,
    pub request_ns: u64,
    /// A byte that can neither be read nor written.
    pub bad_byte: Option<u64>,
}

/// A recording.
#[derive(Debug, Clone)]
pub struct RecordingPlan {
    pub ring: bool,
    pub durability: Durability,
    /// Appends of parity of each group.
    pub parities: usize,
    pub window: ScatterWindow,
    pub patience: Patience,
    pub append_bytes: usize,
    /// Whether each frame begins an append.
    pub aligns_frames: bool,
    pub buffers: usize,
    pub drops: bool,
    pub streams: Vec<StreamPlan>,
    /// The length of the recording, roughly.
    pub length_ns: u64,
    /// Sources stop at this time.
    pub stop_at_ns: Option<u64>,
    pub ending: Ending,
    pub faults: Faults,
    /// Whether it crashes while it renews the superblocks, instead of recording.
    pub torn_superblocks: bool,
    /// So many of the last members are missing.
    pub absent: usize,
    /// Whether superblocks are renewed after it.
    pub renews_at_end: bool,
    /// A member, and when in the recording it was in the state in which it comes back.
    pub stale: Option<(usize, u64)>,
    /// Whether everything is read back before the next recording.
    pub is_checked: bool,
    /// Where it is split.
    pub splits: Vec<SplitPlan>,
    /// What is pinned and freed, in the order of time.
    pub pins: Vec<PinPlan>,
}

/// A wish to keep a stretch of a ring, or to free what was kept.
#[derive(Debug, Clone, Copy)]
pub struct PinPlan {
    pub at_ns: u64,
    pub what: PinKind,
}

#[derive(Debug, Clone, Copy)]
pub enum PinKind {
    /// From so long before to so long behind the wish.
    Pin { before_ns: u64, after_ns: u64 },
    /// One of those that are set, by its place among them.
    Unpin(usize),
}

/// A wish to split a recording.
#[derive(Debug, Clone)]
pub struct SplitPlan {
    pub at_ns: u64,
    /// How long after the wish each stream is cut.
    pub delays_ns: Vec<u64>,
    /// Whether it is tried even where no member has a slot left, or one has failed.
    pub is_forced: bool,
    /// A crash while the superblocks are written.
    pub crash: Option<CutKind>,
    /// A member on which they cannot be written.
    pub lost: Option<usize>,
}

/// A stream.
#[derive(Debug, Clone)]
pub struct StreamPlan {
    pub rate_bytes_per_s: u64,
    pub bytes: u64,
    pub frame_bytes: Option<(u64, u64)>,
    /// Bytes that the source itself loses: where, and how many.
    pub told_loss: Option<(u64, u64)>,
}

/// The faults during a recording.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    pub cut: Option<(u64, CutKind)>,
    /// How many of a thousand requests or completions are held back, and for how long at most.
    pub delays: Option<(u64, u64)>,
    pub strikes: Vec<Strike>,
    /// Members that are gone, each from a time on.
    pub deaths: Vec<(usize, u64)>,
    pub silences: Vec<Silence>,
    pub shortages: Vec<Shortage>,
}

/// A member that returns no request from a time on.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    pub member: usize,
    pub at_ns: u64,
    /// When everything that it has kept returns; `None` for never.
    pub until_ns: Option<u64>,
}

/// A time in which the kernel takes no writes to a member, through no fault of the member.
#[derive(Debug, Clone, Copy)]
pub struct Shortage {
    pub member: usize,
    pub at_ns: u64,
    pub until_ns: u64,
    pub errno: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutKind {
    /// Power is lost. What is not durable may be lost in any part.
    Power,
    /// The process is killed; the disks go on.
    Kill,
}

/// One request that fails.
#[derive(Debug, Clone, Copy)]
pub struct Strike {
    pub member: usize,
    pub what: StrikeKind,
    /// The number of such requests that the member serves before.
    pub after: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrikeKind {
    /// A write fails, and leaves nothing, or all, or some of its sectors.
    Write(i32, Left),
    /// A write is shorter than asked for.
    Short,
    /// A flush fails, although it may have done its work.
    Flush(Left),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Nothing,
    Some,
    All,
}

/// The faults of the store before it is read for the last time.
#[derive(Debug, Clone, Default)]
pub struct Afterwards {
    /// The number of stretches in which bits are flipped.
    pub flips: u64,
    /// A member that is missing.
    pub missing: Option<usize>,
    pub power_cut: bool,
}

impl Plan {
    pub fn of(seed: u64) -> Plan {
        let mut draw = Draw::new(seed);
        let draw = &mut draw;
        let count = draw.pick(&[1, 1, 2, 2, 2, 3, 3, 4, 5]) as usize;
        let slot_bytes = draw.pick(&[64, 64, 128, 128, 256, 512, 1024]) * KIB;
        let store_bytes = draw.magnitude(0.4 * MIB as f64, 7.0 * MIB as f64);
        let slots_mean = store_bytes / (count as u64 * slot_bytes) as f64;
        let rate = draw.magnitude(1e6, 200e6);
        let members: Vec<MemberPlan> = (0..count)
            .map(|_| member(draw, slot_bytes, slots_mean, rate))
            .collect();
        let mut plan = Plan {
            seed,
            slot_bytes: slot_bytes as u32,
            members,
            recordings: Vec::new(),
            addition: None,
            retires: false,
            afterwards: Afterwards::default(),
        };
        if count > 1 && draw.chance(250) {
            plan.members[0].rate_bytes_per_s /= 10.0;
        }
        if draw.chance(40) {
            let slots = plan.members[0].slots;
            let at = slot_bytes.max(128 * KIB) + draw.below(slots * slot_bytes);
            plan.members[0].bad_byte = Some(at);
        }
        let ring = draw.chance(350);
        let quiet = draw.chance(200);
        let recordings = draw.pick(&[1, 1, 1, 2, 2, 3, 4]);
        for number in 0..recordings {
            let is_last = number + 1 == recordings;
            let recording = recording(draw, &plan, ring, quiet, is_last, recordings);
            plan.recordings.push(recording);
        }
        if !quiet {
            // A generator of its own leaves the draws of older seeds as they were.
            let mut draw = Draw::new(seed ^ 0x5117_0000_0000_0000);
            for recording in &mut plan.recordings {
                silence(&mut draw, count as u64, recording);
                shortage(&mut draw, count as u64, recording);
            }
        }
        plan.afterwards = Afterwards {
            flips: if !quiet && draw.chance(250) {
                draw.between(1, 6)
            } else {
                0
            },
            missing: (!quiet && count > 1 && draw.chance(150))
                .then(|| draw.below(count as u64) as usize),
            power_cut: draw.chance(500),
        };
        plan
    }

    /// A ring that goes on over recordings that power cuts have ended. What a cut has left of them
    /// becomes the oldest that is there, and nothing else fails.
    pub fn of_ring_with_cuts(seed: u64) -> Plan {
        let mut plan = Plan::of(seed);
        let mut draw = Draw::new(seed ^ 0xC075_0000_0000_0000);
        let draw = &mut draw;
        for member in &mut plan.members {
            member.bad_byte = None;
        }
        let count = draw.between(3, 6);
        let new = |number| recording(draw, &plan, true, true, number + 1 == count, count);
        let mut recordings: Vec<RecordingPlan> = (0..count).map(new).collect();
        for recording in &mut recordings {
            recording.is_checked = true;
            if draw.chance(600) {
                let at_ns = draw.below(recording.length_ns + 1);
                recording.faults.cut = Some((at_ns, CutKind::Power));
            }
        }
        plan.recordings = recordings;
        plan.afterwards = Afterwards::default();
        plan
    }

    /// Ordinary plans of which recordings are split, most of them several times.
    pub fn of_splits(seed: u64) -> Plan {
        let mut plan = Plan::of(seed);
        let mut draw = Draw::new(seed ^ 0x5917_0000_0000_0000);
        let members = plan.members.len() as u64;
        for recording in &mut plan.recordings {
            let count = draw.pick(&[0, 1, 1, 2, 3, 5, 8]);
            recording.splits = (0..count)
                .map(|_| split(&mut draw, members, recording))
                .collect();
            recording.splits.sort_by_key(|split| split.at_ns);
        }
        plan
    }

    /// Recordings that parity protects, on at least two members.
    pub fn of_parity(seed: u64) -> Plan {
        let mut plan = match seed % 4 {
            0 => Plan::of_splits(seed),
            _ => Plan::of(seed),
        };
        plan.protect(seed);
        plan
    }

    /// Rings with parity of which stretches are pinned.
    pub fn of_pins_with_parity(seed: u64) -> Plan {
        let mut plan = Plan::of_pins(seed);
        plan.protect(seed);
        plan.afterwards.missing = None;
        plan.afterwards.flips = 0;
        let mut draw = Draw::new(seed ^ 0x7A91_0000_0000_0000);
        // Small slots, so that the ring goes round, and as many that pins may take some.
        let slot_bytes = plan.slot_bytes.min(PINNED_SLOT_BYTES_MAX);
        let slots = draw.between(6, 16);
        for member in &mut plan.members {
            member.slots += slots;
            member.capacity_bytes = member.slots * u64::from(slot_bytes) + 256 * KIB;
        }
        plan.slot_bytes = slot_bytes;
        let slots: u64 = plan.members.iter().map(|one| one.slots).sum();
        for recording in &mut plan.recordings {
            recording.append_bytes = recording.append_bytes.min(slot_bytes as usize / 2);
            let bytes: u64 = recording.streams.iter().map(|one| one.bytes).sum();
            let ring_bytes = draw.pick(&[0, 1, 2, 3]) * slots * u64::from(slot_bytes);
            let times = ring_bytes.min(PINNED_BYTES_MAX) / bytes.max(1);
            let streams = recording.streams.iter_mut();
            let long = streams.filter(|one| times > 1 && one.frame_bytes.is_none());
            for stream in long {
                stream.bytes *= times.min(PINNED_TIMES_MAX);
                stream.rate_bytes_per_s *= times.min(PINNED_TIMES_MAX);
            }
            let count = draw.pick(&[1, 2, 3, 5]);
            recording.pins = (0..count).map(|_| pin(&mut draw, recording)).collect();
            for pin in &mut recording.pins {
                pin.at_ns /= draw.pick(&[1, 2, 4]);
            }
            recording.pins.sort_by_key(|pin| pin.at_ns);
            if draw.chance(600) {
                recording.faults = Faults::default();
            }
        }
        if seed % 5 == 3 {
            plan.kill_before_pins(seed);
        }
        plan
    }

    /// Lets a member die in each recording, before most of its pins are set.
    fn kill_before_pins(&mut self, seed: u64) {
        let mut draw = Draw::new(seed ^ 0x57A8_0000_0000_0000);
        let victim = draw.below(self.members.len() as u64) as usize;
        for recording in &mut self.recordings {
            let died_at_ns = draw.below(recording.length_ns / 4 + 1);
            recording.faults.deaths = vec![(victim, died_at_ns)];
        }
    }

    /// Lets parity protect all recordings, on at least two members.
    fn protect(&mut self, seed: u64) {
        let mut draw = Draw::new(seed ^ 0x9A21_0000_0000_0000);
        let parities = draw.between(1, 2) as usize;
        let members = draw.between(parities as u64 + 1, 5) as usize;
        while self.members.len() < members {
            let like = draw.below(self.members.len() as u64) as usize;
            self.members.push(self.members[like].clone());
        }
        for recording in &mut self.recordings {
            recording.parities = parities;
            let around_bytes = ParitySetup::AROUND_BYTES as usize;
            recording.append_bytes = (recording.append_bytes - around_bytes).max(16 << 10);
        }
    }

    /// The same on up to 12 members.
    pub fn of_parity_on_many(seed: u64) -> Plan {
        let mut plan = Plan::of_parity(seed);
        let mut draw = Draw::new(seed ^ 0x3A4E_0000_0000_0000);
        let members = draw.between(6, 12) as usize;
        while plan.members.len() < members {
            let like = draw.below(plan.members.len() as u64) as usize;
            plan.members.push(plan.members[like].clone());
        }
        plan
    }

    /// The same, and in each recording a member dies, the power fails soon after that, and the
    /// member is there again.
    pub fn of_failures_before_cuts(seed: u64) -> Plan {
        let mut plan = Plan::of_parity(seed);
        let mut draw = Draw::new(seed ^ 0xDEAD_0000_0000_0000);
        // Of two, only one knows what becomes of the other.
        if draw.chance(300) {
            let parities = plan.recordings.iter().map(|one| one.parities).max();
            plan.members.truncate(parities.unwrap_or(0) + 1);
        }
        let members = plan.members.len() as u64;
        let victim = draw.below(members) as usize;
        for recording in &mut plan.recordings {
            let length_ns = recording.length_ns;
            let died_at_ns = draw.below(length_ns + 1);
            let later_ns = draw.magnitude(10.0, length_ns as f64 / 4.0) as u64;
            recording.faults.strikes.clear();
            recording.faults.deaths = vec![(victim, died_at_ns)];
            if draw.chance(800) {
                recording.faults.cut = Some((died_at_ns + later_ns, CutKind::Power));
            }
        }
        plan
    }

    /// Recordings with parity that go on while members are missing, which are there again later.
    pub fn of_absences(seed: u64) -> Plan {
        let mut plan = Plan::of_parity(seed);
        let mut draw = Draw::new(seed ^ 0xAB5E_0000_0000_0000);
        let count = draw.between(2, 4) as usize;
        while plan.recordings.len() < count {
            let like = draw.below(plan.recordings.len() as u64) as usize;
            plan.recordings.push(plan.recordings[like].clone());
        }
        for recording in &mut plan.recordings {
            if draw.chance(600) {
                recording.absent = draw.between(1, recording.parities as u64) as usize;
            }
            // Of members that lack something as well, none may be missing.
            if draw.chance(600) {
                recording.faults = Faults {
                    cut: recording.faults.cut,
                    ..Faults::default()
                };
                recording.stale = None;
            }
        }
        plan
    }

    /// Recordings of which the later ones have more members than those before, with parity or
    /// without.
    pub fn of_additions(seed: u64) -> Plan {
        let mut plan = match seed % 3 {
            0 => Plan::of(seed),
            _ => Plan::of_parity(seed),
        };
        let mut draw = Draw::new(seed ^ 0xADD1_0000_0000_0000);
        let members_before = plan.members.len();
        for _ in 0..draw.between(1, 3) {
            let like = draw.below(members_before as u64) as usize;
            let mut member = plan.members[like].clone();
            member.rate_bytes_per_s *= draw.magnitude(0.5, 2.0);
            plan.members.push(member);
        }
        if plan.recordings.len() == 1 {
            let mut first = plan.recordings[0].clone();
            first.torn_superblocks = false;
            plan.recordings.insert(0, first);
        }
        let recordings = plan.recordings.len() as u64;
        let recording = draw.between(1, recordings - 1) as usize;
        plan.addition = Some(Addition {
            members_before,
            recording,
        });
        plan
    }

    /// Recordings of which a member is retired afterwards, with parity or without.
    pub fn of_retirements(seed: u64) -> Plan {
        let mut plan = match seed % 4 {
            0 => Plan::of(seed),
            _ => Plan::of_parity(seed),
        };
        let mut draw = Draw::new(seed ^ 0x4E71_0000_0000_0000);
        plan.retires = true;
        let parities = plan.recordings.iter().map(|one| one.parities).max();
        let members = draw.between(parities.unwrap_or(0) as u64 + 2, 6) as usize;
        while plan.members.len() < members {
            let like = draw.below(plan.members.len() as u64) as usize;
            plan.members.push(plan.members[like].clone());
        }
        let slot_bytes = u64::from(plan.slot_bytes);
        for member in &mut plan.members {
            member.bad_byte = None;
            // Seldom is there no room.
            let slots = member.slots * draw.pick(&[0, 1, 2, 3]);
            member.slots += slots;
            member.capacity_bytes += slots * slot_bytes;
        }
        for recording in &mut plan.recordings {
            recording.ring &= draw.chance(100);
            recording.stale = None;
        }
        plan.afterwards.missing = None;
        plan.afterwards.flips = 0;
        plan
    }

    /// Rings of which stretches are pinned, in recordings that are split now and then.
    pub fn of_pins(seed: u64) -> Plan {
        let mut plan = match seed % 3 {
            0 => Plan::of_splits(seed),
            _ => Plan::of(seed),
        };
        let mut draw = Draw::new(seed ^ 0x9145_0000_0000_0000);
        for member in &mut plan.members {
            // What cannot be read is no question of pins.
            member.bad_byte = None;
            let slots = draw.between(6, 20);
            if member.slots < slots {
                let slot_bytes = u64::from(plan.slot_bytes);
                member.capacity_bytes += (slots - member.slots) * slot_bytes;
                member.slots = slots;
            }
        }
        for recording in &mut plan.recordings {
            recording.ring = true;
            recording.stale = None;
            recording.is_checked &= !recording.torn_superblocks;
            // So many laps that pins are passed.
            let times = draw.pick(&[1, 2, 4, 8]);
            let most_bytes = 9 * MIB;
            for stream in &mut recording.streams {
                stream.bytes = (stream.bytes * times).min(most_bytes).max(stream.bytes);
                stream.rate_bytes_per_s *= times;
            }
            let count = draw.pick(&[0, 1, 2, 3, 5, 8]);
            recording.pins = (0..count).map(|_| pin(&mut draw, recording)).collect();
            recording.pins.sort_by_key(|pin| pin.at_ns);
        }
        if !seed.is_multiple_of(4) {
            plan.afterwards.missing = None;
            plan.afterwards.flips = 0;
        }
        plan
    }

    /// The same, and the power fails while a pin is set, ends or is freed: at most 50 ms behind it,
    /// so that any number of the writes that this takes is done by then.
    pub fn of_pins_that_are_cut(seed: u64) -> Plan {
        let mut plan = Plan::of_pins(seed);
        let mut draw = Draw::new(seed ^ 0xC91A_0000_0000_0000);
        for recording in &mut plan.recordings {
            if recording.pins.is_empty() || draw.chance(250) {
                continue;
            }
            let place = draw.below(recording.pins.len() as u64) as usize;
            let pin = recording.pins[place];
            let end_ns = match pin.what {
                PinKind::Pin { after_ns, .. } if draw.chance(400) => after_ns,
                _ => 0,
            };
            let behind_ns = draw.magnitude(1e3, 5e7) as u64;
            let kind = match draw.chance(800) {
                true => CutKind::Power,
                false => CutKind::Kill,
            };
            recording.faults.cut = Some((pin.at_ns + end_ns + behind_ns, kind));
        }
        plan
    }

    /// Whether stretches are pinned.
    pub fn has_pins(&self) -> bool {
        self.recordings.iter().any(|one| !one.pins.is_empty())
    }

    /// The bytes of all slots of all members.
    pub fn slots_bytes(&self) -> u64 {
        let slots: u64 = self.members.iter().map(|member| member.slots).sum();
        slots * u64::from(self.slot_bytes)
    }
}

impl RecordingPlan {
    /// Leaves out what goes wrong on members that are not there.
    pub fn keep_to_members(&mut self, count: usize) {
        let is_there = |member: usize| member < count;
        let faults = &mut self.faults;
        faults.strikes.retain(|one| is_there(one.member));
        faults.deaths.retain(|(member, _)| is_there(*member));
        faults.silences.retain(|one| is_there(one.member));
        faults.shortages.retain(|one| is_there(one.member));
        self.stale = self.stale.filter(|(member, _)| is_there(*member));
        for split in &mut self.splits {
            split.lost = split.lost.filter(|member| is_there(*member));
        }
    }
}

fn member(draw: &mut Draw, slot_bytes: u64, slots_mean: f64, rate: f64) -> MemberPlan {
    let slots = (draw.magnitude(0.5, 2.0) * slots_mean).round().max(2.0) as u64;
    let slots = if draw.chance(80) { 2 } else { slots };
    let every_ns = draw.between(20, 400) * 1_000_000;
    MemberPlan {
        slots,
        capacity_bytes: slot_bytes.max(128 * KIB)
            + slots * slot_bytes
            + 128 * KIB
            + draw.below(slot_bytes),
        rate_bytes_per_s: rate * draw.magnitude(0.5, 2.0),
        cache_bytes: draw.chance(750).then(|| draw.magnitude(32e3, 4e6) as u64),
        is_volatile: draw.chance(850),
        noise_fraction: draw.pick(&[0.0, 0.1, 0.3]),
        stall_ns: draw
            .chance(250)
            .then(|| (every_ns, draw.between(1, every_ns / 2))),
        request_ns: draw.pick(&[0, 20_000, 200_000, 2_000_000]),
        bad_byte: None,
    }
}

fn recording(
    draw: &mut Draw,
    plan: &Plan,
    ring: bool,
    quiet: bool,
    is_last: bool,
    recordings: u64,
) -> RecordingPlan {
    let slots_bytes = plan.slots_bytes() as f64;
    let share = if ring {
        draw.magnitude(0.05, 2.5)
    } else {
        draw.magnitude(0.03, 1.6 / recordings as f64)
    };
    let bytes = (share * slots_bytes).min(9.0 * MIB as f64) as u64;
    let rates: f64 = plan.members.iter().map(|m| m.rate_bytes_per_s).sum();
    let load = draw.magnitude(0.05, 3.0);
    let length_ns = (bytes as f64 / (rates * load) * 1e9).clamp(1e6, 20e9) as u64;
    let slot_bytes = u64::from(plan.slot_bytes);
    let append_bytes = match draw.below(8) {
        0 => 64 * KIB,
        1 => slot_bytes,
        2 => 16 * KIB,
        _ => draw.magnitude(16.0 * KIB as f64, slot_bytes as f64) as u64 / 4096 * 4096,
    };
    // In a ring of two slots, each begins with a copy of the start.
    let is_tight = ring && plan.members.iter().all(|member| member.slots == 2);
    let most_bytes = if is_tight { slot_bytes / 2 } else { slot_bytes };
    let append_bytes = append_bytes.clamp(16 * KIB, most_bytes);
    RecordingPlan {
        ring,
        durability: durability(draw, length_ns),
        parities: 0,
        window: ScatterWindow {
            depth: draw.between(1, 8) as u32,
            time_ns: draw.pick(&[1_000_000, 100_000_000, 100_000_000]),
        },
        patience: Patience::default(),
        append_bytes: append_bytes as usize,
        // It is not drawn, so that seeds stay what they were.
        aligns_frames: bytes.is_multiple_of(3),
        buffers: draw.between(1, 24) as usize,
        drops: draw.chance(400),
        streams: streams(draw, bytes, length_ns),
        length_ns,
        stop_at_ns: draw.chance(250).then(|| draw.below(length_ns + 1)),
        ending: draw.pick(&[
            Ending::Source,
            Ending::Source,
            Ending::Bytes,
            Ending::Interrupted,
        ]),
        faults: if quiet {
            Faults::default()
        } else {
            faults(draw, plan, length_ns, bytes / append_bytes)
        },
        torn_superblocks: !quiet && !is_last && draw.chance(60),
        absent: 0,
        renews_at_end: draw.chance(800),
        stale: (!quiet && draw.chance(60)).then(|| {
            let member = draw.below(plan.members.len() as u64) as usize;
            (member, draw.below(length_ns + length_ns / 4 + 1))
        }),
        is_checked: !is_last && draw.chance(400),
        splits: Vec::new(),
        pins: Vec::new(),
    }
}

fn durability(draw: &mut Draw, length_ns: u64) -> Durability {
    let interval_ns = draw.magnitude(length_ns as f64 / 50.0, length_ns as f64 * 2.0);
    Durability {
        each: draw.chance(150),
        interval_ns: (interval_ns as u64).clamp(1_000_000, 5 * SECOND_NS),
        bytes: draw.pick(&[256 * KIB, 2 * MIB, 64 * MIB]),
    }
}

fn streams(draw: &mut Draw, bytes: u64, length_ns: u64) -> Vec<StreamPlan> {
    let count = draw.pick(&[1, 1, 1, 2, 2, 3, 4]);
    let mut left_bytes = bytes;
    (0..count)
        .map(|number| {
            let is_logger = number > 0 && draw.chance(500);
            let bytes = if is_logger {
                draw.between(0, 3000)
            } else if number + 1 == count {
                left_bytes
            } else {
                draw.below(left_bytes + 1)
            };
            left_bytes -= bytes.min(left_bytes);
            let rate = bytes as f64 * 1e9 / length_ns as f64 * draw.magnitude(0.7, 1.5);
            let frame_bytes = draw.chance(600).then(|| {
                let least = draw.magnitude(1.0, (bytes as f64 / 8.0).clamp(2.0, 2e5)) as u64;
                (least, least + draw.below(least * 3 + 1))
            });
            let told_loss = draw
                .chance(150)
                .then(|| (draw.below(bytes + 1), draw.between(1, 1 + bytes / 4)));
            StreamPlan {
                rate_bytes_per_s: rate.max(1.0) as u64,
                bytes,
                frame_bytes: frame_bytes.filter(|(least, _)| {
                    // Many tiny frames would only take time.
                    bytes / least < 20_000
                }),
                told_loss,
            }
        })
        .collect()
}

fn faults(draw: &mut Draw, plan: &Plan, length_ns: u64, writes: u64) -> Faults {
    let count = plan.members.len() as u64;
    let late_ns = length_ns + length_ns / 4;
    let cut = draw.chance(450).then(|| {
        let kind = draw.pick(&[
            CutKind::Power,
            CutKind::Power,
            CutKind::Power,
            CutKind::Kill,
        ]);
        (draw.below(late_ns + 1), kind)
    });
    let delays = draw.chance(350).then(|| {
        let most_ns = draw.magnitude(1e4, length_ns as f64 / 4.0);
        (draw.between(10, 500), most_ns as u64)
    });
    let mut strikes = Vec::new();
    let mut deaths = Vec::new();
    let mut victims: Vec<usize> = Vec::new();
    if draw.chance(350) {
        victims.push(draw.below(count) as usize);
    }
    if draw.chance(40) {
        victims = (0..plan.members.len()).collect();
    }
    // In most runs one member is left to go on.
    if victims.len() == plan.members.len() && draw.chance(600) {
        victims.pop();
    }
    for member in victims {
        let left = draw.pick(&[Left::Nothing, Left::Some, Left::All]);
        let what = match draw.below(5) {
            0 => {
                deaths.push((member, draw.below(late_ns + 1)));
                continue;
            }
            1 => StrikeKind::Flush(left),
            2 => StrikeKind::Short,
            _ => StrikeKind::Write(draw.pick(&[EIO, ENOSPC]), left),
        };
        let after = match what {
            StrikeKind::Flush(_) => draw.below(8),
            _ => draw.below(2 + writes / count),
        };
        strikes.push(Strike {
            member,
            what,
            after,
        });
    }
    Faults {
        cut,
        delays,
        strikes,
        deaths,
        ..Faults::default()
    }
}

fn pin(draw: &mut Draw, recording: &RecordingPlan) -> PinPlan {
    let length_ns = recording.length_ns;
    let some_ns = length_ns as f64 / 200.0;
    let what = match draw.chance(300) {
        true => PinKind::Unpin(draw.below(4) as usize),
        false => PinKind::Pin {
            before_ns: draw.magnitude(some_ns, length_ns as f64 / 4.0) as u64,
            after_ns: match draw.chance(500) {
                true => 0,
                false => draw.magnitude(some_ns, length_ns as f64 / 2.0) as u64,
            },
        },
    };
    PinPlan {
        at_ns: draw.below(length_ns + 1),
        what,
    }
}

fn split(draw: &mut Draw, members: u64, recording: &RecordingPlan) -> SplitPlan {
    let length_ns = recording.length_ns;
    // Some streams are cut at once, and others behind a long frame.
    let mut delay_ns = || match draw.chance(500) {
        true => 0,
        false => draw.magnitude(1e3, length_ns as f64 / 5.0) as u64,
    };
    let delays_ns = recording.streams.iter().map(|_| delay_ns()).collect();
    SplitPlan {
        at_ns: draw.below(length_ns + length_ns / 8 + 1),
        delays_ns,
        is_forced: draw.chance(100),
        crash: draw
            .chance(80)
            .then(|| draw.pick(&[CutKind::Power, CutKind::Kill])),
        lost: draw.chance(60).then(|| draw.below(members) as usize),
    }
}

/// Draws members that do not answer, for a while or for ever, and how long they are waited for.
fn silence(draw: &mut Draw, count: u64, recording: &mut RecordingPlan) {
    let length_ns = recording.length_ns as f64;
    if draw.chance(600) {
        let slow_after_ns = draw.magnitude(length_ns / 50.0, length_ns) as u64;
        let slow_after_ns = slow_after_ns.clamp(2_000_000, 5 * SECOND_NS);
        recording.patience = Patience {
            slow_after_ns,
            given_up_after_ns: slow_after_ns * draw.between(1, 6),
        };
    }
    if !draw.chance(250) {
        return;
    }
    for _ in 0..draw.between(1, 2) {
        let at_ns = draw.below(recording.length_ns + recording.length_ns / 4 + 1);
        let for_ns = draw.magnitude(1e6, length_ns * 2.0) as u64;
        recording.faults.silences.push(Silence {
            member: draw.below(count) as usize,
            at_ns,
            until_ns: draw.chance(600).then(|| at_ns + for_ns),
        });
    }
    // When no member is left that answers, a source that waits does so until the user ends it.
    recording.stop_at_ns.get_or_insert(recording.length_ns * 4);
}

/// Draws writes that the kernel cannot take for a while.
fn shortage(draw: &mut Draw, count: u64, recording: &mut RecordingPlan) {
    if !draw.chance(120) {
        return;
    }
    let at_ns = draw.below(recording.length_ns + 1);
    recording.faults.shortages.push(Shortage {
        member: draw.below(count) as usize,
        at_ns,
        until_ns: at_ns + draw.magnitude(1e5, 5e9) as u64,
        errno: draw.pick(&[EAGAIN, ENOMEM, EFAULT]),
    });
}
