//! The axes of a sweep and their cross product: which settings there are, and which of them make no
//! sense here, with the reason. Pure; the run supplies the facts about the targets.

use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction};
use sustain_disk::units::Size;
use sustain_document::sweep::LongerPoints;
pub use sustain_document::vocabulary::LayoutKind;

use super::setting::Setting;

/// The values to try on each axis. Axes with an order ascend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepAxes {
    /// The directions.
    pub directions: Vec<Direction>,
    /// How requests are issued.
    pub engines: Vec<EngineChoice>,
    /// Direct, buffered or passthrough I/O.
    pub paths: Vec<DataPath>,
    /// How several targets are used.
    pub layouts: Vec<LayoutKind>,
    /// Chunks of a stripe or an array; the other layouts do not use them.
    pub chunks_bytes: Vec<u64>,
    /// Orders of the targets, each with every target once.
    pub orders: Vec<Vec<usize>>,
    /// Bytes per request.
    pub record_sizes_bytes: Vec<u64>,
    /// Requests in flight per target.
    pub depths: Vec<u32>,
}

/// The reason why an order is not measured.
pub(super) const ORDER_FOLDED: &str =
    "with a queue for each target their order makes no difference";

/// The facts that decide whether a setting is possible.
#[derive(Debug, Clone)]
pub struct SettingConstraints {
    /// Direct requests need multiples of this.
    pub alignment_bytes: u64,
    /// The part of each target that is used, for the target with the least.
    pub least_size_bytes: u64,
    /// Memory that buffers may take.
    pub memory_bytes: u64,
    /// Whether all targets are simulated.
    pub is_simulated: bool,
    /// Whether `null:` is among the targets.
    pub has_null: bool,
    /// The engine that passes commands to all targets, or why there is none.
    pub passthrough: Result<EngineChoice, String>,
}

/// The numbers of a point's values on the axes that have an order: record size, depth, chunk.
pub(super) type GridPosition = [usize; 3];
pub(super) const ORDERED: usize = 3;

/// A setting that is possible, and its place in the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PossiblePoint {
    /// The setting.
    pub setting: Setting,
    /// The same number for points that differ only on axes that have an order.
    pub(super) group: usize,
    /// Its place on these axes.
    pub(super) place: GridPosition,
}

/// Settings that are not measured for one reason.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The reason.
    pub why: String,
    /// The number of settings.
    pub count: usize,
    /// The first of them.
    pub first: Setting,
    /// How to measure them, if only the points were too short for them.
    pub longer: Option<LongerPoints>,
}

/// The cross product of the axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grid {
    /// The settings that can be measured.
    pub points: Vec<PossiblePoint>,
    /// The settings that cannot.
    pub left_out: Vec<LeftOut>,
    /// The number of values on each axis with an order.
    pub(super) lengths: GridPosition,
}

impl SweepAxes {
    /// The number of settings of the whole cross product; one setting by several names is counted
    /// once.
    pub fn count(&self) -> usize {
        let layouts = self.layouts.iter();
        let layouts = layouts.map(|layout| self.chunks(*layout).len() * self.orders(*layout).len());
        [
            self.directions.len(),
            self.engines.len(),
            self.paths.len(),
            layouts.sum(),
            self.record_sizes_bytes.len(),
            self.depths.len(),
        ]
        .into_iter()
        .fold(1, usize::saturating_mul)
    }

    /// A layout in all its chunks.
    fn chunks(&self, layout: LayoutKind) -> Vec<Layout> {
        match layout {
            LayoutKind::Independent => vec![Layout::Independent],
            LayoutKind::Turns => vec![Layout::Turns],
            LayoutKind::Span => vec![Layout::Span],
            LayoutKind::Stripe | LayoutKind::MdRaid0 => {
                let chunks = self.chunks_bytes.iter();
                chunks
                    .map(|&chunk_bytes| Layout::Stripe { chunk_bytes })
                    .collect()
            }
        }
    }

