//! What a reader sees of a measurement that read back what it had written.

// A test may fail by panicking.
#![allow(clippy::unwrap_used)]

use sustain_document::measure::{MeasureResult, ReadBack, ReadBackRate, ReadBackTarget};
use sustain_report::html::measure_html;
use sustain_report::terminal::{sentence, summary};

mod sample;

/// The disk of the sample, of which half the rate is left while it is read back.
fn read_back() -> MeasureResult {
    let result = sample::one_target();
    let sustained = |part: f64| {
        let whole = &result.total.sustained;
        let [low, high] = whole.ci95_bytes_per_s;
        sustain_document::measure::Sustained {
            rate_bytes_per_s: part * whole.rate_bytes_per_s,
            ci95_bytes_per_s: [part * low, part * high],
            ..whole.clone()
        }
    };
    let recommendation = |part: f64| {
        let mut found = result.recommendation.clone()?;
        found.rate_bytes_per_s *= part;
        Some(found)
    };
    let rate = |part: f64| ReadBackRate {
        sustained: sustained(part),
        recommendation: recommendation(part),
    };
    let read_back = ReadBack {
        seconds: 40.0,
        writing: rate(0.5),
        reading_meanwhile: sustained(0.45),
        reading_alone: Some(ReadBackRate {
            recommendation: None,
            ..rate(1.1)
        }),
        targets: vec![ReadBackTarget {
            name: result.targets[0].name.clone(),
            writing_bytes_per_s: 1e9,
            reading_meanwhile_bytes_per_s: 0.9e9,
            reading_alone_bytes_per_s: Some(2.2e9),
        }],
    };
    MeasureResult {
        read_back: Some(read_back),
        ..result
    }
}

/// The lines of a text about rates.
fn of_rates(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .skip_while(|line| !line.contains("with full queues"))
        .take(6)
        .collect()
}

#[test]
fn the_terminal_has_a_table_of_the_rates_and_a_sentence() {
    let result = read_back();
    insta::assert_snapshot!(of_rates(&summary(&result, 100)).join("\n"), @"
                                with full queues       paced, as for a recording or a player
    burst                       none
    writing                     1.75 GB/s ± 17.5 MB/s  1.98 GB/s, held for 10 s, buffer 154 MiB
    writing while reading back  875 MB/s ± 8.75 MB/s   990 MB/s, held for 10 s, buffer 154 MiB
    reading back meanwhile      788 MB/s ± 7.88 MB/s
    reading back alone          1.93 GB/s ± 19.2 MB/s  no rate can be promised
    ");
    let said = sentence(&result);
    let from = said.find("While as many").unwrap_or_default();
    let to = said.find("Reading alone gives").unwrap_or_default();
    insta::assert_snapshot!(said[from..to].trim_end().replace(", ", ",\n"), @"
    A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer,
    of which 154 MiB are needed (confirmed by a paced run of 10 s). While what the run has written is read back,
    with as many requests in flight,
    875 MB/s are written and 788 MB/s are read,
    and a stream can be recorded at 990 MB/s meanwhile (confirmed by a paced run).
    ");
}

#[test]
fn a_narrow_terminal_has_the_rates_line_by_line() {
    let text = summary(&read_back(), 60);
    let lines = text.lines().skip_while(|line| !line.starts_with("burst"));
    insta::assert_snapshot!(lines.take(10).collect::<Vec<_>>().join("\n"), @"
    burst: none
    writing: 1.75 GB/s ± 17.5 MB/s
      paced, as for a recording or a player: 1.98 GB/s, held for
        10 s, buffer 154 MiB
    writing while reading back: 875 MB/s ± 8.75 MB/s
      paced, as for a recording or a player: 990 MB/s, held for
        10 s, buffer 154 MiB
    reading back meanwhile: 788 MB/s ± 7.88 MB/s
    reading back alone: 1.93 GB/s ± 19.2 MB/s
      paced, as for a recording or a player: no rate can be
    ");
}

#[test]
fn the_page_has_the_rates_in_its_head_and_in_a_table() {
    let page = measure_html(&[read_back()]).unwrap();
    for words in [
        "written while as many requests read back",
        "read back alone",
        "<h2>Writing and reading back</h2>",
        "no rate can be promised",
    ] {
        assert!(page.contains(words), "{words}");
    }
}
