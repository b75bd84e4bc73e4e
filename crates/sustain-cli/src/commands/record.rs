//! `sustain record`: records the sources on the store, shows the state of the recording, and writes
//! the documents that were asked for.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::Ordering;

use sustain::Stop;
use sustain::document::reader;
use sustain::document::record::{RecordResult, RecordingEnd};
use sustain::document::sweep::SweepResult;
use sustain::host::Roots;
use sustain::record::forecast::{Forecast, ForecastMember};
use sustain::record::source::SourceSpec;
use sustain::record::source::framing::Framing;
use sustain::record::store::{Mode, Store};
use sustain::record::{
    AppendSize, Durability, OnFull, RecordEvent, RecordOptions, RecordPlan, RecorderShare,
    SourcePlan, SupervisorCommand, best_append_bytes, record,
};
use sustain::report::html;
use sustain::report::terminal::{LiveKind, RecordView, record_outcome};

use super::output::{self, OutputKind, Outputs};
use super::standard_streams::{self, Given};
use super::status_file::StatusWriter;
use super::{say, stores};
use crate::exit::Exit;
use crate::flags::record::{
    DurableFlag, HoldBackFlag, OnFullFlag, RecordFlags, ShareFlag, SourceSpecArgument,
};
use crate::interrupt;
use crate::request::{arguments, buffer_bytes, data_path, engine, known, known_profile};
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &RecordFlags) -> anyhow::Result<Exit> {
    let plan = plan(flags)?;
    standard_streams::check(Given::Members(&flags.members))?;
    if !flags.degraded {
        check_are_there(&flags.members)?;
    }
    refuse_result_of_dry_run(flags)?;
    check_outputs(flags)?;
    let forecast = forecast(flags)?;
    let stop = Stop::default();
    // A dry run leaves the status of an earlier recording as it is.
    let status_path = flags.status.as_deref().filter(|_| !flags.dry_run);
    let mut status = StatusWriter::open(status_path)?;
    interrupt::watch(&stop, say)?;
    let is_status_asked = interrupt::status_asked()?;
    let view = RecordView::new(LiveKind::for_stderr(false), Box::new(std::io::stderr()));
    let mut view = view.with_forecast(forecast);
    let result = record(&plan, &Roots::default(), &stop, &mut |event| match event {
        RecordEvent::Note(note) => view.note(&note),
        RecordEvent::Preparing(done, all) => view.preparing(done, all),
        RecordEvent::Standing(standing) => {
            view.update(&standing);
            if is_status_asked.swap(false, Ordering::Relaxed) {
                view.print_status();
            }
            if let Some(failure) = status.write(&standing) {
                view.note(&failure);
            }
        }
    });
    view.finish();
    let Some(mut result) = result? else {
        return Ok(Exit::Done);
    };
    let status_failure = status.finish();
    let has_status_failed = status_failure.is_some();
    result.notes.extend(status_failure);
    present(flags, &result)?;
    Ok(if has_status_failed {
        Exit::Failed
    } else {
        exit(&result)
    })
}

/// The forecast from a profile of the members, if one is given.
fn forecast(flags: &RecordFlags) -> Result<Option<Forecast>, UsageError> {
    let Some(known) = known_profile(flags.profile.as_deref())? else {
        return Ok(None);
    };
    // If the store does not exist yet, or is refused later, no sizes are known.
    let store = Store::open(&flags.members, Mode::Read, &Roots::default()).ok();
    let capacity_bytes = |name: &String| {
        let mut members = store.iter().flat_map(|store| &store.members);
        let found = members.find(|member| member.name == *name)?;
        found.target.capacity_bytes
    };
    let members = flags.members.iter().map(|name| ForecastMember {
        name,
        capacity_bytes: capacity_bytes(name),
    });
    let is_same = |one: &str, other: &str| output::is_same(Path::new(one), Path::new(other));
    Forecast::new(&known.result, &members.collect::<Vec<_>>(), &is_same)
        .map(Some)
        .map_err(|why| UsageError(format!("{}: {why}", known.name)))
}

