//! The page of sweeps as text: complete, harmless, alike each time, and without a request to
//! anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use sample::sweep::{depths, nothing, seven_axes, sizes_and_depths};
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
    for (axis, other) in [("depth", "64 KiB records"), ("record size", "depth 4")] {
        let picture = part(&page, "h3", &format!("By {axis}"));
        for heading in ["rate", "CPU time per GB", "p99.9 latency"] {
            let panel = format!("<p class=\"head\"><b>{heading}, by {axis}</b>");
            assert_eq!(picture.matches(&panel).count(), 1, "{heading}");
        }
        assert_eq!(picture.matches("class=\"curve ").count(), 3 * 4);
        // Two settings of sixteen have no reading.
        assert_eq!(picture.matches("class=\"mark dot ").count(), 3 * 14);
        assert_eq!(picture.matches("class=\"whisker ").count(), 3 * 14);
        assert!(picture.contains(other), "{other}");
        for marked in ["title=\"best: ", "title=\"cheapest: "] {
            assert_eq!(picture.matches(marked).count(), 3);
        }
    }
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
    assert!(map.contains(">395</td>") && map.contains(">399</td>"));
}

#[test]
fn all_settings_stand_in_the_table_the_fastest_first() {
    let page = page(sizes_and_depths());
    let table = part(&page, "h2", "All settings");
    assert_eq!(table.matches("<tr><th>").count(), 1 + 16);
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
    assert_eq!(alarm.matches("I/O error").count(), 8);
    assert!(alarm.contains("3 more settings"));
    // Those that had a rate before keep it.
    assert_eq!(page.matches("failed in a later run").count(), 10);
}

#[test]
fn one_axis_has_one_curve_and_no_map() {
    let page = page(depths());
    assert_eq!(page.matches("class=\"curve w0\"").count(), 3);
    assert!(!page.contains("class=\"curve w1\"") && !page.contains("class=\"heat\""));
    assert!(page.contains("Each dot is a setting."));
}

#[test]
fn both_directions_have_their_pictures_of_every_axis() {
    let page = page(seven_axes());
    assert!(page.contains("<h1>Settings compared on /dev/sda, for writing and reading</h1>"));
    for (heading, direction) in [("writing", "read"), ("reading", "write")] {
        let pictures = part(&page, "h2", &format!("Effect of each setting on {heading}"));
        for axis in [
            "engine",
            "path",
            "layout",
            "chunk",
            "order",
            "record size",
            "depth",
        ] {
            assert!(pictures.contains(&format!("<h3>By {axis}</h3>")), "{axis}");
        }
        assert!(!pictures.contains(&format!("title=\"{direction}, ")));
    }
    assert!(page.contains("sda,sdb</b>"));
    let steady = part(&page, "h2", "How steady");
    assert!(steady.contains("no more than noise explains"));
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
    assert!(page.contains("7 of 20 values have a curve."));
    assert!(!page.contains("class=\"curve w7\""));
    assert_eq!(page.matches("class=\"at").count(), 400);
    assert!(!page.contains("the cheapest setting within 2 %</span>"));
}

#[test]
fn without_a_reading_the_page_says_so() {
    let page = page(nothing());
    assert!(page.contains(
        "The sweep was interrupted, and the answer rests on what was measured until then"
    ));
    assert!(page.contains("Nothing was measured.") && !page.contains("<svg"));
}

#[test]
fn several_sweeps_have_a_table_of_all_and_a_section_each() {
    let page = sweep_html(&[sizes_and_depths(), nothing()]).unwrap();
    assert!(
        page.contains("<h1>2 sweeps</h1>")
            && page.contains("1. Settings compared on /dev/sda, for writing")
    );
    assert!(page.contains("id=\"sweep-0\"") && page.contains("id=\"sweep-1\""));
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
