//! What a person reads at the end of a run: every form of the sentence, and the table at several
//! widths.

mod sample;

use sustain_document::compare::{Metric, RowVerdict};
use sustain_document::dips::{Dip, DipCause};
use sustain_document::measure::{Attempt, MeasureResult, Rewritten};
use sustain_document::setting::name_by_flags;
use sustain_document::sweep::{AgainstBest, SweepPoint, SweepResult};
use sustain_document::vocabulary::{DataPath, Direction, Ending, ExperimentEnd, TargetKind};
use sustain_experiments::compare::{ComparePlan, compare};
use sustain_experiments::measure::verdicts::decide;
use sustain_report::terminal::{
    compare_answer, compare_sentence, compare_text, sentence, summary, sweep_answer, sweep_text,
};

/// The sentence of a sample changed by `change`, with what the run decides on such figures.
fn said(mut result: MeasureResult, change: impl FnOnce(&mut MeasureResult)) -> String {
    // A view is of the command, whose users type flags.
    name_by_flags();
    change(&mut result);
    result.verdicts = Some(decide(&result));
    sentence(&result)
}

#[test]
fn the_capacity_of_one_target_is_not_said_of_another() {
    let mut result = sample::two_targets();
    for (target, capacity_bytes) in result
        .targets
        .iter_mut()
        .zip([1_000_000_000_000, 2_000_000_000_000])
    {
        target.kind = TargetKind::Simulated;
        target.laps = 1;
        target.distinct_bytes = 5_000_000_000;
        target.capacity_bytes = Some(capacity_bytes);
    }
    let unequal = sentence(&result);
    assert!(
        unequal.contains("wrote 5.00 GB of each target once"),
        "{unequal}"
    );
    result.targets[0].capacity_bytes = Some(2_000_000_000_000);
    let alike = sentence(&result);
    assert!(
        alike.contains("wrote 5.00 GB of the 2.00 TB of each target once"),
        "{alike}"
    );
}

