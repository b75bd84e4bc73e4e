//! `--effect` on the disk under the build directory: what is watched, and what an interruption in
//! each stretch leaves. Counts and structure are checked; how fast anything is does not matter.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

use std::path::Path;

use sustain_disk::target::DataPath;
use sustain_document::effect::{EffectResult, PathEffect};
use sustain_document::measure::MeasureResult;
use sustain_document::vocabulary::Ending;
use sustain_experiments::effect::EffectPlan;
use sustain_experiments::error::MeasureError;
use sustain_experiments::measure::plan::{LoadPlan, MeasurePlan};
use sustain_experiments::measure::run::{measure, rehearse};
use sustain_host::Roots;
use sustain_load::Stop;
use sustain_load::event::{Event, Phase};

/// A second of writing into a small file.
fn plan(directory: &Path, effect: EffectPlan) -> MeasurePlan {
    let load = LoadPlan {
        time_ns: Some(1_000_000_000),
        size_bytes: Some(16 << 20),
        ..LoadPlan::new([directory.display().to_string()])
    };
    MeasurePlan {
        confirm: false,
        effect: Some(effect),
        ..MeasurePlan::of(load)
    }
}

/// Not in /tmp, which is often memory and refuses direct I/O.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn both() -> EffectPlan {
    EffectPlan {
        both_paths: true,
        victim: None,
    }
}

fn run(plan: &MeasurePlan, stop: &Stop, at: &mut (dyn FnMut(&Event) + Send)) -> MeasureResult {
    measure(plan, &Roots::default(), stop, &mut |event| at(&event)).unwrap()
}

/// The result of a run that is interrupted when a phase is seen for the n-th time.
fn interrupted(plan: &MeasurePlan, in_phase: Phase, time: usize) -> (MeasureResult, EffectResult) {
    let stop = Stop::default();
    let heard = stop.clone();
    let (mut seen, mut last) = (0, None);
    let mut result = run(plan, &stop, &mut |event| {
        let Event::Live(live) = event else { return };
        if live.phase == in_phase && last != Some(in_phase) {
            seen += 1;
        }
        last = Some(live.phase);
        // In the middle of it, so that something was seen.
        if live.phase == in_phase && seen == time && live.elapsed_s > 0.2 {
            heard.interrupt();
        }
    });
    let effect = result.effect.take().unwrap();
    (result, effect)
}

fn assert_counts(path: &PathEffect) {
    let timer = path.timer.as_ref().unwrap();
    for timer in [&timer.before, &timer.during, &timer.after] {
        let timer = timer.as_ref().unwrap();
        assert!(timer.wakeups > 0 && timer.late_max_ns >= timer.late_p50_ns);
    }
    // Where a machine has no loopback interface it says so.
    if let Some(datagrams) = &path.datagrams {
        for all in [&datagrams.before, &datagrams.during, &datagrams.after] {
            let all = all.as_ref().unwrap();
            assert_eq!(all.lost, all.sent - all.received);
        }
        assert!(datagrams.before.unwrap().sent > 0);
    }
    let stretches = &path.stretches;
    assert!(stretches.before.unwrap().end_s <= stretches.during.unwrap().end_s);
    assert!(stretches.during.unwrap().end_s <= stretches.after.unwrap().start_s);
    assert!(path.load.bytes > 0 && path.load.rate_bytes_per_s > 0.0);
    assert_eq!(path.load.errors, 0);
    assert!(path.victims_cpu_s.during.unwrap() > 0.0);
    assert!(path.memory_share.as_ref().unwrap().share > 0.0);
    assert!(
        path.verdict.contains("timers fired up to"),
        "{}",
        path.verdict
    );
    assert!(!path.timer_over_time.is_empty());
}

#[test]
fn the_load_is_watched_by_both_paths() {
    let directory = directory();
    let effect = EffectPlan {
        victim: Some(directory.path().to_owned()),
        ..both()
    };
    let result = run(
        &plan(directory.path(), effect),
        &Stop::default(),
        &mut |_| (),
    );
    let effect = result.effect.as_ref().unwrap();
    let names: Vec<&str> = effect.paths.iter().map(|path| path.path.as_str()).collect();
    assert_eq!(names, ["direct", "buffered"]);
    assert_eq!(result.plan.path, DataPath::Direct);
    effect.paths.iter().for_each(assert_counts);
    let place = effect.writes_on.as_ref().unwrap();
    assert_eq!(place.directory, directory.path());
    assert!(place.is_file_system_of_target);
    for path in &effect.paths {
        let writes = path.writes.as_ref().unwrap();
        assert!(writes.before.unwrap().count > 0);
        assert!(path.verdict.contains("writes on"), "{}", path.verdict);
    }
    let copy = effect.memory_copy.as_ref().unwrap();
    assert!(copy.all_threads_bytes_per_s >= copy.one_thread_bytes_per_s);
    // 16 MiB are no backlog that memory could not hold.
    let [backlog] = effect.unmeasured.as_slice() else {
        panic!("{:?}", effect.unmeasured)
    };
    assert!(backlog.contains("16 MiB written with buffered I/O fit into the memory"));
    // What is about the other path's load is not among the run's own samples.
    let own = effect.paths[0].stretches.after.unwrap().end_s;
    let last = result.system.samples.last().unwrap().time_s;
    assert!(last < own + 1.0, "{last} s is after {own} s");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    // And a saved result reads back as it was.
    let text = serde_json::to_string(&result).unwrap();
    assert_eq!(
        serde_json::from_str::<MeasureResult>(&text).unwrap().effect,
        result.effect
    );
}

