//! The pins of a store, in words.

use sustain_document::list::{ListedPin, PinFindings};
use sustain_document::unpin::UnpinDocument;

use crate::format::position;
use crate::terminal::wrapped::wrapped;

/// A pin, what it keeps, and what is found of that. `running` says whether somebody records just
/// now, if that is known.
pub(super) fn pin_lines(pin: &ListedPin, running: Option<bool>) -> [String; 2] {
    [
        pin_line(pin, running),
        found_line(pin.number, pin.open, &pin.found),
    ]
}

/// What is found of what a pin keeps.
pub(super) fn found_line(number: u32, is_open: bool, found: &PinFindings) -> String {
    match (&found.kept, is_open) {
        (Some(kept), _) => format!(
            "pin {number}: holds data that arrived from {} to {}",
            kept.from, kept.to
        ),
        (None, true) => format!("pin {number}: nothing of it is found so far"),
        (None, false) => format!(
            "pin {number}: NOTHING of it is found: nothing arrived then, or it is damaged, or on a \
             member that is not here or is out of date"
        ),
    }
}

/// A recording of which only these pins keep anything.
pub(super) fn only_pinned_line(recording: u32, pins: &[u32]) -> String {
    let numbers: Vec<String> = pins.iter().map(u32::to_string).collect();
    let (keep, flags) = match &numbers[..] {
        [number] => (format!("pin {number} keeps"), format!("--pin {number}")),
        _ => (
            format!("pins {} keep", numbers.join(", ")),
            format!("--pin {}", numbers.join(" or ")),
        ),
    };
    format!(
        "recording {recording}: the ring has overwritten all of it but what {keep}: `sustain \
         extract` gives that with --recording {recording} {flags}"
    )
}

fn pin_line(pin: &ListedPin, running: Option<bool>) -> String {
    let open = match (pin.open, running) {
        (false, _) => "",
        (true, Some(true)) => " (its end is still to come: all that has come is kept)",
        (true, Some(false)) => " (the recording ended before its end: all that came is kept)",
        (true, None) => {
            " (its end is still to come, or the recording ended before it: all that has come is \
             kept)"
        }
    };
    format!(
        "pin {} from {} to {}{open}: keeps {}{}",
        pin.number,
        pin.from,
        pin.to,
        position(pin.kept_bytes),
        recordings(pin)
    )
}

fn recordings(pin: &ListedPin) -> String {
    let numbers = pin.found.kept_recordings.iter();
    let numbers: Vec<String> = numbers.map(u32::to_string).collect();
    match &numbers[..] {
        [] => String::new(),
        [number] => format!(" with data of recording {number}"),
        [first @ .., last] => format!(" with data of recordings {} and {last}", first.join(", ")),
    }
}

/// What has become free with a pin.
#[must_use]
pub fn unpin_text(document: &UnpinDocument, width: usize) -> String {
    let pin = &document.pin;
    let kept = position(pin.kept_bytes);
    let ring = "the next recording with --ring may overwrite";
    let freed = match document.freed_bytes {
        0 => format!("other pins still keep all of its {kept}"),
        bytes if bytes < pin.kept_bytes => format!(
            "{ring} {} of its {kept}, and other pins keep the rest",
            position(bytes)
        ),
        _ => format!("{ring} its {kept}"),
    };
    let of = match recordings(pin).strip_prefix(" with ") {
        Some(data) => format!(" ({data})"),
        None => String::new(),
    };
    let line = format!("pin {} is freed: {freed}{of}", pin.number);
    wrapped(&line, width)
}

#[cfg(test)]
mod tests {
    use sustain_document::list::KeptTimes;

    use super::*;

    fn pin() -> ListedPin {
        ListedPin {
            number: 2,
            from: "1970-01-01T00:00:00.000000000Z".to_owned(),
            to: "1970-01-01T00:00:40.000000000Z".to_owned(),
            open: true,
            kept_bytes: 16 << 20,
            recordings: vec![3, 4, 5],
            found: PinFindings {
                kept: Some(KeptTimes {
                    from: "1970-01-01T00:00:01.000000000Z".to_owned(),
                    to: "1970-01-01T00:00:41.000000000Z".to_owned(),
                }),
                absent: false,
                kept_recordings: vec![3, 5],
            },
        }
    }

    fn nothing_found() -> PinFindings {
        PinFindings {
            absent: true,
            ..PinFindings::default()
        }
    }

    #[test]
    fn what_is_found_of_a_pin_is_said() {
        assert_eq!(
            pin_lines(&pin(), None)[1],
            "pin 2: holds data that arrived from 1970-01-01T00:00:01.000000000Z to \
             1970-01-01T00:00:41.000000000Z"
        );
        let nothing = ListedPin {
            found: nothing_found(),
            ..pin()
        };
        let [_, found] = pin_lines(&nothing, None);
        assert_eq!(found, "pin 2: nothing of it is found so far");
        let ended = ListedPin {
            open: false,
            ..nothing
        };
        let [_, found] = pin_lines(&ended, None);
        assert!(
            found.starts_with("pin 2: NOTHING of it is found"),
            "{found}"
        );
    }

    #[test]
    fn a_recording_of_which_only_pins_keep_something_names_them() {
        assert_eq!(
            only_pinned_line(3, &[2]),
            "recording 3: the ring has overwritten all of it but what pin 2 keeps: `sustain \
             extract` gives that with --recording 3 --pin 2"
        );
        let several = only_pinned_line(3, &[1, 2]);
        assert!(several.contains("pins 1, 2 keep: "), "{several}");
        assert!(several.ends_with("--pin 1 or 2"), "{several}");
    }

    #[test]
    fn a_pin_says_what_it_keeps() {
        assert_eq!(
            pin_line(&pin(), None),
            "pin 2 from 1970-01-01T00:00:00.000000000Z to 1970-01-01T00:00:40.000000000Z (its end \
             is still to come, or the recording ended before it: all that has come is kept): keeps \
             16.8 MB with data of recordings 3 and 5"
        );
        let coming = pin_line(&pin(), Some(true));
        let words = " (its end is still to come: all that has come is kept): keeps ";
        assert!(coming.contains(words), "{coming}");
        let ended = pin_line(&pin(), Some(false));
        let words = " (the recording ended before its end: all that came is kept): keeps ";
        assert!(ended.contains(words), "{ended}");
    }

    #[test]
    fn what_other_pins_keep_does_not_become_free() {
        let mut document = UnpinDocument {
            schema: "sustain.unpin/1".to_owned(),
            store: "store".to_owned(),
            pin: ListedPin {
                recordings: vec![3],
                ..pin()
            },
            freed_bytes: 4 << 20,
            notes: Vec::new(),
        };
        assert_eq!(
            unpin_text(&document, 1000),
            "pin 2 is freed: the next recording with --ring may overwrite 4.19 MB of its 16.8 MB, and other pins \
             keep the rest (data of recordings 3 and 5)\n"
        );
        document.freed_bytes = 16 << 20;
        let text = unpin_text(&document, 1000);
        let all = "may overwrite its 16.8 MB (data of recordings 3 and 5)\n";
        assert!(text.ends_with(all), "{text}");
        document.freed_bytes = 0;
        assert_eq!(
            unpin_text(&document, 1000),
            "pin 2 is freed: other pins still keep all of its 16.8 MB (data of recordings 3 and 5)\n"
        );
    }
}
