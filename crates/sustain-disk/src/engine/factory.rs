//! Opens an engine: by name, or the best that this system allows. There is no other way to open
//! one.

use std::sync::Arc;

pub use sustain_document::vocabulary::EngineChoice;

use super::{
    Engine, LibaioEngine, Limits, PosixAioEngine, SyncEngine, TargetFiles, ThreadsEngine,
    UringEngine,
};
use crate::buffer::Region;
use crate::clock::Clock;
use crate::error::Error;

/// An engine, and why it was chosen.
pub struct Opened {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Its setup, and for [`EngineChoice::Auto`] the reasons why the better ones were refused.
    pub why: String,
}

/// Opens an engine over `files` in the thread that will use it. A named engine never falls back.
///
/// # Errors
/// [`Error::EngineRefused`], saying what refuses it.
pub fn open(
    choice: EngineChoice,
    files: TargetFiles,
    limits: Limits,
    regions: &[Arc<Region>],
    clock: &Clock,
) -> Result<Opened, Error> {
    let engine: Box<dyn Engine> = match choice {
        EngineChoice::Auto => return open_best(files, limits, regions, clock),
        EngineChoice::IoUring => {
            Box::new(UringEngine::open(files, limits, regions, clock.clone())?)
        }
        EngineChoice::Libaio => Box::new(LibaioEngine::open(files, limits, clock.clone())?),
        EngineChoice::PosixAio => Box::new(PosixAioEngine::open(files, limits, clock.clone())?),
        EngineChoice::Threads => Box::new(ThreadsEngine::open(&files, limits, clock.clone())?),
        EngineChoice::Sync => Box::new(SyncEngine::open(files, clock.clone())),
    };
    let why = engine.describe();
    Ok(Opened { engine, why })
}

fn open_best(
    files: TargetFiles,
    limits: Limits,
    regions: &[Arc<Region>],
    clock: &Clock,
) -> Result<Opened, Error> {
    let mut refusals = Vec::new();
    for choice in [EngineChoice::IoUring, EngineChoice::Libaio] {
        match open(choice, files.clone(), limits, regions, clock) {
            Ok(mut opened) => {
                refusals.insert(0, opened.why);
                opened.why = refusals.join("; ");
                return Ok(opened);
            }
            Err(refusal) => refusals.push(refusal.to_string()),
        }
    }
    let mut opened = open(EngineChoice::Threads, files, limits, regions, clock)?;
    refusals.insert(0, opened.why);
    opened.why = refusals.join("; ");
    Ok(opened)
}
