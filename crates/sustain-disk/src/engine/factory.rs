//! Opens an engine: by name, or the best that this system allows. There is no other way to open
//! one.

use std::sync::Arc;

pub use sustain_document::vocabulary::EngineChoice;

use sustain_document::setting::{ENGINE, PATH};

use super::{
    Engine, LibaioEngine, Limits, NvmeEngine, PosixAioEngine, ScsiEngine, SyncEngine, TargetFiles,
    ThreadsEngine, UringEngine,
};
use crate::buffer::Region;
use crate::clock::Clock;
use crate::error::Error;
use crate::target::Passthrough;

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

/// The engine that passes commands to these disks, if `choice` leaves it to be taken.
///
/// # Errors
/// The reason why there is none: another one was chosen, or the disks are of two kinds.
pub fn passthrough_engine<'a>(
    choice: EngineChoice,
    disks: impl Iterator<Item = &'a Passthrough>,
) -> Result<EngineChoice, String> {
    let mut kinds = disks.map(|disk| match disk {
        Passthrough::Nvme(_) => (EngineChoice::IoUring, "NVMe drives"),
        Passthrough::Scsi(_) => (EngineChoice::Threads, "SATA and SCSI disks"),
    });
    let Some((engine, what)) = kinds.next() else {
        return Err("there is no disk to pass commands to".to_owned());
    };
    if kinds.any(|(other, _)| other != engine) {
        return Err(format!(
            "passthrough sends commands to NVMe drives by io_uring, and to SATA and SCSI disks by \
             threads, so it takes disks of one kind only: name those, or use {}",
            PATH.to("direct")
        ));
    }
    if choice != EngineChoice::Auto && choice != engine {
        return Err(format!(
            "passthrough to {what} works only with {}, not with {}: leave {} out",
            engine.name(),
            choice.name(),
            ENGINE.the()
        ));
    }
    Ok(engine)
}

/// Opens the engine of passthrough over `disks` in the thread that will use it.
///
/// # Errors
/// [`Error::EngineRefused`], saying what refuses it.
pub fn open_passthrough(
    choice: EngineChoice,
    disks: &[Passthrough],
    limits: Limits,
    clock: &Clock,
) -> Result<Opened, Error> {
    let chosen = passthrough_engine(choice, disks.iter());
    let chosen = chosen.map_err(|why| Error::EngineRefused {
        engine: choice.name(),
        why,
    })?;
    let namespaces = disks.iter().filter_map(|disk| match disk {
        Passthrough::Nvme(namespace) => Some(Arc::clone(namespace)),
        Passthrough::Scsi(_) => None,
    });
    let scsi_disks = disks.iter().filter_map(|disk| match disk {
        Passthrough::Scsi(disk) => Some(Arc::clone(disk)),
        Passthrough::Nvme(_) => None,
    });
    let engine: Box<dyn Engine> = if chosen == EngineChoice::IoUring {
        Box::new(NvmeEngine::open(
            namespaces.collect(),
            limits,
            clock.clone(),
        )?)
    } else {
        Box::new(ScsiEngine::open(
            scsi_disks.collect(),
            limits,
            clock.clone(),
        )?)
    };
    let why = engine.describe();
    Ok(Opened { engine, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{ScsiDisk, ScsiFacts};

    #[test]
    fn the_disks_say_which_engine_passes_commands_to_them() {
        let facts = ScsiFacts {
            command_bytes_max: 1 << 19,
            scattered_bytes_max: 1 << 18,
            block_bytes: 512,
            is_cache_volatile: true,
            can_force: false,
        };
        let disk = Passthrough::Scsi(Arc::new(ScsiDisk::over_file(facts, false)));
        let engine = |choice| passthrough_engine(choice, [disk.clone(), disk.clone()].iter());
        assert_eq!(engine(EngineChoice::Auto), Ok(EngineChoice::Threads));
        assert_eq!(engine(EngineChoice::Threads), Ok(EngineChoice::Threads));
        let why = engine(EngineChoice::IoUring).unwrap_err();
        assert!(
            why.contains("only with threads, not with io_uring"),
            "{why}"
        );
        assert!(passthrough_engine(EngineChoice::Auto, [].iter()).is_err());
    }
}
