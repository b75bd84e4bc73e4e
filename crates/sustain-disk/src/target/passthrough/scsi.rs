//! A SATA or SCSI disk that takes commands by SG_IO, on the very descriptor of its block device
//! that passed the guard. So no other device has to be found and told to be the same, and the claim
//! lasts as long as a command may be in flight.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sustain_document::setting::PATH;

use super::{CacheKept, ScsiFacts, block_device_of};
use crate::error::{Error, IoFault, ScsiFault};
use crate::scsi::answer::ScsiAnswer;
use crate::scsi::{CAPACITY_BYTES, DiskBlocks, IOCTL_SG_IO, SENSE_BYTES, ScsiCommand, SgHeader};
use crate::target::{Direction, Target};

/// How long the kernel waits for a command before it resets the disk.
const TIMEOUT_MS: u32 = 60_000;
/// A cache of many megabytes is flushed at the pace of a disk that has to seek; the kernel gives a
/// flush twice the time, too.
const FLUSH_TIMEOUT_MS: u32 = 120_000;
/// How often a command is sent that the block layer would send again, too.
const TRIES_MAX: u32 = 5;

/// A SATA or SCSI disk, open for commands.
#[derive(Debug)]
pub struct ScsiDisk {
    /// The descriptor that passed the guard. As long as this value lives, the block device is
    /// claimed if it was opened for writing.
    block_device: Arc<OwnedFd>,
    facts: ScsiFacts,
    /// Blocks of the disk.
    count: u64,
    /// Whether memory was found to lie in more pieces than a command of the largest size may have.
    is_scattered: AtomicBool,
    /// Whether the disk said since the last flush that it was reset or had lost power. What it had
    /// taken into a volatile cache before may be gone, and the next flush would not tell.
    was_reset: AtomicBool,
    may_write: bool,
    _cache: CacheKept,
}

impl ScsiDisk {
    /// Asks the disk that `target` is for its size by the first command, which tells whether the
    /// kernel lets this process.
    ///
    /// # Errors
    /// [`Error::Target`] if it is not a block device, if it describes itself otherwise than the
    /// kernel does, or if the kernel takes no commands, saying what to do.
    pub fn open(
        target: &Target,
        facts: ScsiFacts,
        direction: Direction,
    ) -> Result<ScsiDisk, Error> {
        let block_device = block_device_of(target)?;
        let mut disk = ScsiDisk {
            block_device: Arc::clone(block_device),
            count: 0,
            facts: ScsiFacts {
                command_bytes_max: facts.command_bytes_max.min(u64::from(u32::MAX)),
                ..facts
            },
            is_scattered: AtomicBool::new(false),
            was_reset: AtomicBool::new(false),
            may_write: direction == Direction::Write,
            _cache: CacheKept::of(target, block_device, direction)?,
        };
        let blocks = disk
            .blocks()
            .map_err(|why| Error::target(&target.name, why))?;
        disk.count = blocks.count;
        // What was before is not ours.
        disk.was_reset = AtomicBool::new(false);
        match check_blocks(blocks, facts.block_bytes, target.capacity_bytes) {
            Ok(()) => Ok(disk),
            Err(why) => Err(Error::target(&target.name, why)),
        }
    }

    /// Bytes of a block: offsets and lengths are multiples of it.
    pub fn block_bytes(&self) -> u64 {
        self.facts.block_bytes
    }

    /// Bytes that one command moves at most. They become fewer once memory was found to be
    /// scattered.
    pub fn command_bytes_max(&self) -> u64 {
        if self.is_scattered.load(Ordering::Relaxed) {
            self.facts.scattered_bytes_max
        } else {
            self.facts.command_bytes_max
        }
    }

    /// Takes it that memory is scattered, if a command of this length, which the kernel did not
    /// take, may have failed for that. Buffers lie in huge pages where the system has them, so it
    /// is found out by trying: the fewer commands, the less CPU time.
    pub(crate) fn takes_as_scattered(&self, length: u64) -> bool {
        let may_be = length > self.facts.scattered_bytes_max;
        self.is_scattered.fetch_or(may_be, Ordering::Relaxed);
        may_be
    }

