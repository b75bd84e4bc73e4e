//! The pins of a store, in words.

use sustain_document::list::ListedPin;
use sustain_document::unpin::UnpinDocument;

use crate::format::position;
use crate::terminal::wrapped::wrapped;

/// A pin, and what it keeps.
pub(super) fn pin_line(pin: &ListedPin) -> String {
    let open = match pin.open {
        true => " (its end was not reached: all that came is kept)",
        false => "",
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
    let numbers: Vec<String> = pin.recordings.iter().map(u32::to_string).collect();
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
    let others = match document.freed_bytes < pin.kept_bytes {
        true => "; other pins keep the rest",
        false => "",
    };
    let line = format!(
        "pin {} is freed: the next ring may overwrite {} of the {} that it kept{}{others}",
        pin.number,
        position(document.freed_bytes),
        position(pin.kept_bytes),
        recordings(pin)
    );
    wrapped(&line, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin() -> ListedPin {
        ListedPin {
            number: 2,
            from: "1970-01-01T00:00:00.000000000Z".to_owned(),
            to: "1970-01-01T00:00:40.000000000Z".to_owned(),
            open: true,
            kept_bytes: 16 << 20,
            recordings: vec![3, 4, 5],
        }
    }

    #[test]
    fn a_pin_says_what_it_keeps() {
        assert_eq!(
            pin_line(&pin()),
            "pin 2 from 1970-01-01T00:00:00.000000000Z to 1970-01-01T00:00:40.000000000Z (its end \
             was not reached: all that came is kept): keeps 16.8 MB with data of recordings 3, 4 \
             and 5"
        );
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
            "pin 2 is freed: the next ring may overwrite 4.19 MB of the 16.8 MB that it kept with \
             data of recording 3; other pins keep the rest\n"
        );
        document.freed_bytes = 16 << 20;
        let text = unpin_text(&document, 1000);
        assert!(text.ends_with("data of recording 3\n"), "{text}");
    }
}
