//! The table of docs/method.md: this project's verdict beside those of fio's rule and SNIA's on the
//! same series. Compiled for the tests, which keep the page equal to it, and for the example
//! `verdicts`.

use std::fmt::Write as _;

use sustain_statistics::judge::conventional::{self, Attained};
use sustain_statistics::judge::series::{Case, FIO_DEVIATION, FIO_SLOPE, cases};
use sustain_statistics::judge::{Revisits, burst, steady};

use crate::steady_words::steady_words;

const HEAD: &str = "\
| series (2 % noise unless said) | sustain: MB/s, 95 % interval, window | burst | \
fio `bw_slope:0.3%`, 60 s | fio `bw:10%`, 60 s | SNIA, 5 rounds of 60 s |
|---|---|---|---|---|---|
";

/// A table with a row for each series.
pub(crate) fn markdown() -> String {
    cases()
        .iter()
        .fold(HEAD.to_owned(), |table, case| table + &row(case))
}

fn row(case: &Case) -> String {
    let samples = conventional::samples(&case.steps, 1.0);
    let rounds = conventional::samples(&case.steps, 60.0);
    let mut row = format!("| {} | {} | {} |", case.name, ours(case), burst_words(case));
    for attained in [
        conventional::fio(&samples, FIO_SLOPE),
        conventional::fio(&samples, FIO_DEVIATION),
        conventional::snia(&rounds).map(|found| Attained {
            after: found.after * 60,
            ..found
        }),
    ] {
        let words = attained.map_or("not attained".into(), |found| {
            format!(
                "steady after {} s, {} MB/s",
                found.after,
                mb(found.rate_bytes_per_s)
            )
        });
        let _ = write!(row, " {words} |");
    }
    row + "\n"
}

fn ours(case: &Case) -> String {
    let verdict = steady::judge(
        &case.steps,
        Revisits {
            lap_bytes: case.lap_bytes,
        },
    );
    if !verdict.reached {
        return format!("not reached: {}", steady_words(&verdict.reason));
    }
    let [low, high] = verdict.ci95_bytes_per_s.map(mb);
    format!(
        "**{}** [{low}, {high}], from {:.0} s",
        mb(verdict.rate_bytes_per_s),
        verdict.from_s
    )
}

fn burst_words(case: &Case) -> String {
    burst::find(&case.steps).map_or("none".into(), |burst| {
        let (bytes, absorbed) = (mb(burst.bytes as f64), mb(burst.absorbed_bytes as f64));
        format!(
            "{bytes} MB at {} MB/s, {absorbed} MB in excess",
            mb(burst.rate_bytes_per_s)
        )
    })
}

fn mb(bytes: f64) -> String {
    let value = bytes / 1e6;
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}
