//! An engine around another one that computes what is read of missing members. Requests of members
//! that are there pass through it.
//!
//! It keeps the contract of engines: a read of a missing member completes once, with the bytes up
//! to the first that cannot be computed. Its own memory is bounded: few pieces are in flight, each
//! with a buffer for every part of its group.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sustain_disk::buffer::{Buffer, BufferPool};
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::engine::{Completion, Engine, Operation, Request, Until, Vector, Vectors, Waker};
use sustain_disk::error::{Error, IoFault};

use super::RebuiltMember;
use super::groups::BrokenGroup;
use super::piece::{ComputedPiece, FailedParts, PIECE_BYTES, PiecePlan};
use super::stand_in;
use super::vectors::{copy_into, zero_in};

/// The memory for pieces that are computed at the same time, or more where that is too little for
/// a few.
const MEMORY_BYTES: usize = 32 << 20;
const PIECES_MIN: usize = 4;
const IO_ERROR: IoFault = IoFault::Kernel(rustix::io::Errno::IO.raw_os_error());
/// What is read where what was computed is not the append that lay there.
static NOTHING: [u8; PIECE_BYTES] = [0; PIECE_BYTES];
const READ_ONLY: IoFault = IoFault::Kernel(rustix::io::Errno::ROFS.raw_os_error());

/// Where requests of a target go.
pub(super) enum Route {
    /// To this target of the engine within.
    There(usize),
    /// To the targets of the members from which it is computed.
    Rebuilt {
        member: Arc<RebuiltMember>,
        /// The target of each of its sources.
        sources: Vec<usize>,
    },
}

/// An engine that computes what is missing.
pub(super) struct RebuildingEngine {
    /// It is dropped first, and waits for what is in flight in the memory of the others.
    inner: Box<dyn Engine>,
    clock: Clock,
    routes: Vec<Route>,
    pool: BufferPool,
    pieces_max: usize,
    /// What is in flight within, by the token that it has there.
    within: HashMap<u64, Errand>,
    next_token: u64,
    jobs: HashMap<u64, Job>,
    next_job: u64,
    waiting: VecDeque<(u64, ComputedPiece)>,
    pieces: HashMap<u64, PieceInFlight>,
    ready: Vec<Completion>,
}

/// What a request within is for.
#[derive(Clone, Copy)]
enum Errand {
    /// One that passed through, with the target and the token that it had.
    Pass { target: usize, token: u64 },
    /// A read for a piece, by its index in the plan.
    Read { piece: u64, read: usize },
    /// A read of what a member has of itself.
    Own { job: u64 },
}

/// A read of a missing member.
struct Job {
    request: Request,
    submitted_at: Timestamp,
    bytes: u64,
    /// The pieces, as long as what the member has of itself is read.
    pieces: Vec<ComputedPiece>,
    pieces_left: usize,
    /// The first piece that could not be computed, and why.
    failed: Option<(u64, IoFault)>,
}

/// A piece whose parts are being read.
struct PieceInFlight {
    job: u64,
    piece: ComputedPiece,
    plan: PiecePlan,
    buffers: Vec<Option<Buffer>>,
    reads_left: usize,
    failed: FailedParts,
    fault: Option<IoFault>,
}

impl RebuildingEngine {
    /// Around an engine that has nothing in flight. A piece takes at most `reads_max` reads.
    pub(super) fn new(
        inner: Box<dyn Engine>,
        routes: Vec<Route>,
        reads_max: usize,
        clock: Clock,
    ) -> Result<RebuildingEngine, Error> {
        Ok(RebuildingEngine {
            inner,
            clock,
            routes,
            pool: BufferPool::new(reads_max * pieces_max(reads_max), PIECE_BYTES)?,
            pieces_max: pieces_max(reads_max),
            within: HashMap::new(),
            next_token: 0,
            jobs: HashMap::new(),
            next_job: 0,
            waiting: VecDeque::new(),
            pieces: HashMap::new(),
            ready: Vec::new(),
        })
    }

