//! Runs the machines of `machines/` as their sources were measured, and holds docs/published.md to
//! what comes out: published beside simulated, within 3 %, or with the reason why not.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod beowulf;
mod rows;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rows::{Kind, Row, Section, Setup, Shows};
use sustain_disk::meter::IntervalRule;
use sustain_document::measure::MeasureResult;
use sustain_experiments::measure::plan::{LoadPlan, MeasurePlan};
use sustain_experiments::measure::run::measure;
use sustain_host::Roots;
use sustain_load::Stop;

/// Set to write the tables anew instead of comparing them.
const WRITE: &str = "SUSTAIN_WRITE_PUBLISHED";
/// How near a machine must come to a published figure.
const FRACTION_MAX: f64 = 0.03;
const BEGIN: &str = "<!-- written by the test `published`: begin -->\n";
const END: &str = "<!-- written by the test `published`: end -->";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sections() -> Vec<Section> {
    let mut sections = rows::sections();
    sections.extend(beowulf::sections());
    sections
}

/// What the machine makes of a set-up.
fn simulated(machine: &str, setup: &Setup) -> f64 {
    let file = repository().join("machines").join(machine);
    let target = |disk: &&str| format!("sim:{}:{disk}", file.display());
    let load = LoadPlan {
        direction: Some(setup.direction),
        record_bytes: setup.record_bytes,
        layout: setup.layout,
        depth: setup.depth,
        time_ns: Some(setup.seconds * 1_000_000_000),
        interval: IntervalRule::Bytes(20 << 20),
        prewrite: false,
        ..LoadPlan::new(setup.disks.iter().map(target))
    };
    let plan = MeasurePlan {
        confirm: false,
        ..MeasurePlan::of(load)
    };
    let result = measure(&plan, &Roots::default(), &Stop::default(), &mut |_| {}).unwrap();
    figure(&result, setup.shows)
}

fn figure(result: &MeasureResult, shows: Shows) -> f64 {
    let rate_mb_per_s = result.total.sum_bytes_per_s / 1e6;
    let line = |number: usize| &result.targets[0].intervals[number - 1];
    match shows {
        Shows::Rate => rate_mb_per_s,
        Shows::SecondsPerGigabyte => 1000.0 / rate_mb_per_s,
        Shows::LineRate(number) => line(number).rate_bytes_per_s / 1e6,
        Shows::LineAverage(number) => line(number).average_bytes_per_s / 1e6,
        Shows::LineSeconds(number) => line(number).end_s - line(number).start_s,
    }
}

/// One section as text. A figure that is called explained and is not, or the other way round, goes
/// to `wrong`.
fn section_text(section: &Section, wrong: &mut Vec<String>) -> String {
    let mut text = format!("## {}\n\n{}\n\n| |", section.title, section.text);
    for column in section.columns {
        let _ = write!(
            text,
            " {column}published | simulated | off by | {column}kind |"
        );
    }
    text += " |\n|---|";
    text += &"---:|---:|---:|---|".repeat(section.columns.len());
    text += "---|\n";
    for row in &section.rows {
        text += &row_text(section, row, wrong);
    }
    text + "\n"
}

/// How many figures of each section are of which kind: what was typed in, fitted, foretold.
fn counts(sections: &[Section]) -> String {
    let mut text =
        "| figures of | published | inputs | fitted | predicted, within 3 % | predicted, \
                    off by more | shown by no machine |\n|---|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    let mut sums = [0; 6];
    for section in sections {
        let rows = section.rows.iter();
        let figures = rows.flat_map(|row| row.figures.iter().map(move |figure| (row, figure)));
        let mut counts = [0; 6];
        for (row, figure) in figures {
            let of = match figure.kind {
                Kind::Input | Kind::Derived(..) => 1,
                Kind::Fitted(_) => 2,
                Kind::Predicted if row.explained => 3,
                Kind::Predicted => 4,
                Kind::Unshown => 5,
            };
            counts[0] += 1;
            counts[of] += 1;
        }
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        text += &counts_row(section.title, &counts);
    }
    text + &counts_row("all", &sums) + "\n"
}

fn counts_row(title: &str, counts: &[usize]) -> String {
    let cells: String = counts.iter().map(|count| format!(" {count} |")).collect();
    format!("| {title} |{cells}\n")
}

/// The numbers of a machine's keys, as they stand in its file.
fn keys(machine: &str) -> Vec<String> {
    let file = repository().join("machines").join(machine);
    let text = std::fs::read_to_string(file).unwrap();
    let values = text.lines().filter_map(|line| {
        let (_, value) = line.split_once(" = \"")?;
        let (value, _) = value.split_once('"')?;
        Some(value.trim_end_matches("MB/s").to_owned())
    });
    values.collect()
}

