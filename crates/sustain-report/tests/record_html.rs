//! The page of recordings as text: complete, harmless, and without a request to anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use sample::recording::{troubled, whole, with_frames};
use sustain_document::record::RecordResult;
use sustain_report::ReportError;
use sustain_report::html::record_html;

/// The page of these recordings without its chart script.
fn own_markup(results: &[RecordResult]) -> String {
    sample::own_markup(&record_html(results).unwrap())
}

/// A recording in which every text from outside tries to leave its place.
fn hostile() -> RecordResult {
    let attack = "</script><script>window.stolen=1</script><img src=x onerror=window.stolen=1>\"'";
    let text = || attack.to_owned();
    let mut result = troubled();
    for stream in &mut result.streams {
        (stream.name, stream.source, stream.framing) = (text(), text(), text());
    }
    for member in &mut result.members {
        (member.name, member.error) = (text(), Some(text()));
    }
    for sample in &mut result.samples {
        sample.limited_by = text().into();
    }
    (result.store, result.started, result.engine) = (text(), text(), text());
    result.plan.sustain_version = text();
    result.plan.arguments = vec!["record".to_owned(), text()];
    result.host.file_systems[0].member = text();
    result.host.file_systems[0].file_system.kind = text();
    result.system.kernel_messages[0].text = text();
    result.system.kernel_log_unreadable = Some(text());
    result.notes = vec![text()];
    result
}

#[test]
fn page_has_its_parts_in_order() {
    let page = own_markup(&[troubled()]);
    let parts = [
        "<h1>Recording 3: streams left and right, ",
        "class=\"answer",
        "class=\"alarm\"",
        "stream right: lost",
        "12.0 MB (12000003 bytes)",
        "/dev/sdc failed",
        "<h2>Streams</h2>",
        "/run/left",
        "<h2>Members</h2>",
        "CPU time per GB",
        "<h2>What limited the rate</h2>",
        "and all members were busy",
        "id=\"time-0\"",
        "id=\"appends-0\"",
        "id=\"shares-0\"",
        "id=\"members-0\"",
        "id=\"buffer-0\"",
        "<h2>Kernel messages</h2>",
        "<h2>Notes</h2>",
        "<h2>Command and settings</h2>",
        "sustain record /dev/sdb /dev/sdc /srv/store --from /run/left --stream left",
        "drop: what comes is lost",
        "<h2>Machine, devices and file systems</h2>",
        "Example Barracuda",
        "File system of /srv/store",
    ];
    let mut at = 0;
    for part in parts {
        let found = page[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing or out of its place"));
    }
}

#[test]
fn a_recording_without_trouble_has_no_alarm() {
    let page = own_markup(&[whole()]);
    assert_eq!(page.matches("<div class=\"alarm\">").count(), 0);
    insta::assert_snapshot!(sample::headings_of(&page), @"
    Recording 3: stream left, 40.2 s
      Streams
      Members
      What limited the rate
      Charts
        Rate, buffer, limits and machine over time
        Latency of appends
        Share of each member
        Payload on each member over time
        Buffer that a stream needs, by its rate
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of /srv/store
    ");
}

#[test]
fn frames_are_drawn_and_those_missing_are_named() {
    let page = own_markup(&[with_frames(whole())]);
    let headings = sample::headings_of(&page);
    for heading in ["Frames over time", "Intervals and durability of frames"] {
        assert!(headings.contains(heading), "no {heading} in {headings}");
    }
    assert!(
        page.contains("29.970"),
        "the rate of the frames is not told"
    );
    assert!(!own_markup(&[whole()]).contains("29.970"));
}

#[test]
fn protection_is_drawn_where_there_is_parity_with_the_moment_of_a_loss() {
    let mut result = whole();
    for sample in &mut result.samples {
        let durable = sample.durable_bytes.iter();
        sample.protected_bytes = durable
            .map(|bytes| bytes.saturating_sub(5_000_000))
            .collect();
        if sample.time_s > 12.0 {
            sample.failed_members = vec![0];
        }
    }
    let page = own_markup(&[result.clone()]);
    assert!(sample::headings_of(&page).contains("Protection over time"));
    let words = format!("{} failed", result.members[0].name);
    assert!(page.contains(&words), "{words}");
    assert!(!own_markup(&[whole()]).contains(&words), "{words}");
    assert!(!own_markup(&[whole()]).contains("Protection over time"));
}

#[test]
fn page_loads_nothing() {
    let page = record_html(&[troubled(), whole()]).unwrap();
    sample::assert_loads_nothing(&page);
}

#[test]
fn several_recordings_have_a_table_of_all_and_a_section_each() {
    let page = own_markup(&[troubled(), whole()]);
    insta::assert_snapshot!(sample::headings_of(&page), @"
    2 recordings
    Recording 3: streams left and right, 40.2 s
      Streams
      Members
      What limited the rate
      Charts
        Rate, buffer, limits and machine over time
        Latency of appends
        Share of each member
        Payload on each member over time
        Buffer that a stream needs, by its rate
      Kernel messages
      Notes
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of /srv/store
    Recording 3: stream left, 40.2 s
      Streams
      Members
      What limited the rate
      Charts
        Rate, buffer, limits and machine over time
        Latency of appends
        Share of each member
        Payload on each member over time
        Buffer that a stream needs, by its rate
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of /srv/store
    ");
    assert!(page.contains("id=\"time-0\"") && page.contains("id=\"time-1\""));
    assert!(matches!(record_html(&[]), Err(ReportError::NoResults)));
}

#[test]
fn text_from_outside_stays_text() {
    let page = own_markup(&[hostile(), hostile()]);
    sample::assert_only_own_elements(&page);
}

#[test]
fn a_recording_of_nothing_is_still_a_page() {
    let mut result = whole();
    result.seconds = 0.0;
    result.samples.clear();
    result.buffer_curve.clear();
    result.system = Default::default();
    result.host = Default::default();
    for stream in &mut result.streams {
        stream.written_latency_histogram.clear();
        stream.durable_latency_histogram.clear();
    }
    let page = own_markup(&[result.clone()]);
    assert!(page.contains("id=\"time-0\"") && !page.contains("id=\"appends-0\""));
    assert!(!page.contains("NaN") && !page.contains("<h2>Where"));
    result.streams.clear();
    result.members.clear();
    assert!(own_markup(&[result]).contains("no stream"));
}

#[test]
fn samples_that_tell_less_than_the_streams_are_no_trouble() {
    let mut result = troubled();
    for sample in &mut result.samples {
        sample.offered_bytes.clear();
        sample.durable_bytes.clear();
        sample.gap_bytes.clear();
        sample.member_bytes.clear();
    }
    assert!(own_markup(&[result]).contains("id=\"time-0\""));
}
