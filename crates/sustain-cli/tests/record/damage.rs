//! Bits flipped in every region of a member and members cut off: the commands never panic, never
//! give a wrong byte, and `verify` says that something is damaged.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

use serde_json::Value;

use crate::check::try_extract;
use crate::draw::{Draw, seed};
use crate::members::{Members, stream, whole};
use crate::support::{Ran, json_of};

const MEMBER_BYTES: u64 = 3 << 20;
const BLOCK_BYTES: usize = 4096;
const SLOT_BYTES: u64 = 128 << 10;
const FIRST_SLOT_BYTES: u64 = 128 << 10;
/// Bits flipped in each kind of region.
const FLIPS: usize = 3;
/// Stores of which a member is cut off, twice each.
const CUT_OFF: usize = 8;
const COPIES: [u64; 4] = [
    0,
    64 << 10,
    MEMBER_BYTES - (128 << 10),
    MEMBER_BYTES - (4 << 10),
];

/// A part of a member, and what it is for.
#[derive(Debug, Clone)]
struct Region {
    what: &'static str,
    member: usize,
    start_bytes: u64,
    length_bytes: u64,
}

/// A store with two recordings, the whole bytes of its members, and where what lies on them.
struct Original {
    images: Vec<Vec<u8>>,
    regions: Vec<Region>,
    results: Vec<Value>,
}

/// What a test may damage; each has its own.
struct Victim {
    members: Members,
}

/// What is left of a damaged store.
#[derive(Debug)]
struct Left {
    /// `verify` finds nothing wrong.
    is_ok: bool,
    /// Every byte of every stream is given back.
    is_whole: bool,
}

fn number(block: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(block[at..at + 4].try_into().unwrap()))
}

/// The appends on a member, as docs/format.md lays them out.
fn regions_of(member: usize, image: &[u8]) -> Vec<Region> {
    let region = |what, start_bytes, length_bytes| Region {
        what,
        member,
        start_bytes,
        length_bytes,
    };
    let names = [
        "superblock A",
        "superblock B",
        "superblock C",
        "superblock D",
    ];
    // The reserved room is under the checksum too.
    let copies = names.into_iter().zip(COPIES);
    let mut regions: Vec<Region> = copies
        .map(|(what, copy)| region(what, copy, BLOCK_BYTES as u64))
        .collect();
    let mut end_bytes = FIRST_SLOT_BYTES;
    regions.push(region("unused before the slots", 68 << 10, 60 << 10));
    for (index, block) in image.chunks(BLOCK_BYTES).enumerate() {
        if !block.starts_with(b"SUSTAPND") {
            continue;
        }
        let start = (index * BLOCK_BYTES) as u64;
        let is_first_of_slot = start.is_multiple_of(SLOT_BYTES);
        let kind = match block[14] {
            1 if is_first_of_slot => ["slot head", "payload", "marks", "seal"],
            1 => ["descriptor", "payload", "marks", "seal"],
            2 => [
                "start descriptor",
                "start payload",
                "start marks",
                "start seal",
            ],
            _ => ["end descriptor", "end payload", "end marks", "end seal"],
        };
        let (append, payload) = (number(block, 60), number(block, 104));
        let places = [
            (0, BLOCK_BYTES as u64),
            (BLOCK_BYTES as u64, payload),
            (BLOCK_BYTES as u64 + payload, number(block, 108)),
            (append - 64, 64),
        ];
        for (what, (offset, length_bytes)) in kind.into_iter().zip(places) {
            if length_bytes > 0 {
                regions.push(region(what, start + offset, length_bytes));
            }
        }
        let filled = BLOCK_BYTES as u64 + payload + number(block, 108);
        let padding = append - 64 - filled;
        if padding > 0 {
            regions.push(region("unused in an append", start + filled, padding));
        }
        if start > end_bytes {
            regions.push(region(
                "unused between appends",
                end_bytes,
                start - end_bytes,
            ));
        }
        end_bytes = start + append;
    }
    regions.push(region(
        "unused behind all",
        end_bytes,
        COPIES[2] - end_bytes,
    ));
    regions
}

/// Made once: what is damaged is always a copy.
static ORIGINAL: LazyLock<Original> = LazyLock::new(Original::new);

