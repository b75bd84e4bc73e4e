//! A recommended rate is one that the same machine holds for the same time.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use sustain_document::measure::MeasureResult;
use sustain_experiments::measure::plan::{LoadPlan, MeasurePlan};
use sustain_experiments::measure::run::measure;
use sustain_host::Roots;
use sustain_load::Stop;

/// Two disks that stand still for a while, each at times of its own. The run that recommends sees
/// all of it, the short run that confirms may see nothing.
const STALLING: &str = "\
[[disk]]
name = \"d0\"
capacity = \"4TB\"
write = \"200MB/s\"
stall = { every = \"25s\", for = \"1300ms\" }

[[disk]]
name = \"d1\"
capacity = \"4TB\"
write = \"200MB/s\"
stall = { every = \"21s\", for = \"1300ms\" }
";

fn measured(machine: &str, rate_bytes_per_s: Option<f64>, buffer_bytes: u64) -> MeasureResult {
    let load = LoadPlan {
        time_ns: Some(150_000_000_000),
        rate_bytes_per_s,
        destroy: vec![machine.to_owned()],
        ..LoadPlan::new([machine])
    };
    let plan = MeasurePlan {
        buffer_bytes,
        ..MeasurePlan::of(load)
    };
    measure(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap()
}

#[test]
fn a_source_at_the_recommended_rate_is_kept_up_with_where_disks_stall_in_turn() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("machine.toml");
    std::fs::write(&file, STALLING).unwrap();
    let machine = format!("sim:{}", file.display());
    for buffer_bytes in [16 << 20, 64 << 20, 128 << 20] {
        let found = measured(&machine, None, buffer_bytes);
        let rate = found.recommendation.unwrap().rate_bytes_per_s;
        let paced = measured(&machine, Some(rate), buffer_bytes);
        assert_eq!(
            paced.total.rate_held,
            Some(true),
            "{rate} B/s, {buffer_bytes}"
        );
    }
}

/// A run of 30 s has ten of these pauses, and the tenth of a round without one at its end.
#[test]
fn no_more_is_recommended_than_a_disk_holds_over_whole_rounds_of_its_pauses() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("machine.toml");
    let text = "[[disk]]\nname = \"d0\"\ncapacity = \"40TB\"\nwrite = \"339MB/s\"\n\
                stall = { every = \"2884ms\", for = \"76ms\" }\n";
    std::fs::write(&file, text).unwrap();
    let machine = format!("sim:{}", file.display());
    let load = LoadPlan {
        time_ns: Some(30_000_000_000),
        destroy: vec![machine.clone()],
        ..LoadPlan::new([&machine])
    };
    let plan = MeasurePlan::of(load);
    let found = measure(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap();
    let rate = found.recommendation.unwrap().rate_bytes_per_s;
    let held = 339e6 * (1.0 - 76.0 / 2884.0);
    assert!(rate <= held && rate > 0.99 * held, "{rate} of {held}");
}