    /// The orders that a layout distinguishes: targets with queues of their own are all used at
    /// once.
    fn orders(&self, layout: LayoutKind) -> &[Vec<usize>] {
        match layout {
            LayoutKind::Independent => &self.orders[..self.orders.len().min(1)],
            LayoutKind::Turns | LayoutKind::Stripe | LayoutKind::Span | LayoutKind::MdRaid0 => {
                &self.orders
            }
        }
    }

    /// All settings, separated into those that can be measured on these targets and those that
    /// cannot.
    pub fn grid(&self, facts: &SettingConstraints) -> Grid {
        let mut grid = Grid {
            lengths: [
                self.record_sizes_bytes.len(),
                self.depths.len(),
                self.chunks_bytes.len(),
            ],
            ..Grid::default()
        };
        let mut group = 0;
        for &direction in &self.directions {
            for &engine in &self.engines {
                for &path in &self.paths {
                    for &layout in &self.layouts {
                        let orders = self.orders(layout);
                        for (number, order) in self.orders.iter().enumerate() {
                            let like = Setting {
                                direction,
                                engine,
                                path,
                                layout: Layout::Independent,
                                is_array: layout == LayoutKind::MdRaid0,
                                order: order.clone(),
                                record_bytes: 0,
                                depth: 0,
                            };
                            if number < orders.len() {
                                self.add_group(&mut grid, facts, group, layout, &like);
                                group += 1;
                            } else {
                                self.fold(&mut grid, &like);
                            }
                        }
                    }
                }
            }
        }
        grid
    }

    /// Leaves out settings that would only repeat a setting of the first order.
    fn fold(&self, grid: &mut Grid, like: &Setting) {
        for &record_bytes in &self.record_sizes_bytes {
            for &depth in &self.depths {
                let setting = Setting {
                    record_bytes,
                    depth,
                    ..like.clone()
                };
                grid.leave_out(setting, ORDER_FOLDED.to_owned());
            }
        }
    }

    fn add_group(
        &self,
        grid: &mut Grid,
        facts: &SettingConstraints,
        group: usize,
        layout: LayoutKind,
        like: &Setting,
    ) {
        for (chunk, layout) in self.chunks(layout).into_iter().enumerate() {
            for (record, &record_bytes) in self.record_sizes_bytes.iter().enumerate() {
                for (depth_index, &depth) in self.depths.iter().enumerate() {
                    let mut setting = Setting {
                        layout,
                        record_bytes,
                        depth,
                        ..like.clone()
                    };
                    if let Some(why) = self.impossible(&setting, facts) {
                        grid.leave_out(setting, why);
                        continue;
                    }
                    if setting.engine == EngineChoice::Sync {
                        setting.depth = 1;
                    }
                    grid.points.push(PossiblePoint {
                        setting,
                        group,
                        place: [record, depth_index, chunk],
                    });
                }
            }
        }
    }

    /// The reason why a setting cannot be measured, or would only repeat another one.
    fn impossible(&self, setting: &Setting, facts: &SettingConstraints) -> Option<String> {
        let SettingConstraints {
            alignment_bytes, ..
        } = *facts;
        if setting.direction == Direction::Read && facts.has_null {
            return Some("there is nothing to read in null:".to_owned());
        }
        if setting.path == DataPath::Passthrough {
            match &facts.passthrough {
                Err(why) => return Some(why.clone()),
                Ok(engine) if ![EngineChoice::Auto, *engine].contains(&setting.engine) => {
                    let name = engine.name();
                    return Some(format!("passthrough to these works only with {name}"));
                }
                Ok(_) => {}
            }
        }
        let mut paths = self.paths.iter();
        let first_path = paths.find(|path| **path != DataPath::Passthrough);
        if facts.is_simulated && first_path != Some(&setting.path) {
            return Some("a simulated machine has no page cache".to_owned());
        }
        let is_first_depth = self.depths.first() == Some(&setting.depth);
        if setting.engine == EngineChoice::Sync && !is_first_depth {
            return Some("sync keeps one request in flight, whatever the depth".to_owned());
        }
        let is_aligned = |bytes: u64| {
            setting.path == DataPath::Buffered || bytes.is_multiple_of(alignment_bytes.max(1))
        };
        if !is_aligned(setting.record_bytes) {
            return Some(format!(
                "direct I/O there needs records that are multiples of {alignment_bytes} bytes"
            ));
        }
        if setting.is_array && setting.path != DataPath::Direct {
            return Some("an array is measured only with direct I/O".to_owned());
        }
        if let Layout::Stripe { chunk_bytes } = setting.layout
            && !is_aligned(chunk_bytes)
        {
            return Some(format!(
                "direct I/O there needs chunks that are multiples of {alignment_bytes} bytes"
            ));
        }
        impossible_layout(setting).or_else(|| too_large(setting, facts))
    }
}

