//! Stores with parity: what their members had comes back without them, also when one is lost in
//! mid-recording, and what cannot protect anything is refused.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use sustain::record::Mode;
use sustain::record::format::{Descriptor, Kind};
use sustain::{RecordOptions, Recorder, Roots, Store};

use crate::recorded::{AT_MOST, content, document};
use crate::support::{Place, json_of, ran, unwrapped};

pub const MEMBERS: [&str; 4] = ["a", "b", "c", "d"];

/// Makes a store of members of these sizes with parity.
pub fn create(place: &Place, sizes_mib: [u64; 4], parity: &str) {
    create_on(place, &MEMBERS, &sizes_mib, parity);
}

/// The same of these members.
pub fn create_on(place: &Place, members: &[&'static str], sizes_mib: &[u64], parity: &str) {
    create_with_slots(place, (members, sizes_mib), parity, "1MiB");
}

/// The same with slots of this size.
fn create_with_slots(
    place: &Place,
    (members, sizes_mib): (&[&'static str], &[u64]),
    parity: &str,
    slot: &str,
) {
    for (name, mib) in members.iter().zip(sizes_mib) {
        let file = File::create(place.path(name)).unwrap();
        file.set_len(mib << 20).unwrap();
    }
    let destroy = members.iter().flat_map(|name| ["--destroy", name]);
    let mut create = vec!["create", "--slot", slot, "--no-prewrite"];
    create.extend(["--parity", parity, "--same-disk"]);
    create.extend(members);
    create.extend(destroy);
    place.run(&create).expect(0);
}

/// A store of three members of this size with one parity, and a recording of so many bytes on it.
fn recorded_on_three(size_mib: u64, bytes: usize) -> Place {
    let place = Place::new();
    create_on(&place, &["a", "b", "c"], &[size_mib; 3], "1");
    fs::write(place.path("in"), content(bytes)).unwrap();
    place
        .run(&["record", "--from", "in", "a", "b", "c"])
        .expect(0);
    place
}

/// The members but these.
pub fn without(gone: &[&str]) -> Vec<&'static str> {
    let there = MEMBERS.iter().filter(|name| !gone.contains(name));
    there.copied().collect()
}

/// Extracts everything from these members.
pub fn extracted(place: &Place, members: &[&str]) -> Vec<u8> {
    let _ = fs::remove_file(place.path("out"));
    let extract = [&["extract"], members, &["-o", "out"]].concat();
    place.run(&extract).expect(0);
    fs::read(place.path("out")).unwrap()
}

#[test]
fn any_two_of_four_unequal_members_may_be_gone() {
    let place = Place::new();
    create(&place, [24, 40, 28, 33], "2");
    let content = content(20_000_001);
    fs::write(place.path("in"), &content).unwrap();
    let record = [&["record", "--from", "in", "--json", "r"], &MEMBERS[..]].concat();
    let told = unwrapped(&place.run(&record).expect(0).stderr);
    let protected = "All of it is protected from the loss of any 2 members";
    assert!(told.contains(protected), "{told}");
    let result = json_of(&place.read("r"));
    assert_eq!(result["plan"]["parity"], 2);
    assert_eq!(result["streams"][0]["protected_bytes"], 20_000_001);
    let listed = document(&place, 0, &[&["list"], &MEMBERS[..]].concat());
    assert_eq!(listed["recordings"][0]["parity"], 2);
    for (first, second) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        let left = without(&[MEMBERS[first], MEMBERS[second]]);
        assert!(
            extracted(&place, &left) == content,
            "without {first}, {second}"
        );
    }
    let checked = document(&place, 1, &["verify", "a", "d"]);
    assert_eq!(checked["bad"].as_array().unwrap().len(), 2, "{checked}");
    assert_eq!(checked["recordings"][0]["streams"][0]["hole_bytes"], 0);
    let beyond = place.run(&["extract", "d", "-o", "less"]);
    assert_eq!(beyond.expect(1).stdout, "");
}

#[test]
fn the_library_waits_until_bytes_are_durable_and_protected() {
    let place = Place::new();
    create(&place, [40, 40, 40, 40], "1");
    let paths = MEMBERS.map(|name| place.path(name).to_str().unwrap().to_owned());
    let content = content(3_000_000);
    for (parities, at_most) in [(None, AT_MOST), (Some(0), Duration::ZERO)] {
        let store = Store::open(&paths, Mode::Record, &Roots::default()).unwrap();
        let options = RecordOptions {
            parities,
            ..RecordOptions::default()
        };
        let mut recorder = Recorder::start(store, ["main"], options).unwrap();
        let mut writer = recorder.writer("main").unwrap();
        for piece in content.chunks(100_000) {
            let mut filling = writer.lend().unwrap();
            filling.spare_mut()[..piece.len()].copy_from_slice(piece);
            filling.take(piece.len(), &[], writer.now_ns());
            writer.commit(filling);
        }
        let board = recorder.board();
        assert!(board.wait_durable(0, 3_000_000, AT_MOST));
        assert_eq!(
            board.wait_protected(0, 3_000_000, at_most),
            parities.is_none()
        );
        assert!(!board.wait_durable(0, 3_000_001, Duration::ZERO));
        drop(writer);
        recorder.finish().unwrap();
    }
}

/// Files of as many members as parity replaces are cut off while they are recorded to: nothing of
/// them can be read any more. `SUSTAIN_ROUNDS` says how often that is tried.
#[test]
fn members_that_are_cut_off_in_mid_recording_take_nothing_with_them() {
    let rounds = std::env::var("SUSTAIN_ROUNDS").map_or(5, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        // One and two of four, and the copy of a mirror.
        let (count, parities) = [(4, 1), (4, 2), (2, 1), (3, 1), (3, 2)][round % 5];
        cut_off(round, &MEMBERS[..count], parities);
    }
}

/// A recording that was begun, and where its stream comes from.
fn begun(place: &Place, arguments: &[&str]) -> (Child, ChildStdin) {
    let mut command = place.command(&[&["record"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut recorder = command.stderr(Stdio::piped()).spawn().unwrap();
    let source = recorder.stdin.take().unwrap();
    (recorder, source)
}

/// Whether a member has an append so far behind the beginning of its first slot, with slots of 1 MiB.
fn has_append(place: &Place, name: &str, offset_bytes: u64) -> bool {
    let mut magic = [0; 8];
    let file = File::open(place.path(name)).unwrap();
    let read = file.read_exact_at(&mut magic, (1 << 20) + offset_bytes);
    read.is_ok() && magic == *b"SUSTAPND"
}

/// How many appends of data a member has.
fn data_appends(place: &Place, name: &str) -> usize {
    let bytes = fs::read(place.path(name)).unwrap();
    let heads = bytes.chunks_exact(4096).map(Descriptor::decode);
    let heads = heads.filter(|head| matches!(head, Ok((head, _)) if head.kind == Kind::Data));
    heads.count()
}

/// How much of the stream is protected by the last whole line of the file `status`.
fn protected_bytes(place: &Place) -> u64 {
    let told = std::fs::read_to_string(place.path("status")).unwrap_or_default();
    let whole = told.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let last = whole.lines().last().map(serde_json::from_str::<Value>);
    last.map_or(0, |last| {
        last.unwrap()["streams"][0]["protected_settled_bytes"]
            .as_u64()
            .unwrap_or(0)
    })
}

fn wait_until_protected(place: &Place, bytes: u64, recorder: &mut Child) {
    while protected_bytes(place) < bytes {
        std::thread::yield_now();
        assert!(recorder.try_wait().unwrap().is_none(), "it ended");
    }
}

/// Cuts the file of a member off, with slots of 1 MiB.
fn cut(place: &Place, name: &str) {
    // Before anything is on it, the superblocks that are renewed make it long again.
    let has_begun = (0..1_000_000).any(|_| has_append(place, name, 0));
    assert!(has_begun, "it never began");
    let file = OpenOptions::new().write(true).open(place.path(name));
    file.unwrap().set_len(8192).unwrap();
}

#[test]
fn a_member_is_rebuilt_beside_a_recording_and_complete_when_that_has_ended() {
    let place = Place::new();
    create(&place, [60; 4], "1");
    let content = content(30_000_000);
    let status = [&["--status", "status"], &MEMBERS[..]].concat();
    let (mut recorder, mut source) = begun(&place, &status);
    // Something is to be rebuilt: more than the start, which takes 8 KiB. A long append does not
    // fit behind it, and begins the next slot.
    let has_more = || [8 << 10, 1 << 20].map(|at| has_append(&place, "c", at));
    let mut pieces = content.chunks(500_000);
    let mut sent_bytes = 0;
    while !(0..50_000).any(|_| has_more().contains(&true)) {
        let piece = pieces.next().unwrap();
        source.write_all(piece).unwrap();
        sent_bytes += piece.len() as u64;
    }
    for piece in pieces.by_ref().take(10) {
        source.write_all(piece).unwrap();
    }
    // On a slow disk the parity from which it is rebuilt comes late.
    while protected_bytes(&place) < sent_bytes {
        std::thread::yield_now();
        assert!(recorder.try_wait().unwrap().is_none(), "it ended");
    }
    cut(&place, "c");
    let there = ["a", "b", "d"];
    let flags = ["--onto", "new", "--same-disk", "--json", "repaired"];
    let mut command = place.command(&[&["repair"], &there[..], &flags].concat());
    let mut rebuilder = command.stderr(Stdio::piped()).spawn().unwrap();
    let told = BufReader::new(rebuilder.stderr.take().unwrap());
    let mut told = told.lines().map(Result::unwrap);
    assert!(told.any(|line| line.contains("being recorded to")));
    assert!(told.any(|line| line.contains("waiting for the recording to end")));
    assert!(recorder.try_wait().unwrap().is_none(), "it goes on");
    let other = [&["repair"], &there[..], &["--onto", "other", "--same-disk"]].concat();
    let refused = unwrapped(&place.run(&other).expect(2).stderr);
    assert!(refused.contains("is being rebuilt"), "{refused}");
    assert!(!place.path("other").exists());
    let listed = place.run(&["list", "a", "b", "new", "d"]).expect(0).stderr;
    let under_way = "new is left out: another command is rebuilding a lost member onto it";
    assert!(unwrapped(&listed).contains(under_way), "{listed}");
    pieces.for_each(|piece| source.write_all(piece).unwrap());
    drop(source);
    let recorded = ran(recorder.wait_with_output().unwrap()).expect(1);
    let recorded = unwrapped(&recorded.stderr);
    assert!(recorded.contains("Nothing was lost"), "{recorded}");
    let rest: Vec<String> = told.collect();
    assert_eq!(rebuilder.wait().unwrap().code(), Some(0), "{rest:?}");
    let repaired = json_of(&place.read("repaired"));
    assert!(repaired["kept_bytes"].as_u64() > Some(0), "{repaired}");
    let members = ["a", "b", "new", "d"];
    place.run(&[&["verify"], &members[..]].concat()).expect(0);
    for gone in ["", "a", "b", "new", "d"] {
        let there = members.iter().filter(|name| **name != gone);
        let there: Vec<&str> = there.copied().collect();
        assert!(extracted(&place, &there) == content, "without {gone}");
    }
}

#[test]
fn parity_for_one_recording_of_members_on_one_disk_is_noted() {
    let place = Place::new();
    let plain = [
        "create",
        "--slot",
        "1MiB",
        "--no-prewrite",
        "--size",
        "40MiB",
    ];
    place.run(&[&plain[..], &MEMBERS].concat()).expect(0);
    fs::write(place.path("in"), content(1_000_000)).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    let told = unwrapped(&place.run(&record).expect(0).stderr);
    assert!(!told.contains("does not protect"), "{told}");
    let with_parity = [&record[..], &["--parity", "1"]].concat();
    let told = unwrapped(&place.run(&with_parity).expect(0).stderr);
    assert!(told.contains("a and b and c and d are on one"), "{told}");
    assert!(
        told.contains("--parity does not protect from that"),
        "{told}"
    );
}

/// Behind a crash, what was not protected may be missing with a member. Where others tell that they
/// had all the same, that is no loss; one of a mirror alone may itself be old.
#[test]
fn an_unknown_end_without_a_member_is_a_loss_where_nobody_else_tells_of_it() {
    for (members, code) in [(&MEMBERS[..2], 1), (&MEMBERS[..3], 0)] {
        let place = Place::new();
        create_on(&place, members, &vec![40; members.len()], "1");
        let options = ["--status", "status", "--durable", "100ms"];
        let (mut recorder, mut source) = begun(&place, &[&options[..], members].concat());
        source.write_all(&content(6_000_000)).unwrap();
        wait_until_protected(&place, 6_000_000, &mut recorder);
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        let extract = [&["extract", "-o", "out"], &members[1..]].concat();
        let told = unwrapped(&place.run(&extract).expect(code).stderr);
        assert!(told.contains("no end mark of it"), "{told}");
        assert!(fs::read(place.path("out")).unwrap() == content(6_000_000));
    }
}

/// Of two parities, one replaces the missing member, and the other one what was written over on
/// another member, be it the beginnings of appends or what is behind them.
#[test]
fn without_a_member_and_with_a_damaged_one_two_parities_give_all() {
    let place = Place::new();
    let members = ["a", "b", "c", "d", "e"];
    create_on(&place, &members, &[40; 5], "2");
    let content = content(24_000_000);
    fs::write(place.path("in"), &content).unwrap();
    place
        .run(&[&["record", "--from", "in"], &members[..]].concat())
        .expect(0);
    let damaged = File::options().write(true).open(place.path("b")).unwrap();
    for slot in 1..30 {
        let zeros = [0; 300 << 10];
        damaged
            .write_all_at(&zeros, (slot << 20) + (200 << 10) * (slot % 4))
            .unwrap();
    }
    for missing in ["a", "c", "d", "e"] {
        let there: Vec<&str> = members.into_iter().filter(|one| *one != missing).collect();
        assert!(extracted(&place, &there) == content, "without {missing}");
    }
}

#[test]
fn an_earlier_state_that_is_put_back_after_a_kill_is_recognised() {
    put_back_after_a_kill(false, &[]);
}

#[test]
fn an_earlier_state_that_is_put_back_after_a_ring_was_killed_is_recognised() {
    put_back_after_a_kill(false, &["--ring"]);
}

#[test]
fn an_earlier_state_that_is_put_back_after_recovering_is_recognised() {
    put_back_after_a_kill(true, &[]);
}

/// An earlier state of a member is put back after a recording that was killed, and recovered or
/// not: all that was protected is read, and nothing is recorded over it.
fn put_back_after_a_kill(recovers: bool, ring: &[&str]) {
    let place = Place::new();
    create(&place, [60; 4], "1");
    let content = content(24_100_000);
    let options = ["--status", "status", "--durable", "100ms"];
    let (mut recorder, mut source) = begun(&place, &[&options[..], ring, &MEMBERS].concat());
    let mut before = [0; MEMBERS.len()];
    let mut given = [0; MEMBERS.len()];
    let mut sent_bytes = 0;
    for (piece, bytes) in content.chunks(8_000_000).enumerate() {
        source.write_all(bytes).unwrap();
        sent_bytes += bytes.len() as u64;
        wait_until_protected(&place, sent_bytes, &mut recorder);
        match piece {
            0 => {
                before = MEMBERS.map(|name| data_appends(&place, name));
                for name in MEMBERS {
                    fs::copy(place.path(name), place.path(&format!("old {name}"))).unwrap();
                }
            }
            // What comes later tells that this was durable.
            1 => given = MEMBERS.map(|name| data_appends(&place, name)),
            _ => {}
        }
    }
    let most = (0..MEMBERS.len()).max_by_key(|one| given[*one] - before[*one]);
    let old = MEMBERS[most.unwrap()];
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    if recovers {
        place.run(&[&["recover"], &MEMBERS[..]].concat()).expect(0);
    }
    fs::rename(place.path(&format!("old {old}")), place.path(old)).unwrap();
    let of_first = |members: &[&str]| {
        let _ = fs::remove_file(place.path("out"));
        let of = ["--recording", "1", "-o", "out"];
        let ran = place.run(&[&["extract"], members, &of].concat());
        assert!(ran.code == 0 || !ring.is_empty(), "{}", ran.stderr);
        let out = fs::read(place.path("out")).unwrap();
        // In a ring, nothing tells that what came last was durable.
        let least_bytes = if ring.is_empty() {
            content.len()
        } else {
            24_000_000
        };
        assert!(
            content.starts_with(&out) && out.len() >= least_bytes,
            "{} of {}: {}",
            out.len(),
            content.len(),
            ran.stderr
        );
    };
    of_first(&without(&[old]));
    of_first(&MEMBERS);
    fs::write(place.path("in"), &content[..3_000_000]).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    let recorded = unwrapped(&place.run(&record).expect(0).stderr);
    assert!(
        recorded.contains(&format!("{old} does not have all")),
        "{recorded}"
    );
    of_first(&MEMBERS);
    repair(&place, &without(&[old]), old);
    let other = MEMBERS.into_iter().find(|name| *name != old);
    of_first(&without(&[other.unwrap()]));
}

#[test]
fn beside_a_ring_nothing_is_rebuilt() {
    let place = Place::new();
    create(&place, [60; 4], "1");
    let (recorder, mut source) = begun(&place, &[&["--ring"], &MEMBERS[..]].concat());
    source.write_all(&content(8_000_000)).unwrap();
    cut(&place, "c");
    let flags = ["--onto", "new", "--same-disk"];
    let told = place.refusal(&[&["repair", "a", "b", "d"], &flags[..]].concat());
    assert!(unwrapped(&told).contains("in a ring"), "{told}");
    assert!(!place.path("new").exists());
    drop(source);
    ran(recorder.wait_with_output().unwrap());
}

fn cut_off(round: usize, members: &[&'static str], parities: usize) {
    let place = Place::new();
    create_on(
        &place,
        members,
        &vec![60; members.len()],
        &parities.to_string(),
    );
    let content = content(20_000_000 + round);
    let (recorder, mut source) = begun(&place, &[&["--json", "r"], members].concat());
    let first = round * 7 % members.len();
    let lost = (0..parities).map(|more| members[(first + more) % members.len()]);
    let lost: Vec<&str> = lost.collect();
    // Anywhere, in rounds that follow each other far apart; both at once, or the second one later.
    let mut cuts: Vec<usize> = (0..parities)
        .map(|more| content.len() / 97 * (1 + (round * 38 + more * (round % 3) * 11) % 95))
        .collect();
    cuts.sort_unstable();
    let mut sent = 0;
    for (name, cut_at) in lost.iter().zip(&cuts) {
        source.write_all(&content[sent..*cut_at]).unwrap();
        sent = *cut_at;
        cut(&place, name);
    }
    source.write_all(&content[sent..]).unwrap();
    drop(source);
    let ran = ran(recorder.wait_with_output().unwrap());
    let what = format!("round {round}: {lost:?} of {members:?} were cut off behind {cuts:?}");
    let told = unwrapped(&ran.expect(1).stderr);
    // Where a member fails while another one stands still, the recorder does not know for sure.
    let is_sound = told.contains("Nothing was lost") || told.contains("Up to");
    assert!(is_sound, "{what}: {told}");
    for name in &lost {
        assert!(told.contains(*name), "{what}: {told}");
    }
    let there = members.iter().filter(|name| !lost.contains(*name));
    let mut there: Vec<&str> = there.copied().collect();
    assert!(extracted(&place, &there) == content, "{what}");
    for name in &lost {
        fs::rename(place.path(name), place.path("failed")).unwrap();
        repair(&place, &there, name);
        there.push(*name);
    }
    // What came when a single member was left has its parity now.
    let verified = place.run(&[&["verify"], members].concat()).expect(0);
    let told = unwrapped(&verified.stdout);
    assert!(told.contains(": all of it"), "{what}: {told}");
    let others = (0..members.len() - parities).map(|more| members[(first + more) % members.len()]);
    let others: Vec<&str> = others.collect();
    assert!(
        extracted(&place, &others) == content,
        "{what}, and read by {others:?}"
    );
}

/// Rebuilds what is missing onto a new file, with nothing lost.
fn repair(place: &Place, there: &[&str], onto: &str) -> Value {
    let flags = ["--onto", onto, "--same-disk", "--json", "repaired"];
    place.run(&[&["repair"], there, &flags].concat()).expect(0);
    let repaired = json_of(&place.read("repaired"));
    fs::remove_file(place.path("repaired")).unwrap();
    assert_eq!(repaired["lost"]["appends"], 0, "{repaired}");
    assert_eq!(repaired["unprotected_groups"], 0, "{repaired}");
    repaired
}

#[test]
fn two_lost_members_are_rebuilt_and_the_store_is_whole_and_recorded_to_again() {
    let place = Place::new();
    create(&place, [44, 60, 48, 53], "2");
    let content = content(20_000_001);
    fs::write(place.path("in"), &content).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    place.run(&record).expect(0);
    for name in ["a", "c"] {
        fs::rename(place.path(name), place.path(&format!("lost-{name}"))).unwrap();
    }
    let repaired = repair(&place, &["b", "d"], "a");
    assert_eq!(repaired["member"]["number"], 1);
    assert_eq!(repaired["still_missing"].as_array().unwrap().len(), 1);
    assert_eq!(repaired["still_missing"][0]["number"], 3);
    let repaired = repair(&place, &["d", "a", "b"], "c");
    assert_eq!(repaired["still_missing"], json!([]));
    let bytes = |kind: &str| repaired[kind]["bytes"].as_u64().unwrap();
    assert!(bytes("data") + bytes("parity") > 5_000_000, "{repaired}");
    let verify = [&["verify"], &MEMBERS[..]].concat();
    let told = place.run(&verify).expect(0).stdout;
    assert!(told.contains("any 2 members: all of it"), "{told}");
    place.run(&record).expect(0);
    place.run(&verify).expect(0);
    for recording in ["1", "2"] {
        for left in [["a", "b"], ["b", "d"], ["c", "d"], ["a", "c"]] {
            let _ = fs::remove_file(place.path("out"));
            let of = ["--recording", recording, "-o", "out"];
            place
                .run(&[&["extract"], &left[..], &of].concat())
                .expect(0);
            assert!(fs::read(place.path("out")).unwrap() == content, "{left:?}");
        }
    }
    // The members that were lost do not take their places again.
    let told = place.refusal(&["list", "a", "b", "c", "d", "lost-a"]);
    assert!(told.contains("the same member as a"), "{told}");
}

/// Starts and end marks are in no group. Some recordings have nothing on a member but these and
/// parity, and the parity of one ends where its last slot does.
#[test]
fn a_rebuilt_member_alone_gives_every_recording() {
    let place = Place::new();
    let members = &MEMBERS[..3];
    create_with_slots(&place, (members, &[8; 3]), "2", "64KiB");
    let contents = [1, 3_000_000, 300_000, 0, 2_000_000, 1].map(content);
    for content in &contents {
        fs::write(place.path("in"), content).unwrap();
        let record = [&["record", "--from", "in"], members].concat();
        place.run(&record).expect(0);
    }
    for lost in members {
        fs::rename(place.path(lost), place.path("lost")).unwrap();
        let there: Vec<&str> = members.iter().copied().filter(|one| one != lost).collect();
        repair(&place, &there, lost);
        place.run(&[&["verify"], members].concat()).expect(0);
        for (number, content) in (1..).zip(&contents) {
            let _ = fs::remove_file(place.path("out"));
            let number = format!("{number}");
            let extract = ["extract", lost, "--recording", &number, "-o", "out"];
            place.run(&extract).expect(0);
            let out = fs::read(place.path("out")).unwrap();
            assert!(out == *content, "recording {number} of {lost} alone");
        }
        fs::rename(place.path("lost"), place.path(lost)).unwrap();
    }
}

/// Turns every byte of a stretch of a member over.
pub fn damage(place: &Place, name: &str, offset_bytes: u64, length_bytes: usize) {
    let mut bytes = vec![0; length_bytes];
    let file = File::options()
        .read(true)
        .write(true)
        .open(place.path(name));
    let file = file.unwrap();
    file.read_exact_at(&mut bytes, offset_bytes).unwrap();
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
    file.write_all_at(&bytes, offset_bytes).unwrap();
}

#[test]
fn a_member_that_was_left_behind_or_is_damaged_is_repaired_onto_itself() {
    let place = Place::new();
    create(&place, [60, 60, 60, 60], "1");
    let content = content(20_000_001);
    fs::write(place.path("in"), &content).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    let verify = [&["verify"], &MEMBERS[..]].concat();
    place.run(&record).expect(0);
    fs::copy(place.path("b"), place.path("old")).unwrap();
    place.run(&record).expect(0);
    // An earlier state is put back.
    fs::rename(place.path("old"), place.path("b")).unwrap();
    place.run(&verify).expect(1);
    // A recorder that waits for a member keeps the store locked behind its end.
    let locked = File::open(place.path("a")).unwrap();
    locked.lock().unwrap();
    assert!(extracted(&place, &MEMBERS) == content, "beside a lock");
    locked.unlock().unwrap();
    repair(&place, &without(&["b"]), "b");
    place.run(&verify).expect(0);
    // A stretch of several slots, and single bytes, also of what no group has.
    damage(&place, "c", 3 << 20, 2 << 20);
    damage(&place, "c", (1 << 20) + 5000, 1);
    damage(&place, "c", (2 << 20) + 300_000, 1);
    place.run(&verify).expect(1);
    let repaired = repair(&place, &without(&["c"]), "c");
    assert!(
        repaired["kept_bytes"].as_u64() > Some(1 << 20),
        "{repaired}"
    );
    let told = place.run(&verify).expect(0).stdout;
    assert!(told.contains("any one member: all of it"), "{told}");
    place.run(&record).expect(0);
    for (recording, gone) in [("1", "a"), ("2", "d"), ("3", "a"), ("1", "b"), ("2", "c")] {
        let _ = fs::remove_file(place.path("out"));
        let of = ["--recording", recording, "-o", "out"];
        place
            .run(&[&["extract"], &without(&[gone])[..], &of].concat())
            .expect(0);
        assert!(
            fs::read(place.path("out")).unwrap() == content,
            "{recording} {gone}"
        );
    }
}

/// Parity that is damaged is made again in its place, also at the end of a slot, where too
/// little is left for another append.
#[test]
fn parity_in_every_slot_has_its_place_again() {
    let place = Place::new();
    create(&place, [40, 40, 40, 40], "1");
    fs::write(place.path("in"), content(50_000_000)).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    place.run(&record).expect(0);
    for slot in 1..20 {
        damage(&place, "b", (slot << 20) + 700_000, 1);
    }
    let repaired = repair(&place, &without(&["b"]), "b");
    assert_eq!(repaired["unprotected_groups"], 0, "{repaired}");
    let verify = [&["verify"], &MEMBERS[..]].concat();
    let told = place.run(&verify).expect(0).stdout;
    assert!(told.contains("any one member: all of it"), "{told}");
}

#[test]
fn scrub_puts_back_byte_for_byte_what_is_damaged_on_several_members() {
    let place = Place::new();
    create(&place, [40, 40, 40, 40], "1");
    let content = content(50_000_000);
    fs::write(place.path("in"), &content).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    place.run(&record).expect(0);
    let scrub = [&["scrub"], &MEMBERS[..]].concat();
    let verify = [&["verify"], &MEMBERS[..]].concat();
    let bytes = |name| fs::read(place.path(name)).unwrap();
    let before = MEMBERS.map(bytes);
    let scrubbed = document(&place, 0, &scrub);
    assert_eq!(scrubbed["bad_places"], 0);
    assert!(MEMBERS.map(bytes) == before, "a whole store is not written");

    // Bytes, a stretch of an append, and the beginning of a slot. No two members lose anything of
    // one group.
    damage(&place, "a", (3 << 20) + 70_000, 1);
    damage(&place, "c", (7 << 20) + 4096, 300_000);
    damage(&place, "b", (11 << 20) + 500_000, 1);
    place.run(&verify).expect(1);
    let scrubbed = document(&place, 0, &scrub);
    assert!(scrubbed["bad_places"].as_u64() >= Some(3), "{scrubbed}");
    let members = scrubbed["members"].as_array().unwrap().iter();
    let names: Vec<&str> = members
        .filter_map(|one| one["member"]["name"].as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(scrubbed["check"]["ok"], true);
    assert!(MEMBERS.map(bytes) == before, "all is as it was");

    // More than parity replaces: what can be put back is, and the rest stays as it is.
    damage(&place, "a", 2 << 20, 8 << 20);
    damage(&place, "b", 2 << 20, 8 << 20);
    let damaged = bytes("a");
    let scrubbed = document(&place, 1, &scrub);
    assert_eq!(scrubbed["check"]["ok"], false);
    let after = bytes("a");
    let differs = (0..after.len()).filter(|at| after[*at] != damaged[*at]);
    for at in differs {
        assert_eq!(after[at], before[0][at], "byte {at} is neither");
    }

    let told = unwrapped(&place.refusal(&["scrub", "a", "b", "c"]));
    assert!(
        told.contains("missing of the store: member 4 (UUID"),
        "{told}"
    );
    let plain = ["create", "p", "--size", "40MiB", "--no-prewrite"];
    place.run(&plain).expect(0);
    let told = unwrapped(&place.refusal(&["scrub", "p"]));
    assert!(told.contains("the store has no parity"), "{told}");
}

/// Where a block of another member is damaged, the rest of the append that is computed from it can
/// be read before a repair, and after it.
#[test]
fn what_can_be_computed_in_part_is_rebuilt_in_part() {
    let place = Place::new();
    create(&place, [40; 4], "1");
    fs::write(place.path("in"), content(50_000_000)).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    place.run(&record).expect(0);
    for slot in 3..9 {
        damage(&place, "a", (slot << 20) + 700_000, 1);
    }
    let there = without(&["b"]);
    let rest_of = |members: &[&str]| {
        let _ = fs::remove_file(place.path("out"));
        let flags = ["--holes", "skip", "-o", "out"];
        place
            .run(&[&["extract"], members, &flags].concat())
            .expect(0);
        fs::read(place.path("out")).unwrap()
    };
    let before = rest_of(&there);
    assert!(before.len() < 50_000_000 && before.len() > 48_000_000);
    fs::remove_file(place.path("b")).unwrap();
    let flags = ["--onto", "b", "--same-disk"];
    place
        .run(&[&["repair"], &there[..], &flags].concat())
        .expect(1);
    assert!(rest_of(&MEMBERS) == before, "it is less");
}

#[test]
fn what_no_parity_protected_is_told_after_a_repair() {
    let place = Place::new();
    for name in MEMBERS {
        let file = File::create(place.path(name)).unwrap();
        file.set_len(40 << 20).unwrap();
    }
    let destroy = MEMBERS.iter().flat_map(|name| ["--destroy", name]);
    let mut create = vec!["create", "--slot", "1MiB", "--no-prewrite"];
    create.extend(MEMBERS);
    create.extend(destroy);
    place.run(&create).expect(0);
    fs::write(place.path("in"), content(8_000_000)).unwrap();
    let record = [&["record", "--from", "in"], &MEMBERS[..]].concat();
    let json = ["--json", "r"];
    place.run(&[&record[..], &json].concat()).expect(0);
    let protected = ["--parity", "1"];
    place.run(&[&record[..], &protected].concat()).expect(0);
    // Most of it lies where the disk was ready first.
    let result = json_of(&place.read("r"));
    let members = result["members"].as_array().unwrap().iter();
    let most = members
        .max_by_key(|member| member["bytes"].as_u64())
        .unwrap();
    let gone = most["name"].as_str().unwrap();
    fs::remove_file(place.path(gone)).unwrap();
    let flags = ["--onto", gone, "--same-disk", "--json", "-"];
    let repair = [&["repair"], &without(&[gone])[..], &flags].concat();
    let repaired = json_of(&place.run(&repair).expect(1).stdout);
    assert!(
        repaired["missing_bytes"].as_u64() > Some(1_000_000),
        "{repaired}"
    );
    place.run(&[&["verify"], &MEMBERS[..]].concat()).expect(1);
}

#[test]
fn each_member_of_a_mirror_is_rebuilt_also_the_one_that_has_all_parity() {
    let place = Place::new();
    let create = ["create", "a", "b", "--slot", "1MiB", "--size", "40MiB"];
    place
        .run(&[&create[..], &["--no-prewrite"]].concat())
        .expect(0);
    fs::write(place.path("in"), content(100_000)).unwrap();
    // The store has no parity by default, and the recording has one group.
    let record = ["record", "--from", "in", "a", "b", "--parity", "1"];
    place.run(&record).expect(0);
    for (gone, other) in [("a", "b"), ("b", "a")] {
        fs::remove_file(place.path(gone)).unwrap();
        // What a repair leaves that was killed before it had written anything else.
        fs::write(place.path(gone), [0; 100_000]).unwrap();
        place
            .run(&["repair", other, "--onto", gone, "--same-disk"])
            .expect(0);
        place.run(&["verify", "a", "b"]).expect(0);
    }
}

#[test]
fn what_a_repair_has_rebuilt_is_reported() {
    let place = recorded_on_three(24, 3_000_000);
    fs::remove_file(place.path("b")).unwrap();
    let repair = ["repair", "a", "c", "--onto", "b", "--same-disk"];
    let repaired = place.run(&[&repair[..], &["--json", "run.json"]].concat());
    let words = repaired.expect(0).stdout;
    let again = place.run(&["report", "run.json"]).expect(0).stdout;
    assert_eq!(again, words);
    place
        .run(&["report", "run.json", "-o", "page.html"])
        .expect(0);
    let page = place.read("page.html");
    assert!(page.contains("<h1>Member 2 rebuilt onto b</h1>"), "{page}");
}

#[test]
fn a_lost_member_that_was_copied_to_the_others_is_reported_as_retired() {
    let place = recorded_on_three(24, 3_000_000);
    fs::remove_file(place.path("b")).unwrap();
    let repaired = place.run(&["repair", "a", "c", "--json", "run.json"]);
    let words = repaired.expect(0).stdout;
    assert!(words.contains("retired after"), "{words}");
    let report = ["report", "run.json", "-o", "page.html"];
    assert_eq!(place.run(&report[..2]).expect(0).stdout, words);
    place.run(&report).expect(0);
    let page = place.read("page.html");
    let title = "<h1>Member 2 retired, and copied to the others</h1>";
    assert!(page.contains(title), "{page}");
}

#[test]
fn what_is_damaged_beside_recordings_is_no_work_for_scrub() {
    let place = recorded_on_three(24, 3_000_000);
    damage(&place, "a", 0, 4096);
    let told = unwrapped(&place.run(&["verify", "a", "b", "c"]).expect(1).stdout);
    assert!(told.contains("`sustain recover` repairs it"), "{told}");
    assert!(!told.contains("`sustain scrub`"), "{told}");
}

#[test]
fn what_cannot_be_rebuilt_or_cannot_be_a_new_member_is_refused() {
    let place = Place::new();
    create(&place, [24, 24, 24, 24], "1");
    let new = ["--onto", "e", "--same-disk"];
    let refusal = |there: &[&str], flags: &[&str]| {
        unwrapped(&place.refusal(&[&["repair"], there, flags].concat()))
    };
    let told = refusal(&MEMBERS, &new);
    assert!(told.contains("no member of the store is missing"), "{told}");
    assert!(
        told.contains("leave out the member that it is to replace"),
        "{told}"
    );
    fs::write(place.path("else"), content(100_000)).unwrap();
    let told = refusal(&MEMBERS[..3], &["--onto", "else", "--same-disk"]);
    assert!(told.contains("add --destroy else"), "{told}");
    let told = refusal(
        &MEMBERS[..3],
        &["--onto", "a", "--same-disk", "--destroy", "a"],
    );
    assert!(told.contains("a is a member of the store"), "{told}");
    let told = refusal(&MEMBERS[..2], &new);
    assert!(
        told.contains("2 members of the store were not named"),
        "{told}"
    );
    assert!(
        told.contains("with --accept-loss the rest is rebuilt"),
        "{told}"
    );
    let told = refusal(
        &MEMBERS[..2],
        &["--onto", "d", "--same-disk", "--destroy", "d"],
    );
    assert!(
        told.contains("parity replaces 1: name all that are there"),
        "{told}"
    );
    let told = refusal(&MEMBERS[..3], &["--onto", ""]);
    assert!(told.contains("no name"), "{told}");
    let told = refusal(&MEMBERS[..3], &["--onto", "e"]);
    assert!(told.contains("or --same-disk if this is a trial"), "{told}");
    assert!(!place.path("e").exists());
    let told = refusal(&MEMBERS[..3], &["--same-disk"]);
    assert!(told.contains("--onto"), "{told}");
    place
        .run(&["create", "p", "q", "--size", "24MiB", "--slot", "1MiB"])
        .expect(0);
    let told = refusal(&["p"], &new);
    assert!(told.contains("has never had parity"), "{told}");
    assert!(!place.path("e").exists());
}

#[test]
fn parity_that_protects_nothing_is_refused() {
    let place = Place::new();
    let sized = ["--size", "40MiB", "--no-prewrite"];
    let refusal = |members: &[&str], flags: &[&str]| {
        place.refusal(&[&["create"], members, &sized, flags].concat())
    };
    let told = refusal(&["a"], &["--parity", "1"]);
    assert!(told.contains("needs at least 2 members"), "{told}");
    let told = refusal(&["a", "b"], &["--parity", "2"]);
    assert!(told.contains("needs at least 3 members, because"), "{told}");
    let told = refusal(&["a", "b", "c", "d"], &["--parity", "3"]);
    assert!(told.contains("--parity must be from 0 to 2"), "{told}");
    let told = refusal(&["a", "b"], &["--parity", "1"]);
    assert!(told.contains("would protect nothing"), "{told}");
    assert!(told.contains("or --same-disk if this is a trial"), "{told}");
    assert!(!place.path("a").exists(), "nothing was made");
    let create = ["create", "a", "b", "--size", "40MiB", "--no-prewrite"];
    place.run(&create).expect(0);
    let told = place.refusal(&["record", "a", "b", "--parity", "2"]);
    assert!(told.contains("use --parity 1"), "{told}");
}

/// Nothing else of a slot is left where its only append has lost its first block.
#[test]
fn scrub_puts_back_what_was_alone_in_its_slot() {
    let place = recorded_on_three(40, 20_000_000);
    // With slots of 1 MiB each has one append. The first slot begins with the start.
    let mut tried = 0;
    for name in ["a", "b", "c"] {
        let bytes = || fs::read(place.path(name)).unwrap();
        let before = bytes();
        let is_data = |slot: &usize| {
            let block = &before[slot << 20..(slot << 20) + 4096];
            Descriptor::decode(block).is_ok_and(|(found, _)| found.kind == Kind::Data)
        };
        for slot in (3..8).filter(is_data) {
            damage(&place, name, (slot as u64) << 20, 4096);
            place.run(&["scrub", "a", "b", "c"]).expect(0);
            assert!(bytes() == before, "slot {slot} of {name}");
            tried += 1;
        }
    }
    assert!(tried > 3);
}

#[test]
fn repair_destroys_nothing_but_the_new_member() {
    let place = recorded_on_three(40, 5_000_000);
    let repair = [
        "repair",
        "a",
        "b",
        "--onto",
        "c",
        "--same-disk",
        "--destroy",
        "a",
    ];
    let told = unwrapped(&place.refusal(&repair));
    assert!(told.contains("names none of the targets"), "{told}");
}

#[test]
fn members_are_rebuilt_one_after_the_other() {
    let place = recorded_on_three(40, 5_000_000);
    fs::remove_file(place.path("c")).unwrap();
    // As another repair claims it.
    let file = fs::metadata(place.path("b")).unwrap();
    let name = format!("sustain-repair-file-{}-{}", file.dev(), file.ino());
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let claim = UnixListener::bind_addr(&address).unwrap();
    let onto = ["repair", "a", "b", "--onto", "e", "--same-disk"];
    for repair in [&onto[..], &onto[..3]] {
        let told = unwrapped(&place.run(repair).expect(2).stderr);
        let refused = "is being rebuilt or retired by another command at this moment";
        assert!(told.contains(refused), "{told}");
        assert!(!place.path("e").exists());
    }
    drop(claim);
    place.run(&onto).expect(0);
}

#[test]
fn a_store_on_which_nothing_more_can_be_protected_is_full() {
    let place = Place::new();
    create(&place, [24; 4], "1");
    let test = ["--from", "test:200MB/s", "--bytes", "200MB", "--json", "r"];
    let record = [&["record"], &MEMBERS[..], &test].concat();
    place.run(&record).expect(1);
    let result = json_of(&place.read("r"));
    assert_eq!(result["ended"], "full");
    // Slots are left, which are kept for parity. What comes stays with its source.
    let listed = document(&place, 0, &[&["list"], &MEMBERS[..]].concat());
    let full = "is full, so nothing was read or recorded";
    place.run(&record).expect(2).says(full);
    let rehearsal = [&["record"], &MEMBERS[..], &test[..4], &["--dry-run"]].concat();
    place.run(&rehearsal).expect(2).says(full);
    assert_eq!(
        document(&place, 0, &[&["list"], &MEMBERS[..]].concat()),
        listed
    );
    let ring = ["--ring", "--from", "test:20MB/s", "--bytes", "2MB"];
    place
        .run(&[&["record"], &MEMBERS[..], &ring].concat())
        .expect(0);
}