    fn submit_within(&mut self, errand: Errand, request: Request) {
        let token = self.next_token;
        self.next_token += 1;
        self.within.insert(token, errand);
        self.inner.submit(Request { token, ..request });
    }

    /// Begins a read of a missing member.
    fn begin(&mut self, mut request: Request) {
        let submitted_at = self.clock.now();
        let Route::Rebuilt { member, sources } = &self.routes[request.target] else {
            return;
        };
        if request.operation != Operation::Read {
            return self.finish(request, submitted_at, 0, Some(READ_ONLY));
        }
        let member_bytes = member.identity.geometry.member_bytes;
        let room_bytes = member_bytes.saturating_sub(request.offset_bytes);
        let bytes = request.vectors.len_bytes().min(room_bytes);
        let pieces = member.pieces(request.offset_bytes, bytes as usize);
        let own = member.own_source(request.offset_bytes..request.offset_bytes + bytes);
        let own = own.map(|source| sources[source]);
        let within = own.map(|target| Request {
            operation: Operation::Read,
            offset_bytes: request.offset_bytes,
            vectors: std::mem::replace(&mut request.vectors, Vectors::None),
            ..Request::flush(target)
        });
        let id = self.next_job;
        self.next_job += 1;
        let job = Job {
            request,
            submitted_at,
            bytes,
            pieces_left: pieces.len(),
            pieces,
            failed: None,
        };
        match within {
            Some(request) => {
                self.jobs.insert(id, job);
                self.submit_within(Errand::Own { job: id }, request);
            }
            None => self.compute(id, job),
        }
    }

    /// Begins to compute the pieces of a job, in memory that holds only zeros otherwise.
    fn compute(&mut self, id: u64, mut job: Job) {
        let range = job.request.offset_bytes..job.request.offset_bytes + job.bytes;
        let Route::Rebuilt { member, .. } = &self.routes[job.request.target] else {
            return;
        };
        for blank in member.blank(range) {
            let start = (blank.start - job.request.offset_bytes) as usize;
            let length = (blank.end - blank.start) as usize;
            zero_in(&mut job.request.vectors, start, length);
        }
        if job.pieces.is_empty() {
            return self.finish(job.request, job.submitted_at, job.bytes, None);
        }
        let pieces = std::mem::take(&mut job.pieces).into_iter();
        self.waiting.extend(pieces.map(|piece| (id, piece)));
        self.jobs.insert(id, job);
    }

    /// What a member has of itself has been read.
    fn take_own(&mut self, id: u64, completion: Completion) {
        let Some(mut job) = self.jobs.remove(&id) else {
            return;
        };
        job.request.vectors = completion.request.vectors;
        let Route::Rebuilt { member, .. } = &self.routes[job.request.target] else {
            return;
        };
        let offset_bytes = job.request.offset_bytes;
        let short = offset_bytes + completion.bytes..offset_bytes + job.bytes;
        let is_enough = short.is_empty() || member.own_source(short).is_none();
        match completion.error {
            None if is_enough => self.compute(id, job),
            error => {
                let error = error.unwrap_or(IO_ERROR);
                self.finish(job.request, job.submitted_at, 0, Some(error));
            }
        }
    }

    fn finish(
        &mut self,
        request: Request,
        submitted_at: Timestamp,
        bytes: u64,
        error: Option<IoFault>,
    ) {
        self.ready.push(Completion {
            request,
            submitted_at,
            completed_at: self.clock.now(),
            bytes,
            error,
        });
    }

    /// Begins to compute pieces as long as there is room.
    fn begin_pieces(&mut self) {
        while self.pieces.len() < self.pieces_max {
            let Some((job, piece)) = self.waiting.pop_front() else {
                return;
            };
            self.begin_piece(job, piece, FailedParts::default(), IO_ERROR);
        }
    }

