//! The page of diagnoses as text: complete, harmless, alike each time, and without a request to
//! anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use sample::diagnosis::{collapse, interrupted, three_walls, unexplained, without_wall};
use sample::{headings_of, words_within};
use sustain_document::chain::TopologyHop;
use sustain_document::diagnose::{DiagnoseResult, Dropped, Fall, MemberLimit, UnexplainedLoss};
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
    assert_eq!(bars.matches("class=\"fair\"").count(), 4);
    let matrix = part(&page, "All subsets that");
    assert_eq!(matrix.matches("class=\"at w1\"").count(), 2);
    // /dev/sda beside /dev/sde: no wall tells why it is slower.
    assert_eq!(matrix.matches("class=\"at lost\"").count(), 1);
    assert_eq!(matrix.matches("<td class=\"alarming\">").count(), 1);
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
    let rows = matrix.matches("<tr><th scope=").count();
    // The head; alone, all, two pairs, all beside the dummy.
    assert_eq!(rows, 1 + 5);
    assert_in_order(
        matrix,
        &[
            "<th scope=\"row\">alone</th>",
            "5 readings of 5 disks, each alone",
            "<th scope=\"row\">2 ×2</th>",
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
    insta::assert_snapshot!(said, @"
    These 5 targets read 353 MB/s together, 68 % of the sum of their rates alone. /dev/sda, /dev/sdb, /dev/sdc, /dev/sdd share a limit of 58.6 MB/s at PCIe link. The best way to use them is independent queues on /dev/sda, /dev/sdb, /dev/sdc, /dev/sde (350 MB/s measured); a store that `sustain create` makes on them is written so.
     measured  predicted  targets
     353 MB/s   353 MB/s  /dev/sda, /dev/sdb, /dev/sdc, /dev/sdd, /dev/sde
     140 MB/s   140 MB/s  /dev/sdc, /dev/sdd
     181 MB/s   206 MB/s  /dev/sda, /dev/sde

    alone: /dev/sda 105 MB/s, /dev/sdb 104 MB/s, /dev/sdc 106 MB/s, /dev/sdd 103 MB/s, /dev/sde 101 MB/s
    together: 353 MB/s, 68 % of the sum of their rates alone

    A wall is a limit that several targets share.

    Wall 1: 58.6 MB/s shared by /dev/sda, /dev/sdb, /dev/sdc, /dev/sdd
      where: PCIe link: 230 MB/s of the 274 MB/s that it can carry, 84 %
      a collapse: sda, sdb together reach less than sda (33.1 MB/s against 35.0 MB/s); all of them together reach the most, 58.6 MB/s; rates fall to a half, a third or less of those alone, as where disks miss revolutions; the readings agree on it (confidence in this wall over 99 %); least certain is that /dev/sde does not share it: if it did, one reading would be off by 6.5 standard deviations
      tested with /dev/sda, /dev/sdb, /dev/sdc: 252 MB/s predicted, 250 MB/s measured
      shares: 46.0 MB/s to 70.0 MB/s, the same in each reading
      /dev/sdd gets only 46.0 MB/s; an even share is 63.0 MB/s

    What to do (best first; other cables last)
      1. independent queues on /dev/sda, /dev/sdb, /dev/sdc, /dev/sde: 353 MB/s expected, 350 MB/s measured; /dev/sdd adds nothing
      2. a stripe with chunks of 1 MiB over /dev/sda, /dev/sdc, /dev/sde, /dev/sdb, /dev/sdd: 230 MB/s expected, 350 MB/s measured; in lockstep each goes at 46 MB/s
      3. other cables for /dev/sdc: 353 MB/s expected; move /dev/sdc from port 2 to a free port
    note: something changed meanwhile, by up to -2.1 %
    ");
    insta::assert_snapshot!(words_within(part(&page, "Walls")), @"
    Walls: limits that several disks share
    Wall 1: 58.6 MB/s shared by 4 of 5 targets
    shared by 4 of 5 targets
    The wall
    shared by | sda, sdb, sdc, sdd
    limit | 58.6 MB/s ± 400 kB/s; without it, its members would reach 66 % more
    kind | collapse: sda, sdb together reach less than sda (33.1 MB/s against 35.0 MB/s); all of them together reach the most, 58.6 MB/s; rates fall to a half, a third or less of those alone, as where disks miss revolutions
    place | PCIe link: 230 MB/s of the 274 MB/s that it can carry, 84 %
    certainty | the readings agree on it; confidence over 99 %
    weakest evidence | that sde does not share it: with sda, sde active, the reading was 6.5 standard deviations from what the other answer predicts
    shares | 46.0 MB/s to 70.0 MB/s, the same in each reading; less than an even share: sdd
    Test: predicted for sda, sdb, sdc, then measured; they differ by -0.8 %
    predicted | 252 MB/s
    measured | 250 MB/s
    ");
}

#[test]
fn many_disks_have_small_cells_and_short_lists() {
    let mut result = without_wall(64);
    let mut wall = three_walls().walls.remove(2);
    wall.members.clone_from(&result.order.names);
    result.walls = vec![wall];
    let page = page(result);
    assert_eq!(page.matches("class=\"matrix dense\"").count(), 1);
    insta::assert_snapshot!(words_within(part(&page, "Walls")), @"

    Walls: limits that several disks share
    Wall 1: 190 MB/s shared by 64 of 64 targets
    shared by 64 of 64 targets
    The wall
    shared by | d00, d01, d02, d03, d04, d05, d06, d07, d08, d09, d10 and 53 more
    limit | 190 MB/s ± 400 kB/s; without it, its members would reach 66 % more
    kind | limit: the sum stays the same when more disks are active
    place | no known part of the machine explains it: nothing is known that the data of all of them passes through
    certainty | some of its targets share another wall too; confidence over 99 %
    weakest evidence | that /dev/sde does not share it: with /dev/sda, /dev/sde active, the reading was 6.5 standard deviations from what the other answer predicts
    ");
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
    assert_eq!(page(result.clone()).matches("The whole answer").count(), 0);
    for _ in 0..9 {
        result.walls.push(result.walls[1].clone());
    }
    let page = page(result);
    let answer = page.split_once("<h1>").unwrap().1;
    let answer = answer.split("<h2>Rate of each disk").next().unwrap();
    insta::assert_snapshot!(words_within(&format!("<h1>{answer}")), @"
    Limits that 5 targets share when reading
    These 5 targets read 353 MB/s together, 68 % of the sum of their rates alone.
    519 MB/s | the sum of the rates alone
    353 MB/s | the rate of all together
    68 % | of the sum is reached together
    12 walls | a wall is a limit that several targets share
    10 | runs of 3 s, 30 s in all
    sda, sdb, sdc, sdd share a limit of 252 MB/s at PCIe link. sdc, sdd share a limit of 140 MB/s at port 1. There are 10 more shared limits. The best layout is independent on 4 targets (350 MB/s measured).
    The whole answer
    These 5 targets read 353 MB/s together, 68 % of the sum of their rates alone. /dev/sda, /dev/sdb, /dev/sdc, /dev/sdd share a limit of 252 MB/s at PCIe link. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdb, /dev/sdc share a limit of 190 MB/s. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. /dev/sdc, /dev/sdd share a limit of 140 MB/s at port 1. The best way to use them is independent queues on /dev/sda, /dev/sdb, /dev/sdc, /dev/sde (350 MB/s measured); a store that `sustain create` makes on them is written so.
    ");
}

#[test]
fn several_diagnoses_have_a_table_of_all_and_a_section_each() {
    let page = with_plain_spaces(&[three_walls(), without_wall(3)]);
    insta::assert_snapshot!(headings_of(&page), @"
    2 diagnoses
    Limits that 5 targets share when reading
      Rate of each disk, alone and together
      The machine and its walls
      Walls: limits that several disks share
        Wall 1: 252 MB/s shared by 4 of 5 targets
        Wall 2: 140 MB/s shared by 2 of 5 targets
        Wall 3: 190 MB/s shared by 2 of 5 targets
      All subsets that were measured
      What to do (best first; other cables last)
        Independent queues on sda, sdb, sdc, sde
        A stripe with chunks of 1 MiB over sda, sdc, sde, sdb, sdd
        Other cables: sdc away from port 2
      Notes
      How steady the disks were
      Rates
      Kernel messages
      Command and settings
      Machine, devices and file systems
        Machine
        Device
        Device
        File system of data.bin
    Limits that d00, d01 and d02 share when reading
      Rate of each disk, alone and together
      The machine and its walls
      Walls
      All subsets that were measured
      How steady the disks were
      Rates
      Command and settings
    ");
    assert_eq!(page.matches("id=\"diagnosis-").count(), 2);
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
    insta::assert_snapshot!(words_within(bars), @"
    Rate of each disk, alone and together
    alone | slower than alone, and no wall explains it
    d00 | 100 MB/s of 100 MB/s: 100 %
    d01 | 100 MB/s of 100 MB/s: 100 %
    d02 | 100 MB/s of 100 MB/s: 100 %
    Grey: the rate of a disk alone. Coloured, inside it: its rate while all disks are active.
    ");
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
    insta::assert_snapshot!(words_within(bars), @"
    Rate of each disk, alone and together
    alone
    sda | 70.0 MB/s of 105 MB/s: 67 %
    sdb | 70.0 MB/s of 104 MB/s: 67 %
    sdc | 66.0 MB/s of 106 MB/s: 62 %
    sdd | 46.0 MB/s of 103 MB/s: 45 %
    sde | 101 MB/s of 101 MB/s: 100 %
    Grey: the rate of a disk alone. Coloured, inside it: its rate while all disks are active.
    With all disks active, less than an even share:
    sdd gets 46.0 MB/s of wall 1; an even share is 63.0 MB/s
    sdd gets 46.0 MB/s of wall 2; an even share is 70.0 MB/s
    ");
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
    let answer = answer.split_once("<h1>").unwrap().1;
    insta::assert_snapshot!(words_within(&format!("<h1>{answer}")), @"

    Limits that 5 targets share when reading
    These 5 targets read 353 MB/s together, 68 % of the sum of their rates alone.
    519 MB/s | the sum of the rates alone
    353 MB/s | the rate of all together
    68 % | of the sum is reached together
    1 wall | and 11 that are not certain; a wall is a limit that several targets share
    10 | runs of 3 s, 30 s in all
    sda, sdb, sdc, sdd share a limit of 252 MB/s at PCIe link. sdc, sdd may share a limit of 140 MB/s at port 1. There may be 10 more shared limits. sda, sdc together lose 50.0 MB/s, and these limits do not explain it: the answer is not complete. The best layout is independent on 4 targets (350 MB/s measured).
    ");
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
    assert_eq!(
        page.matches("<b class=\"swatch w0 unsure\"></b>").count(),
        1
    );
    insta::assert_snapshot!(words_within(part(&page, "Rate of each disk")), @"
    Rate of each disk, alone and together
    alone | with all active: limited by wall 1, not certain (300 MB/s) | with all active: as fast as alone | an even share
    sda | 70.0 MB/s of 105 MB/s: 67 %
    sdb | 70.0 MB/s of 104 MB/s: 67 %
    sdc | 66.0 MB/s of 106 MB/s: 62 %
    sdd | 46.0 MB/s of 103 MB/s: 45 %
    sde | 101 MB/s of 101 MB/s: 100 %
    Grey: the rate of a disk alone. Coloured, inside it: its rate while all disks are active.
    With all disks active, less than an even share:
    sdd gets 46.0 MB/s of wall 1; an even share is 63.0 MB/s
    ");
    insta::assert_snapshot!(words_within(part(&page, "Walls")), @"

    Walls: limits that several disks share
    Wall 1, not certain: 300 MB/s shared by 4 of 5 targets
    shared by 4 of 5 targets
    The wall
    shared by | sda, sdb, sdc, sdd
    limit | 300 MB/s ± 400 kB/s; without it, its members would reach 66 % more
    kind | collapse: the sum falls when more of them are active, to 252 MB/s with all; rates fall to a half, a third or less of those alone, as where disks miss revolutions
    place | PCIe link: 230 MB/s of the 274 MB/s that it can carry, 84 %
    certainty | not certain; confidence 50 %
    weakest evidence | that sde does not share it: with sda, sde active, the reading was 6.5 standard deviations from what the other answer predicts
    shares | 46.0 MB/s to 70.0 MB/s, the same in each reading; less than an even share: sdd
    Test: predicted for sda, sdb, sdc, then measured; they differ by -0.8 %
    predicted | 252 MB/s
    measured | 250 MB/s
    ");
}
