//! `sustain measure` on simulated machines whose answers are known beforehand. Time is virtual:
//! minutes take milliseconds, and the figures are the same on every computer.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;
#[path = "measure/turns.rs"]
mod turns;

use serde_json::Value;
use support::{Place, assert_about, assert_valid, disk, notes_of, number, target};

/// All bytes of a target's intervals.
fn interval_bytes(target: &Value) -> Vec<u64> {
    let intervals = target["intervals"].as_array().unwrap();
    intervals
        .iter()
        .map(|interval| interval["bytes"].as_u64().unwrap())
        .collect()
}

#[test]
fn one_disk_gives_its_rate_and_the_recommendation_holds() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(0, &[]);
    let a = target(&result, "a");
    assert_about(&a["rate_bytes_per_s"], 100e6, 0.01);
    assert_eq!(a["ended"], "time");
    assert_eq!(a["depth_reached"], 8);
    assert_eq!(a["sustained"]["reached"], true);
    assert_about(&a["sustained"]["rate_bytes_per_s"], 100e6, 0.2);
    assert_eq!(a["burst"], Value::Null);
    for key in [
        "all_active_bytes_per_s",
        "sum_bytes_per_s",
        "wall_clock_bytes_per_s",
    ] {
        assert_about(&result["total"][key], 100e6, 0.01);
    }
    // Eight requests of 1 MiB in a row, each waits for the seven before it.
    assert_about(
        &a["latency_ns"]["max"],
        8.0 * 1_048_576.0 / 100e6 * 1e9,
        0.01,
    );
    let bytes: u64 = interval_bytes(a).iter().sum();
    assert_eq!(a["bytes"].as_u64(), Some(bytes));
    let recommended = &result["recommendation"];
    assert_about(&recommended["rate_bytes_per_s"], 100e6, 0.5);
    assert!(number(&recommended["rate_bytes_per_s"]) <= 100e6);
    assert_eq!(recommended["confirmed"], true);
    assert_about(&recommended["held_seconds"], 10.0, 0.01);
    assert!(number(&recommended["backlog_max_bytes"]) < 16e6);
}

#[test]
fn a_run_may_be_left_unconfirmed() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(0, &["--no-confirm"]);
    assert_eq!(result["recommendation"]["confirmed"], Value::Null);
    assert_eq!(result["recommendation"]["held_seconds"], Value::Null);
}

#[test]
fn two_disks_share_their_channel() {
    let through = "through = [\"channel\"]";
    let machine = disk("a", "1TB", "100MB/s", through)
        + &disk("b", "1TB", "100MB/s", through)
        + "[limit.channel]\nrate = \"150MB/s\"\n";
    let result = Place::with_machine(&machine).simulate(0, &["--no-confirm"]);
    for name in ["a", "b"] {
        assert_about(&target(&result, name)["rate_bytes_per_s"], 75e6, 0.1);
    }
    assert_about(&result["total"]["all_active_bytes_per_s"], 150e6, 0.5);
}

#[test]
fn one_pass_over_a_zoned_disk_cannot_tell_position_from_time() {
    let zones = "inner_write = \"50MB/s\"\nzones = 16";
    let place = Place::with_machine(&disk("a", "4GB", "100MB/s", zones));
    let result = place.simulate(0, &["--time", "10m", "--no-confirm"]);
    let a = target(&result, "a");
    assert_eq!(a["ended"], "end_of_device");
    assert_eq!(a["laps"], 1);
    assert_eq!(a["sustained"]["reached"], false);
    insta::assert_snapshot!(a["sustained"]["why"].as_str().unwrap(), @"range 32 % of the mean in the last 28 s (20 % allowed); falling 33 % over the last 28 s (10 % allowed), and one pass cannot tell whether position or time is the cause");
    // Many passes can.
    let result = place.simulate(0, &["--time", "10m", "--size", "2GB", "--no-confirm"]);
    let a = target(&result, "a");
    assert_eq!(a["sustained"]["reached"], true, "{:#}", a["sustained"]);
    assert!(number(&a["laps"]) > 20.0);
    assert_eq!(
        a["distinct_bytes"].as_u64(),
        Some(2_000_000_000 >> 20 << 20)
    );
}

#[test]
fn a_cache_is_a_burst_and_not_the_disk() {
    let cache = "cache = \"1GB\"\ncache_rate = \"250MB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "50MB/s", cache));
    let result = place.simulate(0, &["--time", "60s"]);
    let a = target(&result, "a");
    // The cache fills at the difference of the two rates.
    assert_about(&a["burst"]["bytes"], 1e9 * 250.0 / (250.0 - 50.0), 3.0);
    assert_about(&a["burst"]["rate_bytes_per_s"], 250e6, 3.0);
    assert_about(&a["sustained"]["rate_bytes_per_s"], 50e6, 0.5);
    assert!(number(&a["sustained"]["from_s"]) >= 5.0);
    assert_about(&result["recommendation"]["rate_bytes_per_s"], 50e6, 1.0);
    assert_eq!(result["recommendation"]["confirmed"], true);
}

