//! Several places on one disk as an axis of a sweep: a directory, a file, a partition.

use serde_json::{Value, json};

use crate::devices::{Disk, Mount, Partition, make_file_system};
use crate::support::{Place, json_of, notes_of};
use crate::{MIB, assert_valid};

const SHORT: [&str; 10] = [
    "--size",
    "8MiB",
    "--record-size",
    "1MiB",
    "--time-per-point",
    "100ms",
    "--rounds",
    "2",
    "--depth",
    "1,4",
];

#[track_caller]
fn swept(place: &Place, flags: &[&str]) -> Value {
    let words = ["sweep", "--json", "-"];
    let all = [&words[..], &SHORT, flags].concat();
    let result = json_of(&place.run(&all).expect(0).stdout);
    assert_valid(&result);
    result
}

/// The values of the axis of places that the answer names.
fn named(result: &Value) -> Vec<&str> {
    let axes = result["answers"][0]["axes"].as_array().unwrap().iter();
    let mut axes = axes.filter(|axis| axis["axis"] == "place");
    let values = axes.next().unwrap()["values"].as_array().unwrap().iter();
    let values = values.map(|value| value["value"].as_str().unwrap());
    values.collect()
}

#[test]
fn each_setting_is_measured_on_each_place() {
    let place = Place::new();
    std::fs::create_dir(place.path("x")).unwrap();
    let flags = ["--place", "x", "--place", "y", "--new-file"];
    let result = swept(&place, &flags);
    assert_eq!(result["plan"]["axes"], json!(["place", "depth"]));
    assert_eq!(result["plan"]["targets"], json!(["x", "y"]));
    let points = result["points"].as_array().unwrap().iter();
    let used: Vec<&Value> = points.map(|point| &point["setting"]["order"]).collect();
    assert_eq!(
        used,
        [&json!(["x"]), &json!(["x"]), &json!(["y"]), &json!(["y"])]
    );
    assert_eq!(named(&result), ["x", "y"]);
}

#[test]
fn the_words_and_the_page_name_the_place_of_the_best() {
    let place = Place::new();
    for name in ["near_place", "far_place"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let flags = [
        "--place",
        "near_place",
        "--place",
        "far_place",
        "--report",
        "page.html",
    ];
    let ran = place
        .run(&[&["sweep"], &SHORT[..], &flags].concat())
        .expect(0);
    let table = ran.stdout.split_once("place").expect("a column").1;
    assert!(
        table.contains("near_place") && table.contains("far_place"),
        "{}",
        ran.stdout
    );
    let page = place.read("page.html");
    assert!(page.contains("far_place"), "{}", ran.stdout);
}

#[test]
fn places_are_one_disk_and_each_point_uses_one_of_them() {
    let disk = |name: &str| {
        format!("[[disk]]\nname = \"{name}\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n")
    };
    let place = Place::with_machine(&[disk("d"), disk("e")].concat());
    let simulated = [
        "--place",
        "sim:machine.toml:d",
        "--place",
        "sim:machine.toml:e",
    ];
    let refusals: [(&[&str], &str); 5] = [
        (
            &simulated,
            "sim:machine.toml:d is on d and sim:machine.toml:e is on e",
        ),
        (&["--place", "x"], "one place cannot be compared"),
        (
            &["--place", "x", "--place", "y", "z"],
            "cannot be used with",
        ),
        (
            &["--place", "x", "--place", "y", "--layout", "stripe"],
            "each point uses one of the places (--place)",
        ),
        (
            &["--place", "x", "--place", "y", "--order", "all"],
            "leave out --layout",
        ),
    ];
    for (flags, words) in refusals {
        let said = place.refusal(&[&["sweep"], flags].concat());
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

#[test]
fn a_file_system_and_the_partition_beside_it_are_places_on_one_disk() {
    let Some(disk) = Disk::new(64 * MIB) else {
        return;
    };
    let used = Partition::add(&disk, 1, MIB, 40 * MIB);
    let free = Partition::add(&disk, 2, 41 * MIB, 16 * MIB);
    make_file_system(&used.name);
    let Some(mount) = Mount::try_new(&disk.place, &[&used.name]) else {
        return;
    };
    let place = Place::new();
    let directory = mount.point.to_str().unwrap();
    let both = ["--place", directory, "--place", &free.name, "--write"];
    let said = place.refusal(&[&["sweep"], &both[..]].concat());
    assert!(said.contains("would be overwritten"), "{said}");
    let mounted = ["--place", directory, "--place", &used.name, "--write"];
    let mounted = [&["sweep"], &mounted[..], &["--destroy", &used.name]].concat();
    let said = place.refusal(&mounted);
    assert!(said.contains("it is mounted on"), "{said}");

    let paths = [
        "--destroy",
        &free.name,
        "--path",
        "direct,buffered,passthrough",
    ];
    let result = swept(&place, &[&both[..], &paths].concat());
    assert_eq!(result["plan"]["axes"], json!(["place", "path", "depth"]));
    assert_eq!(named(&result), [directory, &free.name]);
    let left_out = result["left_out"].as_array().unwrap().iter();
    let count: u64 = left_out.map(|one| one["count"].as_u64().unwrap()).sum();
    assert_eq!(count, 4, "nothing here takes commands: {result:#}");
    let notes = notes_of(&result);
    assert!(
        notes.contains("the places are at different offsets"),
        "{notes}"
    );
}
