//! Targets that one thread feeds in turns: `--layout turns`, and the order of `--order`.

use std::path::Path;

use serde_json::Value;

use crate::support::{Place, assert_about, assert_valid, disk, number, target};

const TURNS: &[&str] = &["--layout", "turns", "--no-confirm"];
const MIB: f64 = (1 << 20) as f64;

fn place(disks: &[(&str, &str, &str, &str)]) -> Place {
    let disks = disks.iter();
    let text = disks.map(|(name, capacity, rate, more)| disk(name, capacity, rate, more));
    Place::with_machine(&text.collect::<String>())
}

fn bytes(result: &Value, name: &str) -> f64 {
    number(&target(result, name)["bytes"])
}

fn names(result: &Value) -> Vec<&str> {
    let targets = result["targets"].as_array().unwrap().iter();
    targets
        .map(|target| target["name"].as_str().unwrap())
        .collect()
}

#[test]
fn the_board_of_2009_is_fed_in_either_order() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let place = Place::new();
    std::os::unix::fs::symlink(repository.join("machines"), place.path("machines")).unwrap();
    for order in ["sda,sdb,sdc,sdd", "sda,sdc,sdb,sdd"] {
        let flags = ["sim:machines/demo.toml", "--depth", "4", "--order", order];
        let result = place.measure(0, &[&flags[..], TURNS, &["--report", "r.html"]].concat());
        assert_valid(&result);
        let plan = &result["plan"];
        assert_eq!(plan["layout"], "turns");
        let fed: Vec<&str> = order.split(',').collect();
        assert_eq!(plan["order"], serde_json::json!(fed));
        assert_eq!(names(&result), fed);
        assert_about(&result["total"]["all_active_bytes_per_s"], 252e6, 1.0);
        let report = place.read("r.html");
        assert!(report.contains(&fed.join(", ")), "the report has the order");
    }
}

#[test]
fn a_slow_target_holds_all_to_its_rate() {
    let place = place(&[
        ("a", "1TB", "100MB/s", ""),
        ("b", "1TB", "100MB/s", ""),
        ("c", "1TB", "20MB/s", ""),
    ]);
    let result = place.simulate(0, TURNS);
    let total = &result["total"]["sustained"]["rate_bytes_per_s"];
    assert_about(total, 3.0 * 20e6, 1.0);
    // None is further ahead than what one has in flight.
    for name in ["a", "b"] {
        let ahead = bytes(&result, name) - bytes(&result, "c");
        assert!((0.0..=9.0 * MIB).contains(&ahead), "{name}: {ahead}");
    }
    let alone = place.simulate(0, &["--no-confirm"]);
    assert_about(&alone["total"]["all_active_bytes_per_s"], 220e6, 1.0);
    assert_eq!(alone["plan"]["order"], Value::Null);
}

#[test]
fn a_source_that_does_not_wait_needs_a_buffer_where_one_in_turn_pauses() {
    let stall = "stall = { every = \"10s\", for = \"500ms\" }";
    let place = place(&[("a", "1TB", "100MB/s", ""), ("b", "1TB", "100MB/s", stall)]);
    let result = place.simulate(0, &[&["--rate", "100MB/s"], TURNS].concat());
    assert_eq!(result["total"]["rate_held"], true);
    assert_about(&target(&result, "a")["rate_bytes_per_s"], 50e6, 2.0);
    // After its depth is full, all that comes in half a second waits.
    let waiting = number(&result["total"]["backlog_max_bytes"]);
    assert!((30e6..55e6).contains(&waiting), "{waiting}");
    let result = place.simulate(1, &[&["--rate", "250MB/s"], TURNS].concat());
    assert_eq!(result["total"]["rate_held"], false);
}

#[test]
fn what_has_ended_is_passed_over() {
    let failing = "error = { at = \"500MB\", kind = \"eio\" }";
    let place = place(&[
        ("a", "1TB", "100MB/s", ""),
        ("full", "1GB", "100MB/s", ""),
        ("failing", "1TB", "100MB/s", failing),
    ]);
    let result = place.simulate(1, TURNS);
    assert_eq!(target(&result, "full")["ended"], "end_of_device");
    assert_eq!(target(&result, "failing")["ended"], "error");
    // What was in flight beyond that place still completes.
    assert!(bytes(&result, "failing") < 510e6);
    assert_eq!(bytes(&result, "full"), 953.0 * MIB);
    assert_eq!(target(&result, "a")["ended"], "time");
    assert_about(&target(&result, "a")["bytes"], 3e9, 1.0);

    let result = place.simulate(0, &[TURNS, &["--bytes", "100MiB"]].concat());
    for name in ["a", "full", "failing"] {
        assert_eq!(bytes(&result, name), 100.0 * MIB);
        assert_eq!(target(&result, name)["ended"], "bytes");
    }
}

#[test]
fn what_is_read_back_takes_turns_of_its_own() {
    let place = place(&[("a", "1TB", "100MB/s", ""), ("b", "1TB", "20MB/s", "")]);
    let result = place.simulate(0, &[TURNS, &["--read-back"]].concat());
    let rate = |name: &str| number(&target(&result["read_back"], "a")[name]);
    for name in ["writing_bytes_per_s", "reading_meanwhile_bytes_per_s"] {
        assert!((8e6..12e6).contains(&rate(name)), "{name}: {}", rate(name));
    }
    let alone = rate("reading_alone_bytes_per_s");
    assert!((19e6..21e6).contains(&alone), "{alone}");
}

#[test]
fn a_stripe_has_an_order_too() {
    let place = place(&[("a", "1TB", "100MB/s", ""), ("b", "1TB", "100MB/s", "")]);
    let flags = ["--layout", "stripe", "--order", "b,a", "--bytes", "1MiB"];
    let result = place.simulate(
        0,
        &[&flags[..], &["--chunk", "2MiB", "--no-confirm"]].concat(),
    );
    assert_eq!(names(&result), ["b", "a"]);
    assert_eq!(bytes(&result, "b"), 2.0 * MIB, "the first chunk is on b");
}

#[test]
fn an_order_that_cannot_be_is_refused_with_what_to_do() {
    let place = place(&[("a", "1TB", "100MB/s", ""), ("b", "1TB", "100MB/s", "")]);
    let refused =
        |flags: &[&str]| place.refusal(&[&["measure", "sim:machine.toml"], flags].concat());
    let order = |order| refused(&["--layout", "turns", "--order", order]);
    insta::assert_snapshot!(order("a,b,a"), @"sustain: --order a,b,a has a twice: name each target once");
    insta::assert_snapshot!(order("a,x"), @r#"sustain: --order a,x: there is no target "x", the targets are a,b"#);
    insta::assert_snapshot!(order("b"), @"sustain: --order b leaves out a: name each target once");
    insta::assert_snapshot!(order("all"), @"sustain: --order all is for `sustain sweep`, which tries every order: name the targets in one order here");
    insta::assert_snapshot!(refused(&["--order", "b,a"]), @"sustain: --order makes no difference where each target has a queue of its own: use --layout turns, stripe or span, or leave it out");
    insta::assert_snapshot!(refused(&["--layout", "turns", "--threads", "2"]), @"sustain: feeding in turns is done by one driver: leave out --threads");
    insta::assert_snapshot!(refused(&["null:", "--layout", "turns"]), @"sustain: feeding in turns cannot mix simulated and real disks: name disks of one kind");
    assert_eq!(place.names(), ["machine.toml"]);
}
