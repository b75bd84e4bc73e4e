use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// The definition, over all pairs of times.
fn by_definition(completions: &[(u64, u64)], end_ns: u64, rate: f64) -> f64 {
    let mut starts = vec![(0u64, 0u64)];
    let mut total = 0;
    let mut most = 0.0f64;
    for &(time_ns, bytes) in completions.iter().chain(&[(end_ns, 0)]) {
        for &(start_ns, start_total) in &starts {
            let offered = rate * (time_ns - start_ns) as f64 * 1e-9;
            most = most.max(offered - (total - start_total) as f64);
        }
        total += bytes;
        starts.push((time_ns, total));
    }
    most
}

fn measured(grid: RateGrid, completions: &[(u64, u64)], end_ns: u64) -> Vec<BufferNeed> {
    let mut curve = BufferCurve::new(grid);
    for &(time_ns, bytes) in completions {
        curve.complete(time_ns, bytes);
    }
    curve.finish(end_ns);
    curve.points()
}

/// Phases of their own pace, so that the grid is placed, moved, and moved again.
fn run() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let phase = (
        1u64..200,
        1u64..40,
        prop::collection::vec((0u64..3, 1u64..5), 1..30),
    );
    prop::collection::vec(phase, 1..6).prop_map(|phases| {
        let mut time_ns = 0;
        let mut completions = Vec::new();
        for (gap_ms, records, steps) in phases {
            for (gaps, parts) in steps {
                time_ns += gaps * gap_ms * MS;
                completions.push((time_ns, parts * records * 100_000));
            }
        }
        completions
    })
}

proptest! {
    // The definition is quadratic.
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn is_the_definition_or_above_it(
        completions in run(),
        tail_ms in 0u64..3000,
        around in prop::option::of(1e4..1e9f64),
    ) {
        let end_ns = completions[completions.len() - 1].0 + tail_ms * MS;
        let grid = around.map_or(RateGrid::Learned, RateGrid::Around);
        let points = measured(grid, &completions, end_ns);
        prop_assert_eq!(points.len(), GRID_RATES);
        for point in &points {
            let rate = point.rate_bytes_per_s;
            let truth = by_definition(&completions, end_ns, rate);
            let rounding = 1e-9 * (1.0 + rate * end_ns as f64 * 1e-9);
            prop_assert!(point.buffer_bytes >= truth - rounding, "{point:?} below {truth}");
            if point.exact {
                prop_assert!(point.buffer_bytes <= truth + rounding, "{point:?} not {truth}");
            }
        }
        for pair in points.windows(2) {
            prop_assert!(pair[0].rate_bytes_per_s < pair[1].rate_bytes_per_s);
            prop_assert!(pair[0].buffer_bytes <= pair[1].buffer_bytes);
        }
    }
}

/// A completion of `bytes` every millisecond of a stretch.
fn flat(from_ms: u64, to_ms: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    (from_ms + 1..=to_ms).map(move |at_ms| (at_ms * MS, bytes))
}

#[test]
fn one_pause_at_a_steady_rate() {
    // 1 GB/s in records of 1 MB, with a pause of 100 ms after 5 s.
    let completions: Vec<(u64, u64)> = flat(0, 5000, 1_000_000)
        .chain(flat(5100, 60_000, 1_000_000))
        .collect();
    let points = measured(RateGrid::Learned, &completions, 60_000 * MS);
    assert!(points.iter().all(|point| point.exact));
    for point in points
        .iter()
        .filter(|point| point.rate_bytes_per_s < 0.99e9)
    {
        // The pause, and the millisecond of the record that ends it.
        let expected = point.rate_bytes_per_s * 0.101;
        assert!(
            (point.buffer_bytes / expected - 1.0).abs() < 1e-6,
            "{point:?}"
        );
    }
    let dense = points
        .iter()
        .filter(|p| (0.5e9..=1.1e9).contains(&p.rate_bytes_per_s));
    assert!(dense.count() >= 31);
}