/// Whether a key is this number, rounded to the digits of the key.
fn is_key(keys: &[String], published: &str) -> bool {
    let number: f64 = published.parse().unwrap();
    keys.iter().any(|key| {
        let digits = key.split('.').nth(1).map_or(0, str::len);
        format!("{number:.digits$}") == *key && (digits > 0 || !published.contains('.'))
    })
}

#[test]
fn inputs_are_keys_and_predictions_are_not() {
    for section in sections() {
        let keys = keys(section.machine);
        for row in &section.rows {
            for figure in &row.figures {
                let place = format!("{}, {}: {}", section.title, row.what, figure.published);
                match figure.kind {
                    Kind::Input => assert!(is_key(&keys, figure.published), "{place}"),
                    Kind::Derived(_, key) => {
                        assert!(keys.iter().any(|one| one == key), "{place}: no key {key}");
                    }
                    Kind::Predicted => {
                        let is_exact = keys.iter().any(|one| one == figure.published);
                        assert!(!is_exact, "{place} is a key");
                    }
                    Kind::Fitted(what) => assert!(what.len() > 5, "{place}"),
                    Kind::Unshown => assert!(figure.setup.is_none(), "{place}"),
                }
            }
        }
    }
}

#[test]
fn of_the_cells_of_beowulf_fifteen_are_predictions() {
    let sections = beowulf::sections();
    let figures = |is_so: fn(Kind) -> bool| {
        let rows = sections.iter().flat_map(|section| &section.rows);
        let figures = rows.flat_map(|row| &row.figures);
        figures.filter(|figure| is_so(figure.kind)).count()
    };
    assert_eq!(figures(|kind| kind == Kind::Predicted), 15);
    assert_eq!(
        figures(|kind| matches!(kind, Kind::Input | Kind::Derived(..))),
        33
    );
}

fn row_text(section: &Section, row: &Row, wrong: &mut Vec<String>) -> String {
    let mut text = format!("| {} |", row.what);
    for figure in &row.figures {
        let (published, kind) = (figure.published, figure.kind.words());
        let Some(setup) = &figure.setup else {
            let _ = write!(text, " {published} | – | | |");
            continue;
        };
        let value = simulated(section.machine, setup);
        let number: f64 = published.split(' ').next().unwrap().parse().unwrap();
        let difference = value / number - 1.0;
        let within = difference.abs() <= FRACTION_MAX;
        if within != row.explained {
            let which = if within { "within" } else { "beyond" };
            let title = section.title;
            wrong.push(format!(
                "{title}, {}: {published} published, {value:.3} simulated, {which} 3 %",
                row.what
            ));
        }
        let digits = published.split('.').nth(1).map_or(1, str::len).max(1);
        // Rounded first, so that nothing is minus zero.
        let percent = (difference * 1000.0).round() / 10.0 + 0.0;
        let _ = write!(
            text,
            " {published} | {value:.digits$} | {percent:+.1} % | {kind} |"
        );
    }
    let _ = writeln!(text, " {} |", row.remark);
    text
}

#[test]
fn the_machines_show_what_was_published_and_the_page_says_so() {
    let mut wrong = Vec::new();
    let sections = sections();
    let tables: String = sections
        .iter()
        .map(|section| section_text(section, &mut wrong))
        .collect();
    let tables = counts(&sections) + &tables;
    assert!(
        wrong.is_empty(),
        "not as the rows say:\n{}",
        wrong.join("\n")
    );

    let path = repository().join("docs/published.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page
        .split_once(BEGIN)
        .expect("the page marks where tables begin");
    let (found, after) = rest
        .split_once(END)
        .expect("the page marks where tables end");
    let expected = format!("\n{tables}");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
    } else {
        assert!(
            found == expected,
            "docs/published.md is not what the machines show now: run `{WRITE}=1 cargo test -p \
             sustain-experiments --test published` and look at the difference"
        );
    }
}

#[test]
fn what_is_not_explained_says_why() {
    for section in sections() {
        for row in &section.rows {
            assert_eq!(row.figures.len(), section.columns.len(), "{}", row.what);
            let has_machine = row.figures.iter().all(|figure| figure.setup.is_some());
            assert!(
                (row.explained && has_machine) || row.remark.len() > 20,
                "{}: {}",
                section.title,
                row.what
            );
        }
    }
}

#[test]
fn every_machine_file_stands_on_the_page() {
    let page = std::fs::read_to_string(repository().join("docs/published.md")).unwrap();
    for entry in std::fs::read_dir(repository().join("machines")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(page.contains(&format!("machines/{name}")), "{name}");
    }
}

#[test]
fn each_machine_says_what_is_an_input_what_is_fitted_and_what_is_predicted() {
    let machines = std::fs::read_dir(repository().join("machines")).unwrap();
    let files = machines.map(|file| file.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let top = text.lines().take_while(|line| line.starts_with('#'));
        let top: Vec<&str> = top.collect();
        let top = top.join("\n");
        let places = ["Input: ", "Fitted:", "Predicted: "].map(|word| top.find(word));
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{}: {top}",
            file.display()
        );
    }
}