    /// Reads what a piece needs without these parts, or gives it up.
    fn begin_piece(&mut self, job: u64, piece: ComputedPiece, failed: FailedParts, fault: IoFault) {
        let target = self.jobs.get(&job).map(|job| job.request.target);
        let Some(Route::Rebuilt { member, sources }) =
            target.and_then(|target| self.routes.get(target))
        else {
            return;
        };
        let group = &member.groups[piece.append.group];
        let Some(plan) = PiecePlan::of(&piece, group, &failed) else {
            return self.end_piece(job, &piece, Err(fault));
        };
        let places: Vec<(usize, u64)> = plan
            .reads
            .iter()
            .map(|read| {
                let offset_bytes = read.part.offset_bytes + u64::from(piece.from);
                (sources[read.part.source], offset_bytes)
            })
            .collect();
        let id = self.next_token;
        let mut in_flight = PieceInFlight {
            job,
            piece,
            buffers: plan.reads.iter().map(|_| None).collect(),
            reads_left: plan.reads.len(),
            plan,
            failed,
            fault: None,
        };
        let mut requests = Vec::new();
        for (index, (target, offset_bytes)) in places.into_iter().enumerate() {
            let length = in_flight.plan.reads[index].length;
            let buffer = self
                .pool
                .take()
                .expect("a buffer for each read of each piece");
            let request = Request {
                operation: Operation::Read,
                offset_bytes,
                vectors: Vectors::One(Vector::new(buffer, 0, length)),
                ..Request::flush(target)
            };
            requests.push((
                Errand::Read {
                    piece: id,
                    read: index,
                },
                request,
            ));
        }
        in_flight.reads_left = requests.len();
        self.pieces.insert(id, in_flight);
        for (errand, request) in requests {
            self.submit_within(errand, request);
        }
    }

    /// Takes the answer of a read for a piece.
    fn take_read(&mut self, id: u64, read: usize, completion: Completion) {
        let Some(piece) = self.pieces.get_mut(&id) else {
            return;
        };
        let wanted = piece.plan.reads[read];
        let is_short = completion.bytes < wanted.length as u64;
        if let Some(fault) = completion.error.or(is_short.then_some(IO_ERROR)) {
            let part = (wanted.is_parity, wanted.part.number);
            piece.failed.unreadable.push(part);
            piece.fault = Some(fault);
        }
        if let Vectors::One(vector) = completion.request.vectors {
            piece.buffers[read] = Some(vector.into_buffer());
        }
        piece.reads_left -= 1;
        if piece.reads_left == 0
            && let Some(piece) = self.pieces.remove(&id)
        {
            self.take_piece(piece);
        }
    }

    /// All parts of a piece have come.
    fn take_piece(&mut self, mut piece: PieceInFlight) {
        let computed = match piece.fault {
            Some(_) => None,
            None => Some(piece.plan.compute(&piece.piece, &mut piece.buffers)),
        };
        let found = match &computed {
            Some(Ok(index)) => piece.buffers[*index].as_ref(),
            Some(Err(_)) | None => None,
        };
        let bytes = found.map(|buffer| &buffer.bytes()[..piece.piece.length]);
        let is_other = bytes.is_some_and(|bytes| !piece.piece.may_be(bytes));
        let group = self.group_of(piece.job, &piece.piece);
        if is_other && group.is_some_and(|group| piece.failed.suspect_next(&piece.piece, group)) {
            give_all(&mut self.pool, piece.buffers);
            return self.begin_piece(piece.job, piece.piece, piece.failed, IO_ERROR);
        }
        let bytes = bytes.map(|bytes| match is_other {
            true => &NOTHING[..piece.piece.length],
            false => bytes,
        });
        if let (Some(bytes), Some(job)) = (bytes, self.jobs.get_mut(&piece.job)) {
            match (piece.piece.stands_at, &self.routes[job.request.target]) {
                (Some(place), Route::Rebuilt { member, .. }) => {
                    let block = stand_in::block_at(place, &member.identity, bytes);
                    copy_into(&mut job.request.vectors, piece.piece.start, &block);
                }
                _ => copy_into(&mut job.request.vectors, piece.piece.start, bytes),
            }
        }
        let is_done = bytes.is_some();
        give_all(&mut self.pool, piece.buffers);
        match (is_done, piece.fault) {
            (true, _) => self.end_piece(piece.job, &piece.piece, Ok(())),
            (false, Some(fault)) => self.begin_piece(piece.job, piece.piece, piece.failed, fault),
            (false, None) => self.end_piece(piece.job, &piece.piece, Err(IO_ERROR)),
        }
    }

