//! Pins that a client asks for: what its request means, and the answer when the recorder has noted
//! it on all members.

use sustain_disk::units::parse_duration;
use sustain_document::control::{ControlAnswer, ControlRequest, PinnedStretch};

use super::answers::{Awaited, Commander, OVER};
use crate::recorder::{MarkKeeper, PinKept, PinWish};
use crate::time_text::{TimeTextError, time_ns_of_text, time_text};

/// How far a pin reaches on each side of a mark where nothing else is said.
const AROUND_NS: i64 = 10_000_000_000;

/// A stretch as it was asked for.
#[derive(Debug, PartialEq, Eq)]
enum AskedStretch {
    Times {
        from: AskedMoment,
        to: AskedMoment,
    },
    Around {
        mark: String,
        before_ns: i64,
        after_ns: i64,
    },
}

/// A moment as it was asked for, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskedMoment {
    /// Since 1970.
    At(i64),
    /// From now; below 0 before now.
    FromNow(i64),
}

impl AskedMoment {
    fn unix_ns(self, now_ns: i64) -> i64 {
        match self {
            AskedMoment::At(at_ns) => at_ns,
            AskedMoment::FromNow(ahead_ns) => now_ns.saturating_add(ahead_ns),
        }
    }
}

/// Says why a request to pin something cannot be understood. Any other request can be.
///
/// # Errors
/// In words, with what may be asked for.
pub fn check_pin_request(request: &ControlRequest) -> Result<(), String> {
    match request {
        ControlRequest::Pin { .. } => asked_stretch(request).map(|_| ()),
        _ => Ok(()),
    }
}

fn asked_stretch(request: &ControlRequest) -> Result<AskedStretch, String> {
    let ControlRequest::Pin {
        from,
        to,
        around,
        before,
        after,
    } = request
    else {
        return Err("this asks for no pin".to_owned());
    };
    match (around, from) {
        (Some(_), _) if from.is_some() || to.is_some() => Err(
            "a pin goes from a time to a time, or lies around a mark: give a mark without times, \
             and how much `before` and `after` it"
                .to_owned(),
        ),
        (Some(mark), _) => {
            let length = |typed: &Option<String>| match typed {
                Some(typed) => length_ns(typed),
                None => Ok(AROUND_NS),
            };
            Ok(AskedStretch::Around {
                mark: mark.clone(),
                before_ns: length(before)?,
                after_ns: length(after)?,
            })
        }
        (None, _) if before.is_some() || after.is_some() => Err(
            "`before` and `after` say how much is kept on each side of a mark: name it (`around`)"
                .to_owned(),
        ),
        (None, Some(from)) => Ok(AskedStretch::Times {
            from: moment(from)?,
            to: match to {
                Some(to) => moment(to)?,
                None => AskedMoment::FromNow(0),
            },
        }),
        (None, None) => Err(
            "say what to keep: its beginning (`from`), such as -30s, and its end (`to`), such as \
             +10s, or the mark that it lies around (`around`)"
                .to_owned(),
        ),
    }
}

fn length_ns(typed: &str) -> Result<i64, String> {
    let length_ns = parse_duration(typed).map_err(|error| error.to_string())?;
    Ok(i64::try_from(length_ns).unwrap_or(i64::MAX))
}

fn moment(typed: &str) -> Result<AskedMoment, String> {
    if let Some(ahead) = typed.strip_prefix('+') {
        return length_ns(ahead).map(AskedMoment::FromNow);
    }
    if let Some(ago) = typed.strip_prefix('-') {
        return length_ns(ago).map(|ago_ns| AskedMoment::FromNow(-ago_ns));
    }
    let at_ns = time_ns_of_text(typed).map_err(|why| match why {
        TimeTextError::NotATime => format!(
            "{typed:?} is not a time: write -30s for half a minute ago, +10s for ten seconds from \
             now, or a time with its zone, as 2026-03-01T10:00:00Z"
        ),
        TimeTextError::OutOfRange => format!(
            "nothing recorded has the time {typed:?}: times go from 1677-09-22 to 2262-04-11"
        ),
    })?;
    Ok(AskedMoment::At(at_ns))
}

/// What is wished, in times since 1970.
fn pin_wish(request: &ControlRequest, marks: &MarkKeeper) -> Result<PinWish, String> {
    Ok(match asked_stretch(request)? {
        AskedStretch::Times { from, to } => {
            let now_ns = marks.now_ns();
            PinWish::Pin {
                from_ns: from.unix_ns(now_ns),
                to_ns: to.unix_ns(now_ns),
            }
        }
        AskedStretch::Around {
            mark,
            before_ns,
            after_ns,
        } => {
            let mark_ns = marks.time_ns_of(&mark)?;
            PinWish::Pin {
                from_ns: mark_ns.saturating_sub(before_ns),
                to_ns: mark_ns.saturating_add(after_ns),
            }
        }
    })
}