    /// Whether it was opened for writing, with the guard's permission.
    pub(crate) fn may_write(&self) -> bool {
        self.may_write
    }

    /// Whether a durable write has to be followed by a flush. Otherwise it is forced by itself, or
    /// there is nothing volatile.
    pub(crate) fn flushes_after_durable(&self) -> bool {
        self.facts.is_cache_volatile && !self.facts.can_force
    }

    /// Makes what was written before durable. A disk that says that it has no volatile cache is not
    /// asked, as the block layer does not ask it: some do not know the command.
    pub(crate) fn flush(&self) -> Result<(), IoFault> {
        if !self.facts.is_cache_volatile {
            return Ok(());
        }
        // SAFETY: a flush has no memory.
        unsafe { self.send(&ScsiCommand::flush(), &[], FLUSH_TIMEOUT_MS) }?;
        self.require_no_reset()
    }

    /// Fails once after the disk has said that it was reset.
    fn require_no_reset(&self) -> Result<(), IoFault> {
        match self.was_reset.swap(false, Ordering::Relaxed) {
            true => Err(IoFault::Scsi(ScsiFault::Reset)),
            false => Ok(()),
        }
    }

    fn note_reset(&self, fault: ScsiFault) {
        let is_reset = matches!(fault, ScsiFault::Sense(sense) if sense.tells_of_reset());
        self.was_reset.fetch_or(is_reset, Ordering::Relaxed);
    }

    /// Reads whole blocks from `offset_bytes` on.
    ///
    /// # Safety
    /// The list describes memory that the kernel may write to, and nobody else touches, until this
    /// returns.
    pub(crate) unsafe fn read(
        &self,
        offset_bytes: u64,
        iovecs: &[libc::iovec],
    ) -> Result<(), IoFault> {
        let (first, count) = self.blocks_of(offset_bytes, iovecs)?;
        // SAFETY: as above.
        unsafe { self.send(&ScsiCommand::read(first, count), iovecs, TIMEOUT_MS) }
    }

    /// Writes whole blocks from `offset_bytes` on; `is_durable` forces them to the medium if the
    /// disk can do that.
    ///
    /// # Safety
    /// The list describes memory that the kernel may read, and nobody changes, until this returns.
    pub(crate) unsafe fn write(
        &self,
        offset_bytes: u64,
        iovecs: &[libc::iovec],
        is_durable: bool,
    ) -> Result<(), IoFault> {
        assert!(self.may_write, "the guard has permitted that it is written");
        let (first, count) = self.blocks_of(offset_bytes, iovecs)?;
        let is_forced = is_durable && self.facts.is_cache_volatile && self.facts.can_force;
        let command = ScsiCommand::write(first, count, is_forced);
        // SAFETY: as above.
        unsafe { self.send(&command, iovecs, TIMEOUT_MS) }
    }

    /// The first block and the number of blocks. No blocks at all would be no error of the disk's.
    fn blocks_of(&self, offset_bytes: u64, iovecs: &[libc::iovec]) -> Result<(u64, u32), IoFault> {
        let length = bytes_of(iovecs);
        let block = self.facts.block_bytes;
        let is_whole = offset_bytes.is_multiple_of(block) && length.is_multiple_of(block);
        let count = u32::try_from(length / block).ok();
        let Some(count) = count.filter(|count| *count > 0 && is_whole) else {
            return Err(IoFault::Kernel(libc::EINVAL));
        };
        let first = offset_bytes / block;
        if first + u64::from(count) > self.count {
            return Err(IoFault::Scsi(ScsiFault::Beyond));
        }
        Ok((first, count))
    }

    fn blocks(&self) -> Result<DiskBlocks, String> {
        let mut answer = [0_u8; CAPACITY_BYTES];
        let whole = libc::iovec {
            iov_base: answer.as_mut_ptr().cast(),
            iov_len: CAPACITY_BYTES,
        };
        // SAFETY: the answer is memory of this function, which waits for the command.
        unsafe { self.send(&ScsiCommand::read_capacity(), &[whole], TIMEOUT_MS) }
            .map_err(no_description)?;
        DiskBlocks::parse(&answer)
            .ok_or_else(|| "the disk describes itself in a way that cannot be right".to_owned())
    }

