//! Images built by hand, byte by byte where the formats say.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use super::formats::{MD_MAGIC, STORE_MAGIC};
use super::*;

const MIB: usize = 1024 * 1024;

fn found(size: usize, pieces: &[(usize, &[u8])]) -> Option<Signature> {
    let mut image = vec![0_u8; size];
    for (offset, bytes) in pieces {
        image[*offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&image, 0).unwrap();
    read_signature(file.as_fd(), size as u64).unwrap()
}

fn kind(size: usize, pieces: &[(usize, &[u8])]) -> SignatureKind {
    found(size, pieces).expect("something is there").kind
}

const UUID_BYTES: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const UUID: &str = "00010203-0405-0607-0809-0a0b0c0d0e0f";

#[test]
fn zeros_and_nothing_at_all_are_no_signature() {
    assert_eq!(found(MIB, &[]), None);
    assert_eq!(found(1000, &[]), None);
    assert_eq!(found(0, &[]), None);
}

#[test]
fn other_data_is_said_to_be_unknown_at_either_end() {
    assert_eq!(kind(1000, &[(999, b"x")]), SignatureKind::Unknown);
    assert_eq!(kind(MIB, &[(200_000, b"x")]), SignatureKind::Unknown);
    assert_eq!(kind(MIB, &[(MIB - 1, b"x")]), SignatureKind::Unknown);
}

#[test]
fn the_ext_family_is_told_apart() {
    let ext = |compatible: u32, incompatible: u32, read_only: u32| {
        let features = [compatible, incompatible, read_only]
            .map(u32::to_le_bytes)
            .concat();
        found(
            MIB,
            &[
                (1024 + 56, &[0x53, 0xef]),
                (1024 + 92, &features),
                (1024 + 104, &UUID_BYTES),
                (1024 + 120, b"photos"),
            ],
        )
        .unwrap()
    };
    assert_eq!(ext(0x38, 0x2, 0x3).kind, SignatureKind::Ext2);
    assert_eq!(ext(0x3c, 0x2, 0x3).kind, SignatureKind::Ext3);
    assert_eq!(ext(0x3c, 0x2c2, 0x46b).kind, SignatureKind::Ext4);
    assert_eq!(ext(0, 0x8, 0).kind, SignatureKind::ExtJournal);
    let ext4 = ext(0x3c, 0x2c2, 0x46b);
    assert_eq!(ext4.to_string(), "ext4 file system labelled \"photos\"");
    assert_eq!(ext4.uuid.as_deref(), Some(UUID));
}

#[test]
fn linux_file_systems_are_recognised_with_their_labels() {
    let xfs = found(MIB, &[(0, b"XFSB"), (32, &UUID_BYTES), (108, b"scratch")]).unwrap();
    assert_eq!(
        (xfs.kind, xfs.label.as_deref()),
        (SignatureKind::Xfs, Some("scratch"))
    );
    assert_eq!(xfs.uuid.as_deref(), Some(UUID));
    let btrfs = found(MIB, &[(65536 + 64, b"_BHRfS_M"), (65536 + 299, b"pool")]).unwrap();
    assert_eq!(
        (btrfs.kind, btrfs.label.as_deref()),
        (SignatureKind::Btrfs, Some("pool"))
    );
    let f2fs = found(
        MIB,
        &[
            (1024, &[0x10, 0x20, 0xf5, 0xf2]),
            (1024 + 124, b"c\0a\0r\0d\0"),
        ],
    )
    .unwrap();
    assert_eq!(
        (f2fs.kind, f2fs.label.as_deref()),
        (SignatureKind::F2fs, Some("card"))
    );
    assert_eq!(kind(MIB, &[(32768, b"JFS1")]), SignatureKind::Jfs);
    assert_eq!(
        kind(MIB, &[(65536 + 52, b"ReIsEr2Fs")]),
        SignatureKind::Reiserfs
    );
    assert_eq!(kind(MIB, &[(0, b"hsqs")]), SignatureKind::Squashfs);
    assert_eq!(
        kind(MIB, &[(1024, &[0xe2, 0xe1, 0xf5, 0xe0])]),
        SignatureKind::Erofs
    );
}

#[test]
fn a_fat_boot_sector_is_no_partition_table() {
    let end: (usize, &[u8]) = (510, &[0x55, 0xaa]);
    let fat32 = found(MIB, &[(71, b"CAMERA     "), (82, b"FAT32   "), end]).unwrap();
    assert_eq!(fat32.to_string(), "FAT file system labelled \"CAMERA\"");
    let fat16 = found(MIB, &[(43, b"NO NAME    "), (54, b"FAT16   "), end]).unwrap();
    assert_eq!(fat16.to_string(), "FAT file system");
    assert_eq!(kind(MIB, &[(3, b"NTFS    "), end]), SignatureKind::Ntfs);
    assert_eq!(kind(MIB, &[(3, b"EXFAT   "), end]), SignatureKind::Exfat);
}

#[test]
fn images_of_other_systems_are_recognised() {
    let iso = found(MIB, &[(32769, b"CD001"), (32768 + 40, b"INSTALL 13      ")]).unwrap();
    assert_eq!(
        iso.to_string(),
        "ISO 9660 file system labelled \"INSTALL 13\""
    );
    assert_eq!(kind(MIB, &[(32769, b"BEA01")]), SignatureKind::Udf);
    assert_eq!(kind(MIB, &[(1024, b"H+\0\x04")]), SignatureKind::HfsPlus);
    assert_eq!(kind(MIB, &[(32, b"NXSB")]), SignatureKind::Apfs);
}

#[test]
fn swap_of_every_page_size_and_a_sleeping_system_are_recognised() {
    for page in [4096, 65536] {
        let swap = found(MIB, &[(page - 10, b"SWAPSPACE2"), (1024 + 28, b"spare")]).unwrap();
        assert_eq!(swap.to_string(), "swap area labelled \"spare\"");
    }
    assert_eq!(
        kind(MIB, &[(4086, b"S1SUSPEND\0")]),
        SignatureKind::HibernationImage
    );
}

#[test]
fn members_of_sets_are_recognised() {
    let version_1 = [0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0];
    for offset in [0, 4096, MIB - 8192] {
        let member = found(
            MIB,
            &[
                (offset, &version_1),
                (offset + 16, &UUID_BYTES),
                (offset + 32, b"host:7"),
            ],
        )
        .unwrap();
        assert_eq!(
            member.to_string(),
            "member of a Linux md RAID array labelled \"host:7\""
        );
        assert_eq!(member.uuid.as_deref(), Some(UUID));
    }
    // The end of a device that is no multiple of 64 KiB.
    let size = MIB + 5 * 512;
    assert_eq!(
        kind(size, &[(MIB - 65536, &version_1[..4])]),
        SignatureKind::MdRaidMember
    );
    let big_endian: &[u8] = &[0xa9, 0x2b, 0x4e, 0xfc];
    assert_eq!(
        kind(size, &[(MIB - 65536, big_endian)]),
        SignatureKind::MdRaidMember
    );
    let intel: &[u8] = b"Intel Raid ISM Cfg Sig. 1.3.00";
    assert_eq!(
        kind(size, &[(size - 1024, intel)]),
        SignatureKind::IntelRaidMember
    );
    let ddf: &[u8] = &[0xde, 0x11, 0xde, 0x11];
    assert_eq!(
        kind(size, &[(size - 512, ddf)]),
        SignatureKind::DdfRaidMember
    );
    let volume = kind(MIB, &[(512, b"LABELONE"), (536, b"LVM2 001")]);
    assert_eq!(volume, SignatureKind::LvmPhysicalVolume);
    let uberblock = [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];
    assert_eq!(
        kind(MIB, &[(131_072 + 7 * 1024, &uberblock)]),
        SignatureKind::ZfsMember
    );
}

#[test]
fn luks_and_bcache_carry_label_and_uuid() {
    let written = UUID.as_bytes();
    let luks = found(
        MIB,
        &[(0, b"LUKS\xba\xbe\0\x02"), (24, b"secret"), (168, written)],
    )
    .unwrap();
    assert_eq!(
        luks.to_string(),
        "LUKS encrypted volume labelled \"secret\""
    );
    assert_eq!(luks.uuid.as_deref(), Some(UUID));
    let first_version = found(MIB, &[(0, b"LUKS\xba\xbe\0\x01aes"), (24, b"secret")]).unwrap();
    assert_eq!(first_version.label, None);
    let magic = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
    let bcache = found(MIB, &[(4096 + 24, magic), (4096 + 72, b"front")]).unwrap();
    assert_eq!(bcache.to_string(), "bcache device labelled \"front\"");
    let magic = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
    assert_eq!(kind(MIB, &[(4096 + 24, magic)]), SignatureKind::Bcachefs);
}

#[test]
fn a_store_of_this_project_is_told_by_its_first_copy_alone() {
    let store = found(MIB, &[(0, b"sustain-store\r\n\x1a"), (32, &UUID_BYTES)]).unwrap();
    assert_eq!(store.kind, SignatureKind::SustainStore);
    assert_eq!(store.to_string(), "sustain store");
    assert_eq!(store.uuid.as_deref(), Some(UUID));
    // What it was before may still stand where a store writes nothing.
    let raid = [MD_MAGIC, 1_u32.to_le_bytes()].concat();
    assert_eq!(kind(MIB, &[(4096, &raid)]), SignatureKind::MdRaidMember);
    assert_eq!(
        kind(MIB, &[(0, &STORE_MAGIC), (4096, &raid)]),
        SignatureKind::SustainStore
    );
    assert_eq!(
        kind(MIB, &[(0, b"sustain-store\n\n\x1a")]),
        SignatureKind::Unknown
    );
    assert_eq!(kind(MIB, &[(65536, &STORE_MAGIC)]), SignatureKind::Unknown);
}

#[test]
fn partition_tables_are_recognised() {
    let mbr_end: (usize, &[u8]) = (510, &[0x55, 0xaa]);
    let protective: (usize, &[u8]) = (450, &[0xee]);
    let gpt = SignatureKind::GptPartitionTable;
    assert_eq!(kind(MIB, &[protective, mbr_end, (512, b"EFI PART")]), gpt);
    assert_eq!(kind(MIB, &[(4096, b"EFI PART")]), gpt);
    assert_eq!(kind(MIB, &[(MIB - 512, b"EFI PART")]), gpt);
    let linux: (usize, &[u8]) = (446, &[0x80, 0, 0, 0, 0x83]);
    assert_eq!(
        kind(MIB, &[linux, mbr_end]),
        SignatureKind::MbrPartitionTable
    );
    assert_eq!(kind(MIB, &[mbr_end]), SignatureKind::Unknown);
}

#[test]
fn a_label_cannot_steer_the_terminal() {
    let hostile = found(MIB, &[(0, b"XFSB"), (108, b"a\x1b[2Jb\"")]).unwrap();
    assert_eq!(
        hostile.to_string(),
        "XFS file system labelled \"a\\u{1b}[2Jb\\\"\""
    );
}

#[test]
fn an_o_direct_descriptor_is_read_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let mut image = vec![0_u8; MIB + 512];
    image[MIB - 65536..MIB - 65532].copy_from_slice(&MD_MAGIC);
    fs::write(&path, &image).unwrap();
    let flags = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let opened = fs::File::options()
        .read(true)
        .custom_flags(flags)
        .open(&path);
    // A file system without O_DIRECT says so at open; there is nothing to test on it.
    let Ok(file) = opened else { return };
    let signature = read_signature(file.as_fd(), image.len() as u64).unwrap();
    assert_eq!(
        signature.map(|found| found.kind),
        Some(SignatureKind::MdRaidMember)
    );
}

