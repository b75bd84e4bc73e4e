//! An engine around the simulated one that fails as disks do, and that watches the recorder while
//! it does.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::engine::{
    Completion, Engine, Operation, Request, SharedMachine, SimulatedEngine, Until, Vector, Vectors,
    Waker,
};
use sustain_disk::error::{Error, IoFault};
use sustain_record::recorder::RecordingBoard;

use crate::draw::Draw;
use crate::history::History;
use crate::plan::{CutKind, Faults, Left, Shortage, StrikeKind};

const EIO: i32 = 5;
const ENXIO: i32 = 6;
const SECTOR: u64 = 512;
const NEVER: Timestamp = Timestamp(u64::MAX);
/// No recording here takes so many steps, nor so long.
const STEPS_MAX: u64 = 2_000_000;

/// Whether an error says nothing of the member: EFAULT; EAGAIN and ENOMEM, unless the request may
/// have been told of the error of another one before it.
fn is_kernels_own(fault: IoFault, may_be_anothers: bool) -> bool {
    match fault {
        IoFault::Kernel(14) => true,
        IoFault::Kernel(11 | 12) => !may_be_anothers,
        _ => false,
    }
}

/// How the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Running,
    /// It crashed before it began.
    Torn,
    Cut(CutKind),
    /// It took too many steps, or too much time: the recorder hangs.
    Stuck,
}

/// What the engine shares with the code that runs it.
pub struct Watch {
    pub history: Rc<RefCell<History>>,
    pub fate: RefCell<Fate>,
    /// Requests that the engine has, or still had when it was gone.
    pub kept: Cell<usize>,
    /// The faults that have struck.
    pub struck: RefCell<Vec<&'static str>>,
}

/// The engine.
pub struct FaultyEngine {
    inner: SimulatedEngine,
    clock: Clock,
    machine: SharedMachine,
    faults: Faults,
    start: Timestamp,
    end_at: Timestamp,
    draw: Draw,
    watch: Rc<Watch>,
    board: Arc<RecordingBoard>,
    /// Per member: writes and flushes so far.
    served: Vec<(u64, u64)>,
    /// Requests on their way to the disk.
    late_requests: Vec<(Timestamp, Request)>,
    /// Completions on their way back.
    late_completions: Vec<(Timestamp, Completion)>,
    /// Requests that are to end in another way than the disk says, by token.
    doomed: Vec<(u64, Doom)>,
    /// A medium to keep, and when.
    snapshot: Option<(usize, Timestamp)>,
    pub kept: Rc<RefCell<Option<Kept>>>,
    steps: u64,
}

/// An old state of a member.
pub struct Kept {
    pub medium: sustain_disk::simulated::Medium,
    pub events: u64,
}

#[derive(Debug, Clone, Copy)]
enum Doom {
    Error(i32),
    /// The completion names this length instead of the one that was asked for.
    Short(usize),
}

impl FaultyEngine {
    #[allow(clippy::too_many_arguments, reason = "it is what a run consists of")]
    pub fn new(
        inner: SimulatedEngine,
        clock: &Clock,
        machine: &SharedMachine,
        faults: &Faults,
        members: usize,
        seed: u64,
        length_ns: u64,
        watch: &Rc<Watch>,
        board: &Arc<RecordingBoard>,
        snapshot: Option<(usize, u64)>,
    ) -> FaultyEngine {
        let start = clock.now();
        FaultyEngine {
            inner,
            clock: clock.clone(),
            machine: machine.clone(),
            faults: faults.clone(),
            start,
            end_at: start + length_ns.saturating_mul(2000) + 3_600_000_000_000,
            draw: Draw::new(seed),
            watch: Rc::clone(watch),
            board: Arc::clone(board),
            served: vec![(0, 0); members],
            late_requests: Vec::new(),
            late_completions: Vec::new(),
            doomed: Vec::new(),
            snapshot: snapshot.map(|(member, at_ns)| (member, start + at_ns)),
            kept: Rc::default(),
            steps: 0,
        }
    }

    fn struck(&self, what: &'static str) {
        self.watch.struck.borrow_mut().push(what);
    }

    /// The time until which a member keeps its requests, if it does now.
    fn is_silent_until(&self, member: usize) -> Option<Timestamp> {
        let now = self.clock.now();
        let silences = self.faults.silences.iter();
        let of_member = silences.filter(|silence| silence.member == member);
        let until = of_member.filter_map(|silence| {
            let until = silence
                .until_ns
                .map_or(NEVER, |until_ns| self.start + until_ns);
            (now >= self.start + silence.at_ns && now < until).then_some(until)
        });
        until.max()
    }

