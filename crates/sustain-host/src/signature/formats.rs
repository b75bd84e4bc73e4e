//! The formats: the place of each magic number, the order in which formats are tried, and where
//! each keeps its label and UUID. Called by `read_signature` only; pure, and must never panic on
//! any bytes.

use super::{Signature, SignatureKind};

/// Both ends of the medium. Reads beyond them find nothing.
pub(super) struct Ends<'a> {
    pub(super) head: &'a [u8],
    pub(super) tail: &'a [u8],
    /// The start of the tail, in bytes from the start of the medium.
    pub(super) tail_start: u64,
    pub(super) size_bytes: u64,
}

impl Ends<'_> {
    fn head(&self, offset: usize, length: usize) -> Option<&[u8]> {
        self.head.get(offset..offset.checked_add(length)?)
    }

    fn has(&self, offset: usize, magic: &[u8]) -> bool {
        self.head(offset, magic.len()) == Some(magic)
    }

    fn tail_has(&self, position: Option<u64>, magic: &[u8]) -> bool {
        self.tail_at(position, magic.len()) == Some(magic)
    }

    fn tail_at(&self, position: Option<u64>, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(position?.checked_sub(self.tail_start)?).ok()?;
        self.tail.get(start..start.checked_add(length)?)
    }

    fn u32_at(&self, offset: usize) -> u32 {
        let bytes = self.head(offset, 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }

    fn label(&self, offset: usize, length: usize) -> Option<String> {
        text(self.head(offset, length)?)
    }

    fn uuid(&self, offset: usize) -> Option<String> {
        uuid(self.head(offset, 16)?)
    }
}

/// Text up to the first zero byte, without trailing blanks; `None` when nothing is left.
fn text(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.split(|&byte| byte == 0).next()?;
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn uuid(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|&byte| byte == 0) {
        return None;
    }
    let mut written = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            written.push('-');
        }
        written.push_str(&format!("{byte:02x}"));
    }
    Some(written)
}

/// Containers come first, then file systems, then partition tables: a FAT boot sector ends like an
/// MBR, a bootable ISO image begins like one, and a protective MBR stands before each GPT.
pub(super) fn recognise(ends: &Ends<'_>) -> Option<Signature> {
    container(ends)
        .or_else(|| linux_file_system(ends))
        .or_else(|| foreign_file_system(ends))
        .or_else(|| swap(ends))
        .or_else(|| raid_at_the_tail(ends))
        .or_else(|| partition_table(ends))
        .or_else(|| {
            let zero = ends.head.iter().chain(ends.tail).all(|&byte| byte == 0);
            (!zero).then(|| plain(SignatureKind::Unknown))
        })
}

fn plain(kind: SignatureKind) -> Signature {
    Signature {
        kind,
        label: None,
        uuid: None,
    }
}

/// Offsets from: LUKS2 on-disk format 1.1; lvm2 label.h; md_p.h of the kernel; bcache.h;
/// bcachefs_format.h; ZFS on-disk specification (vdev label, uberblock array); docs/format.md of
/// this project ("The superblock").
fn container(ends: &Ends<'_>) -> Option<Signature> {
    const BCACHE: [u8; 16] = *b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
    const BCACHEFS: [u8; 16] = *b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
    if ends.has(0, &STORE_MAGIC) {
        return Some(Signature {
            kind: SignatureKind::SustainStore,
            label: None,
            uuid: ends.uuid(32),
        });
    }
    if ends.has(0, b"LUKS\xba\xbe") {
        let second_version = ends.has(6, &[0, 2]);
        let label = if second_version {
            ends.label(24, 48)
        } else {
            None
        };
        return Some(Signature {
            kind: SignatureKind::Luks,
            label,
            uuid: ends.label(168, 40),
        });
    }
    for sector in [0, 512, 1024, 1536] {
        if ends.has(sector, b"LABELONE") && ends.has(sector + 24, b"LVM2 001") {
            return Some(plain(SignatureKind::LvmPhysicalVolume));
        }
    }
    for offset in [0, 4096] {
        if ends.has(offset, &MD_MAGIC) && ends.u32_at(offset + 4) == 1 {
            let (label, uuid) = (ends.label(offset + 32, 32), ends.uuid(offset + 16));
            return Some(Signature {
                kind: SignatureKind::MdRaidMember,
                label,
                uuid,
            });
        }
    }
    for (magic, kind, uuid) in [
        (BCACHE, SignatureKind::Bcache, ends.uuid(4096 + 40)),
        (BCACHEFS, SignatureKind::Bcachefs, ends.uuid(4096 + 56)),
    ] {
        if ends.has(4096 + 24, &magic) {
            return Some(Signature {
                kind,
                label: ends.label(4096 + 72, 32),
                uuid,
            });
        }
    }
    let uberblock = [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];
    let mut other_endian = uberblock;
    other_endian.reverse();
    (128 * 1024..256 * 1024)
        .step_by(1024)
        .any(|offset| ends.has(offset, &uberblock) || ends.has(offset, &other_endian))
        .then(|| plain(SignatureKind::ZfsMember))
}

