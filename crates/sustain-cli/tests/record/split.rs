//! `sustain control split`: the recordings of one run, joined, are what the sources gave, whatever
//! sources these are and whatever else is going on.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use sustain::record::format::Superblock;

use crate::MIB;
use crate::check::{assert_reads_back, extract};
use crate::control::{Commanded, answer_to};
use crate::members::{Made, Members, stream, whole};
use crate::support::json_of;

impl Commanded {
    /// Splits, and returns the number of the recording that runs.
    #[track_caller]
    fn split(&self) -> u64 {
        let answer = self.ask(&json!({ "command": "split" }));
        assert_eq!(answer["ok"], true, "{answer:#}");
        let split = &answer["split"];
        assert_eq!(whole(&split["ended"]) + 1, whole(&split["recording"]));
        whole(&split["recording"])
    }
}

/// Fails unless the recordings before the last one of a result are listed as they are in it, and
/// read back whole, as each begins a `test:` source anew.
#[track_caller]
fn assert_before(members: &Members, result: &Value, splits: usize, streams: &[&str]) {
    let before = result["before"].as_array().unwrap();
    assert_eq!(before.len(), splits);
    let listed = members.list();
    for (index, one) in before.iter().enumerate() {
        assert_eq!(
            (&one["recording"], &one["ended"]),
            (&json!(index + 1), &json!("split"))
        );
        let recordings = listed["recordings"].as_array().unwrap();
        let found = recordings
            .iter()
            .find(|found| found["recording"] == one["recording"])
            .unwrap();
        assert_eq!(found["ended"], "split", "{found:#}");
        for name in streams {
            let told = stream(one, name);
            assert_eq!(told["offered_bytes"], stream(found, name)["bytes"]);
            assert_eq!(told["durable_bytes"], told["recorded_bytes"]);
            let extracted = extract(members, whole(&one["recording"]), name);
            extracted.assert_made_for(name);
            assert_eq!(extracted.end(), whole(&told["offered_bytes"]));
            assert_eq!(extracted.lost_bytes("gap"), whole(&told["gap_bytes"]));
            assert_eq!(extracted.lost_bytes("hole"), 0);
        }
    }
    assert_eq!(result["recording"], splits as u64 + 1);
}

#[test]
fn recordings_that_were_split_at_full_rate_are_the_source_when_they_are_joined() {
    // There is room for what a slow disk has written twice, too.
    let mut commanded = Commanded::start(&[96 * MIB, 96 * MIB], &[]);
    let mut stdin = commanded.running.stdin.take().unwrap();
    let bytes: Vec<u8> = (0..48 * MIB)
        .map(|at| ((at * 2_654_435_761) >> 11) as u8)
        .collect();
    let sent = bytes.clone();
    let sending = std::thread::spawn(move || {
        stdin.write_all(&sent).unwrap();
        stdin
    });
    for recording in 2..=21 {
        assert_eq!(commanded.split(), recording);
    }
    drop(sending.join().unwrap());
    let (members, result) = commanded.finish(0);
    assert_eq!(whole(&result["recording"]), 21);
    let parts: Vec<Vec<u8>> = (1..=21)
        .map(|recording| extract(&members, recording, "main").bytes)
        .collect();
    assert!(parts.concat() == bytes, "{} bytes", parts.concat().len());
    members.verify(0);
}

#[test]
fn framed_streams_and_others_and_a_silent_one_are_split_together() {
    let framed = ["--from", "test:6MB/s,frame=1kB..30kB", "--stream", "framed"];
    let plain = ["--from", "test:4MB/s", "--stream", "plain"];
    let silent = ["--from", "-", "--stream", "silent"];
    let flags = [&framed[..], &plain, &silent].concat();
    let mut commanded = Commanded::start(&[48 * MIB, 48 * MIB], &flags);
    commanded.mark("in the first");
    for recording in 2..=6 {
        commanded.becomes(|status| whole(&stream(status, "framed")["settled_bytes"]) > MIB / 2);
        assert_eq!(commanded.split(), recording);
        let status = commanded.status();
        assert_eq!(whole(&status["recording"]), recording);
        // Marks begin anew, and so do their offsets.
        let mark = commanded.mark("behind a split");
        assert_eq!(mark["number"], 1);
        for offset in mark["streams"].as_array().unwrap() {
            assert!(whole(&offset["offset_bytes"]) < 64 * MIB / 4, "{mark:#}");
        }
    }
    let (members, result) = commanded.stop(0);
    assert_before(&members, &result, 5, &["framed", "plain"]);
    assert_reads_back(&members, &result, "framed");
    assert_eq!(result["marks"]["count"], 1);
    let listed = members.list();
    for recording in listed["recordings"].as_array().unwrap() {
        assert_eq!(recording["marks"].as_array().unwrap().len(), 1);
        let framed = stream(recording, "framed");
        assert!(whole(&framed["frames"]) > 0, "{recording:#}");
    }
    // Frames are whole: each can be extracted by itself, and the last bytes belong to one.
    let directory = members.place.path("frames");
    let flags = ["--recording", "2", "--stream", "framed", "-o", "frames/"];
    members.run("extract", &flags).expect(0);
    let files = std::fs::read_dir(&directory).unwrap();
    let bytes: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    let second = &result["before"][1];
    assert_eq!(bytes, whole(&stream(second, "framed")["recorded_bytes"]));
    members.verify(0);
}

