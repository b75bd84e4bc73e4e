//! The request for a sweep, as the user gave it; nothing here touches a disk.

use sustain_disk::engine::EngineChoice;
use sustain_disk::target::{DataPath, Direction};
use sustain_disk::units::Duration;
use sustain_document::setting::{
    BUDGET, CHUNK, DEPTH, ENGINE, LAYOUT, MD, ORDER, PATH, PLACE, RECORD_SIZE, ROUNDS,
    TIME_PER_POINT,
};
use sustain_load::order::order_of;
use sustain_load::plan::{
    LoadPlan, NO_ENGINES, direction_to_open, is_simulated, mixes_simulated_and_real,
};

use super::axes::{LayoutKind, SweepAxes};
use super::mdadm::{self, Mdadm};
use crate::error::MeasureError;

/// Shorter points say nothing about a disk.
const TIME_PER_POINT_NS_MIN: u64 = 100_000_000;
const ROUNDS_MAX: u32 = 100;
/// More settings than this are a mistake.
const SETTINGS_MAX: usize = 4096;
/// All orders of more targets than these are too many to try.
const ALL_ORDERS_TARGETS_MAX: usize = 5;
/// The orders in which the targets are to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberOrders {
    /// The order in which they are given.
    AsGiven,
    /// Every order.
    All,
    /// These orders, each with the name of every target once, separated by commas.
    Listed(Vec<String>),
}

/// Everything that can be asked of `sweep`.
#[derive(Debug, Clone)]
pub struct SweepPlan {
    /// The targets, what is used of them, and the rest of the load that no axis below has.
    pub load: LoadPlan,
    /// The directions; if empty, the load's, and without one the targets decide.
    pub directions: Vec<Direction>,
    /// How requests are issued.
    pub engines: Vec<EngineChoice>,
    /// Direct, buffered or passthrough I/O.
    pub paths: Vec<DataPath>,
    /// Bytes per request, ascending.
    pub record_sizes_bytes: Vec<u64>,
    /// Requests in flight per target, ascending.
    pub depths: Vec<u32>,
    /// How several targets are used.
    pub layouts: Vec<LayoutKind>,
    /// Chunks of a stripe or an array, ascending.
    pub chunks_bytes: Vec<u64>,
    /// The orders of the targets.
    pub orders: MemberOrders,
    /// Whether the targets are places on one disk, of which each point uses one, instead of all.
    pub are_places: bool,
    /// How long a setting is measured each time.
    pub time_per_point_ns: u64,
    /// How often it is measured.
    pub rounds: u32,
    /// How long the whole sweep may take, after files are prewritten.
    pub budget_ns: Option<u64>,
    /// The program that builds arrays, for [`LayoutKind::MdRaid0`].
    pub mdadm: Mdadm,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

impl SweepPlan {
    /// A plan with the default record sizes and depths for `targets`, and the other defaults of the
    /// command line.
    pub fn new(targets: impl IntoIterator<Item = impl Into<String>>) -> SweepPlan {
        SweepPlan {
            load: LoadPlan::new(targets),
            directions: Vec::new(),
            engines: vec![EngineChoice::Auto],
            paths: vec![DataPath::Direct],
            record_sizes_bytes: (16..=22).map(|power| 1 << power).collect(),
            depths: (0..=5).map(|power| 1 << power).collect(),
            layouts: vec![LayoutKind::Independent],
            chunks_bytes: vec![1 << 20],
            orders: MemberOrders::AsGiven,
            are_places: false,
            time_per_point_ns: 1_000_000_000,
            rounds: 4,
            budget_ns: None,
            mdadm: Mdadm::default(),
            arguments: Vec::new(),
        }
    }

