//! Finds the dormant content of a disk or a file: file systems, partition tables, parts of arrays.
//! Called by the guard, which shows it before anything is destroyed. It only reads, and only the
//! first 256 KiB and the last 128 KiB; it knows the common formats, but does not check that they
//! are valid.

use std::fmt;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use self::formats::{Ends, recognise};

mod formats;

/// Reads go in whole blocks of this size, from offsets that are multiples of it, so that a
/// descriptor opened with O_DIRECT takes them, up to the largest block size the kernel knows.
const READ_BLOCK_BYTES: u64 = 64 * 1024;
/// Memory alignment, enough for O_DIRECT on every driver.
const MEMORY_ALIGNMENT_BYTES: usize = 4096;
/// The last format looked for at the head is the uberblock array of ZFS, which ends here.
const HEAD_BYTES: u64 = 4 * READ_BLOCK_BYTES;

/// The kind of content that was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each name says it
pub enum SignatureKind {
    Ext2,
    Ext3,
    Ext4,
    ExtJournal,
    Xfs,
    Btrfs,
    Bcachefs,
    F2fs,
    Vfat,
    Ntfs,
    Exfat,
    Iso9660,
    Udf,
    HfsPlus,
    Apfs,
    Reiserfs,
    Jfs,
    Squashfs,
    Erofs,
    Swap,
    HibernationImage,
    LvmPhysicalVolume,
    MdRaidMember,
    IntelRaidMember,
    DdfRaidMember,
    Luks,
    Bcache,
    ZfsMember,
    /// A member of a store of this project.
    SustainStore,
    GptPartitionTable,
    MbrPartitionTable,
    /// Content that is not zero and is none of the others.
    Unknown,
}

/// A dormant signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The kind of content.
    pub kind: SignatureKind,
    /// The name its owner gave it.
    pub label: Option<String>,
    /// Its UUID in the usual writing.
    pub uuid: Option<String>,
}

impl SignatureKind {
    fn words(self) -> &'static str {
        match self {
            SignatureKind::Ext2 => "ext2 file system",
            SignatureKind::Ext3 => "ext3 file system",
            SignatureKind::Ext4 => "ext4 file system",
            SignatureKind::ExtJournal => "ext3/ext4 journal",
            SignatureKind::Xfs => "XFS file system",
            SignatureKind::Btrfs => "btrfs file system",
            SignatureKind::Bcachefs => "bcachefs file system",
            SignatureKind::F2fs => "F2FS file system",
            SignatureKind::Vfat => "FAT file system",
            SignatureKind::Ntfs => "NTFS file system",
            SignatureKind::Exfat => "exFAT file system",
            SignatureKind::Iso9660 => "ISO 9660 file system",
            SignatureKind::Udf => "UDF file system",
            SignatureKind::HfsPlus => "HFS+ file system",
            SignatureKind::Apfs => "APFS container",
            SignatureKind::Reiserfs => "ReiserFS file system",
            SignatureKind::Jfs => "JFS file system",
            SignatureKind::Squashfs => "SquashFS file system",
            SignatureKind::Erofs => "EROFS file system",
            SignatureKind::Swap => "swap area",
            SignatureKind::HibernationImage => "hibernation image of a sleeping system",
            SignatureKind::LvmPhysicalVolume => "LVM physical volume",
            SignatureKind::MdRaidMember => "member of a Linux md RAID array",
            SignatureKind::IntelRaidMember => "member of an Intel RAID array",
            SignatureKind::DdfRaidMember => "member of a DDF RAID array",
            SignatureKind::Luks => "LUKS encrypted volume",
            SignatureKind::Bcache => "bcache device",
            SignatureKind::ZfsMember => "member of a ZFS pool",
            SignatureKind::SustainStore => "sustain store",
            SignatureKind::GptPartitionTable => "GPT partition table",
            SignatureKind::MbrPartitionTable => "MBR partition table",
            SignatureKind::Unknown => "data of a kind not recognised",
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.words())?;
        match &self.label {
            // The label is escaped, because it comes from the disk and goes to a terminal.
            Some(label) => write!(formatter, " labelled \"{}\"", label.escape_debug()),
            None => Ok(()),
        }
    }
}

/// Looks for a signature on a descriptor that is open for reading, O_DIRECT or not. `None` when
/// head and tail are all zero.
///
/// # Errors
/// The errors of pread(2).
pub fn read_signature(
    descriptor: BorrowedFd<'_>,
    size_bytes: u64,
) -> Result<Option<Signature>, Errno> {
    let tail_start = tail_start_bytes(size_bytes);
    let head = read_aligned(descriptor, 0, HEAD_BYTES.min(size_bytes))?;
    let tail = read_aligned(descriptor, tail_start, size_bytes - tail_start)?;
    Ok(recognise(&Ends {
        head: &head,
        tail: &tail,
        tail_start,
        size_bytes,
    }))
}

/// The last whole 64 KiB block but one, where the md superblock of version 0.90 is.
fn tail_start_bytes(size_bytes: u64) -> u64 {
    (size_bytes / READ_BLOCK_BYTES).saturating_sub(1) * READ_BLOCK_BYTES
}

/// Reads `length` bytes, less at the end of the medium. `offset` is a multiple of the read block.
fn read_aligned(descriptor: BorrowedFd<'_>, offset: u64, length: u64) -> Result<Vec<u8>, Errno> {
    let whole_bytes = length.next_multiple_of(READ_BLOCK_BYTES);
    let whole = usize::try_from(whole_bytes).expect("a few blocks fit the address space");
    let mut memory = vec![0_u8; whole + MEMORY_ALIGNMENT_BYTES];
    let start = memory.as_ptr().align_offset(MEMORY_ALIGNMENT_BYTES);
    let buffer = &mut memory[start..start + whole];
    let mut filled = 0;
    while filled < whole {
        let position = offset + filled as u64;
        match rustix::io::pread(descriptor, &mut buffer[filled..], position) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        }
        // A read that ends inside a block met the end; going on from there would be unaligned.
        if filled % MEMORY_ALIGNMENT_BYTES != 0 {
            break;
        }
    }
    let wanted = usize::try_from(length).expect("a few blocks fit the address space");
    Ok(buffer[..filled.min(wanted)].to_vec())
}

#[cfg(test)]
mod tests;
