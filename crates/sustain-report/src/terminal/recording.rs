//! Shows a running recording as one line. The command calls it with each state of the recording; it
//! must never slow or fail the recording.

use std::collections::BTreeSet;
use std::io::Write;

use console::{Term, measure_text_width, truncate_str};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sustain_record::forecast::{Forecast, SpaceUse};
use sustain_record::recorder::{LimitedBy, MemberState, RecordingProgress};

use super::forecast::{shortfall_words, unprofiled_words};
use super::{LiveKind, noted, without_controls};
use crate::format::{latency, percent, position, rate, size, stretch};

/// What stands between two parts of a status line.
const BETWEEN: &str = "  ";
/// The seconds between two lines in a pipe.
const PLAIN_EVERY_S: f64 = 10.0;
/// Rates are means over the last seconds, at least this many.
const RATE_OVER_S: f64 = 1.0;

/// Shows a running recording.
pub struct RecordView {
    kind: LiveKind,
    bar: Option<ProgressBar>,
    writer: Box<dyn Write + Send>,
    due_s: f64,
    before: RateMoment,
    rates: RecordRates,
    space: SpaceUse,
    /// Whether a line has said that the store is created.
    is_made: bool,
    /// The forecast from a profile of the members, if there is one.
    forecast: Option<Forecast>,
    /// Whether a line has said what the forecast does not know.
    is_limit_said: bool,
    /// Whether a line has warned that the members will become too slow.
    is_warned: bool,
    /// The members of which a line has said that they failed, by their places.
    failed_said: BTreeSet<usize>,
    /// The status line of the latest moment, whether it was shown or not.
    line: String,
}

/// The latest rates at which bytes come in, go out, and use up space.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RecordRates {
    /// The rate that the sources offer.
    pub in_bytes_per_s: f64,
    /// The rate of payload written on the members.
    pub out_bytes_per_s: f64,
    /// The rate at which free space on the members is used up: more than the payload, and for slow
    /// streams many times more.
    pub room_bytes_per_s: f64,
    /// The time after which too few members have space for data and its parity, if that is known.
    pub too_few_in_s: Option<f64>,
}

/// The counts from which rates are taken.
#[derive(Debug, Clone, Copy, Default)]
struct RateMoment {
    time_s: f64,
    in_bytes: u64,
    out_bytes: u64,
}

impl RecordView {
    /// A view of this kind; `writer` takes the lines of the plain ones.
    #[must_use]
    pub fn new(kind: LiveKind, writer: Box<dyn Write + Send>) -> RecordView {
        let bar = (kind == LiveKind::Terminal).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        RecordView {
            kind,
            bar,
            writer,
            due_s: RATE_OVER_S,
            before: RateMoment::default(),
            rates: RecordRates::default(),
            space: SpaceUse::default(),
            is_made: false,
            forecast: None,
            is_limit_said: false,
            is_warned: false,
            failed_said: BTreeSet::new(),
            line: "nothing is recorded yet".to_owned(),
        }
    }

    /// Uses this forecast of the members' rates.
    #[must_use]
    pub fn with_forecast(mut self, forecast: Option<Forecast>) -> RecordView {
        self.forecast = forecast;
        self
    }

