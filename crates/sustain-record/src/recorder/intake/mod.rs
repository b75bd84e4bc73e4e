//! Moves the bytes of a source into a stream: reads them, finds the frames, fills appends, and
//! closes appends when they are full or old. When there is no memory it either waits or counts what
//! is lost.
//!
//! One intake runs in one thread. It waits for a silent source with `poll` and never spins.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, ioctl_fionread, read, readv};
use sustain_disk::clock::Timestamp;
use sustain_disk::driver::Ending;
use sustain_targets::Stop;

use super::filled::Filling;
use super::stream_writer::StreamWriter;
use crate::format::GapReason;
use crate::source::framing::{FrameMark, Framer, Framing, FramingError};

mod align;
mod cut;
mod frames;
mod made;
mod pause;

use cut::IntakeCuts;
pub use cut::SplitSwitch;
pub use pause::PauseSwitch;

/// The most bytes of one read: as much as stays in the CPU's cache until its checksum is computed.
const READ_BYTES_MAX: usize = 256 * 1024;
/// A read from a pipe in packet mode takes one packet of at most this length (PIPE_BUF), and loses
/// what does not fit. Such a pipe looks like any other, so no read asks for less.
const PACKET_BYTES_MAX: usize = 4096;
/// How often the wait for a silent source is interrupted to see whether the user wants to stop.
const LOOK_NS: u64 = 50_000_000;

pub use sustain_document::record::OnFull;

/// The settings of an intake.
#[derive(Debug, Clone)]
pub struct IntakeSetup {
    /// How frames are told apart.
    pub framing: Framing,
    /// Whether each frame begins at a block boundary of the member that it lies on.
    pub align_frames: bool,
    /// What to do when no memory is free.
    pub on_full: OnFull,
    /// An append is closed when its first byte is this old.
    pub linger_ns: u64,
    /// The stream ends after so many bytes.
    pub bytes_max: Option<u64>,
    /// The stream ends at this time.
    pub deadline: Option<Timestamp>,
    /// At the end of the stream, bytes that were read or lie in a pipe wait this long for memory
    /// before they are lost.
    pub last_wait_ns: u64,
    /// The user's request to stop.
    pub stop: Stop,
    /// The user's request to take nothing for a while.
    pub pause: PauseSwitch,
    /// The user's request to go on in a new recording.
    pub split: SplitSwitch,
}

/// The outcome of an intake.
#[derive(Debug)]
pub struct Taken {
    /// Why the stream ended.
    pub ending: Ending,
    /// Bytes offered by the source, in all recordings.
    pub offered_bytes: u64,
    /// How many recordings began while it was taken in.
    pub cuts: u32,
    /// Why the source could not be read any further, if so.
    pub read_error: Option<Errno>,
    /// Where frames could not be told apart any more, if so, and how many recordings had begun
    /// then.
    pub framing_error: Option<(u32, FramingError)>,
}

/// Takes in one source.
pub struct Intake {
    writer: StreamWriter,
    setup: IntakeSetup,
    framer: Framer,
    filling: Option<Filling>,
    filling_since: Timestamp,
    /// Bytes that may or may not begin a frame. They lie in front of the next ones.
    undecided: Vec<u8>,
    found: Vec<FrameMark>,
    is_framed: bool,
    /// Frames are lost whole: nothing is kept before the next one begins. Why the last one was
    /// lost.
    dropping: Option<GapReason>,
    /// Whether the source may be left waiting while the recording is paused.
    may_wait: bool,
    scratch: Vec<u8>,
    framing_error: Option<(u32, FramingError)>,
    cuts: IntakeCuts,
    /// The time until which memory is waited for, once the stream is to end.
    last_wait_until: Option<Timestamp>,
}

/// Whether there is memory for the next read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntakeSpace {
    /// There is memory.
    Ready,
    /// What comes is lost, and why: there is none, or the recording is paused.
    Lost(GapReason),
    /// There is none, and the stream will end, or is to be cut, before there may be some.
    Over,
}

