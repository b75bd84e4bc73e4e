//! Holds the published JSON Schemas of this crate's documents to the types that are written.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::path::PathBuf;

use schemars::{JsonSchema, schema_for};
use sustain_bench::compare::result::{COMPARE_SCHEMA, CompareResult};
use sustain_bench::diagnose::result::{DIAGNOSE_SCHEMA, DiagnoseResult};
use sustain_bench::profile::result::{PROFILE_SCHEMA, ProfileResult};
use sustain_bench::result::{MEASURE_SCHEMA, MeasureResult};
use sustain_bench::sweep::result::{SWEEP_SCHEMA, SweepResult};

/// Set to write the schemas anew instead of comparing them.
const WRITE: &str = "SUSTAIN_WRITE_SCHEMA";

fn published(command: &str) -> PathBuf {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    docs.join(format!("{command}.schema.json"))
}

/// The schema of the document that a command's `--json` writes.
fn generated<T: JsonSchema>(command: &str, own: &str) -> serde_json::Value {
    let mut schema = serde_json::to_value(schema_for!(T)).unwrap();
    schema["title"] = format!("The result of sustain {command} --json").into();
    // A document of any other schema is refused by name.
    schema["properties"]["schema"]["const"] = own.into();
    schema
}

fn all() -> [(&'static str, serde_json::Value); 5] {
    [
        (
            "measure",
            generated::<MeasureResult>("measure", MEASURE_SCHEMA),
        ),
        (
            "diagnose",
            generated::<DiagnoseResult>("diagnose", DIAGNOSE_SCHEMA),
        ),
        (
            "compare",
            generated::<CompareResult>("compare", COMPARE_SCHEMA),
        ),
        (
            "profile",
            generated::<ProfileResult>("profile", PROFILE_SCHEMA),
        ),
        ("sweep", generated::<SweepResult>("sweep", SWEEP_SCHEMA)),
    ]
}

#[test]
fn the_published_schemas_are_those_of_the_results() {
    for (command, schema) in all() {
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(published(command), &text).unwrap();
        }
        let found = std::fs::read_to_string(published(command)).unwrap_or_default();
        assert!(
            found == text,
            "docs/{command}.schema.json is not what its document is now: run `{WRITE}=1 cargo test \
             -p sustain-bench --test schema` and look at the difference"
        );
    }
}

#[test]
fn the_schemas_are_valid_and_refuse_other_documents() {
    for (command, schema) in all() {
        let validator = jsonschema::validator_for(&schema).unwrap();
        let own = format!("sustain.{command}/1");
        assert!(!validator.is_valid(&serde_json::json!({"schema": own})));
        assert!(!validator.is_valid(&serde_json::json!([])));
    }
}
