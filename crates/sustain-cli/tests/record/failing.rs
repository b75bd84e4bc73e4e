//! Members that fail in mid-recording: a loop device whose file is cut off, as a disk that is
//! pulled out, and a member without space behind it. The others go on.

use std::fs::OpenOptions;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::MIB;
use crate::check::{assert_accounts, extract};
use crate::devices::{Mount, tool};
use crate::members::{Made, Members, SMALL, stream, whole};
use crate::running::{Running, run};
use crate::support::{Place, Ran, json_of};

const STREAMS: &[&str] = &[
    "--from",
    "test:10MB/s,frame=10kB..50kB",
    "--stream",
    "camera",
    "--frames",
    "lines",
    "--from",
    "test:20kB/s",
    "--stream",
    "log",
    "--frames",
    "none",
    "--durable",
    "100ms",
];

/// The device has nothing any more, and every request fails.
fn pull_out(members: &Members, member: usize) {
    let image = OpenOptions::new()
        .write(true)
        .open(&members.images[member])
        .unwrap();
    image.set_len(0).unwrap();
    tool(&["losetup", "--set-capacity", members.device(member)]);
}

/// The last status line.
fn last_line(path: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // A line is written at once, but it may be just being so.
    let (whole_lines, _) = text.rsplit_once('\n')?;
    whole_lines.lines().last().map(json_of)
}

/// How much of a stream it says is durable.
fn durable_bytes(path: &Path, name: &str) -> u64 {
    last_line(path).map_or(0, |line| whole(&stream(&line, name)["durable_bytes"]))
}

/// Waits until the second member has failed and the others have gone on without it, ends the
/// recording, and gives what was said and the result, which names that member alone.
#[track_caller]
fn ended_without_the_second(mut running: Running, members: &Members) -> (Ran, Value) {
    let status = members.place.path("status");
    let has_failed =
        || last_line(&status).is_some_and(|line| line["members"][1]["state"] == "failed");
    assert!(running.becomes(has_failed));
    let then = durable_bytes(&status, "camera");
    assert!(running.becomes(|| durable_bytes(&status, "camera") > then + 1_000_000));
    running.signal(Signal::INT);
    let ran = running.finish().expect(1);
    let result = json_of(&members.place.read("json"));
    assert_eq!(result["ended"], "signal");
    assert_failed(&result, 1);
    (ran.says("the other members went on"), result)
}

/// Fails unless this member has failed alone, by name, and the accounts add up.
#[track_caller]
fn assert_failed(result: &Value, failed: usize) {
    assert_accounts(result);
    for (index, member) in result["members"].as_array().unwrap().iter().enumerate() {
        if index == failed {
            assert_eq!(member["state"], "failed", "{member:#}");
            let error = member["error"].as_str().unwrap();
            assert!(error.contains(member["name"].as_str().unwrap()), "{error}");
        } else {
            assert_eq!(member["error"], Value::Null, "{member:#}");
            assert!(whole(&member["bytes"]) > 0, "{member:#}");
        }
    }
    let streams = result["streams"].as_array().unwrap();
    for stream in streams {
        // What is lost is accounted for on the others.
        assert_eq!(
            stream["settled_bytes"], stream["offered_bytes"],
            "{stream:#}"
        );
    }
    // What a file took with it that is gone is not durable any more.
    let sum = |key: &str| -> u64 { streams.iter().map(|stream| whole(&stream[key])).sum() };
    let lost_bytes = whole(&result["members"][failed]["lost_bytes"]);
    assert_eq!(sum("durable_bytes") + lost_bytes, sum("recorded_bytes"));
}

/// Fails unless all that is missing was on the failed member.
#[track_caller]
fn assert_others_whole(members: &Members, result: &Value, failed: usize) {
    let mut holes_bytes = 0;
    for name in ["camera", "log"] {
        let extracted = extract(members, whole(&result["recording"]), name);
        extracted.assert_made_for(name);
        let told = stream(result, name);
        assert_eq!(extracted.end(), whole(&told["offered_bytes"]));
        assert_eq!(extracted.lost_bytes("gap"), whole(&told["gap_bytes"]));
        holes_bytes += extracted.lost_bytes("hole");
    }
    let on_failed = whole(&result["members"][failed]["bytes"]);
    assert!(
        holes_bytes <= on_failed,
        "{holes_bytes} missing, {on_failed} were on it"
    );
}

#[test]
fn a_device_that_goes_away_leaves_the_others_at_work() {
    let Some(mut members) = Members::store(Made::Loops, &[64 * MIB; 3], "256KiB") else {
        return;
    };
    let flags = [SMALL, STREAMS, &["--status", "status", "--json", "json"]];
    let mut running = members.start("record", &flags.concat());
    let status = members.place.path("status");
    assert!(running.becomes(|| durable_bytes(&status, "camera") > 3_000_000));
    pull_out(&members, 1);
    let (ran, result) = ended_without_the_second(running, &members);
    assert!(ran.stderr.contains(&members.names[1]));
    let streams = result["streams"].as_array().unwrap().iter();
    if streams.map(|one| whole(&one["gap_bytes"])).sum::<u64>() > 0 {
        // Its memory was given back when it was written.
        ran.says("since its last flush is lost")
            .says(" were LOST; ");
    }
    members.names.remove(1);
    assert_others_whole(&members, &result, 1);
    let verified = members.verify(1);
    for bad in verified["bad"].as_array().unwrap() {
        let why = bad["why"].as_str().unwrap();
        assert!(
            why.contains("on none of the members that were given"),
            "{bad:#}"
        );
    }
    // Without all members there is no next recording.
    let again = [SMALL, &["--from", "test:1MB/s", "--time", "100ms"]].concat();
    members.run("record", &again).expect(2);
}