    /// The error with which the kernel refuses a write to this member now.
    fn shortage(&self, request: &Request) -> Option<i32> {
        let now = self.clock.now();
        let is_now = |shortage: &&Shortage| {
            shortage.member == request.target
                && now >= self.start + shortage.at_ns
                && now < self.start + shortage.until_ns
        };
        let shortage = self.faults.shortages.iter().find(is_now)?;
        (request.operation == Operation::Write).then_some(shortage.errno)
    }

    fn is_dead(&self, member: usize) -> bool {
        let now = self.clock.now();
        let is_now = |death: &(usize, u64)| death.0 == member && now >= self.start + death.1;
        self.faults.deaths.iter().any(is_now)
    }

    /// The way in which a request is to fail, if it is its turn.
    fn strike(&mut self, request: &Request) -> Option<StrikeKind> {
        let member = request.target;
        let (writes, flushes) = self.served[member];
        let turn = |strike: &crate::plan::Strike| {
            let count = match (strike.what, request.operation) {
                (StrikeKind::Flush(_), Operation::Flush) => flushes,
                (StrikeKind::Write(..) | StrikeKind::Short, Operation::Write) => writes,
                _ => return false,
            };
            strike.member == member && strike.after == count
        };
        let struck = self.faults.strikes.iter().find(|strike| turn(strike));
        let struck = struck.map(|strike| strike.what);
        match request.operation {
            Operation::Flush => self.served[member].1 += 1,
            _ => self.served[member].0 += 1,
        }
        struck
    }

    /// Writes some of its sectors, as if they had always been there.
    fn leave_some(&mut self, request: &Request) {
        let mut at = request.offset_bytes;
        for vector in request.vectors.as_slice() {
            for sector in vector.bytes().chunks(SECTOR as usize) {
                if self.draw.chance(500) {
                    self.machine.write_contents(request.target, at, sector);
                }
                at += sector.len() as u64;
            }
        }
    }

    fn begin(&mut self, mut request: Request) {
        let token = request.token;
        if self.is_dead(request.target) {
            self.struck("member dies");
            self.doomed.push((token, Doom::Error(ENXIO)));
            return self.answer(request);
        }
        if let Some(errno) = self.shortage(&request) {
            self.struck("kernel cannot take a write");
            self.doomed.push((token, Doom::Error(errno)));
            return self.answer(request);
        }
        match self.strike(&request) {
            None => self.inner.submit(request),
            Some(StrikeKind::Write(errno, left)) => {
                self.struck("write fails");
                self.doomed.push((token, Doom::Error(errno)));
                match left {
                    Left::Nothing => self.answer(request),
                    Left::Some => {
                        self.leave_some(&request);
                        self.answer(request);
                    }
                    Left::All => self.inner.submit(request),
                }
            }
            Some(StrikeKind::Flush(left)) => {
                self.struck("flush fails");
                self.doomed.push((token, Doom::Error(EIO)));
                if left == Left::Nothing {
                    return self.answer(request);
                }
                self.inner.submit(request);
            }
            Some(StrikeKind::Short) => {
                self.struck("write is short");
                let length = request.vectors.len_bytes();
                let short = self.draw.below(length / SECTOR) * SECTOR;
                if let Vectors::One(vector) = request.vectors {
                    self.doomed.push((token, Doom::Short(length as usize)));
                    let vector = Vector::new(vector.into_buffer(), 0, short as usize);
                    request.vectors = Vectors::One(vector);
                }
                self.inner.submit(request);
            }
        }
    }

    /// Returns it without having sent it to the disk.
    fn answer(&mut self, request: Request) {
        let now = self.clock.now();
        let completion = Completion {
            request,
            submitted_at: now,
            completed_at: now,
            bytes: 0,
            error: None,
        };
        self.late_completions.push((now + 1000, completion));
    }

    /// Changes the completion into what the recorder is to see.
    fn disguise(&mut self, mut completion: Completion) -> Completion {
        let token = completion.request.token;
        if let Some(place) = self.doomed.iter().position(|(doomed, _)| *doomed == token) {
            match self.doomed.swap_remove(place).1 {
                Doom::Error(errno) => {
                    completion.error = Some(IoFault::Kernel(errno));
                    completion.bytes = 0;
                }
                Doom::Short(length) => {
                    if let Vectors::One(vector) = completion.request.vectors {
                        let vector = Vector::new(vector.into_buffer(), 0, length);
                        completion.request.vectors = Vectors::One(vector);
                    }
                }
            }
        } else if self.is_dead(completion.request.target) && completion.error.is_none() {
            self.struck("member dies");
            completion.error = Some(IoFault::Kernel(ENXIO));
            completion.bytes = 0;
        }
        completion
    }

    fn delay(&mut self) -> Option<u64> {
        let (per_mille, most_ns) = self.faults.delays?;
        self.draw
            .chance(per_mille)
            .then(|| self.draw.below(most_ns + 1))
    }

