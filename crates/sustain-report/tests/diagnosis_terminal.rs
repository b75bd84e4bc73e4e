//! A diagnosis in a terminal: the walls, where they sit and what to do, within the width.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use std::io::Write;
use std::sync::{Arc, Mutex};

use sample::diagnosis::{interrupted, three_walls, unexplained, without_wall};
use sustain_document::diagnose::DiagnoseResult;
use sustain_experiments::diagnose::{DiagnoseEvent, Measured, Measuring};
use sustain_load::event::{Live, LiveTarget, Phase};
use sustain_report::terminal::{
    DiagnoseView, LiveKind, diagnosis_answer, diagnosis_sentence, diagnosis_text,
};

/// What was written to a pipe.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Without line breaks, so that words stand next to each other.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The paragraph of the text that begins with these words.
fn paragraph(result: &DiagnoseResult, words: &str) -> String {
    let text = diagnosis_text(result, 100);
    let paragraph = text.split("\n\n").find(|one| one.starts_with(words));
    paragraph.unwrap().to_owned()
}

#[test]
fn each_wall_says_where_it_sits_and_how_sure_it_is() {
    let text = diagnosis_text(&three_walls(), 100);
    insta::assert_snapshot!("three_walls", text);
}

#[test]
fn that_there_is_no_wall_is_an_answer_with_its_bound() {
    let sentence = diagnosis_sentence(&without_wall(3));
    insta::assert_snapshot!("without_wall", sentence);
}

#[test]
fn a_loss_that_no_wall_explains_is_the_answer() {
    let sentence = diagnosis_sentence(&unexplained());
    insta::assert_snapshot!("unexplained_sentence", sentence);
    let text = diagnosis_text(&unexplained(), 100);
    insta::assert_snapshot!("unexplained", text);
}

