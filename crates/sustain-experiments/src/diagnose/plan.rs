//! The request for a diagnosis, as the user gave it; nothing here touches a disk.

use sustain_disk::target::DataPath;
use sustain_document::setting::{PATH, TIME_PER_RUN};
use sustain_load::plan::{LoadPlan, mixes_simulated_and_real};

use super::combinations::Combinations;
use crate::error::MeasureError;

/// Shorter runs say nothing about a disk.
const TIME_PER_RUN_NS_MIN: u64 = 100_000_000;

/// Everything that can be asked of `diagnose`.
#[derive(Debug, Clone)]
pub struct DiagnosePlan {
    /// The load, and two or more targets under it.
    pub load: LoadPlan,
    /// How long each subset is measured.
    pub time_per_run_ns: u64,
    /// Combinations to measure beside those that the search needs.
    pub combinations: Option<Combinations>,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

impl DiagnosePlan {
    /// A plan for `targets` with three seconds a subset and the defaults of the command line.
    pub fn new(targets: impl IntoIterator<Item = impl Into<String>>) -> DiagnosePlan {
        DiagnosePlan {
            load: LoadPlan::new(targets),
            time_per_run_ns: 3_000_000_000,
            combinations: None,
            arguments: Vec::new(),
        }
    }

    /// Refuses demands that make no sense. The number of targets is known only when they are open,
    /// because the name of a simulated machine stands for all its disks.
    ///
    /// # Errors
    /// [`MeasureError::Usage`], saying which demand it is and what to do.
    pub fn check(&self) -> Result<(), MeasureError> {
        let usage = |text: String| Err(MeasureError::Usage(text));
        if self.time_per_run_ns < TIME_PER_RUN_NS_MIN {
            return usage(TIME_PER_RUN.must_be("at least 100ms"));
        }
        if mixes_simulated_and_real(&self.load.targets) {
            return usage(
                "simulated and real disks share no limit: diagnose them separately".to_owned(),
            );
        }
        if self.load.targets.iter().any(|name| name == "null:") {
            return usage(
                "null: is not a disk and is connected to nothing: leave it out".to_owned(),
            );
        }
        if self.load.path == DataPath::Passthrough {
            return usage(format!(
                "diagnose supports only {}; passthrough is for measure and sweep",
                PATH.to("direct and buffered")
            ));
        }
        Ok(())
    }
}
