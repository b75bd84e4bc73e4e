//! The request for a profile, as the user gave it; nothing here touches a disk.

use sustain_disk::target::Direction;
use sustain_document::setting::BUDGET;
use sustain_load::plan::{LoadPlan, direction_to_open, mixes_simulated_and_real};

use crate::error::MeasureError;

/// A shorter sample says nothing about a disk,
const SAMPLE_NS_MIN: u64 = 100_000_000;
/// and a longer one says no more.
const SAMPLE_NS_MAX: u64 = 1_000_000_000;
/// A curve should have this many samples in all, if there is time for them.
const SAMPLES: u64 = 240;
/// It has no fewer samples than this: eight positions, twice, and the runs before them.
const SAMPLES_MIN: u64 = 20;
/// A sample has this many requests in addition to those that fill the queue.
const REQUESTS_MORE: u64 = 4;

/// Everything that can be asked of `profile`.
#[derive(Debug, Clone)]
pub struct ProfilePlan {
    /// The load, and the targets under it.
    pub load: LoadPlan,
    /// The directions; if empty, the load's, and without one the targets decide.
    pub directions: Vec<Direction>,
    /// How long the whole profile may take, after files are prewritten.
    pub budget_ns: u64,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

impl ProfilePlan {
    /// A plan of two minutes for `targets` with the defaults of the command line.
    pub fn new(targets: impl IntoIterator<Item = impl Into<String>>) -> ProfilePlan {
        ProfilePlan {
            load: LoadPlan::new(targets),
            directions: Vec::new(),
            budget_ns: 120_000_000_000,
            arguments: Vec::new(),
        }
    }

    /// Refuses demands that make no sense, as far as that shows without the targets.
    ///
    /// # Errors
    /// [`MeasureError::Usage`], saying which demand it is and what to do.
    pub fn check(&self) -> Result<(), MeasureError> {
        let usage = |text: &str| Err(MeasureError::Usage(text.to_owned()));
        if mixes_simulated_and_real(&self.load.targets) {
            return usage("simulated and real disks share nothing: profile them separately");
        }
        if self.load.targets.iter().any(|name| name == "null:") {
            return usage("null: has no positions: name a block device, a file or a directory");
        }
        Ok(())
    }

    /// The fewest bytes that a sample transfers on a target.
    pub(super) fn sample_bytes_min(&self) -> u64 {
        (u64::from(self.load.depth) + REQUESTS_MORE).saturating_mul(self.load.record_bytes)
    }

    /// How long a sample takes if this many curves are sampled, or why the budget is too short for
    /// them.
    pub(super) fn sample_ns(&self, curves: usize) -> Result<u64, MeasureError> {
        let curves = curves.max(1) as u64;
        let least_ns = SAMPLES_MIN * curves * SAMPLE_NS_MIN;
        if self.budget_ns < least_ns {
            let budget = BUDGET.of(sustain_disk::units::Duration(self.budget_ns));
            let least = sustain_disk::units::Duration(least_ns);
            return Err(MeasureError::Usage(format!(
                "{budget} is too short: {} at 8 positions: use {least} or more{}",
                match curves {
                    1 => "one curve is measured twice".to_owned(),
                    _ => format!("{curves} curves are each measured twice"),
                },
                if curves == 1 {
                    ""
                } else {
                    ", or fewer targets"
                }
            )));
        }
        let sample_ns = self.budget_ns / (SAMPLES * curves);
        Ok(sample_ns.clamp(SAMPLE_NS_MIN, SAMPLE_NS_MAX))
    }

    /// The plan with which the targets are opened for all directions at once.
    pub(super) fn opened_as(&self) -> LoadPlan {
        LoadPlan {
            direction: direction_to_open(&self.directions).or(self.load.direction),
            ..self.load.in_runs_of(SAMPLE_NS_MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_gets_shorter_with_more_curves_and_a_budget_has_its_least() {
        let plan = |budget_s: u64| ProfilePlan {
            budget_ns: budget_s * 1_000_000_000,
            ..ProfilePlan::new(["."])
        };
        assert_eq!(plan(120).sample_ns(1).unwrap(), 500_000_000);
        assert_eq!(plan(120).sample_ns(5).unwrap(), 100_000_000);
        assert_eq!(plan(36_000).sample_ns(1).unwrap(), 1_000_000_000);
        let why = plan(2).sample_ns(3).unwrap_err().to_string();
        assert!(why.contains("use 6 s or more"), "{why}");
    }

    #[test]
    fn what_has_no_positions_is_refused() {
        let refused = |targets: &[&str]| {
            let plan = ProfilePlan::new(targets.iter().copied());
            plan.check().unwrap_err().to_string()
        };
        assert!(refused(&["null:"]).contains("no positions"));
        assert!(refused(&["sim:a.toml", "/data"]).contains("share nothing"));
    }
}
