//! The rates of a measurement that read back what it had written, as rows of text: the burst, the
//! sustained rate, the same while as many requests read, and reading alone. The terminal and the
//! page draw the same rows.

use sustain_document::measure::{MeasureResult, Recommendation, Sustained};

use crate::format::{half_width, memory, position, rate, stretch};

/// The heads of the columns.
pub(crate) const HEAD: [&str; 3] = [
    "",
    "with full queues",
    "paced, as for a recording or a player",
];

const ALONE: &str = "reading back alone";

/// One rate.
pub(crate) struct RateRow {
    /// What was done.
    pub(crate) name: &'static str,
    /// The rate with full queues.
    pub(crate) full_queues: String,
    /// The rate of a stream that does not wait, and whether paced runs have held it.
    pub(crate) stream: String,
}

/// The rows; none if nothing was read back.
pub(crate) fn rate_rows(result: &MeasureResult) -> Vec<RateRow> {
    let Some(read_back) = &result.read_back else {
        return Vec::new();
    };
    let total = &result.total;
    let burst = match &total.burst {
        Some(burst) => format!(
            "{} for the first {}",
            rate(burst.rate_bytes_per_s),
            position(burst.bytes)
        ),
        None => "none".to_owned(),
    };
    let row = |name, sustained: &Sustained, stream: String| RateRow {
        name,
        full_queues: spread(sustained),
        stream,
    };
    let of = |found: &Option<Recommendation>| stream(found.as_ref());
    vec![
        RateRow {
            name: "burst",
            full_queues: burst,
            stream: String::new(),
        },
        row("writing", &total.sustained, of(&result.recommendation)),
        row(
            "writing while reading back",
            &read_back.writing.sustained,
            of(&read_back.writing.recommendation),
        ),
        row(
            "reading back meanwhile",
            &read_back.reading_meanwhile,
            String::new(),
        ),
        match &read_back.reading_alone {
            Some(alone) => row(ALONE, &alone.sustained, of(&alone.recommendation)),
            None => RateRow {
                name: ALONE,
                full_queues: "interrupted".to_owned(),
                stream: String::new(),
            },
        },
    ]
}

fn spread(sustained: &Sustained) -> String {
    let mean = rate(sustained.rate_bytes_per_s);
    if !sustained.reached {
        let of_what = match sustained.from_s > 0.0 {
            true => "late in the run",
            false => "on average",
        };
        return format!("{mean} {of_what}, not steady");
    }
    format!("{mean} ± {}", rate(half_width(sustained.ci95_bytes_per_s)))
}

/// What paced runs showed of the rate of a stream.
fn stream(found: Option<&Recommendation>) -> String {
    let Some(found) = found else {
        return "no rate can be promised".to_owned();
    };
    let speed = rate(found.rate_bytes_per_s);
    let buffer = memory(found.buffer_bytes);
    let held = stretch(found.held_seconds.unwrap_or(0.0));
    match found.confirmed {
        Some(true) => format!("{speed}, held for {held}, buffer {buffer}"),
        Some(false) => format!("{speed} did NOT hold"),
        None => format!("{speed}, not tried, buffer {buffer}"),
    }
}
