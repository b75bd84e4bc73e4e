//! The page as text: complete, harmless, and without a request to anywhere.

// A test may fail by panicking.
#![allow(clippy::unwrap_used)]

mod sample;

use sample::own_markup;
use sustain_document::measure::{Interval, MeasureResult};
use sustain_document::system::KernelMessage;
use sustain_experiments::compare::{ComparePlan, compare};
use sustain_report::ReportError;
use sustain_report::html::{measure_html, side_by_side_html};

/// A result in which every text from outside tries to leave its place.
fn hostile() -> MeasureResult {
    let attack = "</script><script>window.stolen=1</script><img src=x onerror=window.stolen=1>\"'";
    let mut result = sample::two_targets();
    for (index, target) in result.targets.iter_mut().enumerate() {
        target.name = format!("{index}{attack}");
        target.errors = vec![sample::error()];
        target.errors[0].message = attack.to_owned();
    }
    for stall in &mut result.stalls {
        stall.target = attack.to_owned();
        stall.shared_with = vec![attack.to_owned()];
    }
    result.system.kernel_messages = vec![KernelMessage {
        at_s: 3.0,
        level: 3,
        text: attack.to_owned(),
    }];
    result.system.kernel_log_unreadable = Some(attack.to_owned());
    result.notes = vec![attack.to_owned()];
    result.plan.arguments = vec!["measure".to_owned(), attack.to_owned()];
    result.plan.engine_why = attack.to_owned();
    result.plan.sustain_version = attack.to_owned();
    result.total.sustained.why = attack.to_owned();
    let mut effect = sample::effect::effect();
    for path in &mut effect.paths {
        path.path = attack.to_owned();
        path.verdict = attack.to_owned();
        path.memory_share.as_mut().unwrap().model = attack.to_owned();
    }
    effect.writes_on.as_mut().unwrap().directory = attack.into();
    effect.unmeasured = vec![attack.to_owned()];
    result.effect = Some(effect);
    result.host.devices.truncate(1);
    result.host.file_systems[0].target = attack.to_owned();
    result.host.file_systems[0].file_system.kind = attack.to_owned();
    result
}

