//! `sustain measure`: runs the plan, shows it live, writes what was asked for, says the sentence.

use std::io::{IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use sustain::host::Roots;
use sustain::measure::result::MeasureResult;
use sustain::measure::{Event, Stop, measure, rehearse};
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
    let mut face = Face::new(flags);
    let result = measure(&plan, &roots, &stop, &mut |event| face.take(event));
    face.finish();
    let result = result?;
    present(flags, &result)?;
    Ok(exit(&result, &stop))
}

/// Hours of measuring must not end at a path that cannot be written, nor a result in the place of
/// what was measured.
fn check_writable(flags: &MeasureFlags) -> anyhow::Result<()> {
    if flags.report.as_deref() == Some(Path::new("-")) {
        return Err(usage(
            "--report needs a file to write: --report sustain.html",
        ));
    }
    if flags.json.is_some() && flags.json == flags.report {
        return Err(usage(
            "--json and --report name the same file: give each its own",
        ));
    }
    for path in [&flags.json, &flags.report].into_iter().flatten() {
        if path == Path::new("-") {
            continue;
        }
        let is_target = |target: &String| is_same(Path::new(target), path);
        if path
            .metadata()
            .is_ok_and(|found| found.file_type().is_block_device())
            || flags.targets.iter().any(is_target)
        {
            let path = path.display();
            let why = format!("{path} is a target or a disk: write the result to another file");
            return Err(usage(&why));
        }
        let existed = path.exists();
        let opened = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path);
        if let Err(error) = opened {
            let path = path.display();
            let why = format!("cannot write {path}: {error}; choose another file");
            return Err(usage(&why));
        }
        if !existed {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn usage(why: &str) -> anyhow::Error {
    request::UsageError(why.to_owned()).into()
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
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

fn exit(result: &MeasureResult, stop: &Stop) -> Exit {
    let failed = result
        .targets
        .iter()
        .any(|target| !target.errors.is_empty());
    // Also where the run itself was over and only its confirmation was cut short.
    if stop.reason().is_some() {
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
    /// Where the log of the 1998 disk writing test goes.
    log: Option<Box<dyn Write>>,
}

impl Face {
    fn new(flags: &MeasureFlags) -> Face {
        let log = flags.log.map(|LogFlag::Dskwtst| {
            let json_on_stdout = flags.json.as_deref() == Some(Path::new("-"));
            if json_on_stdout {
                Box::new(std::io::stderr()) as Box<dyn Write>
            } else {
                Box::new(std::io::stdout())
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
                of_targets,
                interval,
                bytes_so_far,
            } => {
                if let Some(writer) = &mut self.log {
                    let name = (of_targets > 1).then_some(target.as_str());
                    let seconds = (interval.end_ns - interval.start_ns) as f64 / 1e9;
                    let all_seconds = interval.end_ns as f64 / 1e9;
                    let bytes = interval.bytes;
                    let line = dskwtst_line(name, bytes, seconds, bytes_so_far, all_seconds);
                    // A closed pipe must not end a measurement.
                    let _ = writeln!(writer, "{line}");
                }
            }
        }
    }

    fn finish(&mut self) {
        self.view.finish();
    }
}

#[cfg(test)]
mod tests {
    use sustain::measure::Plan;

    use super::*;

    #[test]
    fn an_interrupted_confirmation_is_an_interruption() {
        let place = tempfile::tempdir().unwrap();
        let machine = place.path().join("machine.toml");
        let disk = "[[disk]]\nname = \"a\"\ncapacity = \"1TB\"\nwrite = \"100MB/s\"\n";
        std::fs::write(&machine, disk).unwrap();
        let plan = Plan::new(vec![format!("sim:{}", machine.display())]);
        let stop = Stop::default();
        let result = measure(&plan, &Roots::default(), &stop, &mut |_| ()).unwrap();
        assert_eq!(result.targets[0].ended, "time");
        assert_eq!(exit(&result, &stop), Exit::Done);
        // The run was whole when the signal came.
        stop.interrupt();
        assert_eq!(exit(&result, &stop), Exit::Interrupted);
    }
}
