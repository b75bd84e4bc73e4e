//! `sustain sweep` as a person runs it: simulated machines whose best setting is known, real files,
//! endings, and what is refused. What needs loop devices is skipped, with the reason, where the
//! tests may not make them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[path = "sweep/arrays.rs"]
mod arrays;
#[allow(dead_code, reason = "it is made for the tests of the guard")]
#[path = "guard/devices.rs"]
mod devices;
#[path = "sweep/endings.rs"]
mod endings;
#[path = "sweep/pictures.rs"]
mod pictures;
#[path = "sweep/places.rs"]
mod places;
#[path = "sweep/refused.rs"]
mod refused;
#[allow(dead_code, reason = "it is made for the tests of recording")]
#[path = "record/running.rs"]
mod running;
#[path = "sweep/simulated.rs"]
mod simulated;
mod support;

const MIB: u64 = 1 << 20;

/// Fails unless the document has the published form.
#[track_caller]
fn assert_valid(document: &serde_json::Value) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../docs/sweep.schema.json");
    let schema = support::json_of(&std::fs::read_to_string(path).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(document);
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
