//! Holds results and status lines of recordings to their published JSON Schemas.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use std::path::PathBuf;

use serde_json::Value;
use sustain_document::reader;
use sustain_record::document::status_line;

fn published(name: &str) -> Value {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = std::fs::read_to_string(docs.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn assert_valid(schema: &Value, document: &str) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let document = serde_json::from_str(document).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn results_and_status_lines_have_the_published_form() {
    for result in [sample::recording::troubled(), sample::recording::whole()] {
        assert_valid(
            &published("record.schema.json"),
            &reader::write(&result).unwrap(),
        );
    }
    let line = reader::write_line(&status_line(&sample::recording::standing())).unwrap();
    assert_eq!(line.matches('\n').count(), 1);
    assert!(line.starts_with("{\"schema\":\"sustain.status/1\",") && line.ends_with("}\n"));
    assert_valid(&published("status.schema.json"), &line);
}

#[test]
fn the_schema_of_a_recording_refuses_a_measurement() {
    let measured = serde_json::to_value(sample::one_target()).unwrap();
    let validator = jsonschema::validator_for(&published("record.schema.json")).unwrap();
    assert!(!validator.is_valid(&measured));
}