impl Intake {
    /// Makes an intake for the stream of `writer`.
    pub fn new(writer: StreamWriter, setup: IntakeSetup) -> Intake {
        Intake {
            framer: Framer::new(setup.framing),
            filling: None,
            filling_since: Timestamp(0),
            undecided: Vec::new(),
            found: Vec::new(),
            is_framed: setup.framing != Framing::None,
            dropping: None,
            may_wait: setup.on_full == OnFull::Block,
            scratch: Vec::new(),
            framing_error: None,
            cuts: IntakeCuts::default(),
            last_wait_until: None,
            writer,
            setup,
        }
    }

    /// Reads a file, pipe or terminal to its end.
    pub fn read_all(mut self, source: &impl AsFd) -> Taken {
        // What is stored waits, whatever is done with sources that cannot.
        self.may_wait |= is_stored(source.as_fd());
        let mut read_error = None;
        let ending = loop {
            if let Some(ending) = self.bound_reached() {
                // In a pause, what was sent lies in the pipe still.
                if ending == Ending::Interrupted || self.is_held() {
                    self.drain(source.as_fd());
                }
                break ending;
            }
            if self.cut_if_wished() {
                continue;
            }
            if self.is_held() {
                self.rest();
                continue;
            }
            if !self.wait_readable(source.as_fd()) || self.is_held() {
                self.commit_if_old();
                continue;
            }
            match self.read_some(source.as_fd(), READ_BYTES_MAX) {
                Ok(0) => break Ending::Source,
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => self.show_taken(),
                Err(errno) => {
                    read_error = Some(errno);
                    break Ending::Error;
                }
            }
            self.commit_if_old();
        };
        self.finish(ending, read_error)
    }

    fn filled_bytes(&self) -> u64 {
        self.filling
            .as_ref()
            .map_or(0, |filling| filling.payload_bytes() as u64)
    }

    /// Shows how far the source has come, with what is not handed over yet.
    fn show_taken(&self) {
        let kept_bytes = self.filled_bytes() + self.undecided.len() as u64;
        self.writer.show_taken(kept_bytes);
    }

    fn bound_reached(&self) -> Option<Ending> {
        if self.writer.is_closed() {
            return Some(Ending::Full);
        }
        if let Some(reason) = self.setup.stop.reason() {
            return Some(reason);
        }
        if self.within_bound(1) == 0 {
            return Some(Ending::Bytes);
        }
        let now = self.writer.clock().now();
        let is_over = self.setup.deadline.is_some_and(|deadline| now >= deadline);
        is_over.then_some(Ending::Time)
    }

    /// How many of `count` bytes still belong to the stream.
    fn within_bound(&self, count: usize) -> usize {
        let come = self.writer.offered_bytes() + self.filled_bytes() + self.undecided.len() as u64;
        let left = self.setup.bytes_max.map(|most| most.saturating_sub(come));
        left.map_or(count, |left| {
            count.min(left.min(usize::MAX as u64) as usize)
        })
    }

    /// Waits until the source has something, but no longer than the open append may get old.
    fn wait_readable(&self, source: BorrowedFd<'_>) -> bool {
        let mut wait_ns = LOOK_NS;
        if self.filled_bytes() > 0 {
            let age_ns = self.writer.clock().now().since_ns(self.filling_since);
            wait_ns = wait_ns.min(self.setup.linger_ns.saturating_sub(age_ns));
        }
        let timeout = Timespec::try_from(Duration::from_nanos(wait_ns)).ok();
        let mut polled = [PollFd::new(&source, PollFlags::IN)];
        // A source that cannot be polled (a plain file) is always ready; an error will show when it
        // is read.
        !matches!(
            poll(&mut polled, timeout.as_ref()),
            Ok(0) | Err(Errno::INTR)
        )
    }

