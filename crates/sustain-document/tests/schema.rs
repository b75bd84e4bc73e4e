//! Holds the published JSON Schemas to the types that are written.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::path::PathBuf;

use schemars::{JsonSchema, schema_for};
use serde_json::Value;
use sustain_document::compare::CompareResult;
use sustain_document::control::{ControlAnswer, ControlRequest};
use sustain_document::create::CreateDocument;
use sustain_document::devices::DevicesDocument;
use sustain_document::diagnose::DiagnoseResult;
use sustain_document::extract::ExtractDocument;
use sustain_document::list::ListDocument;
use sustain_document::matrix::MatrixResult;
use sustain_document::measure::MeasureResult;
use sustain_document::profile::ProfileResult;
use sustain_document::reader::Document;
use sustain_document::record::RecordResult;
use sustain_document::recover::RecoverDocument;
use sustain_document::repair::RepairDocument;
use sustain_document::retire::RetireDocument;
use sustain_document::scrub::ScrubDocument;
use sustain_document::status::StatusLine;
use sustain_document::sweep::SweepResult;
use sustain_document::unpin::UnpinDocument;
use sustain_document::verify::VerifyDocument;

/// Set to write the schemas anew instead of comparing them.
const WRITE: &str = "SUSTAIN_WRITE_SCHEMA";

/// A published schema.
struct Published {
    command: &'static str,
    own_schema: &'static str,
    schema: Value,
}

fn published<D: Document + JsonSchema>(command: &'static str) -> Published {
    let mut schema = serde_json::to_value(schema_for!(D)).unwrap();
    schema["title"] = match command {
        "status" => "A line of sustain record --status".into(),
        "matrix" => "The result of sustain diagnose --matrix --json".into(),
        "control" => "An answer over the socket of sustain record --control".into(),
        _ => format!("The result of sustain {command} --json").into(),
    };
    // A document of any other schema is refused by name.
    schema["properties"]["schema"]["const"] = D::SCHEMA.into();
    Published {
        command,
        own_schema: D::SCHEMA,
        schema,
    }
}

/// Requests carry no schema of their own: the answer does.
fn requests() -> Published {
    let mut schema = serde_json::to_value(schema_for!(ControlRequest)).unwrap();
    schema["title"] = "A request over the socket of sustain record --control".into();
    Published {
        command: "control-request",
        own_schema: "",
        schema,
    }
}

fn all() -> [Published; 20] {
    [
        published::<MeasureResult>("measure"),
        published::<DiagnoseResult>("diagnose"),
        published::<MatrixResult>("matrix"),
        published::<CompareResult>("compare"),
        published::<ProfileResult>("profile"),
        published::<SweepResult>("sweep"),
        published::<RecordResult>("record"),
        published::<StatusLine>("status"),
        published::<ControlAnswer>("control"),
        requests(),
        published::<CreateDocument>("create"),
        published::<ListDocument>("list"),
        published::<ExtractDocument>("extract"),
        published::<VerifyDocument>("verify"),
        published::<RecoverDocument>("recover"),
        published::<RepairDocument>("repair"),
        published::<RetireDocument>("retire"),
        published::<ScrubDocument>("scrub"),
        published::<UnpinDocument>("unpin"),
        published::<DevicesDocument>("devices"),
    ]
}

#[test]
fn the_published_schemas_are_those_of_the_documents() {
    for Published {
        command, schema, ..
    } in all()
    {
        let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let path = docs.join(format!("{command}.schema.json"));
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "docs/{command}.schema.json is not what its document is now: run `{WRITE}=1 cargo test \
             -p sustain-document --test schema` and look at the difference"
        );
    }
}

#[test]
fn the_schemas_are_valid_and_refuse_other_documents() {
    for published in all() {
        let validator = jsonschema::validator_for(&published.schema).unwrap();
        let bare = serde_json::json!({ "schema": published.own_schema });
        assert!(!validator.is_valid(&bare), "{}", published.command);
        assert!(!validator.is_valid(&serde_json::json!([])));
    }
}
