//! What a diagnosis is asked to do, as the user said it; nothing here touches a disk.

use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::meter::IntervalRule;
use sustain_disk::target::{DataPath, Direction};

use crate::error::MeasureError;
use crate::plan::{Plan, mixes_simulated_and_real};

/// Shorter runs say nothing of a disk.
const TIME_PER_RUN_NS_MIN: u64 = 100_000_000;

/// Everything that can be asked of `diagnose`.
#[derive(Debug, Clone)]
pub struct DiagnosePlan {
    /// The targets as typed, two or more.
    pub targets: Vec<String>,
    /// Which way; none lets the targets decide.
    pub direction: Option<Direction>,
    /// How long each subset is measured.
    pub time_per_run_ns: u64,
    /// Bytes per request.
    pub record_bytes: u64,
    /// Requests in flight per target.
    pub depth: u32,
    /// How they are issued.
    pub engine: EngineChoice,
    /// Past the page cache or through it.
    pub path: DataPath,
    /// The part of each target that is used.
    pub size_bytes: Option<u64>,
    /// Write files once before the clock starts.
    pub prewrite: bool,
    /// What may be destroyed, as typed.
    pub destroy: Vec<String>,
    /// Whether targets that do not exist are made as files.
    pub new_file: bool,
    /// Seed of data and simulated machines.
    pub seed: u64,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

impl DiagnosePlan {
    /// `targets` for three seconds a subset, everything else as the command line has it by default.
    pub fn new(targets: Vec<String>) -> DiagnosePlan {
        let measuring = Plan::new(targets);
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

    /// Looks for demands that make no sense. How many targets there are shows when they are open:
    /// a simulated machine's name stands for all its disks.
    ///
    /// # Errors
    /// [`MeasureError::Usage`], saying which and what to do.
    pub fn check(&self) -> Result<(), MeasureError> {
        let usage = |text: &str| Err(MeasureError::Usage(text.to_owned()));
        if self.time_per_run_ns < TIME_PER_RUN_NS_MIN {
            return usage("--time-per-run must be at least 100ms");
        }
        if mixes_simulated_and_real(&self.targets) {
            return usage(
                "simulated disks and real ones share no limit: diagnose the ones without the others",
            );
        }
        if self.targets.iter().any(|name| name == "null:") {
            return usage("null: is no disk and hangs nowhere: leave it out");
        }
        if self.path == DataPath::Passthrough {
            return usage(
                "walls are looked for by --path direct or buffered: passthrough is for measure and \
                 sweep",
            );
        }
        Ok(())
    }

    /// What each subset of the targets is measured by.
    pub(super) fn measuring(&self) -> Plan {
        Plan {
            direction: self.direction,
            record_bytes: self.record_bytes,
            depth: self.depth,
            engine: self.engine,
            path: self.path,
            layout: Layout::Independent,
            time_ns: Some(self.time_per_run_ns),
            size_bytes: self.size_bytes,
            // Each record tells when it came: slow disks have few in a run.
            interval: IntervalRule::Bytes(self.record_bytes),
            prewrite: self.prewrite,
            confirm: false,
            destroy: self.destroy.clone(),
            new_file: self.new_file,
            seed: self.seed,
            arguments: self.arguments.clone(),
            ..Plan::new(self.targets.clone())
        }
    }
}