/// The magic of a store of this project, in copy A of its superblock.
pub(super) const STORE_MAGIC: [u8; 16] = *b"sustain-store\x0d\x0a\x1a";

/// 0xa92b4efc, little endian.
pub(super) const MD_MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];

/// Offsets from the on-disk headers of each file system in the kernel's sources.
fn linux_file_system(ends: &Ends<'_>) -> Option<Signature> {
    const BTRFS: usize = 64 * 1024;
    if ends.has(1024 + 56, &[0x53, 0xef]) {
        let (label, uuid) = (ends.label(1024 + 120, 16), ends.uuid(1024 + 104));
        return Some(Signature {
            kind: ext_kind(ends),
            label,
            uuid,
        });
    }
    if ends.has(BTRFS + 64, b"_BHRfS_M") {
        let (label, uuid) = (ends.label(BTRFS + 299, 256), ends.uuid(BTRFS + 32));
        return Some(Signature {
            kind: SignatureKind::Btrfs,
            label,
            uuid,
        });
    }
    if ends.has(0, b"XFSB") {
        let (label, uuid) = (ends.label(108, 12), ends.uuid(32));
        return Some(Signature {
            kind: SignatureKind::Xfs,
            label,
            uuid,
        });
    }
    if ends.has(1024, &[0x10, 0x20, 0xf5, 0xf2]) {
        let units = ends
            .head(1024 + 124, 1024)
            .unwrap_or_default()
            .chunks_exact(2);
        let units: Vec<u16> = units
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .take_while(|&u| u != 0)
            .collect();
        let label = text(String::from_utf16_lossy(&units).as_bytes());
        let uuid = ends.uuid(1024 + 108);
        return Some(Signature {
            kind: SignatureKind::F2fs,
            label,
            uuid,
        });
    }
    let reiser = [&b"ReIsErFs"[..], b"ReIsEr2Fs", b"ReIsEr3Fs"];
    if reiser.iter().any(|magic| ends.has(BTRFS + 52, magic)) {
        return Some(plain(SignatureKind::Reiserfs));
    }
    let plain_magics = [
        (32768, &b"JFS1"[..], SignatureKind::Jfs),
        (0, b"hsqs", SignatureKind::Squashfs),
        (1024, &[0xe2, 0xe1, 0xf5, 0xe0], SignatureKind::Erofs),
    ];
    let found = plain_magics
        .iter()
        .find(|(offset, magic, _)| ends.has(*offset, magic));
    found.map(|(_, _, kind)| plain(*kind))
}

/// The three share one superblock; the features that a file system uses show which one it is (ext4,
/// "Super Block").
fn ext_kind(ends: &Ends<'_>) -> SignatureKind {
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    // The features that ext3 knows; any other feature means ext4.
    const EXT3_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x10;
    const EXT3_READ_ONLY_COMPATIBLE: u32 = 0x1 | 0x2 | 0x4;
    let [compatible, incompatible, read_only_compatible] =
        [92, 96, 100].map(|offset| ends.u32_at(1024 + offset));
    if incompatible & JOURNAL_DEVICE != 0 {
        SignatureKind::ExtJournal
    } else if incompatible & !EXT3_INCOMPATIBLE != 0
        || read_only_compatible & !EXT3_READ_ONLY_COMPATIBLE != 0
    {
        SignatureKind::Ext4
    } else if compatible & HAS_JOURNAL != 0 {
        SignatureKind::Ext3
    } else {
        SignatureKind::Ext2
    }
}