/// The size of appends: as asked for, or as a sweep found it best.
fn append_size(flags: &RecordFlags) -> Result<AppendSize, UsageError> {
    if let Some(bytes) = flags.append_size {
        return Ok(AppendSize::Exactly(bytes));
    }
    let Some((name, sweep)) = known::<SweepResult>(flags.sweep.as_deref())? else {
        return Ok(AppendSize::Usual);
    };
    // A sweep of a directory used a scratch file on the same disk.
    let is_same = |target: &str, member: &str| {
        let (target, member) = (Path::new(target), Path::new(member));
        let directory = member.parent().filter(|one| *one != Path::new(""));
        output::is_same(target, member)
            || output::is_same(target, directory.unwrap_or(Path::new(".")))
    };
    match best_append_bytes(&sweep, &flags.members, &is_same) {
        Ok(bytes) => Ok(AppendSize::Best {
            bytes,
            document: name,
        }),
        Err(why) => Err(UsageError(format!("{name}: {why}"))),
    }
}

/// Refuses a dry run that is to write a result.
fn refuse_result_of_dry_run(flags: &RecordFlags) -> Result<(), UsageError> {
    let result = [
        ("--json", flags.json.is_some()),
        ("--report", flags.report.is_some()),
    ];
    let mut given = result.iter().filter(|(_, is_given)| *is_given);
    match given.next() {
        Some((flag, _)) if flags.dry_run => Err(UsageError(format!(
            "--dry-run records nothing, so there is no result for {flag}: use only one of them"
        ))),
        _ => Ok(()),
    }
}

/// Checks the outputs. Hours of recording must not end at a path that cannot be written, nor with a
/// result in the place of what was recorded, or of a source.
fn check_outputs(flags: &RecordFlags) -> Result<(), UsageError> {
    let outputs = [
        ("--json", flags.json.as_deref(), OutputKind::Json),
        ("--report", flags.report.as_deref(), OutputKind::Page),
        ("--status", flags.status.as_deref(), OutputKind::Json),
    ];
    let mut before: Vec<(&str, &Path)> = Vec::new();
    for (flag, path, kind) in outputs {
        let Some(path) = path else {
            continue;
        };
        if output::is_standard_output(path) {
            check_dash(flag)?;
            continue;
        }
        if let Some((other, _)) = before.iter().find(|(_, one)| output::is_same(one, path)) {
            return Err(same_file(other, flag));
        }
        check_output_file(path, kind, flags)?;
        before.push((flag, path));
    }
    let socket = flags.control.as_deref();
    let is_socket =
        |(_, path): &&(&str, &Path)| socket.is_some_and(|one| output::is_same(one, path));
    match before.iter().find(is_socket) {
        Some((flag, _)) => Err(same_file(flag, "--control")),
        None => Ok(()),
    }
}

/// Checks a flag for which - is given. For a status that is standard error, which is always there.
fn check_dash(flag: &str) -> Result<(), UsageError> {
    match flag {
        "--report" => Err(UsageError(
            "--report needs the name of a file, such as --report sustain.html".to_owned(),
        )),
        "--json" => output::check_standard_output(),
        _ => Ok(()),
    }
}

fn same_file(one: &str, other: &str) -> UsageError {
    UsageError(format!(
        "{one} and {other} name the same file: use two different files"
    ))
}

fn check_output_file(path: &Path, kind: OutputKind, flags: &RecordFlags) -> Result<(), UsageError> {
    stores::check_no_member(path, &flags.members)?;
    if flags.from.iter().any(|from| is_source(from, path)) {
        let path = path.display();
        return Err(UsageError(format!(
            "{path} is a source: write the result to another file"
        )));
    }
    output::check(path, kind)
}

fn is_source(from: &SourceSpecArgument, path: &Path) -> bool {
    matches!(&from.source, SourceSpec::Path(source) if output::is_same(source, path))
}