#[test]
fn a_load_by_the_buffered_path_may_come_first() {
    let directory = directory();
    let mut plan = plan(directory.path(), both());
    plan.load.path = DataPath::Buffered;
    let result = run(&plan, &Stop::default(), &mut |_| ());
    let effect = result.effect.as_ref().unwrap();
    let names: Vec<&str> = effect.paths.iter().map(|path| path.path.as_str()).collect();
    assert_eq!(names, ["buffered", "direct"]);
    assert_eq!(result.plan.path, DataPath::Buffered);
    assert!(result.notes.iter().any(|note| note.starts_with("buffered")));
    let share = |path: usize| effect.paths[path].memory_share.as_ref().unwrap();
    assert!(share(0).copies_per_byte > share(1).copies_per_byte);
}

#[test]
fn an_interruption_in_each_stretch_leaves_what_is_known() {
    let directory = directory();
    let plan = plan(directory.path(), both());

    let (result, effect) = interrupted(&plan, Phase::Before, 1);
    assert_eq!(result.targets[0].ended, Ending::Interrupted);
    let [only] = effect.paths.as_slice() else {
        panic!("{} paths ran", effect.paths.len())
    };
    assert!(only.timer.as_ref().unwrap().before.unwrap().wakeups > 0);
    assert!(only.stretches.during.is_none() && only.stretches.after.is_none());
    assert!(only.verdict.contains("did not run"), "{}", only.verdict);

    let (result, effect) = interrupted(&plan, Phase::Measure, 1);
    assert_eq!(result.targets[0].ended, Ending::Interrupted);
    let only = &effect.paths[0];
    assert!(only.timer.as_ref().unwrap().during.unwrap().wakeups > 0);
    assert!(only.stretches.after.is_none());
    assert!(effect.unmeasured.iter().any(|why| why.contains("buffered")));

    let (result, effect) = interrupted(&plan, Phase::After, 1);
    assert_eq!(result.targets[0].ended, Ending::Time);
    assert_eq!(effect.paths.len(), 1);
    assert!(effect.paths[0].stretches.after.is_some());

    let (result, effect) = interrupted(&plan, Phase::Subset, 1);
    assert_eq!(result.targets[0].ended, Ending::Time);
    let [own, other] = effect.paths.as_slice() else {
        panic!("{} paths ran", effect.paths.len())
    };
    assert!(own.stretches.after.is_some() && other.stretches.after.is_none());
    assert!(other.stretches.during.is_some() && other.load.bytes > 0);
}

#[test]
fn what_is_simulated_has_no_effect() {
    let plan = MeasurePlan {
        effect: Some(both()),
        ..MeasurePlan::new(["sim:machine.toml"])
    };
    let refused = rehearse(&plan, &Roots::default()).unwrap_err();
    assert!(matches!(refused, MeasureError::Usage(_)), "{refused}");
    assert!(
        refused.to_string().contains("sim:machine.toml"),
        "{refused}"
    );
}

#[test]
fn two_paths_are_direct_and_buffered() {
    let mut plan = MeasurePlan::new(["/dev/nvme0n1"]);
    plan.load.path = DataPath::Passthrough;
    plan.effect = Some(both());
    let refused = rehearse(&plan, &Roots::default()).unwrap_err();
    assert!(matches!(refused, MeasureError::Usage(_)), "{refused}");
    assert!(
        refused.to_string().contains("effects on both paths"),
        "{refused}"
    );
}

#[test]
fn a_rehearsal_says_what_is_done_besides() {
    let directory = directory();
    let effect = EffectPlan {
        victim: Some(directory.path().to_owned()),
        ..both()
    };
    let said = rehearse(&plan(directory.path(), effect), &Roots::default()).unwrap();
    let all = said.join("\n");
    for words in [
        "for 1 s before and after",
        "4 KiB with fsync",
        "with buffered I/O",
    ] {
        assert!(all.contains(words), "{words:?} is not in {all}");
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    let missing = EffectPlan {
        victim: Some(directory.path().join("missing")),
        both_paths: false,
    };
    let refused = rehearse(&plan(directory.path(), missing), &Roots::default()).unwrap_err();
    assert!(matches!(refused, MeasureError::Usage(_)), "{refused}");
}