#[test]
fn a_paused_recording_is_split_and_loses_by_name_only_what_cannot_wait() {
    std::thread::scope(|scope| {
        for (on_full, code) in [("block", 0), ("drop", 1)] {
            scope.spawn(move || assert_split_in_pause(on_full, code));
        }
    });
}

#[track_caller]
fn assert_split_in_pause(on_full: &str, code: i32) {
    let source = [
        "--from",
        "test:4MB/s,frame=10kB..30kB",
        "--on-full",
        on_full,
    ];
    let mut commanded = Commanded::start(&[48 * MIB], &source);
    commanded.becomes(|status| whole(&stream(status, "main")["settled_bytes"]) > MIB);
    commanded.control(&["pause"]).expect(0);
    assert_eq!(commanded.split(), 2);
    assert_eq!(commanded.status()["paused"], true);
    assert_eq!(commanded.split(), 3);
    commanded.control(&["resume"]).expect(0);
    commanded.becomes(|status| whole(&stream(status, "main")["durable_bytes"]) > MIB);
    let (members, result) = commanded.stop(code);
    assert_before(&members, &result, 2, &["main"]);
    assert_reads_back(&members, &result, "main");
    members.verify(0);
}

#[test]
fn a_ring_is_split_and_goes_round_over_the_recordings_before() {
    let flags = ["--from", "test:8MB/s,frame=1kB..30kB", "--ring"];
    let mut commanded = Commanded::start(&[8 * MIB, 8 * MIB], &flags);
    for recording in 2..=8 {
        commanded.becomes(|status| whole(&stream(status, "main")["settled_bytes"]) > 3 * MIB);
        assert_eq!(commanded.split(), recording);
    }
    let (members, result) = commanded.stop(0);
    let listed = members.list();
    let listed = listed["recordings"].as_array().unwrap();
    // The first ones are gone, and of the oldest one that is left a part may be.
    assert!(listed.len() < 8 && listed.len() >= 3, "{}", listed.len());
    for recording in listed {
        let main = stream(recording, "main");
        assert_eq!(main["name"], "main", "its start is told by a later one");
        let number = whole(&recording["recording"]);
        if let Ok(extracted) = crate::check::try_extract(&members, number, "main") {
            extracted.assert_made_for("main");
        }
    }
    assert_eq!(whole(&result["recording"]), 8);
    members.verify(0);
}

#[test]
fn splits_of_many_at_once_follow_each_other_and_each_has_its_answer() {
    let commanded = Commanded::start(&[48 * MIB], &["--from", "test:4MB/s"]);
    let begun: Vec<u64> = std::thread::scope(|scope| {
        let splitting = |_| {
            let socket = commanded.client();
            scope.spawn(move || {
                let answers = (0..3).map(|_| answer_to(&socket, &json!({ "command": "split" })));
                let numbers = answers.map(|answer| whole(&answer["split"]["recording"]));
                numbers.collect::<Vec<u64>>()
            })
        };
        // One goes away before it is answered.
        let mut gone = commanded.client();
        gone.write_all(b"{\"command\":\"split\"}\n").unwrap();
        drop(gone);
        let clients: Vec<_> = (0..3).map(splitting).collect();
        let numbers = clients.into_iter().flat_map(|one| one.join().unwrap());
        numbers.collect()
    });
    let mut sorted = begun.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), 9, "each is a split of its own: {begun:?}");
    let (members, result) = commanded.stop(0);
    let splits = result["before"].as_array().unwrap().len();
    assert!([9, 10].contains(&splits), "{splits}");
    assert_before(&members, &result, splits, &["main"]);
    assert_reads_back(&members, &result, "main");
    members.verify(0);
}

/// Splits until there is no slot for it. Returns the recording that goes on, and why it does.
fn split_until_refused(commanded: &mut Commanded) -> (u64, String) {
    let mut last = 1;
    loop {
        let answer = commanded.ask(&json!({ "command": "split" }));
        if answer["ok"] != true {
            return (last, answer["error"].as_str().unwrap().to_owned());
        }
        last = whole(&answer["split"]["recording"]);
        assert!(last < 100);
        // The board tells of the space when the first append is there.
        commanded.becomes(|status| whole(&stream(status, "main")["settled_bytes"]) > 0);
    }
}

