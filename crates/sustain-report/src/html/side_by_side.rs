//! Draws several measurements side by side: whether the two differ, a table with a column per run,
//! and their series over each other. Each run has a section of its own below.

use sustain_document::compare::CompareResult;
use sustain_document::measure::{Burst, MeasureResult, Sustained, TargetResult};

use super::compare_section::saved_runs;
use super::table::Table;
use super::{escape, overlay_chart, samples, section, tail_chart};
use crate::format::{half_width, latency, memory, position, rate, size, stretch};
use crate::terminal::{latency_of, sentence};

/// The number of targets that have rows of their own; of further ones only the sum is shown.
const TARGETS_SHOWN: usize = 12;

/// The section above those of the single runs. `labels` are the runs' files.
pub(super) fn side_by_side(
    results: &[MeasureResult],
    labels: &[String],
    comparison: Option<&CompareResult>,
) -> String {
    let names = names(results, labels);
    let mut markup = String::from("<section>\n");
    match comparison {
        Some(found) => {
            markup.push_str(&saved_runs(found));
            markup.push_str("<h2>Side by side</h2>\n");
        }
        None => markup.push_str(&format!(
            "<h1>{} measurements side by side</h1>\n",
            results.len()
        )),
    }
    let said = names.iter().zip(results).map(|(name, result)| {
        format!(
            "<li><b>{}</b>: {}. {}</li>\n",
            escape::text(name),
            escape::text(&section::name(result)),
            escape::text(&sentence(result))
        )
    });
    markup.push_str(&format!("<ul>\n{}</ul>\n", said.collect::<String>()));
    markup.push_str(&common_table(&names, results).markup());
    markup.push_str(&overlay_chart::overlay_chart(&names, results, "overlay".to_owned()).markup());
    let tails = tail_chart::tail_chart(&names, results, "tails".to_owned());
    markup.push_str(&tails.map_or(String::new(), |chart| chart.markup()));
    markup.push_str("</section>\n");
    markup
}

/// The names of the runs on the page: A and B where there are two, else numbers, with the file.
pub(super) fn names(results: &[MeasureResult], labels: &[String]) -> Vec<String> {
    let number = |index: usize| match (results.len(), index) {
        (2, 0) => "A".to_owned(),
        (2, 1) => "B".to_owned(),
        _ => format!("{}.", index + 1),
    };
    let label = |index: usize| {
        labels
            .get(index)
            .cloned()
            .unwrap_or_else(|| section::name(&results[index]))
    };
    (0..results.len())
        .map(|index| format!("{} {}", number(index), label(index)))
        .collect()
}

/// A table with a column per run, and a row only where some run has a figure.
struct Columns<'a> {
    results: &'a [MeasureResult],
    table: Table,
}

impl Columns<'_> {
    fn row(&mut self, name: &str, cell: impl Fn(&MeasureResult) -> String) {
        let cells: Vec<String> = self.results.iter().map(cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let row = [name.to_owned()].into_iter().chain(cells);
            self.table.row(row.collect());
        }
    }

    /// A row for the target in this place.
    fn target_row(&mut self, place: usize, name: &str, cell: impl Fn(&TargetResult) -> String) {
        self.row(name, |run| {
            run.targets.get(place).map_or(String::new(), &cell)
        });
    }
}

fn common_table(names: &[String], results: &[MeasureResult]) -> Table {
    let mut head = vec![""];
    head.extend(names.iter().map(String::as_str));
    let mut columns = Columns {
        results,
        table: Table::new("The runs side by side", &head),
    };
    of_runs(&mut columns);
    let places = results.iter().map(|run| run.targets.len()).max();
    let places = places.unwrap_or(0);
    for place in 0..places.min(TARGETS_SHOWN) {
        of_target(&mut columns, place, places > 1);
    }
    columns.table
}