impl Original {
    fn new() -> Original {
        let members = Members::new(crate::members::Made::Files, &[MEMBER_BYTES; 2]).unwrap();
        members.create("128KiB");
        let sources = [
            "--from",
            "test:2MB/s,frame=1kB..9kB",
            "--stream",
            "framed",
            "--frames",
            "lines",
            "--from",
            "test:1MB/s",
            "--stream",
            "plain",
            "--frames",
            "none",
            "--bytes",
            "300kB",
            // So that a slot has more than one append.
            "--durable",
            "40ms",
        ];
        let results = (0..2).map(|_| members.record(0, &sources)).collect();
        let images: Vec<Vec<u8>> = members
            .images
            .iter()
            .map(|image| std::fs::read(image).unwrap())
            .collect();
        let regions = images
            .iter()
            .enumerate()
            .flat_map(|(index, image)| regions_of(index, image));
        Original {
            regions: regions.collect(),
            images,
            results,
        }
    }

    /// What these are for, each once.
    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.regions.iter().map(|region| region.what).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// A region of this kind.
    fn region(&self, what: &str, draw: &mut Draw) -> &Region {
        let of_kind: Vec<_> = self
            .regions
            .iter()
            .filter(|region| region.what == what)
            .collect();
        of_kind[usize::try_from(draw.below(of_kind.len() as u64)).unwrap()]
    }
}

impl Victim {
    fn new(original: &Original) -> Victim {
        let members = Members::new(crate::members::Made::Files, &[0; 2]).unwrap();
        let victim = Victim { members };
        (0..2).for_each(|member| victim.heal(original, member));
        victim
    }

    fn heal(&self, original: &Original, member: usize) {
        std::fs::write(&self.members.images[member], &original.images[member]).unwrap();
    }

    fn flip(&self, original: &Original, region: &Region, draw: &mut Draw) -> String {
        let offset = region.start_bytes + draw.below(region.length_bytes);
        let bit = draw.below(8);
        let old = original.images[region.member][usize::try_from(offset).unwrap()];
        let file = OpenOptions::new()
            .write(true)
            .open(&self.members.images[region.member]);
        file.unwrap()
            .write_all_at(&[old ^ (1 << bit)], offset)
            .unwrap();
        format!(
            "bit {bit} of byte {offset} of member {}, {}",
            region.member, region.what
        )
    }

    /// Everything the commands say of it must be true.
    fn look(&self, original: &Original, damage: &str) -> Left {
        let list = sound(self.members.run("list", &["--json", "-"]), damage);
        let verify = sound(self.members.run("verify", &["--json", "-"]), damage);
        if list.code == 0 {
            assert_ne!(verify.code, 2, "{damage}: {verify:#?}");
        }
        let is_ok = verify.code == 0;
        if verify.code != 2 {
            let verified = json_of(&verify.stdout);
            assert_eq!(verified["ok"], is_ok, "{damage}: {verified:#}");
        }
        let mut is_whole = true;
        for result in &original.results {
            for name in ["framed", "plain"] {
                match try_extract(&self.members, whole(&result["recording"]), name) {
                    Ok(extracted) => {
                        extracted.assert_made_for(name);
                        let offered = whole(&stream(result, name)["offered_bytes"]);
                        assert!(extracted.end() <= offered, "{damage}");
                        is_whole &= extracted.end() == offered && extracted.lost.is_empty();
                    }
                    Err(ran) => {
                        sound(ran, damage);
                        is_whole = false;
                    }
                }
            }
        }
        assert!(
            is_whole || !is_ok,
            "{damage}: verify says ok, and bytes are lost"
        );
        Left { is_ok, is_whole }
    }
}

