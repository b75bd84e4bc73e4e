//! Measures how fast this machine copies memory, and which part of that a load needs, because every
//! byte crosses the memory bus at least once on its way to a disk. This is done before the load and
//! takes a second or two.

use std::hint::black_box;
use std::sync::Barrier;

use sustain_disk::clock::Clock;
use sustain_disk::target::DataPath;
use sustain_disk::units::Rate;
use sustain_document::effect::{MemoryCopy, MemoryShare};
use sustain_host::{Roots, last_level_cache_bytes};
use sustain_targets::{Stop, check_memory};

/// The buffers are this many times as large as the caches, within bounds.
const TIMES_CACHE: u64 = 4;
const BUFFER_BYTES_MIN: u64 = 64 << 20;
const BUFFER_BYTES_MAX: u64 = 512 << 20;
/// The best of so many rounds counts, because a disturbance only ever slows a copy down (as in
/// STREAM: McCalpin, "Memory bandwidth and machine balance", 1995).
const ROUNDS: usize = 3;
const ROUND_NS: u64 = 200_000_000;
/// From this share on, memory may be the limit.
const WALL_SHARE: f64 = 0.5;

/// Copies on one thread, then on all processors. `None` if the user wants to end.
///
/// # Errors
/// Says in words why it cannot be measured.
pub fn measure(clock: &Clock, roots: &Roots, stop: &Stop) -> Result<Option<MemoryCopy>, String> {
    let cache_bytes = last_level_cache_bytes(roots);
    let wanted = cache_bytes.unwrap_or(0).saturating_mul(TIMES_CACHE);
    let buffer_bytes = wanted.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX);
    let needed = "the buffers of a copy test need";
    check_memory(buffer_bytes * 2, needed, "it is left out", roots)
        .map_err(|error| format!("memory copies: {error}"))?;
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let rate = |threads: u32| -> Option<f64> {
        let part = buffer_bytes / u64::from(threads);
        stop.reason()
            .is_none()
            .then(|| best_rate(clock, threads as usize, part as usize))
    };
    let (Some(one), Some(all)) = (rate(1), rate(threads)) else {
        return Ok(None);
    };
    Ok(Some(MemoryCopy {
        one_thread_bytes_per_s: one,
        // Several threads of a small machine may hinder each other: the machine can do at least
        // what one thread can.
        all_threads_bytes_per_s: all.max(one),
        threads,
        buffer_bytes,
        cache_bytes,
    }))
}

/// The rate of the best round of so many threads at once, each with memory of its own.
fn best_rate(clock: &Clock, threads: usize, part_bytes: usize) -> f64 {
    let barrier = Barrier::new(threads);
    let copier = || {
        // The buffers are written here, so that every page exists and is near to this thread's
        // processor.
        let (source, mut copy) = (vec![1u8; part_bytes], vec![2u8; part_bytes]);
        let round = || {
            barrier.wait();
            let (start, mut bytes, mut took_ns) = (clock.now(), 0u64, 0);
            while took_ns < ROUND_NS {
                copy.copy_from_slice(black_box(&source));
                black_box(&mut copy);
                bytes += part_bytes as u64;
                took_ns = clock.now().since_ns(start);
            }
            bytes as f64 / (took_ns as f64 / 1e9)
        };
        std::iter::repeat_with(round)
            .take(ROUNDS)
            .collect::<Vec<f64>>()
    };
    let rates: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let copiers: Vec<_> = (0..threads).map(|_| scope.spawn(copier)).collect();
        let joined = copiers.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .map(|rates| rates.expect("copying memory does not panic"))
            .collect()
    });
    let sum = |round: usize| rates.iter().map(|rates| rates[round]).sum::<f64>();
    (0..ROUNDS).map(sum).fold(0.0, f64::max)
}

/// Copies of memory that each byte of a load with this path is worth, and why.
fn copies_per_byte(path: DataPath) -> (f64, &'static str) {
    match path {
        DataPath::Direct | DataPath::Passthrough => (
            0.5,
            "direct: each byte crosses the memory bus once, by the disk's DMA; a copied byte \
             crosses it twice, read and written, so the load counts as half a copy",
        ),
        DataPath::Buffered => (
            1.5,
            "buffered: each byte is copied between program and page cache, read and written, and \
             crosses the memory bus once more by the disk's DMA, so the load counts as one and a \
             half copies",
        ),
    }
}

/// The load of this path that the memory carries at the most, and how that is computed.
pub(crate) fn most(copy: &MemoryCopy, path: DataPath) -> (f64, String) {
    let (copies, _) = copies_per_byte(path);
    let copied = Rate(copy.all_threads_bytes_per_s);
    let formula = format!("{copied} copied, and each byte counts as {copies} copies");
    (copy.all_threads_bytes_per_s / copies, formula)
}

/// The part of the copy rate that a load of this rate needs with this I/O path.
pub(crate) fn share(copy: &MemoryCopy, path: DataPath, rate_bytes_per_s: f64) -> MemoryShare {
    let (copies_per_byte, model) = copies_per_byte(path);
    let needed_bytes_per_s = rate_bytes_per_s * copies_per_byte;
    let share = needed_bytes_per_s / copy.all_threads_bytes_per_s.max(1.0);
    MemoryShare {
        copies_per_byte,
        needed_bytes_per_s,
        share,
        may_be_the_wall: share > WALL_SHARE,
        model: model.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffered_byte_needs_three_times_the_memory_of_a_direct_one() {
        let copy = MemoryCopy {
            one_thread_bytes_per_s: 6e9,
            all_threads_bytes_per_s: 10e9,
            threads: 4,
            buffer_bytes: 1 << 26,
            cache_bytes: None,
        };
        let direct = share(&copy, DataPath::Direct, 3.6e9);
        assert!((direct.share - 0.18).abs() < 1e-9, "{direct:?}");
        assert!(!direct.may_be_the_wall && direct.model.contains("once"));
        let buffered = share(&copy, DataPath::Buffered, 3.6e9);
        assert!((buffered.share - 0.54).abs() < 1e-9, "{buffered:?}");
        assert!(buffered.may_be_the_wall);
        assert!((buffered.needed_bytes_per_s - 5.4e9).abs() < 1.0);
    }

    #[test]
    fn memory_is_copied_and_who_wants_to_end_need_not_wait() {
        let rate = best_rate(&Clock::Real, 2, 1 << 20);
        assert!(rate.is_finite() && rate > 0.0, "{rate}");
        let stop = Stop::default();
        stop.interrupt();
        assert_eq!(measure(&Clock::Real, &Roots::default(), &stop), Ok(None));
    }
}
