//! What `sustain measure` says in words, against the truth in the machine file. Time is virtual.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;

use serde_json::Value;
use support::{Place, assert_about, assert_valid, disk, json_of, number, unwrapped};

/// A run of `sustain measure`: its document, and its sentence as the terminal and the page
/// have it.
struct Run {
    result: Value,
    sentence: String,
    page: String,
}

#[track_caller]
fn measured(place: &Place, code: i32, flags: &[&str]) -> Run {
    let saved = ["--json", "run.json", "--report", "run.html"];
    let all = [&["measure", "sim:machine.toml"], flags, &saved].concat();
    let stdout = place.run(&all).expect(code).stdout;
    let result = json_of(&place.read("run.json"));
    assert_valid(&result);
    let (_, sentence) = stdout.rsplit_once("\n\n").unwrap();
    let sentence = unwrapped(sentence);
    assert!(sentence.contains("of a simulated machine"), "{sentence}");
    Run {
        result,
        sentence,
        page: place.read("run.html"),
    }
}

impl Run {
    #[track_caller]
    fn says(&self, words: &str) {
        assert!(
            self.sentence.contains(words),
            "no {words:?} in {}",
            self.sentence
        );
    }

    #[track_caller]
    fn says_nothing_of(&self, words: &str) {
        assert!(
            !self.sentence.contains(words),
            "{words:?} in {}",
            self.sentence
        );
    }
}

#[test]
fn whether_a_rate_holds_has_one_of_three_answers_everywhere() {
    let cache = "cache = \"2GB\"\ncache_rate = \"1GB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    let verdict = |code, rate: &str, path: &str, size: &str| {
        let time = ["--time", "20s", "--size", size, "--path", path];
        let run = measured(&place, code, &[&["--rate", rate], &time[..]].concat());
        let cell = run.page.split("rate held").nth(1).unwrap();
        let cell = cell.split("</tr>").next().unwrap().to_owned();
        (run, cell)
    };
    let (held, cell) = verdict(0, "50MB/s", "direct", "8GB");
    assert_eq!(held.result["total"]["rate_held"], true);
    held.says("This target held 50.0 MB/s for 20 s");
    assert!(cell.contains("yes"), "{cell}");
    assert_eq!(held.result["total"]["rate_undecided"], Value::Null);

    let (lost, cell) = verdict(1, "400MB/s", "direct", "8GB");
    assert_eq!(lost.result["total"]["rate_held"], false);
    lost.says("This target did NOT hold 400 MB/s for 20 s; it needed a buffer of 3.73 GiB");
    assert!(cell.contains("NO"), "{cell}");

    // 100 MB are gone over ten times in memory.
    let (open, cell) = verdict(1, "50MB/s", "buffered", "100MB");
    assert_eq!(open.result["total"]["rate_held"], Value::Null);
    let why = open.result["total"]["rate_undecided"].as_str().unwrap();
    assert!(why.contains("may never have reached the disk"), "{why}");
    open.says("was not decided in 20 s (data that was rewritten in the page cache may never have");
    open.says_nothing_of("NO");
    assert!(cell.contains("not decided"), "{cell}");
    assert!(
        open.result["notes"]
            .to_string()
            .contains("could not be decided")
    );

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
    run.says("did NOT hold 250 MB/s for 15 s");
    run.says("1.95 GB of the 3.75 GB taken were only in a volatile cache");
    run.says("took 16.3 s, and with it the rate is 120 MB/s");
    run.says_nothing_of("grew steadily");
    // A buffer could have held so much for so long, so this may be all that the cache ever keeps.
    let run = paced(1, "130MB/s");
    assert_eq!(run.result["total"]["rate_held"], Value::Null);
    run.says("whose flush after the run took 1.3 s; whether");
    run.says("the flush after it took 1.3 s, and with it");
    run.says("whether the cache was still filling shows in a longer --time");
    let run = paced(0, "100MB/s");
    assert_eq!(run.result["total"]["rate_held"], true);
    assert_eq!(run.result["verdicts"]["into_cache"], Value::Null);
    run.says_nothing_of("cache was still filling");
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
    run.says("a failed in the run paced at 150 MB/s that was to confirm it: write at 5.00 GB");
    run.says("no rate can be recommended after a failure");
    run.says_nothing_of("were waiting");
    let alarm = run.page.split("class=\"alarm\"").nth(1).unwrap();
    assert!(alarm.contains("that was to confirm it"), "{alarm}");
    assert!(run.page.contains("targets failed"));
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
    let stdout = unwrapped(&stdout.expect(0).stdout);
    let result = json_of(&place.read("run.json"));
    assert_eq!(result["stalls"].as_array().unwrap().len(), 64);
    // One in each tenth of the 30 s, the first of which has none.
    assert_about(&result["stalls_seen"], 300.0, 1.0);
    assert!(stdout.contains("list the longest 64 of all 30"), "{stdout}");
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
    run.says_nothing_of("volatile cache");
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
    let said = unwrapped(&run.expect(2).stderr);
    assert!(
        said.contains("a buffer of 1 KiB does not hold one record of 1 MiB"),
        "{said}"
    );
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
    run.says("a took its part into a volatile cache");
    run.says("shows in a longer --time");
}

#[test]
fn the_flushes_of_a_buffered_run_are_told_beside_its_worst_stall() {
    let cache = "cache = \"2GB\"\ncache_rate = \"1GB/s\"\nvolatile_cache = true";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    // A lap of 1 GB takes a second, and its flush the rest of the ten that the disk needs.
    let flags = ["--path", "buffered", "--time", "30s", "--size", "1GB"];
    let run = measured(&place, 0, &flags);
    assert_about(&run.result["total"]["longest_flush_ns"], 9e9, 3.0);
    run.says("the longest flush took 8.99 s");
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
    let notes = run.result["notes"].to_string();
    assert!(
        notes.contains("out of the caches and safe, at 60"),
        "{notes}"
    );
}

