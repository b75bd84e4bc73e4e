//! The progress of one request, which all engines share: how far it has come, and when it is done.

use std::os::fd::{AsRawFd, BorrowedFd};

use super::{Completion, Operation, Request, Vectors};
use crate::clock::Timestamp;
use crate::error::IoFault;

/// A request that the engine owns.
#[derive(Debug)]
pub(super) struct EngineTransfer {
    pub(super) request: Request,
    pub(super) submitted_at: Timestamp,
    /// Bytes moved so far.
    pub(super) done_bytes: u64,
    length_bytes: u64,
    /// How often in a row the kernel had no space for it.
    refusals: u32,
    /// Addresses for the kernel; must stay where they are until the call completes.
    pub(super) iovecs: Vec<libc::iovec>,
}

// SAFETY: the addresses in `iovecs` point into buffers that `request` owns and that move with it.
unsafe impl Send for EngineTransfer {}

/// A kernel that had no space for a request this often will not have it soon: the caller may be
/// waiting, and would otherwise never be told.
const REFUSALS_MAX: u32 = 100;

/// The next step after a result of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferStep {
    /// The request is done, in full or to the end of the device.
    Done,
    /// The rest must be asked for again.
    Again,
    /// The request failed.
    Failed(IoFault),
}

impl EngineTransfer {
    pub(super) fn new(request: Request, submitted_at: Timestamp) -> EngineTransfer {
        request.assert_memory_fits();
        let length_bytes = request.vectors.len_bytes();
        EngineTransfer {
            request,
            submitted_at,
            done_bytes: 0,
            length_bytes,
            refusals: 0,
            iovecs: Vec::new(),
        }
    }

    /// Where the rest begins on the target.
    pub(super) fn offset_bytes(&self) -> u64 {
        self.request.offset_bytes + self.done_bytes
    }

    /// Bytes that are left.
    pub(super) fn left_bytes(&self) -> u64 {
        self.length_bytes - self.done_bytes
    }

    /// Takes the kernel's result: bytes moved, or a negative error number.
    pub(super) fn advance(&mut self, result: i64) -> TransferStep {
        if result < 0 {
            return match -result as i32 {
                libc::EINTR => TransferStep::Again,
                libc::EAGAIN if self.refusals < REFUSALS_MAX => {
                    self.refusals += 1;
                    TransferStep::Again
                }
                errno => TransferStep::Failed(IoFault::Kernel(errno)),
            };
        }
        if self.request.operation == Operation::Flush {
            return TransferStep::Done;
        }
        self.done_bytes += result as u64;
        self.refusals = 0;
        assert!(
            self.done_bytes <= self.length_bytes,
            "the kernel moved no more than asked"
        );
        if self.left_bytes() == 0 {
            return TransferStep::Done;
        }
        match self.request.operation {
            // Nothing more to read, or a file's ragged end, where direct I/O could not go on.
            Operation::Read if result == 0 || !self.done_bytes.is_multiple_of(512) => {
                TransferStep::Done
            }
            Operation::Write if result == 0 => TransferStep::Failed(IoFault::Kernel(libc::ENOSPC)),
            _ => TransferStep::Again,
        }
    }

    /// Rewrites `iovecs` to what is left.
    pub(super) fn prepare_iovecs(&mut self) {
        self.iovecs.clear();
        let mut skip = self.done_bytes as usize;
        for vector in self.request.vectors.as_slice() {
            if skip >= vector.len() {
                skip -= vector.len();
                continue;
            }
            self.iovecs.push(libc::iovec {
                // SAFETY: skip < len, so the address lies within the vector.
                iov_base: unsafe { vector.address().add(skip) }.cast(),
                iov_len: vector.len() - skip,
            });
            skip = 0;
        }
    }

    /// Address and length of the rest if it is one stretch.
    pub(super) fn single(&self) -> Option<(*mut u8, usize)> {
        match &self.request.vectors {
            Vectors::One(vector) => {
                let done = self.done_bytes as usize;
                // SAFETY: done_bytes <= length, so the address is in the vector or just behind it.
                Some((unsafe { vector.address().add(done) }, vector.len() - done))
            }
            _ => None,
        }
    }

    pub(super) fn complete(self, completed_at: Timestamp, error: Option<IoFault>) -> Completion {
        Completion {
            request: self.request,
            submitted_at: self.submitted_at,
            completed_at,
            bytes: self.done_bytes,
            error,
        }
    }

