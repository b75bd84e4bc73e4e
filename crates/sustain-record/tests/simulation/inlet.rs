//! The sources of the simulation as the recorder's inlet. They keep a timetable in virtual time.
//! What they offer depends only on stream and position; what they drop is noted for the check.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::clock::{Clock, Timestamp, UnixClock};
use sustain_disk::driver::Ending;
use sustain_record::format::{Gap, GapReason, MarkKind, PayloadMark};
use sustain_record::recorder::{Filled, Filling, Inlet, PayloadMemory, Polled};
use sustain_record::source::synthetic::{Frames, Synthetic, SyntheticSpec};

use crate::plan::{RecordingPlan, StreamPlan};

/// The facts about one stream.
#[derive(Debug, Clone)]
pub struct StreamFacts {
    pub name: String,
    pub synthetic: Synthetic,
    /// Bytes offered so far.
    pub offered_bytes: u64,
    /// Ranges that the sources lost.
    pub drops: Vec<Range<u64>>,
    /// Frames that begin below have been marked, or lost.
    pub begun_before: u64,
    /// Frames that were marked, with their times, in order.
    pub frames: Vec<(u64, i64)>,
}

impl StreamFacts {
    pub fn frames_in(&self, range: Range<u64>) -> u64 {
        match self.synthetic.frames() {
            Some(frames) if range.end > range.start => {
                frames_before(frames, range.end) - frames_before(frames, range.start)
            }
            Some(_) => 0,
            None => 0,
        }
    }
}

/// The number of frames that begin before a position.
fn frames_before(frames: &Frames, position_bytes: u64) -> u64 {
    match position_bytes.checked_sub(1) {
        Some(last) => frames.containing(last) + 1,
        None => 0,
    }
}

/// The facts, shared with the check.
pub type Facts = Rc<RefCell<Vec<StreamFacts>>>;

/// The inlet.
pub struct TimetableInlet {
    start: Timestamp,
    clock: Clock,
    unix_clock: UnixClock,
    sources: Vec<Source>,
    facts: Facts,
    pool: BufferPool,
    free: usize,
    buffers: usize,
    drops: bool,
    linger_ns: u64,
    quantum_ns: u64,
    stop_at: Option<Timestamp>,
    ending: Ending,
    stopped: bool,
    ready: VecDeque<Filled>,
    turn: usize,
}

struct Source {
    stream: u16,
    position: u64,
    end: u64,
    rate_bytes_per_s: u64,
    told_loss: Option<(u64, u64)>,
    filling: Option<(Filling, u64, Timestamp)>,
    is_in_frame: bool,
    gap: Option<Gap>,
}

impl TimetableInlet {
    pub fn new(plan: &RecordingPlan, seed: u64, clock: &Clock, unix_clock: UnixClock) -> Self {
        let facts = |(number, stream): (usize, &StreamPlan)| StreamFacts {
            name: format!("s{number}"),
            synthetic: Synthetic::new(
                &SyntheticSpec {
                    rate_bytes_per_s: stream.rate_bytes_per_s,
                    frame_bytes: stream.frame_bytes.map(|(least, most)| least..=most),
                },
                seed ^ (number as u64) << 32,
            ),
            offered_bytes: 0,
            drops: Vec::new(),
            begun_before: 0,
            frames: Vec::new(),
        };
        let source = |(number, stream): (usize, &StreamPlan)| Source {
            stream: number as u16,
            position: 0,
            end: stream.bytes,
            rate_bytes_per_s: stream.rate_bytes_per_s,
            told_loss: stream.told_loss,
            filling: None,
            is_in_frame: false,
            gap: None,
        };
        TimetableInlet {
            start: clock.now(),
            clock: clock.clone(),
            unix_clock,
            sources: plan.streams.iter().enumerate().map(source).collect(),
            facts: Rc::new(RefCell::new(
                plan.streams.iter().enumerate().map(facts).collect(),
            )),
            pool: BufferPool::new(plan.buffers, plan.append_bytes).unwrap(),
            free: plan.buffers,
            buffers: plan.buffers,
            drops: plan.drops,
            linger_ns: plan.durability.interval_ns / 2,
            quantum_ns: (plan.length_ns / 300).max(200_000),
            stop_at: plan.stop_at_ns.map(|at_ns| clock.now() + at_ns),
            ending: plan.ending,
            stopped: false,
            ready: VecDeque::new(),
            turn: 0,
        }
    }

