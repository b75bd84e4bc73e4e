//! The page in a real browser: the curves are drawn and no script fails. Skipped, with a word,
//! where no Chromium is installed.

// A test may fail by panicking, and says on stderr why it was skipped.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod sample;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sustain_report::html::{measure_html, profile_html, record_html};
use sustain_testing::{Requirement, skip};

/// Added to the page by the test alone: counts what was drawn, once all charts have said so.
const COUNT_SCRIPT: &str = r#"<script>
setTimeout(() => {
  const count = (place, what) =>
    Array.from(place.querySelectorAll(what)).filter((path) => path.getAttribute("d")).length;
  const charts = {};
  for (const place of document.querySelectorAll("[data-chart]")) {
    charts[place.dataset.chart] = {
      drawn: place.dataset.drawn || "no",
      lines: count(place, ".scatterlayer .trace path.js-line"),
      points: count(place, ".scatterlayer .trace path.point"),
      bars: count(place, ".barlayer .trace .point path"),
      links: place.querySelectorAll("a").length,
      labels: Array.from(place.querySelectorAll(".legendtext")).map((text) => text.textContent),
    };
  }
  const found = { errors: JSON.parse(document.body.dataset.scriptErrors), charts,
    stolen: "stolen" in window };
  document.body.dataset.found = encodeURIComponent(JSON.stringify(found));
}, 3000);
</script></body>"#;

fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let usual = [
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ];
    named
        .into_iter()
        .chain(usual.map(PathBuf::from))
        .find(|path| path.exists())
}

