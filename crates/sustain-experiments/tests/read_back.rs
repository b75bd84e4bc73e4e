//! What writing and reading back come to together, on machines whose limits are known.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction};
use sustain_document::measure::{MeasureResult, ReadBack};
use sustain_experiments::error::MeasureError;
use sustain_experiments::measure::plan::{At, LoadPlan, MeasurePlan};
use sustain_experiments::measure::run::measure;
use sustain_host::Roots;
use sustain_load::Stop;
use sustain_load::event::{Event, Phase};

/// A disk serves one request after the other, whether it reads or writes.
const ONE_DISK: &str = "\
[[disk]]
name = \"d0\"
capacity = \"4TB\"
read = \"120MB/s\"
write = \"100MB/s\"
";

/// Two unequal disks behind a link that both directions share.
const TWO_BEHIND_A_LINK: &str = "\
[[disk]]
name = \"d0\"
capacity = \"4TB\"
read = \"200MB/s\"
write = \"200MB/s\"
through = [\"link\"]

[[disk]]
name = \"d1\"
capacity = \"4TB\"
read = \"100MB/s\"
write = \"100MB/s\"
through = [\"link\"]

[limit.link]
rate = \"240MB/s\"
";

fn plan(change: impl FnOnce(&mut LoadPlan)) -> MeasurePlan {
    let mut load = LoadPlan::new(Vec::<String>::new());
    load.time_ns = Some(60_000_000_000);
    change(&mut load);
    MeasurePlan {
        read_back: true,
        ..MeasurePlan::of(load)
    }
}

fn measured_on(machine: &str, mut plan: MeasurePlan) -> Result<MeasureResult, MeasureError> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("machine.toml");
    std::fs::write(&file, machine).unwrap();
    plan.load.targets = vec![format!("sim:{}", file.display())];
    measure(&plan, &Roots::default(), &Stop::default(), &mut |_| ())
}

fn read_back_on(machine: &str, plan: MeasurePlan) -> ReadBack {
    let result = measured_on(machine, plan).unwrap();
    assert_eq!(result.later_failures, []);
    result.read_back.unwrap()
}

/// Asserts that a rate is within two per cent of what the machine gives.
fn assert_close(what: &str, bytes_per_s: f64, expected_bytes_per_s: f64) {
    let ratio = bytes_per_s / expected_bytes_per_s;
    assert!((0.98..1.02).contains(&ratio), "{what}: {bytes_per_s} B/s");
}

#[test]
fn a_disk_that_writes_and_reads_by_turns_gives_each_what_the_turns_leave() {
    let found = read_back_on(ONE_DISK, plan(|_| ()));
    // As long as a record of each takes one after the other.
    let each = 1.0 / (1.0 / 100e6 + 1.0 / 120e6);
    assert!(found.writing.sustained.reached, "{:?}", found.writing);
    assert_close("written", found.writing.sustained.rate_bytes_per_s, each);
    assert_close("read", found.reading_meanwhile.rate_bytes_per_s, each);
    let alone = &found.reading_alone.as_ref().unwrap().sustained;
    assert_close("read alone", alone.rate_bytes_per_s, 120e6);
    for (what, rate, most) in [
        ("recorded meanwhile", &found.writing, each),
        ("read alone", found.reading_alone.as_ref().unwrap(), 120e6),
    ] {
        let held = rate.recommendation.as_ref().unwrap();
        assert_eq!(held.confirmed, Some(true), "{what}: {held:?}");
        let part = held.rate_bytes_per_s / most;
        assert!((0.9..=1.0).contains(&part), "{what}: {part}");
    }
}

#[test]
fn a_rate_that_holds_while_nobody_reads_is_not_confirmed_for_when_somebody_does() {
    let result = measured_on(ONE_DISK, plan(|_| ())).unwrap();
    let alone = result.recommendation.unwrap();
    assert_close("recorded alone", alone.rate_bytes_per_s, 100e6);
    let meanwhile = result.read_back.unwrap().writing.recommendation.unwrap();
    assert!(meanwhile.rate_bytes_per_s < 0.6 * alone.rate_bytes_per_s);
    // The run itself is that of a disk that only writes.
    assert_close("the run", result.total.sum_bytes_per_s, 100e6);
    assert_eq!(result.targets.len(), 1);
}

#[test]
fn a_shared_link_carries_both_directions_of_all_targets() {
    let found = read_back_on(TWO_BEHIND_A_LINK, plan(|_| ()));
    let writing: f64 = found
        .targets
        .iter()
        .map(|one| one.writing_bytes_per_s)
        .sum();
    let reading =
        |one: &sustain_document::measure::ReadBackTarget| one.reading_meanwhile_bytes_per_s;
    let both = writing + found.targets.iter().map(reading).sum::<f64>();
    assert_close("both directions of both", both, 240e6);
    let alone = &found.reading_alone.as_ref().unwrap().sustained;
    assert_close("read alone", alone.rate_bytes_per_s, 240e6);
    let total = found.writing.sustained.rate_bytes_per_s;
    assert_close("the total of what is written", total, writing);
}

#[test]
fn a_stripe_is_read_back_as_one_stream() {
    let striped = plan(|load| {
        load.layout = Layout::Stripe {
            chunk_bytes: 1 << 20,
        }
    });
    let found = read_back_on(TWO_BEHIND_A_LINK, striped);
    let alone = &found.reading_alone.as_ref().unwrap().sustained;
    // In lockstep with the slower of both.
    assert_close("read alone", alone.rate_bytes_per_s, 200e6);
    let [one, other] = found.targets.as_slice() else {
        panic!("two targets: {:?}", found.targets);
    };
    let ratio = one.reading_meanwhile_bytes_per_s / other.reading_meanwhile_bytes_per_s;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn only_what_was_written_is_read_back() {
    // Reading is ten times as fast as writing, and would soon come to where nothing was written.
    let machine = "\
[[disk]]
name = \"d0\"
capacity = \"4TB\"
read = \"1GB/s\"
write = \"100MB/s\"
[[disk.slow]]
at = \"30GB\"
for = \"3TB\"
to = \"1MB/s\"
";
    let found = read_back_on(machine, plan(|_| ()));
    let alone = &found.reading_alone.as_ref().unwrap().sustained;
    assert_close("read alone", alone.rate_bytes_per_s, 1e9);
}

#[test]
fn a_disk_that_fails_meanwhile_ends_it_and_is_told() {
    let machine = format!("{ONE_DISK}[disk.error]\nat = \"6.5GB\"\n");
    let plan = MeasurePlan {
        confirm: false,
        ..plan(|_| ())
    };
    let result = measured_on(&machine, plan).unwrap();
    assert_eq!(result.read_back, None);
    let [failure] = result.later_failures.as_slice() else {
        panic!("{:?}", result.later_failures);
    };
    assert!(failure.while_reading_back && failure.paced_bytes_per_s.is_none());
}

#[test]
fn what_was_found_before_an_interruption_is_told() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("machine.toml");
    std::fs::write(&file, ONE_DISK).unwrap();
    let mut plan = plan(|_| ());
    plan.load.targets = vec![format!("sim:{}", file.display())];
    let stop = Stop::default();
    let result = measure(&plan, &Roots::default(), &stop, &mut |event| {
        if matches!(event, Event::Live(live) if live.phase == Phase::ReadAlone) {
            stop.interrupt();
        }
    });
    let found = result.unwrap().read_back.unwrap();
    assert_eq!(found.reading_alone, None);
    assert_eq!(found.writing.recommendation.unwrap().confirmed, Some(true));
    assert_eq!(found.targets[0].reading_alone_bytes_per_s, None);
}

#[test]
fn what_cannot_be_read_back_is_refused() {
    let refused = |plan: MeasurePlan| match measured_on(ONE_DISK, plan) {
        Err(MeasureError::Usage(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(plan(|load| load.direction = Some(Direction::Read))).contains("only reads"));
    assert!(refused(plan(|load| load.path = DataPath::Buffered)).contains("from memory"));
    assert!(refused(plan(|load| load.rate_bytes_per_s = Some(1e6))).contains("none can be given"));
    let elsewhere = plan(|load| {
        load.at = Some(At::Byte(1 << 30));
        load.bytes = Some(1 << 20);
    });
    assert!(refused(elsewhere).contains("leave alone"));
    let mut null = plan(|_| ());
    null.load.targets = vec!["null:".to_owned()];
    let refusal = measure(&null, &Roots::default(), &Stop::default(), &mut |_| ());
    assert!(matches!(refusal, Err(MeasureError::Usage(why)) if why.contains("null:")));
}
