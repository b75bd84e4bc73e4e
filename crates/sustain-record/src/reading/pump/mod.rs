//! Reads the slots of members in order, at the disks' rate: large aligned reads, several in flight
//! on each member. The pipeline drives it and asks for the next slots of a member; it works over
//! any engine. It never returns bytes of one place as those of another, and never waits for a
//! member that has failed.

mod memory;
mod mend;
mod reads;

use std::collections::VecDeque;
use std::ops::Range;

use sustain_disk::buffer::Buffer;
use sustain_disk::clock::Clock;
use sustain_disk::engine::{Completion, Engine, Operation, Request, Until, Vector, Vectors};
use sustain_disk::error::{Error, IoFault};

pub use self::memory::ReadWindow;
use self::memory::{MENDS_MAX, map_buffer, share_own, take_buffer};
use self::mend::{Mending, PIECE_LARGE, PIECE_SMALL, ReadPiece};
pub use self::reads::MemberReads;
use self::reads::{PumpState, PumpedMember, Read};
use super::bytes::SharedBytes;
use super::examine::Unreadable;
use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES};
use crate::member_io::words_of_silence;

/// Reads up to this length are tried block by block even if no piece of them could be read, because
/// a few bad blocks may lie in all of the pieces.
const FINER_BYTES_MAX: usize = 1 << 20;
/// After this many reads in a row without a byte, the member has failed.
const DEAD_READS_MAX: u32 = 16;
const WAIT_NS: u64 = 3_600_000_000_000;
/// The token of a read that is not of a member's order.
const FETCH: u64 = u64::MAX;

/// Slots that follow each other on a member, as they were read.
#[derive(Debug)]
pub struct SlotRun {
    /// Serial of the first slot.
    pub first_serial: u64,
    /// The slots' bytes.
    pub bytes: SharedBytes,
    /// Stretches of it that could not be read. Their bytes are zeros.
    pub unreadable: Vec<Unreadable>,
}

/// Reads members.
pub struct Pump {
    /// `None` after members were given up with reads that had not returned. It is leaked with their
    /// memory, because closing it would wait for them.
    engine: Option<Box<dyn Engine>>,
    clock: Clock,
    window: ReadWindow,
    members: Vec<PumpedMember>,
    /// How long it is waited for any answer; without end, if none.
    patience_ns: Option<u64>,
    /// Which member did not answer, in words, once that was too long.
    silence: String,
    reads: Vec<Option<Read>>,
    mending: Mending,
    /// Member and offset of a read that is not of a member's order.
    fetching: (usize, u64),
    fetched: Option<Completion>,
}

