//! The page of diagnoses as text: complete, harmless, alike each time, and without a request to
//! anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use sample::diagnosis::{collapse, interrupted, three_walls, unexplained, without_wall};
use sustain_document::diagnose::{
    DiagnoseResult, Dropped, Fall, MemberLimit, TopologyHop, UnexplainedLoss,
};
use sustain_report::ReportError;
use sustain_report::html::diagnose_html;
use sustain_report::terminal::{diagnosis_answer, diagnosis_text};

fn page(result: DiagnoseResult) -> String {
    with_plain_spaces(&[result])
}

/// The page of these; what keeps a figure and its unit on one line is of no matter here.
fn with_plain_spaces(results: &[DiagnoseResult]) -> String {
    diagnose_html(results).unwrap().replace('\u{a0}', " ")
}

#[track_caller]
fn assert_in_order(page: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        let found = page[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing or out of its place"));
    }
}

/// From one heading to the next.
#[track_caller]
fn part<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page.find(&format!("<h2>{heading}")).unwrap();
    let length = page[start + 4..].find("<h2>").unwrap();
    &page[start..start + 4 + length]
}

/// A diagnosis in which every text from outside tries to leave its place.
fn hostile() -> DiagnoseResult {
    const ATTACK: &str =
        "</script><script>window.stolen=1</script><img src=x onerror=window.stolen=1>\"'";
    let text = || ATTACK.to_owned();
    let mut result = three_walls();
    let hop = |hop: &mut TopologyHop| {
        (hop.id, hop.name) = (text(), text());
        hop.formula = Some(text());
    };
    // Each name another one, as targets have.
    let mut number = 0;
    let mut names = |names: &mut Vec<String>| {
        for name in names {
            number += 1;
            *name = format!("{number}{ATTACK}");
        }
    };
    names(&mut result.order.names);
    let targets = result.order.names.clone();
    for (index, target) in targets.iter().enumerate() {
        result.alone[index].target.clone_from(target);
        result.order.ways[index].target.clone_from(target);
        result.order.ways[index].hops[1..].iter_mut().for_each(hop);
    }
    for wall in &mut result.walls {
        wall.members = targets[..wall.members.len()].to_vec();
        wall.explained_by = wall.explained_by.is_some().then(text);
        wall.not_explained = Some(text());
        wall.hop.iter_mut().for_each(hop);
        wall.weakest.as_mut().unwrap().target = Some(text());
        wall.weakest.as_mut().unwrap().members = vec![text()];
        for (share, target) in wall.shares.iter_mut().zip(&targets) {
            share.target.clone_from(target);
            share.below_fair = true;
        }
        wall.prediction
            .iter_mut()
            .for_each(|prediction| names(&mut prediction.members));
    }
    for measurement in &mut result.measurements {
        measurement.members = targets[..measurement.members.len()].to_vec();
        measurement.step = text();
    }
    for advice in &mut result.advice {
        advice.why = text();
        names(&mut advice.order);
        names(&mut advice.leave_out);
        names(&mut advice.move_elsewhere);
    }
    result.dropped = vec![Dropped {
        target: text(),
        message: text(),
    }];
    result.notes = vec![text()];
    result.plan.arguments = vec!["diagnose".to_owned(), text()];
    result.plan.targets = vec![text()];
    (result.plan.engine_used, result.plan.engine_why) = (text(), text());
    (result.plan.sustain_version, result.plan.started) = (text(), Some(text()));
    result.system.kernel_messages[0].text = text();
    result.host.file_systems[0].target = text();
    result
}

#[test]
fn all_words_of_a_page_are_reviewed() {
    let mut result = three_walls();
    result.dropped = vec![Dropped {
        target: "/dev/sdf".to_owned(),
        message: "read at 3 GB: I/O error".to_owned(),
    }];
    insta::assert_snapshot!("three_walls", sample::words_of(&page(result)));
    insta::assert_snapshot!("interrupted", sample::words_of(&page(interrupted())));
    insta::assert_snapshot!("without_wall", sample::words_of(&page(without_wall(6))));
    insta::assert_snapshot!("collapse", sample::words_of(&page(collapse())));
    insta::assert_snapshot!("unexplained", sample::words_of(&page(unexplained())));
}

#[test]
fn disks_have_the_colour_of_the_wall_that_holds_them() {
    let page = page(three_walls());
    let bars = part(&page, "Rate of each disk");
    // The port is no wall while the link lets its disks have 112 of 140 MB/s.
    assert_eq!(bars.matches("class=\"got w0\"").count(), 4);
    assert_eq!(bars.matches("class=\"got free\"").count(), 1);
    assert!(bars.contains("limited by wall 1 (252 MB/s)") && !bars.contains("limited by wall 2"));
    assert_eq!(bars.matches("class=\"fair\"").count(), 4);
    let matrix = part(&page, "All subsets that");
    assert_eq!(matrix.matches("class=\"at w1\"").count(), 2);
    // /dev/sda beside /dev/sde: no wall tells why it is slower.
    assert_eq!(matrix.matches("class=\"at lost\"").count(), 1);
    assert!(matrix.contains("<td class=\"alarming\">-12.1 %</td>"));
}

