//! Two saved runs: what is answered, and how a script is told.

use crate::support::{Place, json_of, number, unwrapped};
use crate::{compared, machine, saved};

/// A place with A and B of one disk each.
fn two(a: &str, b: &str) -> Place {
    let place = Place::new();
    for (file, rate) in [("a.json", a), ("b.json", b)] {
        saved(&place, file, &machine(&[("d", rate)]), &["--time", "60s"]);
    }
    place
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
    let said = unwrapped(&ran.stdout);
    assert!(said.starts_with("B is 5.0 % slower than A"), "{said}");
    assert!(said.contains("more than noise explains"), "{said}");
    assert!(said.contains("sustained rate 100 MB/s 95"), "{said}");
    assert!(
        said.contains("without a confidence interval") || said.contains("no interval"),
        "{said}"
    );
    assert!(
        ran.stdout.lines().all(|line| line.chars().count() <= 100),
        "{ran:#?}"
    );
}

#[test]
fn a_script_is_told_by_the_exit_code() {
    let place = two("100MB/s", "92MB/s");
    let run = |percent: &str, code: i32| {
        let flags = ["compare", "a.json", "b.json", "--fail-if-slower", percent];
        unwrapped(&place.run(&flags).expect(code).stdout)
    };
    assert!(run("5%", 1).contains("slower by more than the 5.0 % that --fail-if-slower allows"));
    assert!(run("15%", 0).contains("not slower by more than the 15.0 %"));
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
    let said = unwrapped(&place.run(&flags).expect(0).stdout);
    assert!(said.contains("cannot be told"), "{said}");
    assert!(said.contains("fewer than ten intervals"), "{said}");
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
    assert!(
        result["notes"].to_string().contains("old with new"),
        "{result:#}"
    );
}

#[test]
fn a_page_has_the_answer_on_top_and_both_runs_under_it() {
    let place = two("100MB/s", "95MB/s");
    let flags = ["compare", "a.json", "b.json", "--report", "page.html"];
    place.run(&flags).expect(0).says("report: page.html");
    let read = |name: &str| place.read(name).replace('\u{a0}', " ");
    let page = read("page.html");
    let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("no {words:?}"));
    assert!(at("B is 5.0 % slower") < at("id=\"overlay\""));
    assert!(at("A a.json") < at("id=\"tails\""));
    assert!(at("id=\"tails\"") < at("id=\"time-0\""));
    place
        .run(&["report", "a.json", "b.json", "--report", "again.html"])
        .expect(0);
    assert!(read("again.html").contains("B is 5.0 % slower"));
    place
        .run(&["report", "a.json", "b.json", "a.json", "-o", "three.html"])
        .expect(0);
    assert!(
        place
            .read("three.html")
            .contains("3 measurements side by side")
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
    assert!(page.contains("2 measurements side by side"));
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
        .expect(0)
        .says("report: page.html");
    let page = place.read("page.html").replace('\u{a0}', " ");
    for words in [
        "B is 5.0 % slower",
        "<title>sustain: b.json compared with a.json</title>",
        "sustain report a.json b.json -o runs.html",
    ] {
        assert!(page.contains(words), "no {words:?}");
    }
    assert!(!page.contains("<figure"), "it has no series to draw");
    place
        .run(&["report", "c.json", "a.json", "-o", "x.html"])
        .expect(2)
        .says("c.json is a comparison and a.json is a measurement");
}

#[test]
fn what_was_said_of_saved_runs_is_told_anew_with_what_tells_them_apart() {
    let place = two("100MB/s", "95MB/s");
    let alone = place.run(&["report", "a.json"]).expect(0).stdout;
    assert!(
        alone.contains("A stream can be recorded at 99.9 MB/s"),
        "{alone}"
    );
    let both = place.run(&["report", "a.json", "b.json"]).expect(0).stdout;
    assert!(both.starts_with(&format!("a.json:\n{alone}\nb.json:\n")));
    assert!(unwrapped(&both).contains("B is 5.0 % slower"), "{both}");
}