    /// Shows this moment.
    pub fn update(&mut self, standing: &RecordingProgress) {
        let now = RateMoment {
            time_s: standing.time_s,
            in_bytes: standing.streams.iter().map(|one| one.arrived_bytes).sum(),
            out_bytes: standing.members.iter().map(|one| one.bytes).sum(),
        };
        let passed_s = now.time_s - self.before.time_s;
        if passed_s >= RATE_OVER_S {
            let per_s = |now: u64, before: u64| now.saturating_sub(before) as f64 / passed_s;
            self.rates.in_bytes_per_s = per_s(now.in_bytes, self.before.in_bytes);
            self.rates.out_bytes_per_s = per_s(now.out_bytes, self.before.out_bytes);
            self.before = now;
        }
        self.space.see(standing);
        self.rates.room_bytes_per_s = self.space.bytes_per_s();
        self.rates.too_few_in_s = self.space.too_few_in_s(standing);
        let in_rate = self.rates.in_bytes_per_s;
        let forecast = self.forecast.as_ref();
        let is_first = !std::mem::replace(&mut self.is_limit_said, true);
        let unknown = forecast.filter(|_| is_first);
        let unprofiled = unknown.map(|forecast| forecast.unprofiled(standing));
        if let Some(words) = unprofiled.and_then(|beyond| unprofiled_words(&beyond)) {
            self.note(&words);
        }
        let forecast = self.forecast.as_ref();
        let space_per_byte = self.space.per_payload_byte();
        let coming = forecast.and_then(|known| known.coming(standing, in_rate, space_per_byte));
        if let Some(short) = coming.and_then(|coming| coming.short)
            && !std::mem::replace(&mut self.is_warned, true)
        {
            self.note(&shortfall_words(&short, in_rate));
        }
        self.say_failed(standing);
        let full_in_s = coming.map(|coming| coming.full_in_s);
        let full_in_s = full_in_s.or_else(|| time_until_full_s(standing, &self.rates));
        let parts = parts(standing, &self.rates, full_in_s);
        self.line = parts.concat().join(BETWEEN);
        if let Some(bar) = &self.bar {
            let columns = usize::from(Term::stderr().size().1);
            bar.set_message(in_columns(&parts, columns));
        } else if self.kind != LiveKind::Silent && standing.time_s >= self.due_s {
            self.due_s = standing.time_s + PLAIN_EVERY_S;
            self.say(&self.line.clone());
        }
    }

    /// Prints the status line of the latest moment, as a line that stays. Someone asked for it, so
    /// that a silent view prints it too.
    pub fn print_status(&mut self) {
        self.note(&self.line.clone());
    }

    /// Shows how much of a store is created.
    pub fn preparing(&mut self, done_bytes: u64, all_bytes: u64) {
        let part = done_bytes as f64 / all_bytes.max(1) as f64;
        let line = format!(
            "creating the store: {} of {}",
            percent(part),
            size(all_bytes)
        );
        if let Some(bar) = &self.bar {
            let columns = usize::from(Term::stderr().size().1);
            bar.set_message(truncate_str(&line, columns, "").into_owned());
        } else if done_bytes == all_bytes && !self.is_made {
            self.is_made = true;
            self.say(&line);
        }
    }

    /// Prints a line that stays.
    pub fn note(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(noted(text)),
            None => self.say(&without_controls(text)),
        }
    }

    /// Says at once that a member has failed.
    fn say_failed(&mut self, standing: &RecordingProgress) {
        for (index, member) in standing.members.iter().enumerate() {
            if let Some(error) = &member.error
                && self.failed_said.insert(index)
            {
                let name = &member.name;
                self.note(&format!("{name} failed: {error}"));
            }
        }
    }

    /// Takes the line away.
    pub fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&mut self, line: &str) {
        // A closed pipe must not end a recording.
        let _ = writeln!(self.writer, "{line}");
    }
}

/// The status line: in, out, buffer, loss, what limits the rate, how long until the store is full.
#[must_use]
pub fn record_line(standing: &RecordingProgress, rates: &RecordRates) -> String {
    let parts = parts(standing, rates, time_until_full_s(standing, rates));
    parts.concat().join(BETWEEN)
}

/// The lines that a terminal of this width shows. Parts that do not fit beside each other go on in
/// further lines, and only a part that is longer than a line is cut off.
fn in_columns(lines: &[Vec<String>], columns: usize) -> String {
    let mut shown: Vec<String> = Vec::new();
    for parts in lines {
        let mut line = String::new();
        for part in parts {
            let length = measure_text_width(&line) + BETWEEN.len() + measure_text_width(part);
            if !line.is_empty() && length > columns {
                shown.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push_str(BETWEEN);
            }
            line.push_str(&truncate_str(part, columns, ""));
        }
        shown.push(line);
    }
    shown.join("\n")
}