#[test]
fn what_would_show_more_is_advised_only_where_it_would() {
    let place = Place::with_machine(&disk("a", "1.0004GB", "100MB/s", ""));
    let said = |flags: &[&str]| measured(&place, 0, &[flags, &["--no-confirm"]].concat());
    // The last 400 kB are no whole record.
    let whole = said(&[]);
    assert_eq!(whole.result["targets"][0]["ended"], "end_of_device");
    whole.says("once, from end to end");
    whole.says_nothing_of("--");
    let last = said(&["--at", "50%"]);
    last.says("once, from 50 % to its end; run it without --at to see the rest");
    said(&["--time", "5s"]).says("in the rest of the target, would not show (use a longer --time)");
    said(&["--bytes", "100MB"])
        .says("in the rest of the target, would not show (use a larger --bytes)");
    // Only a larger size goes beyond that one.
    said(&["--size", "200MB", "--bytes", "200MB"]).says("(use a larger --size)");
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
    for (time, seen) in [("30s", "once in 50 s"), ("60s", "twice in 70 s")] {
        let run = measured(&place, 0, &["--time", time]);
        run.says(&format!(
            "A stall of 9.01 s was seen {seen}, which is too short to show how often"
        ));
        run.says("--time 7m");
        assert!(
            run.result["notes"]
                .to_string()
                .contains("too short to show how often")
        );
    }
    measured(&place, 0, &["--time", "5m"]).says_nothing_of("how often such stalls come");
    let short = measured(&place, 0, &["--time", "30s"]);
    short.says(
        "The worst stall, with nothing completed, was 10.5 ms; a stall in a paced run took 9.01 s",
    );
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
    run.says("was seen once in");
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
        measured(&place, 0, &long).says("This target held ");
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
    run.says_nothing_of("how often such stalls come");
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
    run.says("These 2 targets together held 500 MB/s for 30 s");
    run.says_nothing_of("still grew");
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
    measured(&place, 0, &["--rate", "99MB/s"]).says_nothing_of("still grew");
    // A pause just before the end is one that a buffer rides out, as far as is known.
    let pause = "stall = { every = \"27s\", for = \"3s\" }";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", pause));
    let run = measured(&place, 0, &["--rate", "85MB/s"]);
    run.says("This target held 85.0 MB/s for 30 s");
    run.says("and still grew at the end, so a longer run may not hold it");
}

#[test]
fn a_rate_is_not_held_by_a_disk_whose_backlog_only_grows() {
    // Up to the end the buffer is far from full, and at the smallest of these rates the queue
    // is.
    for rate in ["105MB/s", "101MB/s", "100.3MB/s"] {
        let place = Place::with_machine(&disk("a", "1TB", "100MB/s", ""));
        let run = measured(&place, 1, &["--rate", rate]);
        run.says("This target did NOT hold 10");
        run.says("and the backlog grew steadily to the end, which no buffer rides out");
        assert_eq!(run.result["total"]["rate_held"], false);
        assert_eq!(run.result["verdicts"]["backlog_grows"], true);
    }
    // The same where only the second half of the run is too slow.
    let cache = "cache = \"100MB\"\ncache_rate = \"300MB/s\"";
    let place = Place::with_machine(&disk("a", "1TB", "100MB/s", cache));
    measured(&place, 1, &["--rate", "108MB/s"]).says("grew steadily to the end");
    measured(&place, 0, &["--rate", "100MB/s"]).says("This target held 100 MB/s");
}

#[test]
fn a_device_that_is_gone_over_at_once_is_told_how_to_be_judged() {
    let place = Place::with_machine(&disk("a", "4MB", "100MB/s", ""));
    let run = measured(&place, 0, &[]);
    run.says(" ms long, which is too short to judge what lasts (with --size the run goes over");
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
    run.says("a stall in a paced run took 9.01 s");
    run.says("A stall of 9.01 s was seen once");
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
    run.says("a was full after ");
    run.says("until then the rate was held");
    run.says_nothing_of("NOT");

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
    run.says("The 1 target that is left writes ");
    run.says(" of e1");
    run.says_nothing_of("These 2 targets together write");
    run.says_nothing_of("of each target");
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
    run.says("with --size 55GiB, so that the run goes over the same part again");
}

#[test]
fn a_constant_rate_has_no_slower_periods() {
    let place = Place::with_machine(&disk("a", "100GB", "200MB/s", ""));
    let run = measured(&place, 0, &["--time", "1m"]);
    assert_eq!(run.result["verdicts"]["buffer_is_for"], "margin");
    run.says("of it needed; confirmed by a paced run of 10 s");
    run.says_nothing_of("run was slower");
}

#[test]
fn a_paced_run_of_hardly_a_record_confirms_nothing() {
    let place = Place::with_machine(&disk("a", "100GB", "200MB/s", ""));
    let large = ["--time", "3s", "--record-size", "512MiB", "--depth", "1"];
    let run = measured(&place, 0, &large);
    let found = &run.result["recommendation"];
    assert_eq!(found["confirmed"], Value::Null, "{found:#}");
    assert_eq!(found["held_seconds"], 3.0);
    run.says("not confirmed: a paced run of 3 s was too short for the few records that fell due");
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
    assert!(run.page.contains("<li>Rate. a: 0 B/s to "));
}
