//! `sustain extract`: reads a stream back, as its bytes or as a file for each frame.

mod around;
mod bytes;
mod destination;
mod durable;
mod frame_names;
mod frames;
mod index;
mod kept_elsewhere;
mod list_frames;
mod losses;
mod overwritten;
mod range;
mod selection;
mod watch;
mod work;

use std::io::{ErrorKind, IsTerminal};
use std::path::Path;

use sustain::Stop;
use sustain::document::extract::{EXTRACT_SCHEMA, ExtractDocument, Lost, LostKind};
use sustain::record::opening::Recording;
use sustain::record::reading::readable::{readable, readable_pin};
use sustain::record::reading::stream::StreamReader;
use sustain::record::reading::verify::Checkable;
use sustain::record::store::{Mode, Store};
use sustain::report::terminal::LiveKind;

use self::destination::Destination;
use self::index::{FrameIndex, IndexedParts};
use self::kept_elsewhere::KeptElsewhere;
pub(super) use self::list_frames::list_frames;
use self::losses::Losses;
use self::selection::Selection;
use self::work::{ExtractedStream, FrameCounts, Work};
use super::output;
use super::progress::{ProgressLine, SEARCH, watched};
use super::{say, stores};
use crate::exit::Exit;
use crate::flags::extract::{ExtractFlags, HolesFlag};
use crate::interrupt;
use crate::usage_error::UsageError;

/// What helps where a ring overwrites what is being read.
const OVERTAKEN: &str = "the ring is being recorded to, and goes on overwriting its oldest data: \
                         begin later (--from-time, --from-frame or --from-byte), write \
                         to a faster place, or end the recording first";

pub(crate) fn run(flags: &ExtractFlags) -> anyhow::Result<Exit> {
    let destination = Destination::of(flags.output.as_deref());
    check_outputs(flags, &destination)?;
    let mut store = stores::open(&flags.members, Mode::Read)?;
    stores::say_recorders(&store);
    let found = stores::recordings(&mut store)?;
    let stop = Stop::default();
    interrupt::watch(&stop, say)?;
    for note in Checkable::of(&store, &found).unseen_notes() {
        say(&format!("note: {note}"));
    }
    let kept = flags
        .pin
        .map(|pin| readable_pin(&mut store, pin))
        .transpose()?;
    let elsewhere = KeptElsewhere::of(flags, &mut store, &found);
    let (store, looked_at) = (&store, Checkable::of(&store, &found));
    let mut recordings = match &kept {
        Some(kept) => kept.recordings.clone(),
        None => {
            let look = |observer: &mut dyn FnMut(u64)| readable(looked_at, &stop, observer);
            watched(SEARCH, look)?
        }
    };
    recordings.retain(Recording::has_streams);
    let chosen = selection::chosen(flags, &recordings);
    chosen.map_err(|error| elsewhere.add_to(error, &recordings))?;
    let around = around::range(flags, store, &recordings, &elsewhere)?;
    let selection = Selection::of(flags, (&recordings, kept.as_ref()), around)?;
    let scope = match &destination {
        Destination::Frames(_) => selection.scope(store),
        Destination::StandardOutput | Destination::File(_) => selection.scope_of_bytes(store),
    };
    destination.check(&selection, flags)?;
    if flags.index.is_some() {
        check_has_frames(&selection)?;
    }
    let elsewhere = elsewhere.notice(&selection);
    let notices = selection.notices().iter().chain(&elsewhere);
    notices.for_each(|notice| say(&format!("note: {notice}")));
    let reader = StreamReader::open(&scope, selection.number, &selection.range)?;
    let mut progress = progress(&destination);
    let mut work = Work {
        stop: &stop,
        progress: &mut progress,
        holes: flags.holes,
    };
    let given = give(flags, reader, &selection, store, &destination, &mut work);
    progress.finish();
    let mut given = match given {
        // The reader of the output has closed it on purpose, and needs no message.
        Err(error) if is_closed_pipe(&error) => return Ok(Exit::Failed),
        other => other?,
    };
    for note in store.restored_notes() {
        say(&format!("note: {note}"));
    }
    if given.complete && selection.reaches_end() {
        tell_unknown_end(&looked_at, &selection, &mut given.losses);
    }
    let document = document(store, &selection, &given);
    let json = || sustain::document::reader::write(&document);
    let saved = flags
        .json
        .as_deref()
        .map_or(Ok(()), |path| output::save(path, &json()?));
    say_outcome(&destination, &selection, &given, flags.holes);
    saved?;
    Ok(exit(&given, &stop, flags.holes))
}

