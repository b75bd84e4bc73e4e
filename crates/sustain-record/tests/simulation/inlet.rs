//! The sources of the simulation as the recorder's inlet. They keep a timetable in virtual time.
//! What they offer depends only on stream and position; what they drop is noted for the check. A
//! recording may be split: then each stream is cut in its own moment, and what it offers behind its
//! cut is held until all are.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::clock::{Clock, Timestamp, UnixClock};
use sustain_disk::driver::Ending;
use sustain_record::format::{Gap, GapReason, MarkKind, PayloadMark};
use sustain_record::recorder::{
    Filled, Filling, Inlet, MemberState, PayloadMemory, Polled, RecordingBoard,
};
use sustain_record::source::framing::FrameMark;
use sustain_record::source::synthetic::{Frames, Synthetic, SyntheticSpec};

use crate::history::History;
use crate::pins::PinWisher;
use crate::plan::{PinPlan, RecordingPlan, SplitPlan, StreamPlan};

/// The facts about one stream in one recording. Offsets and numbers of frames are those of the
/// recording.
#[derive(Debug, Clone)]
pub struct StreamFacts {
    pub name: String,
    synthetic: Synthetic,
    /// Where the recording begins in what the source gives in all recordings.
    pub base_bytes: u64,
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
    /// The same stream in a recording that begins here.
    fn from(&self, base_bytes: u64) -> StreamFacts {
        StreamFacts {
            base_bytes,
            offered_bytes: 0,
            drops: Vec::new(),
            begun_before: 0,
            frames: Vec::new(),
            ..self.clone()
        }
    }

    /// The first byte from this offset on that is wrong.
    pub fn check(&self, offset_bytes: u64, bytes: &[u8]) -> Option<u64> {
        self.synthetic.check(self.base_bytes + offset_bytes, bytes)
    }

    pub fn is_framed(&self) -> bool {
        self.synthetic.frames().is_some()
    }

    /// The frames of the source that begin before this recording.
    fn base_frame(&self) -> u64 {
        let frames = self.synthetic.frames();
        frames.map_or(0, |frames| frames_before(frames, self.base_bytes))
    }

    /// Where a frame begins.
    pub fn frame_start(&self, number: u64) -> u64 {
        let frames = self.synthetic.frames().expect("the stream has frames");
        frames.start_bytes(self.base_frame() + number) - self.base_bytes
    }

    pub fn frame_bytes(&self, number: u64) -> u64 {
        self.frame_start(number + 1) - self.frame_start(number)
    }

    pub fn frames_in(&self, range: Range<u64>) -> u64 {
        let base_bytes = self.base_bytes;
        match self.synthetic.frames() {
            Some(frames) if range.end > range.start => {
                let before = |offset: u64| frames_before(frames, base_bytes + offset);
                before(range.end) - before(range.start)
            }
            Some(_) => 0,
            None => 0,
        }
    }