impl Commander {
    /// Keeps a stretch of the ring, or keeps it no longer. It is answered when all members have
    /// noted it.
    pub(super) fn change_pins(
        &self,
        request: &ControlRequest,
        awaited: &mut Awaited,
    ) -> Option<ControlAnswer> {
        let desk = self.board.pins();
        let Some(marks) = self.marks.upgrade() else {
            // What was asked for before the sources ended still has its answer.
            let outcome = awaited.map(|wish| desk.take_outcome(wish));
            return match outcome {
                Some(outcome) => outcome.map(|outcome| pin_answer(request, outcome, i64::MAX)),
                None => Some(ControlAnswer::refused(OVER)),
            };
        };
        if let Some(wish) = *awaited {
            let outcome = desk.take_outcome(wish)?;
            return Some(pin_answer(request, outcome, marks.now_ns()));
        }
        let wish = match request {
            ControlRequest::Unpin { number } => Ok(PinWish::Unpin { number: *number }),
            _ => pin_wish(request, &marks),
        };
        match wish {
            Ok(wish) => *awaited = Some(desk.wish(wish)),
            Err(why) => return Some(ControlAnswer::refused(why)),
        }
        None
    }
}

/// The answer to a request whose outcome is known, at this time of day.
fn pin_answer(
    request: &ControlRequest,
    outcome: Result<Option<PinKept>, String>,
    now_ns: i64,
) -> ControlAnswer {
    match (outcome, request) {
        (Err(why), _) => ControlAnswer::refused(why),
        (Ok(Some(kept)), _) => ControlAnswer {
            pin: Some(PinnedStretch {
                number: kept.number,
                asked_from: time_text(kept.asked_from_ns),
                asked_from_ns: kept.asked_from_ns,
                from: time_text(kept.from_ns),
                from_ns: kept.from_ns,
                to: time_text(kept.to_ns),
                to_ns: kept.to_ns,
                is_to_come: kept.to_ns > now_ns,
                ring_full_in_s: kept
                    .ring_full_ns
                    .map(|full_ns| full_ns.saturating_sub(now_ns).max(0) as f64 / 1e9),
                may_end_first: kept.may_end_first,
            }),
            ..ControlAnswer::done()
        },
        (Ok(None), ControlRequest::Unpin { number }) => ControlAnswer {
            unpinned: Some(*number),
            ..ControlAnswer::done()
        },
        (Ok(None), _) => ControlAnswer::done(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(keys: &str) -> ControlRequest {
        serde_json::from_str(&format!("{{\"command\":\"pin\"{keys}}}")).unwrap()
    }

    #[test]
    fn a_stretch_goes_from_a_time_to_a_time_or_lies_around_a_mark() {
        const S: i64 = 1_000_000_000;
        let asked = |keys| asked_stretch(&pin(keys)).unwrap();
        let times = |from, to| AskedStretch::Times { from, to };
        assert_eq!(
            asked(r#","from":"-30s","to":"+1.5s""#),
            times(
                AskedMoment::FromNow(-30 * S),
                AskedMoment::FromNow(S * 3 / 2)
            )
        );
        assert_eq!(
            asked(r#","from":"1970-01-01T01:00:02+01:00""#),
            times(AskedMoment::At(2 * S), AskedMoment::FromNow(0))
        );
        assert_eq!(
            asked(r#","around":"door","after":"2m""#),
            AskedStretch::Around {
                mark: "door".to_owned(),
                before_ns: AROUND_NS,
                after_ns: 120 * S,
            }
        );
        assert_eq!(AskedMoment::At(5).unix_ns(7), 5);
        assert_eq!(AskedMoment::FromNow(-5).unix_ns(7), 2);
        assert_eq!(AskedMoment::FromNow(i64::MIN).unix_ns(-7), i64::MIN);
    }

    #[test]
    fn what_is_no_stretch_is_refused_in_words() {
        for (keys, words) in [
            ("", "say what to keep"),
            (r#","to":"+10s""#, "say what to keep"),
            (r#","from":"30s""#, "is not a time: write -30s"),
            (r#","from":"yesterday""#, "is not a time: write -30s"),
            (
                r#","from":"10000-01-01T00:00:00Z""#,
                "times go from 1677-09-22 to 2262-04-11",
            ),
            (r#","from":"2026-03-01T10:00:00""#, "with its zone"),
            (r#","from":"-30""#, "30"),
            (r#","from":"-30s","after":"2s""#, "name it (`around`)"),
            (r#","around":"1","from":"-30s""#, "without times"),
            (r#","around":"1","to":"+3s""#, "without times"),
            (r#","around":"1","after":"-3s""#, "-3s"),
        ] {
            let why = check_pin_request(&pin(keys)).unwrap_err();
            assert!(why.contains(words), "{keys}: {why}");
        }
        assert_eq!(check_pin_request(&ControlRequest::Status {}), Ok(()));
    }
}