    /// Sends a command until the disk has done it, or has failed for good.
    ///
    /// # Safety
    /// The list describes memory that may be used, as the command uses it, until this returns.
    unsafe fn send(
        &self,
        command: &ScsiCommand,
        iovecs: &[libc::iovec],
        timeout_ms: u32,
    ) -> Result<(), IoFault> {
        let data_bytes = u32::try_from(bytes_of(iovecs)).expect("less than a command may move");
        let mut tries = 0;
        loop {
            tries += 1;
            let mut sense = [0; SENSE_BYTES];
            let mut header = SgHeader::new(command, iovecs, data_bytes, &mut sense, timeout_ms);
            let file = self.block_device.as_raw_fd();
            // SAFETY: the header is the structure that this request takes. It, the command and the
            // sense data live until the call returns, and the caller answers for the memory in the
            // list. The kernel waits, without being interrupted, until the disk or its driver is
            // done with all of them.
            let result = unsafe { libc::ioctl(file, IOCTL_SG_IO as _, &raw mut header) };
            if result < 0 {
                let errno = std::io::Error::last_os_error().raw_os_error();
                match errno.unwrap_or(libc::EIO) {
                    libc::EINTR | libc::EAGAIN if tries < TRIES_MAX => continue,
                    errno => return Err(IoFault::Kernel(errno)),
                }
            }
            match ScsiAnswer::of(&header, &sense) {
                ScsiAnswer::Done => return Ok(()),
                ScsiAnswer::Again(fault) if tries < TRIES_MAX => self.note_reset(fault),
                ScsiAnswer::Again(fault) | ScsiAnswer::Failed(fault) => {
                    return Err(IoFault::Scsi(fault));
                }
            }
        }
    }
}

fn bytes_of(iovecs: &[libc::iovec]) -> u64 {
    iovecs.iter().map(|iovec| iovec.iov_len as u64).sum()
}

fn no_description(fault: IoFault) -> String {
    let direct = PATH.to("direct");
    match fault.of_kernel() {
        Some(libc::EACCES | libc::EPERM) => format!(
            "the kernel takes no commands to it from this process: run as root, or use {direct}"
        ),
        Some(libc::ENOTTY | libc::EINVAL | libc::EOPNOTSUPP) => {
            format!("its driver takes no SCSI commands (SG_IO): use {direct}")
        }
        _ => format!("the disk does not describe itself: {fault}; use {direct}"),
    }
}

fn check_blocks(
    blocks: DiskBlocks,
    block_bytes: u64,
    capacity_bytes: Option<u64>,
) -> Result<(), String> {
    let direct = PATH.to("direct");
    if blocks.bytes != block_bytes {
        return Err(format!(
            "the disk says that its blocks have {} bytes, and the kernel that they have \
             {block_bytes}: use {direct}",
            blocks.bytes
        ));
    }
    let disk_bytes = blocks.count.saturating_mul(blocks.bytes);
    if capacity_bytes.is_some_and(|bytes| bytes > disk_bytes) {
        return Err(format!(
            "the disk says that it has {disk_bytes} bytes, less than its block device: use {direct}"
        ));
    }
    Ok(())
}