#[test]
fn stalls_are_listed_and_those_of_the_same_moment_belong_together() {
    let stall = "stall = { every = \"5s\", for = \"300ms\" }";
    let machine = disk("a", "1TB", "100MB/s", stall)
        + &disk("b", "1TB", "100MB/s", stall)
        + &disk("c", "1TB", "100MB/s", "");
    let result = Place::with_machine(&machine).simulate(0, &["--no-confirm"]);
    let stalls = result["stalls"].as_array().unwrap();
    let of = |name: &str| {
        stalls
            .iter()
            .filter(|stall| stall["target"] == name)
            .count()
    };
    assert_eq!((of("a"), of("b"), of("c")), (6, 6, 0));
    for stall in stalls {
        let other = if stall["target"] == "a" { "b" } else { "a" };
        assert_eq!(stall["shared_with"], serde_json::json!([other]));
        assert_eq!(stall["is_common_cause"], true);
        // The pause, and the transfer that it met or that had to follow.
        assert_about(&stall["duration_ns"], 305e6, 3.0);
    }
    // The third disk went on all the while, so there was no time without any completion.
    assert!(number(&result["total"]["worst_stall_ns"]) < 15e6);
    let both = Place::with_machine(&(disk("a", "1TB", "100MB/s", stall)));
    let alone = both.simulate(0, &["--no-confirm"]);
    assert_about(&alone["total"]["worst_stall_ns"], 305e6, 3.0);
    assert_about(&target(&alone, "a")["latency_ns"]["max"], 384e6, 3.0);
    // What such a pause needs at the full rate.
    let needed = &alone["recommendation"]["buffer_bytes"];
    assert!(number(needed) > 0.3 * 90e6, "{needed}");
}

#[test]
fn pauses_that_meet_by_chance_are_not_said_to_have_a_cause_in_common() {
    let often = disk(
        "a",
        "10TB",
        "100MB/s",
        "stall = { every = \"7s\", for = \"400ms\" }",
    );
    let long = disk(
        "b",
        "10TB",
        "100MB/s",
        "stall = { every = \"11s\", for = \"1500ms\" }",
    );
    let place = Place::with_machine(&(often + &long));
    let result = place.simulate(0, &["--no-confirm", "--time", "280s"]);
    let stalls = result["stalls"].as_array().unwrap();
    let met = |stall: &&Value| stall["shared_with"] != serde_json::json!([]);
    assert!(stalls.iter().filter(met).count() >= 4, "{stalls:?}");
    let common = stalls.iter().find(|stall| stall["is_common_cause"] == true);
    assert_eq!(common, None);
}

#[test]
fn the_buffer_said_to_be_needed_is_enough() {
    for (rate, every, long) in [("151MB/s", "39.3s", "2.62s"), ("90MB/s", "17.1s", "1.3s")] {
        let stall = format!("stall = {{ every = \"{every}\", for = \"{long}\" }}");
        let place = Place::with_machine(&disk("a", "10TB", rate, &stall));
        let result = place.simulate(0, &["--time", "100s"]);
        let found = &result["recommendation"];
        let bytes = found["buffer_bytes"].as_u64().unwrap();
        assert_eq!(bytes % (1 << 20), 0, "what is read off is enough");
        let paced = format!("{}B/s", number(&found["rate_bytes_per_s"]) as u64);
        let buffer = format!("{}MiB", bytes >> 20);
        let paced = ["--rate", &paced, "--buffer", &buffer, "--time", "200s"];
        assert_eq!(place.simulate(0, &paced)["total"]["rate_held"], true);
    }
}

