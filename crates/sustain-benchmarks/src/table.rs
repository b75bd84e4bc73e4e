//! Rows into Markdown, and Markdown into docs/benchmarks.md between markers.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use sustain::disk::clock::unix_seconds;

use crate::pairs::Compared;
use crate::setting::Setting;
use crate::statistics::Median;

/// What one group found.
#[derive(Debug)]
pub(crate) struct Section {
    /// Group, to repeat it.
    pub(crate) name: &'static str,
    /// Headings of a row's `what`, `ours`, `other` and `ratio`.
    pub(crate) columns: [&'static str; 4],
    pub(crate) rows: Vec<Row>,
    /// What a reader must know.
    pub(crate) notes: Vec<String>,
}

/// One comparison.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) ours: String,
    pub(crate) other: String,
    pub(crate) ratio: String,
    pub(crate) goal: String,
    pub(crate) verdict: Verdict,
}

/// Whether a goal is met, as far as the interval tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    Missed,
    /// The goal lies within the interval.
    Open,
    /// There is no goal.
    None,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Missed => "missed",
            Verdict::Open => "open",
            Verdict::None => "",
        }
    }

    pub(crate) fn of(holds: bool) -> Verdict {
        if holds { Verdict::Met } else { Verdict::Missed }
    }
}

/// What a ratio is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(crate) fn judge(self, ratio: Median) -> Verdict {
        let (holds, fails) = match self {
            Goal::AtLeast(bound) => (ratio.low >= bound, ratio.high < bound),
            Goal::AtMost(bound) => (ratio.high <= bound, ratio.low > bound),
        };
        if holds {
            Verdict::Met
        } else if fails {
            Verdict::Missed
        } else {
            Verdict::Open
        }
    }

    pub(crate) fn text(self) -> String {
        match self {
            Goal::AtLeast(bound) => format!(">= {bound:.2}"),
            Goal::AtMost(bound) => format!("<= {bound:.2}"),
        }
    }
}

impl Row {
    /// A comparison whose figures `figure` puts into words.
    pub(crate) fn compared(
        what: String,
        compared: &Compared,
        goal: Goal,
        figure: impl Fn(f64) -> String,
    ) -> Row {
        Row {
            what,
            ours: figure(compared.ours.value),
            other: figure(compared.theirs.value),
            ratio: interval(compared.ratio),
            goal: goal.text(),
            verdict: goal.judge(compared.ratio),
        }
    }

    /// A comparison without a goal.
    pub(crate) fn shown(what: String, compared: &Compared, figure: impl Fn(f64) -> String) -> Row {
        Row {
            goal: String::new(),
            verdict: Verdict::None,
            ..Row::compared(what, compared, Goal::AtLeast(0.0), figure)
        }
    }

    /// Something of ours that stands alone, measured against a bound.
    pub(crate) fn alone(what: &str, ours: String, goal: String, verdict: Verdict) -> Row {
        Row {
            what: what.to_owned(),
            ours,
            other: String::new(),
            ratio: String::new(),
            goal,
            verdict,
        }
    }

    /// For the person who waits.
    pub(crate) fn line(&self) -> String {
        let told = [
            &self.ours,
            &self.other,
            &self.ratio,
            &self.goal,
            self.verdict.word(),
        ];
        let told: Vec<&str> = told.into_iter().filter(|text| !text.is_empty()).collect();
        format!("  {}: {}", self.what, told.join(" | "))
    }
}

/// A ratio with its interval, and the coverage if that is below 95 %.
pub(crate) fn interval(ratio: Median) -> String {
    let mut text = format!("{:.3} [{:.3}, {:.3}]", ratio.value, ratio.low, ratio.high);
    if !ratio.is_sure() {
        // Writing to a String cannot fail.
        let _ = write!(text, " ({:.0} %)", 100.0 * ratio.coverage);
    }
    text
}

/// The section as Markdown.
pub(crate) fn render(section: &Section, setting: &Setting) -> String {
    let [what, ours, other, ratio] = section.columns;
    let mut text = String::new();
    if !section.rows.is_empty() {
        text += &format!("| {what} | {ours} | {other} | {ratio} | goal | |\n");
        text += "|---|---:|---:|---:|---|---|\n";
    }
    for row in &section.rows {
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            row.what,
            row.ours,
            row.other,
            row.ratio,
            row.goal,
            row.verdict.word()
        );
    }
    for note in &section.notes {
        text += &format!("\n{note}\n");
    }
    let now = Timestamp::from_second(unix_seconds()).unwrap_or_default();
    let quick = if setting.quick { " --quick" } else { "" };
    text += &format!(
        "\n{}, version {}: {}. Again: `cargo build --release && cargo run --release -p \
         sustain-benchmarks -- --only {}{quick}`\n",
        now.strftime("%Y-%m-%d %H:%M UTC"),
        env!("CARGO_PKG_VERSION"),
        setting.machine.line(),
        section.name,
    );
    text
}

fn markers(name: &str) -> [String; 2] {
    ["begin", "end"].map(|which| format!("<!-- {which} {name} -->"))
}

/// Hours of measuring must not end at a file that cannot take the tables.
pub(crate) fn check_markers(output: &Path) -> anyhow::Result<()> {
    for group in crate::group::Group::ALL {
        replace_section_in(&read(output)?, group.name(), "")?;
    }
    Ok(())
}

/// Puts the section between its markers.
pub(crate) fn replace_section(output: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let replaced = replace_section_in(&read(output)?, name, text)?;
    std::fs::write(output, replaced).with_context(|| format!("cannot write {}", output.display()))
}

fn read(output: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(output).with_context(|| format!("cannot read {}", output.display()))
}

fn replace_section_in(document: &str, name: &str, text: &str) -> anyhow::Result<String> {
    let [begin, end] = markers(name);
    let missing = || format!("the file has no lines {begin} and {end}: add them where it belongs");
    let (before, rest) = document.split_once(&begin).with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!("{before}{begin}\n{text}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_judged_by_the_whole_interval() {
        let ratio = |low, high| Median {
            value: f64::midpoint(low, high),
            low,
            high,
            coverage: 0.96,
        };
        let goal = Goal::AtLeast(0.95);
        assert_eq!(goal.judge(ratio(0.96, 1.1)), Verdict::Met);
        assert_eq!(goal.judge(ratio(0.9, 1.1)), Verdict::Open);
        assert_eq!(goal.judge(ratio(0.8, 0.9)), Verdict::Missed);
        assert_eq!(Goal::AtMost(1.0).judge(ratio(0.8, 0.9)), Verdict::Met);
        assert_eq!(Goal::AtMost(1.0).judge(ratio(1.1, 1.2)), Verdict::Missed);
    }

    #[test]
    fn a_small_sample_says_how_sure_it_is() {
        assert_eq!(
            interval(Median::of(&[1.0, 2.0, 3.0])),
            "2.000 [1.000, 3.000] (75 %)"
        );
    }

    #[test]
    fn only_what_lies_between_the_markers_is_replaced() {
        let document = "a\n<!-- begin disk -->\nold\n<!-- end disk -->\nb\n";
        let replaced = replace_section_in(document, "disk", "new\n").unwrap();
        assert_eq!(
            replaced,
            "a\n<!-- begin disk -->\nnew\n<!-- end disk -->\nb\n"
        );
        assert_eq!(
            replace_section_in(&replaced, "disk", "new\n").unwrap(),
            replaced
        );
        assert!(replace_section_in(document, "cpu", "").is_err());
    }
}