fn of_runs(columns: &mut Columns<'_>) {
    columns.row("started", |run| {
        run.plan.started.clone().unwrap_or_default()
    });
    columns.row("machine", |run| {
        let host = run.host.description.as_ref();
        host.map_or(String::new(), |host| format!("Linux {}", host.kernel))
    });
    columns.row("engine", |run| run.plan.engine_used.clone());
    columns.row("requests", |run| {
        let plan = &run.plan;
        format!(
            "{} of {}, depth {}, {}, {}",
            plan.direction,
            size(plan.record_size_bytes),
            plan.depth,
            plan.path,
            plan.layout
        )
    });
    columns.row("order of the targets", |run| {
        let order = run.plan.order.as_ref();
        order.map_or(String::new(), |order| order.join(", "))
    });
    columns.row("rate", |run| {
        let total = &run.total;
        rate(
            total
                .all_active_bytes_per_s
                .unwrap_or(total.wall_clock_bytes_per_s),
        )
    });
    columns.row("sustained rate (95 %)", |run| steady(&run.total.sustained));
    columns.row("burst at the start", |run| burst(run.total.burst.as_ref()));
    columns.row("recommended rate", |run| {
        let found = run.recommendation.as_ref();
        found.map_or(String::new(), |found| {
            let buffer = memory(found.buffer_bytes);
            let held = match found.confirmed {
                Some(true) => ", which held",
                Some(false) => ", which did NOT hold",
                None => "",
            };
            format!(
                "{} with a buffer of {buffer}{held}",
                rate(found.rate_bytes_per_s)
            )
        })
    });
    columns.row("worst stall", |run| latency(run.total.worst_stall_ns));
    columns.row("CPU time per GB", |run| {
        let cost = run.total.cpu_seconds_per_gb;
        cost.map_or(String::new(), |cost| format!("{cost:.3} s"))
    });
    columns.row("highest temperature", hottest);
    columns.row("data moved", |run| {
        format!(
            "{} in {}",
            position(run.total.bytes),
            stretch(run.total.seconds)
        )
    });
}

/// The rows of a target, which has its name if that is the same in all runs, else its number.
fn of_target(columns: &mut Columns<'_>, place: usize, is_one_of_several: bool) {
    let targets = columns
        .results
        .iter()
        .filter_map(|run| run.targets.get(place));
    let mut names: Vec<&str> = targets.map(|target| target.name.as_str()).collect();
    names.dedup();
    let name = match names.as_slice() {
        [only] => (*only).to_owned(),
        _ => format!("target {}", place + 1),
    };
    let mut of = |what: &str, cell: fn(&TargetResult) -> String| {
        columns.target_row(place, &format!("{name}: {what}"), cell);
    };
    if is_one_of_several {
        of("rate", |one| rate(one.rate_bytes_per_s));
        of("sustained rate", |one| steady(&one.sustained));
    }
    of("latency p50", |one| latency_of(one, one.latency_ns.p50));
    of("latency p99", |one| latency_of(one, one.latency_ns.p99));
    of("latency p99.9", |one| latency_of(one, one.latency_ns.p99_9));
    of("latency max", |one| latency_of(one, one.latency_ns.max));
    of("errors", |one| match one.errors.len() {
        0 => String::new(),
        some => some.to_string(),
    });
}

fn steady(sustained: &Sustained) -> String {
    if !sustained.reached {
        return "not reached".to_owned();
    }
    let spread = rate(half_width(sustained.ci95_bytes_per_s));
    format!("{} ± {spread}", rate(sustained.rate_bytes_per_s))
}

fn burst(burst: Option<&Burst>) -> String {
    burst.map_or_else(String::new, |burst| {
        format!(
            "{} at {}",
            position(burst.bytes),
            rate(burst.rate_bytes_per_s)
        )
    })
}

fn hottest(run: &MeasureResult) -> String {
    let found = samples::temperatures_max(&run.system.samples);
    let hottest = found.into_iter().map(|(_, celsius)| celsius);
    let most = hottest.fold(f64::NEG_INFINITY, f64::max);
    if most.is_finite() {
        format!("{most:.0} °C")
    } else {
        String::new()
    }
}
