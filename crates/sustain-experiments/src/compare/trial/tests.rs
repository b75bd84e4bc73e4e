//! Trials on simulated machines, whose truth is known: what they answer, after how many runs, and
//! how often wrongly.

use std::sync::Mutex;

use sustain_disk::data::DataKind;
use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::target::DataPath;
use sustain_document::compare::{CompareResult, LimitOutcome, RowVerdict, TrialEnd};
use sustain_host::Roots;
use sustain_targets::Stop;

use super::{TrialPlan, TrialSetting, trial};
use crate::error::MeasureError;
use crate::sweep::SweepEvent;

/// A disk whose requests cost so much that depth 1 loses 4 % of 1 MiB records' rate, and each run
/// of which is off by 1 %.
const MACHINE: &str = "[[disk]]\nname = \"d\"\ncapacity = \"1TB\"\nread = \"100MB/s\"\n\
                       request = \"440us\"\nnoise = \"1%\"\n";

fn setting(depth: u32) -> TrialSetting {
    TrialSetting {
        words: format!("--depth {depth}"),
        targets: Vec::new(),
        engine: EngineChoice::Auto,
        threads: None,
        path: DataPath::Direct,
        layout: Layout::Independent,
        order: None,
        record_bytes: 1 << 20,
        depth,
        data: DataKind::Fresh,
    }
}

struct Machine {
    _directory: tempfile::TempDir,
    target: String,
}

impl Machine {
    fn new(toml: &str) -> Machine {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("machine.toml");
        std::fs::write(&file, toml).unwrap();
        Machine {
            target: format!("sim:{}", file.display()),
            _directory: directory,
        }
    }

    fn plan(&self, depths: [u32; 2], seed: u64) -> TrialPlan {
        let mut plan = TrialPlan {
            time_per_run_ns: 500_000_000,
            time_ns: 20_000_000_000,
            alike: 0.001,
            ..TrialPlan::new([&self.target], depths.map(setting))
        };
        plan.load.seed = seed;
        plan
    }
}

fn ran(plan: &TrialPlan) -> Result<CompareResult, MeasureError> {
    trial(plan, &Roots::default(), &Stop::default(), &mut |_event| {})
}

#[test]
fn equal_settings_are_called_different_in_few_trials() {
    let machine = Machine::new(MACHINE);
    let wrong = (0..200).filter(|seed| {
        let result = ran(&machine.plan([8, 8], *seed)).unwrap();
        let tried = result.trial.unwrap();
        assert!(tried.is_same_setting);
        result.answer.verdict != RowVerdict::NoDifferenceShown
    });
    let wrong = wrong.count();
    assert!(wrong <= 10, "{wrong} of 200");
}

#[test]
fn a_stripe_is_not_taken_to_be_as_fast_as_its_disks_while_its_window_fills() {
    let disk = |name: &str, through: &str| {
        format!(
            "[[disk]]\nname = \"{name}\"\ncapacity = \"9.1GB\"\nread = \"11MB/s\"\n\
             through = [\"{through}\"]\n"
        )
    };
    let disks = [disk("a", "one"), disk("b", "one"), disk("c", "other")].concat();
    let limits = "[limit.one]\nrate = \"17MB/s\"\n[limit.other]\nrate = \"17MB/s\"\n";
    let machine = Machine::new(&format!("{disks}{limits}"));
    let chunk_bytes = 1 << 20;
    let stripe = TrialSetting {
        layout: Layout::Stripe { chunk_bytes },
        ..setting(8)
    };
    let plan = TrialPlan::new([&machine.target], [setting(8), stripe]);
    let result = ran(&plan).unwrap();
    assert_eq!(
        result.answer.verdict,
        RowVerdict::Slower,
        "{:?}",
        result.rows[0]
    );
}

#[test]
fn a_slower_setting_is_found_before_the_time_is_over() {
    let machine = Machine::new(MACHINE);
    let (mut found, mut runs) = (0, 0);
    for seed in 0..20 {
        let result = ran(&machine.plan([8, 1], seed)).unwrap();
        let tried = result.trial.unwrap();
        if result.answer.verdict == RowVerdict::Slower {
            found += 1;
            runs += tried.runs.len();
            assert_eq!(tried.ended, TrialEnd::Shown);
            let [low, high] = result.rows[0].ci95_ratio.unwrap();
            assert!(low < 0.97 && high < 1.0, "{:?}", result.rows[0]);
        }
    }
    assert!(found >= 18, "{found} of 20");
    assert!(runs / found < 30, "{runs} runs in {found} trials");
}