/// What a terminal of 80 columns shows in two lines, a narrower one in more, and a pipe in one.
fn parts(
    standing: &RecordingProgress,
    rates: &RecordRates,
    full_in_s: Option<f64>,
) -> [Vec<String>; 2] {
    let gap_bytes: u64 = standing.streams.iter().map(|one| one.gap_bytes).sum();
    let with_members: u64 = standing.members.iter().map(|one| one.lost_bytes).sum();
    let lost = match gap_bytes + with_members {
        0 => "nothing lost".to_owned(),
        bytes if with_members > 0 => format!("LOST up to {}", position(bytes)),
        bytes => format!("LOST {}", position(bytes)),
    };
    let mut first = vec![
        format!("{:>6}", stretch(standing.time_s.round())),
        format!("in {:>9}", rate(rates.in_bytes_per_s)),
        format!("out {:>9}", rate(rates.out_bytes_per_s)),
        format!("buffer {:>4}", percent(standing.buffer_fill)),
        lost,
    ];
    // Where nothing comes in, or nothing is left to write to, what was used up a moment ago tells
    // nothing of what will be.
    let full_in_s =
        full_in_s.filter(|_| rates.in_bytes_per_s > 0.0 && standing.limited_by != LimitedBy::Pins);
    first.extend(full_in_s.map(|left_s| format!("full in {}", stretch(left_s))));
    for member in &standing.members {
        let is_well = matches!(member.state, MemberState::Active | MemberState::Closed);
        if !is_well {
            let words = format!("{} {}", member.name, member.state.name());
            first.push(without_controls(&words));
        }
    }
    let limit = match standing.is_paused {
        true => "PAUSED by a command".to_owned(),
        false => without_controls(&format!("limit: {}", limit_now(standing))),
    };
    let second = vec![limit, format!("slowest append {}", slowest(standing))];
    [first, second]
}

/// The slowest append, which may still be on its way.
fn slowest(standing: &RecordingProgress) -> String {
    let longest = latency(standing.longest_write_ns);
    match standing.is_write_overdue() {
        true => format!("{longest} and not written yet"),
        false => longest,
    }
}

/// The limit of the rate now, with the rate of other programs if the members' disks are the limit.
fn limit_now(standing: &RecordingProgress) -> String {
    let by = standing.limited_by.words();
    match standing.others_bytes_per_s {
        Some(others) if !matches!(standing.limited_by, LimitedBy::Source | LimitedBy::Pins) => {
            format!("{by}, shared with other programs at {}", rate(others))
        }
        _ => by.to_owned(),
    }
}

fn time_until_full_s(standing: &RecordingProgress, rates: &RecordRates) -> Option<f64> {
    let members = standing.members.iter();
    let mut active = members
        .filter(|member| member.state == MemberState::Active)
        .peekable();
    // At the end of a recording no member is written to any more, so that none becomes full.
    active.peek()?;
    let free = standing.usable_free_bytes()?;
    let used = rates.room_bytes_per_s;
    let evenly_in_s = (used > 0.0).then(|| free as f64 / used)?;
    let full_in_s = rates.too_few_in_s.unwrap_or(f64::INFINITY).min(evenly_in_s);
    // A ring goes on when the ends of its pins have come.
    let ends_in_ns = standing.pins.as_ref().and_then(|pins| pins.ends_in_ns);
    let goes_on = ends_in_ns.is_some_and(|ends_in_ns| full_in_s * 1e9 > ends_in_ns as f64);
    (!goes_on).then_some(full_in_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(columns: usize) -> String {
        let first = ["  12 s", "in 1.23 GB/s", "out 1.20 GB/s", "buffer  3 %"];
        let first = [&first[..], &["nothing lost", "full in 3 h 20 min"]].concat();
        let second = ["limit: members", "slowest append 41.2 ms"];
        let words = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        in_columns(&[words(&first), words(&second)], columns)
    }

    #[test]
    fn a_narrow_terminal_shows_the_same_in_more_lines() {
        let wide =
            "  12 s  in 1.23 GB/s  out 1.20 GB/s  buffer  3 %  nothing lost  full in 3 h 20 min";
        let second = "limit: members  slowest append 41.2 ms";
        assert_eq!(shown(100), format!("{wide}\n{second}"));
        let narrow =
            "  12 s  in 1.23 GB/s  out 1.20 GB/s  buffer  3 %\nnothing lost  full in 3 h 20 min";
        assert_eq!(shown(60), format!("{narrow}\n{second}"));
        let least = shown(16);
        assert!(least.lines().all(|line| line.len() <= 16), "{least}");
        assert!(least.contains("nothing lost\n"), "{least}");
    }
}
