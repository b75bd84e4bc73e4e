//! Derives the answer of a sweep: for each direction the best setting, those that are no different,
//! the cheapest one within 2 % of it, and the effect of each axis. Pure; called after each point
//! while the search goes on, and at the end.

use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction};
use sustain_document::sweep::AgainstBest;
use sustain_statistics::points::{Difference, Judgement};

use super::axes::{Grid, PossiblePoint};
use super::setting::Axis;
use crate::sweep::setting::AXES;

/// A setting that is no further below the best than this is as good in use, and may be cheaper.
const AS_GOOD_SHARE: f64 = 0.02;

/// Settings that the noise does not tell from the fastest are ties if they are within this of it.
const TIE_SHARE: f64 = 0.01;

/// The usual size of a record and of a chunk, which a command takes by default.
const USUAL_BYTES: u64 = 1 << 20;

/// The answer for one direction. Points are given by their number in the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The direction.
    pub direction: Direction,
    /// The simplest of the settings that are as fast as the fastest.
    pub best: usize,
    /// All settings whose difference to it the noise explains; the best itself is not among them.
    pub alike: Vec<usize>,
    /// All settings that cannot be told from it because they were measured once and their noise is
    /// not known.
    pub undecided: Vec<usize>,
    /// Within 2 % of the best: the one of the least depth, and of several, the one with the least
    /// CPU time.
    pub cheapest: usize,
    /// The effect of the axes that have more than one value.
    pub axes: Vec<AxisAnswer>,
}

/// The effect of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisAnswer {
    /// The axis.
    pub axis: Axis,
    /// Each of its values, by the fastest point that has it, and how that compares with the best.
    pub values: Vec<(usize, Difference)>,
}

impl AxisAnswer {
    /// Whether some value is slower than the best by more than the noise explains.
    pub fn matters(&self) -> bool {
        self.values
            .iter()
            .any(|(_, difference)| !difference.is_noise)
    }
}

/// The cost of a point besides its depth.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// CPU time; `None` if the point is simulated.
    pub cpu_seconds_per_gb: Option<f64>,
}

/// Whether a setting with this difference from the best, as a part of its rate, is as good in use.
pub fn is_as_good(share: f64) -> bool {
    share >= -AS_GOOD_SHARE
}

/// Whether a point or value of a document is as good as the best in use, also if the document is
/// older than the key.
#[must_use]
pub fn is_as_good_in_document(against: &AgainstBest) -> bool {
    against
        .is_as_good
        .unwrap_or_else(|| is_as_good(against.share))
}

/// The answers, writing first. A direction without a reading has none.
pub fn answers(grid: &Grid, judgement: &Judgement, costs: &[Cost]) -> Vec<Answer> {
    [Direction::Write, Direction::Read]
        .into_iter()
        .filter_map(|direction| answer(grid, judgement, costs, direction))
        .collect()
}

fn answer(
    grid: &Grid,
    judgement: &Judgement,
    costs: &[Cost],
    direction: Direction,
) -> Option<Answer> {
    let rate = |point: usize| {
        let estimate = judgement.estimate(point);
        estimate.map_or(0.0, |estimate| estimate.rate_bytes_per_s)
    };
    let is_known = |point: &usize| {
        grid.points[*point].setting.direction == direction && judgement.estimate(*point).is_some()
    };
    let known: Vec<usize> = (0..grid.points.len()).filter(is_known).collect();
    let fastest = |points: &[usize]| {
        // Of equal ones the first is taken, so that the answer does not depend on chance.
        let points = points.iter().copied().rev();
        points.max_by(|one, other| rate(*one).total_cmp(&rate(*other)))
    };
    let best = simplest_tie(grid, judgement, &known, fastest(&known)?);
    let against = |point: usize| judgement.compare(point, best, known.len());
    let noise = |is_undecided: bool| {
        let is_so = move |point: &usize| {
            let difference = against(*point).filter(|difference| difference.is_noise);
            *point != best && difference.is_some_and(|found| found.is_undecided() == is_undecided)
        };
        known.iter().copied().filter(is_so).collect()
    };
    let cost = |point: usize| {
        let setting = &grid.points[point].setting;
        let cpu = costs[point].cpu_seconds_per_gb.unwrap_or(f64::INFINITY);
        (setting.depth, cpu, setting.buffer_bytes())
    };
    let cheap = known
        .iter()
        .copied()
        .filter(|point| is_as_good(rate(*point) / rate(best) - 1.0));
    let cheapest = cheap.min_by(|one, other| {
        let (less, more) = (cost(*one), cost(*other));
        let cpu = less.1.total_cmp(&more.1);
        let costs = less.0.cmp(&more.0).then(cpu).then(less.2.cmp(&more.2));
        costs.then_with(|| complexity(grid, *one).cmp(&complexity(grid, *other)))
    });
    // If it costs nothing less, the best itself is as cheap.
    let cheapest = cheapest.filter(|point| cost(*point) != cost(best));
    let axes = AXES.into_iter().filter(|axis| *axis != Axis::Direction);
    let axes = axes.filter_map(|axis| {
        let values: Vec<(usize, Difference)> = values_of(grid, &known, axis)
            .into_iter()
            .filter_map(|points| {
                let point = fastest(&points)?;
                Some((point, against(point)?))
            })
            .collect();
        (values.len() > 1).then_some(AxisAnswer { axis, values })
    });
    Some(Answer {
        direction,
        best,
        alike: noise(false),
        undecided: noise(true),
        cheapest: cheapest.unwrap_or(best),
        axes: axes.collect(),
    })
}