#[test]
fn a_ring_that_a_pin_fills_is_not_split_where_no_recording_could_go_on() {
    // What comes until the pin is freed finds room in the last slot, also on a slow disk.
    let flags = [
        "--ring",
        "--on-full",
        "drop",
        "--from",
        "test:100kB/s",
        "--durable",
        "100ms",
    ];
    let mut commanded = Commanded::start(&[12 * MIB], &flags);
    commanded.becomes(|status| whole(&stream(status, "main")["settled_bytes"]) > 0);
    commanded.pin(&json!({ "from": "-50ms", "to": "+1h" }));
    let (last, why) = split_until_refused(&mut commanded);
    assert!(why.contains("Nothing was split"), "{why}");
    assert!(why.contains("Pins keep the others: free one"), "{why}");
    assert_eq!(
        whole(&commanded.status()["recording"]),
        last,
        "this one goes on"
    );
    commanded.control(&["unpin", "1"]).expect(0);
    let (members, result) = commanded.stop(0);
    assert_eq!(result["ended"], "signal");
    let before = result["before"].as_array().unwrap();
    let lost = before
        .iter()
        .map(|one| whole(&one["streams"][0]["gap_bytes"]));
    assert_eq!(
        lost.sum::<u64>(),
        0,
        "no split has lost anything: {result:#}"
    );
    members.verify(0);
}

#[test]
fn a_store_without_a_slot_for_another_recording_is_not_split() {
    // The slots are used up by splits long before they are by data.
    let flags = ["--from", "test:100kB/s", "--durable", "100ms"];
    let mut commanded = Commanded::start(&[2 * MIB], &flags);
    let (last, why) = split_until_refused(&mut commanded);
    assert!(why.contains("Nothing was split"), "{why}");
    assert!(!why.contains("Pins"), "{why}");
    let status = commanded.status();
    assert_eq!(whole(&status["recording"]), last, "this one goes on");
    let (members, result) = commanded.finish(1);
    assert_eq!(result["ended"], "full");
    assert_before(&members, &result, last as usize - 1, &["main"]);
    assert_reads_back(&members, &result, "main");
    members.verify(0);
}

#[test]
fn a_split_is_told_in_words_and_refused_when_the_recording_ends() {
    let mut commanded = Commanded::start(&[32 * MIB], &["--from", "test:3MB/s"]);
    commanded.becomes(|status| whole(&stream(status, "main")["durable_bytes"]) > MIB);
    let told = commanded.control(&["split"]).expect(0).stdout;
    let words = "recording 1 has ended, all of it durable; recording 2 goes on\n";
    assert_eq!(told, words);
    let told = commanded.control(&["status"]).expect(0).stdout;
    assert!(told.starts_with("recording 2: "), "{told}");
    let told = commanded.control(&["split", "--json"]).expect(0).stdout;
    let answer = json_of(&told);
    assert_eq!(answer["split"], json!({ "ended": 2, "recording": 3 }));
    let told = commanded.control(&["split", "a text"]).expect(2).stderr;
    assert!(told.contains("this command takes nothing more"), "{told}");
    let client = commanded.client();
    assert_eq!(
        answer_to(&client, &json!({ "command": "stop" }))["ok"],
        true
    );
    let answer = answer_to(&client, &json!({ "command": "split" }));
    assert_eq!(answer["ok"], false, "{answer:#}");
    let (members, result) = commanded.finish(0);
    assert_before(&members, &result, 2, &["main"]);
    members.verify(0);
}

/// A power cut behind the failure of a member leaves superblocks that say so. Until that member is
/// there again, nothing else tells what it lacks from what the power cut took.
#[test]
fn a_missing_member_is_still_told_to_lack_something_when_recordings_are_split() {
    let mut members = Members::new(Made::Files, &[8 * MIB; 4]).unwrap();
    let flags = [
        "--parity",
        "1",
        "--same-disk",
        "--slot",
        "256KiB",
        "--no-prewrite",
    ];
    let destroy = members.names.iter().flat_map(|name| ["--destroy", name]);
    let flags: Vec<&str> = flags.into_iter().chain(destroy).collect();
    members.run("create", &flags).expect(0);
    members.record(0, &["--from", "test:1MB/s", "--bytes", "100kB"]);
    let superblock = |image: &PathBuf| Superblock::decode(&std::fs::read(image).unwrap()).unwrap();
    for image in &members.images[..3] {
        let file = File::options().write(true).open(image).unwrap();
        let mut superblock = superblock(image);
        superblock.behind = BTreeSet::from([3]);
        for (copy, offset_bytes) in (0..).zip(superblock.geometry.superblock_offsets()) {
            file.write_all_at(&superblock.encode(copy), offset_bytes)
                .unwrap();
        }
    }
    members.names.pop();
    let from = ["--degraded", "--from", "test:1MB/s"];
    let commanded = Commanded::start_on(members, &from);
    assert_eq!(commanded.split(), 3);
    let (members, _) = commanded.stop(0);
    for image in &members.images[..3] {
        assert_eq!(superblock(image).behind, BTreeSet::from([3]));
    }
}
