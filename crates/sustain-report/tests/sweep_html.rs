//! The page of sweeps as text: complete, harmless, alike each time, and without a request to
//! anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use sample::sweep::{depths, nothing, seven_axes, sizes_and_depths};
use sample::{headings_of, words_within};
use sustain_document::sweep::{Axis, SweepResult};
use sustain_report::ReportError;
use sustain_report::html::sweep_html;
use sustain_report::terminal::sweep_answer;

/// The page; what keeps a figure and its unit on one line is of no matter here.
fn page(result: SweepResult) -> String {
    sweep_html(&[result]).unwrap().replace('\u{a0}', " ")
}

#[track_caller]
fn assert_in_order(page: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        let found = page[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing or out of its place"));
    }
}

/// From one heading to the next of its kind.
#[track_caller]
fn part<'a>(page: &'a str, tag: &str, heading: &str) -> &'a str {
    let start = page.find(&format!("<{tag}>{heading}")).unwrap();
    let rest = &page[start + 4..];
    let end = rest.find(&format!("<{tag}>")).unwrap_or(rest.len());
    &page[start..start + 4 + end]
}

/// The words about one axis, without the figures that its charts have.
fn words_by(page: &str, axis: &str) -> String {
    let picture = words_within(part(page, "h3", &format!("By {axis}")));
    let (words, _) = picture.split_once("\nThis chart in words").unwrap();
    words.to_owned()
}

#[test]
fn all_words_of_a_page_are_reviewed() {
    let pages = [
        ("sizes_and_depths", sizes_and_depths()),
        ("depths", depths()),
        ("nothing", nothing()),
    ];
    for (name, result) in pages {
        insta::assert_snapshot!(name, sample::words_of(&page(result)));
    }
}

#[test]
fn the_answer_has_the_words_of_the_terminal() {
    for result in [sizes_and_depths(), depths(), seven_axes(), nothing()] {
        let page = page(result.clone());
        for line in sweep_answer(&result, 10_000).lines() {
            // The first sentence is the headline, which stands above the figures.
            for sentence in line.trim_start().split(". ") {
                assert!(page.contains(sentence), "{sentence}");
            }
        }
    }
}

