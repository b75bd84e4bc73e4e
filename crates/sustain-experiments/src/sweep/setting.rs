//! One way to use the targets, and its axes by name. Pure; all parts of a sweep describe settings
//! by these words.

use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction};
use sustain_disk::units::Size;
use sustain_document::vocabulary::LayoutKind;

pub use sustain_document::sweep::Axis;

/// All axes, in the order in which a setting names them.
pub const AXES: [Axis; 9] = [
    Axis::Direction,
    Axis::Place,
    Axis::Engine,
    Axis::Path,
    Axis::Layout,
    Axis::Chunk,
    Axis::Order,
    Axis::RecordSize,
    Axis::Depth,
];

/// One way to use the targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The direction.
    pub direction: Direction,
    /// How requests are issued.
    pub engine: EngineChoice,
    /// Direct, buffered or passthrough I/O.
    pub path: DataPath,
    /// How several targets are used.
    pub layout: Layout,
    /// Whether a stripe is an array of the kernel's (md RAID 0), instead of this program's own.
    pub is_array: bool,
    /// The targets by number, in the order in which they are used.
    pub order: Vec<usize>,
    /// Bytes per request.
    pub record_bytes: u64,
    /// Requests in flight per target.
    pub depth: u32,
}

/// The shape of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ArrayShape<'a> {
    pub(super) chunk_bytes: u64,
    /// The members by number.
    pub(super) order: &'a [usize],
}

impl Setting {
    /// Requests that may be in flight at once.
    fn requests(&self) -> u64 {
        let targets = match self.layout {
            Layout::Span => 1,
            Layout::Independent | Layout::Turns | Layout::Stripe { .. } => self.order.len() as u64,
        };
        u64::from(self.depth).saturating_mul(targets)
    }

    /// The memory for these requests.
    pub fn buffer_bytes(&self) -> u64 {
        self.requests().saturating_mul(self.record_bytes)
    }

    /// The bytes that may be in flight at once: no request of a stripe crosses the end of a chunk.
    pub fn window_bytes(&self) -> u64 {
        self.requests().saturating_mul(self.request_bytes())
    }

    /// The bytes of the largest request that a target, or an array, is given.
    pub fn request_bytes(&self) -> u64 {
        match self.layout {
            Layout::Stripe { chunk_bytes } if !self.is_array => self.record_bytes.min(chunk_bytes),
            Layout::Independent | Layout::Turns | Layout::Stripe { .. } | Layout::Span => {
                self.record_bytes
            }
        }
    }

    /// The array that must exist while it is measured, if it needs one.
    pub(super) fn array_shape(&self) -> Option<ArrayShape<'_>> {
        match self.layout {
            Layout::Stripe { chunk_bytes } if self.is_array => Some(ArrayShape {
                chunk_bytes,
                order: &self.order,
            }),
            Layout::Independent | Layout::Turns | Layout::Stripe { .. } | Layout::Span => None,
        }
    }

    /// The same load on an existing array, as its only target: as many requests in flight as its
    /// members had together.
    pub fn on_array(&self) -> Setting {
        Setting {
            layout: Layout::Independent,
            is_array: false,
            depth: self.depth.saturating_mul(self.order.len() as u32),
            order: vec![0],
            ..self.clone()
        }
    }

    /// The same load as the kernel's array would pass it to the members: each chunk of a record is
    /// one request, and all requests of a record are in flight at once. This stands for an array on
    /// simulated disks, of which none can be built.
    pub(super) fn by_chunks(&self) -> Setting {
        let request_bytes = match self.layout {
            Layout::Stripe { chunk_bytes } => self.record_bytes.min(chunk_bytes),
            Layout::Independent | Layout::Turns | Layout::Span => self.record_bytes,
        };
        let requests = (self.record_bytes / request_bytes.max(1)).max(1);
        Setting {
            is_array: false,
            record_bytes: request_bytes,
            depth: self.depth.saturating_mul(requests as u32),
            ..self.clone()
        }
    }

    /// Its value on an axis, in words; `None` if it does not have that axis. `names` are those of
    /// the targets.
    pub fn value(&self, axis: Axis, names: &[String]) -> Option<String> {
        Some(match axis {
            Axis::Direction => self.direction.name().to_owned(),
            Axis::Place => {
                let mut targets = self.order.clone();
                targets.sort_unstable();
                let names = targets.into_iter().map(|target| names[target].as_str());
                names.collect::<Vec<_>>().join(",")
            }
            Axis::Engine => self.engine.name().to_owned(),
            Axis::Path => self.path.name().to_owned(),
            Axis::Layout => layout_kind(self).name().to_owned(),
            Axis::Chunk => match self.layout {
                Layout::Stripe { chunk_bytes } => Size(chunk_bytes).to_string(),
                Layout::Independent | Layout::Turns | Layout::Span => return None,
            },
            Axis::Order if self.layout == Layout::Independent => return None,
            Axis::Order => self.order_names(names).join(","),
            Axis::RecordSize => Size(self.record_bytes).to_string(),
            Axis::Depth => self.depth.to_string(),
        })
    }

    /// The targets' names in its order.
    pub fn order_names(&self, names: &[String]) -> Vec<String> {
        let order = self.order.iter();
        order.map(|target| names[*target].clone()).collect()
    }

    /// Its values on these axes in one line: `io_uring, 1 MiB, depth 8`.
    pub fn words(&self, axes: &[Axis], names: &[String]) -> String {
        let word = |axis: &Axis| {
            let value = self.value(*axis, names)?;
            Some(match axis {
                Axis::Depth => format!("depth {value}"),
                Axis::Chunk => format!("chunk {value}"),
                Axis::Order => format!("order {value}"),
                _ => value,
            })
        };
        let words: Vec<String> = axes.iter().filter_map(word).collect();
        words.join(", ")
    }
}

/// The name of a setting's layout, on the command line and in results.
pub(super) fn layout_kind(setting: &Setting) -> LayoutKind {
    match setting.layout {
        Layout::Independent => LayoutKind::Independent,
        Layout::Turns => LayoutKind::Turns,
        Layout::Stripe { .. } if setting.is_array => LayoutKind::MdRaid0,
        Layout::Stripe { .. } => LayoutKind::Stripe,
        Layout::Span => LayoutKind::Span,
    }
}
