//! `sustain measure`: runs the plan, shows its progress, writes the documents that were asked for,
//! and prints the answer.

use std::io::{IsTerminal, Write};

use sustain::Stop;
use sustain::document::measure::MeasureResult;
use sustain::document::reader;
use sustain::host::Roots;
use sustain::measure::{Event, measure, rehearse};
use sustain::report::html;
use sustain::report::terminal::{LiveKind, LiveView, dskwtst_line, sentence, summary};

use super::begin::{CommandSetup, begin, rehearsed};
use super::output::{self, Outputs};
use super::say;
use crate::exit::Exit;
use crate::flags::measure::{LogFlag, MeasureFlags};
use crate::request;

pub(crate) fn run(flags: &MeasureFlags) -> anyhow::Result<Exit> {
    let plan = request::plan(flags)?;
    let roots = Roots::default();
    if flags.safety.dry_run {
        return Ok(rehearsed(&rehearse(&plan, &roots)?));
    }
    let outputs = Outputs::from(&flags.output);
    let CommandSetup { stop, live } = begin(&flags.targets, outputs)?;
    let mut face = Face::new(flags, live);
    let result = measure(&plan, &roots, &stop, &mut |event| face.take(event));
    face.finish();
    let result = result?;
    present(flags, outputs, &result)?;
    Ok(exit(&result, &stop))
}

/// The text about a measurement, also for saved ones.
pub(super) fn words(result: &MeasureResult) -> String {
    format!(
        "{}\n{}",
        summary(result, output::width()),
        output::prose(&sentence(result))
    )
}

fn present(
    flags: &MeasureFlags,
    outputs: Outputs<'_>,
    result: &MeasureResult,
) -> anyhow::Result<()> {
    let text = words(result);
    let json = || reader::write(result);
    let page = || html::measure_html(std::slice::from_ref(result));
    if flags.log.is_none() {
        return outputs.deliver(&text, json, page);
    }
    // Standard output belongs to the log.
    let saved = outputs.write_files(json, page);
    say(text.trim_end());
    saved?;
    outputs.say_report();
    Ok(())
}

fn exit(result: &MeasureResult, stop: &Stop) -> Exit {
    let failed = result
        .targets
        .iter()
        .any(|target| !target.errors.is_empty())
        || !result.later_failures.is_empty()
        || result
            .effect
            .iter()
            .flat_map(|effect| &effect.paths)
            .any(|path| path.load.errors > 0);
    // A rate for which the run cannot tell has not been shown to hold.
    let not_held = result.plan.rate_bytes_per_s.is_some() && result.total.rate_held != Some(true);
    // This also holds where the run itself was over and only its confirmation was cut short.
    if stop.reason().is_some() {
        Exit::Interrupted
    } else if failed || not_held {
        Exit::Failed
    } else {
        Exit::Done
    }
}

/// The display that the user sees during a run.
struct Face {
    view: LiveView,
    /// The output for the log of the 1998 disk writing test.
    log: Option<Box<dyn Write + Send>>,
}

impl Face {
    fn new(flags: &MeasureFlags, live: LiveKind) -> Face {
        let log = flags.log.map(|LogFlag::Dskwtst| {
            if Outputs::from(&flags.output).json_on_standard_output() {
                Box::new(std::io::stderr()) as Box<dyn Write + Send>
            } else {
                Box::new(std::io::stdout())
            }
        });
        // A log on the same terminal would tear the redrawn lines.
        let kind = if log.is_some() && std::io::stdout().is_terminal() {
            LiveKind::Silent
        } else {
            live
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
    use sustain::document::vocabulary::Ending;
    use sustain::measure::MeasurePlan;

    use super::*;

    #[test]
    fn an_interrupted_confirmation_is_an_interruption() {
        let place = tempfile::tempdir().unwrap();
        let machine = place.path().join("machine.toml");
        let disk = "[[disk]]\nname = \"a\"\ncapacity = \"1TB\"\nwrite = \"100MB/s\"\n";
        std::fs::write(&machine, disk).unwrap();
        let plan = MeasurePlan::new([format!("sim:{}", machine.display())]);
        let stop = Stop::default();
        let result = measure(&plan, &Roots::default(), &stop, &mut |_| ()).unwrap();
        assert_eq!(result.targets[0].ended, Ending::Time);
        assert_eq!(exit(&result, &stop), Exit::Done);
        // The run was whole when the signal came.
        stop.interrupt();
        assert_eq!(exit(&result, &stop), Exit::Interrupted);
    }
}