#[test]
fn confirmed_recommendation() {
    insta::assert_snapshot!(said(sample::two_targets(), |_| {}), @"A stream can be recorded at 1.98 GB/s on these 2 targets with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The first 20.1 GB were faster, at 3.35 GB/s, which does not last. The worst stall, with nothing completed, was 41.2 ms. The run rewrote 4 GiB of each target 3 times, so a cache of more than 4 GiB would go unnoticed (use a larger --size).");
    insta::assert_snapshot!(said(sample::one_target(), |_| {}), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn recommendation_that_uses_the_whole_buffer() {
    let said = said(sample::one_target(), |result| {
        result.recommendation.as_mut().unwrap().buffer_bytes = 512 << 20;
    });
    insta::assert_snapshot!(said, @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer (confirmed by a paced run of 10 s, which used 134 MiB). The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn recommendation_that_did_not_hold_or_was_not_tried() {
    let result = |confirmed| {
        said(sample::one_target(), |result| {
            let found = result.recommendation.as_mut().unwrap();
            found.confirmed = confirmed;
            found.held_seconds = confirmed.map(|_| 10.0);
            found.backlog_max_bytes = Some(700 << 20);
        })
    };
    insta::assert_snapshot!(result(Some(false)), @"By the stalls that were seen, a stream could be recorded at 1.98 GB/s with a 512 MiB buffer, but this rate did NOT hold in a paced run: up to 700 MiB were waiting within 10 s. The rate of the slowest 10 s was 1.97 GB/s. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    insta::assert_snapshot!(result(None), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (not confirmed by a paced run). The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn memory_is_said_to_be_needed_for_what_needs_it() {
    let said = |change: fn(&mut MeasureResult)| {
        said(sample::one_target(), |result| {
            let found = result.recommendation.as_mut().unwrap();
            (found.buffer_bytes, found.backlog_max_bytes) = (280 << 20, Some(1 << 20));
            change(result);
        })
        .split(". ")
        .next()
        .unwrap()
        .to_owned()
    };
    insta::assert_snapshot!(said(|_| {}), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 280 MiB are needed for the periods in which the run was slower than that (confirmed by a paced run of 10 s, which used 1 MiB)");
    let paused = said(|result| result.total.worst_stall_ns = 140_000_000);
    insta::assert_snapshot!(paused, @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 280 MiB are needed for the stalls seen (confirmed by a paced run of 10 s, which used 1 MiB)");
    let constant = said(|result| {
        for interval in &mut result.total.intervals {
            interval.bytes = 10_000_000_000;
        }
    });
    insta::assert_snapshot!(constant, @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which at most 280 MiB are needed (confirmed by a paced run of 10 s, which used 1 MiB)");
    let large = said(|result| result.plan.record_size_bytes = 128 << 20);
    insta::assert_snapshot!(large, @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 280 MiB are needed for the requests under way (confirmed by a paced run of 10 s, which used 1 MiB)");
}

#[test]
fn a_document_of_an_earlier_version_is_told_with_all_warnings() {
    let mut result = sample::two_targets();
    result.total.all_active_bytes_per_s = Some(1e9);
    result.recommendation.as_mut().unwrap().confirmed = Some(false);
    result.stalls[0].duration_ns = 60_000_000_000;
    name_by_flags();
    result.verdicts = Some(decide(&result));
    let told = sentence(&result);
    insta::assert_snapshot!(told, @"By the stalls that were seen, a stream could be recorded at 1.98 GB/s with a 512 MiB buffer, but this rate did NOT hold in a paced run: up to 134 MiB were waiting within 10 s. The rate of the slowest 10 s was 1.97 GB/s. The first 20.1 GB were faster, at 3.35 GB/s, which does not last. The worst stall of all targets at once was 41.2 ms, that of a single target 1 min on /dev/nvme0n1. A stall of 1 min was seen once in 40 s, which is too short to show how often such stalls come: use --time 40m. The run rewrote 4 GiB of each target 3 times, so a cache of more than 4 GiB would go unnoticed (use a larger --size).");
    result.verdicts = None;
    assert_eq!(sentence(&result), told);
}

#[test]
fn a_sweep_of_an_earlier_version_has_the_same_ties() {
    let mut result = sample::sweep::seven_axes();
    let told = [sweep_answer(&result, 400), sweep_text(&result, 400)];
    insta::assert_snapshot!(told[0], @"
    The best setting for writing is write, io_uring, depth 8: 398 MB/s ± 1.0 %. One other setting does not differ from it by more than noise.
      The cheapest setting within 2 % of it (the least depth; among equals the least CPU time, then memory) is write, io_uring, depth 8: 398 MB/s ± 1.0 %, no different from the best beyond noise; it takes 0.029 s of CPU time per GB, the best 0.029 s.
      engine and path and layout and chunk and order and record size and depth: each value comes within 2 % of the best, where the others suit it
    The best setting for reading is read, io_uring, depth 8: 398 MB/s ± 1.0 %. One other setting does not differ from it by more than noise.
      The cheapest setting within 2 % of it (the least depth; among equals the least CPU time, then memory) is read, io_uring, depth 8: 398 MB/s ± 1.0 %, no different from the best beyond noise; it takes 0.029 s of CPU time per GB, the best 0.029 s.
      engine and path and layout and chunk and order and record size and depth: each value comes within 2 % of the best, where the others suit it
    ");
    let points = result.points.iter_mut();
    let of_points = points.filter_map(|point| point.against_best.as_mut());
    let axes = result
        .answers
        .iter_mut()
        .flat_map(|answer| &mut answer.axes);
    let values = axes.flat_map(|axis| &mut axis.values);
    for against in of_points.chain(values.map(|value| &mut value.against_best)) {
        against.is_as_good = None;
    }
    assert_eq!([sweep_answer(&result, 400), sweep_text(&result, 400)], told);
}

#[test]
fn a_paced_run_of_hardly_a_record_confirms_nothing() {
    let said = said(sample::one_target(), |result| {
        let found = result.recommendation.as_mut().unwrap();
        (found.confirmed, found.held_seconds) = (None, Some(3.0));
    });
    insta::assert_snapshot!(said, @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (not confirmed: a paced run of 3 s was too short for the few records that fell due). The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn nothing_was_written_only_while_no_target_wrote() {
    let said = said(sample::two_targets(), |result| {
        // One target stalled for a minute, the other for a part of it.
        result.stalls[0].duration_ns = 60_000_000_000;
        result.total.worst_stall_ns = 12_000_000_000;
        let found = result.recommendation.as_mut().unwrap();
        found.worst_10_s_bytes_per_s = Some(0.0);
    });
    insta::assert_snapshot!(said, @"A stream can be recorded at 1.98 GB/s on these 2 targets with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The first 20.1 GB were faster, at 3.35 GB/s, which does not last. The worst stall of all targets at once was 12 s, that of a single target 1 min on /dev/nvme0n1. A stall of 1 min was seen once in 40 s, which is too short to show how often such stalls come: use --time 40m. The run rewrote 4 GiB of each target 3 times, so a cache of more than 4 GiB would go unnoticed (use a larger --size).");
}

#[test]
fn ten_seconds_of_nothing_are_no_rate() {
    let said = |stall_ns| {
        said(sample::one_target(), |result| {
            result.total.worst_stall_ns = stall_ns;
            let found = result.recommendation.as_mut().unwrap();
            found.worst_10_s_bytes_per_s = Some(0.0);
        })
    };
    insta::assert_snapshot!(said(14_000_000_000), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 14 s. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    insta::assert_snapshot!(said(9_990_000_000), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 9.99 s. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn rates_that_were_tried_before_one_held_or_none_did() {
    let result = |confirmed: bool| {
        said(sample::one_target(), |result| {
            let found = result.recommendation.as_mut().unwrap();
            let attempt = |rate_bytes_per_s, held| Attempt {
                rate_bytes_per_s,
                held,
                seconds: 10.0,
                backlog_max_bytes: 700 << 20,
                worst_stall_ns: 0,
            };
            found.attempts = vec![attempt(3.4e9, false), attempt(1.98e9, confirmed)];
            found.confirmed = Some(confirmed);
            found.backlog_max_bytes = Some(700 << 20);
            found.worst_10_s_bytes_per_s = Some(1.5e9);
        })
    };
    insta::assert_snapshot!(result(true), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s); 3.40 GB/s was tried first and did not hold. The rate of the slowest 10 s was 1.50 GB/s. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    insta::assert_snapshot!(result(false), @"No rate is confirmed at which a stream can be recorded with a 512 MiB buffer: of 2 paced runs, from 3.40 GB/s down to 1.98 GB/s, none held (up to 700 MiB were waiting in the last one). The rate of the slowest 10 s was 1.50 GB/s. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn bytes_that_are_new_for_each_write_are_told_where_they_go_slower() {
    let result = |is_slower| {
        said(sample::one_target(), |result| {
            result.rewritten = Some(Rewritten {
                rate_bytes_per_s: 2.9e9,
                fresh_bytes_per_s: 5.4e9,
                ratio: 2.9 / 5.4,
                is_slower,
                tool_limited: false,
                runs: Vec::new(),
            });
        })
    };
    insta::assert_snapshot!(result(true), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). A trial in which every byte was new, as in a recording, reached 2.90 GB/s; one with this run's bytes, most of which stay the same, reached 5.40 GB/s. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    assert_eq!(result(false), said(sample::one_target(), |_| {}));
}

#[test]
fn through_the_page_cache_the_rate_is_that_with_flushes_and_a_full_memory_is_missing() {
    let buffered = |result: &mut MeasureResult| {
        result.plan.path = DataPath::Buffered;
        result.recommendation = None;
        result.total.sustained.reached = false;
    };
    insta::assert_snapshot!(said(sample::one_target(), |result| {
        buffered(result);
        result.targets[0].kind = TargetKind::File;
        result.targets[0].distinct_bytes = 1500 << 20;
    }), @"This target writes 1.75 GB/s through the page cache, flushes included; measure with --path direct to learn the rate at which one may record. The worst stall, with nothing completed, was 41.2 ms. The file of 1500 MiB fits into the memory of 63 GiB, so no backlog larger than memory built up: use --size 128GiB --time 2m to see the disk behind a full cache.");
    // A device too small for that cannot show it, and is not asked to.
    insta::assert_snapshot!(said(sample::one_target(), |result| {
        buffered(result);
        result.targets[0].distinct_bytes = 1500 << 20;
        result.targets[0].capacity_bytes = Some(64 << 30);
    }), @"This target writes 1.75 GB/s through the page cache, flushes included; measure with --path direct to learn the rate at which one may record. The worst stall, with nothing completed, was 41.2 ms. The 1500 MiB written fit into the memory of 63 GiB, so no backlog larger than memory built up: there is not enough space here for one; --path direct shows what the disk itself takes.");
    insta::assert_snapshot!(said(sample::one_target(), |result| {
        buffered(result);
        result.targets[0].distinct_bytes = 1500 << 20;
        result.targets[0].capacity_bytes = Some(100 << 30);
    }), @"This target writes 1.75 GB/s through the page cache, flushes included; measure with --path direct to learn the rate at which one may record. The worst stall, with nothing completed, was 41.2 ms. The 1500 MiB written fit into the memory of 63 GiB, so no backlog larger than memory built up: use --size 100GiB --time 1m to see the disk behind a full cache.");
    // 77 GB were written, and 67 GB are the memory.
    insta::assert_snapshot!(said(sample::one_target(), buffered), @"This target writes 1.75 GB/s through the page cache, flushes included; measure with --path direct to learn the rate at which one may record. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn no_rate_fits_the_buffer() {
    let said = said(sample::one_target(), |result| result.recommendation = None);
    insta::assert_snapshot!(said, @"This target writes 1.75 GB/s steadily (± 17.5 MB/s), but no rate can be recommended with a 512 MiB buffer. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn not_steady_says_why() {
    let unsteady = |result: &mut MeasureResult| {
        result.total.sustained.reached = false;
        result.total.sustained.why = "falling 31 %: position or time, one pass cannot tell".into();
    };
    insta::assert_snapshot!(said(sample::one_target(), unsteady), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The rate was not found to be steady: falling 31 %: position or time, one pass cannot tell. From 6 s on it was 1.75 GB/s on average. So 1.98 GB/s may not last: a longer --time, or --until-steady, tells more. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    let without = said(sample::one_target(), |result| {
        unsteady(result);
        result.recommendation = None;
    });
    insta::assert_snapshot!(without, @"The rate was not found to be steady: falling 31 %: position or time, one pass cannot tell. From 6 s on it was 1.75 GB/s on average. No rate to rely on follows from that: a longer --time, or --until-steady, tells more. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn reading() {
    let said = said(sample::two_targets(), |result| {
        result.plan.direction = Direction::Read;
        result.recommendation = None;
    });
    insta::assert_snapshot!(said, @"These 2 targets together read 2.00 GB/s steadily (± 20.0 MB/s). The first 20.1 GB were faster, at 3.35 GB/s, which does not last. The worst stall, with nothing completed, was 41.2 ms. The run reread 4 GiB of each target 3 times, so a cache of more than 4 GiB would go unnoticed (use a larger --size).");
}

#[test]
fn paced() {
    let result = |held| {
        said(sample::one_target(), |result| {
            result.plan.rate_bytes_per_s = Some(200e6);
            result.plan.time_s = Some(7200.0);
            result.total.bytes = 1_440_000_000_000;
            result.total.rate_held = held;
            result.total.backlog_max_bytes = Some(12_600_000);
            result.total.seconds = 7200.0;
        })
    };
    insta::assert_snapshot!(result(Some(true)), @"This target held 200 MB/s for 2 h; 12.0 MiB of the 512 MiB buffer were needed. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    insta::assert_snapshot!(result(Some(false)), @"This target did NOT hold 200 MB/s for 2 h; 12.0 MiB of the 512 MiB buffer were needed, and the backlog grew steadily to the end, which no buffer rides out in a longer run. To learn which rate does hold, measure without --rate. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    insta::assert_snapshot!(result(None), @"Whether this target can hold 200 MB/s was not decided in 2 h; 12.0 MiB of the 512 MiB buffer were needed. The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
}

#[test]
fn limited_by_the_tool() {
    let said = said(sample::one_target(), |result| {
        result.total.tool_limited = true;
        result.targets[0].kind = TargetKind::Null;
    });
    insta::assert_snapshot!(said, @"null: is not a disk, so these figures are the tool's own speed. The tool, not the targets, set this rate: try more --threads or a larger --record-size. The worst stall, with nothing completed, was 41.2 ms.");
}

#[test]
fn errors_come_first() {
    let said = said(sample::two_targets(), |result| {
        result.recommendation = None;
        result.targets[1].errors = vec![sample::error(), sample::error()];
        result.targets[1].name = "/dev/sdb\x1b[2J".to_owned();
    });
    insta::assert_snapshot!(said, @"/dev/sdb�[2J failed: write at 3.20 GB: I/O error: the disk refused it, see the kernel log and its cables (1 more error is listed). The 1 target that is left writes 2.00 GB/s steadily (± 20.0 MB/s), but no rate can be recommended after a failure. The first 20.1 GB were faster, at 3.35 GB/s, which does not last. The worst stall, with nothing completed, was 41.2 ms. The run rewrote 4 GiB of each target 3 times, so a cache of more than 4 GiB would go unnoticed (use a larger --size).");
}

#[test]
fn nothing_moved() {
    let said = said(sample::one_target(), |result| {
        result.total.bytes = 0;
        result.targets[0].bytes = 0;
        result.targets[0].errors = vec![sample::error()];
    });
    insta::assert_snapshot!(said, @"/dev/nvme0n1 failed: write at 3.20 GB: I/O error: the disk refused it, see the kernel log and its cables. Nothing was written.");
}

#[test]
fn interrupted_short_and_simulated() {
    let interrupted = said(sample::one_target(), |result| {
        result.targets[0].ended = Ending::Interrupted;
        result.total.seconds = 3.2;
    });
    insta::assert_snapshot!(interrupted, @"The run was interrupted after 3.2 s; the figures cover what was done until then. A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    let afterwards = said(sample::one_target(), |result| result.interrupted = true);
    insta::assert_snapshot!(afterwards, @"The interruption came after the run itself; what was to follow it is missing. A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time).");
    let short = said(sample::one_target(), |result| {
        result.plan.simulated = true;
        result.total.seconds = 3.2;
    });
    insta::assert_snapshot!(short, @"The run was only 3.2 s long, which is too short to judge what lasts. A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 41.2 ms. The run wrote 77.2 GB of the 1.00 TB of the target once, so a cache of more than 77.2 GB, or a slower part in the rest of the target, would go unnoticed (use a longer --time). These figures are of a simulated machine, not of real disks.");
}

#[test]
fn stall_of_one_target_is_not_hidden_by_the_others() {
    let said = said(sample::two_targets(), |result| {
        result.stalls[2].duration_ns = 3_000_000_000;
    });
    insta::assert_snapshot!(said, @"A stream can be recorded at 1.98 GB/s on these 2 targets with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The first 20.1 GB were faster, at 3.35 GB/s, which does not last. The worst stall of all targets at once was 41.2 ms, that of a single target 3 s on /dev/sdb. A stall of 3 s was seen once in 40 s, which is too short to show how often such stalls come: use --time 3m. The run rewrote 4 GiB of each target 3 times, so a cache of more than 4 GiB would go unnoticed (use a larger --size).");
}

#[test]
fn once_over_a_file_or_a_whole_device() {
    let once = |kind: TargetKind, capacity_bytes| {
        said(sample::one_target(), |result| {
            result.targets[0].kind = kind;
            result.targets[0].distinct_bytes = 4 << 30;
            result.targets[0].capacity_bytes = capacity_bytes;
        })
    };
    insta::assert_snapshot!(once(TargetKind::ScratchFile, Some(8 << 30)), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 41.2 ms. The run wrote 4 GiB once, so a cache of more than 4 GiB would go unnoticed (use a larger --size).");
    insta::assert_snapshot!(once(TargetKind::BlockDevice, Some(4 << 30)), @"A stream can be recorded at 1.98 GB/s on this target with a 512 MiB buffer, of which 154 MiB are needed (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 41.2 ms. The run wrote 4 GiB once, from end to end.");
}

/// A result with everything that a summary tells.
fn eventful() -> MeasureResult {
    let mut result = sample::two_targets();
    result.targets[1].errors.push(sample::error());
    result.targets[1].sustained.reached = false;
    result
}

#[test]
fn wide_summary_is_a_table() {
    let result = eventful();
    insta::assert_snapshot!(summary(&result, 120), @r#"
     target             rate          sustained     p50     p99  p99.9      max    bytes  ended
     /dev/nvme0n1  1.93 GB/s  1.75 GB/s ± 1.0 %  4.1 ms  9.2 ms  22 ms  41.9 ms  77.2 GB  time
     /dev/sdb       264 MB/s        not reached  4.1 ms  9.2 ms  22 ms  41.9 ms  10.6 GB  time
     together      2.19 GB/s  2.00 GB/s ± 1.0 %                                  87.7 GB
    error: /dev/sdb at 12.5 s: write at 3.20 GB: I/O error: the disk refused it, see the kernel log and its cables
    stall: 41.2 ms on /dev/nvme0n1, from 12.300 s, at offset 3.10 GB, at the same moment as on /dev/sdb (a common cause)
    stall: 40.1 ms on /dev/sdb, from 12.300 s, at offset 3.10 GB, at the same moment as on /dev/nvme0n1 (a common cause)
    stall: 33 ms on /dev/sdb, from 25.700 s, at offset 3.10 GB
    stall: 21.5 ms on /dev/nvme0n1, from 31.200 s, at offset 3.10 GB
    kernel: at 12.310 s: nvme nvme0: I/O 215 QID 3 timeout, completion polled
    note: the scratch file was written once before use
    "#);
    insta::assert_snapshot!(summary(&result, 80), @r#"
     target             rate          sustained     p50  p99.9      max  ended
     /dev/nvme0n1  1.93 GB/s  1.75 GB/s ± 1.0 %  4.1 ms  22 ms  41.9 ms  time
     /dev/sdb       264 MB/s        not reached  4.1 ms  22 ms  41.9 ms  time
     together      2.19 GB/s  2.00 GB/s ± 1.0 %
    error: /dev/sdb at 12.5 s: write at 3.20 GB: I/O error: the disk refused it, see
      the kernel log and its cables
    stall: 41.2 ms on /dev/nvme0n1, from 12.300 s, at offset 3.10 GB, at the same
      moment as on /dev/sdb (a common cause)
    stall: 40.1 ms on /dev/sdb, from 12.300 s, at offset 3.10 GB, at the same moment
      as on /dev/nvme0n1 (a common cause)
    stall: 33 ms on /dev/sdb, from 25.700 s, at offset 3.10 GB
    stall: 21.5 ms on /dev/nvme0n1, from 31.200 s, at offset 3.10 GB
    kernel: at 12.310 s: nvme nvme0: I/O 215 QID 3 timeout, completion polled
    note: the scratch file was written once before use
    "#);
}

#[test]
fn narrow_summary_is_a_block_each() {
    let result = eventful();
    insta::assert_snapshot!(summary(&result, 40), @r#"
    /dev/nvme0n1
      rate       1.93 GB/s
      sustained  1.75 GB/s ± 1.0 %
      p50        4.1 ms
      p99.9      22 ms
      max        41.9 ms
      ended      time
    /dev/sdb
      rate       264 MB/s
      sustained  not reached
      p50        4.1 ms
      p99.9      22 ms
      max        41.9 ms
      ended      time
    together
      rate       2.19 GB/s
      sustained  2.00 GB/s ± 1.0 %
    error: /dev/sdb at 12.5 s: write at
      3.20 GB: I/O error: the disk refused
      it, see the kernel log and its cables
    stall: 41.2 ms on /dev/nvme0n1, from
      12.300 s, at offset 3.10 GB, at the
      same moment as on /dev/sdb (a common
      cause)
    stall: 40.1 ms on /dev/sdb, from
      12.300 s, at offset 3.10 GB, at the
      same moment as on /dev/nvme0n1 (a
      common cause)
    stall: 33 ms on /dev/sdb, from 25.700 s,
      at offset 3.10 GB
    stall: 21.5 ms on /dev/nvme0n1, from
      31.200 s, at offset 3.10 GB
    kernel: at 12.310 s: nvme nvme0: I/O 215
      QID 3 timeout, completion polled
    note: the scratch file was written once
      before use
    "#);
}

#[test]
fn summary_fits_each_width() {
    let result = eventful();
    for width in [40, 78, 80, 110, 200] {
        for line in summary(&result, width).lines() {
            assert!(line.chars().count() <= width, "wider than {width}: {line}");
        }
    }
}

#[test]
fn summary_has_no_control_codes_of_others() {
    let mut result = sample::one_target();
    result.targets[0].name = "disk\x1b]0;title\x07".to_owned();
    result.system.kernel_messages[0].text = "nvme0: \x1b[2J\r gone".to_owned();
    result.notes.push("a\nb".to_owned());
    for width in [40, 80] {
        let text = summary(&result, width);
        assert!(
            text.chars().all(|c| c == '\n' || !c.is_control()),
            "{text:?}"
        );
    }
}

/// A run with its effect, drawn at this width.
fn with_effect(paths: usize, width: usize) -> String {
    let mut result = sample::one_target();
    let mut effect = sample::effect::effect();
    effect.paths.truncate(paths);
    result.effect = Some(effect);
    let text = summary(&result, width);
    let at = text.find("Effect on the rest of the system");
    text[at.expect("a section of its own")..].to_owned()
}

#[test]
fn both_paths_stand_side_by_side_where_there_is_room() {
    let wide = with_effect(2, 100);
    insta::assert_snapshot!(wide, @"
    Effect on the rest of the system
      direct: writes on /home took no longer while this load ran
      buffered: writes on /home took 20 times as long while this load ran
                                          direct   direct   direct  buffered     buffered  buffered
                                          before   during    after    before       during     after
       write + fsync, median              400 us   400 us   400 us    400 us         8 ms    400 us
       write + fsync, p99                 900 us   900 us   900 us    900 us        18 ms    900 us
       write + fsync, longest               5 ms     5 ms     5 ms      5 ms       100 ms      5 ms
       writes per second                     100      100      100       100          100       100
       timer delay, median                 60 us    60 us    60 us     60 us       1.2 ms     60 us
       timer delay, p99                    90 us    90 us    90 us     90 us       1.8 ms     90 us
       timer delay, longest               200 us   200 us   200 us    200 us         4 ms    200 us
       datagrams lost                       none     none     none      none  19 of 25000      none
       stalls of programs for memory           0        0        0         0           19         0
       time with a task waiting for I/O      0 %      0 %      0 %       0 %          1 %       0 %
       dirty memory, peak                100 MiB  100 MiB  100 MiB   100 MiB     1.95 GiB   100 MiB
      did not happen at all: received packets dropped
      direct: the load reached 2.00 GB/s at 0.021 s of CPU time per GB and needed 4.7 % of the rate at
        which memory can be copied; the probe workloads took 2.0 % of one CPU, which is not counted as
        the load's
      buffered: the load reached 2.00 GB/s at 0.021 s of CPU time per GB and needed 4.7 % of the rate at
        which memory can be copied; the probe workloads took 2.0 % of one CPU, which is not counted as
        the load's
      memory: one thread copies 9.00 GB/s, 8 threads copy 21.0 GB/s
      not measured: datagrams: the loopback interface cannot be used
    ");
    let narrow = with_effect(2, 80);
    assert_eq!(narrow.matches("timer delay, p99").count(), 2, "{narrow}");
    for (text, width) in [(&wide, 100), (&narrow, 80)] {
        assert!(
            text.lines().all(|line| line.chars().count() <= width),
            "{text}"
        );
    }
}

#[test]
fn the_effect_of_one_path_names_it_only_once() {
    let text = with_effect(1, 80);
    assert_eq!(text.matches("direct").count(), 1, "{text}");
    insta::assert_snapshot!(text, @"
    Effect on the rest of the system
      writes on /home took no longer while this load ran
                                before   during    after
       write + fsync, median    400 us   400 us   400 us
       write + fsync, p99       900 us   900 us   900 us
       write + fsync, longest     5 ms     5 ms     5 ms
       writes per second           100      100      100
       timer delay, median       60 us    60 us    60 us
       timer delay, p99          90 us    90 us    90 us
       timer delay, longest     200 us   200 us   200 us
       datagrams lost             none     none     none
       dirty memory, peak      100 MiB  100 MiB  100 MiB
      did not happen at all: received packets dropped, stalls of programs for
        memory, time with a task waiting for I/O
      direct: the load reached 2.00 GB/s at 0.021 s of CPU time per GB and needed
        4.7 % of the rate at which memory can be copied; the probe workloads took
        2.0 % of one CPU, which is not counted as the load's
      memory: one thread copies 9.00 GB/s, 8 threads copy 21.0 GB/s
      not measured: datagrams: the loopback interface cannot be used
    ");
}

#[test]
fn a_comparison_without_a_difference_of_rate_names_what_else_differs() {
    let [a, b] = [sample::two_targets(), sample::two_targets()];
    let mut result = compare(&a, &b, &ComparePlan::default()).unwrap();
    let row = result.answer.row;
    result.rows[row].verdict = RowVerdict::NoDifferenceShown;
    result.rows[row].ci95_ratio = Some([1.0, 1.016]);
    result.rows[row].resolution = Some(0.0098);
    let mut rows = result.rows.iter_mut();
    let latency = rows.find(|row| row.metric == Metric::LatencyP99_9).unwrap();
    (latency.verdict, latency.ratio) = (RowVerdict::Slower, Some(7.943));
    let said = compare_sentence(&result);
    insta::assert_snapshot!(said, @"No difference in the sustained rate was found between A and B beyond noise: B has 100.0 to 101.6 % of A's (95 % interval), which rules out a difference of more than 1.6 % between these two runs; other runs may differ by more, for example where a cache is in another state. Besides the rate, these differ by more than noise: p99.9 latency +694.3 % on /dev/nvme0n1.");
}

#[test]
fn an_interval_that_leaves_anything_possible_is_not_shown_as_one() {
    let [a, b] = [sample::two_targets(), sample::two_targets()];
    let mut result = compare(&a, &b, &ComparePlan::default()).unwrap();
    for row in &mut result.rows {
        row.ci95_ratio = Some([0.001, 6500.0]);
        row.verdict = RowVerdict::NoDifferenceShown;
    }
    let text = compare_answer(&result, 100) + &compare_text(&result, 100);
    assert!(!text.contains("0000"), "{text}");
    assert!(text.contains("too few runs"), "{text}");
    assert!(
        text.starts_with("Whether B differs from A cannot be told"),
        "{text}"
    );
}

#[test]
fn a_comparison_fits_each_width_and_loses_no_verdict() {
    let [a, mut b] = [sample::two_targets(), sample::two_targets()];
    b.targets[0].latency_ns.p99_9 *= 8;
    let plan = ComparePlan {
        labels: ["monday.json".to_owned(), "friday.json".to_owned()],
        ..ComparePlan::default()
    };
    let result = compare(&a, &b, &plan).unwrap();
    for width in [40, 60, 74, 80, 100, 120] {
        let text = compare_answer(&result, width) + &compare_text(&result, width);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "wider than {width}: {line}");
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in &result.rows {
            let verdict = match (row.verdict, width) {
                (RowVerdict::NoDifferenceShown, 74) => "none shown",
                (RowVerdict::NoDifferenceShown, _) => "no difference shown",
                _ => "no interval",
            };
            assert!(words.contains(verdict), "no {verdict} at {width}: {text}");
        }
        assert!(
            words.contains("resolution") == (width > 100),
            "{width}: {text}"
        );
        assert!(
            words.contains("sustained rate: A") == (width < 70),
            "{width}: {text}"
        );
    }
}

#[test]
fn a_sweep_fits_each_width_with_what_tells_its_settings_apart() {
    for result in [
        sample::sweep::sizes_and_depths(),
        sample::sweep::seven_axes(),
    ] {
        for width in [40, 60, 80, 120] {
            let text = sweep_answer(&result, width) + &sweep_text(&result, width);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "wider than {width}: {line}");
            }
        }
        let narrow = sweep_text(&result, 40);
        let narrow = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
        for answer in &result.answers {
            let best = &result.points[answer.best];
            let line = format!("{}: best", best.setting.words);
            assert!(
                narrow.contains(&line) || narrow.contains("against best"),
                "{line} in {narrow}"
            );
        }
    }
}

#[test]
fn an_interrupted_sweep_says_what_was_not_tried() {
    let mut result = sample::sweep::sizes_and_depths();
    result.ended = ExperimentEnd::Interrupted;
    let untried = |point: &SweepPoint| point.setting.depth >= 4;
    for point in &mut result.points {
        if untried(point) {
            point.repeats = 0;
            point.rate_bytes_per_s = None;
        }
    }
    result.answers.clear();
    let said = sweep_answer(&result, 400);
    insta::assert_snapshot!(said, @"
    The sweep was interrupted, and the answer rests on what was measured until then: 9 of 16 settings were not tried, such as 64 KiB, depth 1; not tried in any setting: depth 4, 8.
    Nothing was measured.
    ");
}

/// A sweep of many settings of which six differ from the best by no more than noise.
fn with_ties() -> SweepResult {
    let mut result = sample::sweep::seven_axes();
    let best = result.answers[0].best;
    let mut against = |number: usize, share: f64, ci95: Option<[f64; 2]>| {
        result.points[number].against_best = Some(AgainstBest {
            share,
            ci95,
            is_noise: true,
            is_as_good: Some(share > -0.02),
        });
    };
    let others: Vec<usize> = (0..12).filter(|number| *number != best).collect();
    for number in &others[..6] {
        against(*number, -0.004, Some([-0.01, 0.01]));
    }
    against(others[6], -0.994, None);
    let ties = others[..6].iter().copied();
    let cheapest = result.answers[0].cheapest;
    result.answers[0].alike = ties.filter(|number| *number != cheapest).collect();
    result.answers[0].measured_once = vec![others[6]];
    result.points[others[6]].repeats = 1;
    result
}

#[test]
fn ties_are_one_line_and_one_reading_is_no_noise() {
    let result = with_ties();
    insta::assert_snapshot!(sweep_answer(&result, 100), @"
    The best setting for writing is write, io_uring, depth 8: 398 MB/s ± 1.0 %. 5 other settings do not
      differ from it by more than noise. One other setting was measured once, so its difference cannot
      be told from noise.
      The cheapest setting within 2 % of it (the least depth; among equals the least CPU time, then
        memory) is write, io_uring, depth 8: 398 MB/s ± 1.0 %, no different from the best beyond noise;
        it takes 0.029 s of CPU time per GB, the best 0.029 s.
      engine and path and layout and chunk and order and record size and depth: each value comes within
        2 % of the best, where the others suit it
    The best setting for reading is read, io_uring, depth 8: 398 MB/s ± 1.0 %. One other setting does
      not differ from it by more than noise.
      The cheapest setting within 2 % of it (the least depth; among equals the least CPU time, then
        memory) is read, io_uring, depth 8: 398 MB/s ± 1.0 %, no different from the best beyond noise;
        it takes 0.029 s of CPU time per GB, the best 0.029 s.
      engine and path and layout and chunk and order and record size and depth: each value comes within
        2 % of the best, where the others suit it
    ");
    let text = sweep_text(&result, 100);
    insta::assert_snapshot!(text.split("\n\n").next().unwrap(), @"
    write
     398 MB/s  write, io_uring, depth 8: best; p99.9 42.5 ms
     398 MB/s  write, io_uring, depth 8: -0.4 % (noise); p99.9 42.5 ms
     389 MB/s  write, io_uring, depth 8: -2.3 %; p99.9 43.5 ms
     389 MB/s  write, io_uring, depth 8: -2.3 %; p99.9 43.5 ms
     361 MB/s  write, io_uring, depth 8: -9.2 %; p99.9 46.7 ms
     361 MB/s  write, io_uring, depth 8: -9.2 %; p99.9 46.7 ms
     358 MB/s  write, threads, depth 8: -10.0 %; p99.9 47.2 ms
     358 MB/s  write, threads, depth 8: -10.0 %; p99.9 47.2 ms
     357 MB/s  write, io_uring, depth 8: -10.3 %; p99.9 3.24 ms
     357 MB/s  write, io_uring, depth 8: -10.3 %; p99.9 3.24 ms
     350 MB/s  write, threads, depth 8: -12.1 %; p99.9 48.3 ms
     350 MB/s  write, threads, depth 8: -12.1 %; p99.9 48.3 ms
     332 MB/s  write, io_uring, depth 8: -99.4 % (measured once); p99.9 3.46 ms
     332 MB/s  write, io_uring, depth 8: -16.6 %; p99.9 3.46 ms
     329 MB/s  write, threads, depth 8: -17.3 %; p99.9 3.49 ms
     329 MB/s  write, threads, depth 8: -17.3 %; p99.9 3.49 ms
     325 MB/s  write, threads, depth 8: -18.2 %; p99.9 51.9 ms
     325 MB/s  write, threads, depth 8: -18.2 %; p99.9 51.9 ms
     321 MB/s  write, threads, depth 8: -19.2 %; p99.9 3.57 ms
     321 MB/s  write, threads, depth 8: -19.2 %; p99.9 3.57 ms
     299 MB/s  write, threads, depth 8: -24.9 %; p99.9 3.81 ms
     299 MB/s  write, threads, depth 8: -24.9 %; p99.9 3.81 ms
     222 MB/s  write, io_uring, depth 1: -44.2 %; p99.9 891 us
     222 MB/s  write, io_uring, depth 1: -44.2 %; p99.9 891 us
     206 MB/s  write, io_uring, depth 1: -48.2 %; p99.9 936 us
     204 MB/s  write, threads, depth 1: -48.6 %; p99.9 942 us
     204 MB/s  write, threads, depth 1: -48.6 %; p99.9 942 us
     200 MB/s  write, threads, depth 1: -49.8 %; p99.9 957 us
     200 MB/s  write, threads, depth 1: -49.8 %; p99.9 957 us
     186 MB/s  write, threads, depth 1: -53.3 %; p99.9 1.01 ms
     186 MB/s  write, threads, depth 1: -53.3 %; p99.9 1.01 ms
    5 more settings, such as write, io_uring, depth 1, are as good as the best: they differ from it by
      no more than noise (--json has all)
    ");
}

#[test]
fn dips_are_shown_with_what_went_on_at_the_same_time() {
    let mut result = sample::two_targets();
    let dip = |start_s: f64, causes: &[DipCause]| Dip {
        start_s,
        end_s: start_s + 2.0,
        rate_bytes_per_s: 120e6,
        usual_bytes_per_s: 2e9,
        causes: causes.to_vec(),
    };
    let (text, device) = ("ata1: hard resetting link".to_owned(), "sdb".to_owned());
    let rate_bytes_per_s = 90e6;
    let others = DipCause::Others {
        device,
        rate_bytes_per_s,
    };
    let busy_percent = 99.4;
    result.dips = vec![
        dip(3.0, &[DipCause::KernelMessage { text }, others]),
        dip(7.0, &[DipCause::CpuBusy { busy_percent }]),
        dip(9.0, &[]),
    ];
    let told = summary(&result, 200);
    let dips = told.lines().filter(|line| line.starts_with("dip"));
    insta::assert_snapshot!(dips.collect::<Vec<&str>>().join("\n"), @r#"
    dip at 3 s for 2 s: 120 MB/s instead of 2.00 GB/s; at the same time the kernel logged "ata1: hard resetting link"; other programs moved 90.0 MB/s on sdb
    dip at 7 s for 2 s: 120 MB/s instead of 2.00 GB/s; at the same time the CPUs were 99 % busy
    dip at 9 s for 2 s: 120 MB/s instead of 2.00 GB/s; nothing else was seen then: no kernel message, no I/O of others, no flush, no busy CPU
    "#);
}
