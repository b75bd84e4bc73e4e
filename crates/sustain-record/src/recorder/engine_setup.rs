//! The engine of a recorder: opened at its beginning, and once more for the recording that follows
//! one in which a member has kept its requests.

use std::sync::Arc;

use sustain_disk::buffer::{Region, SharedPool};
use sustain_disk::engine::{self, Engine, EngineChoice, Limits, SimulatedEngine, open_passthrough};

use super::options::RecordOptions;
use crate::error::RecordError;
use crate::store::Store;

/// Requests besides appends that a member may have in flight: a flush, and a start or end mark.
const DUTIES: u32 = 2;

/// An engine, and a sentence about why it was chosen.
pub(super) type OpenedEngine = (Box<dyn Engine>, String);

/// Opens an engine over the members of a store.
pub(super) type OpenEngine =
    dyn FnMut(&Store, &EngineSetup) -> Result<OpenedEngine, RecordError> + Send;

/// What an engine of the recorder is opened with.
pub(super) struct EngineSetup {
    choice: EngineChoice,
    /// Requests in flight on one member.
    pub(super) depth: u32,
    /// The memory that requests are made of.
    regions: Vec<Arc<Region>>,
}

impl EngineSetup {
    pub(super) fn new(options: &RecordOptions, pool: &SharedPool) -> EngineSetup {
        EngineSetup {
            choice: options.engine,
            depth: options.depth + DUTIES,
            regions: pool.regions().to_vec(),
        }
    }

    /// Opens the engine that the options ask for.
    pub(super) fn open(&self, store: &Store) -> Result<OpenedEngine, RecordError> {
        let members = store.members.iter();
        let simulated: Vec<_> = members.filter_map(|member| member.simulated).collect();
        if !simulated.is_empty() {
            let machines = store.machines().to_vec();
            let engine = SimulatedEngine::new(machines, simulated, store.clock().clone());
            let why = engine.describe();
            return Ok((Box::new(engine), why));
        }
        let limits = Limits {
            depth: self.depth,
            in_flight_max: self.depth * store.members.len() as u32,
        };
        let members = store.members.iter();
        let disks: Vec<_> = members
            .clone()
            .filter_map(|one| one.passthrough.clone())
            .collect();
        if !disks.is_empty() {
            let opened = open_passthrough(self.choice, &disks, limits, store.clock())?;
            return Ok((opened.engine, opened.why));
        }
        let files = members
            .filter_map(|member| member.target.file.clone())
            .collect();
        let opened = engine::open(self.choice, files, limits, &self.regions, store.clock())?;
        Ok((opened.engine, opened.why))
    }
}
