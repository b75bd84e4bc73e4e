//! What a terminal and a pipe really receive.

use std::sync::{Arc, Mutex};

use indicatif::InMemoryTerm;
use sustain_document::vocabulary::Ending;

use super::*;

#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn targets() -> Vec<LiveTarget> {
    let first = LiveTarget {
        name: "/dev/nvme0n1".to_owned(),
        instant_bytes_per_s: 3.81e9,
        average_bytes_per_s: 3.8e9,
        share: 0.93,
        in_flight: 8,
        ended: None,
    };
    let second = LiveTarget {
        name: "/dev/sdb\x1b[2J".to_owned(),
        instant_bytes_per_s: 251e6,
        average_bytes_per_s: 248e6,
        share: 0.07,
        ended: Some(Ending::Error),
        ..first.clone()
    };
    vec![first, second]
}

fn live(phase: Phase, elapsed_s: f64, targets: &[LiveTarget]) -> Live {
    Live {
        phase,
        elapsed_s,
        remaining_s: Some(30.0 - elapsed_s),
        then_s: None,
        done: None,
        targets: targets.to_vec(),
    }
}

#[test]
fn pipe_has_a_plain_line_per_target_each_ten_seconds() {
    let (pipe, targets) = (Pipe::default(), targets());
    let mut view = LiveView::new(LiveKind::Plain, Box::new(pipe.clone()));
    for tenth in 0..250 {
        view.update(&live(Phase::Measure, f64::from(tenth) / 10.0, &targets));
    }
    view.update(&live(Phase::Confirm, 1.2, &targets[..1]));
    view.finish();
    insta::assert_snapshot!(pipe.text(), @r#"
    measuring, 1 s so far, 29 s to go: /dev/nvme0n1  3.81 GB/s  avg 3.80 GB/s   93 % of all    8 in flight
    measuring, 1 s so far, 29 s to go: /dev/sdb�[2J   251 MB/s  avg  248 MB/s    7 % of all  ended: error
    measuring, 1 s so far, 29 s to go: together  4.06 GB/s  avg 4.05 GB/s  100 % of all   16 in flight
    measuring, 10 s so far, 20 s to go: /dev/nvme0n1  3.81 GB/s  avg 3.80 GB/s   93 % of all    8 in flight
    measuring, 10 s so far, 20 s to go: /dev/sdb�[2J   251 MB/s  avg  248 MB/s    7 % of all  ended: error
    measuring, 10 s so far, 20 s to go: together  4.06 GB/s  avg 4.05 GB/s  100 % of all   16 in flight
    measuring, 20 s so far, 10 s to go: /dev/nvme0n1  3.81 GB/s  avg 3.80 GB/s   93 % of all    8 in flight
    measuring, 20 s so far, 10 s to go: /dev/sdb�[2J   251 MB/s  avg  248 MB/s    7 % of all  ended: error
    measuring, 20 s so far, 10 s to go: together  4.06 GB/s  avg 4.05 GB/s  100 % of all   16 in flight
    confirming at a paced rate, 1.2 s so far, 28.8 s to go: /dev/nvme0n1  3.81 GB/s  avg 3.80 GB/s   93 % of all    8 in flight
    "#);
    assert!(!pipe.text().contains('\x1b') && !pipe.text().contains('\r'));
}

/// The moments, in seconds, that a pipe hears of in a run of these seconds.
fn moments(kind: LiveKind, seconds: u32) -> Vec<u32> {
    let (pipe, targets) = (Pipe::default(), targets());
    let mut view = LiveView::new(kind, Box::new(pipe.clone()));
    let mut heard = Vec::new();
    for second in 0..=seconds {
        let before = pipe.text().len();
        view.update(&live(Phase::Measure, f64::from(second), &targets[..1]));
        if pipe.text().len() > before {
            heard.push(second);
        }
    }
    heard
}

#[test]
fn long_run_has_ever_longer_gaps_in_a_pipe() {
    let heard = moments(LiveKind::Plain, 4000);
    let (even, doubling) = ([1, 10, 20, 30, 40, 50, 60], [80, 120, 200, 360, 680]);
    assert_eq!(heard[..7], even);
    assert_eq!(heard[7..12], doubling);
    // From then on each ten minutes.
    assert_eq!(heard[12..], [1280, 1880, 2480, 3080, 3680]);
}

#[test]
fn simulated_day_has_few_lines_in_a_pipe() {
    let heard = moments(LiveKind::PlainSimulated, 86_400);
    assert!(heard.len() <= 20, "{heard:?}");
    assert_eq!(heard[..9], [1, 10, 20, 30, 40, 50, 60, 80, 120]);
}

#[test]
fn silent_view_writes_nothing() {
    let (pipe, targets) = (Pipe::default(), targets());
    let mut view = LiveView::new(LiveKind::Silent, Box::new(pipe.clone()));
    view.update(&live(Phase::Measure, 1.0, &targets));
    assert_eq!(pipe.text(), "");
}

#[test]
fn terminal_has_a_heading_and_a_line_per_target_and_ends_clean() {
    let (term, mut targets) = (InMemoryTerm::new(20, 100), targets());
    // This terminal gives a replaced control character no column, and real ones do.
    targets[1].name = "/dev/sdb".to_owned();
    let mut view = LiveView::drawn_on(ProgressDrawTarget::term_like(Box::new(term.clone())));
    view.update(&live(Phase::Measure, 12.3, &targets));
    insta::assert_snapshot!(term.contents(), @r#"
    measuring, 12.3 s so far, 17.7 s to go
    /dev/nvme0n1  3.81 GB/s  avg 3.80 GB/s   93 % of all    8 in flight
    /dev/sdb       251 MB/s  avg  248 MB/s    7 % of all  ended: error
    together      4.06 GB/s  avg 4.05 GB/s  100 % of all   16 in flight
    "#);
    view.finish();
    assert_eq!(term.contents(), "");
}

#[test]
fn narrow_terminal_cuts_its_lines() {
    let (term, targets) = (InMemoryTerm::new(20, 40), targets());
    let mut view = LiveView::drawn_on(ProgressDrawTarget::term_like(Box::new(term.clone())));
    view.update(&live(Phase::Measure, 12.3, &targets));
    let lines: Vec<String> = term.contents().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 40),
        "{lines:?}"
    );
}

#[test]
fn a_heading_tells_what_is_to_come_after_the_phase() {
    let told = |then_s| {
        heading(&Live {
            then_s,
            ..live(Phase::Measure, 12.0, &[])
        })
    };
    assert_eq!(told(None), "measuring, 12 s so far, 18 s to go");
    let after = [
        ([15.0, 65.0], ", then 15 s to 1.08 min more"),
        ([14.0, 14.0], ", then 14 s more"),
        ([0.0, 50.0], ", then up to 50 s more"),
        ([0.0, 0.0], ""),
    ];
    for (then_s, words) in after {
        let expected = format!("measuring, 12 s so far, 18 s to go{words}");
        assert_eq!(told(Some(then_s)), expected);
    }
}
