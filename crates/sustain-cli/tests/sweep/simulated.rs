//! Simulated machines whose best setting is known.

use serde_json::Value;

use crate::assert_valid;
use crate::support::{Place, assert_about, json_of, number};

/// A disk of 100 MB/s whose requests cost 2 ms each, hidden behind the transfer before.
const DISK: &str = "[[disk]]\nname = \"d0\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
                    request = \"2ms\"\nnoise = \"0.3%\"\n";

fn sweep(toml: &str, flags: &[&str], code: i32) -> Value {
    let place = Place::with_machine(toml);
    let words = ["sweep", "sim:machine.toml", "--json", "-"];
    let result = json_of(&place.run(&[&words, flags].concat()).expect(code).stdout);
    assert_valid(&result);
    result
}

/// The point that an answer names.
fn point<'a>(result: &'a Value, answer: usize, which: &str) -> &'a Value {
    let number = result["answers"][answer][which].as_u64().unwrap();
    &result["points"][number as usize]
}

#[test]
fn the_best_and_the_cheapest_setting_of_a_disk_are_found() {
    let result = sweep(DISK, &[], 0);
    assert_eq!(result["schema"], "sustain.sweep/1");
    assert_eq!(result["ended"], "done");
    let best = point(&result, 0, "best");
    assert_about(&best["rate_bytes_per_s"], 100e6, 1.0);
    assert_eq!(best["repeats"], 4);
    // At depth 1 even records of 4 MiB lose 2 ms of 42 ms.
    let cheapest = &point(&result, 0, "cheapest")["setting"];
    assert_eq!(cheapest["depth"], 2);
    let axes = result["answers"][0]["axes"].as_array().unwrap();
    let names: Vec<&str> = axes
        .iter()
        .map(|axis| axis["axis"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["record_size", "depth"]);
    assert_eq!(axes[1]["matters"], true);
    let one = &axes[1]["values"][0];
    assert_eq!(
        (&one["value"], &one["against_best"]["is_noise"]),
        (&"1".into(), &false.into())
    );
}

#[test]
fn an_array_of_simulated_disks_is_given_each_chunk_as_a_request() {
    let machines = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/marvell.toml");
    let toml = std::fs::read_to_string(machines).unwrap();
    let axes = ["--layout", "independent,stripe", "--md", "raid0"];
    let sizes = ["--chunk", "64KiB..2MiB", "--record-size", "1MiB"];
    let runs = ["--depth", "8", "--time-per-point", "3s", "--rounds", "2"];
    let result = sweep(&toml, &[&axes[..], &sizes, &runs].concat(), 0);
    let rate = |layout: &str, chunk_bytes: Option<u64>| {
        let points = result["points"].as_array().unwrap();
        let is_it = |point: &&Value| {
            let setting = &point["setting"];
            setting["layout"] == layout && setting["chunk_bytes"].as_u64() == chunk_bytes
        };
        &points.iter().find(is_it).unwrap()["rate_bytes_per_s"]
    };
    assert_about(rate("md-raid0", Some(64 << 10)), 178e6, 1.0);
    assert_about(rate("md-raid0", Some(1 << 20)), 252e6, 1.0);
    assert_about(rate("md-raid0", Some(2 << 20)), 252e6, 1.0);
    assert_about(rate("independent", None), 252e6, 1.0);
    // Our own stripe hands a disk all chunks of a record at once.
    assert_about(rate("stripe", Some(64 << 10)), 252e6, 1.0);
    let notes = result["notes"].to_string();
    assert!(
        notes.contains("each chunk of a record is one request"),
        "{notes}"
    );
}

#[test]
fn a_budget_leads_to_the_best_with_fewer_runs() {
    let flags = ["--record-size", "4KiB..4MiB", "--depth", "1..16"];
    let result = sweep(DISK, &[&flags[..], &["--budget", "90s"]].concat(), 0);
    let runs = result["measurements"].as_array().unwrap().len();
    assert!((20..=90).contains(&runs), "{runs}");
    assert_about(&point(&result, 0, "best")["rate_bytes_per_s"], 100e6, 1.0);
    assert_eq!(point(&result, 0, "cheapest")["setting"]["depth"], 2);
    assert!(number(&result["plan"]["elapsed_s"]) <= 92.0);
    assert!(
        result["notes"]
            .to_string()
            .contains("could be measured were not: within")
    );
}

#[test]
fn the_order_and_the_chunk_matter_where_a_stripe_waits_for_a_port() {
    let mut toml = String::new();
    for (name, port) in [("a", "p0"), ("b", "p0"), ("c", "p1"), ("d", "p1")] {
        toml += &format!(
            "[[disk]]\nname = \"{name}\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
             through = [\"{port}\"]\n"
        );
    }
    toml += "[limit.p0]\nrate = \"110MB/s\"\n[limit.p1]\nrate = \"110MB/s\"\n";
    let flags = [
        "--layout",
        "independent,stripe",
        "--chunk",
        "256KiB,1MiB",
        "--order",
        "a,b,c,d",
        "--order",
        "a,c,b,d",
        "--record-size",
        "256KiB",
        "--depth",
        "1,2",
    ];
    let result = sweep(&toml, &flags, 0);
    // Independent queues, and two chunks in two orders, at two depths.
    assert_eq!(result["points"].as_array().unwrap().len(), 10);
    let axes: Vec<&str> = result["plan"]["axes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|axis| axis.as_str().unwrap())
        .collect();
    assert_eq!(axes, ["layout", "chunk", "order", "depth"]);
    assert_about(&point(&result, 0, "best")["rate_bytes_per_s"], 220e6, 1.0);
    // A window of four requests is on one port at a time if the chunks of a port follow each other.
    let rate = |layout: &str, chunk: Option<u64>, order: &str, depth: u64| {
        let points = result["points"].as_array().unwrap().iter();
        let mut points = points.filter(|point| {
            let setting = &point["setting"];
            let named: Vec<&str> = setting["order"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap())
                .collect();
            setting["layout"] == layout
                && setting["chunk_bytes"].as_u64() == chunk
                && named.join(",") == order
                && setting["depth"] == depth
        });
        number(&points.next().unwrap()["rate_bytes_per_s"])
    };
    let near = rate("stripe", Some(1 << 20), "a,b,c,d", 1);
    let apart = rate("stripe", Some(1 << 20), "a,c,b,d", 1);
    assert!(apart > 1.2 * near, "{near} {apart}");
    assert!(rate("stripe", Some(256 << 10), "a,b,c,d", 1) > near);
}

#[test]
fn orders_of_independent_queues_are_one_setting() {
    let disk = |name| DISK.replace("name = \"d0\"", &format!("name = \"{name}\""));
    let toml: String = ["a", "b", "c", "d"].map(disk).concat();
    assert_eq!(toml.matches("[[disk]]").count(), 4);
    let one = ["--order", "all", "--record-size", "1MiB", "--depth", "8"];
    let result = sweep(&toml, &one, 0);
    assert_eq!(result["points"].as_array().unwrap().len(), 1);
    let left_out = &result["left_out"][0];
    assert_eq!(left_out["count"], 23);
    let why = left_out["why"].as_str().unwrap();
    assert!(why.contains("their order makes no difference"), "{why}");
    let place = Place::with_machine(&toml);
    let told = place.run(&[&["sweep", "sim:machine.toml"], &one[..]].concat());
    told.expect(0)
        .says("1 setting, 4 times: 4 runs of 1 s")
        .says("23 settings are left out: with a queue for each target")
        .says("The result names one of them as an example below its tables");
    let once = [&["sweep", "sim:machine.toml", "--rounds", "1"], &one[..]].concat();
    let told = place.run(&once).expect(0);
    told.says("1 setting, once: 1 run of 1 s");
    let span = [&one[..], &["--layout", "independent,span"]].concat();
    let result = sweep(&toml, &span, 0);
    assert_eq!(result["points"].as_array().unwrap().len(), 1 + 24);
    let alone = sweep(&disk("a"), &one, 0);
    assert_eq!(alone["points"].as_array().unwrap().len(), 1);
    assert_eq!(alone["left_out"].as_array().unwrap().len(), 0);
}

#[test]
fn writing_and_reading_have_an_answer_each() {
    let toml = DISK.replace(
        "read = \"100MB/s\"",
        "read = \"100MB/s\"\nwrite = \"50MB/s\"",
    );
    let result = sweep(
        &toml,
        &[
            "--write",
            "--read",
            "--record-size",
            "1MiB",
            "--depth",
            "1..4",
        ],
        0,
    );
    let directions: Vec<&Value> = result["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| &answer["direction"])
        .collect();
    assert_eq!(directions, ["write", "read"]);
    assert_about(&point(&result, 0, "best")["rate_bytes_per_s"], 50e6, 2.0);
    assert_about(&point(&result, 1, "best")["rate_bytes_per_s"], 100e6, 2.0);
}

#[test]
fn settings_that_do_not_differ_are_said_not_to() {
    let flat = "[[disk]]\nname = \"d0\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\nnoise = \"2%\"\n";
    let result = sweep(
        flat,
        &["--record-size", "64KiB..512KiB", "--depth", "1..8"],
        0,
    );
    assert_eq!(result["answers"][0]["alike"].as_array().unwrap().len(), 15);
    for axis in result["answers"][0]["axes"].as_array().unwrap() {
        assert_eq!(axis["matters"], false, "{axis:#}");
    }
}

#[test]
fn the_same_seed_gives_the_same_sweep() {
    let flags = |seed| ["--seed", seed, "--depth", "1..4", "--record-size", "1MiB"];
    let [first, again] = [(); 2].map(|()| sweep(DISK, &flags("5"), 0));
    assert_eq!(first["measurements"], again["measurements"]);
    assert_ne!(
        first["measurements"],
        sweep(DISK, &flags("6"), 0)["measurements"]
    );
}

#[test]
fn a_disk_that_fails_costs_the_points_in_which_it_does() {
    let failing = DISK.to_owned() + "error = { at = \"95MB\", kind = \"eio\" }\n";
    let result = sweep(
        &failing,
        &["--record-size", "64KiB,1MiB", "--depth", "1,8"],
        1,
    );
    let points = result["points"].as_array().unwrap();
    let failed = |point: &&Value| point["failed"].is_string();
    let failures = points.iter().filter(failed).count();
    assert!((1..4).contains(&failures), "{points:#?}");
    for point in points.iter().filter(failed) {
        assert!(point["rate_bytes_per_s"].is_null(), "{point:#}");
    }
    assert!(!point(&result, 0, "best")["failed"].is_string());
}

#[test]
fn the_answer_comes_before_the_table() {
    let place = Place::with_machine(DISK);
    let ran = place
        .run(&["sweep", "sim:machine.toml", "--depth", "1..4"])
        .expect(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[0].starts_with("The best setting for writing is "),
        "{}",
        ran.stdout
    );
    let line = |words: &str| lines.iter().position(|line| line.contains(words)).unwrap();
    assert!(
        line("of a simulated machine") < line("against best"),
        "{}",
        ran.stdout
    );
    assert!(
        line("cheapest setting within 2 %") < line("against best"),
        "{}",
        ran.stdout
    );
    ran.says("21 settings, 4 times each: 84 runs of 1 s");
}

#[test]
fn settings_that_points_are_too_short_for_are_named_beside_the_best_of_the_others() {
    for machine in ["adaptec", "beowulf-ibm"] {
        let machines = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
        let toml = std::fs::read_to_string(format!("{machines}/{machine}.toml")).unwrap();
        let place = Place::with_machine(&toml);
        let words = ["sweep", "sim:machine.toml", "--write", "--layout"];
        let layouts = ["independent,stripe,span", "--record-size", "1MiB"];
        let run =
            |more: &[&str]| place.run(&[&words[..], &layouts, &["--depth", "8"], more].concat());
        let ran = run(&["--json", "result.json"]).expect(0);
        let first = ran.stdout.split("\n  No setting").next().unwrap();
        let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            first.contains("measured, the best for writing is span"),
            "{first}"
        );
        assert!(
            first.contains("none with layout independent, stripe was measured"),
            "{first}"
        );
        let result = json_of(&std::fs::read_to_string(place.path("result.json")).unwrap());
        assert_valid(&result);
        let longer = &result["left_out"][0]["longer"]["time_per_point_s"];
        let seconds = longer.as_f64().unwrap();
        let all = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let advice = format!("a --time-per-point of {seconds} s includes them");
        assert!(all.contains(&advice), "{all}");
        let time = format!("{seconds}s");
        let longer = run(&["--time-per-point", &time]).expect(0);
        let best = "The best setting for writing is independent";
        assert!(longer.stdout.starts_with(best), "{longer:#?}");
    }
}

#[test]
fn a_budget_counts_the_flush_after_each_run() {
    let machine = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../machines/smartcache.toml"
    );
    let place = Place::with_machine(&std::fs::read_to_string(machine).unwrap());
    let words = ["sweep", "sim:machine.toml", "--write", "--depth", "1,2"];
    let run = |more: &[&str]| place.run(&[&words[..], more, &["--json", "r.json"]].concat());
    let result = || json_of(&std::fs::read_to_string(place.path("r.json")).unwrap());
    let two = ["--record-size", "64KiB,128KiB", "--rounds", "2"];
    run(&two).expect(0).says("for the flush after it");
    let elapsed_s = number(&result()["plan"]["elapsed_s"]);
    let run_s = elapsed_s / 8.0;
    assert!(run_s > 2.0, "{run_s}");
    // There is time for one round and a half, and for the first run.
    let budget = format!("{:.0}s", run_s * 7.0);
    let cut = ["--record-size", "64KiB,128KiB", "--budget", &budget];
    run(&cut).expect(0);
    let result = result();
    let elapsed_s = number(&result["plan"]["elapsed_s"]);
    assert!(elapsed_s < run_s * 7.0, "{elapsed_s} of {budget}");
    let notes = result["notes"].to_string();
    assert!(notes.contains("rounds were left out"), "{notes}");
}

/// Two disks of which one writes three times as fast.
const UNEQUAL: &str = "[[disk]]\nname = \"fast\"\ncapacity = \"1TB\"\nwrite = \"300MB/s\"\n\
                       [[disk]]\nname = \"slow\"\ncapacity = \"1TB\"\nwrite = \"100MB/s\"\n";

#[test]
fn a_slow_disk_beside_a_fast_one_is_not_a_stall() {
    let axes = ["--write", "--layout", "stripe,independent"];
    let several = [
        "--record-size",
        "256KiB..4MiB",
        "--depth",
        "1..8",
        "--rounds",
        "2",
    ];
    let one = ["--record-size", "1MiB", "--depth", "1", "--rounds", "8"];
    for more in [&several[..], &one[..]] {
        let result = sweep(UNEQUAL, &[&axes[..], more].concat(), 0);
        assert_eq!(
            point(&result, 0, "best")["setting"]["layout"],
            "independent"
        );
        let points = result["points"].as_array().unwrap();
        let stripes = points
            .iter()
            .filter(|one| one["setting"]["layout"] == "stripe");
        for stripe in stripes.clone() {
            let against = &stripe["against_best"];
            assert_eq!(against["is_noise"], false, "{stripe}");
            assert!(number(&against["ci95"][1]) < -0.4, "{stripe}");
        }
        assert!(stripes.count() > 0);
    }
}