/// Tells why it is not known how far the recording goes, if it is not. That is a loss unless parity
/// replaces the members on which the rest may be.
fn tell_unknown_end(looked_at: &Checkable<'_>, selection: &Selection<'_>, losses: &mut Losses) {
    let recording = selection.recording;
    let Some(why) = looked_at.unknown_end(recording) else {
        return;
    };
    let why = format!("recording {}: {why}", recording.number);
    match looked_at.lacks_only_unprotected_end(recording) {
        true => say(&format!("note: {why}")),
        false => losses.take_unknown_end(selection.stream.offered_bytes, why),
    }
}

/// Writes what is selected, and the index of its frames if the flags ask for one.
fn give(
    flags: &ExtractFlags,
    reader: StreamReader,
    selection: &Selection<'_>,
    store: &Store,
    destination: &Destination,
    work: &mut Work<'_>,
) -> anyhow::Result<ExtractedStream> {
    let mut index = match &flags.index {
        Some(path) => {
            let indexed = Destination::of(Some(path));
            Some(FrameIndex::create(&indexed, selection, store, work)?)
        }
        None => None,
    };
    let given = match (destination, &mut index) {
        (Destination::Frames(directory), index) => {
            frames::give(reader, selection, store, directory, index.as_mut(), work)
        }
        (_, None) => {
            let mut parts = reader.map(|part| part.map_err(Into::into));
            bytes::give(&mut parts, selection, store, destination, work)
        }
        (_, Some(index)) => {
            let mut parts = IndexedParts::new(reader, index);
            let given = bytes::give(&mut parts, selection, store, destination, work);
            given.and_then(|given| parts.finish().map(|()| given))
        }
    };
    match (given, index) {
        (Ok(given), Some(index)) => index.finish().map(|()| given),
        (Err(error), Some(index)) => {
            index.discard_if_empty();
            Err(error)
        }
        (given, None) => given,
    }
}

/// Refuses to make an index of a stream that has no frames.
fn check_has_frames(selection: &Selection<'_>) -> Result<(), UsageError> {
    if selection.has_frames() {
        return Ok(());
    }
    let name = &selection.stream.name;
    Err(UsageError(format!(
        "the stream {name} has no frames, so there is nothing to index: frames are marked while \
         they are recorded, with `sustain record --frames`"
    )))
}

/// Checks where the result and the stream go, before anything is read.
fn check_outputs(flags: &ExtractFlags, destination: &Destination) -> Result<(), UsageError> {
    stores::check_json(flags.json.as_deref(), &flags.members)?;
    let json_on_stdout = flags
        .json
        .as_deref()
        .is_some_and(output::is_standard_output);
    if json_on_stdout && matches!(destination, Destination::StandardOutput) {
        return Err(UsageError(
            "--json - and the stream would both go to standard output: send one of them to a file, \
             with --json FILE or -o FILE"
                .to_owned(),
        ));
    }
    if matches!(destination, Destination::StandardOutput) {
        output::check_standard_output()?;
    }
    if let Some(index) = &flags.index {
        check_index(index, flags, destination)?;
    }
    let Some(path) = &flags.output else {
        return Ok(());
    };
    if flags
        .json
        .as_deref()
        .is_some_and(|json| output::is_same(json, path))
    {
        return Err(UsageError(
            "--json and -o name the same file: use two different files".to_owned(),
        ));
    }
    stores::check_no_member(path, &flags.members)
}

fn check_index(
    index: &Path,
    flags: &ExtractFlags,
    destination: &Destination,
) -> Result<(), UsageError> {
    let is_same = |other: Option<&Path>| other.is_some_and(|other| output::is_same(other, index));
    let on_stdout = output::is_standard_output(index);
    if is_same(flags.json.as_deref())
        || is_same(flags.output.as_deref())
        || on_stdout && matches!(destination, Destination::StandardOutput)
    {
        return Err(UsageError(
            "--index and the stream or --json would go to the same place: use different files"
                .to_owned(),
        ));
    }
    stores::check_no_member(index, &flags.members)?;
    Destination::of(Some(index)).check_index()
}

