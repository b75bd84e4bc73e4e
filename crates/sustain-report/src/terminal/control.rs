//! The answers of a running recording as text.

use sustain_document::control::{ControlAnswer, PinnedStretch, RatesNow, UserMark};
use sustain_document::record::MarksResult;
use sustain_document::status::{StatusLine, StatusPins};

use super::without_controls;
use super::wrapped::wrapped;
use crate::format::{latency, percent, position, rate, stretch};

/// The answer to a command, in words.
#[must_use]
pub fn control_text(answer: &ControlAnswer, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(answer.error.clone());
    lines.extend(answer.paused.map(|paused| {
        match paused {
            true => {
                "paused until `resume`: sources that can wait are not read, and what comes from \
                 others (`--on-full drop`) is lost"
            }
            false => "reading from the sources",
        }
        .to_owned()
    }));
    lines.extend(answer.status.iter().flat_map(status_lines));
    lines.extend(answer.rate.iter().flat_map(rate_lines));
    lines.extend(answer.split.map(|split| {
        format!(
            "recording {} has ended, all of it durable; recording {} goes on",
            split.ended, split.recording
        )
    }));
    lines.extend(answer.mark.iter().map(mark_line));
    lines.extend(answer.pin.iter().flat_map(pin_lines));
    lines.extend(answer.unpinned.map(|number| {
        format!("pin {number} is freed: the ring may overwrite what no other pin keeps")
    }));
    if lines.is_empty() {
        lines.push("stopping: everything read so far is being written".to_owned());
    }
    let lines = lines.iter();
    lines
        .map(|line| wrapped(&without_controls(line), width))
        .collect()
}

/// A mark with its place in every stream.
#[must_use]
pub fn mark_line(mark: &UserMark) -> String {
    let streams = mark.streams.iter();
    let places: Vec<String> = streams
        .map(|stream| format!("{} at byte {}", stream.name, stream.offset_bytes))
        .collect();
    format!(
        "mark {} at {}: {} ({})",
        mark.number,
        mark.time,
        mark.text,
        places.join(", ")
    )
}

/// What a pin keeps, and what it cannot keep because that is gone.
fn pin_lines(pin: &PinnedStretch) -> Vec<String> {
    let mut lines = vec![match pin.is_to_come {
        true => format!(
            "pin {} keeps what has arrived since {}, and what arrives until {}",
            pin.number, pin.from, pin.to
        ),
        false => format!(
            "pin {} keeps what arrived from {} to {}",
            pin.number, pin.from, pin.to
        ),
    }];
    if pin.is_gone_in_part() {
        let gone_ns = pin.from_ns.abs_diff(pin.asked_from_ns);
        let gone = match gone_ns {
            0..1_000_000_000 => latency(gone_ns),
            _ => stretch(gone_ns as f64 / 1e9),
        };
        lines.push(format!(
            "the first {gone} of what was asked for, from {} on, are GONE: the ring has \
             overwritten them, or they were before this run of the recorder began",
            pin.asked_from
        ));
    }
    if let Some(full_in_s) = pin.ring_full_in_s {
        let full_in = stretch(full_in_s.round());
        let (what, when) = match pin.may_end_first {
            true => (
                "may be FULL",
                "unless what this pin keeps is durable before that",
            ),
            false => ("is FULL", "before this pin can end"),
        };
        lines.push(format!(
            "at the rate of the last minute the ring {what} in {full_in}, {when}: then the \
             recording ends (`--on-full block`), or loses what comes until a pin is freed \
             (`--on-full drop`). Free a pin before (`unpin`)"
        ));
    }
    lines
}

/// The marks of a recording that is over.
pub(crate) fn marks_line(marks: &MarksResult) -> String {
    let count = match marks.count {
        1 => "1 mark".to_owned(),
        count => format!("{count} marks"),
    };
    match marks.gap_bytes {
        0 => format!("{count}, all recorded: `sustain list` shows them"),
        bytes => format!("{count}; {bytes} bytes of their text are LOST"),
    }
}

fn status_lines(status: &StatusLine) -> Vec<String> {
    // A recorder of an earlier version does not tell its number.
    let recording = match status.recording {
        0 => String::new(),
        number => format!("recording {number}: "),
    };
    // What limits a recording that is paused is the pause.
    let (paused, limit) = match status.paused {
        true => (", PAUSED", String::new()),
        false => ("", format!(", limit: {}", status.limited_by.words())),
    };
    let mut lines = vec![format!(
        "{recording}{}{paused}, buffer {}{limit}",
        stretch(status.time_s.round()),
        percent(status.buffer_fill),
    )];
    lines.extend(status.streams.iter().map(|stream| {
        let lost = match stream.gap_bytes {
            0 => "nothing lost".to_owned(),
            bytes => format!("LOST {}", position(bytes)),
        };
        let protected = stream.protected_bytes.map(position);
        let protected = protected.map_or_else(String::new, |bytes| format!(" {bytes} protected,"));
        format!(
            "stream {}: {} offered, {} durable,{protected} {lost}",
            stream.name,
            position(stream.offered_bytes),
            position(stream.durable_bytes)
        )
    }));
    lines.extend(status.members.iter().map(|member| {
        let bytes = position(member.bytes);
        format!(
            "member {}: {bytes} written, {}",
            member.name,
            member.state.name()
        )
    }));
    lines.extend(
        status
            .marks
            .map(|marks| format!("marks: {} set, {} durable", marks.made, marks.settled)),
    );
    lines.extend(status.pins.as_ref().and_then(pins_line));
    lines
}