    /// Refuses demands that make no sense, as far as that shows without the targets.
    ///
    /// # Errors
    /// [`MeasureError::Usage`], saying which demand it is and what to do.
    pub fn check(&self) -> Result<(), MeasureError> {
        let usage = |text: String| Err(MeasureError::Usage(text));
        if self.time_per_point_ns < TIME_PER_POINT_NS_MIN {
            return usage(TIME_PER_POINT.must_be("at least 100ms"));
        }
        if self.rounds == 0 || self.rounds > ROUNDS_MAX {
            return usage(ROUNDS.must_be(format_args!("from 1 to {ROUNDS_MAX}")));
        }
        // There must be time for a first run, which does not count, and a point.
        let least_ns = 2 * self.time_per_point_ns;
        if let Some(budget_ns) = self.budget_ns
            && budget_ns < least_ns
        {
            return usage(format!(
                "{} is too short: a first run, which does not count, and one point take {} each. \
                 Use {} or more, or a shorter {TIME_PER_POINT}",
                BUDGET.of(Duration(budget_ns)),
                Duration(self.time_per_point_ns),
                Duration(least_ns)
            ));
        }
        let largest = |values: &[u64]| values.iter().copied().max().unwrap_or(0);
        if largest(&self.record_sizes_bytes) > 1 << 30 {
            return usage(RECORD_SIZE.must_be("from 1 byte to 1GiB"));
        }
        if largest(&self.chunks_bytes) > 1 << 40 {
            return usage(CHUNK.must_be("from one block to 1TiB"));
        }
        if self.depths.iter().any(|depth| *depth > 4096) {
            return usage(DEPTH.must_be("from 1 to 4096"));
        }
        if mixes_simulated_and_real(&self.load.targets) {
            return usage(
                "simulated and real disks have no setting in common: sweep them separately"
                    .to_owned(),
            );
        }
        let is_simulated = self.load.targets.iter().any(|name| is_simulated(name));
        if is_simulated && self.engines != [EngineChoice::Auto] {
            return usage(format!("{NO_ENGINES}: leave out {}", ENGINE.the()));
        }
        let is_independent =
            self.layouts == [LayoutKind::Independent] && self.orders == MemberOrders::AsGiven;
        if self.are_places && !is_independent {
            return usage(format!(
                "each point uses one of the places ({PLACE}), and not several together: leave out \
                 {}, {} and {}",
                LAYOUT.the(),
                MD.the(),
                ORDER.the()
            ));
        }
        if self.are_places && self.load.targets.len() < 2 {
            return usage(format!(
                "one place cannot be compared: give {} once for each",
                PLACE.the()
            ));
        }
        if self.has_arrays() {
            mdadm::check_chunks(&self.chunks_bytes)?;
            // The members of an array are released while it exists, and passthrough bypasses that
            // claim.
            if self.paths.contains(&DataPath::Passthrough) {
                return usage(format!(
                    "an array ({MD}) takes no commands past the block layer: leave out {}, or {}",
                    PATH.to("passthrough"),
                    MD.the()
                ));
            }
        }
        Ok(())
    }

    /// Whether arrays are among the layouts.
    fn has_arrays(&self) -> bool {
        self.layouts.contains(&LayoutKind::MdRaid0)
    }

    /// Whether arrays are built: for simulated disks there is nothing to build.
    pub(super) fn builds_arrays(&self) -> bool {
        self.has_arrays() && !self.load.targets.iter().any(|name| is_simulated(name))
    }

    /// The plan with which the targets are opened for all settings at once.
    pub(super) fn opened_as(&self) -> LoadPlan {
        // Files opened for buffered I/O can be switched to direct and back; passthrough uses
        // neither.
        let is_direct =
            self.paths.contains(&DataPath::Direct) || !self.paths.contains(&DataPath::Buffered);
        let record_bytes = self.record_sizes_bytes.iter().copied().min().unwrap_or(1);
        let depth = self.depths.iter().copied().min().unwrap_or(1);
        let path = if is_direct {
            DataPath::Direct
        } else {
            DataPath::Buffered
        };
        let asked = direction_to_open(&self.directions).or(self.load.direction);
        // A superblock is written even if the array is only read.
        let of_array = self.builds_arrays().then_some(Direction::Write);
        LoadPlan {
            direction: of_array.or(asked),
            ..self
                .load
                .in_runs_from(self.time_per_point_ns, record_bytes, depth, path)
        }
    }

    /// The axes for targets of these names.
    ///
    /// # Errors
    /// [`MeasureError::Usage`] for an order that does not name these targets, and for too many
    /// settings.
    pub(super) fn axes(
        &self,
        names: &[String],
        direction: Direction,
    ) -> Result<SweepAxes, MeasureError> {
        let axes = SweepAxes {
            directions: if !self.directions.is_empty() {
                self.directions.clone()
            } else if self.builds_arrays() {
                // The members of an array are devices, which are read unless writing is asked for.
                vec![self.load.direction.unwrap_or(Direction::Read)]
            } else {
                vec![direction]
            },
            engines: self.engines.clone(),
            paths: self.paths.clone(),
            layouts: self.layouts.clone(),
            chunks_bytes: self.chunks_bytes.clone(),
            orders: self.resolve_orders(names)?,
            record_sizes_bytes: self.record_sizes_bytes.clone(),
            depths: self.depths.clone(),
        };
        let places = if self.are_places {
            self.load.targets.len()
        } else {
            1
        };
        let count = axes.count().saturating_mul(places);
        if count > SETTINGS_MAX {
            return Err(MeasureError::Usage(format!(
                "these are {count} settings, and more than {SETTINGS_MAX} are too many: use fewer \
                 values on some axis"
            )));
        }
        Ok(axes)
    }

