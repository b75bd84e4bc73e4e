//! Holds the published JSON Schemas of `record --json` and `record --status` to what is written.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use serde_json::Value;
use std::path::PathBuf;
use sustain_record::result::{RecordResult, SCHEMA};
use sustain_report::json::{STATUS_SCHEMA, StatusLine, status_line, write_record};

/// Set to write the schemas anew instead of comparing them.
const WRITE: &str = "SUSTAIN_WRITE_SCHEMA";

fn schema_of<T: schemars::JsonSchema>(title: &str, own: &str) -> Value {
    let mut schema = serde_json::to_value(schemars::schema_for!(T)).unwrap();
    schema["title"] = title.into();
    // A document of any other schema is refused by name.
    schema["properties"]["schema"]["const"] = own.into();
    schema
}

fn record_schema() -> Value {
    schema_of::<RecordResult>("The result of sustain record --json", SCHEMA)
}

fn status_schema() -> Value {
    schema_of::<StatusLine>("A line of sustain record --status", STATUS_SCHEMA)
}

fn assert_published(name: &str, schema: &Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let path = path.join(name);
    let text = format!("{}\n", serde_json::to_string_pretty(schema).unwrap());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/{name} is not what is written now: run `{WRITE}=1 cargo test -p sustain-report \
         --test schema` and look at the difference"
    );
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
fn the_published_schemas_are_those_of_what_is_written() {
    assert_published("record.schema.json", &record_schema());
    assert_published("status.schema.json", &status_schema());
}

#[test]
fn results_and_status_lines_have_the_published_form() {
    for result in [sample::recording::troubled(), sample::recording::whole()] {
        assert_valid(&record_schema(), &write_record(&result).unwrap());
    }
    let line = status_line(&sample::recording::standing()).unwrap();
    assert_eq!(line.matches('\n').count(), 1);
    assert!(line.starts_with("{\"schema\":\"sustain.status/1\",") && line.ends_with("}\n"));
    assert_valid(&status_schema(), &line);
}

#[test]
fn the_schemas_refuse_other_documents() {
    for (schema, own) in [(record_schema(), SCHEMA), (status_schema(), STATUS_SCHEMA)] {
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(!validator.is_valid(&serde_json::json!({"schema": own})));
        assert!(!validator.is_valid(&serde_json::json!([])));
    }
    let other = serde_json::to_value(sample::one_target()).unwrap();
    assert!(
        !jsonschema::validator_for(&record_schema())
            .unwrap()
            .is_valid(&other)
    );
}
