//! A member that loses its newest content as a whole, so that its slots hold what they held before.
//! Another member tells of it, and so does the superblock if the recording had ended in order. If
//! nothing is left that knows more, it is a recording with an open end that is shorter than it was;
//! docs/format.md has why nobody can tell that.

use std::ops::Range;

use serde_json::Value;

use crate::check::extract;
use crate::members::{Members, SMALL, stream, whole};
use crate::support::json_of;

const SLOT_BYTES: usize = 256 << 10;
const MEMBER_BYTES: u64 = 4 << 20;
/// Behind the mark of an append, where its descriptor has its kind, slot serial and recording.
const KIND: usize = 14;
const SLOT_SERIAL: Range<usize> = 48..56;
const RECORDING: Range<usize> = 72..76;
/// The number of the second recording.
const NEWEST: u32 = 2;
/// Laps of each of the two recordings, at least.
const LAPS: u64 = 2;

/// How the newest recording has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    InOrder,
    Killed,
}

/// A ring of two recordings, and what its members held between them.
struct RolledBack {
    members: Members,
    older: Vec<Vec<u8>>,
    /// Where the newest recording ended before anything was put back.
    end_bytes: u64,
}

/// Of a slot: which recording began it as which slot of all laps.
struct Begun {
    slot: usize,
    serial: u64,
}

impl RolledBack {
    fn new(member_count: usize, ended: Ended) -> RolledBack {
        let members = Members::files(&vec![MEMBER_BYTES; member_count]);
        let bytes = LAPS * member_count as u64 * MEMBER_BYTES;
        let flags = ["--ring", "--durable", "50ms", "--from"];
        let in_order = ["test:100MB/s", "--bytes", &bytes.to_string()];
        members.record(0, &[flags.as_slice(), &in_order].concat());
        let images = members.images.iter();
        let older = images.map(|image| std::fs::read(image).unwrap()).collect();
        match ended {
            Ended::InOrder => {
                members.record(0, &[flags.as_slice(), &in_order].concat());
            }
            // Slow enough that little of what a kill leaves was not flushed yet.
            Ended::Killed => kill_after(&members, bytes, &[&flags[..], &["test:8MB/s"]].concat()),
        }
        members.verify(0);
        let mut store = RolledBack {
            members,
            older,
            end_bytes: 0,
        };
        store.end_bytes = store.end();
        store
    }

    /// Slots of a member that the newest recording has begun, in that order, its end included.
    fn begun(&self, image: &[u8]) -> Vec<Begun> {
        let slots = image.chunks_exact(SLOT_BYTES).enumerate().skip(1);
        let is_newest =
            |head: &[u8]| head.starts_with(b"SUSTAPND") && head[RECORDING] == NEWEST.to_le_bytes();
        let mut begun: Vec<Begun> = slots
            .filter(|(_, head)| is_newest(head))
            .map(|(slot, head)| Begun {
                slot,
                serial: u64::from_le_bytes(head[SLOT_SERIAL].try_into().unwrap()),
            })
            .collect();
        begun.sort_by_key(|one| one.serial);
        begun
    }

    /// Puts the newest slots of a member back to what they held a recording before.
    fn put_back(&self, member: usize, count: usize) {
        let path = &self.members.images[member];
        let mut image = std::fs::read(path).unwrap();
        let begun = self.begun(&image);
        assert!(begun.len() > count, "{} slots", begun.len());
        for Begun { slot, .. } in &begun[begun.len() - count..] {
            let range = slot * SLOT_BYTES..(slot + 1) * SLOT_BYTES;
            let older = &self.older[member][range.clone()];
            assert!(
                older.starts_with(b"SUSTAPND"),
                "no older lap in slot {slot}"
            );
            image[range].copy_from_slice(older);
        }
        std::fs::write(path, image).unwrap();
    }

