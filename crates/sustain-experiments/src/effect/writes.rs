//! The probe workload that writes 4 KiB with fsync, as a database or an editor does, in a thread of
//! its own. It writes at most a hundred times a second, so that it is no load itself.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::fsync;
use rustix::io::{Errno, pwrite};
use sustain_disk::clock::Clock;
use sustain_disk::data::FreshData;

use super::board::{ObservedPhase, Pen, ProbeBoard, ProbeLog};
use super::latencies::Latencies;
use super::pace::ProbePace;

/// Bytes of a write.
const WRITE_BYTES: usize = 4096;
/// The writes go round in this much of the file, whose blocks are allocated before they begin.
const FILE_WRITES: u64 = 256;
/// The least time from the start of one write to the start of the next.
const PERIOD_NS: u64 = 10_000_000;
/// The number of writes in a second if each is done within its time.
pub(super) const OFFERED_PER_S: f64 = 1e9 / PERIOD_NS as f64;

/// Writes until the board is closed, or a write fails.
pub(super) fn run(
    file: &Arc<OwnedFd>,
    clock: &Clock,
    board: &ProbeBoard,
    log: ProbeLog<Latencies>,
) {
    let mut pen = Pen::new(log, board.clone());
    let (mut data, mut block) = (FreshData::new(0), vec![0; WRITE_BYTES]);
    data.fill(&mut block);
    let write = |number: u64, block: &[u8]| {
        write_all(file, block, number % FILE_WRITES * WRITE_BYTES as u64)?;
        fsync(file)
    };
    let mut failed = (0..FILE_WRITES)
        .try_for_each(|number| write_all(file, &block, number * WRITE_BYTES as u64))
        .and_then(|()| fsync(file));
    let mut pace = ProbePace::from(clock.now(), PERIOD_NS);
    let mut number = 0;
    while failed.is_ok() && !board.is_over() {
        clock.wait_until(pace.due());
        data.stamp(&mut block);
        let (begun, start) = (pen.look(), clock.now());
        pen.begin(start, begun);
        failed = write(number, &block);
        let end = clock.now();
        if failed.is_ok() {
            let stretch = ObservedPhase::of(begun, board.stretch());
            pen.enter(stretch, |seen| seen.record(end.since_ns(start), end));
        }
        number += 1;
        pace.go_on(end);
    }
    if let Err(errno) = failed {
        pen.fail(format!("a write failed: {errno}"));
    }
}

fn write_all(file: &Arc<OwnedFd>, block: &[u8], offset_bytes: u64) -> Result<(), Errno> {
    match pwrite(file, block, offset_bytes)? {
        written if written == block.len() => Ok(()),
        // The kernel took only a part of the write, and the rest would find no space.
        _ => Err(Errno::NOSPC),
    }
}
