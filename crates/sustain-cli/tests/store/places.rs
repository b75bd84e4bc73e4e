//! `list -v`: where recordings lie on their members.

use serde_json::Value;

use crate::recorded::{self, End, Stream, content, document};
use crate::support::Place;

const DESCRIPTOR: &[u8] = b"SUSTAPND";
const SEAL: &[u8] = b"SUSTSEAL";
const SEAL_BYTES: usize = 64;

/// Checks that at these bytes of the file an append begins and one ends, and returns them.
#[track_caller]
fn checked(place: &Place, listed: &Value) -> (usize, usize) {
    let byte = |name: &str| usize::try_from(listed[name].as_u64().unwrap()).unwrap();
    let (from, to) = (byte("from_device_byte"), byte("to_device_byte"));
    let file = recorded::file_of(&place.path(listed["member"].as_str().unwrap()));
    let bytes = std::fs::read(file).unwrap();
    assert_eq!(&bytes[from..from + 8], DESCRIPTOR, "{listed}");
    assert_eq!(&bytes[to - SEAL_BYTES..to - SEAL_BYTES + 8], SEAL);
    (from, to)
}

#[test]
fn each_recording_is_found_on_each_member_where_the_list_says() {
    let place = Place::new();
    recorded::create(&place, &["a", "b"], "4MiB");
    recorded::record_main(&place, &["a", "b"], &content(500_000));
    let second = content(300_000);
    let streams = [Stream::plain("main", &second)];
    recorded::record(&place, &["a", "b"], &streams, End::Crash);
    let list = document(&place, 0, &["list", "b", "a", "-v"]);
    let places = |recording: usize| list["recordings"][recording]["places"].as_array().unwrap();
    assert_eq!((places(0).len(), places(1).len()), (2, 2), "{list}");
    for (first, second) in places(0).iter().zip(places(1)) {
        assert_eq!(first["member"], second["member"]);
        let (from, to) = checked(&place, first);
        assert_eq!(
            from as u64,
            recorded::FIRST_SLOT,
            "it is the first recording"
        );
        assert!(to <= checked(&place, second).0, "one lies behind the other");
    }
    let half = document(&place, 0, &["list", "b"]);
    let places = half["recordings"][0]["places"].as_array().unwrap();
    assert_eq!(places.len(), 1, "only what is there can be told");
    assert_eq!(
        (&places[0]["member"], &places[0]["index"]),
        (&"b".into(), &1.into())
    );
    let words = place.run(&["list", "a", "b", "-v"]).expect(0);
    let told = "\nrecording 1 on a: bytes 131072 to ";
    assert!(words.stdout.contains(told), "{}", words.stdout);
    let words = place.run(&["list", "a", "b"]).expect(0);
    assert!(!words.stdout.contains(": bytes "));
}

#[test]
fn a_ring_goes_on_in_the_first_slot() {
    let place = Place::new();
    recorded::create(&place, &["a"], "4MiB");
    let stream = content(6_000_000);
    let streams = [Stream::plain("main", &stream)];
    recorded::record_ring(&place, &["a"], &streams, End::InOrder);
    let list = document(&place, 0, &["list", "a"]);
    let listed = &list["recordings"][0]["places"][0];
    let (from, to) = checked(&place, listed);
    assert!(to <= from && listed["overwritten"] == true, "{listed}");
    let words = place.run(&["list", "a", "-v"]).expect(0);
    let words = words.stdout.split_whitespace();
    let words = words.collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("to the last slot, then from the first slot"),
        "{words}"
    );
}
