//! Draws what parity protects over time, and when members failed. The section of a recording calls
//! it.

use sustain_document::record::{RecordResult, SampleResult};

use super::super::chart::{Arrangement, Figure, Key, Panel, Quantity, Scale, TimeUnit};
use super::series::drawn;

const HEIGHT_PX: usize = 200;
const DURABLE: usize = 0;
const PROTECTED: usize = 1;

/// The chart of this recording; none without parity.
pub(super) fn protection_chart(result: &RecordResult, id: String) -> Option<Figure> {
    let samples = drawn(&result.samples, 2);
    if samples.iter().all(|at| at.protected_bytes.is_empty()) {
        return None;
    }
    let across = Scale::time(0.0, result.seconds, TimeUnit::for_run(result.seconds));
    let keys = vec![
        Key::new(DURABLE, "durable"),
        Key::new(PROTECTED, "protected"),
    ];
    let points = |of: fn(&SampleResult) -> u64| -> Vec<(f64, f64)> {
        let points = samples.iter().map(|at| (at.time_s, of(at) as f64));
        std::iter::once((0.0, 0.0)).chain(points).collect()
    };
    let mut all = panel("Durable, and protected", &points(durable), &across);
    all.line(&keys[DURABLE], "durable", "dashed", &points(durable));
    all.line(&keys[PROTECTED], "protected", "thin", &points(protected));
    let mut rest = panel("Durable and not protected", &points(unprotected), &across);
    rest.line(
        &keys[DURABLE],
        "not protected",
        "thin",
        &points(unprotected),
    );
    for (at_s, words) in failures(result) {
        for panel in [&mut all, &mut rest] {
            panel.event_on_top("cross", at_s, &words);
        }
    }
    Some(Figure {
        id,
        heading: "Protection over time".to_owned(),
        caption: "What is protected can be read although as many members are gone as each group \
                  has appends of parity, those that have failed included. What is durable is not \
                  protected until the parity of its group is durable, too. If more members fail \
                  than parity replaces, nothing is protected any more. Red cross: a member had \
                  failed by then."
            .to_owned(),
        keys,
        panels: vec![all, rest],
        arrangement: Arrangement::OverTime,
    })
}

fn panel(title: &str, points: &[(f64, f64)], across: &Scale) -> Panel {
    let most = points
        .iter()
        .fold(1.0, |most: f64, (_, bytes)| most.max(*bytes));
    Panel::new(
        title,
        HEIGHT_PX,
        across,
        Scale::from_zero(Quantity::Data, most),
    )
}

fn durable(sample: &SampleResult) -> u64 {
    sample.durable_bytes.iter().sum()
}

fn protected(sample: &SampleResult) -> u64 {
    sample.protected_bytes.iter().sum()
}

fn unprotected(sample: &SampleResult) -> u64 {
    durable(sample).saturating_sub(protected(sample))
}

/// When a sample had a member first as one that had failed, and the words for it.
fn failures(result: &RecordResult) -> Vec<(f64, String)> {
    let members = result.members.iter().enumerate();
    let failures = members.filter_map(|(index, member)| {
        let mut samples = result.samples.iter();
        let first = samples.find(|at| at.failed_members.contains(&index))?;
        Some((first.time_s, format!("{} failed", member.name)))
    });
    failures.collect()
}
