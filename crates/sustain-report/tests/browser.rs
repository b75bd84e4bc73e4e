//! The page in a real browser: the curves are drawn and no script fails. Skipped, with a word,
//! where no Chromium is installed.

// A test may fail by panicking, and says on stderr why it was skipped.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod sample;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sustain_report::html::{diagnose_html, measure_html, profile_html, record_html, sweep_html};
use sustain_testing::{Requirement, skip};

/// Added to the page by the test alone: counts what was drawn, uses the first chart by keyboard, and
/// finds what is wider than the screen.
const COUNT_SCRIPT: &str = r#"<script>
setTimeout(() => {
  const all = (place, what) => Array.from(place.querySelectorAll(what));
  const count = (place, what) => all(place, what).length;
  const pieces = (place, what) =>
    all(place, what).reduce((sum, path) => sum + path.getAttribute("d").split("M").length - 1, 0);
  const charts = {};
  for (const place of document.querySelectorAll("figure.chart[id]")) {
    charts[place.id] = {
      lines: count(place, "path[data-name]:not(.dots, .bars)"),
      dots: pieces(place, ".dots"),
      bars: pieces(place, "path.bars") + count(place, "ul.bars > li"),
      marks: count(place, ".mark"),
      words: count(place, ".said li, ul.bars > li"),
      reached: place.tabIndex === 0 || count(place, "summary") + count(place, "ul.bars") > 0,
      links: count(place, "a"),
      labels: all(place, ".legend > span").map((key) => key.textContent),
    };
  }
  const keyboard = {};
  const chart = document.querySelector("figure.chart[data-x]");
  if (chart) {
    const press = (key) =>
      chart.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const seen = () => chart.querySelector("svg").getAttribute("viewBox");
    chart.focus();
    keyboard.focused = document.activeElement === chart;
    keyboard.before = seen();
    press("Home");
    press("PageDown");
    keyboard.one = chart.querySelector(".spoken").textContent;
    press("ArrowRight");
    keyboard.next = chart.querySelector(".spoken").textContent;
    press("+");
    keyboard.zoomed = seen();
    press("0");
    keyboard.after = seen();
  }
  // What lies in a box that scrolls by itself is not cut.
  const scrolls = (one) => one && (["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX)
    || scrolls(one.parentElement));
  const isOutside = (place) => place.right > innerWidth + 1 || place.left < -1;
  const wide = all(document, "main *").filter((one) =>
    isOutside(one.getBoundingClientRect()) && !scrolls(one));
  const found = { errors: JSON.parse(document.body.dataset.scriptErrors), charts, keyboard,
    width: innerWidth, wide: wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 160)),
    stolen: "stolen" in window };
  document.body.dataset.found = encodeURIComponent(JSON.stringify(found));
}, 500);
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
    open_at(page, 1200)
}

/// The same on a screen of this width.
fn open_at(page: &str, width: u32) -> Option<Value> {
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
    let document = dump(&chromium, directory.path(), &file, width);
    let start = document
        .find("data-found=\"")
        .expect("the counting script ran")
        + 12;
    let length = document[start..].find('"').unwrap();
    Some(serde_json::from_str(&decoded(&document[start..start + length])).unwrap())
}

