//! Holds the published JSON Schemas of the commands on stores to the types that are written.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

use std::path::PathBuf;

use schemars::{Schema, schema_for};
use sustain_record::document::{
    CREATE_SCHEMA, CreateDocument, EXTRACT_SCHEMA, ExtractDocument, LIST_SCHEMA, ListDocument,
    RECOVER_SCHEMA, RecoverDocument, VERIFY_SCHEMA, VerifyDocument,
};

/// Set this variable to write the schemas again instead of comparing them.
const WRITE: &str = "SUSTAIN_WRITE_SCHEMA";

/// Each command with the name and the schema of its document.
fn all() -> [(&'static str, &'static str, Schema); 5] {
    [
        ("create", CREATE_SCHEMA, schema_for!(CreateDocument)),
        ("list", LIST_SCHEMA, schema_for!(ListDocument)),
        ("extract", EXTRACT_SCHEMA, schema_for!(ExtractDocument)),
        ("verify", VERIFY_SCHEMA, schema_for!(VerifyDocument)),
        ("recover", RECOVER_SCHEMA, schema_for!(RecoverDocument)),
    ]
}

fn published(command: &str) -> PathBuf {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    docs.join(format!("{command}.schema.json"))
}

fn generated(command: &str, name: &str, schema: Schema) -> serde_json::Value {
    let mut schema = serde_json::to_value(schema).unwrap();
    schema["title"] = format!("The result of sustain {command} --json").into();
    // A document of any other schema is refused by name.
    schema["properties"]["schema"]["const"] = name.into();
    schema
}

#[test]
fn the_published_schemas_are_those_of_the_documents() {
    for (command, name, schema) in all() {
        let schema = generated(command, name, schema);
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(published(command), &text).unwrap();
        }
        let found = std::fs::read_to_string(published(command)).unwrap_or_default();
        assert!(
            found == text,
            "docs/{command}.schema.json is not what the document is now: run `{WRITE}=1 cargo \
             test -p sustain-record --test schema` and look at the difference"
        );
    }
}

#[test]
fn a_schema_refuses_the_documents_of_other_commands() {
    for (command, name, schema) in all() {
        let validator = jsonschema::validator_for(&generated(command, name, schema)).unwrap();
        assert!(
            !validator.is_valid(&serde_json::json!({ "schema": name })),
            "{command}"
        );
        assert!(!validator.is_valid(&serde_json::json!([])), "{command}");
    }
}
