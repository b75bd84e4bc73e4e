//! `sustain compare` as a person and a nightly script run it: simulated machines whose difference
//! is known, what is refused, exit codes, two settings in turn, Ctrl-C.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[allow(dead_code, reason = "it is made for the tests of the guard")]
#[path = "guard/devices.rs"]
mod devices;
#[path = "compare/refused.rs"]
mod refused;
#[allow(dead_code, reason = "it is made for the tests of recording")]
#[path = "record/running.rs"]
mod running;
#[path = "compare/saved.rs"]
mod saved;
mod support;
#[path = "compare/trial.rs"]
mod trial;
#[path = "compare/ways.rs"]
mod ways;

use support::{Place, json_of};

/// Fails unless the document has the published form.
#[track_caller]
fn assert_valid(document: &serde_json::Value) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../docs/compare.schema.json");
    let schema = json_of(&std::fs::read_to_string(path).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(document);
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A machine of disks, each with its rate.
fn machine(disks: &[(&str, &str)]) -> String {
    let disk = |(name, rate): &(&str, &str)| {
        format!("[[disk]]\nname = \"{name}\"\ncapacity = \"1TB\"\nread = \"{rate}\"\n")
    };
    disks.iter().map(disk).collect()
}

/// Measures a machine and saves the result.
#[track_caller]
fn saved(place: &Place, file: &str, toml: &str, flags: &[&str]) {
    let machine = format!("{file}.toml");
    place.write(&machine, toml);
    let target = format!("sim:{machine}");
    let all = ["measure", &target, "--json", file, "--no-confirm"];
    place.run(&[&all[..], flags].concat()).expect(0);
}

/// Compares A and B into a document.
#[track_caller]
fn compared(place: &Place, code: i32, flags: &[&str]) -> serde_json::Value {
    let all = ["compare", "a.json", "b.json", "--json", "-"];
    let result = json_of(&place.run(&[&all[..], flags].concat()).expect(code).stdout);
    assert_valid(&result);
    result
}