fn dump(chromium: &Path, directory: &Path, file: &Path, width: u32) -> String {
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
        .arg(format!("--window-size={width},2400"))
        .args(["--virtual-time-budget=20000", "--dump-dom"])
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

/// Fails unless no script failed, nothing is wider than the screen, and every chart has words and is
/// reached by keyboard.
#[track_caller]
fn assert_sound(found: &Value) {
    assert_eq!(found["errors"], serde_json::json!([]));
    assert_eq!(found["stolen"], false);
    assert_eq!(
        found["wide"],
        serde_json::json!([]),
        "on {}",
        found["width"]
    );
    for (id, chart) in found["charts"].as_object().unwrap() {
        assert!(chart["words"].as_u64().unwrap() > 0, "{id} has no words");
        assert_eq!(chart["reached"], true, "{id}");
        assert_eq!(chart["links"], 0, "{id}");
    }
}

fn count(found: &Value, chart: &str, what: &str) -> u64 {
    found["charts"][chart][what].as_u64().unwrap_or(0)
}

#[test]
fn curves_are_drawn_and_no_script_fails() {
    let mut one = sample::one_target();
    one.plan.rate_bytes_per_s = Some(1.5e9);
    let Some(found) = open(&measure_html(&[sample::two_targets(), one]).unwrap()) else {
        return;
    };
    assert_sound(&found);
    assert_eq!(found["charts"].as_object().unwrap().len(), 8);
    // Two targets and their sum, each thin and average; a latency each; four of CPU, three of
    // memory.
    assert_eq!(
        count(&found, "time-0", "lines"),
        3 * 2 + 2 + 4 + 3,
        "{found}"
    );
    // Four stalls and one kernel message.
    assert_eq!(count(&found, "time-0", "marks"), 4 + 1, "{found}");
    // One target, and the rate asked for.
    assert_eq!(
        count(&found, "time-1", "lines"),
        2 + 1 + 1 + 4 + 3,
        "{found}"
    );
    assert!(count(&found, "latency-0", "bars") > 20, "{found}");
    // The curve and the bound; the recommendation is a mark.
    assert_eq!(count(&found, "buffer-0", "lines"), 2, "{found}");
    assert_eq!(count(&found, "buffer-0", "marks"), 1, "{found}");
    // Rate, its average, and the longest latency of each run.
    assert_eq!(count(&found, "overlay", "lines"), 2 * 3, "{found}");
    assert_eq!(count(&found, "tails", "lines"), 2, "{found}");
}

#[test]
fn a_chart_is_read_and_zoomed_by_keyboard() {
    let Some(found) = open(&measure_html(&[sample::two_targets()]).unwrap()) else {
        return;
    };
    let keyboard = &found["keyboard"];
    assert_eq!(keyboard["focused"], true);
    let (one, next) = (&keyboard["one"], &keyboard["next"]);
    assert!(one.as_str().unwrap().contains("/dev/sdb: "), "{one}");
    assert!(
        one.as_str().unwrap().starts_with("At ") && one != next,
        "{next}"
    );
    let seen = |moment: &str| keyboard[moment].as_str().unwrap().to_owned();
    assert_eq!(seen("before"), seen("after"));
    assert_ne!(seen("before"), seen("zoomed"));
}

#[test]
fn nothing_is_cut_on_a_narrow_screen() {
    let mut measured = sample::two_targets();
    measured.effect = Some(sample::effect::effect());
    let pages = [
        measure_html(&[measured]),
        record_html(&[sample::recording::troubled()]),
        profile_html(&[sample::profile::shared()]),
        sweep_html(&[sample::sweep::seven_axes()]),
        diagnose_html(&[sample::diagnosis::three_walls()]),
    ];
    for page in pages {
        let Some(found) = open_at(&page.unwrap(), 400) else {
            return;
        };
        assert!(
            found["width"].as_u64().unwrap() <= 500,
            "{}",
            found["width"]
        );
        assert_sound(&found);
    }
}

#[test]
fn direct_and_buffered_are_on_one_picture() {
    let mut result = sample::one_target();
    result.effect = Some(sample::effect::effect());
    let Some(found) = open(&measure_html(&[result]).unwrap()) else {
        return;
    };
    assert_sound(&found);
    // Two paths, each with writes, timer and memory.
    assert_eq!(count(&found, "effect-0", "lines"), 2 * 3, "{found}");
    let labels = &found["charts"]["effect-0"]["labels"];
    assert_eq!(*labels, serde_json::json!(["direct", "buffered"]));
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
    assert_sound(&found);
    let labels = found["charts"]["time-0"]["labels"].as_array().unwrap();
    let is_text = |label: &Value| label.as_str().unwrap().contains("<a href=");
    assert!(labels.iter().any(is_text), "{labels:?}");
}

#[test]
fn curves_of_recordings_are_drawn_and_no_script_fails() {
    let results = [sample::recording::troubled(), sample::recording::whole()];
    let Some(found) = open(&record_html(&results).unwrap()) else {
        return;
    };
    assert_sound(&found);
    assert_eq!(found["charts"].as_object().unwrap().len(), 5 * 2);
    // Two streams and their sum, each in and durable; the buffer; a row for each of three causes;
    // four of CPU, three of memory.
    assert_eq!(
        count(&found, "time-0", "lines"),
        3 * 2 + 1 + 3 + 4 + 3,
        "{found}"
    );
    // A loss in three seconds, and one kernel message.
    assert_eq!(count(&found, "time-0", "marks"), 3 + 1, "{found}");
    assert_eq!(
        count(&found, "time-1", "lines"),
        2 + 1 + 1 + 4 + 3,
        "{found}"
    );
    assert_eq!(count(&found, "time-1", "marks"), 0, "{found}");
    assert!(count(&found, "appends-0", "bars") > 60, "{found}");
    assert_eq!(count(&found, "shares-0", "bars"), 3, "{found}");
    assert_eq!(count(&found, "members-0", "lines"), 3, "{found}");
    assert_eq!(count(&found, "buffer-0", "lines"), 2, "{found}");
}

#[test]
fn curves_of_profiles_are_drawn_and_no_script_fails() {
    let Some(found) = open(&profile_html(&[sample::profile::shared()]).unwrap()) else {
        return;
    };
    assert_sound(&found);
    // The zones of two targets, what they give alone, and all at once.
    assert_eq!(count(&found, "profile-0-0", "lines"), 2 + 1 + 1, "{found}");
    // Of 20 places one is bad, and has a mark instead; all at once was visited twice.
    assert_eq!(
        count(&found, "profile-0-0", "dots"),
        19 + 20 + 2 * 20,
        "{found}"
    );
    assert_eq!(count(&found, "profile-0-0", "marks"), 1, "{found}");
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
    assert_sound(&found);
}