#[test]
fn an_error_ends_its_own_target_only() {
    let error = "error = { at = \"1GB\", kind = \"eio\", once = false }";
    let machine = disk("a", "1TB", "100MB/s", error) + &disk("b", "1TB", "100MB/s", "");
    let place = Place::with_machine(&machine);
    let result = place.simulate(1, &[]);
    let (a, b) = (target(&result, "a"), target(&result, "b"));
    assert_eq!(
        (a["ended"].as_str(), b["ended"].as_str()),
        (Some("error"), Some("time"))
    );
    assert_about(&b["bytes"], 3e9, 1.0);
    let error = &a["errors"][0];
    let offset = 1_000_000_000u64 >> 20 << 20;
    assert_eq!(error["offset_bytes"].as_u64(), Some(offset));
    assert_eq!(error["operation"], "write");
    assert_eq!(error["errno"], 5);
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @"Input/output error (os error 5). The device could not do it: look at the kernel log (dmesg) and the disk's own error counters (smartctl -x)");
    assert_eq!(b["errors"], serde_json::json!([]));
    assert_eq!(result["recommendation"], Value::Null);
    let ran = place.run(&["measure", "sim:machine.toml"]).expect(1);
    insta::assert_snapshot!(ran.stdout, @"
     target        rate          sustained      p50    p99.9      max  ended
     a         100 MB/s  99.6 MB/s ± 0.8 %  83.9 ms  83.9 ms  83.9 ms  error
     b         100 MB/s   100 MB/s ± 0.1 %  83.9 ms  83.9 ms  83.9 ms  time
     together  100 MB/s   100 MB/s ± 0.2 %
    error: a at 10 s: write at 999 MB: Input/output error (os error 5). The device could not do it: look
      at the kernel log (dmesg) and the disk's own error counters (smartctl -x)
    note: the targets were not all active for the whole time: the rate was 100 MB/s while all remaining
      targets were, and 133 MB/s over the whole time; the rates of the single targets add up to 200 MB/s
    note: the rate of all together, the verdict on it and the buffer curve are those of the 1 target
      left after a failed at 10.0 s

    a failed: write at 999 MB: Input/output error (os error 5). The device could not do it: look at the kernel log (dmesg) and the disk's own error counters (smartctl -x). The 1 target that is left writes 100 MB/s steadily (± 187 kB/s), but no rate can be recommended after a failure. The worst stall, with nothing completed, was 10.5 ms. The run wrote at least 1.01 GB of each target once, so a cache of more than 1.01 GB, or a slower part in the rest of each target, would go unnoticed (use a longer --time). These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn the_end_of_the_device_is_a_clean_ending() {
    let place = Place::with_machine(&disk("a", "500MB", "100MB/s", ""));
    let result = place.simulate(0, &["--no-confirm"]);
    let a = target(&result, "a");
    assert_eq!(a["ended"], "end_of_device");
    // Whole records only.
    assert_eq!(a["bytes"].as_u64(), Some(500_000_000 >> 20 << 20));
    assert_eq!(a["capacity_bytes"].as_u64(), Some(500_000_000));
    let wrapped = place.simulate(0, &["--size", "100MB", "--no-confirm"]);
    let a = target(&wrapped, "a");
    assert_eq!(a["ended"], "time");
    assert_eq!(a["distinct_bytes"].as_u64(), Some(100_000_000 >> 20 << 20));
}

#[test]
fn a_disk_that_ends_early_leaves_the_figures_of_all_together_alone() {
    let machine = disk("a", "2GB", "100MB/s", "") + &disk("b", "1TB", "100MB/s", "");
    let result = Place::with_machine(&machine).simulate(0, &[]);
    assert_about(&result["total"]["all_active_bytes_per_s"], 200e6, 1.0);
    assert_about(&result["total"]["wall_clock_bytes_per_s"], 5e9 / 30.0, 1.0);
    let recommended = &result["recommendation"];
    assert_about(&recommended["rate_bytes_per_s"], 200e6, 1.0);
    assert!(
        number(&recommended["buffer_bytes"]) < 16e6,
        "{recommended:#}"
    );
    insta::assert_snapshot!(notes_of(&result), @"the targets were not all active for the whole time: the rate was 200 MB/s while all were, and 166 MB/s over the whole time; the rates of the single targets add up to 200 MB/s");
}

#[test]
fn bytes_bound_each_target_exactly() {
    let machine = disk("a", "1TB", "100MB/s", "") + &disk("b", "1TB", "30MB/s", "");
    let place = Place::with_machine(&machine);
    let result = place.simulate(0, &["--bytes", "256MiB", "--no-confirm"]);
    for name in ["a", "b"] {
        assert_eq!(target(&result, name)["bytes"].as_u64(), Some(256 << 20));
        assert_eq!(target(&result, name)["ended"], "bytes");
    }
    assert_eq!(result["total"]["bytes"].as_u64(), Some(512 << 20));
}

#[test]
fn a_very_short_run_has_a_total_too() {
    let machine = disk("a", "1TB", "100MB/s", "") + &disk("b", "1TB", "90MB/s", "");
    let place = Place::with_machine(&machine);
    let result = place.simulate(0, &["--bytes", "2MiB", "--no-confirm"]);
    assert_about(&result["total"]["all_active_bytes_per_s"], 190e6, 10.0);
}

#[test]
fn a_run_until_steady_ends_when_it_is() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(0, &["--until-steady", "--no-confirm"]);
    let a = target(&result, "a");
    assert_eq!(a["ended"], "steady");
    assert!(
        (10.0..100.0).contains(&number(&a["seconds"])),
        "{}",
        a["seconds"]
    );
    let zones = "inner_write = \"10MB/s\"\nzones = 200";
    let falling = Place::with_machine(&disk("a", "10GB", "100MB/s", zones));
    let result = falling.simulate(0, &["--until-steady", "--time", "90s", "--no-confirm"]);
    assert_eq!(target(&result, "a")["ended"], "time");
}

#[test]
fn a_rate_below_the_disks_holds_and_latency_counts_from_the_intended_start() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(0, &["--rate", "90MB/s"]);
    assert_eq!(result["total"]["rate_held"], true);
    assert_eq!(result["recommendation"], Value::Null);
    let a = target(&result, "a");
    assert_about(&a["rate_bytes_per_s"], 90e6, 0.2);
    // The disk is free whenever a record falls due.
    assert_about(&a["latency_ns"]["max"], 1_048_576.0 / 100e6 * 1e9, 0.1);
}