fn impossible_layout(setting: &Setting) -> Option<String> {
    if setting.layout != Layout::Independent && setting.order.len() < 2 {
        let why = match setting.layout {
            Layout::Turns => "one target has no other to take turns with",
            Layout::Independent | Layout::Stripe { .. } | Layout::Span => {
                "one target makes no stripe and no span"
            }
        };
        return Some(why.to_owned());
    }
    let record_bytes = setting.record_bytes;
    if let Layout::Stripe { chunk_bytes } = setting.layout
        && !chunk_bytes.is_multiple_of(record_bytes)
        && !record_bytes.is_multiple_of(chunk_bytes)
    {
        return Some(format!(
            "a chunk of {} is neither a multiple nor a divisor of a record of {}",
            Size(chunk_bytes),
            Size(record_bytes)
        ));
    }
    None
}

fn too_large(setting: &Setting, facts: &SettingConstraints) -> Option<String> {
    let least = facts.least_size_bytes;
    let targets = setting.order.len() as u64;
    let room_bytes = match setting.layout {
        Layout::Stripe { chunk_bytes } => {
            (least / chunk_bytes * chunk_bytes).saturating_mul(targets)
        }
        Layout::Independent | Layout::Turns | Layout::Span => least,
    };
    if setting.record_bytes > room_bytes {
        return Some("the targets are too small for one such record".to_owned());
    }
    (setting.buffer_bytes() > facts.memory_bytes)
        .then(|| "its buffers would take more than half of this machine's memory".to_owned())
}

/// The remainder by two of the numbers of a direction's rounds, as [`Grid::round_of`] gives them.
pub(super) fn direction_of_round(direction: Direction) -> usize {
    usize::from(direction == Direction::Read)
}

impl Grid {
    /// The kind of each point: points of one direction and one I/O path have similar noise.
    pub fn kinds(&self) -> Vec<usize> {
        let kind = |point: &PossiblePoint| {
            let path = match point.setting.path {
                DataPath::Direct => 0,
                DataPath::Buffered => 1,
                DataPath::Passthrough => 2,
            };
            usize::from(point.setting.direction == Direction::Read) * 3 + path
        };
        self.points.iter().map(kind).collect()
    }

    /// The number under which the judge knows a round: what slows writing down need not slow
    /// reading down.
    pub(super) fn round_of(&self, point: usize, round: usize) -> usize {
        round * 2 + direction_of_round(self.points[point].setting.direction)
    }

    /// Adds the settings of another place. It has the same axes.
    pub(super) fn add_place(&mut self, mut other: Grid) {
        let groups = self.points.iter().map(|point| point.group + 1);
        let first = groups.max().unwrap_or(0);
        for point in &mut other.points {
            point.group += first;
        }
        self.lengths = other.lengths;
        self.points.append(&mut other.points);
        for left_out in other.left_out {
            let mut known = self.left_out.iter_mut();
            match known.find(|known| known.why == left_out.why) {
                Some(known) => known.count += left_out.count,
                None => self.left_out.push(left_out),
            }
        }
    }

    pub(super) fn leave_out(&mut self, setting: Setting, why: String) {
        match self.left_out.iter_mut().find(|known| known.why == why) {
            Some(known) => known.count += 1,
            None => self.left_out.push(LeftOut {
                why,
                count: 1,
                first: setting,
                longer: None,
            }),
        }
    }
}