#[test]
fn each_axis_has_rate_cpu_and_latency_with_a_curve_per_value_of_the_other() {
    let page = page(sizes_and_depths());
    for axis in ["depth", "record size"] {
        let picture = part(&page, "h3", &format!("By {axis}"));
        for heading in ["rate", "CPU time per GB", "p99.9 latency"] {
            let panel = format!("<p class=\"head\"><b>{heading}, by {axis}</b>");
            assert_eq!(picture.matches(&panel).count(), 1, "{heading}");
        }
        assert_eq!(picture.matches("class=\"curve ").count(), 3 * 4);
        // Two settings of sixteen have no reading.
        assert_eq!(picture.matches("class=\"mark dot ").count(), 3 * 14);
        assert_eq!(picture.matches("class=\"whisker ").count(), 3 * 14);
        for marked in ["title=\"best: ", "title=\"cheapest: "] {
            assert_eq!(picture.matches(marked).count(), 3);
        }
    }
    insta::assert_snapshot!(words_by(&page, "depth"), @"
    By depth
    64 KiB records | 256 KiB records | 1 MiB records | 4 MiB records | the best setting | the cheapest setting within 2 %
    rate, by depth
    0 | 100 MB/s | 200 MB/s | 300 MB/s | 400 MB/s | 500 MB/s | 1 | 2 | 4 | 8
    CPU time per GB, by depth
    0.01 s | 0.02 s | 0.05 s | 0.1 s | 0.2 s | 0.5 s | 1 | 2 | 4 | 8
    p99.9 latency, by depth
    1 ms | 10 ms | 100 ms | 1 s | 1 | 2 | 4 | 8
    Each record size has a colour; each dot is a setting. The bar of a rate is its 95 % interval; the bar of any other figure reaches from the lowest to the highest of the runs. The figures of all dots are in the table of settings.
    ");
    insta::assert_snapshot!(words_by(&page, "record size"), @"
    By record size
    depth 1 | depth 2 | depth 4 | depth 8 | the best setting | the cheapest setting within 2 %
    rate, by record size
    0 | 100 MB/s | 200 MB/s | 300 MB/s | 400 MB/s | 500 MB/s | 64 KiB | 256 KiB | 1 MiB | 4 MiB
    CPU time per GB, by record size
    0.01 s | 0.02 s | 0.05 s | 0.1 s | 0.2 s | 0.5 s | 64 KiB | 256 KiB | 1 MiB | 4 MiB
    p99.9 latency, by record size
    1 ms | 10 ms | 100 ms | 1 s | 64 KiB | 256 KiB | 1 MiB | 4 MiB
    Each depth has a colour; each dot is a setting. The bar of a rate is its 95 % interval; the bar of any other figure reaches from the lowest to the highest of the runs. The figures of all dots are in the table of settings.
    ");
}

#[test]
fn the_map_has_every_pair_and_says_what_is_not_known() {
    let page = page(sizes_and_depths());
    let map = part(&page, "h3", "Rate in MB/s by record size");
    assert_eq!(map.matches("class=\"at").count(), 14);
    assert!(map.contains("title=\"not measured\">·</td>"));
    assert!(map.contains("class=\"failed\" title=\"failed: /dev/sda: write at 1 MiB"));
    assert_eq!(map.matches(" best\"").count(), 1);
    assert_eq!(map.matches(" cheapest\"").count(), 1);
    insta::assert_snapshot!(words_within(map), @"

    Rate in MB/s by record size and depth
    Rate in MB/s by record size and depth
    depth, requests in flight per target
    record size | 1 | 2 | 4 | 8
    64 KiB | · | failed | 336 | 365
    256 KiB | 336 | 365 | 382 | 391
    1 MiB | 382 | 391 | 395 | 398
    4 MiB | 395 | 398 | 399 | 399
    Each figure is the rate in MB/s of the fastest setting with this record size and depth, whatever its other settings are; the deeper the colour, the higher the rate. Bold: it does not differ from the best by more than noise. Full frame: the best setting. Dashed frame: the cheapest setting within 2 %. A dot stands for settings that were not measured, a dash for settings that are no part of this sweep.
    ");
}

#[test]
fn all_settings_stand_in_the_table_the_fastest_first() {
    let page = page(sizes_and_depths());
    let table = part(&page, "h2", "All settings");
    assert_eq!(table.matches("<tr><th scope=").count(), 1 + 16);
    assert_in_order(
        table,
        &[
            "<td>best</td>",
            "<td>the cheapest within 2 %</td>",
            "<td>not measured</td>",
            "<td>failed</td>",
        ],
    );
}

#[test]
fn of_many_failures_some_are_told_and_the_rest_counted() {
    let mut result = sizes_and_depths();
    for point in &mut result.points[1..12] {
        point.failed = Some("I/O error".to_owned());
    }
    let page = page(result);
    let alarm = &page[page.find("class=\"alarm\"").unwrap()..page.find("<h2>").unwrap()];
    insta::assert_snapshot!(words_within(alarm), @"

    Settings that failed
    64 KiB, depth 2 failed | I/O error
    64 KiB, depth 4 failed | I/O error
    64 KiB, depth 8 failed | I/O error
    256 KiB, depth 1 failed | I/O error
    256 KiB, depth 2 failed | I/O error
    256 KiB, depth 4 failed | I/O error
    256 KiB, depth 8 failed | I/O error
    1024 KiB, depth 1 failed | I/O error
    and | 3 more settings, marked in the table of all settings
    ");
    // Those that had a rate before keep it.
    assert_eq!(page.matches("failed in a later run").count(), 10);
}

#[test]
fn one_axis_has_one_curve_and_no_map() {
    let page = page(depths());
    assert_eq!(page.matches("class=\"curve w0\"").count(), 3);
    assert!(!page.contains("class=\"curve w1\"") && !page.contains("class=\"heat\""));
}

#[test]
fn both_directions_have_their_pictures_of_every_axis() {
    let page = page(seven_axes());
    insta::assert_snapshot!(headings_of(&page), @"
    Settings compared on /dev/sda, for writing and reading
      Effect of each setting on writing
        By depth
        Rate in MB/s by record size and depth
        By record size
        By path
        By engine
        By chunk
        By layout
        By order
      Effect of each setting on reading
        By depth
        Rate in MB/s by record size and depth
        By record size
        By path
        By engine
        By chunk
        By layout
        By order
      All settings: write
      All settings: read
      How steady the disks were
      Notes
      Kernel messages
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of data.bin
    ");
    for (heading, direction) in [("writing", "read"), ("reading", "write")] {
        let pictures = part(&page, "h2", &format!("Effect of each setting on {heading}"));
        assert_eq!(
            pictures.matches(&format!("title=\"{direction}, ")).count(),
            0
        );
    }
    insta::assert_snapshot!(words_by(&page, "order"), @"
    By order
    depth 1 | depth 8 | the best setting | the cheapest setting within 2 %
    rate
    none | sda,sdb | sdb,sda | 0 | 100 MB/s | 200 MB/s | 300 MB/s | 400 MB/s | 500 MB/s
    CPU time per GB
    none | sda,sdb | sdb,sda | 0.02 s | 0.05 s | 0.1 s | 0.2 s | 0.5 s
    p99.9 latency
    none | sda,sdb | sdb,sda | 100 us | 1 ms | 10 ms | 100 ms
    Each depth has a colour; each dot is the fastest setting with both values, whatever its record size, path, engine, chunk and layout. The bar of a rate is its 95 % interval; the bar of any other figure reaches from the lowest to the highest of the runs. The figures of all dots are in the table of settings.
    ");
    insta::assert_snapshot!(words_within(part(&page, "h2", "How steady")), @"

    How steady the disks were
    How steady the disks were
    change of all write rates | 4.3 % from round to round, more than noise explains; the rates are corrected for it
    change of all read rates | 4.3 % from round to round, no more than noise explains
    ");
}

#[test]
fn of_many_values_some_have_a_curve_and_the_caption_says_so() {
    let mut result = depths();
    let mut number = 0;
    let first = result.points[0].clone();
    result.points = (0..20_u64)
        .flat_map(|size| (0..20_u32).map(move |depth| (size, depth)))
        .map(|(size, depth)| {
            let mut point = first.clone();
            point.number = number;
            number += 1;
            point.setting.record_size_bytes = (size + 1) << 16;
            point.setting.depth = depth + 1;
            point.rate_bytes_per_s = Some(1e6 * f64::from(number as u32));
            point
        })
        .collect();
    result.plan.axes = vec![Axis::RecordSize, Axis::Depth];
    (result.answers[0].best, result.answers[0].cheapest) = (399, 399);
    let page = page(result);
    assert_eq!(page.matches("class=\"curve w7\"").count(), 0);
    assert_eq!(page.matches("class=\"at").count(), 400);
    insta::assert_snapshot!(words_by(&page, "depth"), @"
    By depth
    64 KiB records | 256 KiB records | 448 KiB records | 704 KiB records | 896 KiB records | 1088 KiB records | 1280 KiB records | the best setting
    rate, by depth
    0 | 100 MB/s | 200 MB/s | 300 MB/s | 400 MB/s | 1 | 4 | 7 | 10 | 13 | 16 | 19
    CPU time per GB, by depth
    0 | 0.01 s | 0.02 s | 0.03 s | 0.04 s | 1 | 4 | 7 | 10 | 13 | 16 | 19
    p99.9 latency, by depth
    0 | 2 ms | 4 ms | 6 ms | 8 ms | 10 ms | 1 | 4 | 7 | 10 | 13 | 16 | 19
    Each record size has a colour; each dot is a setting. The bar of a rate is its 95 % interval; the bar of any other figure reaches from the lowest to the highest of the runs. The figures of all dots are in the table of settings. Only 7 of 20 values have a curve.
    ");
}

#[test]
fn without_a_reading_nothing_is_drawn() {
    let page = page(nothing());
    assert_eq!(page.matches("<svg").count(), 0);
}

#[test]
fn several_sweeps_have_a_table_of_all_and_a_section_each() {
    let page = sweep_html(&[sizes_and_depths(), nothing()]).unwrap();
    insta::assert_snapshot!(headings_of(&page), @"
    2 sweeps
    Settings compared on /dev/sda, for writing
      Effect of each setting on writing
        By record size
        Rate in MB/s by record size and depth
        By depth
      All settings: write: io_uring, direct, independent
      Settings left out
      How steady the disks were
      Notes
      Kernel messages
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of data.bin
    Settings compared on /dev/sda
      Settings left out
      Notes
      Kernel messages
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of data.bin
    ");
    for id in ["id=\"sweep-0\"", "id=\"sweep-1\""] {
        assert_eq!(page.matches(id).count(), 1);
    }
    assert!(matches!(sweep_html(&[]), Err(ReportError::NoResults)));
}

#[test]
fn page_loads_nothing() {
    let page = page(seven_axes());
    sample::assert_loads_nothing(&page);
}

#[test]
fn text_from_outside_stays_text() {
    const ATTACK: &str =
        "</script><script>window.stolen=1</script><img src=x onerror=window.stolen=1>\"'";
    let text = || ATTACK.to_owned();
    let mut result = seven_axes();
    for point in &mut result.points {
        let setting = &mut point.setting;
        setting.words = text();
        setting.order[0].push_str(ATTACK);
        point.engine_used = Some(text());
    }
    result.points[1].failed = Some(text());
    for answer in &mut result.answers {
        for axis in &mut answer.axes {
            axis.values[0].value = text();
        }
    }
    let depths = depths();
    result.left_out = sizes_and_depths().left_out;
    result.left_out[0].why = text();
    result.notes = vec![text()];
    (result.plan.targets, result.plan.target_names) = (vec![text()], vec![text()]);
    (result.plan.arguments, result.plan.started) = (vec![text()], Some(text()));
    result.plan.sustain_version = text();
    let page = sweep_html(&[result, depths]).unwrap();
    sample::assert_only_own_elements(&sample::own_markup(&page));
    assert!(page.contains("&lt;script&gt;window.stolen=1"));
}

#[test]
fn the_same_result_gives_the_same_page_and_odd_figures_give_one_too() {
    assert_eq!(page(seven_axes()), page(seven_axes()));
    let mut still = sizes_and_depths();
    for point in &mut still.points {
        point.rate_bytes_per_s = point.rate_bytes_per_s.map(|_| 0.0);
        point.ci95_bytes_per_s = None;
        point.latency_p99_9_ns = point.latency_p99_9_ns.map(|_| 0);
        point.cpu_seconds_per_gb = None;
    }
    let page = page(still);
    assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
}