    /// Moves what is due now, on its way there and back.
    fn move_late(&mut self, completions: &mut Vec<Completion>) {
        let now = self.clock.now();
        let mut index = 0;
        while index < self.late_requests.len() {
            if self.late_requests[index].0 <= now {
                let (_, request) = self.late_requests.swap_remove(index);
                self.begin(request);
            } else {
                index += 1;
            }
        }
        let mut index = 0;
        while index < self.late_completions.len() {
            if self.late_completions[index].0 <= now {
                let (_, completion) = self.late_completions.swap_remove(index);
                let completion = self.disguise(completion);
                self.hand_over(completion, completions);
            } else {
                index += 1;
            }
        }
    }

    fn hand_over(&mut self, mut completion: Completion, completions: &mut Vec<Completion>) {
        completion.completed_at = self.clock.now();
        self.watch.kept.update(|kept| kept - 1);
        let wanted = completion.request.vectors.len_bytes();
        let is_ok = completion.error.is_none() && completion.bytes == wanted;
        let mut history = self.watch.history.borrow_mut();
        history.note_given_up(&self.board.read());
        let request = &completion.request;
        let may_be_anothers = request.durable && history.shares_errors[request.target];
        match completion.error {
            Some(errno) if is_kernels_own(errno, may_be_anothers) => history.refused(request),
            _ => history.completed(request, is_ok),
        }
        completions.push(completion);
    }

    fn next_late(&self) -> Option<Timestamp> {
        let requests = self.late_requests.iter().map(|(at, _)| *at);
        let completions = self.late_completions.iter().map(|(at, _)| *at);
        requests.chain(completions).min()
    }

    fn ended(&self, fate: Fate) -> Error {
        *self.watch.fate.borrow_mut() = fate;
        Error::EngineFailed {
            engine: "faulty",
            error: std::io::Error::other(format!("{fate:?}")),
        }
    }

    /// Lets happen what happens at this time whatever the recorder does.
    fn strike_all(&mut self) -> Result<(), Error> {
        let now = self.clock.now();
        self.steps += 1;
        if self.steps > STEPS_MAX || now > self.end_at {
            return Err(self.ended(Fate::Stuck));
        }
        if let Some((member, at)) = self.snapshot
            && now >= at
        {
            self.snapshot = None;
            *self.kept.borrow_mut() = Some(Kept {
                medium: self.machine.snapshot(member),
                events: self.watch.history.borrow().events,
            });
        }
        let Some((at_ns, kind)) = self.faults.cut else {
            return Ok(());
        };
        if now < self.start + at_ns {
            return Ok(());
        }
        if kind == CutKind::Power {
            self.machine.power_cut(self.draw.number());
        }
        Err(self.ended(Fate::Cut(kind)))
    }
}

impl Engine for FaultyEngine {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn describe(&self) -> String {
        "a simulated machine in trouble".to_owned()
    }

    fn submit(&mut self, request: Request) {
        let standing = self.board.read();
        self.watch.history.borrow_mut().note_given_up(&standing);
        self.watch.history.borrow_mut().submitted(&request);
        self.watch.kept.update(|kept| kept + 1);
        if let Some(until) = self.is_silent_until(request.target) {
            self.struck("member is silent");
            return self.late_requests.push((until, request));
        }
        match self.delay() {
            Some(delay_ns) => {
                self.struck("request is late");
                let at = self.clock.now() + delay_ns;
                self.late_requests.push((at, request));
            }
            None => self.begin(request),
        }
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let standing = self.board.read();
        self.watch.history.borrow_mut().shown(&standing);
        let deadline = match until {
            Until::Now => self.clock.now(),
            Until::CompletionOr(time) => time,
        };
        let mut fresh = Vec::new();
        loop {
            self.strike_all()?;
            self.move_late(completions);
            if !completions.is_empty() {
                return Ok(());
            }
            let mut next = deadline;
            next = self.next_late().map_or(next, |late| next.min(late));
            if let Some((at_ns, _)) = self.faults.cut {
                next = next.min(self.start + at_ns);
            }
            if let Some((_, at)) = self.snapshot {
                next = next.min(at);
            }
            let next = next.max(self.clock.now());
            self.inner.wait(Until::CompletionOr(next), &mut fresh)?;
            for completion in std::mem::take(&mut fresh) {
                if let Some(until) = self.is_silent_until(completion.request.target) {
                    self.struck("member is silent");
                    self.late_completions.push((until, completion));
                    continue;
                }
                match self.delay() {
                    Some(delay_ns) => {
                        self.struck("completion is late");
                        let at = self.clock.now() + delay_ns;
                        self.late_completions.push((at, completion));
                    }
                    None => {
                        let completion = self.disguise(completion);
                        self.hand_over(completion, completions);
                    }
                }
            }
            if !completions.is_empty() || self.clock.now() >= deadline {
                return Ok(());
            }
        }
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }
}
