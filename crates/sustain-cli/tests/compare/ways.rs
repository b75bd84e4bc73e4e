//! Settings with targets of their own: two ways to one disk, measured in turn. Ways to different
//! disks are refused, and so is whatever the guard refuses.

use serde_json::{Value, json};

use crate::assert_valid;
use crate::devices::{Disk, Mount, Partition, make_file_system, tool};
use crate::support::{Place, json_of, notes_of};

const MIB: u64 = 1 << 20;
const SHORT: [&str; 6] = ["--size", "8MiB", "--time-per-run", "100ms", "--time", "2s"];

/// Compares two ways; the result has the published form.
#[track_caller]
fn compared(place: &Place, [a, b]: [&str; 2], flags: &[&str]) -> Value {
    let words = ["compare", "--ab", a, b, "--json", "-"];
    let result = json_of(&place.run(&[&words, flags].concat()).expect(0).stdout);
    assert_valid(&result);
    result
}

#[track_caller]
fn assert_refused(place: &Place, [a, b]: [&str; 2], flags: &[&str], words: &[&str]) {
    let all = [&["compare", "--ab", a, b, "--json", "none.json"], flags].concat();
    let said = place.refusal(&all);
    for words in words {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert!(!place.path("none.json").exists());
}

/// The name and the kind of each target of a side.
fn targets(side: &Value) -> Value {
    let targets = side["targets"].as_array().unwrap().iter();
    targets
        .map(|target| json!([target["name"], target["kind"]]))
        .collect()
}

#[test]
fn a_directory_and_a_file_of_one_file_system_are_compared_by_one_command() {
    let place = Place::new();
    std::fs::create_dir(place.path("x")).unwrap();
    let ways = ["x --depth 2", "y --depth 2"];
    let result = compared(
        &place,
        ways,
        &[&["--write", "--new-file"][..], &SHORT].concat(),
    );
    assert_eq!(targets(&result["a"]), json!([["x", "scratch_file"]]));
    assert_eq!(targets(&result["b"]), json!([["y", "file"]]));
    assert_eq!(result["a"]["words"], "write x");
    assert_eq!(result["b"]["words"], "write y");
    assert_eq!(result["trial"]["targets"], json!(["x", "y"]));
    assert_eq!(result["trial"]["is_same_setting"], false);
    let sides = result["trial"]["runs"].as_array().unwrap().iter();
    let sides: Vec<&str> = sides.map(|run| run["side"].as_str().unwrap()).collect();
    assert_eq!(sides[..4], ["a", "b", "b", "a"]);
}

#[test]
fn the_words_and_the_page_name_what_each_side_measured() {
    let place = Place::new();
    for name in ["x", "y"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let words = ["compare", "--ab", "x", "y", "--report", "page.html"];
    let ran = place.run(&[&words[..], &SHORT].concat()).expect(0);
    for line in ["x: scratch file", "y: scratch file"] {
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
        assert!(place.read("page.html").contains(line));
    }
}

#[test]
fn simulated_disks_and_null_are_told_apart_by_their_names() {
    let disk = |name: &str| {
        format!("[[disk]]\nname = \"{name}\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n")
    };
    let place = Place::with_machine(&[disk("d"), disk("e")].concat());
    let ways = [
        "sim:machine.toml:d --depth 1",
        "sim:machine.toml:d --depth 2",
    ];
    let result = compared(&place, ways, &["--read"]);
    assert_eq!(targets(&result["a"]), json!([["d", "simulated"]]));
    assert!(notes_of(&result).contains("because they have the same names"));
    let others = ["sim:machine.toml:d", "sim:machine.toml:e"];
    assert_refused(
        &place,
        others,
        &["--read"],
        &[
            "A is on d and B is on e",
            "by their names alone",
            "`sustain compare A.json B.json`",
        ],
    );
    std::fs::create_dir(place.path("x")).unwrap();
    assert_refused(
        &place,
        ["null:", "x"],
        &SHORT,
        &["A is on null: and B is on"],
    );
}

#[test]
fn targets_are_named_in_both_settings_or_after_them() {
    let place = Place::new();
    let refusals = [
        (
            ["x", "--depth 2"],
            &[][..],
            "A names targets of its own (x), and B names none",
        ),
        (
            ["", "x"],
            &[],
            "B names targets of its own (x), and A names none",
        ),
        (["x", "y z"], &[], "A names x and B names y, z"),
        (["x y x", "x y z"], &[], "A names x twice"),
        (["x", "y"], &["z"], "(x, y), and z is named for both"),
        (["", ""], &[], "name at least one target"),
        (["x", "y"], &["--destroy", "z"], "names none of the targets"),
        (["x", "null:"], &["--write"], "does not exist"),
    ];
    for (ways, flags, words) in refusals {
        assert_refused(&place, ways, flags, &[words]);
    }
    assert!(place.names().is_empty());
}

#[test]
fn a_file_system_is_compared_with_the_partition_beside_it() {
    let Some(disk) = Disk::new(64 * MIB) else {
        return;
    };
    let used = Partition::add(&disk, 1, MIB, 40 * MIB);
    let free = Partition::add(&disk, 2, 41 * MIB, 16 * MIB);
    make_file_system(&used.name);
    let Some(mount) = Mount::try_new(&disk.place, &[&used.name]) else {
        return;
    };
    std::fs::write(mount.path("precious"), "of great value").unwrap();
    mount.settle();
    let before = disk.bytes();
    let place = Place::new();
    let directory = mount.point.to_str().unwrap();
    let ways = [directory, &free.name];
    let destroy = ["--write", "--destroy", &free.name];
    assert_refused(
        &place,
        ways,
        &["--write"],
        &["would be overwritten", "--destroy"],
    );
    let mounted = ["--write", "--destroy", &used.name];
    let of_its_own = [directory, used.name.as_str()];
    assert_refused(&place, of_its_own, &mounted, &["it is mounted on"]);
    let whole = ["--write", "--destroy", disk.name()];
    assert_refused(&place, [directory, disk.name()], &whole, &["is mounted on"]);
    assert_refused(
        &place,
        ["null:", &free.name],
        &destroy,
        &["A is on null: and B is on"],
    );
    assert!(disk.bytes() == before, "a refusal changed bytes");

    let result = compared(&place, ways, &[&destroy[..], &SHORT].concat());
    assert_eq!(targets(&result["a"]), json!([[directory, "scratch_file"]]));
    assert_eq!(targets(&result["b"]), json!([[free.name, "block_device"]]));
    let name = disk.device.kernel_name();
    let place_of = |from_bytes: u64, to_bytes: u64| json!({ "disk": name, "from_bytes": from_bytes, "to_bytes": to_bytes });
    assert_eq!(result["a"]["targets"][0]["place"], place_of(MIB, 41 * MIB));
    assert_eq!(
        result["b"]["targets"][0]["place"],
        place_of(41 * MIB, 57 * MIB)
    );
    let notes = notes_of(&result);
    assert!(
        notes.contains("A and B are at different offsets of the disk"),
        "{notes}"
    );
    let after = disk.bytes();
    let range = free.range();
    assert!(after[range.end..] == before[range.end..], "bytes above");
    assert!(after[range.clone()] != before[range], "nothing was written");
    let read = std::fs::read_to_string(mount.path("precious")).unwrap();
    assert_eq!(read, "of great value");
    drop(mount);
    tool(&["e2fsck", "-f", "-n", &used.name]);
}
