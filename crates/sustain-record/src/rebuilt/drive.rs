//! Opens an engine over members of which some may be missing: those that are there are its targets,
//! and what is asked of the others becomes reads of them.

use std::sync::Arc;

use sustain_disk::clock::Clock;
use sustain_disk::engine::{Engine, Limits, SimulatedTarget, TargetFiles};
use sustain_disk::error::Error;
use sustain_disk::target::Target;

use super::RebuiltMember;
use super::engine::{RebuildingEngine, Route, pieces_max};

/// A member that is to be driven.
pub(crate) struct DrivenMember<'a> {
    /// Its place in the table of members.
    pub(crate) member: usize,
    pub(crate) target: &'a Target,
    pub(crate) simulated: Option<SimulatedTarget>,
    pub(crate) rebuilt: Option<&'a Arc<RebuiltMember>>,
}

/// The targets behind members, some of which may be missing.
pub(crate) struct Driven<'a> {
    targets: Vec<(usize, &'a Target, Option<SimulatedTarget>)>,
    routes: Vec<Route>,
}

impl<'a> Driven<'a> {
    /// Members in the order in which requests will name them.
    pub(crate) fn of(members: &[DrivenMember<'a>]) -> Driven<'a> {
        let mut driven = Driven {
            targets: Vec::new(),
            routes: Vec::new(),
        };
        for member in members.iter().filter(|member| member.rebuilt.is_none()) {
            driven
                .targets
                .push((member.member, member.target, member.simulated));
        }
        let mut present = 0..driven.targets.len();
        for member in members {
            let route = match member.rebuilt {
                Some(rebuilt) => Route::Rebuilt {
                    sources: driven.sources(rebuilt),
                    member: Arc::clone(rebuilt),
                },
                None => Route::There(present.next().unwrap_or(0)),
            };
            driven.routes.push(route);
        }
        driven
    }

    /// The targets of the members from which one is computed.
    fn sources(&mut self, rebuilt: &'a RebuiltMember) -> Vec<usize> {
        let mut sources = Vec::new();
        for source in &rebuilt.sources {
            let known = self
                .targets
                .iter()
                .position(|(member, ..)| *member == source.member);
            sources.push(known.unwrap_or(self.targets.len()));
            if known.is_none() {
                self.targets
                    .push((source.member, &source.target, source.simulated));
            }
        }
        sources
    }

    /// The simulated disks; none if the members are real.
    pub(crate) fn simulated(&self) -> Option<Vec<SimulatedTarget>> {
        let simulated = self.targets.iter().map(|(.., simulated)| *simulated);
        simulated
            .collect::<Option<Vec<_>>>()
            .filter(|all| !all.is_empty())
    }

    /// The files of real members.
    ///
    /// # Errors
    /// If one has none.
    pub(crate) fn files(&self) -> Result<TargetFiles, Error> {
        let files = self.targets.iter().map(|(_, target, _)| {
            let file = target.file.clone();
            file.ok_or_else(|| Error::target(&target.name, "it cannot be read"))
        });
        files.collect()
    }

    /// The limits of the engine over the targets, for one with these limits around it.
    pub(crate) fn limits(&self, limits: Limits) -> Limits {
        let pieces = self.reads_max().map_or(0, pieces_max) as u32;
        let reads = self.reads_max().unwrap_or(0) as u32 * pieces;
        Limits {
            depth: limits.depth + pieces,
            in_flight_max: limits.in_flight_max + reads,
        }
    }

    /// Puts an engine around the one over the targets, if any member is missing.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(crate) fn around(
        self,
        engine: Box<dyn Engine>,
        clock: &Clock,
    ) -> Result<Box<dyn Engine>, Error> {
        match self.reads_max() {
            None => Ok(engine),
            Some(reads_max) => {
                let around = RebuildingEngine::new(engine, self.routes, reads_max, clock.clone())?;
                Ok(Box::new(around))
            }
        }
    }

    /// The most reads of a piece, if any member is missing.
    fn reads_max(&self) -> Option<usize> {
        let reads = self.routes.iter().filter_map(|route| match route {
            Route::There(_) => None,
            Route::Rebuilt { member, .. } => Some(member.reads_max()),
        });
        reads.max()
    }
}