/// Offsets from: Microsoft FAT and exFAT specifications; ECMA-119 (ISO 9660), ECMA-167 (UDF);
/// Apple TN1150 (HFS+) and the Apple File System Reference.
fn foreign_file_system(ends: &Ends<'_>) -> Option<Signature> {
    const VOLUME_DESCRIPTOR: usize = 32 * 1024;
    let boot_sector = ends.has(510, &[0x55, 0xaa]);
    for (magic_offset, magic, label_offset) in [
        (82, &b"FAT32   "[..], 71),
        (54, b"FAT16   ", 43),
        (54, b"FAT12   ", 43),
    ] {
        if boot_sector && ends.has(magic_offset, magic) {
            let label = ends
                .label(label_offset, 11)
                .filter(|label| label != "NO NAME");
            return Some(Signature {
                kind: SignatureKind::Vfat,
                label,
                uuid: None,
            });
        }
    }
    if ends.has(VOLUME_DESCRIPTOR + 1, b"CD001") {
        let label = ends.label(VOLUME_DESCRIPTOR + 40, 32);
        return Some(Signature {
            kind: SignatureKind::Iso9660,
            label,
            uuid: None,
        });
    }
    let plain_magics = [
        (3, &b"NTFS    "[..], SignatureKind::Ntfs),
        (3, b"EXFAT   ", SignatureKind::Exfat),
        (VOLUME_DESCRIPTOR + 1, b"BEA01", SignatureKind::Udf),
        (1024, b"H+\0\x04", SignatureKind::HfsPlus),
        (1024, b"HX\0\x05", SignatureKind::HfsPlus),
        (32, b"NXSB", SignatureKind::Apfs),
    ];
    let found = plain_magics
        .iter()
        .find(|(offset, magic, _)| ends.has(*offset, magic));
    found.map(|(_, _, kind)| plain(*kind))
}

/// The magic stands at the end of the first page, whatever the page size of the system that made
/// it; a sleeping system overwrites it (linux/swap.h, kernel/power/swap.c).
fn swap(ends: &Ends<'_>) -> Option<Signature> {
    for page_bytes in [4096, 8192, 16384, 32768, 65536] {
        let offset = page_bytes - 10;
        if ends.has(offset, b"SWAPSPACE2") || ends.has(offset, b"SWAP-SPACE") {
            let (label, uuid) = (ends.label(1024 + 28, 16), ends.uuid(1024 + 12));
            return Some(Signature {
                kind: SignatureKind::Swap,
                label,
                uuid,
            });
        }
        let asleep = [&b"S1SUSPEND"[..], b"S2SUSPEND", b"ULSUSPEND"];
        if asleep.iter().any(|magic| ends.has(offset, magic)) {
            return Some(plain(SignatureKind::HibernationImage));
        }
    }
    None
}

/// md 1.0 lies 8 KiB before the end, rounded down to 4 KiB; md 0.90 in the last whole 64 KiB block
/// but one, in the endianness of its maker; Intel in the last sector but one; DDF in the last.
fn raid_at_the_tail(ends: &Ends<'_>) -> Option<Signature> {
    let size = ends.size_bytes;
    let version_1 = size
        .checked_sub(8192)
        .map(|position| position / 4096 * 4096);
    if ends.tail_has(version_1, &MD_MAGIC) {
        let at = |skip: u64, length| ends.tail_at(version_1.map(|p| p + skip), length);
        let (label, uuid) = (at(32, 32).and_then(text), at(16, 16).and_then(uuid));
        return Some(Signature {
            kind: SignatureKind::MdRaidMember,
            label,
            uuid,
        });
    }
    let mut other_endian = MD_MAGIC;
    other_endian.reverse();
    let version_0 = (size / 65536).checked_sub(1).map(|block| block * 65536);
    if ends.tail_has(version_0, &MD_MAGIC) || ends.tail_has(version_0, &other_endian) {
        return Some(plain(SignatureKind::MdRaidMember));
    }
    if ends.tail_has(size.checked_sub(1024), b"Intel Raid ISM Cfg Sig. ") {
        return Some(plain(SignatureKind::IntelRaidMember));
    }
    let anchor = ends.tail_has(size.checked_sub(512), &[0xde, 0x11, 0xde, 0x11]);
    anchor.then(|| plain(SignatureKind::DdfRaidMember))
}

/// GPT in the second or the last block, of 512 or 4096 bytes (UEFI 2.10, 5.3); else an MBR with at
/// least one plausible entry.
fn partition_table(ends: &Ends<'_>) -> Option<Signature> {
    const GPT: &[u8] = b"EFI PART";
    for block_bytes in [512, 4096] {
        let last = ends.size_bytes.checked_sub(block_bytes as u64);
        if ends.has(block_bytes, GPT) || ends.tail_has(last, GPT) {
            return Some(plain(SignatureKind::GptPartitionTable));
        }
    }
    let entries = ends.head(446, 64)?;
    let boot_flags_plausible = entries.chunks_exact(16).all(|entry| entry[0] & 0x7f == 0);
    let any_used = entries.chunks_exact(16).any(|entry| entry[4] != 0);
    (ends.has(510, &[0x55, 0xaa]) && boot_flags_plausible && any_used)
        .then(|| plain(SignatureKind::MbrPartitionTable))
}
