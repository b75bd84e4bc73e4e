//! The data structures of SCSI commands as Linux takes them on the descriptor of a block device
//! (SG_IO, scsi/sg.h), a disk's description of itself, and what it answers. SATA disks take the
//! same commands, because the kernel translates them (libata). Passthrough and its engine use them;
//! nothing is touched here.

pub(crate) mod answer;
pub(crate) mod fault;
mod words;

use std::ffi::{c_int, c_uint, c_void};

/// `SG_IO`: one command to the disk, waited for.
pub(crate) const IOCTL_SG_IO: libc::c_ulong = 0x2285;
/// Bytes of the answer to READ CAPACITY(16).
pub(crate) const CAPACITY_BYTES: usize = 32;
/// Bytes that are kept of what a disk says about a command that failed (SPC-4, 4.5.1: at most 252).
pub(crate) const SENSE_BYTES: usize = 252;

/// Says to the kernel that this is the third version of the structure.
const INTERFACE: c_int = b'S' as c_int;
const DIRECTION_NONE: c_int = -1;
const DIRECTION_WRITE: c_int = -2;
const DIRECTION_READ: c_int = -3;

const OPCODE_SYNCHRONIZE_CACHE: u8 = 0x35;
const OPCODE_READ: u8 = 0x88;
const OPCODE_WRITE: u8 = 0x8a;
const OPCODE_SERVICE_ACTION_IN: u8 = 0x9e;
const ACTION_READ_CAPACITY: u8 = 0x10;
/// In the second byte of a write: complete only when it is on the medium.
const FORCE_UNIT_ACCESS: u8 = 1 << 3;

/// `struct sg_io_hdr`: one command, and what came of it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct SgHeader {
    interface: c_int,
    direction: c_int,
    command_bytes: u8,
    sense_bytes_max: u8,
    /// Entries of the list at `data`; 0 if `data` is the memory itself.
    iovecs: u16,
    data_bytes: c_uint,
    data: *mut c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: c_uint,
    flags: c_uint,
    pack: c_int,
    user: *mut c_void,
    /// What the disk answered.
    pub(crate) status: u8,
    masked_status: u8,
    message_status: u8,
    /// Bytes that were written to `sense`.
    pub(crate) sense_bytes: u8,
    /// What the adapter's driver says of the command.
    pub(crate) host_status: u16,
    /// What the kernel's own SCSI layer says of it.
    pub(crate) driver_status: u16,
    /// Bytes that were not moved.
    pub(crate) left_bytes: c_int,
    duration_ms: c_uint,
    info: c_uint,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<SgHeader>() == 88, "struct sg_io_hdr has 88 bytes");
#[cfg(target_pointer_width = "32")]
const _: () = assert!(size_of::<SgHeader>() == 64, "struct sg_io_hdr has 64 bytes");
// The list of memory is `struct sg_iovec`, which is the C library's.
const _: () = assert!(size_of::<libc::iovec>() == size_of::<*mut c_void>() + size_of::<usize>());

/// A command without its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScsiCommand {
    bytes: [u8; 16],
    length: u8,
    direction: c_int,
}

impl ScsiCommand {
    /// Reads `blocks` blocks: READ(16), SBC-3, 5.13.
    pub(crate) fn read(first_block: u64, blocks: u32) -> ScsiCommand {
        ScsiCommand::transfer(OPCODE_READ, DIRECTION_READ, first_block, blocks)
    }

    /// Writes `blocks` blocks: WRITE(16), SBC-3, 5.34. With `forced` it completes only when they
    /// are on the medium.
    pub(crate) fn write(first_block: u64, blocks: u32, forced: bool) -> ScsiCommand {
        let mut command = ScsiCommand::transfer(OPCODE_WRITE, DIRECTION_WRITE, first_block, blocks);
        if forced {
            command.bytes[1] |= FORCE_UNIT_ACCESS;
        }
        command
    }

    #[allow(clippy::big_endian_bytes, reason = "SCSI counts so; never stored")]
    fn transfer(opcode: u8, direction: c_int, first_block: u64, blocks: u32) -> ScsiCommand {
        let mut bytes = [0; 16];
        bytes[0] = opcode;
        bytes[2..10].copy_from_slice(&first_block.to_be_bytes());
        bytes[10..14].copy_from_slice(&blocks.to_be_bytes());
        ScsiCommand {
            bytes,
            length: 16,
            direction,
        }
    }

    /// Makes what was written before durable: SYNCHRONIZE CACHE(10) of block 0 and all that follow
    /// (SBC-3, 5.24), whatever the size of the disk. The kernel sends this one, too: disks know it
    /// that do not know the longer one, and a process that is not root may send it.
    pub(crate) fn flush() -> ScsiCommand {
        let mut bytes = [0; 16];
        bytes[0] = OPCODE_SYNCHRONIZE_CACHE;
        ScsiCommand {
            bytes,
            length: 10,
            direction: DIRECTION_NONE,
        }
    }

    /// Asks for the number of blocks and their size: READ CAPACITY(16), SBC-3, 5.16.
    pub(crate) fn read_capacity() -> ScsiCommand {
        let mut bytes = [0; 16];
        bytes[0] = OPCODE_SERVICE_ACTION_IN;
        bytes[1] = ACTION_READ_CAPACITY;
        bytes[13] = CAPACITY_BYTES as u8;
        ScsiCommand {
            bytes,
            length: 16,
            direction: DIRECTION_READ,
        }
    }
}