#[test]
fn walls_stand_in_the_tree_where_they_sit_and_else_around_their_members() {
    let page = page(three_walls());
    let tree = part(&page, "The machine and its walls");
    assert_in_order(
        tree,
        &[
            "the whole machine",
            ">PCIe link<",
            "Wall 1: 252 MB/s",
            "84 % of the 300 MB/s it can carry",
            ">port 0<",
            "can carry 150 MB/s",
            ">port 1<",
            "Wall 2: 140 MB/s",
            "93 % of the 150 MB/s it can carry",
            "class=\"wallname\"",
            "Wall 3<",
            "190 MB/s",
        ],
    );
    // Each hop once; that of /dev/sde alone is told with the disk.
    assert_eq!(tree.matches("class=\"chip").count(), 2);
    assert!(!tree.contains(">port 2<") && tree.contains("no other disk passes port 2"));
}

#[test]
fn repeats_are_one_row_and_so_are_all_that_were_alone() {
    let page = page(three_walls());
    let matrix = part(&page, "All subsets that");
    let rows = matrix.matches("<tr><th>").count();
    // The head; alone, all, two pairs, all beside the dummy.
    assert_eq!(rows, 1 + 5);
    assert_in_order(
        matrix,
        &[
            "<th>alone</th>",
            "5 readings of 5 disks, each alone",
            "<th>2 ×2</th>",
            "2 readings, 353 MB/s to 353 MB/s",
            "together with a target that is not a disk, at 88.0 MB/s",
        ],
    );
    assert!(matrix.contains("/dev/sda") && matrix.contains("sda: 70.0 MB/s, 67 % of alone"));
}

#[test]
fn what_no_wall_holds_has_the_colour_of_none() {
    for result in [interrupted(), without_wall(6)] {
        let page = page(result);
        assert!(!page.contains("class=\"wall ") && !page.contains("class=\"got w"));
    }
    let collapse = page(collapse());
    let bars = part(&collapse, "Rate of each disk");
    assert_eq!(bars.matches("class=\"got w0\"").count(), 4);
}

#[test]
fn a_collapse_whose_members_reach_the_most_together_tells_which_fell() {
    let mut result = collapse();
    let wall = &mut result.walls[0];
    wall.limit_bytes_per_s = 58.6e6;
    wall.at_full_load_bytes_per_s = Some(58.6e6);
    wall.fall = Some(Fall {
        members: vec!["sda".to_owned(), "sdb".to_owned()],
        rate_bytes_per_s: 33.1e6,
        fewer: vec!["sda".to_owned()],
        fewer_bytes_per_s: 35.0e6,
    });
    let said = diagnosis_answer(&result, 1000) + &diagnosis_text(&result, 1000);
    let page = page(result);
    for told in [said, page] {
        assert!(
            told.contains("sda, sdb together reach less than sda (33.1 MB/s against 35.0 MB/s)"),
            "{told}"
        );
        assert!(
            !told.contains("falls to 58.6 MB/s") && !told.contains("sum falls"),
            "{told}"
        );
    }
}

#[test]
fn many_disks_have_small_cells_and_short_lists() {
    let mut result = without_wall(64);
    let mut wall = three_walls().walls.remove(2);
    wall.members.clone_from(&result.order.names);
    result.walls = vec![wall];
    let page = page(result);
    assert!(page.contains("class=\"matrix dense\"") && page.contains("d10 and 53 more"));
    assert_eq!(page.matches("class=\"disk small\"").count(), 64);
    assert_eq!(
        part(&page, "All subsets that")
            .matches("<td class=\"at ")
            .count(),
        64
    );
}

#[test]
fn a_long_answer_is_told_in_short_first() {
    let mut result = three_walls();
    assert!(!page(result.clone()).contains("The whole answer"));
    for _ in 0..9 {
        result.walls.push(result.walls[1].clone());
    }
    assert_in_order(
        &page(result),
        &[
            "<p class=\"answer\">These 5 targets read 353 MB/s together, 68 % of the sum of their \
             rates alone.</p>",
            "<p>sda, sdb, sdc, sdd share a limit of 252 MB/s at PCIe link.",
            "There are 10 more shared limits. The best layout is independent on 4 targets (350 MB/s \
             measured).</p>",
            "<summary>The whole answer</summary>",
            "<h2>Rate of each disk",
        ],
    );
}

