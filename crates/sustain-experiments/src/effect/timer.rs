//! The probe workload that wants to wake up each millisecond, as a player or a control loop does,
//! and notes how late it is. It is an ordinary thread with the kernel's usual timer slack, as most
//! programs have it.

use sustain_disk::clock::Clock;

use super::board::{ObservedPhase, Pen, ProbeBoard, ProbeLog};
use super::latencies::Latencies;
use super::pace::ProbePace;

/// Time between two wake-ups.
pub(super) const PERIOD_NS: u64 = 1_000_000;

/// Wakes up until the board is closed.
pub(super) fn run(clock: &Clock, board: &ProbeBoard, log: ProbeLog<Latencies>) {
    let mut pen = Pen::new(log, board.clone());
    let mut pace = ProbePace::from(clock.now(), PERIOD_NS);
    while !board.is_over() {
        let begun = pen.look();
        clock.wait_until(pace.due());
        let now = clock.now();
        let stretch = ObservedPhase::of(begun, board.stretch());
        pen.enter(stretch, |seen| seen.record(now.since_ns(pace.due()), now));
        pace.go_on(now);
    }
}