/// The magic numbers that lead furthest into the parsers, and where they stand.
const DOORS: [(usize, &[u8]); 13] = [
    (0, &STORE_MAGIC),
    (0, b"LUKS\xba\xbe"),
    (512, b"LABELONE"),
    (536, b"LVM2 001"),
    (512, b"EFI PART"),
    (510, b"\x55\xaa"),
    (1080, b"\x53\xef"),
    (4096, &MD_MAGIC),
    (65536 + 64, b"_BHRfS_M"),
    (0, b"XFSB"),
    (82, b"FAT32   "),
    (32769, b"CD001"),
    (4086, b"SWAPSPACE2"),
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    /// Bytes of a disk are anybody's: whatever they are, there is an answer.
    #[test]
    fn no_bytes_of_a_disk_can_break_it(
        doors in proptest::collection::vec(0..DOORS.len(), 0..4),
        noise in proptest::collection::vec((0usize..80_000, proptest::num::u8::ANY), 0..200),
        length in 0usize..80_000,
        size_bytes in proptest::num::u64::ANY,
        tail_start in proptest::num::u64::ANY,
    ) {
        let mut head = vec![0_u8; length];
        let mut put = |offset: usize, bytes: &[u8]| {
            for (index, byte) in bytes.iter().enumerate() {
                if let Some(place) = head.get_mut(offset + index) {
                    *place = *byte;
                }
            }
        };
        noise.iter().for_each(|(offset, byte)| put(*offset, &[*byte]));
        doors.iter().for_each(|door| put(DOORS[*door].0, DOORS[*door].1));
        let tail = &head[length / 2..];
        let answer = recognise(&Ends { head: &head, tail, tail_start, size_bytes });
        if let Some(signature) = answer {
            let words = signature.to_string();
            proptest::prop_assert!(!words.chars().any(char::is_control), "{words:?}");
        }
    }
}
