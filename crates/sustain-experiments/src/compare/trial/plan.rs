//! The request for a trial of two settings, as the user gave it; nothing here touches a disk.

use sustain_disk::data::DataKind;
use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::target::DataPath;
use sustain_disk::units::Duration;
use sustain_document::setting::{ENGINE, TIME, TIME_PER_RUN};
use sustain_load::plan::{LoadPlan, NO_ENGINES, is_simulated, mixes_simulated_and_real};

use crate::error::MeasureError;

/// Shorter runs say nothing about a disk.
const TIME_PER_RUN_NS_MIN: u64 = 100_000_000;
/// Runs of the shortest trial: the first two do not count, then the fewest pairs.
const RUNS_MIN: u64 = 2 + 2 * super::PAIRS_MIN as u64;

/// One of the two settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialSetting {
    /// The setting as typed.
    pub words: String,
    /// Targets of its own; empty if it uses those of the trial. Both settings have as many, on the
    /// same disks.
    pub targets: Vec<String>,
    /// How requests are issued.
    pub engine: EngineChoice,
    /// Number of drivers; `None` lets the trial decide.
    pub threads: Option<u32>,
    /// Direct, buffered or passthrough I/O.
    pub path: DataPath,
    /// How several targets are used.
    pub layout: Layout,
    /// The order in which the layout uses them, as in [`LoadPlan::order`].
    pub order: Option<String>,
    /// Bytes per request.
    pub record_bytes: u64,
    /// Requests in flight per target.
    pub depth: u32,
    /// The data to write.
    pub data: DataKind,
}

impl TrialSetting {
    /// Whether it asks for the same work, however it was typed.
    pub fn is_same(&self, other: &TrialSetting) -> bool {
        let named = |one: &TrialSetting| TrialSetting {
            words: String::new(),
            ..one.clone()
        };
        named(self) == named(other)
    }
}

/// Everything that can be asked of a trial.
#[derive(Debug, Clone)]
pub struct TrialPlan {
    /// The targets, what is used of them, and the rest of the load that no setting has.
    pub load: LoadPlan,
    /// The two settings, A and B.
    pub settings: [TrialSetting; 2],
    /// How long a run is.
    pub time_per_run_ns: u64,
    /// How long the whole trial may take, after files are prewritten.
    pub time_ns: u64,
    /// Differences below this part need no further runs.
    pub alike: f64,
    /// The part by which B may be slower.
    pub fail_if_slower: Option<f64>,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

impl Default for TrialSetting {
    /// The setting that `measure` uses if nothing else is asked for.
    fn default() -> TrialSetting {
        let load = LoadPlan::new([""; 0]);
        TrialSetting {
            words: "defaults".to_owned(),
            targets: Vec::new(),
            engine: load.engine,
            threads: load.threads,
            path: load.path,
            layout: load.layout,
            order: None,
            record_bytes: load.record_bytes,
            depth: load.depth,
            data: load.data,
        }
    }
}

impl TrialPlan {
    /// A plan for a trial of two settings, A and B, on `targets`, or on those that the settings
    /// have of their own, with the defaults of the command line.
    pub fn new(
        targets: impl IntoIterator<Item = impl Into<String>>,
        settings: [TrialSetting; 2],
    ) -> TrialPlan {
        let mut load = LoadPlan::new(targets);
        for name in settings.iter().flat_map(|setting| &setting.targets) {
            if !load.targets.contains(name) {
                load.targets.push(name.clone());
            }
        }
        TrialPlan {
            load,
            settings,
            time_per_run_ns: 3_000_000_000,
            time_ns: 300_000_000_000,
            alike: 0.01,
            fail_if_slower: None,
            arguments: Vec::new(),
        }
    }

    /// Whether the settings have targets of their own.
    pub fn has_own_targets(&self) -> bool {
        let mut settings = self.settings.iter();
        settings.any(|setting| !setting.targets.is_empty())
    }