#[test]
fn a_cache_peak_moves_the_grid_and_costs_little() {
    // 8 GB/s for 1.5 s, then 1 GB/s.
    let completions: Vec<(u64, u64)> = flat(0, 1500, 8_000_000)
        .chain(flat(1500, 4000, 1_000_000))
        .collect();
    let points = measured(RateGrid::Learned, &completions, 4000 * MS);
    let near = |point: &&BufferNeed| (0.6e9..0.99e9).contains(&point.rate_bytes_per_s);
    assert!(
        points.iter().filter(near).count() >= 19,
        "dense where the run is now"
    );
    for point in points.iter().filter(near).step_by(4) {
        let truth = by_definition(&completions, 4000 * MS, point.rate_bytes_per_s);
        assert!(point.buffer_bytes <= 1.05 * truth, "{point:?} for {truth}");
    }
}

#[test]
fn silence_at_the_end_counts() {
    let completions: Vec<(u64, u64)> = flat(0, 2000, 1000).collect();
    let points = measured(RateGrid::Around(1e6), &completions, 3000 * MS);
    let point = points
        .iter()
        .find(|point| point.rate_bytes_per_s >= 0.9e6)
        .expect("a rate");
    assert!(
        (point.buffer_bytes / point.rate_bytes_per_s - 1.0).abs() < 1e-9,
        "{point:?}"
    );
}

#[test]
fn short_and_empty_runs() {
    assert!(measured(RateGrid::Learned, &[], 5000 * MS).is_empty());
    let points = measured(RateGrid::Learned, &[(300 * MS, 1 << 20)], 500 * MS);
    assert_eq!(points.len(), GRID_RATES);
    for point in points {
        let truth = by_definition(&[(300 * MS, 1 << 20)], 500 * MS, point.rate_bytes_per_s);
        assert!(
            (point.buffer_bytes - truth).abs() <= 1e-9 * truth,
            "{point:?} {truth}"
        );
    }
}

#[test]
fn many_small_completions_do_not_wait_for_the_first_second() {
    let mut curve = BufferCurve::new(RateGrid::Learned);
    for number in 1..=LEARN_TIMES_MAX as u64 + 1 {
        curve.complete(number * 2000, 4096);
    }
    assert_eq!(curve.points().len(), GRID_RATES);
    assert_eq!(curve.learning.capacity(), 0);
    let highest = curve.points().last().copied().expect("a point");
    assert!(highest.rate_bytes_per_s > 1.7 * 4096.0 * 5e5);
}

#[test]
fn the_lattice_is_dense_around_its_centre() {
    for centre in [0, 7, 700, 713, 714, 1194] {
        let lattice = lattice_around(centre);
        assert!(
            lattice.windows(2).all(|pair| pair[0] < pair[1]),
            "{lattice:?}"
        );
        let steps = lattice
            .windows(2)
            .filter(|pair| pair[1] - pair[0] == 1)
            .count();
        assert!(steps >= 32, "{lattice:?}");
        assert!(lattice.contains(&(centre - 28)) && lattice.contains(&(centre + 4)));
    }
}

/// 100 MB/s in records of 1 MB, but for a stall.
fn with_stall(curve: &mut BufferCurve, stall_ms: std::ops::Range<u64>, end_ms: u64) {
    for at_ms in (10..=end_ms).step_by(10) {
        if !stall_ms.contains(&at_ms) {
            curve.complete(at_ms * MS, 1_000_000);
        }
    }
    curve.finish(end_ms * MS);
}

fn needed(curve: &BufferCurve, rate: f64) -> Option<BufferNeed> {
    let points = curve.points();
    points
        .into_iter()
        .find(|point| point.rate_bytes_per_s >= rate)
}

#[test]
fn a_stall_longer_than_all_before_it_leaves_the_rates_that_may_be_recorded() {
    for grid in [RateGrid::Learned, RateGrid::Around(100e6)] {
        let mut curve = BufferCurve::new(grid);
        with_stall(&mut curve, 1500..10_500, 12_000);
        // Three seconds of 12, and what the run gave in all is in the grid.
        let point = needed(&curve, 25e6).expect("the run's own rate");
        assert!(point.buffer_bytes >= point.rate_bytes_per_s * 9.0);
        assert!(
            point.buffer_bytes < point.rate_bytes_per_s * 9.1,
            "{grid:?} {point:?}"
        );
    }
    // A paced run's rate was the question, however little came of it.
    let mut paced = BufferCurve::new(RateGrid::Around(100e6));
    with_stall(&mut paced, 1500..10_500, 10_600);
    let point = needed(&paced, 58e6).expect("rates up to the paced one");
    assert!(
        point.exact && point.buffer_bytes < point.rate_bytes_per_s * 9.1,
        "{point:?}"
    );
}
