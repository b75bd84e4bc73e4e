//! Two saved runs: what is answered, and how a script is told.

use crate::support::{Place, json_of, notes_of, number, sentences, words_of_markup};
use crate::{compared, machine, saved};

/// A place with A and B of one disk each.
fn two(a: &str, b: &str) -> Place {
    let place = Place::new();
    for (file, rate) in [("a.json", a), ("b.json", b)] {
        saved(&place, file, &machine(&[("d", rate)]), &["--time", "60s"]);
    }
    place
}

/// What stands above the table, a sentence on each line.
fn answer_of(stdout: &str) -> String {
    sentences(stdout.split("\n\n").next().unwrap())
}

/// The heading of a page.
fn heading_of(page: &str) -> &str {
    let (_, heading) = page.split_once("<h1>").unwrap();
    heading.split('<').next().unwrap()
}

#[test]
fn a_disk_five_percent_slower_is_found() {
    let place = two("100MB/s", "95MB/s");
    let result = compared(&place, 0, &[]);
    assert_eq!(result["schema"], "sustain.compare/1");
    assert_eq!(result["answer"]["verdict"], "slower");
    assert_eq!(result["answer"]["slower_targets"][0], "d");
    let row = &result["rows"][0];
    assert_eq!(row["metric"], "sustained_rate");
    let ci95 = row["ci95_ratio"].as_array().unwrap();
    assert!(
        number(&ci95[0]) < 0.95 && 0.95 < number(&ci95[1]),
        "{row:#}"
    );
    assert!(number(&ci95[1]) < 0.96, "{row:#}");
}

#[test]
fn the_same_disk_is_not_called_slower() {
    let place = two("100MB/s", "100MB/s");
    let result = compared(&place, 0, &["--fail-if-slower", "1%"]);
    assert_eq!(result["answer"]["verdict"], "no_difference_shown");
    assert_eq!(result["limit"]["outcome"], "held");
    assert!(number(&result["rows"][0]["resolution"]) < 0.01);
}