#[cfg(test)]
impl ScsiDisk {
    /// A file in place of a disk: the kernel takes no commands to it, so each fails.
    pub(crate) fn over_file(facts: ScsiFacts, may_write: bool) -> ScsiDisk {
        let block_device: Arc<OwnedFd> = Arc::new(tempfile::tempfile().unwrap().into());
        ScsiDisk {
            _cache: CacheKept {
                block_device: Arc::clone(&block_device),
                may_write: false,
            },
            block_device,
            count: (1 << 30) / facts.block_bytes,
            facts,
            is_scattered: AtomicBool::new(false),
            was_reset: AtomicBool::new(false),
            may_write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scsi::fault::Sense;
    use crate::target::TargetKind;

    const FACTS: ScsiFacts = ScsiFacts {
        command_bytes_max: 1 << 19,
        scattered_bytes_max: 1 << 18,
        block_bytes: 512,
        is_cache_volatile: true,
        can_force: false,
    };

    #[test]
    fn what_takes_no_commands_is_refused() {
        let refused = |kind| {
            let target = Target {
                name: "disk".to_owned(),
                kind,
                file: Some(Arc::new(tempfile::tempfile().unwrap().into())),
                capacity_bytes: Some(1 << 20),
                alignment_bytes: 512,
                device: None,
                lock: None,
            };
            ScsiDisk::open(&target, FACTS, Direction::Write)
                .unwrap_err()
                .to_string()
        };
        assert!(refused(TargetKind::File).contains("not a block device"));
        let no_commands = refused(TargetKind::BlockDevice);
        assert!(
            no_commands.contains("takes no SCSI commands"),
            "{no_commands}"
        );
    }

    #[test]
    fn the_first_flush_behind_a_reset_fails() {
        let disk = ScsiDisk::over_file(FACTS, true);
        let attention = |code| {
            let sense = [0x70, 0, 6, 0, 0, 0, 0, 10, 0, 0, 0, 0, code, 0, 0, 0, 0, 0];
            ScsiFault::Sense(Sense::parse(&sense).unwrap())
        };
        // The capacity has changed, say.
        disk.note_reset(attention(0x2a));
        assert_eq!(disk.require_no_reset(), Ok(()));
        disk.note_reset(attention(0x29));
        disk.note_reset(attention(0x2a));
        let reset = Err(IoFault::Scsi(ScsiFault::Reset));
        assert_eq!(disk.require_no_reset(), reset);
        assert_eq!(disk.require_no_reset(), Ok(()));
    }

    #[test]
    fn a_disk_must_be_what_the_kernel_takes_it_for() {
        let blocks = DiskBlocks {
            count: 2048,
            bytes: 512,
        };
        check_blocks(blocks, 512, Some(1 << 20)).unwrap();
        let other = check_blocks(blocks, 4096, Some(1 << 20)).unwrap_err();
        assert!(other.contains("512 bytes"), "{other}");
        let smaller = check_blocks(blocks, 512, Some((1 << 20) + 512)).unwrap_err();
        assert!(smaller.contains("less than its block device"), "{smaller}");
    }

    #[test]
    fn a_durable_write_is_forced_or_flushed_or_neither() {
        let disk = |is_cache_volatile, can_force| {
            let facts = ScsiFacts {
                is_cache_volatile,
                can_force,
                ..FACTS
            };
            ScsiDisk::over_file(facts, false)
        };
        assert!(disk(true, false).flushes_after_durable());
        assert!(!disk(true, true).flushes_after_durable());
        assert!(!disk(false, false).flushes_after_durable());
        disk(false, false).flush().unwrap();
        assert!(
            disk(true, true).flush().is_err(),
            "a file takes no commands"
        );
    }

    #[test]
    fn commands_are_smaller_once_memory_was_found_to_be_scattered() {
        let disk = ScsiDisk::over_file(FACTS, false);
        assert!(
            !disk.takes_as_scattered(1 << 18),
            "it fits, however it lies"
        );
        assert_eq!(disk.command_bytes_max(), 1 << 19);
        assert!(disk.takes_as_scattered((1 << 18) + 512));
        assert_eq!(disk.command_bytes_max(), 1 << 18);
    }

    #[test]
    fn only_whole_blocks_are_moved() {
        let disk = ScsiDisk::over_file(FACTS, false);
        let memory = |length| libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: length,
        };
        let blocks = |offset, lengths: &[usize]| {
            let list: Vec<_> = lengths.iter().map(|length| memory(*length)).collect();
            disk.blocks_of(offset, &list).ok()
        };
        assert_eq!(blocks(1024, &[512, 1024]), Some((2, 3)));
        assert_eq!(blocks(1024, &[100, 412]), Some((2, 1)));
        assert_eq!(blocks(1000, &[512]), None);
        assert_eq!(blocks(1024, &[511]), None);
        assert_eq!(blocks(1024, &[]), None);
        let last = (1 << 30) - 512;
        assert_eq!(blocks(last, &[512]), Some((last / 512, 1)));
        assert_eq!(blocks(last, &[1024]), None, "the disk has no more");
    }
}