/// The simplest setting among those that cannot be told from the fastest and that no other of them
/// beats beyond the noise.
fn simplest_tie(grid: &Grid, judgement: &Judgement, known: &[usize], fastest: usize) -> usize {
    let compare = |one: usize, other: usize| judgement.compare(one, other, known.len());
    let is_tie = |point: &usize| {
        compare(*point, fastest).is_some_and(|difference| {
            difference.is_noise && !difference.is_undecided() && difference.share >= -TIE_SHARE
        })
    };
    let mut ties: Vec<usize> = known.iter().copied().filter(is_tie).collect();
    ties.sort_by_key(|point| complexity(grid, *point));
    let is_beaten = |point: usize| {
        let faster = |other: &usize| {
            compare(*other, point).is_some_and(|found| found.share > 0.0 && !found.is_noise)
        };
        ties.iter().any(faster)
    };
    let mut simplest = ties.iter().copied().filter(|point| !is_beaten(*point));
    simplest.next().unwrap_or(fastest)
}

/// How much a setting demands of its user, least first: a queue for each target before turns, and
/// these before one stream over them, the given order before another, the usual engine and path,
/// fewer requests in flight, and records and chunks near the usual size.
fn complexity(grid: &Grid, point: usize) -> impl Ord + use<> {
    let PossiblePoint { setting, group, .. } = &grid.points[point];
    let layout = match setting.layout {
        Layout::Independent => 0,
        Layout::Turns => 1,
        Layout::Stripe { .. } if setting.is_array => 4,
        Layout::Stripe { .. } => 2,
        Layout::Span => 3,
    };
    let engine = match setting.engine {
        EngineChoice::Auto => 0,
        EngineChoice::IoUring => 1,
        _ => 2,
    };
    let path = match setting.path {
        DataPath::Direct => 0,
        DataPath::Buffered => 1,
        DataPath::Passthrough => 2,
    };
    let chunk_bytes = match setting.layout {
        Layout::Stripe { chunk_bytes } => chunk_bytes,
        Layout::Independent | Layout::Turns | Layout::Span => USUAL_BYTES,
    };
    let from_usual = |bytes: u64| bytes.max(1).ilog2().abs_diff(USUAL_BYTES.ilog2());
    // Groups are numbered in the order in which their values were given.
    (
        (layout, path, engine, *group),
        (setting.depth, from_usual(setting.record_bytes)),
        (from_usual(chunk_bytes), point),
    )
}

/// The points of each value of an axis: ascending, or in the order given.
fn values_of(grid: &Grid, points: &[usize], axis: Axis) -> Vec<Vec<usize>> {
    let mut values: Vec<Vec<usize>> = Vec::new();
    for &point in points {
        let same =
            |group: &&mut Vec<usize>| is_same_on(&grid.points[group[0]], &grid.points[point], axis);
        match values.iter_mut().find(same) {
            Some(group) => group.push(point),
            None if has(&grid.points[point], axis) => values.push(vec![point]),
            None => {}
        }
    }
    values.sort_by_key(|group| {
        let setting = &grid.points[group[0]].setting;
        match axis {
            Axis::RecordSize => setting.record_bytes,
            Axis::Depth => u64::from(setting.depth),
            Axis::Chunk => match setting.layout {
                Layout::Stripe { chunk_bytes } => chunk_bytes,
                Layout::Independent | Layout::Turns | Layout::Span => 0,
            },
            // Other axes have no usual value.
            _ => 0,
        }
    });
    values
}

fn has(point: &PossiblePoint, axis: Axis) -> bool {
    match axis {
        Axis::Chunk => matches!(point.setting.layout, Layout::Stripe { .. }),
        Axis::Order => point.setting.layout != Layout::Independent,
        _ => true,
    }
}

fn is_same_on(one: &PossiblePoint, other: &PossiblePoint, axis: Axis) -> bool {
    let (a, b) = (&one.setting, &other.setting);
    match axis {
        Axis::Direction => a.direction == b.direction,
        Axis::Place => {
            a.order.len() == b.order.len() && a.order.iter().all(|one| b.order.contains(one))
        }
        Axis::Engine => a.engine == b.engine,
        Axis::Path => a.path == b.path,
        Axis::Layout => {
            std::mem::discriminant(&a.layout) == std::mem::discriminant(&b.layout)
                && a.is_array == b.is_array
        }
        Axis::Chunk => a.layout == b.layout,
        Axis::Order => a.order == b.order,
        Axis::RecordSize => a.record_bytes == b.record_bytes,
        Axis::Depth => a.depth == b.depth,
    }
}