    fn resolve_orders(&self, names: &[String]) -> Result<Vec<Vec<usize>>, MeasureError> {
        let given: Vec<usize> = (0..names.len()).collect();
        match &self.orders {
            MemberOrders::AsGiven => Ok(vec![given]),
            MemberOrders::All if names.len() > ALL_ORDERS_TARGETS_MAX => {
                Err(MeasureError::Usage(format!(
                    "{} is for up to {ALL_ORDERS_TARGETS_MAX} targets, and there are {}: list the \
                     orders to try, {}",
                    ORDER.to("all"),
                    names.len(),
                    ORDER.to(names.join(","))
                )))
            }
            MemberOrders::All => Ok(permutations(&given)),
            MemberOrders::Listed(listed) => {
                let mut orders = Vec::new();
                for typed in listed {
                    let order = order_of(typed, names).map_err(MeasureError::Usage)?;
                    if !orders.contains(&order) {
                        orders.push(order);
                    }
                }
                Ok(orders)
            }
        }
    }
}

/// All orders, with the given one first.
fn permutations(targets: &[usize]) -> Vec<Vec<usize>> {
    if targets.len() < 2 {
        return vec![targets.to_vec()];
    }
    let mut all = Vec::new();
    for (index, first) in targets.iter().enumerate() {
        let mut others = targets.to_vec();
        others.remove(index);
        for mut rest in permutations(&others) {
            rest.insert(0, *first);
            all.push(rest);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(typed: MemberOrders, names: &[&str]) -> Result<Vec<Vec<usize>>, String> {
        let plan = SweepPlan {
            orders: typed,
            ..SweepPlan::new([""; 0])
        };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        plan.resolve_orders(&names)
            .map_err(|error| error.to_string())
    }

    fn listed(typed: &[&str], names: &[&str]) -> Result<Vec<Vec<usize>>, String> {
        let typed = typed.iter().map(|order| (*order).to_owned()).collect();
        orders(MemberOrders::Listed(typed), names)
    }

    #[test]
    fn all_orders_are_all_and_the_given_one_comes_first() {
        let all = orders(MemberOrders::All, &["a", "b", "c"]).unwrap();
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], [0, 1, 2]);
        let each: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(each.len(), 6);
        let many = ["a", "b", "c", "d", "e", "f"];
        assert!(
            orders(MemberOrders::All, &many)
                .unwrap_err()
                .contains("up to 5")
        );
    }

    #[test]
    fn an_order_names_every_target_once() {
        let names = ["a", "b", "c"];
        let found = listed(&["c,a,b", "c, a, b"], &names).unwrap();
        assert_eq!(found, [[2, 0, 1]]);
        let why = |typed| listed(&[typed], &names).unwrap_err();
        assert!(why("a,b").contains("leaves out c"));
        assert!(why("a,b,b,c").contains("has b twice"));
        assert!(why("a,b,x").contains("no target \"x\""));
        assert!(why("").contains("no target"));
    }

    #[test]
    fn simulated_machines_have_no_engines_and_arrays_no_commands() {
        let why = |plan: SweepPlan| plan.check().err().map(|error| error.to_string());
        let simulated = || SweepPlan::new(["sim:machine.toml"]);
        assert_eq!(why(simulated()), None);
        for engines in [
            vec![EngineChoice::PosixAio],
            vec![EngineChoice::Auto, EngineChoice::IoUring],
        ] {
            let why = why(SweepPlan {
                engines,
                ..simulated()
            });
            assert!(why.unwrap().contains("leave out the engine"));
        }
        let array = |paths| SweepPlan {
            layouts: vec![LayoutKind::Independent, LayoutKind::MdRaid0],
            paths,
            ..SweepPlan::new(["/dev/nvme0n1", "/dev/nvme1n1"])
        };
        assert_eq!(why(array(vec![DataPath::Direct])), None);
        let why = why(array(vec![DataPath::Direct, DataPath::Passthrough])).unwrap();
        assert!(why.contains("leave out the I/O path passthrough"), "{why}");
    }

    #[test]
    fn a_budget_has_room_for_a_point_at_least() {
        let plan = |budget_ns| SweepPlan {
            budget_ns: Some(budget_ns),
            ..SweepPlan::new(["."])
        };
        assert!(plan(2_000_000_000).check().is_ok());
        let why = plan(1_000_000_000).check().unwrap_err().to_string();
        assert!(why.contains("one point take 1 s each"), "{why}");
    }
}