/// The page as the browser has it after its scripts ran, by what [`COUNT_SCRIPT`] found.
fn open(page: &str) -> Option<Value> {
    let Some(chromium) = chromium() else {
        skip(
            Requirement::Browser,
            "no Chromium here; install it or name it in CHROMIUM",
        );
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    let page = page.replace("</body>", COUNT_SCRIPT);
    let file = directory.path().join("report.html");
    std::fs::write(&file, page).unwrap();
    let document = dump(&chromium, directory.path(), &file);
    let start = document
        .find("data-found=\"")
        .expect("the counting script ran")
        + 12;
    let length = document[start..].find('"').unwrap();
    Some(serde_json::from_str(&decoded(&document[start..start + length])).unwrap())
}

fn dump(chromium: &Path, directory: &Path, file: &Path) -> String {
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--window-size=1200,2400",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            directory.join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the browser failed: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// The inverse of `encodeURIComponent`.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(&after[..2]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn curves_are_drawn_and_no_script_fails() {
    let mut one = sample::one_target();
    one.plan.rate_bytes_per_s = Some(1.5e9);
    let Some(found) = open(&measure_html(&[sample::two_targets(), one]).unwrap()) else {
        return;
    };
    assert_eq!(found["errors"], serde_json::json!([]));
    let charts = &found["charts"];
    let count = |chart: &str, what: &str| charts[chart][what].as_u64().unwrap_or(0);
    for (id, chart) in charts.as_object().unwrap() {
        assert_eq!(chart["drawn"], "yes", "{id}: {chart}");
    }
    assert_eq!(charts.as_object().unwrap().len(), 8);
    // Two targets and their sum, each thin and average; a latency each; four of CPU, three of
    // memory.
    assert_eq!(count("time-0", "lines"), 3 * 2 + 2 + 4 + 3, "{charts}");
    // Four stalls and one kernel message.
    assert_eq!(count("time-0", "points"), 4 + 1, "{charts}");
    // One target, and the rate asked for.
    assert_eq!(count("time-1", "lines"), 2 + 1 + 1 + 4 + 3, "{charts}");
    assert!(count("latency-0", "bars") > 20, "{charts}");
    // The curve and the bound; the recommendation is a point beside those of the curve.
    assert_eq!(count("buffer-0", "lines"), 2, "{charts}");
    assert_eq!(count("buffer-0", "points"), 64 + 1, "{charts}");
    // Rate, its average, and the longest latency of each run.
    assert_eq!(count("overlay", "lines"), 2 * 3, "{charts}");
    assert_eq!(count("tails", "lines"), 2, "{charts}");
}

#[test]
fn direct_and_buffered_are_on_one_picture() {
    let mut result = sample::one_target();
    result.effect = Some(sample::effect::effect());
    let Some(found) = open(&measure_html(&[result]).unwrap()) else {
        return;
    };
    assert_eq!(found["errors"], serde_json::json!([]));
    let chart = &found["charts"]["effect-0"];
    assert_eq!(chart["drawn"], "yes");
    // Two paths, each with writes, timer and memory.
    assert_eq!(chart["lines"], 2 * 3, "{chart}");
    assert_eq!(chart["labels"], serde_json::json!(["direct", "buffered"]));
}

#[test]
fn names_in_charts_stay_text() {
    let name = "<a href=\"https://example.org\">x</a></script><img src=x onerror=window.stolen=1>";
    let mut result = sample::two_targets();
    result.targets[0].name = name.to_owned();
    result.system.kernel_messages[0].text = name.to_owned();
    let mut effect = sample::effect::effect();
    effect.paths[0].path = name.to_owned();
    result.effect = Some(effect);
    let Some(found) = open(&measure_html(&[result]).unwrap()) else {
        return;
    };
    assert_eq!(found["errors"], serde_json::json!([]));
    assert_eq!(found["stolen"], false);
    let chart = &found["charts"]["time-0"];
    assert_eq!(chart["drawn"], "yes");
    // The script's own toolbar consists of links.
    let buttons = found["charts"]["buffer-0"]["links"].as_u64().unwrap();
    assert!(chart["links"].as_u64().unwrap() <= buttons, "{chart}");
    let links = found["charts"]["effect-0"]["links"].as_u64().unwrap();
    assert!(links <= buttons, "{found}");
    let labels = chart["labels"].as_array().unwrap();
    assert!(
        labels
            .iter()
            .any(|label| label.as_str().unwrap().contains("<a href=")),
        "{labels:?}"
    );
}

#[test]
fn curves_of_recordings_are_drawn_and_no_script_fails() {
    let results = [sample::recording::troubled(), sample::recording::whole()];
    let Some(found) = open(&record_html(&results).unwrap()) else {
        return;
    };
    assert_eq!(found["errors"], serde_json::json!([]));
    let charts = &found["charts"];
    let count = |chart: &str, what: &str| charts[chart][what].as_u64().unwrap_or(0);
    for (id, chart) in charts.as_object().unwrap() {
        assert_eq!(chart["drawn"], "yes", "{id}: {chart}");
    }
    assert_eq!(charts.as_object().unwrap().len(), 5 * 2);
    // Two streams and their sum, each in and durable; the buffer; four stretches of three causes;
    // four of CPU, three of memory.
    assert_eq!(count("time-0", "lines"), 3 * 2 + 1 + 4 + 4 + 3, "{charts}");
    // A loss in three seconds, and one kernel message.
    assert_eq!(count("time-0", "points"), 3 + 1, "{charts}");
    assert_eq!(count("time-1", "lines"), 2 + 1 + 1 + 4 + 3, "{charts}");
    assert_eq!(count("time-1", "points"), 0, "{charts}");
    assert!(count("appends-0", "bars") > 60, "{charts}");
    assert_eq!(count("shares-0", "bars"), 3, "{charts}");
    assert_eq!(count("members-0", "lines"), 3, "{charts}");
    assert_eq!(count("buffer-0", "lines"), 2, "{charts}");
}

#[test]
fn curves_of_profiles_are_drawn_and_no_script_fails() {
    let Some(found) = open(&profile_html(&[sample::profile::shared()]).unwrap()) else {
        return;
    };
    assert_eq!(found["errors"], serde_json::json!([]));
    let chart = &found["charts"]["profile-0-0"];
    assert_eq!(chart["drawn"], "yes", "{found}");
    // The zones of two targets, what they give alone, and all at once.
    assert_eq!(chart["lines"], 2 + 1 + 1, "{chart}");
    // Of 20 places one is bad, and has a mark instead; all at once was visited twice.
    assert_eq!(chart["points"], 19 + 20 + 1 + 2 * 20, "{chart}");
}

#[test]
fn names_in_charts_of_recordings_stay_text() {
    let name = "<a href=\"https://example.org\">x</a></script><img src=x onerror=window.stolen=1>";
    let mut result = sample::recording::troubled();
    result.streams[0].name = name.to_owned();
    result.members[0].name = name.to_owned();
    result.samples[3].limited_by = name.to_owned().into();
    let Some(found) = open(&record_html(&[result]).unwrap()) else {
        return;
    };
    assert_eq!(found["errors"], serde_json::json!([]));
    assert_eq!(found["stolen"], false);
    let buttons = found["charts"]["buffer-0"]["links"].as_u64().unwrap();
    for id in ["time-0", "shares-0", "members-0"] {
        let chart = &found["charts"][id];
        assert_eq!(chart["drawn"], "yes");
        assert!(chart["links"].as_u64().unwrap() <= buttons, "{id}: {chart}");
    }
}