#[test]
fn a_rate_above_the_disks_is_not_held_and_its_backlog_shows_in_the_latency() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(1, &["--rate", "150MB/s"]);
    assert_eq!(result["total"]["rate_held"], false);
    // 50 MB/s too much for 30 s.
    assert_about(&result["total"]["backlog_max_bytes"], 1.5e9, 1.0);
    // What is written at the end fell due when 150 MB/s had offered it.
    let a = target(&result, "a");
    assert_about(&a["latency_ns"]["max"], 10e9, 1.0);
    assert_about(&a["latency_ns"]["p50"], 5e9, 2.0);
    // A buffer for all of this run only puts off what a longer one meets.
    place.simulate(1, &["--rate", "150MB/s", "--buffer", "2GB"]);
}

#[test]
fn a_pause_is_held_only_with_the_buffer_that_rides_it_out() {
    let stall = "stall = { every = \"10s\", for = \"500ms\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", stall));
    let result = place.simulate(1, &["--rate", "80MB/s", "--buffer", "30MB"]);
    assert_eq!(result["total"]["rate_held"], false);
    let result = place.simulate(0, &["--rate", "80MB/s", "--buffer", "60MB"]);
    assert_about(&result["total"]["backlog_max_bytes"], 41e6, 5.0);
    // A record that fell due as the pause began waited for all of it.
    assert_about(&target(&result, "a")["latency_ns"]["max"], 0.51e9, 3.0);
}

#[test]
fn the_slowest_member_drags_a_stripe() {
    let machine = disk("a", "1TB", "100MB/s", "")
        + &disk("b", "1TB", "100MB/s", "")
        + &disk("c", "1TB", "20MB/s", "");
    let place = Place::with_machine(&machine);
    for chunk in ["1MiB", "64KiB"] {
        let flags = ["--layout", "stripe", "--chunk", chunk, "--no-confirm"];
        let result = place.simulate(0, &flags);
        assert_about(
            &result["total"]["sustained"]["rate_bytes_per_s"],
            3.0 * 20e6,
            1.0,
        );
        let bytes = |name: &str| number(&target(&result, name)["bytes"]);
        // Lockstep: after the last record the members are at most a chunk apart.
        assert!((bytes("a") - bytes("c")).abs() <= 1_048_576.0);
        assert!((bytes("a") - bytes("b")).abs() <= 1_048_576.0);
    }
    let result = place.simulate(0, &["--no-confirm"]);
    assert_about(&result["total"]["all_active_bytes_per_s"], 220e6, 1.0);
}

#[test]
fn a_span_uses_one_member_at_a_time() {
    let machine = disk("a", "1GB", "100MB/s", "") + &disk("b", "1TB", "50MB/s", "");
    let place = Place::with_machine(&machine);
    let result = place.simulate(0, &["--layout", "span", "--no-confirm"]);
    let (a, b) = (target(&result, "a"), target(&result, "b"));
    assert_eq!(a["bytes"].as_u64(), Some(1_000_000_000 >> 20 << 20));
    assert_about(&b["bytes"], 1e9, 2.0);
    let (a, b) = (interval_bytes(a), interval_bytes(b));
    let both = a.iter().zip(&b).filter(|(a, b)| **a > 0 && **b > 0).count();
    assert!(
        both <= 1,
        "both were active in {both} intervals: {a:?} {b:?}"
    );
}

#[test]
fn a_slow_target_takes_nothing_from_a_fast_one() {
    let machine = disk("fast", "1TB", "500MB/s", "") + &disk("slow", "1TB", "5MB/s", "");
    let place = Place::with_machine(&machine);
    let together = place.simulate(0, &["--no-confirm"]);
    let alone = place.measure(0, &["sim:machine.toml:fast", "--no-confirm"]);
    assert_eq!(
        target(&together, "fast")["bytes"],
        target(&alone, "fast")["bytes"]
    );
    assert_eq!(
        target(&together, "fast")["intervals"],
        target(&alone, "fast")["intervals"]
    );
}

#[test]
fn intervals_may_go_by_bytes() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(0, &["--interval", "20MiB", "--time", "5s", "--no-confirm"]);
    let bytes = interval_bytes(target(&result, "a"));
    let (last, full) = bytes.split_last().unwrap();
    assert!(full.iter().all(|bytes| *bytes == 20 << 20), "{bytes:?}");
    assert!(*last <= 20 << 20);
    assert_eq!(
        bytes.iter().sum::<u64>(),
        target(&result, "a")["bytes"].as_u64().unwrap()
    );
}