/// The pins of a ring, if there are any.
fn pins_line(pins: &StatusPins) -> Option<String> {
    let numbers: Vec<String> = pins.numbers.iter().map(u32::to_string).collect();
    let (pins_words, keep) = match numbers.len() {
        0 => return None,
        1 => ("pin", "keeps"),
        _ => ("pins", "keep"),
    };
    let nothing = match pins.leave_nothing {
        true => {
            ", and NOTHING IS LEFT: what comes waits, or is lost, until a pin is freed (`unpin`). \
             Free first the newest one whose end is still open"
        }
        false => "",
    };
    let share = pins.kept_bytes as f64 / pins.ring_bytes.max(1) as f64;
    Some(format!(
        "{pins_words} {}: {keep} {} of the ring ({}){nothing}",
        numbers.join(", "),
        position(pins.kept_bytes),
        percent(share)
    ))
}

fn rate_lines(rates: &RatesNow) -> Vec<String> {
    if rates.span_s == 0.0 {
        return vec!["the recording has just begun: there are no rates yet".to_owned()];
    }
    let mut lines = vec![format!(
        "over {:.1} s, buffer {}, limit: {}",
        rates.span_s,
        percent(rates.buffer_fill),
        rates.limited_by.words()
    )];
    lines.extend(rates.streams.iter().map(|stream| {
        let lost = match stream.lost_bytes_per_s {
            lost if lost > 0.0 => format!(", LOST {}", rate(lost)),
            _ => String::new(),
        };
        format!(
            "stream {}: in {}, out {}{lost}, {} waiting",
            stream.name,
            rate(stream.in_bytes_per_s),
            rate(stream.out_bytes_per_s),
            position(stream.backlog_bytes)
        )
    }));
    lines.extend(
        rates
            .members
            .iter()
            .map(|member| format!("member {}: {}", member.name, rate(member.bytes_per_s))),
    );
    lines
}

#[cfg(test)]
mod tests {
    use sustain_document::control::MarkedOffset;

    use super::*;

    #[test]
    fn a_mark_is_shown_on_one_line_whatever_it_says() {
        let mark = UserMark {
            number: 3,
            time_ns: 0,
            time: "1970-01-01T00:00:00.000000000Z".to_owned(),
            text: "door \u{1b}[2J \u{202e}opened".to_owned(),
            streams: vec![MarkedOffset {
                name: "main".to_owned(),
                offset_bytes: 12,
            }],
        };
        let answer = ControlAnswer {
            mark: Some(mark),
            ..ControlAnswer::done()
        };
        let text = control_text(&answer, 200);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.ends_with(" \u{fffd}opened (main at byte 12)\n"),
            "{text}"
        );
    }

    #[test]
    fn the_status_says_what_pins_take_of_the_ring() {
        let pins = StatusPins {
            numbers: vec![1, 4],
            kept_bytes: 25 << 20,
            ring_bytes: 100 << 20,
            leave_nothing: false,
        };
        assert_eq!(
            pins_line(&pins).unwrap(),
            "pins 1, 4: keep 26.2 MB of the ring (25 %)"
        );
        let all = StatusPins {
            leave_nothing: true,
            ..pins.clone()
        };
        let told = pins_line(&all).unwrap();
        assert!(told.contains("(25 %), and NOTHING IS LEFT"), "{told}");
        let none = StatusPins {
            numbers: Vec::new(),
            ..pins
        };
        assert_eq!(pins_line(&none), None);
    }

    #[test]
    fn a_pin_says_what_it_keeps_and_what_is_gone() {
        let pin = PinnedStretch {
            number: 2,
            asked_from: "1970-01-01T00:00:00.000000000Z".to_owned(),
            asked_from_ns: 0,
            from: "1970-01-01T00:00:12.500000000Z".to_owned(),
            from_ns: 12_500_000_000,
            to: "1970-01-01T00:00:40.000000000Z".to_owned(),
            to_ns: 40_000_000_000,
            is_to_come: true,
            ring_full_in_s: None,
            may_end_first: false,
        };
        let full = PinnedStretch {
            asked_from_ns: pin.from_ns,
            ring_full_in_s: Some(75.3),
            ..pin.clone()
        };
        let told = pin_lines(&full);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[1].contains("is FULL in 1.25 min, before this"),
            "{told:?}"
        );
        let near = PinnedStretch {
            may_end_first: true,
            ..full
        };
        let told = pin_lines(&near);
        assert!(
            told[1].contains("may be FULL in 1.25 min, unless what"),
            "{told:?}"
        );
        let answer = ControlAnswer {
            pin: Some(pin),
            ..ControlAnswer::done()
        };
        assert_eq!(
            control_text(&answer, 1000),
            "pin 2 keeps what has arrived since 1970-01-01T00:00:12.500000000Z, and what arrives \
             until 1970-01-01T00:00:40.000000000Z\nthe first 12.5 s of what was asked \
             for, from 1970-01-01T00:00:00.000000000Z on, are GONE: the ring has overwritten them, \
             or they were before this run of the recorder began\n"
        );
        let freed = ControlAnswer {
            unpinned: Some(2),
            ..ControlAnswer::done()
        };
        assert_eq!(
            control_text(&freed, 80),
            "pin 2 is freed: the ring may overwrite what no other pin keeps\n"
        );
    }

    #[test]
    fn a_stop_and_a_refusal_are_said_in_words() {
        let text = control_text(&ControlAnswer::done(), 80);
        assert_eq!(text, "stopping: everything read so far is being written\n");
        let text = control_text(&ControlAnswer::refused("it ends"), 80);
        assert_eq!(text, "it ends\n");
    }
}
