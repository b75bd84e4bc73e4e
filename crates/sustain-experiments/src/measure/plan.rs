//! The request for a measuring run, as the user gave it; nothing here touches a disk.

use std::sync::Arc;
use std::time::Duration;

use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction, TargetKind};
use sustain_disk::units::Size;
use sustain_document::profile::ProfileResult;
use sustain_document::setting::{
    AT, BUFFER, BYTES, EFFECT, EFFECT_BOTH, LAYOUT, PATH, PROFILE, RATE, READ_BACK, RECORD_SIZE,
    UNTIL_STEADY, WRITE,
};
pub use sustain_load::plan::{At, LoadPlan, SIZE_BYTES_DEFAULT, parse_at};
use sustain_load::session::Session;

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
    /// Whether to measure as well what the targets give while what was written is read back.
    pub read_back: bool,
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
            read_back: false,
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
                LAYOUT.to("turns, stripe or span")
            )));
        }
        if self.profile.is_some() && self.load.until_steady {
            return Err(MeasureError::Usage(format!(
                "{} judges during the run, {} after it: choose one of the two",
                UNTIL_STEADY.the(),
                PROFILE.the()
            )));
        }
        self.check_read_back()?;
        self.check_effect()
    }

    fn check_read_back(&self) -> Result<(), MeasureError> {
        if !self.read_back {
            return Ok(());
        }
        let usage = |why: String| Err(MeasureError::Usage(why));
        if self.load.path == DataPath::Buffered {
            return usage(format!(
                "{} would read from memory what was just written through the page cache: leave out \
                 {}",
                READ_BACK.the(),
                PATH.to("buffered")
            ));
        }
        if self.load.rate_bytes_per_s.is_some() {
            return usage(format!(
                "{} looks for the rate that holds, so none can be given: leave out {}",
                READ_BACK.the(),
                RATE.the()
            ));
        }
        if self.load.at.is_some() && self.load.bytes.is_some() {
            return usage(format!(
                "{} goes on behind the bytes of the run, which {} and {} leave alone: use only one \
                 of these two",
                READ_BACK.the(),
                AT.the(),
                BYTES.the()
            ));
        }
        if self.profile.is_some() {
            return usage(format!(
                "{} goes over other positions than the run, for which {} would not be right: leave \
                 out one of the two",
                READ_BACK.the(),
                PROFILE.the()
            ));
        }
        if self.effect.is_some() {
            return usage(format!(
                "{} and {} each put a load of their own beside the run: use one of the two",
                READ_BACK.the(),
                EFFECT.the()
            ));
        }
        Ok(())
    }

    /// Refuses what can be seen only once the targets are known.
    ///
    /// # Errors
    /// [`MeasureError::Usage`] if nothing is written, or nothing of it can be read.
    pub(super) fn check_with(&self, session: &Session) -> Result<(), MeasureError> {
        if !self.read_back {
            return Ok(());
        }
        if session.direction == Direction::Read {
            return Err(MeasureError::Usage(format!(
                "{} reads what the run has written, and this run only reads: use {}",
                READ_BACK.the(),
                WRITE.the()
            )));
        }
        let mut targets = session.targets.iter();
        if targets.any(|target| target.target.kind == TargetKind::Null) {
            return Err(MeasureError::Usage(format!(
                "there is nothing to read in null:, which {} would do: name disks, files or \
                 directories",
                READ_BACK.the()
            )));
        }
        Ok(())
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