    fn group_of(&self, job: u64, piece: &ComputedPiece) -> Option<&BrokenGroup> {
        let target = self.jobs.get(&job)?.request.target;
        match self.routes.get(target)? {
            Route::Rebuilt { member, .. } => member.groups.get(piece.append.group),
            Route::There(_) => None,
        }
    }

    /// A piece is computed, or cannot be.
    fn end_piece(&mut self, id: u64, piece: &ComputedPiece, outcome: Result<(), IoFault>) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.pieces_left -= 1;
        if let Err(fault) = outcome {
            let start = piece.start as u64;
            let is_first = job.failed.is_none_or(|(first, _)| start < first);
            if is_first {
                job.failed = Some((start, fault));
            }
        }
        if job.pieces_left == 0
            && let Some(job) = self.jobs.remove(&id)
        {
            let (bytes, error) = match job.failed {
                Some((start, fault)) => (start, Some(fault)),
                None => (job.bytes, None),
            };
            self.finish(job.request, job.submitted_at, bytes, error);
        }
    }

    /// Sorts what the engine within has completed.
    fn take_within(&mut self, completion: Completion) {
        match self.within.remove(&completion.request.token) {
            Some(Errand::Pass { target, token }) => {
                let request = Request {
                    target,
                    token,
                    ..completion.request
                };
                self.ready.push(Completion {
                    request,
                    ..completion
                });
            }
            Some(Errand::Read { piece, read }) => self.take_read(piece, read, completion),
            Some(Errand::Own { job }) => self.take_own(job, completion),
            None => {}
        }
    }
}

impl Engine for RebuildingEngine {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn describe(&self) -> String {
        let within = self.inner.describe();
        format!("{within}; what is missing is computed from other members")
    }

    fn submit(&mut self, request: Request) {
        match self.routes[request.target] {
            Route::Rebuilt { .. } => self.begin(request),
            Route::There(target) => {
                let errand = Errand::Pass {
                    target: request.target,
                    token: request.token,
                };
                self.submit_within(errand, Request { target, ..request });
            }
        }
    }

    fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
        let mut done = Vec::new();
        loop {
            self.begin_pieces();
            let until = match self.ready.is_empty() {
                true => until,
                false => Until::Now,
            };
            self.inner.wait(until, &mut done)?;
            // A wait that brings nothing was woken, or has lasted long enough.
            let is_over = done.is_empty();
            for completion in done.drain(..) {
                self.take_within(completion);
            }
            if !self.ready.is_empty() {
                self.begin_pieces();
                completions.append(&mut self.ready);
                return Ok(());
            }
            if is_over {
                return Ok(());
            }
        }
    }

    fn takes_more(&self) -> bool {
        self.inner.takes_more()
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }

    fn submit_blocked_ns(&self) -> u64 {
        self.inner.submit_blocked_ns()
    }
}

/// How many pieces, each of which takes so many reads, are computed at the same time.
pub(super) fn pieces_max(reads_max: usize) -> usize {
    (MEMORY_BYTES / PIECE_BYTES / reads_max.max(1)).max(PIECES_MIN)
}

fn give_all(pool: &mut BufferPool, buffers: Vec<Option<Buffer>>) {
    buffers
        .into_iter()
        .flatten()
        .for_each(|buffer| pool.give(buffer));
}