#[test]
fn when_all_devices_go_away_it_ends_and_says_so() {
    let Some(members) = Members::store(Made::Loops, &[64 * MIB; 2], "256KiB") else {
        return;
    };
    let flags = [
        SMALL,
        STREAMS,
        &["--time", "60s", "--status", "status", "--json", "json"],
    ];
    let mut running = members.start("record", &flags.concat());
    let status = members.place.path("status");
    assert!(running.becomes(|| durable_bytes(&status, "camera") > 1_000_000));
    pull_out(&members, 0);
    pull_out(&members, 1);
    running.finish().expect(1);
    let result = json_of(&members.place.read("json"));
    assert_eq!(result["ended"], "error");
    assert_accounts(&result);
    for member in result["members"].as_array().unwrap() {
        assert_eq!(member["state"], "failed");
    }
}

#[test]
fn a_device_that_is_detached_stays_until_the_recording_ends() {
    let Some(members) = Members::store(Made::Loops, &[32 * MIB; 2], "256KiB") else {
        return;
    };
    let flags = [
        SMALL,
        STREAMS,
        &["--time", "3s", "--status", "status", "--json", "json"],
    ];
    let mut running = members.start("record", &flags.concat());
    let status = members.place.path("status");
    assert!(running.becomes(|| durable_bytes(&status, "camera") > 1_000_000));
    // The kernel waits for the last one who has it open.
    tool(&["losetup", "--detach", members.device(0)]);
    running.finish().expect(0);
    let result = json_of(&members.place.read("json"));
    assert_accounts(&result);
    // What was recorded lies in the files.
    let names = ["member0", "member1"];
    let check = [&["verify"], &names[..]].concat();
    run(&members.place, &check).expect(0);
}

#[test]
fn a_member_without_space_behind_it_fails_alone() {
    let place = Place::new();
    // For what `create` wipes at either end, and a little more.
    let flags = ["-t", "tmpfs", "-o", "size=12m", "tmpfs"];
    let Some(mount) = Mount::try_new(&place, &flags) else {
        return;
    };
    let Some(mut members) = Members::new(Made::Loops, &[32 * MIB, 32 * MIB]) else {
        return;
    };
    // A file of holes promises more than there is.
    let image = mount.point.join("image");
    std::fs::File::create_new(&image)
        .unwrap()
        .set_len(32 * MIB)
        .unwrap();
    let Some(short) = crate::devices::Loop::over(&image, &[]) else {
        return;
    };
    members.names.push(short.name.clone());
    members.create("256KiB");
    let flags = [SMALL, STREAMS, &["--time", "3s", "--json", "json"]].concat();
    members.run("record", &flags).expect(1);
    let result = json_of(&members.place.read("json"));
    assert_eq!(result["ended"], "time");
    assert_failed(&result, 2);
    // Bytes that were given up, because a flush failed, may be there all the same.
    for name in ["camera", "log"] {
        let extracted = extract(&members, whole(&result["recording"]), name);
        extracted.assert_made_for(name);
        let gap_bytes = whole(&stream(&result, name)["gap_bytes"]);
        assert!(
            extracted.lost_bytes("gap") <= gap_bytes,
            "{:?}",
            extracted.lost
        );
    }
    members.names.truncate(2);
    assert_others_whole(&members, &result, 2);
    drop(short);
    drop(mount);
}

/// A recording on two files, to the second of which something happens.
fn recorded_while(harm: impl FnOnce(&Path)) -> Value {
    let members = Members::files(&[64 * MIB; 2]);
    members.create("256KiB");
    let flags = [SMALL, STREAMS, &["--status", "status", "--json", "json"]];
    let mut running = members.start("record", &flags.concat());
    let status = members.place.path("status");
    // More is durable than the first one has: so something is on the second one, and not only on
    // its way there, which would be lost as a gap.
    let is_on_it = |line: Value| {
        let durable_bytes = |name| whole(&stream(&line, name)["durable_bytes"]);
        let on_first = whole(&line["members"][0]["bytes"]);
        durable_bytes("camera") + durable_bytes("log") > on_first + 1_000_000
    };
    assert!(running.becomes(|| last_line(&status).is_some_and(is_on_it)));
    harm(&members.place.path(&members.names[1]));
    let (ran, result) = ended_without_the_second(running, &members);
    assert_eq!(result["total"]["rate_held"], false);
    assert!(whole(&result["members"][1]["lost_bytes"]) > 0);
    ran.says("Up to ").says(" offered were LOST; ");
    result["members"][1]["error"].clone()
}

#[test]
fn a_file_that_is_deleted_while_it_is_recorded_to_has_failed() {
    let error = recorded_while(|path| std::fs::remove_file(path).unwrap());
    let error = error.as_str().unwrap();
    assert!(
        error.contains("was deleted while it was recorded to"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_cut_off_while_it_is_recorded_to_has_failed() {
    let error = recorded_while(|path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(4 * MIB).unwrap();
    });
    let error = error.as_str().unwrap();
    assert!(
        error.contains("became shorter while it was recorded to"),
        "{error}"
    );
}
