//! A ring of unequal members: the smallest is overwritten first, and the others still have their
//! parts of what lay on it.

use std::fs::File;
use std::process::Stdio;

use crate::recorded::{self, content, document};
use crate::support::{Place, Ran, ran, unwrapped};

const MIB: u64 = 1 << 20;

/// Makes a store of a large member and of a small one of this size.
fn create(place: &Place, small_bytes: u64) -> Ran {
    for (name, bytes) in [("large", 48 * MIB), ("small", small_bytes)] {
        let file = File::create(place.path(name)).unwrap();
        file.set_len(bytes).unwrap();
    }
    let destroy = ["--destroy", "large", "--destroy", "small"];
    let create = ["create", "large", "small", "--slot", "64KiB"];
    place.run(&[&create[..], &destroy].concat()).expect(0)
}

#[test]
fn a_range_that_is_overwritten_in_part_gives_the_rest() {
    let place = Place::new();
    let created = create(&place, 3 * MIB);
    let told = unwrapped(&created.stdout);
    assert!(
        told.contains("fast enough for their larger parts"),
        "{told}"
    );
    assert!(
        told.contains("small is the smallest and is overwritten first"),
        "{told}"
    );
    let content = content(60_000_000);
    std::fs::write(place.path("in"), &content).unwrap();
    let mut command = place.command(&["record", "--ring", "large", "small"]);
    command.stdin(Stdio::from(File::open(place.path("in")).unwrap()));
    ran(command.output().unwrap()).expect(0);

    let (from, to) = (30_000_000, 45_000_000);
    let range = ["--from-byte", "30000000", "--to-byte", "45000000"];
    let extract = ["extract", "large", "small", "--holes", "fill", "-o", "out"];
    let given = document(&place, 0, &[&extract[..], &range].concat());
    let mut expected = content[from..to].to_vec();
    let lost = given["lost"].as_array().unwrap();
    assert!(!lost.is_empty(), "the small member has all of it");
    for lost in lost {
        assert_eq!(lost["kind"], "overwritten");
        let place = |key: &str| lost[key].as_u64().unwrap() as usize - from;
        expected[place("from_byte")..place("to_byte")].fill(0);
    }
    assert!(std::fs::read(place.path("out")).unwrap() == expected);
    assert!(expected.iter().any(|byte| *byte != 0), "nothing is given");
}

#[test]
fn extract_does_not_take_an_older_recording_for_the_newest_without_a_word() {
    let place = Place::new();
    create(&place, 512 << 10);
    // Each takes a slot of each member, and the small one has four.
    for _ in 0..6 {
        recorded::record_main(&place, &["large", "small"], &content(1000));
    }
    let listed = document(&place, 0, &["list", "small"]);
    assert!(listed["recordings"].as_array().unwrap().len() < 6);
    let ran = place.run(&["extract", "small", "-o", "out"]);
    let told = unwrapped(&ran.stderr);
    assert!(told.contains("recording 6: it was begun"), "{ran:?}");
    let whole = place.run(&["extract", "large", "small", "-o", "whole"]);
    assert!(!whole.expect(0).stderr.contains("it was begun"));
}