#[test]
fn a_page_says_of_which_targets_the_rate_of_all_is() {
    let mut result = sample::two_targets();
    let rates = |result: &MeasureResult| {
        let page = sample::words_of(&measure_html(std::slice::from_ref(result)).unwrap());
        let rates = page.lines().filter(|line| line.contains("rate while"));
        rates.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(rates(&result), @"rate while all targets were active | 2.19 GB/s");
    result.targets[1].errors.push(sample::error());
    insta::assert_snapshot!(rates(&result), @"rate while all targets that were left were active | 2.19 GB/s");
}

#[test]
fn what_may_be_chance_is_not_called_a_shared_cause() {
    let mut result = sample::two_targets();
    for stall in &mut result.stalls {
        stall.is_common_cause = false;
    }
    let page = sample::words_of(&measure_html(&[result]).unwrap());
    let (_, stalls) = page.split_once("\nStalls").unwrap();
    let rows = stalls.lines().skip(1).take(6).collect::<Vec<_>>();
    insta::assert_snapshot!(rows.join("\n"), @"
    Stalls, longest first
    target | start | length | offset | stalled at the same moment
    /dev/nvme0n1 | 12.300 s | 41.2 ms | 3.10 GB | /dev/sdb (perhaps by chance)
    /dev/sdb | 12.300 s | 40.1 ms | 3.10 GB | /dev/nvme0n1 (perhaps by chance)
    /dev/sdb | 25.700 s | 33 ms | 3.10 GB | no other target
    /dev/nvme0n1 | 31.200 s | 21.5 ms | 3.10 GB | no other target
    ");
}

#[test]
fn page_loads_nothing() {
    let page = measure_html(&[sample::two_targets(), sample::one_target()]).unwrap();
    sample::assert_loads_nothing(&page);
}

#[test]
fn page_has_its_parts_in_order() {
    let mut result = sample::two_targets();
    result.targets[1].errors.push(sample::error());
    let page = own_markup(&measure_html(&[result]).unwrap());
    let parts = [
        "<h1>Write rate of /dev/nvme0n1 and /dev/sdb, ",
        "class=\"answer",
        "class=\"alarm\"",
        "<h2>Key figures</h2>",
        "id=\"time-0\"",
        "id=\"latency-0\"",
        "id=\"buffer-0\"",
        "<h2>Stalls, longest first</h2>",
        "<h2>Kernel messages</h2>",
        "<h2>Notes</h2>",
        "<h2>Command and settings</h2>",
        "sustain measure /dev/nvme0n1 /dev/sdb --write --destroy /dev/nvme0n1",
        "<h2>Machine, devices and file systems</h2>",
        "Example Barracuda",
    ];
    let mut at = 0;
    for part in parts {
        let found = page[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing or out of its place"));
    }
}

#[test]
fn the_effect_has_its_verdicts_picture_and_figures() {
    let mut result = sample::one_target();
    result.effect = Some(sample::effect::effect());
    let page = own_markup(&measure_html(&[result]).unwrap());
    let parts = [
        "<h2>Effect on the rest of the system</h2>",
        "<b>direct</b>: writes on /home took no longer",
        "<b>buffered</b>: writes on /home took 20 times",
        "id=\"effect-0\"",
        "<th scope=\"col\">during direct</th><th scope=\"col\">after direct</th>\
         <th scope=\"col\">before buffered</th>",
        "<th scope=\"row\">timer delay, p99</th>",
        "<td>19\u{a0}of 25000</td>",
        "Zero at all times: received packets dropped",
        "another file system on a disk of the load",
        "Not measured: datagrams",
    ];
    let mut at = 0;
    for part in parts {
        let found = page[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing or out of its place"));
    }
}

#[test]
fn an_effect_of_which_nothing_is_known_is_still_a_section() {
    let mut result = sample::one_target();
    let mut effect = sample::effect::effect();
    effect.paths.truncate(1);
    let path = &mut effect.paths[0];
    path.stretches = Default::default();
    (path.writes, path.timer, path.datagrams) = (None, None, None);
    (path.kernel, path.dirty_max_bytes) = Default::default();
    path.victims_cpu_s = Default::default();
    path.writes_over_time.clear();
    path.timer_over_time.clear();
    path.memory_over_time.clear();
    (effect.memory_copy, effect.writes_on) = (None, None);
    result.effect = Some(effect);
    let page = own_markup(&measure_html(&[result]).unwrap());
    assert!(page.contains("Effect on the rest") && !page.contains("id=\"effect-0\""));
    assert!(!page.contains("NaN"));
}

#[test]
fn several_results_have_an_overview_and_a_section_each() {
    let page = measure_html(&[sample::two_targets(), sample::one_target()]).unwrap();
    let own = own_markup(&page);
    insta::assert_snapshot!(sample::headings_of(&own), @"
    2 measurements side by side
        Rate and latency over time, all targets together
        Latency of requests, all targets together
    A Write rate of /dev/nvme0n1 and /dev/sdb, 40 s: Write rate of /dev/nvme0n1 and /dev/sdb, 40 s
      Key figures
      Charts
        Rate, latency, CPU and memory over time
        Latency of requests
        Buffer that a stream needs, by its rate
      Stalls, longest first
      Kernel messages
      Notes
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of data.bin
    B Write rate of /dev/nvme0n1, 40 s: Write rate of /dev/nvme0n1, 40 s
      Key figures
      Charts
        Rate, latency, CPU and memory over time
        Latency of requests
        Buffer that a stream needs, by its rate
      Stalls, longest first
      Kernel messages
      Notes
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of data.bin
    ");
    assert_eq!(own.matches("id=\"overlay\"").count(), 1);
    assert!(own.contains("id=\"time-0\"") && own.contains("id=\"time-1\""));
    assert!(matches!(measure_html(&[]), Err(ReportError::NoResults)));
}

#[test]
fn two_runs_have_the_answer_above_a_table_with_a_column_each() {
    let runs = [sample::two_targets(), sample::two_targets()];
    let labels = ["monday.json", "friday.json"].map(str::to_owned);
    let plan = ComparePlan {
        labels: labels.clone(),
        ..ComparePlan::default()
    };
    let found = compare(&runs[0], &runs[1], &plan).unwrap();
    let own = own_markup(&side_by_side_html(&runs, &labels, Some(&found)).unwrap());
    let parts = [
        "<h1>B compared with A</h1>",
        "was found between A and B beyond noise",
        "<h3>all targets together</h3>",
        "<h3>/dev/nvme0n1</h3>",
        "<th scope=\"col\">A monday.json</th><th scope=\"col\">B friday.json</th>",
        "<th scope=\"row\">/dev/sdb: latency p99.9</th>",
        "id=\"overlay\"",
        "id=\"tails\"",
        "<h1>A monday.json: Write rate",
    ];
    let mut at = 0;
    for part in parts {
        let found = own[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing or out of its place"));
    }
}

#[test]
fn text_from_outside_stays_text() {
    let own = own_markup(&measure_html(&[hostile(), hostile()]).unwrap());
    sample::assert_only_own_elements(&own);
    let runs = [hostile(), hostile()];
    let label = "</script><img src=x onerror=window.stolen=1>";
    let labels = [label, label].map(str::to_owned);
    let plan = ComparePlan {
        labels: labels.clone(),
        fail_if_slower: Some(0.05),
        ..ComparePlan::default()
    };
    let found = compare(&runs[0], &runs[1], &plan).unwrap();
    let own = own_markup(&side_by_side_html(&runs, &labels, Some(&found)).unwrap());
    sample::assert_only_own_elements(&own);
}

#[test]
fn a_run_without_anything_is_still_a_page() {
    let mut result = sample::one_target();
    result.targets[0].intervals.clear();
    result.targets[0].latency_histogram.clear();
    result.total.intervals.clear();
    result.total.bytes = 0;
    result.buffer_curve.clear();
    result.recommendation = None;
    result.stalls.clear();
    result.system = Default::default();
    result.host = sustain_document::host::Host {
        description: None,
        devices: Vec::new(),
        file_systems: Vec::new(),
    };
    let own = own_markup(&measure_html(&[result]).unwrap());
    assert!(own.contains("Nothing was written") && !own.contains("NaN"));
}

#[test]
fn a_page_is_small_and_a_long_run_keeps_it_bounded() {
    let mut result = sample::two_targets();
    let page = measure_html(&[result.clone()]).unwrap();
    assert!(page.len() < 200_000, "{}", page.len());
    let intervals = &mut result.targets[0].intervals;
    let first = intervals[0].clone();
    *intervals = (0..100_000)
        .map(|second| Interval {
            start_s: f64::from(second),
            end_s: f64::from(second + 1),
            rate_bytes_per_s: match second {
                33_333 => 0.0,
                77_777 => 1e12,
                _ => 1e9,
            },
            ..first.clone()
        })
        .collect();
    let page = measure_html(&[result]).unwrap();
    assert!(page.len() < 500_000, "{}", page.len());
    // The highest rate of the neighbours that are joined is on the axis, so that it is drawn.
    assert!(page.contains("<b>1 TB/s</b>"));
    // So is a second of nothing; words tell both, and the band is outlined.
    let name = &sample::two_targets().targets[0].name;
    let ends = format!("Rate. {name}: 0 B/s to 1");
    assert!(page.contains(&ends), "{ends}");
    assert!(page.contains("<path class=\"band "));
}
