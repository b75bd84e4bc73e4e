//! The document comes back as it went, and what is not one is refused in words.

mod sample;

use sustain_document::measure::MeasureResult;
use sustain_document::reader::{DocumentError, Saved, read, read_saved, write};
use sustain_document::record::RecordResult;

#[test]
fn result_survives_the_round_trip() {
    for result in [sample::two_targets(), sample::one_target()] {
        let text = write(&result).unwrap();
        assert!(text.ends_with("}\n") && !text.ends_with("\n\n"));
        assert!(text.starts_with("{\n  \"schema\": \"sustain.measure/1\""));
        let back = read::<MeasureResult>(&text).unwrap();
        assert_eq!(back, result);
        assert_eq!(write(&back).unwrap(), text);
    }
}

#[test]
fn unknown_fields_of_a_later_minor_version_are_passed_over() {
    let text = write(&sample::one_target()).unwrap();
    let text = text.replacen('{', "{\n  \"added_later\": [1, 2],", 1);
    assert_eq!(read::<MeasureResult>(&text).unwrap(), sample::one_target());
}

#[test]
fn what_is_no_result_is_refused_in_words() {
    let refusal = |text: &str| read::<MeasureResult>(text).unwrap_err();
    let error = refusal("20971520 bytes in 5 seconds");
    assert!(matches!(error, DocumentError::NotJson(_)), "{error}");
    let whole = write(&sample::one_target()).unwrap();
    let error = refusal(&whole[..whole.len() / 2]);
    assert!(error.to_string().starts_with("this is not JSON"), "{error}");
    let error = refusal("[1, 2]");
    assert!(error.to_string().contains("no `schema`"), "{error}");
    let error = refusal(r#"{"schema":"sustain.record/1"}"#);
    assert!(
        error
            .to_string()
            .starts_with("this is a `sustain.record/1`"),
        "{error}"
    );
    let error = refusal(r#"{"schema":"sustain.measure/2"}"#);
    assert_eq!(
        error.to_string(),
        "`sustain.measure/2` was written by a newer version of sustain: update sustain to read it"
    );
    let error = refusal(r#"{"schema":"sustain.measure/x"}"#);
    assert!(
        matches!(error, DocumentError::OtherSchema { .. }),
        "{error}"
    );
    let error = refusal(r#"{"schema":"sustain.measure/1","plan":{}}"#);
    assert!(error.to_string().contains("missing field"), "{error}");
}

#[test]
fn a_recording_survives_the_round_trip() {
    for result in [sample::recording::troubled(), sample::recording::whole()] {
        let text = write(&result).unwrap();
        assert!(text.starts_with("{\n  \"schema\": \"sustain.record/1\"") && text.ends_with("}\n"));
        let later = text.replacen('{', "{\n  \"added_later\": [1, 2],", 1);
        assert_eq!(read::<RecordResult>(&later).unwrap(), result);
        let back = read::<RecordResult>(&text).unwrap();
        assert_eq!(write(&back).unwrap(), text);
    }
}

#[test]
fn a_saved_document_is_read_as_what_it_says_it_is() {
    let measured = write(&sample::one_target()).unwrap();
    let recorded = write(&sample::recording::whole()).unwrap();
    assert!(matches!(read_saved(&measured).unwrap(), Saved::Measure(_)));
    assert!(matches!(read_saved(&recorded).unwrap(), Saved::Record(_)));
    let refusal = |text: &str| read_saved(text).unwrap_err().to_string();
    assert_eq!(
        refusal(r#"{"schema":"sustain.record/2"}"#),
        "`sustain.record/2` was written by a newer version of sustain: update sustain to read it"
    );
    assert!(
        refusal(r#"{"schema":"sustain.record/1"}"#)
            .starts_with("this `sustain.record/1` is damaged")
    );
    let other = refusal(r#"{"schema":"sustain.status/1"}"#);
    assert!(
        other.starts_with("this is a `sustain.status/1`, not a"),
        "{other}"
    );
    assert!(refusal(r#"{"schema":"sustain.record"}"#).starts_with("this is a `sustain.record`"));
    assert!(refusal("[1]").contains("no `schema`"));
    let error = read::<RecordResult>(&measured).unwrap_err().to_string();
    assert!(
        error.starts_with("this is a `sustain.measure/1`, not a `sustain.record/1`"),
        "{error}"
    );
}
