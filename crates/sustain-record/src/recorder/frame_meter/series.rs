//! Figures of frames over time, in even steps that become longer as the recording does. No maximum
//! is lost when steps are joined.

/// The most points. When there are more, two at a time become one.
const POINTS_MAX: u64 = 1024;
const FIRST_STEP_NS: u64 = 10_000_000;

/// The frames that began to arrive within one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FramePoint {
    /// How many.
    pub frames: u64,
    /// The longest time since the frame before.
    pub interval_max_ns: u64,
    /// The largest of them.
    pub size_max_bytes: u64,
    /// The longest time until one of them was durable.
    pub until_durable_max_ns: u64,
}

/// Points in even steps.
#[derive(Debug, Clone)]
pub struct FrameSeries {
    step_ns: u64,
    points: Vec<FramePoint>,
}

impl Default for FrameSeries {
    fn default() -> FrameSeries {
        FrameSeries {
            step_ns: FIRST_STEP_NS,
            points: Vec::new(),
        }
    }
}

impl FrameSeries {
    /// The point for a time from the recording's start.
    pub fn at(&mut self, at_ns: u64) -> &mut FramePoint {
        while at_ns / self.step_ns >= POINTS_MAX {
            self.step_ns = self.step_ns.saturating_mul(2);
            self.points = self.points.chunks(2).map(joined).collect();
        }
        let index = (at_ns / self.step_ns) as usize;
        if self.points.len() <= index {
            self.points.resize(index + 1, FramePoint::default());
        }
        &mut self.points[index]
    }

    /// The length of a step.
    pub fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// The points from the recording's start on; those without frames are all zero.
    pub fn points(&self) -> &[FramePoint] {
        &self.points
    }
}

fn joined(points: &[FramePoint]) -> FramePoint {
    points
        .iter()
        .fold(FramePoint::default(), |all, one| FramePoint {
            frames: all.frames + one.frames,
            interval_max_ns: all.interval_max_ns.max(one.interval_max_ns),
            size_max_bytes: all.size_max_bytes.max(one.size_max_bytes),
            until_durable_max_ns: all.until_durable_max_ns.max(one.until_durable_max_ns),
        })
}