#[test]
fn several_diagnoses_have_a_table_of_all_and_a_section_each() {
    let page = with_plain_spaces(&[three_walls(), without_wall(3)]);
    assert!(page.contains("<h1>2 diagnoses</h1>"));
    assert!(page.contains("2. Limits that d00, d01 and d02 share when reading"));
    assert!(page.contains("id=\"diagnosis-0\"") && page.contains("id=\"diagnosis-1\""));
    assert!(matches!(diagnose_html(&[]), Err(ReportError::NoResults)));
}

#[test]
fn page_loads_nothing_and_is_small() {
    let page = page(three_walls());
    sample::assert_loads_nothing(&page);
    assert!(page.len() < 100_000);
}

#[test]
fn text_from_outside_stays_text() {
    let page = diagnose_html(&[hostile(), hostile()]).unwrap();
    sample::assert_only_own_elements(&sample::own_markup(&page));
    assert!(page.contains("&lt;script&gt;window.stolen=1"));
}

#[test]
fn the_same_result_gives_the_same_page() {
    assert_eq!(page(three_walls()), page(three_walls()));
}

#[test]
fn a_disk_whose_limit_is_unknown_is_not_drawn_as_free() {
    let mut lost = without_wall(3);
    lost.measurements[0].limited_by = vec![MemberLimit::Unknown; 3];
    let page = page(lost);
    let bars = part(&page, "Rate of each disk");
    assert!(
        bars.contains("slower than alone, and no wall explains it"),
        "{bars}"
    );
    assert!(!bars.contains("as fast as alone"), "{bars}");
}

#[test]
fn an_older_document_claims_no_limits() {
    let mut older = three_walls();
    for measurement in &mut older.measurements {
        measurement.limited_by.clear();
        measurement.is_as_predicted = None;
    }
    let page = page(older);
    let bars = part(&page, "Rate of each disk");
    assert!(!bars.contains("limited by wall") && !bars.contains("as fast as alone"));
    let matrix = part(&page, "All subsets that");
    assert!(
        !matrix.contains("at free") && !matrix.contains("alarming"),
        "{matrix}"
    );
}

#[test]
fn a_diagnosis_of_nothing_is_still_a_page() {
    let mut nothing = without_wall(0);
    nothing.measurements.clear();
    nothing.together = None;
    nothing.no_wall = None;
    assert!(!page(nothing).contains("NaN"));
    let mut still = three_walls();
    for alone in &mut still.alone {
        alone.rate_bytes_per_s = Some(0.0);
    }
    for measurement in &mut still.measurements {
        measurement.rates_bytes_per_s.fill(0.0);
        measurement.sum_bytes_per_s = 0.0;
        measurement.predicted_bytes_per_s = Some(0.0);
    }
    still.order.names.push("/dev/sdx".to_owned());
    let page = page(still);
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn only_certain_walls_are_counted_and_what_is_open_is_never_under_a_fold() {
    let mut result = three_walls();
    result.walls[0].confidence = 0.9;
    for _ in 0..9 {
        result.walls.push(result.walls[1].clone());
    }
    for wall in &mut result.walls[1..] {
        wall.confidence = 0.5;
    }
    result.unexplained = Some(UnexplainedLoss {
        members: vec!["sda".to_owned(), "sdc".to_owned()],
        expected_bytes_per_s: 200e6,
        measured_bytes_per_s: 150e6,
    });
    let page = with_plain_spaces(&[result]);
    let answer = &page[..page.find("The whole answer").unwrap()];
    for words in [
        "sdc, sdd may share a limit of ",
        "There may be 10 more shared limits.",
        "sda, sdc together lose 50.0 MB/s",
        "so the answer is not complete",
        "1 wall<",
        "and 11 that are not certain",
    ] {
        assert!(answer.contains(words), "{words}: {answer}");
    }
    // A card, a legend and a picture never show such a wall as a certain one.
    for marked in [
        "<div class=\"wall w0\"><h3>Wall 1: ",
        "<div class=\"wall w1 unsure\"><h3>Wall 2, not certain: ",
        "class=\"chip w1 unsure\"",
        "class=\"over w1 unsure\" title=\"wall 2, not certain: ",
        ">Wall 3?<",
    ] {
        assert!(page.contains(marked), "{marked}");
    }
    let mut only = collapse();
    only.walls[0].confidence = 0.5;
    let page = with_plain_spaces(&[only]);
    let legend =
        "<b class=\"swatch w0 unsure\"></b>with all active: limited by wall 1, not certain (";
    assert!(page.contains(legend));
    assert!(page.contains("<td>not certain; confidence 50 %</td>"));
}
