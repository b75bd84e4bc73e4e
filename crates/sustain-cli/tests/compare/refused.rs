//! What is no measurement, not the same work, or makes no sense is refused by name.

use crate::support::Place;
use crate::{machine, saved};

#[track_caller]
fn refused(place: &Place, arguments: &[&str], words: &str) {
    let ran = place.run(&[&["compare"], arguments].concat());
    ran.expect(2).says(words);
}

#[test]
fn runs_of_other_work_are_refused_one_by_one() {
    let place = Place::new();
    let one = machine(&[("d", "100MB/s")]);
    let two = machine(&[("d", "100MB/s"), ("e", "100MB/s")]);
    saved(&place, "a.json", &one, &["--time", "10s"]);
    let differences: [(&[&str], &str); 5] = [
        (&["--read"], "direction: A write, B read"),
        (
            &["--record-size", "64KiB"],
            "record size: A 1 MiB, B 64 KiB",
        ),
        (&["--depth", "2"], "depth: A 8, B 2"),
        (&["--size", "1GB"], "size: A by default, B 1 GB"),
        (&["--rate", "50MB/s"], "paced rate: A none"),
    ];
    for (flags, words) in differences {
        saved(
            &place,
            "b.json",
            &one,
            &[flags, &["--time", "10s"]].concat(),
        );
        refused(&place, &["a.json", "b.json"], words);
        refused(&place, &["a.json", "b.json"], "did not do the same work");
    }
    saved(&place, "b.json", &two, &["--time", "10s"]);
    refused(
        &place,
        &["a.json", "b.json"],
        "A has one target, B 2 targets",
    );
    let stripe = ["--time", "10s", "--layout", "stripe", "--chunk", "64KiB"];
    saved(&place, "c.json", &two, &stripe);
    refused(
        &place,
        &["b.json", "c.json"],
        "layout: A independent, B stripe",
    );
    let chunk = ["--time", "10s", "--layout", "stripe", "--chunk", "128KiB"];
    saved(&place, "d.json", &two, &chunk);
    refused(&place, &["c.json", "d.json"], "chunk: A 64 KiB, B 128 KiB");
}

#[test]
fn what_is_no_measurement_is_refused_by_its_name() {
    let place = Place::new();
    let toml = machine(&[("d", "100MB/s"), ("e", "100MB/s")]);
    saved(&place, "a.json", &toml, &["--time", "2s"]);
    let diagnose = ["diagnose", "sim:a.json.toml", "--json", "diagnosis.json"];
    place.run(&diagnose).expect(0);
    refused(
        &place,
        &["a.json", "diagnosis.json"],
        "diagnosis.json: this is a `sustain.diagnose/1`",
    );
    place.write(
        "newer.json",
        &place.read("a.json").replace("measure/1", "measure/2"),
    );
    refused(
        &place,
        &["newer.json", "a.json"],
        "newer version of sustain",
    );
    place.write("text.json", "rates");
    refused(&place, &["text.json", "a.json"], "not JSON");
    refused(&place, &["none.json", "a.json"], "cannot read none.json");
    refused(&place, &["a.json", "a.json.toml"], "not JSON");
}

#[test]
fn misuse_says_what_to_do() {
    let place = Place::new();
    saved(
        &place,
        "a.json",
        &machine(&[("d", "100MB/s")]),
        &["--time", "2s"],
    );
    refused(&place, &["a.json"], "not 1");
    refused(&place, &["a.json", "a.json", "a.json"], "sustain report");
    refused(
        &place,
        &["a.json", "a.json", "--time", "3s"],
        "--time can be used only with --ab",
    );
    refused(
        &place,
        &["a.json", "a.json", "--json", "a.json"],
        "is the result a.json itself",
    );
    for percent in ["5", "0%", "-5%", "100%"] {
        let flags = ["a.json", "a.json", "--fail-if-slower", percent];
        refused(
            &place,
            &flags,
            "above 0% and below 100%, such as 5% or 0.5%",
        );
    }
    assert_eq!(place.names(), ["a.json", "a.json.toml"]);
}

#[test]
fn settings_are_refused_by_the_flag_that_does_not_fit() {
    let place = Place::new();
    place.write("machine.toml", &machine(&[("d", "100MB/s")]));
    let ab = |a: &'static str, b: &'static str| ["--ab", a, b, "sim:machine.toml"];
    refused(
        &place,
        &ab("--depth 8", "--time 3s"),
        "B (\"--time 3s\"): unexpected argument '--time'",
    );
    refused(&place, &ab("--read", ""), "unexpected argument '--read'");
    refused(&place, &ab("--depht 8", ""), "'--depht'");
    refused(
        &place,
        &ab("depth 8", ""),
        "targets of their own (depth, 8), and sim:machine.toml is named for both",
    );
    refused(&place, &ab("--depth 'x", ""), "not closed");
    refused(&place, &ab("--chunk 64KiB", ""), "--layout stripe");
    refused(&place, &ab("--depth 0", ""), "from 1 to 4096");
    refused(&place, &ab("--engine sync", ""), "no engines");
    refused(&place, &ab("--engine sync", "--engine sync"), "no engines");
    refused(&place, &ab("--path buffered", ""), "no page cache");
    refused(&place, &ab("", "--path passthrough"), "leave out --path");
    refused(
        &place,
        &ab("--layout span", ""),
        "one target makes no stripe",
    );
    refused(&place, &ab("--layout turns", ""), "no other to take turns");
    refused(
        &place,
        &ab("", "--order a"),
        "B: --order makes no difference",
    );
    refused(
        &place,
        &ab("--layout turns --order b", ""),
        "A: --order b: there is no target",
    );
    let short = [&ab("", "")[..], &["--time", "5s"]].concat();
    refused(&place, &short, "too short for 10 runs of 3 s");
    std::fs::create_dir(place.path("x")).unwrap();
    refused(
        &place,
        &["--ab", "--record-size 1000", "", "x", "--size", "8MiB"],
        "A (--record-size 1000) cannot be measured: direct I/O",
    );
    refused(
        &place,
        &["--ab", "", "", "x", "sim:machine.toml"],
        "compare them separately",
    );
    refused(
        &place,
        &["--ab", "", "--path passthrough", "x", "--size", "8MiB"],
        "B (--path passthrough) cannot be measured: passthrough needs a whole NVMe, SATA or SCSI disk",
    );
    assert_eq!(std::fs::read_dir(place.path("x")).unwrap().count(), 0);
}