    /// Refuses targets of their own that cannot be compared, as far as their names tell.
    fn check_own_targets(&self) -> Result<(), MeasureError> {
        let usage = |text: String| Err(MeasureError::Usage(text));
        if !self.has_own_targets() {
            return Ok(());
        }
        let [a, b] = self
            .settings
            .each_ref()
            .map(|setting| setting.targets.as_slice());
        let for_both = |name: &&String| !a.contains(name) && !b.contains(name);
        if let Some(name) = self.load.targets.iter().find(for_both) {
            let own: Vec<&str> = a.iter().chain(b).map(String::as_str).collect();
            return usage(format!(
                "the settings name targets of their own ({}), and {name} is named for both: name \
                 targets in A and in B, or for both after them",
                own.join(", ")
            ));
        }
        for (side, other, own) in [("A", "B", a), ("B", "A", b)] {
            if own.is_empty() {
                return usage(format!(
                    "{other} names targets of its own ({}), and {side} names none: name as many \
                     in {side}, or name them for both after A and B",
                    [a, b].concat().join(", ")
                ));
            }
            let mut places = own.iter().enumerate();
            if let Some((_, twice)) = places.find(|(place, name)| own[..*place].contains(name)) {
                return usage(format!("{side} names {twice} twice: leave one out"));
            }
        }
        if a.len() != b.len() {
            return usage(format!(
                "A names {} and B names {}: name as many targets in both",
                a.join(", "),
                b.join(", ")
            ));
        }
        Ok(())
    }

    /// Refuses demands that make no sense, as far as that shows without the targets.
    ///
    /// # Errors
    /// [`MeasureError::Usage`], saying which demand it is and what to do.
    pub fn check(&self) -> Result<(), MeasureError> {
        let usage = |text: String| Err(MeasureError::Usage(text));
        self.check_own_targets()?;
        if self.time_per_run_ns < TIME_PER_RUN_NS_MIN {
            return usage(TIME_PER_RUN.must_be("at least 100ms"));
        }
        let least_ns = RUNS_MIN * self.time_per_run_ns;
        if self.time_ns < least_ns {
            return usage(format!(
                "{} is too short for {RUNS_MIN} runs of {}, and fewer show nothing: use {} or \
                 more, or a shorter {TIME_PER_RUN}",
                TIME.of(Duration(self.time_ns)),
                Duration(self.time_per_run_ns),
                Duration(least_ns)
            ));
        }
        if mixes_simulated_and_real(&self.load.targets) {
            return usage(
                "simulated and real disks are not measured together: compare them separately"
                    .to_owned(),
            );
        }
        let [a, b] = &self.settings;
        for (side, setting) in [("A", a), ("B", b)] {
            self.as_measured(setting)
                .check()
                .map_err(|error| MeasureError::Usage(format!("{side}: {error}")))?;
        }
        let is_simulated = self.load.targets.iter().any(|name| is_simulated(name));
        let names_engine = |setting: &TrialSetting| setting.engine != EngineChoice::Auto;
        if is_simulated && (names_engine(a) || names_engine(b)) {
            return usage(format!("{NO_ENGINES}: leave out {}", ENGINE.the()));
        }
        if is_simulated && (a.path != b.path || a.threads != b.threads) {
            return usage(
                "a simulated machine has no page cache or threads to choose from: A and B would \
                 be the same there"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// The setting as a plan of `measure`, so that the rules of `measure` check it.
    fn as_measured(&self, setting: &TrialSetting) -> LoadPlan {
        LoadPlan {
            record_bytes: setting.record_bytes,
            depth: setting.depth,
            engine: setting.engine,
            threads: setting.threads,
            path: setting.path,
            layout: setting.layout,
            order: setting.order.clone(),
            targets: if setting.targets.is_empty() {
                self.load.targets.clone()
            } else {
                setting.targets.clone()
            },
            ..self.load.clone()
        }
    }

    /// The plan with which the targets are opened for both settings at once.
    pub(super) fn opened_as(&self) -> LoadPlan {
        let [a, b] = &self.settings;
        let path = if a.path == DataPath::Buffered && b.path == DataPath::Buffered {
            DataPath::Buffered
        } else {
            DataPath::Direct
        };
        self.load.in_runs_from(
            self.time_per_run_ns,
            a.record_bytes.min(b.record_bytes),
            a.depth.min(b.depth),
            path,
        )
    }
}