/// Fails if it has panicked or was ended by a signal.
#[track_caller]
fn sound(ran: Ran, damage: &str) -> Ran {
    assert!([0, 1, 2].contains(&ran.code), "{damage}: {ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{damage}: {ran:#?}");
    ran
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is_and_no_wrong_byte_is_given() {
    let mut draw = Draw::new(seed("a_flipped_bit"));
    let original = &*ORIGINAL;
    let left = Victim::new(original).look(original, "no damage");
    assert!(left.is_ok && left.is_whole, "{left:?}");
    let kinds = original.kinds();
    for what in [
        "superblock D",
        "slot head",
        "descriptor",
        "payload",
        "marks",
        "seal",
        "start payload",
        "end payload",
        "unused in an append",
        "unused between appends",
        "unused behind all",
    ] {
        assert!(kinds.contains(&what), "no {what} in {kinds:?}");
    }
    // Several at once, because most of the time is spent waiting for the disk.
    std::thread::scope(|scope| {
        for what in kinds {
            let mut draw = Draw::new(draw.number());
            scope.spawn(move || {
                let victim = Victim::new(original);
                for _ in 0..FLIPS {
                    assert_found(original, &victim, what, &mut draw);
                }
            });
        }
    });
}

/// Damages a region of this kind; everything else must be there, and the damage be told.
#[track_caller]
fn assert_found(original: &Original, victim: &Victim, what: &str, draw: &mut Draw) {
    let region = original.region(what, draw);
    let damage = victim.flip(original, region, draw);
    let left = victim.look(original, &damage);
    let has_bytes = ["slot head", "descriptor", "payload"].contains(&what);
    assert_eq!(left.is_whole, !has_bytes, "{damage}: {left:?}");
    let is_unused = what.starts_with("unused ");
    assert!(left.is_ok || !is_unused, "{damage}: verify says not ok");
    // A start of which the other member has a copy may be taken for one never written, and so may
    // an end mark that is alone in its slot.
    let has_copy = what.starts_with("start ") || what.starts_with("end ");
    assert!(
        !left.is_ok || has_copy || is_unused,
        "{damage}: verify says ok"
    );
    victim.heal(original, region.member);
}

#[test]
fn lost_superblocks_are_healed_by_one_that_is_left() {
    std::thread::scope(|scope| {
        for left in 0..COPIES.len() {
            scope.spawn(move || assert_healed_by(left));
        }
    });
    // None is left: it is no member any more, and the other one tells what is missing.
    let victim = Victim::new(&ORIGINAL);
    let file = OpenOptions::new()
        .write(true)
        .open(&victim.members.images[0])
        .unwrap();
    for offset in COPIES {
        file.write_all_at(&[0; BLOCK_BYTES], offset).unwrap();
    }
    victim.members.run("list", &[]).expect(2).says("member0");
}

/// Leaves this copy only; nothing is lost by it, it is said, and the next recording writes all
/// again.
#[track_caller]
fn assert_healed_by(left: usize) {
    let victim = Victim::new(&ORIGINAL);
    let image = &victim.members.images[0];
    let file = OpenOptions::new().write(true).open(image).unwrap();
    for (copy, offset) in COPIES.iter().enumerate() {
        if copy != left {
            file.write_all_at(&[0xA5; BLOCK_BYTES], *offset).unwrap();
        }
    }
    let damage = format!("only superblock {left} is left");
    let left = victim.look(&ORIGINAL, &damage);
    assert!(left.is_whole && !left.is_ok, "{damage}: {left:?}");
    let source = ["--from", "test:1MB/s", "--bytes", "10kB"];
    victim.members.record(0, &source);
    let image = std::fs::read(image).unwrap();
    for offset in COPIES {
        let at = usize::try_from(offset).unwrap();
        let has_magic = image[at..].starts_with(b"sustain-store");
        assert!(has_magic, "{damage}: {offset}");
    }
}

#[test]
fn a_member_that_is_cut_off_gives_what_is_left_of_it() {
    let mut draw = Draw::new(seed("a_member_that_is_cut_off"));
    let original = &*ORIGINAL;
    std::thread::scope(|scope| {
        for _ in 0..CUT_OFF {
            let mut draw = Draw::new(draw.number());
            scope.spawn(move || {
                let victim = Victim::new(original);
                for member in [0, 1] {
                    assert_cut_off(original, &victim, member, &mut draw);
                }
            });
        }
    });
}

#[track_caller]
fn assert_cut_off(original: &Original, victim: &Victim, member: usize, draw: &mut Draw) {
    let of_data = |region: &&Region| region.member == member && region.what.contains("seal");
    let ends = original.regions.iter().filter(of_data);
    let end_bytes = ends
        .map(|region| region.start_bytes + region.length_bytes)
        .max()
        .unwrap();
    // Somewhere up to a little behind the last append.
    let length_bytes = draw.below(end_bytes + (128 << 10));
    let file = OpenOptions::new()
        .write(true)
        .open(&victim.members.images[member])
        .unwrap();
    file.set_len(length_bytes).unwrap();
    let damage = format!("member {member} is cut off at {length_bytes}");
    let left = victim.look(original, &damage);
    assert!(
        !left.is_ok || length_bytes >= end_bytes,
        "{damage}: verify says ok"
    );
    victim.heal(original, member);
}