    /// Takes what lies in a pipe when the user ends the recording, because the writer of the pipe
    /// counts it as sent. What comes later does not count, so that a source that never stops ends
    /// here, too. Another reader of the pipe may have taken it before, so this never waits for
    /// more.
    fn drain(&mut self, source: BorrowedFd<'_>) {
        self.begin_last_wait();
        let is_pipe = fstat(source)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Fifo);
        let mut left = if is_pipe {
            ioctl_fionread(source).unwrap_or(0) as usize
        } else {
            0
        };
        while left > 0
            && !self.writer.is_closed()
            && self.within_bound(1) > 0
            && is_readable_now(source)
        {
            // The streams that have cut hold the memory until all have.
            self.cut_if_wished();
            match self.read_some(source, left.min(READ_BYTES_MAX)) {
                Ok(0) => return,
                Ok(count) => left = left.saturating_sub(count),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return,
            }
        }
    }

    /// Reads once, at most so much, into the open append or, without memory, into the scratch
    /// memory. Returns 0 at the end of the source.
    fn read_some(&mut self, source: BorrowedFd<'_>, at_most: usize) -> Result<usize, Errno> {
        self.commit_if_narrow();
        let at_most = self.read_bytes_max(at_most);
        let kept = self.undecided.len();
        match self.room_to_read() {
            IntakeSpace::Ready => {}
            IntakeSpace::Over => return Err(Errno::AGAIN),
            IntakeSpace::Lost(reason) => {
                let most = self.within_bound(at_most);
                self.scratch.resize(kept + most, 0);
                let count = read(source, &mut self.scratch[kept..])?;
                self.lose(kept + count, reason);
                return Ok(count);
            }
        }
        let most = self.within_bound(at_most);
        let Some(filling) = &mut self.filling else {
            return Ok(1);
        };
        let spare = filling.spare_mut();
        let end = spare.len().min(kept + most);
        let fits = end - kept;
        let mut over = [0; PACKET_BYTES_MAX];
        let over_bytes = match self.is_framed {
            true => 0,
            false => PACKET_BYTES_MAX.min(most).saturating_sub(fits),
        };
        let (here, over_here) = (&mut spare[kept..end], &mut over[..over_bytes]);
        let count = readv(
            source,
            &mut [IoSliceMut::new(here), IoSliceMut::new(over_here)],
        )?;
        spare[..kept].copy_from_slice(&self.undecided);
        if count > 0 {
            self.take(kept + count.min(fits));
        }
        self.take_over(&over[..count.saturating_sub(fits)]);
        Ok(count)
    }

    /// Takes what was read beyond the end of a full append. It begins the next one.
    fn take_over(&mut self, over: &[u8]) {
        if over.is_empty() {
            return;
        }
        if self.has_filling()
            && let Some(filling) = &mut self.filling
        {
            filling.spare_mut()[..over.len()].copy_from_slice(over);
        }
        self.enter(over.len(), &[]);
    }

    /// Closes an append that may be too full for a packet behind the undecided bytes. Without
    /// frames a packet may go on in the next append.
    fn commit_if_narrow(&mut self) {
        if !self.is_framed {
            return;
        }
        let wanted = self.undecided.len() + PACKET_BYTES_MAX;
        let is_narrow =
            |filling: &mut Filling| !filling.is_empty() && filling.room_bytes() < wanted;
        if let Some(filling) = self.filling.take_if(is_narrow) {
            self.writer.commit(filling);
        }
    }

    /// Whether there is memory for the next read. A source that may wait is left waiting for it,
    /// but no longer than until its stream is to end.
    fn room_to_read(&mut self) -> IntakeSpace {
        if self.loses_in_pause() {
            return IntakeSpace::Lost(GapReason::Paused);
        }
        while !self.has_filling_within(LOOK_NS) {
            if self.setup.on_full == OnFull::Drop || self.writer.is_closed() {
                return IntakeSpace::Lost(self.reason_of_loss());
            }
            if self.last_wait_until.is_none() && self.bound_reached().is_some() {
                return IntakeSpace::Over;
            }
            // What the other streams hold for the next recording may be all the memory there is.
            if self.is_cut_due() {
                return IntakeSpace::Over;
            }
            if self.is_last_wait_over() {
                return IntakeSpace::Lost(self.reason_of_loss());
            }
        }
        IntakeSpace::Ready
    }

    /// Whether there is memory for what has been read. Waits for it if the source may wait.
    fn has_filling(&mut self) -> bool {
        while !self.has_filling_within(LOOK_NS) {
            if self.setup.on_full == OnFull::Drop || self.writer.is_closed() {
                return false;
            }
            if self.bound_reached().is_some() {
                self.begin_last_wait();
            }
            if self.is_last_wait_over() {
                return false;
            }
            if self.is_cut_due() {
                if self.cuts.is_synthetic {
                    return false;
                }
                self.cut();
            }
        }
        true
    }

    /// From now on the stream is to end, and memory is waited for only up to a bound.
    fn begin_last_wait(&mut self) {
        let now = self.writer.clock().now();
        self.last_wait_until
            .get_or_insert(now + self.setup.last_wait_ns);
    }

    fn is_last_wait_over(&self) -> bool {
        let now = self.writer.clock().now();
        self.last_wait_until.is_some_and(|until| now >= until)
    }

    /// Whether there is memory to fill. A source that may wait is left waiting for it, at most this
    /// long.
    fn has_filling_within(&mut self, wait_ns: u64) -> bool {
        if self.filling.is_none() {
            self.filling = match self.setup.on_full {
                OnFull::Block => self.writer.lend_within(Duration::from_nanos(wait_ns)),
                OnFull::Drop => self.writer.try_lend(),
            };
            self.filling_since = self.writer.clock().now();
        }
        self.filling.is_some()
    }

    /// Closes an append that has waited long enough for more.
    fn commit_if_old(&mut self) {
        let Some(filling) = self.filling.take() else {
            return;
        };
        let age_ns = self.writer.clock().now().since_ns(self.filling_since);
        if !filling.is_empty() && age_ns >= self.setup.linger_ns {
            self.writer.commit(filling);
        } else {
            self.filling = Some(filling);
        }
    }

    fn finish(mut self, ending: Ending, read_error: Option<Errno>) -> Taken {
        self.begin_last_wait();
        let rest = std::mem::take(&mut self.undecided);
        if !rest.is_empty() && self.has_filling() {
            if let Some(filling) = &mut self.filling {
                filling.spare_mut()[..rest.len()].copy_from_slice(&rest);
            }
            self.enter(rest.len(), &[]);
        } else {
            self.writer
                .skip(rest.len() as u64, 0, self.reason_of_loss());
        }
        if let Some(filling) = self.filling.take() {
            self.writer.commit(filling);
        }
        let offered_bytes = self.writer.offered_in_all_bytes();
        self.writer.finish(ending);
        Taken {
            ending,
            offered_bytes,
            cuts: self.cuts.count,
            read_error,
            framing_error: self.framing_error,
        }
    }
}

/// Whether a source is a file or a disk, which nobody is writing to a pipe.
fn is_stored(source: BorrowedFd<'_>) -> bool {
    fstat(source).is_ok_and(|found| {
        let kind = FileType::from_raw_mode(found.st_mode);
        matches!(kind, FileType::RegularFile | FileType::BlockDevice)
    })
}

/// Whether a read returns something, or the end, without waiting.
pub(crate) fn is_readable_now(source: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(&source, PollFlags::IN)];
    loop {
        match poll(&mut polled, Some(&Timespec::default())) {
            Err(Errno::INTR) => {}
            answer => return answer.is_ok_and(|ready| ready > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_somebody_else_has_emptied_is_not_read() {
        let (source, sink) = rustix::pipe::pipe().unwrap();
        assert!(!is_readable_now(source.as_fd()));
        assert_eq!(rustix::io::write(&sink, &[7; 4096]), Ok(4096));
        assert!(is_readable_now(source.as_fd()));
        assert_eq!(read(&source, &mut [0; 4096]), Ok(4096));
        assert!(!is_readable_now(source.as_fd()));
        drop(sink);
        assert!(is_readable_now(source.as_fd()), "its end can be read");
    }
}
