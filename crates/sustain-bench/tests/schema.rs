//! Holds the published JSON Schema of `measure --json` to the type that is written.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::path::PathBuf;

use sustain_bench::result::MeasureResult;

/// Set to write the schema anew instead of comparing it.
const WRITE: &str = "SUSTAIN_WRITE_SCHEMA";

fn published() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/measure.schema.json")
}

fn generated() -> serde_json::Value {
    let mut schema = serde_json::to_value(schemars::schema_for!(MeasureResult)).unwrap();
    schema["title"] = "The result of sustain measure --json".into();
    // A document of any other schema is refused by name.
    let own = sustain_bench::result::MEASURE_SCHEMA;
    schema["properties"]["schema"]["const"] = own.into();
    schema
}

#[test]
fn the_published_schema_is_that_of_the_result() {
    let text = format!("{}\n", serde_json::to_string_pretty(&generated()).unwrap());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(published(), &text).unwrap();
    }
    let found = std::fs::read_to_string(published()).unwrap_or_default();
    assert!(
        found == text,
        "docs/measure.schema.json is not what MeasureResult is now: run `{WRITE}=1 cargo test \
         -p sustain-bench --test schema` and look at the difference"
    );
}

#[test]
fn the_schema_is_a_valid_schema_that_refuses_other_documents() {
    let validator = jsonschema::validator_for(&generated()).unwrap();
    assert!(!validator.is_valid(&serde_json::json!({"schema": "sustain.measure/1"})));
    assert!(!validator.is_valid(&serde_json::json!([])));
}
