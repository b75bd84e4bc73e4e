//! The request for a diagnosis, as the user gave it; nothing here touches a disk.

use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::meter::IntervalRule;
use sustain_disk::target::{DataPath, Direction};
use sustain_load::plan::{LoadPlan, mixes_simulated_and_real};

use crate::error::MeasureError;

/// Shorter runs say nothing about a disk.
const TIME_PER_RUN_NS_MIN: u64 = 100_000_000;

/// Everything that can be asked of `diagnose`.
#[derive(Debug, Clone)]
pub struct DiagnosePlan {
    /// The targets as typed, two or more.
    pub targets: Vec<String>,
    /// The direction; `None` lets the targets decide.
    pub direction: Option<Direction>,
    /// How long each subset is measured.
    pub time_per_run_ns: u64,
    /// Bytes per request.
    pub record_bytes: u64,
    /// Requests in flight per target.
    pub depth: u32,
    /// How they are issued.
    pub engine: EngineChoice,
    /// Direct or buffered I/O.
    pub path: DataPath,
    /// The part of each target that is used.
    pub size_bytes: Option<u64>,
    /// Whether to prewrite files before the clock starts.
    pub prewrite: bool,
    /// Targets that may be destroyed, as typed.
    pub destroy: Vec<String>,
    /// Whether targets that do not exist are made as files.
    pub new_file: bool,
    /// Seed of data and simulated machines.
    pub seed: u64,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

impl DiagnosePlan {
    /// A plan for `targets` with three seconds a subset and the defaults of the command line.
    pub fn new(targets: impl IntoIterator<Item = impl Into<String>>) -> DiagnosePlan {
        let measuring = LoadPlan::new(targets);
        DiagnosePlan {
            targets: measuring.targets,
            direction: None,
            time_per_run_ns: 3_000_000_000,
            record_bytes: measuring.record_bytes,
            depth: measuring.depth,
            engine: measuring.engine,
            path: measuring.path,
            size_bytes: None,
            prewrite: true,
            destroy: Vec::new(),
            new_file: false,
            seed: 0,
            arguments: Vec::new(),
        }
    }

    /// Refuses demands that make no sense. The number of targets is known only when they are open,
    /// because the name of a simulated machine stands for all its disks.
    ///
    /// # Errors
    /// [`MeasureError::Usage`], saying which demand it is and what to do.
    pub fn check(&self) -> Result<(), MeasureError> {
        let usage = |text: &str| Err(MeasureError::Usage(text.to_owned()));
        if self.time_per_run_ns < TIME_PER_RUN_NS_MIN {
            return usage("--time-per-run must be at least 100ms");
        }
        if mixes_simulated_and_real(&self.targets) {
            return usage("simulated and real disks share no limit: diagnose them separately");
        }
        if self.targets.iter().any(|name| name == "null:") {
            return usage("null: is not a disk and is connected to nothing: leave it out");
        }
        if self.path == DataPath::Passthrough {
            return usage(
                "diagnose supports only --path direct and buffered; passthrough is for measure and \
                 sweep",
            );
        }
        Ok(())
    }

    /// The plan by which each subset of the targets is measured.
    pub(super) fn load(&self) -> LoadPlan {
        LoadPlan {
            direction: self.direction,
            record_bytes: self.record_bytes,
            depth: self.depth,
            engine: self.engine,
            path: self.path,
            layout: Layout::Independent,
            time_ns: Some(self.time_per_run_ns),
            size_bytes: self.size_bytes,
            // Each record is reported by itself, because a slow disk has only a few of them in a
            // run.
            interval: IntervalRule::Bytes(self.record_bytes),
            prewrite: self.prewrite,
            destroy: self.destroy.clone(),
            new_file: self.new_file,
            seed: self.seed,
            ..LoadPlan::new(&self.targets)
        }
    }
}