    pub fn facts(&self) -> Facts {
        Rc::clone(&self.facts)
    }

    /// How many buffers have not come back.
    pub fn missing_buffers(&self) -> usize {
        self.buffers - self.free
    }

    fn take_buffer(&mut self) -> Option<Buffer> {
        let buffer = self.pool.take()?;
        self.free -= 1;
        Some(buffer)
    }

    fn produce(&mut self, index: usize, now: Timestamp) {
        loop {
            let available = self.available(index, now);
            let source = &mut self.sources[index];
            if source.position >= available {
                return;
            }
            if let Some((at, bytes)) = source.told_loss
                && source.position >= at
            {
                source.told_loss = None;
                let end = (source.position + bytes).min(source.end);
                self.finish(index, now);
                self.lose(index, end, GapReason::Source, now);
                continue;
            }
            if source.filling.is_none() {
                let position = source.position;
                let Some(buffer) = self.take_buffer() else {
                    if self.drops {
                        self.lose(index, available, GapReason::BufferFull, now);
                    }
                    return;
                };
                self.sources[index].filling =
                    Some((Filling::new(buffer, &self.clock), position, now));
            }
            self.fill(index, available, now);
        }
    }

    fn available(&self, index: usize, now: Timestamp) -> u64 {
        let source = &self.sources[index];
        let facts = self.facts.borrow();
        let arrived = facts[index]
            .synthetic
            .available_bytes(now.since_ns(self.start));
        arrived.min(source.end)
    }

    fn fill(&mut self, index: usize, available: u64, now: Timestamp) {
        let source = &mut self.sources[index];
        let time_ns = self.unix_clock.unix_ns(now);
        let all_facts = Rc::clone(&self.facts);
        let mut all_facts = all_facts.borrow_mut();
        let facts = &mut all_facts[index];
        let (filling, _, _) = source.filling.as_mut().unwrap();
        let until = source.told_loss.map_or(available, |(at, _)| {
            available.min(at.max(source.position + 1))
        });
        let count = (until - source.position).min(filling.room_bytes() as u64) as usize;
        facts
            .synthetic
            .fill(source.position, &mut filling.spare_mut()[..count]);
        let mut marks = Vec::new();
        if let Some(frames) = facts.synthetic.frames() {
            frames.marks(source.position, count, &mut marks);
        }
        // This is the end of a frame that did not fit into the append before, together with the
        // begin of the next frame.
        if let Some(first) = marks.first_mut()
            && first.offset == 0
            && first.kind == MarkKind::Begin
            && source.is_in_frame
        {
            first.kind = MarkKind::EndAndBegin;
        }
        let position = source.position;
        let timed: Vec<PayloadMark> = marks
            .iter()
            // A begin that was entered at the end of the append before is left out.
            .filter(|mark| position + mark.offset as u64 >= facts.begun_before)
            .map(|mark| PayloadMark {
                offset_bytes: mark.offset as u64,
                kind: mark.kind,
                time_ns: mark.kind.is_begin().then_some(time_ns),
            })
            .collect();
        let (taken, entered) = filling.take(count, &timed, time_ns);
        if let Some(last) = timed[..entered].last() {
            source.is_in_frame = last.kind.is_begin();
        }
        for mark in timed[..entered].iter().filter(|mark| mark.kind.is_begin()) {
            let frames = facts.synthetic.frames().unwrap();
            let start = source.position + mark.offset_bytes;
            facts.frames.push((frames.containing(start), time_ns));
            facts.begun_before = start + 1;
        }
        source.position += taken as u64;
        facts.offered_bytes = source.position;
        if taken < count || filling.room_bytes() < 64 {
            self.finish(index, now);
        }
    }

    fn lose(&mut self, index: usize, end: u64, reason: GapReason, now: Timestamp) {
        let source = &mut self.sources[index];
        let mut facts = self.facts.borrow_mut();
        let facts = &mut facts[index];
        let range = source.position..end;
        let time_ns = self.unix_clock.unix_ns(now);
        let gap = source.gap.get_or_insert(Gap {
            bytes: 0,
            frames: 0,
            reason,
            first_time_ns: time_ns,
            last_time_ns: time_ns,
        });
        gap.bytes += range.end - range.start;
        gap.frames += facts.frames_in(range.start.max(facts.begun_before)..range.end);
        facts.begun_before = facts.begun_before.max(range.end);
        gap.last_time_ns = time_ns;
        source.position = end;
        source.is_in_frame = false;
        facts.offered_bytes = end;
        facts.drops.push(range);
    }