#[test]
fn the_answer_comes_first_and_in_words() {
    let place = two("100MB/s", "95MB/s");
    let ran = place.run(&["compare", "a.json", "b.json"]).expect(0);
    insta::assert_snapshot!(ran.stdout, @"
    B is 5.0 % slower than A (sustained rate), more than noise explains; the 95 % interval is 4.9 % to
      5.1 %. Besides the rate, these differ by more than noise: usual max latency +5.3 %.

    A: a.json (write d, 1.00 min, simulated time)
    B: b.json (write d, 1.00 min, simulated time)

    d
                               A          B   B - A     95 % interval  verdict      resolution
     sustained rate     100 MB/s  95.0 MB/s  -5.0 %  -5.1 % to -4.9 %  slower           0.24 %
     rate               100 MB/s  95.0 MB/s  -5.0 %  -5.1 % to -4.8 %  slower           0.26 %
     usual max latency   83.9 ms    88.3 ms  +5.3 %  +5.1 % to +5.4 %  more             0.24 %
     p50 latency         83.9 ms    88.3 ms  +5.3 %                    no interval
     p99 latency         83.9 ms    88.3 ms  +5.3 %                    no interval
     p99.9 latency       83.9 ms    88.3 ms  +5.3 %                    no interval
     max latency         83.9 ms    88.3 ms  +5.3 %                    no interval
      rate: over the first 5.71 GB that both transferred
      resolution: a difference of this size would have been seen four times out of five; a smaller one
        may have been missed

    note: the intervals count only the noise within each run, so they show whether these two runs
      differ, not whether the two settings always do. To learn that, let `sustain compare --ab` measure
      the settings in turn; or repeat the run of A and compare it with A: if these two differ as much,
      it is not the setting
    ");
}

#[test]
fn a_script_is_told_by_the_exit_code() {
    let place = two("100MB/s", "92MB/s");
    let run = |percent: &str, code: i32| {
        let flags = ["compare", "a.json", "b.json", "--fail-if-slower", percent];
        answer_of(&place.run(&flags).expect(code).stdout)
    };
    insta::assert_snapshot!(run("5%", 1), @"
    B is 8.0 % slower than A (sustained rate), more than noise explains; the 95 % interval is 7.9 % to 8.1 %.
    Besides the rate, these differ by more than noise: usual max latency +8.7 %.
    B is slower by more than the 5.0 % that --fail-if-slower allows: d.
    ");
    insta::assert_snapshot!(run("15%", 0), @"
    B is 8.0 % slower than A (sustained rate), more than noise explains; the 95 % interval is 7.9 % to 8.1 %.
    Besides the rate, these differ by more than noise: usual max latency +8.7 %.
    B is not slower by more than the 15.0 % that --fail-if-slower allows.
    ");
    let result = compared(&place, 1, &["--fail-if-slower", "5%"]);
    assert_eq!(result["limit"]["outcome"], "slower");
}

#[test]
fn what_cannot_be_told_is_said_and_fails_nobody() {
    let place = Place::new();
    for (file, rate) in [("a.json", "100MB/s"), ("b.json", "90MB/s")] {
        saved(&place, file, &machine(&[("d", rate)]), &["--time", "3s"]);
    }
    let flags = ["compare", "a.json", "b.json", "--fail-if-slower", "5%"];
    insta::assert_snapshot!(answer_of(&place.run(&flags).expect(0).stdout), @"
    Whether B differs from A cannot be told (A 100 MB/s, B 90.0 MB/s): the runs have fewer than ten intervals in common, so there is no confidence interval; measure longer, or with a shorter --interval.
    Whether B is slower by more than the 5.0 % that --fail-if-slower allows cannot be told: the runs are too short or too noisy.
    ");
}

#[test]
fn one_slow_disk_of_four_is_named() {
    let place = Place::new();
    let disks = |last: &'static str| {
        machine(&[
            ("a", "100MB/s"),
            ("b", "100MB/s"),
            ("c", "100MB/s"),
            ("d", last),
        ])
    };
    saved(&place, "a.json", &disks("100MB/s"), &["--time", "30s"]);
    saved(&place, "b.json", &disks("90MB/s"), &["--time", "30s"]);
    let result = compared(&place, 1, &["--fail-if-slower", "5%"]);
    assert_eq!(
        result["answer"]["slower_targets"].as_array().unwrap().len(),
        1
    );
    assert_eq!(result["answer"]["slower_targets"][0], "d");
    assert!(result["rows"][0]["target"].is_null());
}

#[test]
fn other_names_are_compared_by_place_and_said() {
    let place = Place::new();
    saved(
        &place,
        "a.json",
        &machine(&[("old", "100MB/s")]),
        &["--time", "20s"],
    );
    saved(
        &place,
        "b.json",
        &machine(&[("new", "120MB/s")]),
        &["--time", "20s"],
    );
    let result = compared(&place, 0, &[]);
    assert_eq!(result["answer"]["verdict"], "faster");
    insta::assert_snapshot!(notes_of(&result), @"
    the names differ, so targets are compared in their order: old with new
    the intervals count only the noise within each run, so they show whether these two runs differ, not whether the two settings always do. To learn that, let `sustain compare --ab` measure the settings in turn; or repeat the run of A and compare it with A: if these two differ as much, it is not the setting
    ");
}

#[test]
fn a_page_has_the_answer_on_top_and_both_runs_under_it() {
    let place = two("100MB/s", "95MB/s");
    let flags = ["compare", "a.json", "b.json", "--report", "page.html"];
    place.run(&flags).expect(0);
    let read = |name: &str| place.read(name).replace('\u{a0}', " ");
    let page = read("page.html");
    let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("no {words:?}"));
    assert!(at("B is 5.0 % slower") < at("id=\"overlay\""));
    assert!(at("A a.json") < at("id=\"tails\""));
    assert!(at("id=\"tails\"") < at("id=\"time-0\""));
    place
        .run(&["report", "a.json", "b.json", "--report", "again.html"])
        .expect(0);
    assert_eq!(read("again.html").matches("B is 5.0 % slower").count(), 1);
    place
        .run(&["report", "a.json", "b.json", "a.json", "-o", "three.html"])
        .expect(0);
    assert_eq!(
        heading_of(&place.read("three.html")),
        "3 measurements side by side"
    );
}

#[test]
fn runs_of_other_work_are_still_drawn_side_by_side_without_an_answer() {
    let place = Place::new();
    let toml = machine(&[("d", "100MB/s")]);
    saved(&place, "a.json", &toml, &["--time", "10s"]);
    saved(&place, "b.json", &toml, &["--time", "10s", "--depth", "2"]);
    place
        .run(&["report", "a.json", "b.json", "-o", "page.html"])
        .expect(0);
    let page = place.read("page.html");
    assert_eq!(heading_of(&page), "2 measurements side by side");
    assert!(json_of(&place.read("b.json"))["plan"]["depth"] == 2);
}

#[test]
fn a_saved_comparison_is_drawn_and_told_anew() {
    let place = two("100MB/s", "95MB/s");
    let said = place
        .run(&["compare", "a.json", "b.json", "--json", "c.json"])
        .expect(0);
    let again = place.run(&["report", "c.json"]).expect(0);
    assert_eq!(again.stdout, said.stdout);
    place
        .run(&["report", "c.json", "-o", "page.html"])
        .expect(0);
    let page = place.read("page.html").replace('\u{a0}', " ");
    let (_, body) = page.split_once("<main>").unwrap();
    let (above, _) = body.split_once("<table").unwrap();
    insta::assert_snapshot!(words_of_markup(above), @"B compared with A | B is 5.0 % slower than A (sustained rate), more than noise explains; the 95 % interval is 4.9 % to 5.1 %. | 100 MB/s | sustained rate of A | 95.0 MB/s | sustained rate of B | -5.0 % | B against A: slower; with 95 % certainty -5.1 % to -4.9 % | Besides the rate, these differ by more than noise: usual max latency +5.3 %.");
    assert_eq!(
        page.matches("<figure").count(),
        0,
        "it has no series to draw"
    );
    let both = ["report", "c.json", "a.json", "-o", "x.html"];
    insta::assert_snapshot!(place.refusal(&both), @"sustain: c.json is a comparison and a.json is a measurement: make a report for each kind");
}

#[test]
fn what_was_said_of_saved_runs_is_told_anew_with_what_tells_them_apart() {
    let place = two("100MB/s", "95MB/s");
    let alone = place.run(&["report", "a.json"]).expect(0).stdout;
    insta::assert_snapshot!(alone, @"
     target      rate         sustained      p50    p99.9      max  ended
     d       100 MB/s  100 MB/s ± 0.0 %  83.9 ms  83.9 ms  83.9 ms  time

    A stream can be recorded at 99.9 MB/s on this target with a 512 MiB buffer, of which 15 MiB are needed (not confirmed by a paced run). The worst stall, with nothing completed, was 10.5 ms. The run wrote 6.01 GB of the 1.00 TB of the target once, so a cache of more than 6.01 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time). These figures are of a simulated machine, not of real disks.
    ");
    let both = place.run(&["report", "a.json", "b.json"]).expect(0).stdout;
    let rest = both.strip_prefix(&format!("a.json:\n{alone}\n")).unwrap();
    insta::assert_snapshot!(rest, @"
    b.json:
     target       rate          sustained      p50    p99.9      max  ended
     d       95.0 MB/s  95.0 MB/s ± 0.1 %  88.3 ms  88.3 ms  88.3 ms  time

    A stream can be recorded at 94.9 MB/s on this target with a 512 MiB buffer, of which 5 MiB are needed (not confirmed by a paced run). The worst stall, with nothing completed, was 11.0 ms. The run wrote 5.71 GB of the 1.00 TB of the target once, so a cache of more than 5.71 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time). These figures are of a simulated machine, not of real disks.

    B is 5.0 % slower than A (sustained rate), more than noise explains; the 95 % interval is 4.9 % to
      5.1 %. Besides the rate, these differ by more than noise: usual max latency +5.3 %.

    A: a.json (write d, 1.00 min, simulated time)
    B: b.json (write d, 1.00 min, simulated time)

    d
                               A          B   B - A     95 % interval  verdict      resolution
     sustained rate     100 MB/s  95.0 MB/s  -5.0 %  -5.1 % to -4.9 %  slower           0.24 %
     rate               100 MB/s  95.0 MB/s  -5.0 %  -5.1 % to -4.8 %  slower           0.26 %
     usual max latency   83.9 ms    88.3 ms  +5.3 %  +5.1 % to +5.4 %  more             0.24 %
     p50 latency         83.9 ms    88.3 ms  +5.3 %                    no interval
     p99 latency         83.9 ms    88.3 ms  +5.3 %                    no interval
     p99.9 latency       83.9 ms    88.3 ms  +5.3 %                    no interval
     max latency         83.9 ms    88.3 ms  +5.3 %                    no interval
      rate: over the first 5.71 GB that both transferred
      resolution: a difference of this size would have been seen four times out of five; a smaller one
        may have been missed

    note: the intervals count only the noise within each run, so they show whether these two runs
      differ, not whether the two settings always do. To learn that, let `sustain compare --ab` measure
      the settings in turn; or repeat the run of A and compare it with A: if these two differ as much,
      it is not the setting
    ");
}
