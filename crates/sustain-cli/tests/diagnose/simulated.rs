//! Simulated machines whose walls are known.

use serde_json::Value;

use crate::support::{Place, assert_about, json_of};

/// Disks `d0`, `d1`, ... of 100 MB/s, each through these limits, nearest first.
fn machine(through: &[&[&str]], limits: &[(&str, u32)]) -> String {
    let mut text = String::new();
    for (number, through) in through.iter().enumerate() {
        text += &format!(
            "[[disk]]\nname = \"d{number}\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
             through = {through:?}\n\n"
        );
    }
    for (name, rate) in limits {
        text += &format!("[limit.{name}]\nrate = \"{rate}MB/s\"\n");
    }
    text
}

fn diagnose(toml: &str, flags: &[&str], code: i32) -> Value {
    let place = Place::with_machine(toml);
    let words = ["diagnose", "sim:machine.toml", "--json", "-"];
    json_of(&place.run(&[&words, flags].concat()).expect(code).stdout)
}

/// Each wall as its members and its limit in whole MB/s.
pub fn walls(result: &Value) -> Vec<(Vec<String>, u64)> {
    let walls = result["walls"].as_array().unwrap().iter();
    walls
        .map(|wall| {
            let limit = wall["limit_bytes_per_s"].as_f64().unwrap();
            (names(&wall["members"]), (limit / 1e6).round() as u64)
        })
        .collect()
}

