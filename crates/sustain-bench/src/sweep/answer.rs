//! The answer of a sweep: per direction the best setting, those that are no different, the cheapest
//! one within 2 % of it, and what each axis does. Pure; asked after each point while it is
//! searched, and at the end.

use sustain_disk::layout::Layout;
use sustain_disk::target::Direction;

use super::axes::{Grid, Point};
use super::judge::{Difference, Judgement};
use super::setting::Axis;

/// A setting this far below the best is as good to whoever wants it cheap.
const CHEAP_SHARE: f64 = 0.02;

/// The answer for one direction. Points by their number in the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Which way the bytes go.
    pub direction: Direction,
    /// The fastest.
    pub best: usize,
    /// All whose difference to it the noise explains; the best itself is not among them.
    pub alike: Vec<usize>,
    /// Within 2 % of the best: of the least depth, and of these the one with the least CPU time.
    pub cheapest: usize,
    /// What the axes do that have more than one value.
    pub axes: Vec<AxisAnswer>,
}

/// What an axis does.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisAnswer {
    /// Which.
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

/// What a point costs besides its depth.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// CPU time; none where it is simulated.
    pub cpu_seconds_per_gb: Option<f64>,
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
        // Of equal ones the first, so that the answer does not hang on chance.
        let points = points.iter().copied().rev();
        points.max_by(|one, other| rate(*one).total_cmp(&rate(*other)))
    };
    let best = fastest(&known)?;
    let against = |point: usize| judgement.compare(point, best, known.len());
    let alike = |point: &usize| {
        *point != best && against(*point).is_some_and(|difference| difference.is_noise)
    };
    let cost = |point: usize| {
        let setting = &grid.points[point].setting;
        let cpu = costs[point].cpu_seconds_per_gb.unwrap_or(f64::INFINITY);
        (setting.depth, cpu, setting.buffer_bytes())
    };
    let cheap = known
        .iter()
        .copied()
        .filter(|point| rate(*point) >= (1.0 - CHEAP_SHARE) * rate(best));
    let cheapest = cheap.min_by(|one, other| {
        let (one, other) = (cost(*one), cost(*other));
        let cpu = one.1.total_cmp(&other.1);
        one.0.cmp(&other.0).then(cpu).then(one.2.cmp(&other.2))
    });
    let axes = Axis::ALL
        .into_iter()
        .filter(|axis| *axis != Axis::Direction);
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
        alike: known.iter().copied().filter(alike).collect(),
        cheapest: cheapest.unwrap_or(best),
        axes: axes.collect(),
    })
}

/// The points of each value of an axis: ascending, or as the axis was given.
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
                Layout::Independent | Layout::Span => 0,
            },
            // They stay as they are.
            _ => 0,
        }
    });
    values
}

fn has(point: &Point, axis: Axis) -> bool {
    match axis {
        Axis::Chunk => matches!(point.setting.layout, Layout::Stripe { .. }),
        Axis::Order => point.setting.layout != Layout::Independent,
        _ => true,
    }
}

fn is_same_on(one: &Point, other: &Point, axis: Axis) -> bool {
    let (a, b) = (&one.setting, &other.setting);
    match axis {
        Axis::Direction => a.direction == b.direction,
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