fn progress(destination: &Destination) -> ProgressLine {
    let on_same_terminal =
        matches!(destination, Destination::StandardOutput) && std::io::stdout().is_terminal();
    let kind = if on_same_terminal {
        LiveKind::Silent
    } else {
        LiveKind::for_stderr(false)
    };
    ProgressLine::of_kind("extracting", kind)
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes
        .into_iter()
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

fn document(store: &Store, selection: &Selection<'_>, given: &ExtractedStream) -> ExtractDocument {
    ExtractDocument {
        schema: EXTRACT_SCHEMA.to_owned(),
        store: store.id.to_string(),
        recording: selection.recording.number,
        pin: selection.recording.pin,
        stream: selection.stream.name.clone(),
        stream_bytes: selection.stream.offered_bytes,
        open_end: selection.recording.open_end,
        from_byte: given.from_byte,
        to_byte: given.to_byte,
        complete: given.complete,
        written_bytes: given.written_bytes,
        written_frames: given.frames.map(|frames| frames.written),
        lost_frames: given.frames.map(|frames| frames.lost),
        overwritten_frames: given.frames.map(|frames| frames.overwritten),
        lost: given.losses.listed().to_vec(),
        lost_unlisted: given.losses.unlisted(),
    }
}

/// How many frames were written, and what became of the others.
fn frames_line(destination: &Destination, frames: &FrameCounts) -> String {
    let words = |count, what| match count {
        0 => String::new(),
        count => format!(", {count} {what}"),
    };
    let directory = match destination {
        Destination::Frames(directory) => format!("{}: ", directory.display()),
        Destination::StandardOutput | Destination::File(_) => String::new(),
    };
    let unit = if frames.written == 1 {
        "frame"
    } else {
        "frames"
    };
    format!(
        "{directory}{} {unit} written{}{}",
        frames.written,
        words(frames.lost, "damaged or missing and left out"),
        words(frames.overwritten, "overwritten by the ring")
    )
}

/// Says to the user how it ended.
fn say_outcome(
    destination: &Destination,
    selection: &Selection<'_>,
    given: &ExtractedStream,
    holes: Option<HolesFlag>,
) {
    let name = &selection.stream.name;
    given.losses.lines(name).iter().for_each(|line| say(line));
    let bytes = given.written_bytes;
    if let Some(frames) = given.frames {
        say(&frames_line(destination, &frames));
        if frames.overwritten > 0 && selection.is_overtaken() {
            say(OVERTAKEN);
        }
    } else if !given.losses.is_empty() && holes.is_none() {
        let readable_bytes = selection.stream.readable_from_bytes;
        let are_all_overwritten = {
            let mut losses = given.losses.listed().iter();
            losses.all(|lost| lost.kind == LostKind::Overwritten)
        };
        if are_all_overwritten && given.from_byte.is_none_or(|from| readable_bytes > from) {
            say(&format!(
                "sustain: the stream can be read from byte {readable_bytes} on: use --from-byte \
                 {readable_bytes}"
            ));
            if selection.is_overtaken() {
                say(OVERTAKEN);
            }
            return;
        }
        let before = match bytes {
            0 => "to have what lies behind that".to_owned(),
            1 => "the byte before these was written, exactly as recorded. To have what lies \
                  behind them as well"
                .to_owned(),
            _ => format!(
                "the {bytes} bytes before these were written, exactly as recorded. To have what \
                 lies behind them as well"
            ),
        };
        say(&format!(
            "sustain: {before}, {}run it again with --holes fill, which writes zeros in the place \
             of such bytes, or --holes skip, which leaves them out",
            match destination {
                // A pipe, or a device that keeps nothing, takes it again.
                Destination::File(path) if path.is_file() => {
                    format!("remove {} and ", path.display())
                }
                _ => String::new(),
            }
        ));
        let is_overwritten = |lost: &Lost| lost.kind == LostKind::Overwritten;
        if selection.is_overtaken() && given.losses.listed().iter().any(is_overwritten) {
            say(OVERTAKEN);
        }
    } else if let Destination::File(path) = destination {
        let interrupted = if given.complete { "" } else { "interrupted: " };
        say(&format!(
            "{interrupted}{bytes} bytes written to {}",
            path.display()
        ));
    }
}

fn exit(given: &ExtractedStream, stop: &Stop, holes: Option<HolesFlag>) -> Exit {
    let lost_frames = given.frames.map_or(0, |frames| frames.lost);
    if stop.reason().is_some() && !given.complete {
        Exit::Interrupted
    } else if holes.is_none() && (!given.losses.is_empty() || lost_frames > 0) {
        Exit::Failed
    } else {
        Exit::Done
    }
}
