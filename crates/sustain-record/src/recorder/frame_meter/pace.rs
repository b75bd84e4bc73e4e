//! Which frames are missing or late against a declared rate. A rate is never exact, so that nothing
//! is counted from the beginning: each frame is judged by the one before it. It is pure.

/// More incidents are only counted.
const INCIDENTS_MAX: usize = 100;
/// A frame is behind the rate once it comes this part of a period too late.
const HALF: f64 = 0.5;
/// Frames that are late come closer to each other than the rate is. When so many in a row have
/// caught up less than that part of a period, what is still behind is missing.
const FRAMES_TO_CATCH_UP: u32 = 8;

/// A pause in the frames of a stream that was longer than the declared rate allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameIncident {
    /// The number of the frame that ended the pause.
    pub frame: u64,
    /// When that frame began to arrive, in nanoseconds since 1970.
    pub time_ns: i64,
    /// The time since the frame before it.
    pub interval_ns: u64,
    /// Frames that should have come in the pause and never came.
    pub missing: u64,
    /// Frames that came after the pause, closer to each other than the rate is: late, and not
    /// missing.
    pub late: u64,
}

/// A stream's frames against its declared rate.
#[derive(Debug, Clone, PartialEq)]
pub struct FramePace {
    period_ns: f64,
    /// Frames that never came, in all settled incidents.
    pub missing: u64,
    /// Frames that came late.
    pub late: u64,
    /// The first incidents.
    pub incidents: Vec<FrameIncident>,
    /// Incidents beyond those.
    pub unlisted: u64,
    /// The pauses of which frames may still come.
    open: Option<OpenPauses>,
}

/// Pauses that followed each other before all that was due had been caught up.
#[derive(Debug, Clone, PartialEq)]
struct OpenPauses {
    /// With all that were due in each as late.
    incidents: Vec<FrameIncident>,
    /// Periods by which the last frame was behind the rate, and the least of these since the last
    /// pause.
    behind: f64,
    least_behind: f64,
    /// The least when it last became smaller by [`HALF`], and the frames since.
    caught_up_to: f64,
    frames: u32,
}

impl FramePace {
    /// Against this many frames per second, which must be more than 0.
    pub fn new(frames_per_s: f64) -> FramePace {
        FramePace {
            period_ns: 1e9 / frames_per_s,
            missing: 0,
            late: 0,
            incidents: Vec::new(),
            unlisted: 0,
            open: None,
        }
    }

    /// The declared rate.
    pub fn frames_per_s(&self) -> f64 {
        1e9 / self.period_ns
    }

    /// Judges a frame by the time since the one before it. `lost` frames between the two had come
    /// and were lost by the recorder: they are accounted for elsewhere.
    pub(super) fn take(&mut self, frame: u64, time_ns: i64, interval_ns: Option<u64>, lost: u64) {
        let Some(interval_ns) = interval_ns else {
            return;
        };
        let behind = interval_ns as f64 / self.period_ns - 1.0 - lost as f64;
        if behind >= HALF {
            self.pause(
                FrameIncident {
                    frame,
                    time_ns,
                    interval_ns,
                    missing: 0,
                    late: behind.round() as u64,
                },
                behind,
            );
        } else if let Some(open) = &mut self.open {
            open.behind += behind;
            open.least_behind = open.least_behind.min(open.behind);
            open.frames += 1;
            if open.least_behind <= open.caught_up_to - HALF {
                (open.caught_up_to, open.frames) = (open.least_behind, 0);
            }
            if open.least_behind < HALF || open.frames == FRAMES_TO_CATCH_UP {
                self.settle();
            }
        }
    }

    fn pause(&mut self, incident: FrameIncident, behind: f64) {
        if self.open.as_ref().is_some_and(OpenPauses::is_full) {
            self.settle();
        }
        let (mut incidents, before) = match self.open.take() {
            Some(open) => (open.incidents, open.least_behind),
            None => (Vec::new(), 0.0),
        };
        incidents.push(incident);
        let behind = before + behind;
        self.open = Some(OpenPauses {
            incidents,
            behind,
            least_behind: behind,
            caught_up_to: behind,
            frames: 0,
        });
    }

    /// Takes note that what has not come by now is missing. What was caught up belongs to the first
    /// pauses.
    pub(super) fn settle(&mut self) {
        let Some(open) = self.open.take() else { return };
        let due: u64 = open.incidents.iter().map(|incident| incident.late).sum();
        let mut caught_up = due.saturating_sub(open.least_behind.max(0.0).round() as u64);
        for mut incident in open.incidents {
            let late = incident.late.min(caught_up);
            caught_up -= late;
            incident.missing = incident.late - late;
            incident.late = late;
            self.missing += incident.missing;
            self.late += incident.late;
            if self.incidents.len() < INCIDENTS_MAX {
                self.incidents.push(incident);
            } else {
                self.unlisted += 1;
            }
        }
    }
}

impl OpenPauses {
    /// Whether another one has no place beside these, so that memory is bounded.
    fn is_full(&self) -> bool {
        self.incidents.len() >= INCIDENTS_MAX
    }
}
