//! What `sustain measure` says in words, against the truth in the machine file. Time is virtual.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;

use serde_json::Value;
use support::{
    Place, assert_about, assert_valid, disk, json_of, notes_of, number, sentences, words_of_markup,
};

/// A run of `sustain measure`: its document, its answer as the terminal has it, a sentence on
/// each line, and its page.
struct Run {
    result: Value,
    answer: String,
    page: String,
}

#[track_caller]
fn measured(place: &Place, code: i32, flags: &[&str]) -> Run {
    let saved = ["--json", "run.json", "--report", "run.html"];
    let all = [&["measure", "sim:machine.toml"], flags, &saved].concat();
    let stdout = place.run(&all).expect(code).stdout;
    let result = json_of(&place.read("run.json"));
    assert_valid(&result);
    let (_, answer) = stdout.rsplit_once("\n\n").unwrap();
    Run {
        result,
        answer: sentences(answer),
        page: place.read("run.html"),
    }
}

/// The cell of the page beside these words.
#[track_caller]
fn cell_beside(page: &str, words: &str) -> String {
    let cell = page.split(words).nth(1).unwrap();
    let cell = cell.split("<td>").nth(1).unwrap();
    cell.split('<').next().unwrap().to_owned()
}

#[test]
fn whether_a_rate_holds_has_one_of_three_answers_everywhere() {
    let cache = "cache = \"2GB\"\ncache_rate = \"1GB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    let verdict = |code, rate: &str, path: &str, size: &str| {
        let time = ["--time", "20s", "--size", size, "--path", path];
        let run = measured(&place, code, &[&["--rate", rate], &time[..]].concat());
        let cell = cell_beside(&run.page, "rate held");
        (run, cell)
    };
    let (held, cell) = verdict(0, "50MB/s", "direct", "8GB");
    assert_eq!(held.result["total"]["rate_held"], true);
    insta::assert_snapshot!(held.answer, @"
    This target held 50.0 MB/s for 20 s; 1.05 MiB of the 512 MiB buffer were needed.
    The worst stall, with nothing completed, was 1.05 ms.
    The run wrote 999 MB of the 1.00 TB of the target once, so a cache of more than 999 MB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    insta::assert_snapshot!(cell, @"yes");
    assert_eq!(held.result["total"]["rate_undecided"], Value::Null);

    let (lost, cell) = verdict(1, "400MB/s", "direct", "8GB");
    assert_eq!(lost.result["total"]["rate_held"], false);
    insta::assert_snapshot!(lost.answer, @"
    This target did NOT hold 400 MB/s for 20 s; the backlog grew to 3.73 GiB, which is more than the buffer of 512 MiB; when the run ended, 2.00 GB of the 4.01 GB taken were only in a volatile cache: the flush after it took 20 s, and with it the rate is 100 MB/s.
    To learn which rate does hold, measure without --rate.
    The first 2.67 GB were faster, at 400 MB/s, which does not last.
    The worst stall, with nothing completed, was 10.5 ms.
    The run wrote 4.01 GB of the 1.00 TB of the target once, so a cache of more than 4.01 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    insta::assert_snapshot!(cell, @"NO");

    // 100 MB are gone over ten times in memory.
    let (open, cell) = verdict(1, "50MB/s", "buffered", "100MB");
    assert_eq!(open.result["total"]["rate_held"], Value::Null);
    let why = open.result["total"]["rate_undecided"].as_str().unwrap();
    insta::assert_snapshot!(why, @"data that was rewritten in the page cache may never have reached the disk; use a larger --size, or direct I/O");
    insta::assert_snapshot!(open.answer, @"
    Whether this target can hold 50.0 MB/s was not decided in 20 s (data that was rewritten in the page cache may never have reached the disk; use a larger --size, or direct I/O); 1.05 MiB of the 512 MiB buffer were needed.
    The worst stall, with nothing completed, was 1.05 ms.
    The run rewrote 95 MiB 11 times, so a cache of more than 95 MiB would go unnoticed (use a larger --size).
    These figures are of a simulated machine, not of real disks.
    ");
    insta::assert_snapshot!(cell, @"not decided (data that was rewritten in the page cache may never have reached the disk; use a larger --size, or direct I/O)");
    insta::assert_snapshot!(notes_of(&open.result), @"
    buffered: the closing flush is part of the measured time; single intervals show memory and disk together; up to 0 B of memory were dirty and 0 B in writeback
    whether the rate held could not be decided: data that was rewritten in the page cache may never have reached the disk; use a larger --size, or direct I/O
    ");

    // What was no proof of a rate can still show that it does not hold.
    let (lost, _) = verdict(1, "400MB/s", "buffered", "1GB");
    assert_eq!(lost.result["total"]["rate_held"], false);
    assert_eq!(lost.result["total"]["rate_undecided"], Value::Null);
}

#[test]
fn a_rate_that_only_a_cache_took_is_not_held() {
    let cache = "cache = \"3GB\"\ncache_rate = \"2GB/s\"\nvolatile_cache = true";
    let place = Place::with_machine(&disk("a", "1TB", "120MB/s", cache));
    let paced = |code, rate: &str| measured(&place, code, &["--rate", rate, "--time", "15s"]);
    let run = paced(1, "250MB/s");
    assert_eq!(run.result["total"]["rate_held"], false);
    let cached = &run.result["verdicts"]["into_cache"];
    assert_about(&cached["bytes"], 1.95e9, 1.0);
    assert_about(&cached["flushed_bytes_per_s"], 120e6, 1.0);
    insta::assert_snapshot!(run.answer, @"
    This target did NOT hold 250 MB/s for 15 s; when the run ended, 1.95 GB of the 3.75 GB taken were only in a volatile cache: the flush after it took 16.3 s, and with it the rate is 120 MB/s; 1.12 MiB of the 512 MiB buffer were needed.
    To learn which rate does hold, measure without --rate.
    The worst stall, with nothing completed, was 524 us.
    The run wrote 3.75 GB of the 1.00 TB of the target once, so a cache of more than 3.75 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    // A buffer could have held so much for so long, so this may be all that the cache ever keeps.
    let run = paced(1, "130MB/s");
    assert_eq!(run.result["total"]["rate_held"], Value::Null);
    insta::assert_snapshot!(run.answer, @"
    Whether this target can hold 130 MB/s was not decided in 15 s (a part of it went into a volatile cache, whose flush after the run took 1.3 s; whether the cache was still filling shows in a longer --time); 1.07 MiB of the 512 MiB buffer were needed; but when the run ended, 150 MB of the 1.95 GB taken were only in a volatile cache: the flush after it took 1.3 s, and with it the rate is 120 MB/s.
    The worst stall, with nothing completed, was 524 us.
    The run wrote 1.95 GB of the 1.00 TB of the target once, so a cache of more than 1.95 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    let run = paced(0, "100MB/s");
    assert_eq!(run.result["total"]["rate_held"], true);
    assert_eq!(run.result["verdicts"]["into_cache"], Value::Null);
    insta::assert_snapshot!(run.answer, @"
    This target held 100 MB/s for 15 s; 1.05 MiB of the 512 MiB buffer were needed.
    The worst stall, with nothing completed, was 524 us.
    The run wrote 1.50 GB of the 1.00 TB of the target once, so a cache of more than 1.50 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_target_that_fails_in_the_run_that_confirms_a_rate_is_told_everywhere() {
    let error = "error = { at = \"5GB\", kind = \"eio\" }";
    let place = Place::with_machine(&disk("a", "1TB", "150MB/s", error));
    let run = measured(&place, 1, &[]);
    assert_eq!(run.result["recommendation"], Value::Null);
    assert_eq!(run.result["targets"][0]["errors"], serde_json::json!([]));
    let failure = &run.result["later_failures"][0];
    assert_eq!(failure["target"], "a");
    assert_about(&failure["paced_bytes_per_s"], 150e6, 1.0);
    assert_eq!(failure["error"]["errno"], 5);
    assert_about(&failure["error"]["at_s"], 3.3, 2.0);
    insta::assert_snapshot!(run.answer, @"
    a failed in the run paced at 150 MB/s that was to confirm it: write at 5.00 GB: Input/output error (os error 5).
    The device could not do it: look at the kernel log (dmesg) and the disk's own error counters (smartctl -x).
    This target writes 150 MB/s steadily (± 71.4 kB/s), but no rate can be recommended after a failure.
    The worst stall, with nothing completed, was 6.99 ms.
    The run wrote 4.51 GB of the 1.00 TB of the target once, so a cache of more than 4.51 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    let alarm = run.page.split("class=\"alarm\"").nth(1).unwrap();
    let alarm = alarm.split("</div>").next().unwrap();
    insta::assert_snapshot!(words_of_markup(alarm), @"Errors | target | time of error | operation | offset | error | a | 3.3 s in the run paced at 150 MB/s that was to confirm it | write | 5.00 GB | Input/output error (os error 5). The device could not do it: look at the kernel log (dmesg) and the disk&#39;s own error counters (smartctl -x)");
    insta::assert_snapshot!(cell_beside(&run.page, "targets failed"), @"3.3 s in the run paced at 150 MB/s that was to confirm it");
}

#[test]
fn stalls_that_are_not_listed_are_counted() {
    let stalls = "stall = { every = \"100ms\", for = \"30ms\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", stalls));
    let flags = [
        "--record-size",
        "64KiB",
        "--no-confirm",
        "--json",
        "run.json",
    ];
    let stdout = place.run(&[&["measure", "sim:machine.toml"], &flags[..]].concat());
    let stdout = stdout.expect(0).stdout;
    let result = json_of(&place.read("run.json"));
    assert_eq!(result["stalls"].as_array().unwrap().len(), 64);
    // One in each tenth of the 30 s, the first of which has none.
    assert_about(&result["stalls_seen"], 300.0, 1.0);
    insta::assert_snapshot!(stdout, @"
     target       rate          sustained      p50    p99.9      max  ended
     a       70.0 MB/s  69.9 MB/s ± 0.2 %  5.28 ms  35.2 ms  35.2 ms  time
    stall: 30.7 ms on a, from 0.100 s, at offset 9.96 MB
    stall: 30.7 ms on a, from 0.200 s, at offset 17.0 MB
    stall: 30.7 ms on a, from 0.300 s, at offset 24.0 MB
    stall: 30.7 ms on a, from 0.400 s, at offset 31.0 MB
    stall: 30.7 ms on a, from 0.499 s, at offset 37.9 MB
    stall: 295 more, none longer; the result of --json and the report list the longest 64 of all 300

    A stream can be recorded at 69.8 MB/s on this target with a 512 MiB buffer, of which 11 MiB are needed (not confirmed by a paced run). The first 9.87 MB were faster, at 100 MB/s, which does not last. The worst stall, with nothing completed, was 30.7 ms. The run wrote 2.10 GB of the 1.00 TB of the target once, so a cache of more than 2.10 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time). These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_cache_that_fills_is_found_out_in_just_ten_seconds_and_in_less_nothing_is_decided() {
    let cache = "cache = \"3GB\"\ncache_rate = \"300MB/s\"\nvolatile_cache = true";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    let paced = |code, rate: &str, time: &str| {
        measured(&place, code, &["--rate", rate, "--time", time]).result["total"]["rate_held"]
            .clone()
    };
    assert_eq!(paced(1, "130MB/s", "10s"), false);
    assert_eq!(paced(1, "130MB/s", "5s"), Value::Null);
    assert_eq!(paced(0, "90MB/s", "10s"), true);
}

#[test]
fn a_pause_in_the_flush_does_not_make_a_rate_one_that_was_not_held() {
    let keys = "cache = \"64MB\"\ncache_rate = \"300MB/s\"\nvolatile_cache = true\n\
                stall = { every = \"5s\", for = \"1600ms\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", keys));
    let run = measured(&place, 0, &["--rate", "10MB/s", "--time", "15s"]);
    assert_eq!(run.result["total"]["rate_held"], true);
    insta::assert_snapshot!(run.answer, @"
    This target held 10.0 MB/s for 15 s; 16.0 MiB of the 512 MiB buffer were needed.
    The worst stall, with nothing completed, was 1.57 s.
    A stall of 1.57 s was seen twice in 15 s, which is too short to show how often such stalls come: use --time 2m.
    The run wrote 150 MB of the 1.00 TB of the target once, so a cache of more than 150 MB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn the_buffer_needed_covers_the_pauses_of_the_run_that_confirms_the_rate() {
    // The source of the paced run ends when the pause has just begun.
    let stall = "stall = { every = \"40s\", for = \"3s\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", stall));
    let found = measured(&place, 0, &[]).result["recommendation"].clone();
    assert_eq!(found["confirmed"], true);
    let rate = number(&found["rate_bytes_per_s"]);
    assert!(rate > 99e6, "{rate}");
    assert!(number(&found["buffer_bytes"]) >= 3.0 * rate, "{found}");
    assert!(number(&found["backlog_max_bytes"]) < 100e6, "{found}");
    // A buffer that does not hold so much calls for a lower rate.
    let small = measured(&place, 0, &["--buffer", "128MiB"]).result["recommendation"].clone();
    assert_eq!(small["confirmed"], true);
    let rate = number(&small["rate_bytes_per_s"]);
    assert!(3.0 * rate <= f64::from(128 << 20), "{small}");
    assert!(rate > 38e6, "{small}");
}

#[test]
fn the_pace_of_a_source_is_not_the_slowest_rate_of_the_disks() {
    let stall = "stall = { every = \"2500ms\", for = \"800ms\" }";
    let place = Place::with_machine(&disk("a", "1TB", "370MB/s", stall));
    let found = measured(&place, 0, &["--buffer", "1MiB"]).result["recommendation"].clone();
    assert_about(&found["worst_10_s_bytes_per_s"], 250e6, 3.0);
}

#[test]
fn a_buffer_that_holds_no_record_is_refused() {
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    let run = place.run(&["measure", "sim:machine.toml", "--buffer", "1KiB"]);
    insta::assert_snapshot!(sentences(&run.expect(2).stderr), @"sustain: a buffer of 1 KiB does not hold one record of 1 MiB: use a larger --buffer, or a smaller --record-size");
}

#[test]
fn a_cache_of_one_target_decides_nothing_of_what_another_would_take() {
    let cache = "cache = \"3GB\"\ncache_rate = \"2GB/s\"\nvolatile_cache = true";
    let machine = [
        disk("a", "1TB", "100MB/s", cache),
        disk("b", "1TB", "400MB/s", ""),
    ];
    let place = Place::with_machine(&machine.concat());
    let short = ["--rate", "350MB/s", "--time", "15s"];
    let run = measured(&place, 1, &short);
    assert_eq!(run.result["total"]["rate_held"], Value::Null);
    insta::assert_snapshot!(run.answer, @"
    Whether these 2 targets can hold 350 MB/s was not decided in 15 s (a took its part into a volatile cache, whose flush after the run took 11.4 s; whether the other targets take over when that cache is full shows in a longer --time); 1.88 MiB of the 512 MiB buffer were needed; but when the run ended, 1.13 GB of the 5.25 GB taken were only in a volatile cache: the flush after it took 11.4 s, and with it the rate is 275 MB/s.
    The worst stall, with nothing completed, was 2.62 ms.
    The run wrote at least 2.62 GB of each target once, so a cache of more than 2.62 GB, or a slower part in the rest of each target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn the_flushes_of_a_buffered_run_are_told_beside_its_worst_stall() {
    let cache = "cache = \"2GB\"\ncache_rate = \"1GB/s\"\nvolatile_cache = true";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    // A lap of 1 GB takes a second, and its flush the rest of the ten that the disk needs.
    let flags = ["--path", "buffered", "--time", "30s", "--size", "1GB"];
    let run = measured(&place, 0, &flags);
    assert_about(&run.result["total"]["longest_flush_ns"], 9e9, 3.0);
    insta::assert_snapshot!(run.answer, @"
    This target writes 100 MB/s through the page cache, flushes included; measure with --path direct to learn the rate at which one may record.
    The worst stall, with nothing completed, was 1.05 ms; the longest flush took 8.99 s.
    The run rewrote 953 MiB 4 times, so a cache of more than 953 MiB would go unnoticed (use a larger --size).
    These figures are of a simulated machine, not of real disks.
    ");
    // Past the page cache the flush comes after the run, and has its own figure.
    let direct = measured(&place, 0, &["--time", "20s", "--no-confirm"]);
    assert_eq!(direct.result["total"]["longest_flush_ns"], Value::Null);
}

#[test]
fn a_rate_at_which_one_may_record_is_not_that_of_a_cache_which_was_just_filled() {
    for (cache, cache_rate, medium, medium_bytes_per_s) in [
        ("3GB", "200MB/s", "60MB/s", 60e6),
        ("3.8GB", "200MB/s", "60MB/s", 60e6),
        ("10GB", "500MB/s", "150MB/s", 150e6),
        ("1.5GB", "150MB/s", "80MB/s", 80e6),
    ] {
        let keys = format!("cache = \"{cache}\"\ncache_rate = \"{cache_rate}\"");
        let place = Place::with_machine(&disk("a", "400GB", medium, &keys));
        let run = measured(&place, 0, &["--size", "100GB"]);
        let rate = number(&run.result["recommendation"]["rate_bytes_per_s"]);
        assert!(rate <= medium_bytes_per_s, "{cache}: {rate}");
        assert!(rate > 0.9 * medium_bytes_per_s, "{cache}: {rate}");
    }
}

#[test]
fn a_long_flush_after_the_run_counts_in_the_rate_at_which_one_may_record() {
    let cache = "cache = \"3GB\"\ncache_rate = \"200MB/s\"\nvolatile_cache = true";
    let place = Place::with_machine(&disk("a", "20GB", "60MB/s", cache));
    let run = measured(&place, 0, &["--time", "20s"]);
    assert_about(&run.result["recommendation"]["rate_bytes_per_s"], 60e6, 5.0);
    insta::assert_snapshot!(notes_of(&run.result), @"the last flush, which came after the run and is not part of its rate, took 46.8 s: only then was all written data out of the caches and safe. With the flush counted, the rate is 60.0 MB/s");
}

#[test]
fn what_would_show_more_is_advised_only_where_it_would() {
    let place = Place::with_machine(&disk("a", "1.0004GB", "100MB/s", ""));
    let said = |flags: &[&str]| measured(&place, 0, &[flags, &["--no-confirm"]].concat());
    // The sentence about what the run went over.
    let went_over = |flags: &[&str]| {
        let answer = said(flags).answer;
        let mut lines = answer.lines();
        lines
            .find(|line| line.starts_with("The run wrote") || line.starts_with("The run rewrote"))
            .unwrap()
            .to_owned()
    };
    // The last 400 kB are no whole record.
    let whole = said(&[]);
    assert_eq!(whole.result["targets"][0]["ended"], "end_of_device");
    insta::assert_snapshot!(whole.answer, @"
    A stream can be recorded at 99.5 MB/s on this target with a 512 MiB buffer, of which 3 MiB are needed (not confirmed by a paced run).
    The worst stall, with nothing completed, was 10.5 ms.
    The run wrote 954 MiB once, from end to end.
    These figures are of a simulated machine, not of real disks.
    ");
    insta::assert_snapshot!(went_over(&["--at", "50%"]), @"The run wrote 477 MiB once, from 50 % to its end; run it without --at to see the rest.");
    insta::assert_snapshot!(went_over(&["--time", "5s"]), @"The run wrote 508 MB of the 1.00 GB of the target once, so a cache of more than 508 MB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    insta::assert_snapshot!(went_over(&["--bytes", "100MB"]), @"The run wrote 101 MB of the 1.00 GB of the target once, so a cache of more than 101 MB, or a slower part in the rest of the target, would go unnoticed (use a larger --bytes).");
    // Only a larger size goes beyond that one.
    insta::assert_snapshot!(went_over(&["--size", "200MB", "--bytes", "200MB"]), @"The run rewrote 190 MiB 2 times, so a cache of more than 190 MiB would go unnoticed (use a larger --size).");
}

/// A disk of 100 MB/s that stands still for so long, each so often.
fn pausing(every: &str, length: &str) -> Place {
    let stall = format!("stall = {{ every = \"{every}\", for = \"{length}\" }}");
    Place::with_machine(&disk("a", "1TB", "100MB/s", &stall))
}

#[test]
fn a_pause_is_no_low_rate_whether_the_run_met_it_or_only_a_paced_one_did() {
    // What 512 MiB ride out for nine seconds, and one record on either side.
    let holds = f64::from(512 << 20) / 9.0;
    let place = pausing("31s", "9s");
    for time in ["29s", "30s", "60s", "5m"] {
        let run = measured(&place, 0, &["--time", time]);
        let found = &run.result["recommendation"];
        assert_eq!(found["confirmed"], true, "{time}: {found:#}");
        assert_about(&found["rate_bytes_per_s"], holds, 1.0);
        assert!(number(&found["rate_bytes_per_s"]) <= holds);
    }
    // Whoever saw it once or twice does not know how often it comes, and is told so.
    let once = measured(&place, 0, &["--time", "30s"]);
    insta::assert_snapshot!(once.answer, @"
    A stream can be recorded at 59.4 MB/s on this target with a 512 MiB buffer (confirmed by a paced run of 10 s, which used 1.59 MiB); 99.9 MB/s was tried first and did not hold.
    The rate of the slowest 10 s was 9.86 MB/s.
    The worst stall, with nothing completed, was 10.5 ms; a stall in a paced run took 9.01 s.
    A stall of 9.01 s was seen once in 50 s, which is too short to show how often such stalls come: use --time 7m.
    The run wrote 3.01 GB of the 1.00 TB of the target once, so a cache of more than 3.01 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    insta::assert_snapshot!(notes_of(&once.result), @"a stall of 9.01 s was seen once in 50 s, which is too short to show how often such stalls come: use --time 7m");
    insta::assert_snapshot!(measured(&place, 0, &["--time", "60s"]).answer, @"
    A stream can be recorded at 59.4 MB/s on this target with a 512 MiB buffer (confirmed by a paced run of 10 s).
    The rate was not found to be steady: no bytes were transferred for 3.0 s or more from 33 s on; range 143 % of the mean in the last 30 s (20 % allowed); rising by 1.5 times the mean over the last 30 s (10 % allowed), and one pass cannot tell whether position or time is the cause.
    From 30 s on it was 70.0 MB/s on average.
    So 59.4 MB/s may not last: a longer --time, or --until-steady, tells more.
    The rate of the slowest 10 s was 9.96 MB/s.
    The worst stall, with nothing completed, was 9.01 s.
    A stall of 9.01 s was seen twice in 70 s, which is too short to show how often such stalls come: use --time 7m.
    The run wrote 5.11 GB of the 1.00 TB of the target once, so a cache of more than 5.11 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    insta::assert_snapshot!(measured(&place, 0, &["--time", "5m"]).answer, @"
    A stream can be recorded at 59.4 MB/s on this target with a 512 MiB buffer (confirmed by a paced run of 10 s, which used 6.01 MiB).
    The rate of the slowest 10 s was 9.96 MB/s.
    The worst stall, with nothing completed, was 9.01 s.
    The run wrote 21.9 GB of the 1.00 TB of the target once, so a cache of more than 21.9 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_paced_run_that_ends_in_a_pause_counts_the_pause_alone() {
    // The first paced run, from 30 s on, ends within the pause.
    for every in ["33s", "36s"] {
        let place = pausing(every, "5835ms");
        let run = measured(&place, 0, &[]);
        let holds = f64::from(512 << 20) / 5.835;
        assert_about(
            &run.result["recommendation"]["rate_bytes_per_s"],
            holds,
            1.0,
        );
    }
    // The run itself ends in a pause: what was seen allows half of the rate, and the truth 58
    // MB/s.
    let run = measured(&pausing("29500ms", "9s"), 0, &[]);
    let rate = number(&run.result["recommendation"]["rate_bytes_per_s"]);
    assert!((50e6..60e6).contains(&rate), "{rate}");
    insta::assert_snapshot!(run.answer, @"
    A stream can be recorded at 53.3 MB/s on this target with a 512 MiB buffer, of which 460 MiB are needed for the stalls seen (confirmed by a paced run of 10 s, which used 1.53 MiB).
    The rate was not found to be steady: no bytes were transferred for 1.9 s or more from 31 s on; range 188 % of the mean in the last 19 s (20 % allowed); falling by 2.5 times the mean over the last 19 s (10 % allowed), and one pass cannot tell whether position or time is the cause.
    From 19.3 s on it was 53.4 MB/s on average.
    So 53.3 MB/s may not last: a longer --time, or --until-steady, tells more.
    The rate of the slowest 10 s was 10.1 MB/s.
    The worst stall, with nothing completed, was 9.01 s.
    A stall of 9.01 s was seen once in 49 s, which is too short to show how often such stalls come: use --time 7m.
    The run wrote 2.96 GB of the 1.00 TB of the target once, so a cache of more than 2.96 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn the_rate_of_a_small_cache_is_that_of_the_cache() {
    for (cache, held) in [
        ("10MB", 10e6),
        ("16MB", 16e6),
        ("34MiB", 35.65e6),
        ("400MB", 400e6),
    ] {
        let keys = format!("cache = \"{cache}\"\ncache_rate = \"40MB/s\"");
        let place = Place::with_machine(&disk("a", "1TB", "4.2MB/s", &keys));
        let result = measured(&place, 0, &["--time", "2m", "--no-confirm"]).result;
        for burst in [&result["total"]["burst"], &result["targets"][0]["burst"]] {
            let rate = number(&burst["rate_bytes_per_s"]);
            assert!((39.6e6..40.0001e6).contains(&rate), "{cache}: {rate}");
            let taken = held * 40.0 / 35.8;
            let wrong = (number(&burst["bytes"]) - taken).abs();
            assert!(wrong < 2.2 * 1_048_576.0, "{cache}: {burst}");
        }
    }
}

/// A disk of 100 MB/s whose service scatters by 20 % (one standard deviation) from each 2 MiB to
/// the next.
fn scattering(seed: u64) -> Place {
    const STRETCH_BYTES: u64 = 2 << 20;
    const STRETCHES: u64 = 4096;
    let mut state = seed;
    let mut uniform = || {
        // Numerical Recipes' generator; its upper bits are good enough.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let stretch = |index: u64| {
        let time = (1.0 + 0.2 * normal()).max(0.3);
        format!(
            "{{ at = \"{}B\", for = \"{STRETCH_BYTES}B\", to = \"{:.0}B/s\" }}",
            index * STRETCH_BYTES,
            100e6 / time
        )
    };
    let stretches: Vec<String> = (0..STRETCHES).map(stretch).collect();
    let slow = format!("slow = [{}]", stretches.join(", "));
    let capacity = format!("{}B", STRETCHES * STRETCH_BYTES);
    Place::with_machine(&disk("a", &capacity, "400MB/s", &slow))
}

#[test]
fn a_disk_that_scatters_still_gets_a_rate_that_holds() {
    for seed in 1..=3 {
        let place = scattering(seed);
        let run = measured(&place, 0, &["--time", "20s"]);
        let found = &run.result["recommendation"];
        assert_eq!(found["confirmed"], true, "seed {seed}: {found:#}");
        let attempts = found["attempts"].as_array().unwrap();
        assert!((1..=6).contains(&attempts.len()), "seed {seed}: {found:#}");
        let rate = number(&found["rate_bytes_per_s"]);
        assert!((90e6..=100.5e6).contains(&rate), "seed {seed}: {rate}");
        // Its interval is that of the scatter, no wider and no tighter than chance makes it.
        let ci = &run.result["total"]["sustained"]["ci95_bytes_per_s"];
        let width = number(&ci[1]) - number(&ci[0]);
        assert!((0.2e6..8e6).contains(&width), "seed {seed}: {ci}");
        let rate = format!("{rate:.0}B/s");
        let long = ["--rate", &rate, "--time", "50s"];
        let held = measured(&place, 0, &long);
        assert_eq!(held.result["total"]["rate_held"], true, "seed {seed}");
    }
}

#[test]
fn a_disk_that_scatters_and_pauses_still_gets_a_rate_that_holds() {
    for seed in 11..=12 {
        let place = scattering(seed);
        let machine = place.read("machine.toml");
        let stall = "stall = { every = \"3s\", for = \"400ms\" }\n";
        place.write("machine.toml", &format!("{machine}{stall}"));
        let run = measured(&place, 0, &["--time", "20s", "--buffer", "64MB"]);
        let found = &run.result["recommendation"];
        assert_eq!(found["confirmed"], true, "seed {seed}: {found:#}");
        assert!(found["attempts"].as_array().unwrap().len() <= 6);
        let rate = number(&found["rate_bytes_per_s"]);
        // Thirteen fifteenths of the time are left.
        assert!((70e6..=88e6).contains(&rate), "seed {seed}: {rate}");
        let rate = format!("{rate:.0}B/s");
        let long = ["--rate", &rate, "--time", "50s", "--buffer", "64MB"];
        let held = measured(&place, 0, &long).result;
        assert_eq!(held["total"]["rate_held"], true, "seed {seed}");
    }
}

#[test]
fn a_burst_of_milliseconds_has_its_rate_too() {
    let keys = "cache = \"64MB\"\ncache_rate = \"4GB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "500MB/s", keys));
    for record in ["64KiB", "1MiB"] {
        let flags = ["--time", "11s", "--record-size", record, "--no-confirm"];
        let result = measured(&place, 0, &flags).result;
        let burst = &result["total"]["burst"];
        let rate = number(&burst["rate_bytes_per_s"]);
        assert!((3.9e9..4.0001e9).contains(&rate), "{record}: {rate}");
        assert_about(&burst["bytes"], 64e6 * 4.0 / 3.5, 3.0);
    }
}

#[test]
fn the_ordinary_pace_of_a_slow_disk_is_no_stall_and_no_more_than_it_gives() {
    // Each record takes five seconds, whatever is in flight.
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", "request = \"5s\""));
    let run = measured(&place, 0, &[]);
    insta::assert_snapshot!(run.answer, @"
    A stream can be recorded at 175 kB/s on this target with a 512 MiB buffer, of which 3 MiB are needed (not confirmed: a paced run of 10 s was too short for the few records that fell due).
    The rate of the slowest 10 s was 105 kB/s.
    The worst stall, with nothing completed, was 5.01 s.
    The run wrote 13.6 MB of the 1.00 TB of the target once, so a cache of more than 13.6 MB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    let truth = 1_048_576.0 / 5.0;
    let rate = number(&run.result["recommendation"]["rate_bytes_per_s"]);
    assert!((0.8 * truth..=truth).contains(&rate), "{rate} of {truth}");
    let place = Place::with_machine(&disk("a", "1TB", "100kB/s", ""));
    let rate = number(&measured(&place, 0, &[]).result["recommendation"]["rate_bytes_per_s"]);
    assert!((70e3..=100e3).contains(&rate), "{rate}");
}

#[test]
fn a_paced_run_tells_how_long_its_source_went_on_and_whether_its_backlog_grew_to_the_end() {
    let machine = disk("a", "1TB", "1GB/s", "") + &disk("b", "1TB", "1MB/s", "");
    let place = Place::with_machine(&machine);
    // The last records take the slow disk another eight seconds.
    let run = measured(&place, 0, &["--rate", "500MB/s"]);
    insta::assert_snapshot!(run.answer, @"
    These 2 targets together held 500 MB/s for 30 s; 2.50 MiB of the 512 MiB buffer were needed.
    The worst stall, with nothing completed, was 3.15 ms.
    The run wrote at least 29.4 MB of each target once, so a cache of more than 29.4 MB, or a slower part in the rest of each target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    insta::assert_snapshot!(measured(&place, 0, &["--rate", "99MB/s"]).answer, @"
    This target held 99.0 MB/s for 30 s; 1.99 MiB of the 512 MiB buffer were needed.
    The worst stall, with nothing completed, was 10.5 ms.
    The run wrote 2.97 GB of the 1.00 TB of the target once, so a cache of more than 2.97 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    // A pause just before the end is one that a buffer rides out, as far as is known.
    let pause = "stall = { every = \"27s\", for = \"3s\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", pause));
    let run = measured(&place, 0, &["--rate", "85MB/s"]);
    insta::assert_snapshot!(run.answer, @"
    This target held 85.0 MB/s for 30 s; 245 MiB of the 512 MiB buffer were needed and still grew at the end, so a longer run may not hold it.
    The worst stall, with nothing completed, was 3.01 s.
    A stall of 3.01 s was seen once in 30 s, which is too short to show how often such stalls come: use --time 3m.
    The run wrote 2.30 GB of the 1.00 TB of the target once, so a cache of more than 2.30 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_rate_is_not_held_by_a_disk_whose_backlog_only_grows() {
    // Up to the end the buffer is far from full, and at the smallest of these rates the queue
    // is.
    for rate in ["105MB/s", "101MB/s", "100.3MB/s"] {
        let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
        let run = measured(&place, 1, &["--rate", rate]);
        assert_eq!(run.result["total"]["rate_held"], false);
        assert_eq!(run.result["verdicts"]["backlog_grows"], true);
    }
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    insta::assert_snapshot!(measured(&place, 1, &["--rate", "101MB/s"]).answer, @"
    This target did NOT hold 101 MB/s for 30 s; 30.6 MiB of the 512 MiB buffer were needed, and the backlog grew steadily to the end, which no buffer rides out in a longer run.
    To learn which rate does hold, measure without --rate.
    The worst stall, with nothing completed, was 10.5 ms.
    The run wrote 3.01 GB of the 1.00 TB of the target once, so a cache of more than 3.01 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    // The same where only the second half of the run is too slow.
    let cache = "cache = \"100MB\"\ncache_rate = \"300MB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    insta::assert_snapshot!(measured(&place, 1, &["--rate", "108MB/s"]).answer, @"
    This target did NOT hold 108 MB/s for 30 s; 135 MiB of the 512 MiB buffer were needed, and the backlog grew steadily to the end, which no buffer rides out in a longer run; when the run ended, 99.0 MB of the 3.11 GB taken were only in a volatile cache: the flush after it took 1 s, and with it the rate is 100 MB/s.
    To learn which rate does hold, measure without --rate.
    The worst stall, with nothing completed, was 10.5 ms.
    The run wrote 3.11 GB of the 1.00 TB of the target once, so a cache of more than 3.11 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    insta::assert_snapshot!(measured(&place, 0, &["--rate", "100MB/s"]).answer, @"
    This target held 100 MB/s for 30 s; 1.33 MiB of the 512 MiB buffer were needed.
    The worst stall, with nothing completed, was 3.50 ms.
    The run wrote 3.00 GB of the 1.00 TB of the target once, so a cache of more than 3.00 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_device_that_is_gone_over_at_once_is_told_how_to_be_judged() {
    let place = Place::with_machine(&disk("a", "4MB", "100MB/s", ""));
    let run = measured(&place, 0, &[]);
    insta::assert_snapshot!(run.answer, @"
    The run was only 31.5 ms long, which is too short to judge what lasts (with --size the run goes over the device again and again).
    The rate was not found to be steady: the run lasted 0.0 s, but at least 10 s are needed.
    Over the whole run it was 100 MB/s on average.
    No rate to rely on follows from that: a longer --time, or --until-steady, tells more.
    The worst stall, with nothing completed, was 10.5 ms.
    The run wrote 3 MiB once, from end to end.
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_pause_of_one_of_two_disks_is_a_pause_too() {
    let stall = |every: &str, length: &str| {
        format!("stall = {{ every = \"{every}\", for = \"{length}\" }}")
    };
    let machine = disk("a", "1TB", "100MB/s", &stall("20s", "2s"))
        + &disk("b", "1TB", "100MB/s", &stall("31s", "9s"));
    let place = Place::with_machine(&machine);
    // Only a paced run meets the nine seconds; 100 MB/s and what the buffer takes go on
    // meanwhile.
    let run = measured(&place, 0, &[]);
    let rate = number(&run.result["recommendation"]["rate_bytes_per_s"]);
    assert!((125e6..160e6).contains(&rate), "{rate}");
    insta::assert_snapshot!(run.answer, @"
    A stream can be recorded at 159 MB/s on these 2 targets with a 512 MiB buffer (confirmed by a paced run of 10 s, which used 2.59 MiB); 179 MB/s was tried first and did not hold.
    The rate of the slowest 10 s was 81.7 MB/s.
    The worst stall of all targets at once was 10.5 ms, that of a single target 2.01 s on a; a stall in a paced run took 9.01 s.
    A stall of 9.01 s was seen once in 50 s, which is too short to show how often such stalls come: use --time 7m.
    The run wrote at least 2.81 GB of each target once, so a cache of more than 2.81 GB, or a slower part in the rest of each target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_rate_is_judged_until_a_target_is_full() {
    let machine = [
        disk("a", "2GB", "209MB/s", ""),
        disk("b", "40GB", "70MB/s", ""),
    ];
    let place = Place::with_machine(&machine.concat());
    let flags = ["--rate", "260MB/s", "--time", "1m", "--buffer", "256MiB"];
    let run = measured(&place, 1, &flags);
    assert_eq!(run.result["total"]["rate_held"], Value::Null);
    insta::assert_snapshot!(run.answer, @"
    Whether these 2 targets can hold 260 MB/s was not decided in 1.00 min (a was full after 10 s, and until then the rate was held; use --time 10s, or --size to go over the same part again); afterwards the backlog grew to 8.76 GiB.
    The worst stall, with nothing completed, was 15.0 ms.
    The run wrote at least 2.00 GB of each target once, so a cache of more than 2.00 GB, or a slower part in the rest of each target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");

    // What did not hold before is told as before.
    let flags = ["--rate", "400MB/s", "--time", "1m", "--buffer", "16MiB"];
    let run = measured(&place, 1, &flags);
    assert_eq!(run.result["total"]["rate_held"], false);
}

#[test]
fn a_target_that_failed_at_once_has_no_part_in_the_answer() {
    let broken = "error = { at = \"0B\", kind = \"eio\", once = false }";
    let machine = [
        disk("e0", "1TB", "100MB/s", broken),
        disk("e1", "1TB", "100MB/s", ""),
    ];
    let place = Place::with_machine(&machine.concat());
    let run = measured(&place, 1, &["--depth", "1", "--time", "1m"]);
    assert_eq!(run.result["targets"][0]["bytes"], 0);
    insta::assert_snapshot!(run.answer, @"
    e0 failed: write at 0 B: Input/output error (os error 5).
    The device could not do it: look at the kernel log (dmesg) and the disk's own error counters (smartctl -x).
    The 1 target that is left writes 100 MB/s steadily (± 51.2 kB/s), but no rate can be recommended after a failure.
    The worst stall, with nothing completed, was 10.5 ms.
    The run wrote 6.00 GB of the 1.00 TB of e1 once, so a cache of more than 6.00 GB, or a slower part in the rest of e1, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
    assert!(
        !run.page.contains("<td>0 ns"),
        "nothing completed in no time"
    );
}

#[test]
fn a_time_beyond_the_end_of_a_target_is_advised_with_a_size() {
    let stall = "stall = { every = \"100s\", for = \"20s\" }";
    let place = Place::with_machine(&disk("a", "60GB", "200MB/s", stall));
    let run = measured(&place, 0, &["--time", "2m", "--no-confirm"]);
    let rhythm = &run.result["verdicts"]["rhythm_not_seen"];
    assert_eq!(rhythm["is_beyond_the_end"], true, "{rhythm:#}");
    assert_eq!(rhythm["proposed_size_bytes"], 55_u64 << 30);
    insta::assert_snapshot!(run.answer, @"
    The rate was not found to be steady: no bytes were transferred for 6.0 s or more from 102 s on; range 150 % of the mean in the last 60 s (20 % allowed); falling by 1.8 times the mean over the last 60 s (10 % allowed), and one pass cannot tell whether position or time is the cause.
    From 1 min on it was 133 MB/s on average.
    So what follows is less certain: a longer --time, or --until-steady, tells more.
    A stream can be recorded at 26.7 MB/s on this target with a 512 MiB buffer (not confirmed by a paced run).
    The worst stall, with nothing completed, was 20.0 s.
    A stall of 20.0 s was seen once in 120 s, which is too short to show how often such stalls come: use --time 14m with --size 55GiB, so that the run goes over the same part again: otherwise it comes to the end of a target first.
    The run wrote 20.0 GB of the 60.0 GB of the target once, so a cache of more than 20.0 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_constant_rate_has_no_slower_periods() {
    let place = Place::with_machine(&disk("a", "100GB", "200MB/s", ""));
    let run = measured(&place, 0, &["--time", "1m"]);
    assert_eq!(run.result["verdicts"]["buffer_is_for"], "margin");
    insta::assert_snapshot!(run.answer, @"
    A stream can be recorded at 200 MB/s on this target with a 512 MiB buffer, of which at most 27 MiB are needed (confirmed by a paced run of 10 s, which used 2.00 MiB).
    The worst stall, with nothing completed, was 5.24 ms.
    The run wrote 12.0 GB of the 100 GB of the target once, so a cache of more than 12.0 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_paced_run_of_hardly_a_record_confirms_nothing() {
    let place = Place::with_machine(&disk("a", "100GB", "200MB/s", ""));
    let large = ["--time", "3s", "--record-size", "512MiB", "--depth", "1"];
    let run = measured(&place, 0, &large);
    let found = &run.result["recommendation"];
    assert_eq!(found["confirmed"], Value::Null, "{found:#}");
    assert_eq!(found["held_seconds"], 3.0);
    insta::assert_snapshot!(run.answer, @"
    The run was only 5.4 s long, which is too short to judge what lasts.
    The rate was not found to be steady: the run lasted 5.4 s, but at least 10 s are needed.
    Over the whole run it was 200 MB/s on average.
    So what follows is less certain: a longer --time, or --until-steady, tells more.
    A stream can be recorded at 84.4 MB/s on this target with a 512 MiB buffer, of which 472 MiB are needed (not confirmed: a paced run of 3 s was too short for the few records that fell due).
    The worst stall, with nothing completed, was 2.68 s.
    The run wrote 1.07 GB of the 100 GB of the target once, so a cache of more than 1.07 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).
    These figures are of a simulated machine, not of real disks.
    ");
}

#[test]
fn a_hole_of_a_long_run_stays_at_the_bottom_of_its_chart() {
    let stall = "stall = { every = \"900s\", for = \"9s\" }";
    let place = Place::with_machine(&disk("a", "60GB", "200MB/s", stall));
    let flags = [
        "--time",
        "20m",
        "--size",
        "10GB",
        "--interval",
        "100ms",
        "--no-confirm",
    ];
    let run = measured(&place, 0, &flags);
    let intervals = run.result["targets"][0]["intervals"].as_array().unwrap();
    assert!(intervals.len() <= 10_000, "{}", intervals.len());
    let is_hole = |interval: &&Value| interval["rate_range_bytes_per_s"][0] == 0.0;
    assert!(intervals.iter().any(|interval| is_hole(&interval)));
    let (_, chart) = run.page.split_once("<li>Rate. a: ").unwrap();
    insta::assert_snapshot!(chart.split("</li>").next().unwrap(), @"0 B/s to 210 MB/s, at the end 201 MB/s");
}
