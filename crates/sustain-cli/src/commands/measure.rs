//! `sustain measure`: runs the plan, shows it live, writes what was asked for, says the sentence.

use std::io::{IsTerminal, Write};
use std::path::Path;

use sustain::host::Roots;
use sustain::measure::result::MeasureResult;
use sustain::measure::{Event, Plan, Stop, measure, rehearse};
use sustain::report::terminal::{LiveKind, LiveView, dskwtst_line, sentence, summary};
use sustain::report::{html, json};

use super::{say, write_result};
use crate::Exit;
use crate::flags::{LogFlag, MeasureFlags};
use crate::{interrupt, request};

/// Width of tables where no terminal says its own.
const WIDTH_COLUMNS: usize = 100;

pub(crate) fn run(flags: &MeasureFlags) -> anyhow::Result<Exit> {
    let plan = request::plan(flags)?;
    let roots = Roots::default();
    if flags.dry_run {
        rehearse(&plan, &roots)?
            .iter()
            .for_each(|statement| say(statement));
        return Ok(Exit::Done);
    }
    check_writable(flags)?;
    let stop = Stop::default();
    interrupt::watch(&stop)?;
    let mut face = Face::new(flags, &plan);
    let result = measure(&plan, &roots, &stop, &mut |event| face.take(event));
    face.finish();
    let result = result?;
    present(flags, &result)?;
    Ok(exit(&result))
}

/// Hours of measuring must not end at a path that cannot be written.
fn check_writable(flags: &MeasureFlags) -> anyhow::Result<()> {
    for path in [&flags.json, &flags.report].into_iter().flatten() {
        if path == Path::new("-") {
            continue;
        }
        let existed = path.exists();
        let opened = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path);
        if let Err(error) = opened {
            let why = format!(
                "cannot write {}: {error}; choose another file",
                path.display()
            );
            return Err(request::UsageError(why).into());
        }
        if !existed {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn present(flags: &MeasureFlags, result: &MeasureResult) -> anyhow::Result<()> {
    let json_on_stdout = flags.json.as_deref() == Some(Path::new("-"));
    let width = terminal_size::terminal_size()
        .map_or(WIDTH_COLUMNS, |(terminal_size::Width(columns), _)| {
            usize::from(columns)
        });
    let text = format!("{}\n{}\n", summary(result, width), sentence(result));
    if json_on_stdout || flags.log.is_some() {
        say(text.trim_end());
    } else {
        write_result(Path::new("-"), &text)?;
    }
    if let Some(path) = &flags.json {
        write_result(path, &json::write_measure(result)?)?;
    }
    if let Some(path) = &flags.report {
        write_result(path, &html::measure_html(std::slice::from_ref(result))?)?;
        say(&format!("report: {}", path.display()));
    }
    Ok(())
}

fn exit(result: &MeasureResult) -> Exit {
    let failed = result
        .targets
        .iter()
        .any(|target| !target.errors.is_empty());
    if result
        .targets
        .iter()
        .any(|target| target.ended == "interrupted")
    {
        Exit::Interrupted
    } else if failed || result.total.rate_held == Some(false) {
        Exit::Failed
    } else {
        Exit::Done
    }
}

/// What the person sees while it runs.
struct Face {
    view: LiveView,
    log: Option<Log>,
}

/// The log of the 1998 disk writing test.
struct Log {
    writer: Box<dyn Write>,
    several: bool,
}

impl Face {
    fn new(flags: &MeasureFlags, plan: &Plan) -> Face {
        let log = flags.log.map(|LogFlag::Dskwtst| {
            let json_on_stdout = flags.json.as_deref() == Some(Path::new("-"));
            let writer: Box<dyn Write> = if json_on_stdout {
                Box::new(std::io::stderr())
            } else {
                Box::new(std::io::stdout())
            };
            Log {
                writer,
                several: plan.targets.len() > 1,
            }
        });
        // A log on the same terminal would tear the redrawn lines.
        let kind = if log.is_some() && std::io::stdout().is_terminal() {
            LiveKind::Silent
        } else {
            LiveKind::for_stderr()
        };
        Face {
            view: LiveView::new(kind, Box::new(std::io::stderr())),
            log,
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Note(note) => self.view.note(&note),
            Event::Live(live) => self.view.update(&live),
            Event::Interval {
                target,
                interval,
                bytes_so_far,
            } => {
                if let Some(log) = &mut self.log {
                    let name = log.several.then_some(target.as_str());
                    let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
                    let all_seconds = interval.end_ns as f64 / 1e9;
                    let bytes = interval.bytes;
                    let line = dskwtst_line(name, bytes, seconds, bytes_so_far, all_seconds);
                    // A closed pipe must not end a measurement.
                    let _ = writeln!(log.writer, "{line}");
                }
            }
        }
    }

    fn finish(&mut self) {
        self.view.finish();
    }
}