impl SgHeader {
    /// The header for a command whose memory is this list, `data_bytes` in all. It has the
    /// addresses of all three, which must stay where they are until the command is done.
    pub(crate) fn new(
        command: &ScsiCommand,
        iovecs: &[libc::iovec],
        data_bytes: u32,
        sense: &mut [u8; SENSE_BYTES],
        timeout_ms: u32,
    ) -> SgHeader {
        let (data, count) = match iovecs {
            [] => (std::ptr::null_mut(), 0),
            // Without a list the kernel has less to look at.
            [one] => (one.iov_base, 0),
            several => (several.as_ptr().cast_mut().cast(), several.len()),
        };
        SgHeader {
            interface: INTERFACE,
            direction: command.direction,
            command_bytes: command.length,
            sense_bytes_max: SENSE_BYTES as u8,
            iovecs: u16::try_from(count).expect("memory in no more pieces than a list may have"),
            data_bytes,
            data,
            command: command.bytes.as_ptr(),
            sense: sense.as_mut_ptr(),
            timeout_ms,
            flags: 0,
            pack: 0,
            user: std::ptr::null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_bytes: 0,
            host_status: 0,
            driver_status: 0,
            left_bytes: 0,
            duration_ms: 0,
            info: 0,
        }
    }
}

/// The blocks of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskBlocks {
    /// How many the disk has.
    pub(crate) count: u64,
    /// Bytes of each.
    pub(crate) bytes: u64,
}

impl DiskBlocks {
    /// Parses the answer to READ CAPACITY(16). `None` if it is impossible.
    #[allow(clippy::big_endian_bytes, reason = "SCSI counts so; never stored")]
    pub(crate) fn parse(answer: &[u8; CAPACITY_BYTES]) -> Option<DiskBlocks> {
        let (last, rest) = answer.split_first_chunk::<8>()?;
        let (bytes, _) = rest.split_first_chunk::<4>()?;
        let bytes = u64::from(u32::from_be_bytes(*bytes));
        let count = u64::from_be_bytes(*last).checked_add(1)?;
        let is_possible = bytes.is_power_of_two() && (512..=1 << 16).contains(&bytes);
        (is_possible && count.checked_mul(bytes).is_some()).then_some(DiskBlocks { count, bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_header_has_the_kernels_fields_at_their_places() {
        assert_eq!(offset_of!(SgHeader, data_bytes), 12);
        assert_eq!(offset_of!(SgHeader, data), 16);
        assert_eq!(offset_of!(SgHeader, sense), 32);
        assert_eq!(offset_of!(SgHeader, timeout_ms), 40);
        assert_eq!(offset_of!(SgHeader, user), 56);
        assert_eq!(offset_of!(SgHeader, status), 64);
        assert_eq!(offset_of!(SgHeader, sense_bytes), 67);
        assert_eq!(offset_of!(SgHeader, left_bytes), 72);
        assert_eq!(offset_of!(SgHeader, info), 80);
    }

    #[test]
    fn commands_have_their_fields_at_their_places() {
        let write = ScsiCommand::write(0x0102_0304_0506_0708, 0x0a0b_0c0d, true);
        assert_eq!(
            write.bytes,
            [
                0x8a, 0x08, 1, 2, 3, 4, 5, 6, 7, 8, 0x0a, 0x0b, 0x0c, 0x0d, 0, 0
            ]
        );
        assert_eq!(ScsiCommand::write(1, 1, false).bytes[1], 0);
        let read = ScsiCommand::read(5_000_000_000, 8);
        assert_eq!(read.bytes[..10], [0x88, 0, 0, 0, 0, 1, 0x2a, 5, 0xf2, 0]);
        assert_eq!(read.bytes[10..], [0, 0, 0, 8, 0, 0]);
        let flush = ScsiCommand::flush();
        assert_eq!((flush.bytes[0], flush.length), (0x35, 10));
        assert!(flush.bytes[1..].iter().all(|byte| *byte == 0));
        let capacity = ScsiCommand::read_capacity();
        assert_eq!(
            (capacity.bytes[..2].to_vec(), capacity.bytes[13]),
            (vec![0x9e, 0x10], 32)
        );
    }

    #[test]
    fn memory_is_one_stretch_or_a_list() {
        let mut sense = [0; SENSE_BYTES];
        let mut bytes = [0_u8; 1024];
        let whole = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: 512,
        };
        let command = ScsiCommand::read(0, 1);
        let one = SgHeader::new(&command, &[whole], 512, &mut sense, 1);
        assert_eq!((one.data, one.iovecs), (bytes.as_mut_ptr().cast(), 0));
        let list = [whole, whole];
        let several = SgHeader::new(&command, &list, 1024, &mut sense, 1);
        assert_eq!((several.iovecs, several.data_bytes), (2, 1024));
        assert_eq!(several.data.cast_const().cast(), list.as_ptr());
    }

    #[test]
    fn a_disk_says_how_many_blocks_it_has() {
        let mut answer = [0; CAPACITY_BYTES];
        answer[4..8].copy_from_slice(&[0, 0x1f, 0xff, 0xff]);
        answer[10] = 2;
        let plain = DiskBlocks {
            count: 0x20_0000,
            bytes: 512,
        };
        assert_eq!(DiskBlocks::parse(&answer), Some(plain));
        answer[10] = 3;
        assert_eq!(DiskBlocks::parse(&answer), None, "blocks of 768 bytes");
        answer[10] = 16;
        assert_eq!(DiskBlocks::parse(&answer).unwrap().bytes, 4096);
        answer[..8].fill(0xff);
        assert_eq!(DiskBlocks::parse(&answer), None, "more than can be counted");
        assert_eq!(DiskBlocks::parse(&[0; CAPACITY_BYTES]), None);
    }
}
