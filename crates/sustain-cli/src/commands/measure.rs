//! `sustain measure`: runs the plan, shows it live, writes what was asked for, says the sentence.

use std::io::{IsTerminal, Write};
use std::path::Path;

use sustain::host::Roots;
use sustain::measure::result::MeasureResult;
use sustain::measure::{Event, Stop, measure, rehearse};
use sustain::report::terminal::{LiveKind, LiveView, dskwtst_line, sentence, summary};
use sustain::report::{html, json};

use super::output::{self, Outputs};
use super::say;
use crate::Exit;
use crate::flags::{LogFlag, MeasureFlags};
use crate::{interrupt, request};

pub(crate) fn run(flags: &MeasureFlags) -> anyhow::Result<Exit> {
    let plan = request::plan(flags)?;
    let roots = Roots::default();
    if flags.dry_run {
        rehearse(&plan, &roots)?
            .iter()
            .for_each(|statement| say(statement));
        return Ok(Exit::Done);
    }
    let outputs = Outputs {
        json: flags.json.as_deref(),
        report: flags.report.as_deref(),
    };
    outputs.check(&flags.targets)?;
    let stop = Stop::default();
    interrupt::watch(&stop)?;
    let mut face = Face::new(flags);
    let result = measure(&plan, &roots, &stop, &mut |event| face.take(event));
    face.finish();
    let result = result?;
    present(flags, &result)?;
    Ok(exit(&result, &stop))
}

fn present(flags: &MeasureFlags, result: &MeasureResult) -> anyhow::Result<()> {
    let json_on_stdout = flags
        .json
        .as_deref()
        .is_some_and(output::is_standard_output);
    let width = output::width();
    let text = format!("{}\n{}\n", summary(result, width), sentence(result));
    // The files first: a closed pipe must not cost the result of hours.
    if let Some(path) = &flags.json {
        output::write(path, &json::write_measure(result)?)?;
    }
    if let Some(path) = &flags.report {
        output::write(path, &html::measure_html(std::slice::from_ref(result))?)?;
    }
    if json_on_stdout || flags.log.is_some() {
        say(text.trim_end());
    } else {
        output::write(Path::new("-"), &text)?;
    }
    if let Some(path) = &flags.report {
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
    log: Option<Box<dyn Write + Send>>,
}

impl Face {
    fn new(flags: &MeasureFlags) -> Face {
        let log = flags.log.map(|LogFlag::Dskwtst| {
            let json_on_stdout = flags
                .json
                .as_deref()
                .is_some_and(output::is_standard_output);
            if json_on_stdout {
                Box::new(std::io::stderr()) as Box<dyn Write + Send>
            } else {
                Box::new(std::io::stdout())
            }
        });
        // A log on the same terminal would tear the redrawn lines.
        let kind = if log.is_some() && std::io::stdout().is_terminal() {
            LiveKind::Silent
        } else {
            let simulated = flags
                .targets
                .iter()
                .all(|target| target.starts_with("sim:"));
            LiveKind::for_stderr(simulated)
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
