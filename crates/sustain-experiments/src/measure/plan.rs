//! The request for a measuring run, as the user gave it; nothing here touches a disk.

use std::sync::Arc;
use std::time::Duration;

use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction};
use sustain_disk::units::Size;
use sustain_document::profile::ProfileResult;
use sustain_document::setting::{
    BUFFER, EFFECT, EFFECT_BOTH, LAYOUT, PATH, PROFILE, RECORD_SIZE, UNTIL_STEADY,
};
pub use sustain_load::plan::{At, LoadPlan, SIZE_BYTES_DEFAULT, parse_at};

use crate::effect::EffectPlan;
use crate::error::MeasureError;

/// A profile, and the file that it was read from.
#[derive(Debug, Clone)]
pub struct KnownProfile {
    /// The file's name, for messages.
    pub name: String,
    /// The profile that it holds.
    pub result: Arc<ProfileResult>,
}

/// Everything that can be asked of `measure`.
#[derive(Debug, Clone)]
pub struct MeasurePlan {
    /// The load, and the targets under it.
    pub load: LoadPlan,
    /// What a profile has shown about positions on the targets, for the verdict.
    pub profile: Option<KnownProfile>,
    /// The buffer of the recorder that the answer is for.
    pub buffer_bytes: u64,
    /// Whether to confirm the recommendation by a paced run.
    pub confirm: bool,
    /// Whether and how to watch what the load does to the rest of the system.
    pub effect: Option<EffectPlan>,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

impl MeasurePlan {
    /// Whether a run in this direction writes buffered: completed writes are then in memory, and on
    /// the disk only after the closing flush.
    pub(super) fn writes_buffered(&self, direction: Direction) -> bool {
        self.load.path == DataPath::Buffered && direction == Direction::Write
    }

    /// A plan for half a minute on `targets` with the defaults of the command line.
    pub fn new(targets: impl IntoIterator<Item = impl Into<String>>) -> MeasurePlan {
        MeasurePlan::of(LoadPlan::new(targets))
    }

    /// A plan for this load with the defaults of the command line.
    pub fn of(load: LoadPlan) -> MeasurePlan {
        MeasurePlan {
            load,
            profile: None,
            buffer_bytes: 512 << 20,
            confirm: true,
            effect: None,
            arguments: Vec::new(),
        }
    }

    /// The same plan, with a run of this length.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> MeasurePlan {
        self.load = self.load.with_time(time);
        self
    }

    /// Refuses demands that contradict each other.
    ///
    /// # Errors
    /// [`MeasureError::Usage`], saying which demand it is and what to do.
    pub fn check(&self) -> Result<(), MeasureError> {
        self.load.check()?;
        if self.buffer_bytes < self.load.record_bytes {
            return Err(MeasureError::Usage(format!(
                "a buffer of {} does not hold one record of {}: use a larger {BUFFER}, or a \
                 smaller {RECORD_SIZE}",
                Size(self.buffer_bytes),
                Size(self.load.record_bytes),
            )));
        }
        if self.profile.is_some() && self.load.layout != Layout::Independent {
            return Err(MeasureError::Usage(format!(
                "{} applies to each target by itself and cannot be combined with {}",
                PROFILE.the(),
                LAYOUT.to("stripe or span")
            )));
        }
        if self.profile.is_some() && self.load.until_steady {
            return Err(MeasureError::Usage(format!(
                "{} judges during the run, {} after it: choose one of the two",
                UNTIL_STEADY.the(),
                PROFILE.the()
            )));
        }
        self.check_effect()
    }

    fn check_effect(&self) -> Result<(), MeasureError> {
        let Some(effect) = &self.effect else {
            return Ok(());
        };
        if let Some(simulated) = self.load.simulated_target() {
            return Err(MeasureError::Usage(format!(
                "{simulated} runs in virtual time and has no effect on this machine: use {} on \
                 real targets only",
                EFFECT.the()
            )));
        }
        if effect.both_paths && self.load.path == DataPath::Passthrough {
            return Err(MeasureError::Usage(format!(
                "{} compares direct with buffered I/O: leave out {}, or use {} alone",
                EFFECT_BOTH.the(),
                PATH.to("passthrough"),
                EFFECT.the()
            )));
        }
        Ok(())
    }
}