impl Pump {
    /// Makes a pump over an engine whose targets are these members, in this order. With a patience
    /// members are given up when none of them has answered for so long.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn new(
        engine: Box<dyn Engine>,
        clock: Clock,
        window: ReadWindow,
        members: Vec<MemberReads>,
        patience_ns: Option<u64>,
    ) -> Result<Pump, Error> {
        let members = members
            .into_iter()
            .map(|reads| PumpedMember {
                next: reads.slots.start,
                reads,
                order: VecDeque::new(),
                dead_reads: 0,
                failed: None,
            })
            .collect();
        Ok(Pump {
            engine: Some(engine),
            clock,
            window,
            members,
            patience_ns,
            silence: String::new(),
            reads: Vec::new(),
            mending: Mending::new(MENDS_MAX)?,
            fetching: (0, 0),
            fetched: None,
        })
    }

    /// Returns the next slots of a member; `None` when it is at its end or has failed. All members
    /// are read ahead meanwhile.
    ///
    /// # Errors
    /// [`RecordError::Engine`]; [`RecordError::Silent`] if no member answers for too long.
    pub fn next(&mut self, member: usize) -> Result<Option<SlotRun>, RecordError> {
        loop {
            self.refill()?;
            let Some(&first) = self.members[member].order.front() else {
                return Ok(None);
            };
            let is_done = |read: &Read| matches!(read.state, PumpState::Done(_));
            if self.reads[first].as_ref().is_some_and(is_done) {
                self.members[member].order.pop_front();
                let read = self.reads[first].take();
                return Ok(read.and_then(|read| self.deliver(read)));
            }
            self.wait()?;
        }
    }

    /// The error with which a member failed, if it has.
    pub fn failure(&self, member: usize) -> Option<IoFault> {
        self.members[member].failed
    }

    /// Reads a stretch of a member out of order. Returns `None` if it cannot be read.
    ///
    /// # Errors
    /// The same as of [`Pump::next`].
    pub fn fetch(
        &mut self,
        member: usize,
        range: &Range<u64>,
    ) -> Result<Option<SharedBytes>, RecordError> {
        let block = BLOCK_BYTES as u64;
        let start = range.start - range.start % block;
        let length = (range.end.next_multiple_of(block) - start) as usize;
        let buffer = map_buffer(length)?;
        self.fetching = (member, start);
        self.submit(member, start, buffer, length, FETCH)?;
        let completion = loop {
            if let Some(completion) = self.fetched.take() {
                break completion;
            }
            self.wait()?;
        };
        let wanted = (range.end - start) as usize;
        let is_whole = completion.error.is_none() && completion.bytes >= wanted as u64;
        let buffer = take_buffer(completion).filter(|_| is_whole);
        Ok(buffer
            .map(|buffer| share_own(buffer, length).slice((range.start - start) as usize..wanted)))
    }

    /// Waits until nothing is in flight.
    ///
    /// # Errors
    /// The same as of [`Pump::next`].
    pub(super) fn settle(&mut self) -> Result<(), RecordError> {
        let is_in_flight = |read: &Read| !matches!(read.state, PumpState::Done(_));
        while self.reads.iter().flatten().any(is_in_flight) {
            self.wait()?;
        }
        Ok(())
    }

    fn deliver(&mut self, read: Read) -> Option<SlotRun> {
        let PumpState::Done(buffer) = read.state else {
            return None;
        };
        Some(SlotRun {
            first_serial: read.first_serial,
            bytes: self.window.share(buffer, read.length),
            unreadable: read.unreadable,
        })
    }

    fn refill(&mut self) -> Result<(), RecordError> {
        for index in 0..self.members.len() {
            while self.members[index].order.len() < self.window.reads_per_member {
                let Some((serial, count)) = self.members[index].take_run(self.window.read_bytes)
                else {
                    break;
                };
                self.begin(index, serial, count)?;
            }
        }
        self.mending
            .refill(engine_of(&mut self.engine, &self.silence)?);
        Ok(())
    }

    fn begin(&mut self, index: usize, first_serial: u64, count: u64) -> Result<(), RecordError> {
        let geometry = self.members[index].reads.geometry;
        let place = AppendPlace {
            slot_serial: first_serial,
            slot_offset_bytes: 0,
        };
        let offset_bytes = geometry.offset_of(place);
        let length = count as usize * geometry.slot_bytes as usize;
        let buffer = self.window.take()?;
        let read = Some(Read {
            member: index,
            first_serial,
            offset_bytes,
            length,
            state: PumpState::InFlight,
            unreadable: Vec::new(),
        });
        let free = self.reads.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.reads.len());
        match free {
            Some(free) => self.reads[free] = read,
            None => self.reads.push(read),
        }
        self.members[index].order.push_back(slot);
        self.submit(index, offset_bytes, buffer, length, slot as u64)
    }

    fn submit(
        &mut self,
        target: usize,
        offset_bytes: u64,
        buffer: Buffer,
        length: usize,
        token: u64,
    ) -> Result<(), RecordError> {
        let engine = engine_of(&mut self.engine, &self.silence)?;
        engine.submit(read_request(target, offset_bytes, buffer, length, token));
        Ok(())
    }

    fn wait(&mut self) -> Result<(), RecordError> {
        let mut completions = Vec::new();
        let begun_at = self.clock.now();
        let until = Until::CompletionOr(begun_at + self.patience_ns.unwrap_or(WAIT_NS));
        let engine = engine_of(&mut self.engine, &self.silence)?;
        engine.wait(until, &mut completions)?;
        let waited_ns = self.clock.now().since_ns(begun_at);
        let is_over = |patience_ns| waited_ns >= patience_ns;
        if completions.is_empty() && self.patience_ns.is_some_and(is_over) {
            return Err(self.give_up(waited_ns));
        }
        for completion in completions {
            if completion.request.token == FETCH {
                self.fetched = Some(completion);
            } else {
                self.complete(completion);
            }
        }
        self.mending
            .refill(engine_of(&mut self.engine, &self.silence)?);
        Ok(())
    }

    /// Stops waiting for what is in flight. Its memory and its files stay with the kernel.
    fn give_up(&mut self, waited_ns: u64) -> RecordError {
        std::mem::forget(self.engine.take());
        let is_awaited = |read: &&Read| !matches!(read.state, PumpState::Done(_));
        let awaited = self.reads.iter().flatten().find(is_awaited);
        let place = |read: &Read| (read.member, read.offset_bytes);
        let (member, offset_bytes) = awaited.map_or(self.fetching, place);
        let name = &self.members[member].reads.name;
        let seconds = waited_ns as f64 / 1e9;
        self.silence = words_of_silence(Operation::Read, name, offset_bytes, seconds);
        RecordError::Silent(self.silence.clone())
    }

    fn complete(&mut self, completion: Completion) {
        let index = completion.request.token as usize;
        let Some(read) = self.reads.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        if matches!(read.state, PumpState::InFlight) {
            self.complete_first(completion);
        } else {
            self.complete_piece(completion);
        }
    }

    /// Takes the answer of a whole read.
    fn complete_first(&mut self, completion: Completion) {
        let index = completion.request.token as usize;
        let (error, bytes) = (completion.error, completion.bytes as usize);
        let (Some(read), Some(mut buffer)) = (self.reads[index].as_mut(), take_buffer(completion))
        else {
            return;
        };
        let length = read.length;
        match error {
            None => {
                if bytes < length {
                    buffer.bytes_mut()[bytes..length].fill(0);
                    let name = self.members[read.member].reads.member;
                    read.lose(name, bytes..length, None);
                }
                read.state = PumpState::Done(buffer);
                self.note_end(index);
            }
            Some(errno) if is_gone(errno) => {
                buffer.bytes_mut()[..length].fill(0);
                let name = self.members[read.member].reads.member;
                read.lose(name, 0..length, Some(errno));
                read.state = PumpState::Done(buffer);
                self.note_end(index);
            }
            Some(_) => {
                buffer.bytes_mut()[..length].fill(0);
                let pieces = ReadPiece::cut(
                    index,
                    read.member,
                    read.offset_bytes,
                    0..length,
                    PIECE_LARGE,
                );
                read.state = PumpState::Mending(buffer, pieces.len(), Vec::new());
                self.mending.push(pieces);
            }
        }
    }

    /// Takes the answer of a piece of a read that failed.
    fn complete_piece(&mut self, completion: Completion) {
        let index = completion.request.token as usize;
        let Some(read) = self.reads[index].as_mut() else {
            return;
        };
        let name = self.members[read.member].reads.member;
        let start = (completion.request.offset_bytes - read.offset_bytes) as usize;
        let length = completion.request.vectors.len_bytes() as usize;
        let read_bytes = completion.bytes as usize;
        let error = completion.error;
        let mut lost = None;
        let PumpState::Mending(buffer, outstanding, failed) = &mut read.state else {
            return;
        };
        *outstanding -= 1;
        if let Some(small) = self.mending.take_back(completion) {
            match error {
                None => {
                    buffer.bytes_mut()[start..start + read_bytes]
                        .copy_from_slice(&small.bytes()[..read_bytes]);
                    lost = (read_bytes < length).then_some((start + read_bytes, None));
                }
                Some(errno) if length > PIECE_SMALL => failed.push(ReadPiece {
                    read: index,
                    target: read.member,
                    base_bytes: read.offset_bytes,
                    range: start..start + length,
                    errno: Some(errno),
                }),
                Some(errno) => lost = Some((start, Some(errno))),
            }
            self.mending.give(small);
        }
        if let Some((from, errno)) = lost {
            read.lose(name, from..start + length, errno);
        }
        self.settle_mending(index);
    }

    /// Goes on when all pieces have returned: those that failed are cut finer, unless nothing at
    /// all could be read. Then finer pieces would only take time.
    fn settle_mending(&mut self, index: usize) {
        let Some(read) = self.reads[index].as_mut() else {
            return;
        };
        let name = self.members[read.member].reads.member;
        let (offset_bytes, length) = (read.offset_bytes, read.length);
        let PumpState::Mending(_, outstanding, failed) = &mut read.state else {
            return;
        };
        if *outstanding > 0 {
            return;
        }
        let failed = std::mem::take(failed);
        let failed_bytes: usize = failed.iter().map(|piece| piece.range.len()).sum();
        let is_worth_it = failed_bytes < length || length <= FINER_BYTES_MAX;
        if is_worth_it && failed_bytes > 0 {
            let target = read.member;
            let pieces: Vec<ReadPiece> = failed
                .into_iter()
                .flat_map(|piece| {
                    ReadPiece::cut(index, target, offset_bytes, piece.range, PIECE_SMALL)
                })
                .collect();
            *outstanding = pieces.len();
            self.mending.push(pieces);
            return;
        }
        for piece in failed {
            read.lose(name, piece.range, piece.errno);
        }
        read.state = match std::mem::replace(&mut read.state, PumpState::InFlight) {
            PumpState::Mending(buffer, ..) => PumpState::Done(buffer),
            other => other,
        };
        self.note_end(index);
    }

    /// Notes the end of a read. If nothing of it and of those before it could be read, the member
    /// has failed, and nobody waits for the reads beyond.
    fn note_end(&mut self, index: usize) {
        let Some(read) = self.reads[index].as_ref() else {
            return;
        };
        let member = &mut self.members[read.member];
        let lost: u64 = read
            .unreadable
            .iter()
            .map(|bad| bad.range.end - bad.range.start)
            .sum();
        if lost < read.length as u64 {
            member.dead_reads = 0;
            return;
        }
        member.dead_reads += 1;
        let errno = read.unreadable.iter().find_map(|bad| bad.errno);
        if member.dead_reads >= DEAD_READS_MAX || errno.is_some_and(is_gone) {
            member.failed =
                Some(errno.unwrap_or(IoFault::Kernel(rustix::io::Errno::IO.raw_os_error())));
            member.next = member.reads.slots.end;
        }
    }
}

/// The engine, unless members were given up on it.
fn engine_of<'a>(
    engine: &'a mut Option<Box<dyn Engine>>,
    silence: &str,
) -> Result<&'a mut dyn Engine, RecordError> {
    match engine {
        Some(engine) => Ok(engine.as_mut()),
        None => Err(RecordError::Silent(silence.to_owned())),
    }
}

fn is_gone(errno: IoFault) -> bool {
    [rustix::io::Errno::NXIO, rustix::io::Errno::NODEV]
        .iter()
        .any(|gone| errno == IoFault::Kernel(gone.raw_os_error()))
}

fn read_request(
    target: usize,
    offset_bytes: u64,
    buffer: Buffer,
    length: usize,
    token: u64,
) -> Request {
    Request {
        operation: Operation::Read,
        offset_bytes,
        vectors: Vectors::One(Vector::new(buffer, 0, length)),
        token,
        ..Request::flush(target)
    }
}