#[test]
fn the_log_of_the_1998_test_has_its_very_lines() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let arguments = [
        "measure",
        "sim:machine.toml",
        "--log",
        "dskwtst",
        "--bytes",
        "50MiB",
    ];
    let ran = place.run(&arguments).expect(0);
    let whole = "20971520 bytes in 0.209715 seconds, 100.000000 MBps, 100.000000 MBps avg\n";
    let rest = "10485760 bytes in 0.104858 seconds, 100.000000 MBps, 100.000000 MBps avg\n";
    assert_eq!(ran.stdout, format!("{whole}{whole}{rest}"));

    // The average is of all bytes and all seconds so far.
    let cache = "cache = \"20MiB\"\ncache_rate = \"40MB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "10MB/s", cache));
    let ran = place.run(&[&arguments[..5], &["60MiB"]].concat()).expect(0);
    let (mut bytes, mut seconds) = (0.0, 0.0);
    for line in ran.stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let word = |index: usize| words[index].parse::<f64>().unwrap();
        bytes += word(0);
        seconds += word(3);
        assert!(
            (word(7) - bytes / seconds / 1e6).abs() < 0.01 * word(7),
            "{line}"
        );
    }

    // Several targets are told apart, also where one name gives several.
    let machine = disk("a", "1TB", "100MB/s", "") + &disk("b", "1TB", "100MB/s", "");
    let place = Place::with_machine(&machine);
    let ran = place.run(&arguments).expect(0);
    let expected: String = [whole, whole, rest]
        .iter()
        .map(|line| format!("a: {line}b: {line}"))
        .collect();
    assert_eq!(ran.stdout, expected);
    // JSON takes standard output for itself.
    let ran = place
        .run(&[&arguments[..], &["--json", "-"]].concat())
        .expect(0);
    support::json_of(&ran.stdout);
    assert!(
        ran.stderr.contains(&format!("a: {whole}")),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", "noise = \"5%\""));
    let flags = [
        "measure",
        "sim:machine.toml",
        "--json",
        "-",
        "--time",
        "12s",
        "--seed",
    ];
    let run = |seed: &str| place.run(&[&flags[..], &[seed]].concat()).expect(0).stdout;
    let first = run("7");
    assert!(first == run("7"), "the same seed gave another document");
    let rate = |text: &str| number(&support::json_of(text)["targets"][0]["rate_bytes_per_s"]);
    assert!(
        (rate(&first) - rate(&run("8"))).abs() > 1e3,
        "another seed gave the same rate"
    );
}

#[test]
fn a_long_run_is_thinned_and_keeps_its_maxima() {
    let stall = "stall = { every = \"1h\", for = \"2s\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", stall));
    let flags = [
        "--time",
        "4h",
        "--interval",
        "1s",
        "--size",
        "10GB",
        "--no-confirm",
    ];
    let result = place.simulate(0, &flags);
    let a = target(&result, "a");
    let intervals = a["intervals"].as_array().unwrap();
    assert!(
        (5_000..=10_000).contains(&intervals.len()),
        "{}",
        intervals.len()
    );
    assert_eq!(a["bytes"].as_u64(), Some(interval_bytes(a).iter().sum()));
    let longest = intervals
        .iter()
        .map(|interval| interval["latency_max_ns"].as_u64())
        .max();
    assert_eq!(longest.unwrap(), a["latency_ns"]["max"].as_u64());
    assert!(number(&a["latency_ns"]["max"]) > 2e9);
    let last = &intervals[intervals.len() - 1];
    assert_about(
        &last["average_bytes_per_s"],
        number(&a["rate_bytes_per_s"]),
        0.01,
    );
    let joined = intervals
        .windows(2)
        .all(|pair| pair[0]["end_s"] == pair[1]["start_s"]);
    assert!(joined, "a gap between two intervals");
}

#[test]
fn reading_is_simulated_too() {
    let place = Place::with_machine(&disk("a", "1TB", "50MB/s", "read = \"80MB/s\""));
    let result = place.simulate(0, &["--read", "--no-confirm"]);
    assert_eq!(result["plan"]["direction"], "read");
    assert_about(&target(&result, "a")["rate_bytes_per_s"], 80e6, 0.1);
    let result = place.simulate(0, &["--no-confirm"]);
    assert_eq!(result["plan"]["direction"], "write");
    assert_about(&target(&result, "a")["rate_bytes_per_s"], 50e6, 0.1);
}