    /// Leaves out the end of a frame that began in the recording before.
    fn leave_out_end(&self, position: u64, marks: &mut Vec<FrameMark>) {
        if self.base_bytes == 0 || marks.is_empty() {
            return;
        }
        let end = self.base_bytes + self.frame_start(0);
        if let Some(first) = marks.first_mut()
            && position + first.offset as u64 == end
        {
            match first.kind {
                MarkKind::Begin => {}
                MarkKind::EndAndBegin => first.kind = MarkKind::Begin,
                MarkKind::End => {
                    marks.remove(0);
                }
            }
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
    /// Those of streams that are cut, of the recording that follows.
    next_facts: Facts,
    /// Splits that are still to come, and the one that was wished, with the time of that.
    splits: VecDeque<SplitPlan>,
    wished: Option<(Timestamp, SplitPlan)>,
    /// Where it can be seen whether a split would be refused.
    board: Option<Arc<RecordingBoard>>,
    slot_bytes: u64,
    pins: PinWisher,
    /// Appends of the recording that follows.
    held: VecDeque<Filled>,
    pool: BufferPool,
    free: usize,
    buffers: usize,
    drops: bool,
    aligns_frames: bool,
    linger_ns: u64,
    quantum_ns: u64,
    stop_at: Option<Timestamp>,
    ending: Ending,
    stopped: bool,
    ready: VecDeque<Filled>,
    turn: usize,
}

/// How many of these bytes lie before the next frame that begins among or behind them, and whether
/// one does. Takes away the marks behind.
fn before_frame(count: usize, marks: &mut Vec<FrameMark>) -> (usize, bool) {
    let Some(index) = marks.iter().position(|mark| mark.offset > 0) else {
        return (count, false);
    };
    marks.truncate(index + 1);
    marks[index].kind = MarkKind::End;
    (marks[index].offset, true)
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
    has_cut: bool,
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
            base_bytes: 0,
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
            has_cut: false,
        };
        let facts: Vec<StreamFacts> = plan.streams.iter().enumerate().map(facts).collect();
        TimetableInlet {
            start: clock.now(),
            clock: clock.clone(),
            unix_clock,
            sources: plan.streams.iter().enumerate().map(source).collect(),
            next_facts: Rc::new(RefCell::new(facts.clone())),
            facts: Rc::new(RefCell::new(facts)),
            splits: plan.splits.iter().cloned().collect(),
            wished: None,
            board: None,
            slot_bytes: 0,
            pins: PinWisher::default(),
            held: VecDeque::new(),
            pool: BufferPool::new(plan.buffers, plan.append_bytes).unwrap(),
            free: plan.buffers,
            buffers: plan.buffers,
            drops: plan.drops,
            aligns_frames: plan.aligns_frames,
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

    /// Looks here for what would refuse a split.
    pub fn watch(&mut self, board: Arc<RecordingBoard>, slot_bytes: u64) {
        self.board = Some(board);
        self.slot_bytes = slot_bytes;
    }

    /// Asks for these pins.
    pub fn pin(&mut self, plans: &[PinPlan], start: Timestamp, history: &History) {
        self.pins = PinWisher::new(plans, start, history);
    }

    /// The split that the recording was cut for.
    pub fn wished(&self) -> Option<SplitPlan> {
        self.wished.as_ref().map(|(_, split)| split.clone())
    }

    /// The facts of the recording to which a stream belongs by now.
    fn facts_of(&self, index: usize) -> Facts {
        match self.sources[index].has_cut {
            true => Rc::clone(&self.next_facts),
            false => Rc::clone(&self.facts),
        }
    }

    /// Whether the recorder takes the wish to split.
    fn may_split(&self, split: &SplitPlan) -> bool {
        if split.is_forced {
            return true;
        }
        let Some(board) = &self.board else {
            return false;
        };
        let members = board.read().members;
        let has_room =
            |free_bytes: Option<u64>| free_bytes.is_none_or(|free| free >= self.slot_bytes);
        members.iter().any(|member| has_room(member.free_bytes))
            && members
                .iter()
                .all(|member| member.state != MemberState::Failed)
    }

    fn wish(&mut self, now: Timestamp) {
        let is_due = |split: &SplitPlan| now >= self.start + split.at_ns;
        if self.wished.is_some() || !self.splits.front().is_some_and(is_due) {
            return;
        }
        let is_over = (0..self.sources.len()).all(|index| self.is_at_end(index));
        if let Some(split) = self.splits.pop_front()
            && !is_over
            && self.may_split(&split)
        {
            self.wished = Some((now, split));
        }
    }

    /// When a stream is to be cut, if it is and was not.
    fn cut_at(&self, index: usize) -> Option<Timestamp> {
        let (wished_at, split) = self.wished.as_ref()?;
        let is_open = !self.sources[index].has_cut && !self.is_at_end(index);
        is_open.then(|| *wished_at + split.delays_ns[index])
    }

    fn cut(&mut self, index: usize, now: Timestamp) {
        self.finish(index, now);
        self.account(index, now);
        let position = self.sources[index].position;
        self.sources[index].has_cut = true;
        let next = self.facts.borrow()[index].from(position);
        self.next_facts.borrow_mut()[index] = next;
    }

    fn hand_over(&mut self, index: usize, filled: Filled) {
        match self.sources[index].has_cut {
            true => self.held.push_back(filled),
            false => self.ready.push_back(filled),
        }
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
        let all_facts = self.facts_of(index);
        let source = &mut self.sources[index];
        let time_ns = self.unix_clock.unix_ns(now);
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
        let (count, ends_there) = match self.aligns_frames {
            true => before_frame(count, &mut marks),
            false => (count, false),
        };
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
        facts.leave_out_end(position, &mut marks);
        let offset = position - facts.base_bytes;
        let timed: Vec<PayloadMark> = marks
            .iter()
            // A begin that was entered at the end of the append before is left out.
            .filter(|mark| offset + mark.offset as u64 >= facts.begun_before)
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
            let number = frames.containing(start) - facts.base_frame();
            facts.frames.push((number, time_ns));
            facts.begun_before = start - facts.base_bytes + 1;
        }
        source.position += taken as u64;
        facts.offered_bytes = source.position - facts.base_bytes;
        let is_full = taken < count || filling.room_bytes() < 64 || ends_there;
        drop(all_facts);
        if is_full {
            self.finish(index, now);
        }
    }

    fn lose(&mut self, index: usize, end: u64, reason: GapReason, now: Timestamp) {
        let facts = self.facts_of(index);
        let source = &mut self.sources[index];
        let mut facts = facts.borrow_mut();
        let facts = &mut facts[index];
        let range = source.position - facts.base_bytes..end - facts.base_bytes;
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
        facts.offered_bytes = range.end;
        facts.drops.push(range);
    }

    fn finish(&mut self, index: usize, now: Timestamp) {
        let base_bytes = self.facts_of(index).borrow()[index].base_bytes;
        let source = &mut self.sources[index];
        if let Some((filling, start, _)) = source.filling.take() {
            let gap = source.gap.take();
            let filled = filling.finish(source.stream, start - base_bytes, gap, now);
            self.hand_over(index, filled);
        }
    }

    /// Makes an append without payload for a gap behind which nothing comes.
    fn account(&mut self, index: usize, now: Timestamp) {
        if self.sources[index].gap.is_none() || self.sources[index].filling.is_some() {
            return;
        }
        let time_ns = self.unix_clock.unix_ns(now);
        let base_bytes = self.facts_of(index).borrow()[index].base_bytes;
        let source = &mut self.sources[index];
        let filled = Filled {
            stream: source.stream,
            stream_offset_bytes: source.position - base_bytes,
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
        };
        self.hand_over(index, filled);
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
        if let Some(split) = self.splits.front().filter(|_| self.wished.is_none()) {
            at(self.start + split.at_ns);
        }
        for (index, source) in self.sources.iter().enumerate() {
            if let Some(cut_at) = self.cut_at(index) {
                at(cut_at);
            }
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
        self.wish(now);
        if let Some(board) = &self.board {
            self.pins.go_on(board, now, self.unix_clock);
        }
        let count = self.sources.len();
        self.turn = (self.turn + 1) % count;
        for step in 0..count {
            let index = (self.turn + step) % count;
            if !self.is_at_end(index) {
                self.produce(index, now);
            }
            if self.cut_at(index).is_some_and(|at| now >= at) {
                self.cut(index, now);
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
        let is_past = |index: usize| {
            let source = &self.sources[index];
            source.has_cut || self.is_at_end(index) && is_done(source)
        };
        let has_cut = self.sources.iter().any(|source| source.has_cut);
        if has_cut && (0..count).all(is_past) {
            return Polled::Cut;
        }
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

    fn begin_next(&mut self) {
        let next = std::mem::take(&mut *self.next_facts.borrow_mut());
        self.next_facts = Rc::new(RefCell::new(next.clone()));
        let ended = self.facts.borrow().clone();
        let streams = self.sources.iter_mut().zip(next.into_iter().zip(ended));
        let facts = streams.map(|(source, (next, ended))| {
            let has_cut = std::mem::take(&mut source.has_cut);
            match has_cut {
                true => next,
                false => ended.from(source.position),
            }
        });
        self.facts = Rc::new(RefCell::new(facts.collect()));
        self.ready = std::mem::take(&mut self.held);
        self.wished = None;
    }

    fn buffer_fill(&self) -> f64 {
        1.0 - self.free as f64 / self.buffers as f64
    }
}