    fn finish(&mut self, index: usize, now: Timestamp) {
        let source = &mut self.sources[index];
        if let Some((filling, start, _)) = source.filling.take() {
            let gap = source.gap.take();
            self.ready
                .push_back(filling.finish(source.stream, start, gap, now));
        }
    }

    /// Makes an append without payload for a gap behind which nothing comes.
    fn account(&mut self, index: usize, now: Timestamp) {
        if self.sources[index].gap.is_none() || self.sources[index].filling.is_some() {
            return;
        }
        let time_ns = self.unix_clock.unix_ns(now);
        let source = &mut self.sources[index];
        self.ready.push_back(Filled {
            stream: source.stream,
            stream_offset_bytes: source.position,
            memory: None,
            payload_bytes: 0,
            checksums: Vec::new(),
            marks: Vec::new(),
            frames_begun: 0,
            first_frame: None,
            frame_times_ns: None,
            gap: source.gap.take(),
            first_time_ns: time_ns,
            last_time_ns: time_ns,
            begun_at: now,
            accepted_at: now,
        });
    }

    fn is_at_end(&self, index: usize) -> bool {
        self.stopped || self.sources[index].position >= self.sources[index].end
    }

    fn next_at(&self, now: Timestamp) -> Option<Timestamp> {
        let mut next = self.stop_at.filter(|_| !self.stopped);
        let mut at = |time: Timestamp| {
            let time = time.max(now + 1);
            next = Some(next.map_or(time, |next| next.min(time)));
        };
        for (index, source) in self.sources.iter().enumerate() {
            if let Some((_, _, since)) = &source.filling {
                at(*since + self.linger_ns);
            }
            let has_room = source.filling.is_some() || self.free > 0 || self.drops;
            if !self.is_at_end(index) && has_room {
                let facts = self.facts.borrow();
                let bytes = u128::from(source.rate_bytes_per_s) * u128::from(self.quantum_ns);
                let wanted = source.position + (bytes / 1_000_000_000).max(1) as u64;
                let due_ns = facts[index].synthetic.due_ns(wanted.min(source.end));
                at(self.start + due_ns);
            }
        }
        next
    }
}

impl Inlet for TimetableInlet {
    fn poll(&mut self, now: Timestamp) -> Polled {
        if self.stop_at.is_some_and(|at| now >= at) {
            self.stopped = true;
        }
        let count = self.sources.len();
        self.turn = (self.turn + 1) % count;
        for step in 0..count {
            let index = (self.turn + step) % count;
            if !self.is_at_end(index) {
                self.produce(index, now);
            }
            let source = &self.sources[index];
            let is_over = source
                .filling
                .as_ref()
                .is_some_and(|(_, _, since)| *since + self.linger_ns <= now);
            if is_over || self.is_at_end(index) {
                self.finish(index, now);
            }
            if self.is_at_end(index) {
                self.account(index, now);
            }
        }
        if let Some(filled) = self.ready.pop_front() {
            return Polled::Append(filled);
        }
        let is_done = |source: &Source| source.filling.is_none() && source.gap.is_none();
        if (0..count).all(|index| self.is_at_end(index)) && self.sources.iter().all(is_done) {
            return Polled::Ended(self.ending);
        }
        Polled::Nothing(self.next_at(now))
    }

    fn give_back(&mut self, _stream: u16, memory: PayloadMemory) {
        let buffer = match memory {
            PayloadMemory::Lent(buffer) => buffer,
            // This memory belongs to the recorder, for an append that it had to send elsewhere.
            PayloadMemory::Copied(_) => return,
            other => panic!("only lent memory was given, and not {other:?}"),
        };
        self.free += 1;
        assert!(self.free <= self.buffers, "more comes back than was lent");
        self.pool.give(buffer);
    }

    fn close(&mut self) {
        self.stopped = true;
    }

    fn buffer_fill(&self) -> f64 {
        1.0 - self.free as f64 / self.buffers as f64
    }
}