#[test]
fn what_is_least_sure_says_whether_the_target_is_in_the_wall() {
    let mut result = three_walls();
    let wall = &mut result.walls[0];
    let weakest = wall.weakest.as_mut().unwrap();
    weakest.target = Some(wall.members[0].clone());
    insta::assert_snapshot!(paragraph(&result, "Wall 1"), @"
    Wall 1: 252 MB/s shared by /dev/sda, /dev/sdb, /dev/sdc, /dev/sdd
      where: PCIe link: 230 MB/s of the 274 MB/s that it can carry, 84 %
      a plain limit: the sum stays the same when more of them are active; the readings agree on it
        (confidence in this wall over 99 %); least certain is that /dev/sda shares it: if it did not,
        one reading would be off by 6.5 standard deviations
      tested with /dev/sda, /dev/sdb, /dev/sdc: 252 MB/s predicted, 250 MB/s measured
      shares: 46.0 MB/s to 70.0 MB/s, the same in each reading
      /dev/sdd gets only 46.0 MB/s; an even share is 63.0 MB/s
    ");
    result.walls[0].weakest.as_mut().unwrap().target = Some("/dev/sde".to_owned());
    insta::assert_snapshot!(paragraph(&result, "Wall 1"), @"
    Wall 1: 252 MB/s shared by /dev/sda, /dev/sdb, /dev/sdc, /dev/sdd
      where: PCIe link: 230 MB/s of the 274 MB/s that it can carry, 84 %
      a plain limit: the sum stays the same when more of them are active; the readings agree on it
        (confidence in this wall over 99 %); least certain is that /dev/sde does not share it: if it
        did, one reading would be off by 6.5 standard deviations
      tested with /dev/sda, /dev/sdb, /dev/sdc: 252 MB/s predicted, 250 MB/s measured
      shares: 46.0 MB/s to 70.0 MB/s, the same in each reading
      /dev/sdd gets only 46.0 MB/s; an even share is 63.0 MB/s
    ");
}

#[test]
fn what_may_be_less_is_said_to_be_expected_at_most() {
    let mut result = three_walls();
    result.advice[0].is_at_most = true;
    insta::assert_snapshot!(paragraph(&result, "What to do"), @"
    What to do (best first; other cables last)
      1. independent queues on /dev/sda, /dev/sdb, /dev/sdc, /dev/sde: at most 353 MB/s expected,
        350 MB/s measured; /dev/sdd adds nothing
      2. a stripe with chunks of 1 MiB over /dev/sda, /dev/sdc, /dev/sde, /dev/sdb, /dev/sdd: 230 MB/s
        expected, 350 MB/s measured; in lockstep each goes at 46 MB/s
      3. other cables for /dev/sdc: 353 MB/s expected; move /dev/sdc from port 2 to a free port
    note: something changed meanwhile, by up to -2.1 %
    ");
}

#[test]
fn what_may_be_more_is_said_to_be_expected_at_least() {
    let mut result = three_walls();
    result.advice[0].is_at_least = true;
    let advice = paragraph(&result, "What to do");
    insta::assert_snapshot!(advice.lines().nth(1).unwrap(), @"  1. independent queues on /dev/sda, /dev/sdb, /dev/sdc, /dev/sde: at least 353 MB/s expected,");
}

#[test]
fn a_diagnosis_that_ended_before_its_first_reading_says_that_nothing_was_measured() {
    let mut result = interrupted();
    result
        .alone
        .iter_mut()
        .for_each(|alone| alone.rate_bytes_per_s = None);
    result.measurements.clear();
    insta::assert_snapshot!("nothing_measured", diagnosis_text(&result, 100));
}

#[test]
fn an_interrupted_diagnosis_says_so() {
    insta::assert_snapshot!("interrupted", diagnosis_sentence(&interrupted()));
}

#[test]
fn lines_keep_to_the_width() {
    let text = diagnosis_text(&three_walls(), 60);
    // The list of subsets is a table; all else is broken at words.
    let prose = text.split("\n\n").skip(1).collect::<Vec<_>>().join("\n");
    assert!(
        prose.lines().all(|line| line.chars().count() <= 60),
        "{prose}"
    );
    let answer = diagnosis_answer(&three_walls(), 60);
    assert!(
        answer.lines().all(|line| line.chars().count() <= 60) && answer.lines().count() > 1,
        "{answer}"
    );
    assert_eq!(unwrapped(&answer), diagnosis_sentence(&three_walls()));
}

#[test]
fn text_from_outside_cannot_move_the_cursor() {
    let mut result = three_walls();
    result.notes.push("a\u{7}note".to_owned());
    result.alone[0].target = "\u{1b}[31mred".to_owned();
    result.walls[0].members[0] = "\u{1b}[2Jsda".to_owned();
    let text = diagnosis_text(&result, 100) + &diagnosis_sentence(&result);
    let is_control = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(is_control), "{text:?}");
}

#[test]
fn a_pipe_gets_a_line_for_each_subset_and_how_long_it_still_takes() {
    let written = Pipe::default();
    let mut view = DiagnoseView::new(LiveKind::Plain, Box::new(written.clone()));
    let measuring = Measuring {
        number: 3,
        remaining: 5,
        remaining_s: 15.0,
        why: "each target alone".to_owned(),
    };
    let live = Live {
        phase: Phase::Subset,
        elapsed_s: 2.0,
        remaining_s: Some(1.0),
        then_s: None,
        done: None,
        targets: vec![LiveTarget {
            name: "sda".to_owned(),
            instant_bytes_per_s: 105e6,
            average_bytes_per_s: 105e6,
            share: 1.0,
            in_flight: 8,
            ended: None,
        }],
    };
    view.take(&DiagnoseEvent::Live(measuring.clone(), live));
    view.take(&DiagnoseEvent::Measured(Measured {
        measuring,
        targets: vec!["sda".to_owned(), "sdb".to_owned()],
        rates_bytes_per_s: vec![100e6, 105e6],
        failed: false,
    }));
    view.finish();
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    insta::assert_snapshot!("lines_of_subsets", text);
}

#[test]
fn an_uncertain_wall_is_told_as_one_that_may_be() {
    let mut result = three_walls();
    result.walls[1].confidence = 0.5;
    insta::assert_snapshot!(paragraph(&result, "Wall 2"), @"
    Wall 2: 140 MB/s perhaps shared by /dev/sdc, /dev/sdd
      where: port 1: 230 MB/s of the 274 MB/s that it can carry, 84 %
      a plain limit: the sum stays the same when more of them are active; not certain (confidence in
        this wall 50 %); least certain is that /dev/sde does not share it: if it did, one reading would
        be off by 6.5 standard deviations
      shares: 46.0 MB/s to 66.0 MB/s, the same in each reading
      /dev/sdd gets only 46.0 MB/s; an even share is 70.0 MB/s
    ");
    insta::assert_snapshot!(diagnosis_answer(&result, 100), @"
    These 5 targets read 353 MB/s together, 68 % of the sum of their rates alone. /dev/sda, /dev/sdb,
      /dev/sdc, /dev/sdd share a limit of 252 MB/s at PCIe link. /dev/sdc, /dev/sdd may share a limit of
      140 MB/s at port 1. /dev/sdb, /dev/sdc share a limit of 190 MB/s. The best way to use them is
      independent queues on /dev/sda, /dev/sdb, /dev/sdc, /dev/sde (350 MB/s measured); a store that
      `sustain create` makes on them is written so.
    ");
}

#[test]
fn the_name_of_a_target_is_not_capitalized_where_it_begins_a_sentence() {
    let mut result = unexplained();
    let loss = result.unexplained.as_mut().unwrap();
    loss.members = vec!["g1".to_owned(), "g3".to_owned()];
    insta::assert_snapshot!(diagnosis_answer(&result, 100), @"
    These 5 targets read 400 MB/s together, 80 % of the sum of their rates alone. g1, g3 together lose
      100 MB/s, and no limit that was found explains it: the answer is not complete.
    ");
}