/// The plan that the flags ask for.
fn plan(flags: &RecordFlags) -> Result<RecordPlan, UsageError> {
    let sources = sources(flags)?;
    let frame_rates = frame_rates(flags, &sources)?;
    Ok(RecordPlan {
        members: flags.members.clone(),
        align_frames: align_frames(flags, &sources)?,
        sources,
        on_full: match flags.on_full {
            OnFullFlag::Block => OnFull::Block,
            OnFullFlag::Drop => OnFull::Drop,
        },
        time_ns: flags.time,
        bytes: flags.bytes,
        options: RecordOptions {
            buffer_bytes: buffer_bytes(flags.buffer),
            append_size: append_size(flags)?,
            depth: flags.depth,
            engine: engine(flags.engine),
            durability: match flags.durable {
                DurableFlag::Each => Durability {
                    each: true,
                    ..Durability::default()
                },
                DurableFlag::Interval(interval_ns) => Durability {
                    interval_ns,
                    ..Durability::default()
                },
            },
            ring: flags.ring,
            parities: flags.parity,
            share: match flags.share {
                ShareFlag::First => RecorderShare::First,
                ShareFlag::Fair => RecorderShare::Fair,
            },
            frame_rates,
            ..RecordOptions::default()
        },
        degraded: flags.degraded,
        path: data_path(flags.path),
        size_bytes: flags.size,
        hold_back: hold_back(flags)?,
        control: flags.control.clone(),
        dry_run: flags.dry_run,
        watches_idle: flags.json.is_some() || flags.report.is_some(),
        arguments: arguments(),
    })
}

/// Who puts the limits of others back if this process is killed: the same program.
fn hold_back(flags: &RecordFlags) -> Result<Option<SupervisorCommand>, UsageError> {
    let Some(HoldBackFlag::Others) = flags.hold_back else {
        return Ok(None);
    };
    if flags.share == ShareFlag::Fair {
        return Err(UsageError(
            "--share fair takes nothing for the recorder, and --hold-back others takes from \
             others: use only one of them"
                .to_owned(),
        ));
    }
    let program = std::env::current_exe().map_err(|error| {
        UsageError(format!(
            "--hold-back others starts this program once more, which cannot be found: {error}"
        ))
    })?;
    Ok(Some(SupervisorCommand {
        program,
        arguments: vec!["put-back-limits".into()],
    }))
}