    /// Runs the request to its end in the calling thread.
    pub(super) fn run_blocking(&mut self, file: BorrowedFd<'_>) -> Option<IoFault> {
        loop {
            let result = self.call(file);
            match self.advance(result) {
                TransferStep::Done => return None,
                TransferStep::Failed(errno) => return Some(errno),
                TransferStep::Again => {}
            }
        }
    }

    /// Makes one system call for the rest; returns its result as io_uring would report it.
    fn call(&mut self, file: BorrowedFd<'_>) -> i64 {
        if self.request.operation == Operation::Flush {
            return match rustix::fs::fdatasync(file) {
                Ok(()) => 0,
                Err(errno) => -i64::from(errno.raw_os_error()),
            };
        }
        self.prepare_iovecs();
        let (fd, count) = (file.as_raw_fd(), self.iovecs.len() as libc::c_int);
        let (iovecs, offset) = (self.iovecs.as_ptr(), self.offset_bytes() as libc::off_t);
        let moved = if self.request.operation == Operation::Read {
            // SAFETY: the iovecs describe live memory that this request alone owns.
            unsafe { libc::preadv2(fd, iovecs, count, offset, 0) }
        } else {
            let flags = if self.request.durable {
                libc::RWF_DSYNC
            } else {
                0
            };
            // SAFETY: as above; the kernel only reads.
            unsafe { libc::pwritev2(fd, iovecs, count, offset, flags) }
        };
        if moved >= 0 {
            moved as i64
        } else {
            -i64::from(
                std::io::Error::last_os_error()
                    .raw_os_error()
                    .unwrap_or(libc::EIO),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BufferPool;
    use crate::engine::Vector;

    fn transfer(operation: Operation, lengths: &[usize]) -> EngineTransfer {
        let mut pool = BufferPool::new(lengths.len(), 4096).unwrap();
        let vectors = lengths
            .iter()
            .map(|len| Vector::new(pool.take().unwrap(), 0, *len))
            .collect();
        let vectors = Vectors::Many(vectors);
        let request = Request {
            operation,
            vectors,
            ..Request::flush(0)
        };
        EngineTransfer::new(request, Timestamp(0))
    }

    #[test]
    fn a_short_write_goes_on_where_it_stopped() {
        let mut write = transfer(Operation::Write, &[1024, 2048]);
        assert_eq!(write.advance(1536), TransferStep::Again);
        assert_eq!((write.offset_bytes(), write.left_bytes()), (1536, 1536));
        write.prepare_iovecs();
        assert_eq!(write.iovecs.len(), 1, "the first vector is through");
        assert_eq!(write.iovecs[0].iov_len, 1536);
        assert_eq!(write.advance(1536), TransferStep::Done);
    }

    #[test]
    fn the_end_of_a_device_ends_a_read_and_fails_a_write() {
        let mut read = transfer(Operation::Read, &[2048]);
        assert_eq!(read.advance(1024), TransferStep::Again);
        assert_eq!(read.advance(0), TransferStep::Done);
        assert_eq!(read.done_bytes, 1024);
        let mut write = transfer(Operation::Write, &[2048]);
        assert_eq!(
            write.advance(0),
            TransferStep::Failed(IoFault::Kernel(libc::ENOSPC))
        );
    }

    #[test]
    fn interruptions_are_tried_again_and_errors_are_not() {
        let mut read = transfer(Operation::Read, &[2048]);
        assert_eq!(read.advance(-i64::from(libc::EINTR)), TransferStep::Again);
        assert_eq!(
            read.advance(-i64::from(libc::EIO)),
            TransferStep::Failed(IoFault::Kernel(libc::EIO))
        );
    }

    #[test]
    fn a_kernel_without_room_is_asked_again_but_not_for_ever() {
        let mut write = transfer(Operation::Write, &[2048]);
        let refused = -i64::from(libc::EAGAIN);
        let mut asked = 0;
        while write.advance(refused) == TransferStep::Again {
            asked += 1;
        }
        assert_eq!(asked, REFUSALS_MAX);
        assert_eq!(
            write.advance(refused),
            TransferStep::Failed(IoFault::Kernel(libc::EAGAIN))
        );
    }
}
