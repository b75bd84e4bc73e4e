//! Holds the published JSON Schema of `devices --json` to the type that is written.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::path::PathBuf;

use sustain_host::{DEVICES_SCHEMA, DevicesDocument};

/// Set to write the schema anew instead of comparing it.
const WRITE: &str = "SUSTAIN_WRITE_SCHEMA";

fn published() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/devices.schema.json")
}

fn generated() -> serde_json::Value {
    let mut schema = serde_json::to_value(schemars::schema_for!(DevicesDocument)).unwrap();
    schema["title"] = "The result of sustain devices --json".into();
    // A document of any other schema is refused by name.
    schema["properties"]["schema"]["const"] = DEVICES_SCHEMA.into();
    schema
}

#[test]
fn the_published_schema_is_that_of_the_document() {
    let text = format!("{}\n", serde_json::to_string_pretty(&generated()).unwrap());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(published(), &text).unwrap();
    }
    let found = std::fs::read_to_string(published()).unwrap_or_default();
    assert!(
        found == text,
        "docs/devices.schema.json is not what DevicesDocument is now: run `{WRITE}=1 cargo test \
         -p sustain-host --test schema` and look at the difference"
    );
}