/// A store is made in a directory that has none, but a directory is not. What looks like a device
/// is refused where it is opened.
fn check_are_there(members: &[String]) -> Result<(), UsageError> {
    let is_gone = |name: &&String| {
        let found = Path::new(name.as_str()).symlink_metadata();
        !name.starts_with("/dev/") && found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    let Some(name) = members.iter().find(is_gone) else {
        return Ok(());
    };
    let if_lost = match members.iter().all(|name| is_gone(&name)) {
        true => "",
        false => {
            "If it was a member of the store of the others and is lost, leave it out: with parity, \
             a recording with --degraded goes to the others, and `sustain repair` puts a new \
             member in its place. "
        }
    };
    Err(UsageError(format!(
        "{name} does not exist. {if_lost}To record into a new store there, make the directory \
         first (mkdir {name}), or use `sustain create`"
    )))
}

/// Puts sources, streams and framings together by their order.
fn sources(flags: &RecordFlags) -> Result<Vec<SourcePlan>, UsageError> {
    let usage = |why: String| Err(UsageError(why));
    let mut from: Vec<(String, SourceSpec)> = flags
        .from
        .iter()
        .map(|source| (source.typed.clone(), source.source.clone()))
        .collect();
    if from.is_empty() {
        from.push(("-".to_owned(), SourceSpec::Standard));
    }
    let mut names = flags.stream.clone();
    if names.is_empty() && from.len() == 1 {
        names.push("main".to_owned());
    }
    if names.len() != from.len() {
        return usage(format!(
            "the number of sources is {}, and that of names for their streams {}: give one \
             --stream NAME for each --from",
            from.len(),
            names.len()
        ));
    }
    let framings = match flags.frames.as_slice() {
        [] => vec![Framing::None; from.len()],
        [one] => vec![*one; from.len()],
        each if each.len() == from.len() => each.to_vec(),
        other => {
            return usage(format!(
                "--frames is given {} times for {}: give it once for all streams, or once for each",
                other.len(),
                streams(from.len())
            ));
        }
    };
    let sources = from.into_iter().zip(names).zip(framings);
    Ok(sources
        .map(|(((typed, source), stream), framing)| SourcePlan {
            typed,
            source,
            stream,
            framing,
        })
        .collect())
}

/// Whether frames are to be aligned, of which there must be some.
fn align_frames(flags: &RecordFlags, sources: &[SourcePlan]) -> Result<bool, UsageError> {
    let has_frames = |source: &SourcePlan| match &source.source {
        SourceSpec::Synthetic(spec) => spec.frame_bytes.is_some(),
        SourceSpec::Standard | SourceSpec::Path(_) => source.framing != Framing::None,
    };
    if flags.align_frames && !sources.iter().any(has_frames) {
        let why = "--align-frames needs frames, and no stream has any: say with --frames how they \
                   are told apart";
        return Err(UsageError(why.to_owned()));
    }
    Ok(flags.align_frames)
}

fn streams(count: usize) -> String {
    match count {
        1 => "1 stream".to_owned(),
        count => format!("{count} streams"),
    }
}

/// The declared frame rate of each stream, in their order.
fn frame_rates(
    flags: &RecordFlags,
    sources: &[SourcePlan],
) -> Result<Vec<Option<f64>>, UsageError> {
    let rates = match flags.frame_rate.as_slice() {
        [] => return Ok(Vec::new()),
        [one] => sources
            .iter()
            .map(|source| (source.framing != Framing::None).then_some(*one))
            .collect(),
        each if each.len() == sources.len() => each.iter().copied().map(Some).collect::<Vec<_>>(),
        other => {
            return Err(UsageError(format!(
                "--frame-rate is given {} times for {}: give it once for all streams that have \
                 frames, or once for each stream",
                other.len(),
                streams(sources.len())
            )));
        }
    };
    let has_none = rates.iter().all(Option::is_none);
    let mut declared = sources.iter().zip(&rates);
    let unframed = declared
        .find(|(source, rate)| has_none || rate.is_some() && source.framing == Framing::None);
    let Some((source, _)) = unframed else {
        return Ok(rates);
    };
    let stream = &source.stream;
    Err(UsageError(match source.source {
        SourceSpec::Synthetic(_) => format!(
            "--frame-rate cannot be checked for the stream {stream}: its test: source makes its \
             frames at the rate that is written in it. Leave --frame-rate out for this stream"
        ),
        _ => format!(
            "--frame-rate needs frames, and the stream {stream} has none: say with --frames how \
             they are told apart"
        ),
    }))
}

fn present(flags: &RecordFlags, result: &RecordResult) -> anyhow::Result<()> {
    let outputs = Outputs {
        json: flags.json.as_deref(),
        report: flags.report.as_deref(),
    };
    let saved = outputs.write_files(
        || reader::write(result),
        || html::record_html(std::slice::from_ref(result)),
    );
    say(&record_outcome(result));
    saved?;
    outputs.say_report();
    Ok(())
}

fn exit(result: &RecordResult) -> Exit {
    let has_lost = result.streams.iter().any(|stream| stream.gap_bytes > 0)
        || result.marks.is_some_and(|marks| marks.gap_bytes > 0);
    let mut before = result.before.iter();
    let was_harmed = before.any(|one| {
        let lost = one.streams.iter().any(|stream| stream.gap_bytes > 0);
        lost || one.marks.is_some_and(|marks| marks.gap_bytes > 0) || !one.errors.is_empty()
    });
    let has_failed = was_harmed || result.members.iter().any(|member| member.error.is_some());
    let is_whole = !matches!(result.ended, RecordingEnd::Full | RecordingEnd::Error);
    if has_lost || has_failed || !is_whole {
        Exit::Failed
    } else {
        Exit::Done
    }
}