#[test]
fn what_can_differ_by_no_more_than_is_asked_ends_soon_and_alike() {
    let machine = Machine::new(&MACHINE.replace("1%", "0.1%"));
    let plan = TrialPlan {
        alike: 0.01,
        ..machine.plan([8, 16], 3)
    };
    let result = ran(&plan).unwrap();
    let tried = result.trial.as_ref().unwrap();
    assert_eq!((tried.ended, tried.runs.len()), (TrialEnd::Alike, 8));
    // In the order of time: AB BA BA AB.
    let sides: String = tried.runs.iter().map(|run| run.side.name()).collect();
    assert_eq!(sides, "abbabaab");
    assert_eq!(
        ran(&plan).unwrap(),
        result,
        "a trial is repeated by its seed"
    );
}

#[test]
fn a_limit_is_judged_by_the_interval_that_holds_at_all_looks() {
    let machine = Machine::new(&MACHINE.replace("440us", "2ms"));
    let plan = TrialPlan {
        fail_if_slower: Some(0.05),
        ..machine.plan([8, 1], 1)
    };
    assert_eq!(
        ran(&plan).unwrap().limit.unwrap().outcome,
        LimitOutcome::Slower
    );
    let turned = TrialPlan {
        settings: [1, 8].map(setting),
        ..plan
    };
    let result = ran(&turned).unwrap();
    assert_eq!(result.answer.verdict, RowVerdict::Faster);
    assert_eq!(result.limit.unwrap().outcome, LimitOutcome::Held);
}

#[test]
fn an_interrupted_trial_concludes_from_its_pairs() {
    let machine = Machine::new(MACHINE);
    let (stop, seen) = (Stop::default(), Mutex::new(0));
    let plan = machine.plan([8, 8], 5);
    let result = trial(&plan, &Roots::default(), &stop, &mut |event| {
        if matches!(event, SweepEvent::Measured(_)) {
            let mut seen = seen.lock().unwrap();
            *seen += 1;
            if *seen == 7 {
                stop.interrupt();
            }
        }
    });
    let result = result.unwrap();
    let tried = result.trial.unwrap();
    assert_eq!(tried.ended, TrialEnd::Interrupted);
    assert_eq!(tried.runs.len(), 6, "the half pair is left out");
    assert!(result.rows[0].ci95_ratio.is_some());
}

#[test]
fn a_disk_that_fails_ends_the_trial_with_the_reason() {
    let failing = MACHINE.to_owned() + "error = { at = \"60MB\", kind = \"eio\" }\n";
    let machine = Machine::new(&failing);
    let plan = TrialPlan {
        time_per_run_ns: 1_000_000_000,
        ..machine.plan([8, 8], 0)
    };
    let result = ran(&plan).unwrap();
    let tried = result.trial.unwrap();
    assert_eq!(tried.ended, TrialEnd::Failed);
    assert!(tried.failed.unwrap().contains("a run of A"));
    assert_eq!(result.answer.verdict, RowVerdict::NotJudged);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let machine = Machine::new(MACHINE);
    let why = |change: fn(&mut TrialPlan)| {
        let mut plan = machine.plan([8, 8], 0);
        change(&mut plan);
        ran(&plan).unwrap_err().to_string()
    };
    let engine = why(|plan| plan.settings[1].engine = EngineChoice::Sync);
    assert!(engine.contains("no engines"), "{engine}");
    let depth = why(|plan| plan.settings[1].depth = 0);
    assert!(depth.contains("B: the depth must be from 1"), "{depth}");
    let record = why(|plan| plan.settings[0].record_bytes = 0);
    assert!(record.contains("A: the record size must be"), "{record}");
    let stripe = why(|plan| plan.settings[0].layout = Layout::Span);
    assert!(stripe.contains("one target makes no stripe"), "{stripe}");
    let window = why(|plan| plan.settings[0].depth = 64);
    assert!(window.contains("longer time per run"), "{window}");
    let time = why(|plan| plan.time_ns = 1_000_000_000);
    assert!(time.contains("too short for 10 runs of 500 ms"), "{time}");
    let short = why(|plan| plan.time_per_run_ns = 1);
    assert!(short.contains("at least 100ms"), "{short}");
}
