//! Pictures of a sweep, with the run and from its saved result.

use crate::support::Place;

const MACHINE: &str =
    "[[disk]]\nname = \"a\"\ncapacity = \"1TB\"\nwrite = \"100MB/s\"\nrequest = \"2ms\"\n";

const SHORT: [&str; 6] = [
    "--depth",
    "1,4",
    "--time-per-point",
    "200ms",
    "--rounds",
    "2",
];

#[test]
fn the_page_of_the_run_is_the_page_of_its_saved_result() {
    let place = Place::with_machine(MACHINE);
    let written = ["--json", "run.json", "--report", "run.html"];
    let ran = place.run(&[&["sweep", "sim:machine.toml"], &SHORT[..], &written].concat());
    ran.expect(0).says("report: run.html");
    let page = place.read("run.html");
    assert!(page.contains("<h1>Settings compared on a, for writing, on a simulated machine</h1>"));
    assert!(
        page.contains("<svg") && page.contains("<h3>Rate in MB/s by record size and depth</h3>")
    );
    let again = ["report", "run.json", "-o", "again.html"];
    place.run(&again).expect(0).says("report: again.html");
    assert_eq!(place.read("again.html"), page);
}

#[test]
fn sweeps_are_drawn_together_but_not_with_other_results() {
    let place = Place::with_machine(MACHINE);
    let sweep = ["sweep", "sim:machine.toml", "--record-size", "1MiB"];
    place
        .run(&[&sweep[..], &SHORT, &["--json", "one.json"]].concat())
        .expect(0);
    place
        .run(&["report", "one.json", "one.json", "-o", "both.html"])
        .expect(0);
    assert!(place.read("both.html").contains("<h1>2 sweeps</h1>"));
    let measure = [
        "measure",
        "sim:machine.toml",
        "--time",
        "2s",
        "--no-confirm",
    ];
    place
        .run(&[&measure[..], &["--json", "two.json"]].concat())
        .expect(0);
    place
        .run(&["report", "one.json", "two.json", "-o", "mixed.html"])
        .expect(2)
        .says("one.json is a sweep and two.json is a measurement: make a report for each kind");
}