    /// Punches out everything behind the last append of data of a member.
    fn punch_out_end(&self, member: usize) {
        let path = &self.members.images[member];
        let mut image = std::fs::read(path).unwrap();
        let last = self.begun(&image).pop().unwrap();
        let slot = &mut image[last.slot * SLOT_BYTES..(last.slot + 1) * SLOT_BYTES];
        let blocks = slot.chunks_mut(4096);
        let of_end =
            blocks.skip_while(|block| !(block.starts_with(b"SUSTAPND") && block[KIND] == 3));
        of_end.for_each(|block| block.fill(0));
        std::fs::write(path, image).unwrap();
    }

    /// How `list` says that the newest recording has ended, if it has.
    fn listed_end(&self) -> Value {
        let list = self.members.list();
        let recordings = list["recordings"].as_array().unwrap();
        let found = recordings.iter().find(|one| one["recording"] == NEWEST);
        found.unwrap_or_else(|| panic!("{list:#}"))["ended"].clone()
    }

    /// Fails if a wrong byte comes out. Gives where the stream ends.
    #[track_caller]
    fn end(&self) -> u64 {
        let extracted = extract(&self.members, NEWEST.into(), "main");
        extracted.assert_made_for("main");
        extracted.end()
    }
}

/// Records until so much was durable, and kills the recorder.
fn kill_after(members: &Members, bytes: u64, flags: &[&str]) {
    const STATUS: &str = "status.json";
    let status = members.place.path(STATUS);
    let flags = [SMALL, &["--status", STATUS], flags].concat();
    let mut running = members.start("record", &flags);
    let is_written = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let (lines, _) = text.rsplit_once('\n').unwrap_or_default();
        let last = lines.lines().last().map(json_of);
        last.is_some_and(|line| whole(&stream(&line, "main")["settled_bytes"]) >= bytes)
    };
    assert!(running.becomes(is_written), "{:#?}", running.finish());
    running.kill();
}

#[test]
fn a_tail_that_is_put_back_after_an_end_in_order_is_told_by_the_superblock() {
    let store = RolledBack::new(1, Ended::InOrder);
    store.put_back(0, 1);
    let verified = store.members.verify(1);
    assert!(
        verified["bad"].to_string().contains("end mark"),
        "{verified:#}"
    );
    assert_eq!(store.listed_end(), Value::Null);
    assert!(store.end() < store.end_bytes);
}

#[test]
fn a_tail_that_is_punched_out_after_an_end_in_order_is_told_by_the_superblock() {
    let store = RolledBack::new(1, Ended::InOrder);
    store.punch_out_end(0);
    let verified = store.members.verify(1);
    assert!(
        verified["bad"].to_string().contains("end mark"),
        "{verified:#}"
    );
    assert_eq!(store.listed_end(), Value::Null);
    assert_eq!(store.end(), store.end_bytes);
}

#[test]
fn a_tail_that_is_put_back_on_all_members_after_a_crash_cannot_be_told() {
    // The newest slot may have only a start of the recording.
    std::thread::scope(|scope| {
        for count in [2, 4] {
            scope.spawn(move || assert_cannot_be_told(count));
        }
    });
}

#[track_caller]
fn assert_cannot_be_told(count: usize) {
    let store = RolledBack::new(1, Ended::Killed);
    store.put_back(0, count);
    // Everything that is left is whole and names only what came before.
    store.members.verify(0);
    assert_eq!(store.listed_end(), Value::Null);
    let lost_bytes = store.end_bytes - store.end();
    assert!(lost_bytes > 0);
    assert!(lost_bytes <= (count * SLOT_BYTES) as u64, "{lost_bytes}");
}

#[test]
fn a_tail_that_is_put_back_on_one_member_is_told_by_the_others() {
    std::thread::scope(|scope| {
        for (count, ended) in [(1, Ended::InOrder), (8, Ended::Killed)] {
            scope.spawn(move || assert_told_by_the_other(count, ended));
        }
    });
}

#[track_caller]
fn assert_told_by_the_other(count: usize, ended: Ended) {
    let store = RolledBack::new(2, ended);
    store.put_back(1, count);
    let verified = store.members.verify(1);
    assert_ne!(verified["bad"], Value::Array(Vec::new()), "{verified:#}");
    // The other member has an end mark, too, and may have the newest bytes.
    assert_eq!(store.listed_end() == Value::Null, ended == Ended::Killed);
    store.end();
}