pub fn names(list: &Value) -> Vec<String> {
    let names = list.as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn two_channels_behind_a_bus_are_found_and_named() {
    let near = ["channel0", "channel0", "channel1", "channel1"];
    let through: Vec<Vec<&str>> = near.iter().map(|near| vec![*near, "bus"]).collect();
    let through: Vec<&[&str]> = through.iter().map(Vec::as_slice).collect();
    let limits = [("channel0", 140), ("channel1", 150), ("bus", 240)];
    let result = diagnose(&machine(&through, &limits), &[], 0);
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected: [(Vec<String>, u64); 3] = [
        (list(&["d0", "d1", "d2", "d3"]), 240),
        (list(&["d0", "d1"]), 140),
        (list(&["d2", "d3"]), 150),
    ];
    let mut found = walls(&result);
    found.sort_by_key(|(members, _)| (std::cmp::Reverse(members.len()), members.clone()));
    assert_eq!(found, expected, "{result:#}");
    for wall in result["walls"].as_array().unwrap() {
        assert_eq!(wall["kind"], "limit");
        let explained = wall["explained_by"].as_str().unwrap();
        let name = wall["hop"]["name"].as_str().unwrap();
        assert!(explained.starts_with(name), "{explained}");
        assert!(wall["share_of_hop"].as_f64().unwrap() > 0.98);
    }
    assert_eq!(result["schema"], "sustain.diagnose/1");
    assert_eq!(result["ended"], "done");
    assert_eq!(result["alone"].as_array().unwrap().len(), 4);
    let best = &result["advice"][0];
    let measured = best["measured_bytes_per_s"].as_f64().unwrap();
    assert!(
        (measured / 240e6 - 1.0).abs() < 0.02,
        "it was tried: {best:#}"
    );
}

#[test]
fn disks_that_share_nothing_have_no_wall_and_it_is_said_how_sure_that_is() {
    let through: [&[&str]; 5] = [&[]; 5];
    let result = diagnose(&machine(&through, &[]), &[], 0);
    assert_eq!(walls(&result), []);
    let none = &result["no_wall"];
    assert!(none["none_below_share"].as_f64().unwrap() > 0.9, "{none:#}");
    assert!(none["largest_hidden_loss_bytes_per_s"].as_f64().unwrap() > 0.0);
    let independent = &result["advice"][0];
    assert_eq!(independent["layout"], "independent");
    assert_eq!(names(&independent["order"]).len(), 5);
}

#[test]
fn a_limit_that_never_binds_is_no_wall() {
    let through: [&[&str]; 3] = [&["bus"]; 3];
    let result = diagnose(&machine(&through, &[("bus", 400)]), &[], 0);
    assert_eq!(walls(&result), []);
}

#[test]
fn a_slow_disk_is_named_as_what_holds_a_stripe() {
    let through: [&[&str]; 4] = [&[]; 4];
    let slow = machine(&through, &[]).replacen("read = \"100MB/s\"", "read = \"25MB/s\"", 1);
    let result = diagnose(&slow, &[], 0);
    let advice = result["advice"].as_array().unwrap();
    let stripe = advice
        .iter()
        .find(|advice| advice["layout"] == "stripe")
        .unwrap();
    assert!(stripe["why"].as_str().unwrap().contains("held back by d0"));
    let rate = |name: &str| stripe[name].as_f64().unwrap();
    assert!((rate("expected_bytes_per_s") / 100e6 - 1.0).abs() < 0.02);
    let tried = rate("measured_bytes_per_s") / rate("expected_bytes_per_s");
    assert!((tried - 1.0).abs() < 0.05, "{stripe:#}");
}

#[test]
fn the_same_seed_gives_the_same_diagnosis() {
    let through: [&[&str]; 6] = [&["bus"]; 6];
    let noisy = machine(&through, &[("bus", 250)])
        .replace("read = \"100MB/s\"", "read = \"100MB/s\"\nnoise = \"1%\"");
    let [first, again] = [(); 2].map(|()| diagnose(&noisy, &["--seed", "5"], 0));
    assert_eq!(first["measurements"], again["measurements"]);
    let other = diagnose(&noisy, &["--seed", "6"], 0);
    assert_ne!(first["measurements"], other["measurements"]);
    assert_eq!(walls(&other)[0].0.len(), 6);
}

#[test]
fn a_disk_that_fails_is_dropped_and_the_rest_is_concluded() {
    let through: [&[&str]; 4] = [&["bus"]; 4];
    let failing = machine(&through, &[("bus", 200)]).replacen(
        "read = \"100MB/s\"",
        "read = \"100MB/s\"\nerror = { at = \"250MB\", kind = \"eio\" }",
        1,
    );
    let result = diagnose(&failing, &[], 1);
    assert_eq!(names(&result["walls"][0]["members"]), ["d1", "d2", "d3"]);
    let dropped = &result["dropped"][0];
    assert_eq!(dropped["target"], "d0");
    assert!(!dropped["message"].as_str().unwrap().is_empty());
    for measurement in result["measurements"].as_array().unwrap() {
        assert!(!names(&measurement["members"]).contains(&"d0".to_owned()));
    }
}

#[test]
fn readings_that_scatter_too_much_are_said_to_tell_nothing() {
    let through: [&[&str]; 8] = [&["bus"]; 8];
    let noisy = machine(&through, &[("bus", 700)])
        .replace("read = \"100MB/s\"", "read = \"100MB/s\"\nnoise = \"30%\"");
    let result = diagnose(&noisy, &[], 1);
    assert_eq!(result["ended"], "too_noisy");
    assert_eq!(walls(&result), []);
    let notes = result["notes"].to_string();
    assert!(notes.contains("--time-per-run"), "{notes}");
}

/// Disks `d0`, `d1`, ... that are described by these lines, and share nothing.
fn independent(disks: &[String]) -> String {
    let disk = |(number, lines): (usize, &String)| {
        format!("[[disk]]\nname = \"d{number}\"\ncapacity = \"1TB\"\n{lines}\n\n")
    };
    disks.iter().enumerate().map(disk).collect()
}

#[test]
fn caches_that_are_full_in_one_reading_and_empty_in_another_claim_no_wall() {
    let disks = [
        (266, 1157, 720),
        (126, 827, 936),
        (427, 2450, 626),
        (361, 3533, 1018),
        (362, 3475, 827),
    ];
    let machine = |is_volatile: bool| {
        let disks = disks.map(|(write, cache, cache_rate)| {
            format!(
                "write = \"{write}MB/s\"\ncache = \"{cache}MB\"\n\
                 cache_rate = \"{cache_rate}MB/s\"\nvolatile_cache = {is_volatile}"
            )
        });
        independent(&disks)
    };
    let kept = diagnose(&machine(false), &["--write"], 1);
    assert_eq!(kept["ended"], "too_noisy");
    assert_eq!(walls(&kept), [], "no wall is claimed, says the note");
    // What a flush empties is empty in each reading, and the rates are those of the disks.
    let flushed = diagnose(&machine(true), &["--write"], 0);
    assert_eq!(flushed["ended"], "done");
    assert_eq!(walls(&flushed), []);
    for (alone, (write, ..)) in flushed["alone"].as_array().unwrap().iter().zip(disks) {
        assert_about(&alone["rate_bytes_per_s"], f64::from(write) * 1e6, 1.0);
    }
}

/// The pauses fall into some readings and not into others, and into different segments of each disk.
#[test]
fn disks_that_stall_now_and_then_show_no_wall() {
    let stalls = [(270, 6548), (100, 6780), (450, 5211), (520, 2924)];
    let disks = stalls.map(|(pause, every)| {
        format!(
            "write = \"120MB/s\"\nnoise = \"0.3%\"\n\
             stall = {{ every = \"{every}ms\", for = \"{pause}ms\" }}"
        )
    });
    let machine = independent(&disks);
    for seed in ["3", "12", "20"] {
        let result = diagnose(&machine, &["--write", "--seed", seed], 0);
        assert_eq!(walls(&result), [], "{seed}");
        assert!(result["no_wall"].is_object(), "{seed}: {result:#}");
    }
}
