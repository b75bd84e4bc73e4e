//! Opens the access to members: over real ones, over disks of simulated machines, and over members
//! of which some are computed from others.

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::Clock;
use sustain_disk::engine::{
    Engine, Limits, SharedMachine, SimulatedEngine, SimulatedTarget, TargetFiles, ThreadsEngine,
};
use sustain_disk::error::Error;
use sustain_disk::target::Target;
use sustain_targets::RecordersBeside;

use super::ahead::{AHEAD_MAX, Ahead};
use super::orders::BUFFER_BYTES;
use super::{IN_FLIGHT_PER_MEMBER, MemberIo, in_flight_max};
use crate::rebuilt::Driven;

impl MemberIo {
    /// Opens an engine over real members.
    ///
    /// # Errors
    /// [`Error::Memory`].
    ///
    /// # Panics
    /// If a target has no file.
    pub fn open(targets: &[&Target]) -> Result<MemberIo, Error> {
        let files: TargetFiles = targets
            .iter()
            .map(|target| target.file.clone().expect("a real target has a file"))
            .collect();
        let engine = engine_over(&files, limits_for(targets.len()));
        let names = targets.iter().map(|target| target.name.clone()).collect();
        MemberIo::over(engine, Clock::Real, names)
    }

    /// Opens an engine over disks of simulated machines.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn open_simulated(
        machines: &[SharedMachine],
        targets: &[SimulatedTarget],
        clock: &Clock,
    ) -> Result<MemberIo, Error> {
        let engine = SimulatedEngine::new(machines.to_vec(), targets.to_vec(), clock.clone());
        let numbers = 1..=targets.len();
        let names = numbers.map(|number| format!("member {number}")).collect();
        MemberIo::over(Box::new(engine), clock.clone(), names)
    }

    /// Opens an engine over members of which some may be computed from others, with these names.
    ///
    /// # Errors
    /// The same as of [`MemberIo::open`]; [`Error::Target`] if one has no file.
    pub(crate) fn open_driven(
        driven: Driven<'_>,
        names: Vec<String>,
        machines: &[SharedMachine],
        clock: &Clock,
    ) -> Result<MemberIo, Error> {
        if let Some(simulated) = driven.simulated() {
            let engine = SimulatedEngine::new(machines.to_vec(), simulated, clock.clone());
            let engine = driven.around(Box::new(engine), clock)?;
            return MemberIo::over(engine, clock.clone(), names);
        }
        let engine = engine_over(&driven.files()?, driven.limits(limits_for(names.len())));
        MemberIo::over(driven.around(engine, &Clock::Real)?, Clock::Real, names)
    }

    /// The same, and requests wait whenever data of recorders on these disks has to.
    pub(crate) fn yielding_to(mut self, recorders: RecordersBeside) -> MemberIo {
        let engine = self.engine.take();
        self.engine = engine.map(|engine| recorders.let_pass(engine, &self.clock));
        self
    }

    /// Makes the access over an engine whose targets have these names.
    pub(crate) fn over(
        engine: Box<dyn Engine>,
        clock: Clock,
        names: Vec<String>,
    ) -> Result<MemberIo, Error> {
        let in_flight_max = in_flight_max(names.len());
        Ok(MemberIo {
            engine: Some(engine),
            clock,
            pool: BufferPool::new(in_flight_max, BUFFER_BYTES)?,
            in_flight_max,
            ahead: Ahead::new()?,
            bytes_read: vec![0; names.len()],
            names,
            patience_ns: None,
            is_broken: false,
            failure: None,
        })
    }
}

fn limits_for(members: usize) -> Limits {
    Limits {
        depth: IN_FLIGHT_PER_MEMBER as u32,
        in_flight_max: (in_flight_max(members) + AHEAD_MAX) as u32,
    }
}

/// Not io_uring, because it keeps the files, with their claims, for a while after it is closed. Not
/// libaio either, because closing it takes 30 to 50 ms (the kernel waits until no CPU looks at it
/// any more), and a recording opens this three times before its first byte.
fn engine_over(files: &TargetFiles, limits: Limits) -> Box<dyn Engine> {
    Box::new(ThreadsEngine::on_demand(files, limits, Clock::Real))
}