#[test]
fn a_machine_file_is_refused_at_its_line() {
    let machine = disk("a", "1TB", "50MB/s", "colour = \"blue\"");
    let place = Place::with_machine(&machine);
    let refused = |place: &Place| place.refusal(&["measure", "sim:machine.toml"]);
    insta::assert_snapshot!(refused(&place), @r#"sustain: machine.toml:5: unknown key "colour" in [[disk]]; expected one of name, capacity, read, write, through, inner_read, inner_write, zones, request, rpm, cache, cache_rate, volatile_cache, segment, noise, stall, error, flush_error, slow"#);
    let machine = disk("a", "1TB", "50MB/s", "through = [\"pci\"]");
    let place = Place::with_machine(&machine);
    insta::assert_snapshot!(refused(&place), @r#"sustain: machine.toml:5: through names a limit "pci" that does not exist; limits here: none; add [limit.pci] with a rate"#);
    // What has no effect is said, never silently left out.
    let place = Place::with_machine(&disk("a", "1TB", "50MB/s", "zones = 4"));
    let ran = place.run(&["measure", "sim:machine.toml", "--time", "1s"]);
    insta::assert_snapshot!(ran.expect(0).stderr.lines().next().unwrap(), @r#"disk "a": zones has no effect without inner_read or inner_write"#);
}

#[test]
fn what_lies_in_a_cache_until_the_closing_flush_is_not_called_sustained() {
    let cache = "cache = \"2GB\"\ncache_rate = \"1GB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    let flags = ["--path", "buffered", "--time", "1500ms"];
    let result = place.simulate(0, &flags);
    assert_eq!(result["total"]["sustained"]["reached"], false);
    assert_eq!(target(&result, "a")["sustained"]["reached"], false);
    assert_eq!(result["recommendation"], Value::Null);
    assert_eq!(result["buffer_curve"], serde_json::json!([]));
    // 1.5 GB in 1.5 s, and 13.5 s until they lie on the disk.
    assert_about(&result["total"]["wall_clock_bytes_per_s"], 100e6, 1.0);
    let paced = [&flags[..], &["--rate", "300MB/s"]].concat();
    let result = place.simulate(1, &paced);
    assert_eq!(result["total"]["rate_held"], false);
}

#[test]
fn a_device_that_ends_before_the_time_decides_nothing() {
    let place = Place::with_machine(&disk("a", "1GB", "100MB/s", ""));
    let result = place.simulate(1, &["--rate", "50MB/s", "--time", "2h"]);
    assert_eq!(result["total"]["rate_held"], Value::Null);
    insta::assert_snapshot!(notes_of(&result), @"whether the rate held could not be decided: the end of the device was reached before the time was over; use --size to go over the same part again, or a shorter --time");
    let wrapped = ["--rate", "50MB/s", "--time", "2m", "--size", "1GB"];
    assert_eq!(place.simulate(0, &wrapped)["total"]["rate_held"], true);
}

#[test]
fn a_slow_source_is_no_stall_of_the_disk() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(0, &["--rate", "1MB/s", "--time", "20s"]);
    let stall_ns = result["total"]["worst_stall_ns"].as_u64().unwrap();
    assert!(
        stall_ns < 20_000_000,
        "one record takes 10.5 ms: {stall_ns}"
    );
}

#[test]
fn a_disk_that_is_always_slow_tells_its_longest_pause_although_it_lists_no_stall() {
    let place = Place::with_machine(&disk("a", "1TB", "4MB/s", ""));
    let result = place.simulate(0, &["--time", "20s", "--no-confirm"]);
    assert_eq!(result["stalls"], serde_json::json!([]));
    let own = &target(&result, "a")["worst_stall_ns"];
    assert_about(own, 262e6, 1.0);
    assert_eq!(own, &result["total"]["worst_stall_ns"]);
}

#[test]
fn what_a_cache_still_held_is_flushed_after_the_run_and_the_time_told() {
    let cache = "cache = \"100MB\"\ncache_rate = \"1GB/s\"\nvolatile_cache = true";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    let result = place.simulate(0, &["--time", "20s", "--no-confirm"]);
    let target = &result["targets"][0];
    assert_about(&target["flush_seconds"], 1.0, 10.0);
    assert!(number(&target["seconds"]) < 20.2, "the flush is no part");
    assert_eq!(
        (&target["ended"], &result["total"]["bytes"]),
        (&"time".into(), &target["bytes"])
    );
    insta::assert_snapshot!(notes_of(&result), @"the last flush, which came after the run and is not part of its rate, took 1.00 s: only then was all written data out of the caches and safe. With the flush counted, the rate is 100 MB/s");
    // A cache that keeps what it has needs no time, and what was only read none at all.
    place.write("machine.toml", &disk("a", "1TB", "100MB/s", ""));
    let result = place.simulate(0, &["--time", "20s", "--no-confirm"]);
    assert!(number(&result["targets"][0]["flush_seconds"]) < 0.01);
    assert_eq!(notes_of(&result), "");
    for flags in [&["--read"][..], &["--path", "buffered"]] {
        let flags = [flags, &["--time", "5s", "--no-confirm"]].concat();
        let result = place.simulate(0, &flags);
        assert!(result["targets"][0]["flush_seconds"].is_null(), "{flags:?}");
    }
    let null = place.measure(0, &["null:", "--time", "1s", "--no-confirm"]);
    assert!(null["targets"][0]["flush_seconds"].is_null());
}

#[test]
fn a_disk_that_cannot_flush_has_failed_whatever_it_took() {
    let flags = ["--time", "20s"];
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", "flush_error = \"eio\""));
    let result = place.simulate(1, &flags);
    let target = &result["targets"][0];
    assert_about(&target["rate_bytes_per_s"], 100e6, 1.0);
    assert_eq!(target["ended"], "error");
    assert_eq!(target["errors"][0]["operation"], "flush");
    assert!(number(&target["errors"][0]["at_s"]) >= 20.0, "{target:#}");
    assert!(result["recommendation"].is_null());
    let ran = place.run(&[&["measure", "sim:machine.toml"], &flags[..]].concat());
    insta::assert_snapshot!(ran.expect(1).stdout, @"
     target      rate         sustained      p50    p99.9      max  ended
     a       100 MB/s  100 MB/s ± 0.1 %  83.9 ms  83.9 ms  83.9 ms  error
    error: a at 20.1 s: flush: Input/output error (os error 5). The device could not do it: look at the
      kernel log (dmesg) and the disk's own error counters (smartctl -x)

    a failed: flush: Input/output error (os error 5). The device could not do it: look at the kernel log (dmesg) and the disk's own error counters (smartctl -x). This target writes 100 MB/s steadily (± 134 kB/s), but no rate can be recommended after a failure. The worst stall, with nothing completed, was 10.5 ms. The run wrote 2.01 GB of the 1.00 TB of the target once, so a cache of more than 2.01 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time). These figures are of a simulated machine, not of real disks.
    ");
    // A rate that was held on paper only was not held.
    let paced = place.simulate(1, &["--time", "20s", "--rate", "50MB/s"]);
    assert_eq!(paced["total"]["rate_held"], false);
    place.simulate(0, &["--time", "20s", "--read"]);
}

/// The recommendation, and what its paced runs were.
fn recommended(place: &Place, flags: &[&str]) -> (Value, Vec<bool>) {
    let result = place.simulate(0, &[&["--buffer", "64MiB"], flags].concat());
    assert_valid(&result);
    let found = result["recommendation"].clone();
    let attempts = found["attempts"].as_array().unwrap();
    let held = attempts
        .iter()
        .map(|attempt| attempt["held"].as_bool().unwrap());
    let held = held.collect();
    (found, held)
}

#[test]
fn a_rate_that_does_not_hold_where_the_disk_is_slower_is_stepped_down_until_one_does() {
    // The run goes over 3 GB; the paced ones begin where the slow stretch does.
    let slow = "slow = [{ at = \"3GB\", for = \"2GB\", to = \"50MB/s\" }]";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", slow));
    let (found, held) = recommended(&place, &[]);
    assert_eq!(found["confirmed"], true, "{found:#}");
    assert!(held.len() > 1 && held.len() <= 6, "{found:#}");
    assert_eq!(
        held.iter().filter(|held| **held).count(),
        1,
        "the last: {found:#}"
    );
    assert!(number(&found["attempts"][0]["rate_bytes_per_s"]) > 95e6);
    // What it gives there: 6.7 MB/s more would fill 64 MiB just after the ten seconds.
    let rate = number(&found["rate_bytes_per_s"]);
    assert!((47e6..50.1e6).contains(&rate), "{found:#}");
    assert!(number(&found["backlog_max_bytes"]) <= f64::from(64 << 20));
    assert_about(&found["worst_10_s_bytes_per_s"], 50e6, 3.0);
    let said = place
        .run(&["measure", "sim:machine.toml", "--buffer", "64MiB"])
        .expect(0);
    insta::assert_snapshot!(said.stdout, @"
     target       rate          sustained      p50   p99.9     max  ended
     a       99.7 MB/s  99.7 MB/s ± 0.6 %  84.4 ms  147 ms  168 ms  time

    A stream can be recorded at 49.9 MB/s on this target with a 64 MiB buffer, of which 4 MiB are needed for the requests under way (confirmed by a paced run of 10 s, which used 2.00 MiB); 99.1 MB/s was tried first and did not hold. The worst stall, with nothing completed, was 21.0 ms. The run wrote 3.01 GB of the 1.00 TB of the target once, so a cache of more than 3.01 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time). These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_stall_that_only_a_paced_run_meets_lowers_the_rate_to_what_the_buffer_rides_out() {
    let stall = "stall = { every = \"36s\", for = \"2s\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", stall));
    let (found, held) = recommended(&place, &[]);
    assert_eq!(
        (&found["confirmed"], held),
        (&true.into(), vec![false, true])
    );
    // 64 MiB in 2 s, and the next run met no stall.
    let rate = number(&found["rate_bytes_per_s"]);
    assert!((30e6..=33.6e6).contains(&rate), "{found:#}");
    let untried = place.simulate(0, &["--no-confirm", "--buffer", "64MiB"]);
    let untried = &untried["recommendation"];
    assert_eq!(untried["attempts"], serde_json::json!([]));
    assert_eq!(untried["confirmed"], Value::Null);
}

