//! `sustain list --frames`: the index of the frames of a stream, on standard output.

use sustain::Stop;
use sustain::record::opening::Recording;
use sustain::record::reading::readable::readable;
use sustain::record::reading::stream::StreamReader;
use sustain::record::reading::verify::Checkable;
use sustain::record::store::{Mode, Store};

use super::super::progress::{SEARCH, watched};
use super::super::{output, say, stores};
use super::destination::Destination;
use super::index::{self, FrameIndex};
use super::selection::Selection;
use super::work::Work;
use super::{check_has_frames, is_closed_pipe, progress};
use crate::exit::Exit;
use crate::flags::list::ListFlags;
use crate::interrupt;

pub(crate) fn list_frames(flags: &ListFlags) -> anyhow::Result<Exit> {
    output::check_standard_output()?;
    let mut store = stores::open(&flags.members, Mode::Read)?;
    stores::say_recorders(&store);
    let found = stores::recordings(&mut store)?;
    let stop = Stop::default();
    interrupt::watch(&stop, say)?;
    let looked_at = Checkable::of(&store, &found);
    for note in looked_at.unseen_notes() {
        say(&format!("note: {note}"));
    }
    let mut recordings = watched(SEARCH, |observer| readable(looked_at, &stop, observer))?;
    recordings.retain(Recording::has_streams);
    let selection = Selection::all(flags.recording, flags.stream.as_deref(), &recordings)?;
    check_has_frames(&selection)?;
    selection
        .notices()
        .iter()
        .for_each(|notice| say(&format!("note: {notice}")));
    match give(&store, &selection, &stop) {
        Err(error) if is_closed_pipe(&error) => Ok(Exit::Failed),
        Err(error) => Err(error),
        Ok(()) if stop.reason().is_some() => Ok(Exit::Interrupted),
        Ok(()) => Ok(Exit::Done),
    }
}

fn give(store: &Store, selection: &Selection<'_>, stop: &Stop) -> anyhow::Result<()> {
    let destination = Destination::StandardOutput;
    let reader = StreamReader::open(&selection.scope(store), selection.number, &selection.range)?;
    let mut progress = progress(&destination);
    let mut work = Work {
        stop,
        progress: &mut progress,
        holes: None,
    };
    let index = FrameIndex::create(&destination, selection, store, &work)?;
    let given = index::write(reader, index, &mut work);
    progress.finish();
    given
}