#[test]
fn a_disk_that_never_becomes_steady_still_has_a_rate_that_was_held() {
    let stall = "stall = { every = \"9s\", for = \"4s\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", stall));
    let result = place.simulate(0, &["--buffer", "1GiB", "--time", "40s"]);
    assert_eq!(result["total"]["sustained"]["reached"], false);
    let found = &result["recommendation"];
    assert_eq!(found["confirmed"], true, "{found:#}");
    let rate = number(&found["rate_bytes_per_s"]);
    assert!((20e6..60e6).contains(&rate), "{found:#}");
    // Nor is ten seconds of nothing an end of it: 512 MiB ride out 30 s at 17.9 MB/s.
    let stall = "stall = { every = \"45s\", for = \"30s\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", stall));
    let found = &place.simulate(0, &["--time", "80s"])["recommendation"];
    assert_eq!(found["confirmed"], true, "{found:#}");
    assert_about(&found["rate_bytes_per_s"], 17.9e6, 2.0);
    assert_about(&found["worst_10_s_bytes_per_s"], 0.0, 0.0);
}

#[test]
fn what_remains_after_a_failure_is_judged_on_what_remains() {
    let failing = "error = { at = \"1.3GB\", kind = \"eio\", once = false }";
    let stalling = "stall = { every = \"60s\", for = \"1s\" }";
    let machine = [("a", failing), ("b", ""), ("c", ""), ("d", stalling)]
        .map(|(name, more)| disk(name, "1TB", "100MB/s", more));
    let place = Place::with_machine(&machine.concat());
    let result = place.simulate(1, &["--time", "5m"]);
    assert_valid(&result);
    let total = &result["total"];
    // Four disks gave 400 MB/s for 13 s, three 300 MB/s for the rest.
    let sustained = &total["sustained"];
    assert_eq!(sustained["reached"], true, "{sustained:#}");
    assert_about(&sustained["rate_bytes_per_s"], 298.3e6, 1.0);
    assert!(number(&sustained["from_s"]) >= 13.0 && number(&sustained["to_s"]) > 299.0);
    insta::assert_snapshot!(sustained["why"].as_str().unwrap(), @"range 1.2 % of the mean (20 % allowed), rising 0.3 % (10 % allowed), over the last 287 s; these are figures of the 3 targets left after a failed at 13.0 s");
    assert_about(&total["all_active_bytes_per_s"], 298.3e6, 1.0);
    assert_eq!(total["burst"], Value::Null);
    assert_eq!(result["recommendation"], Value::Null);
    for point in result["buffer_curve"].as_array().unwrap() {
        let (rate, bytes) = (
            number(&point["rate_bytes_per_s"]),
            number(&point["buffer_bytes"]),
        );
        let beyond = (rate - 300e6) * 280.0;
        assert!(
            bytes > beyond,
            "{rate} with {bytes} is the promise of a disk that is gone"
        );
        if (210e6..280e6).contains(&rate) {
            assert!(
                bytes >= rate - 201e6,
                "the stall of 1 s is in it: {rate} with {bytes}"
            );
        }
    }
    insta::assert_snapshot!(notes_of(&result), @"
    the targets were not all active for the whole time: the rate was 299 MB/s while all remaining targets were, and 302 MB/s over the whole time; the rates of the single targets add up to 398 MB/s
    the rate of all together, the verdict on it and the buffer curve are those of the 3 targets left after a failed at 13.0 s
    ");
}

#[test]
fn a_failure_after_another_has_come_to_its_end_takes_nothing_from_the_time_before() {
    let failing = "error = { at = \"1.5GB\", kind = \"eio\", once = false }";
    let machine = disk("a", "1TB", "100MB/s", failing) + &disk("b", "1.2GB", "100MB/s", "");
    let place = Place::with_machine(&machine);
    let result = place.simulate(1, &["--time", "1m"]);
    assert_valid(&result);
    let total = &result["total"];
    // Both gave 200 MB/s for 12 s; then b was full, and only after that a failed.
    assert_about(&total["all_active_bytes_per_s"], 200e6, 1.0);
    let sustained = &total["sustained"];
    assert_about(&sustained["rate_bytes_per_s"], 200e6, 1.0);
    assert!(number(&sustained["to_s"]) <= 12.1, "{sustained:#}");
}

#[test]
fn a_backlog_that_only_grows_confirms_no_rate() {
    // The disk falls from 40 MB/s to 1 MB/s when the run is just over.
    let slow = "slow = [{ at = \"1.18GB\", for = \"90GB\", to = \"1MB/s\" }]";
    let place = Place::with_machine(&disk("a", "1TB", "40MB/s", slow));
    let found = &place.simulate(0, &["--time", "29s"])["recommendation"];
    let attempts = found["attempts"].as_array().unwrap();
    assert_eq!(attempts[0]["held"], false, "{found:#}");
    let backlog_bytes = number(&attempts[0]["backlog_max_bytes"]);
    assert!(
        backlog_bytes < 512.0 * 1048576.0,
        "ten seconds do not fill the buffer"
    );
    let rate = number(&found["rate_bytes_per_s"]);
    assert!(rate < 2e6, "nothing like what went before: {found:#}");
}
