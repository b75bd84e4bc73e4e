//! The request for a load, as the user gave it; nothing here touches a disk.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use sustain_disk::data::DataKind;
use sustain_disk::engine::EngineChoice;
use sustain_disk::layout::Layout;
use sustain_disk::meter::IntervalRule;
use sustain_disk::target::{DataPath, Direction, PASSED_THROUGH};
use sustain_disk::units::{Size, parse_percent, parse_size};
use sustain_document::setting::{
    AT, BYTES, CHUNK, DEPTH, ENGINE, INTERVAL, LAYOUT, ORDER, PATH, RATE, READ, RECORD_SIZE,
    THREADS, TIME, UNTIL_STEADY, WRITE,
};
pub use sustain_targets::TargetName;

use crate::error::LoadError;

/// The position on each target at which a run begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum At {
    /// A part of the bytes that are used, from 0 to 1.
    Part(f64),
    /// A byte offset.
    Byte(u64),
}

impl fmt::Display for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Part(part) => write!(formatter, "{} %", part * 100.0),
            At::Byte(byte) => Size(*byte).fmt(formatter),
        }
    }
}

/// Reads `50%` or `100GB`.
///
/// # Errors
/// A message, if the text is neither.
pub fn parse_at(text: &str) -> Result<At, String> {
    if text.ends_with('%') {
        return parse_percent(text)
            .map(At::Part)
            .map_err(|error| error.to_string());
    }
    if let Ok(number @ 1..=100) = text.parse::<u64>() {
        return Err(format!(
            "{text} may be meant as a percentage or as bytes: write {number}% or {number}B"
        ));
    }
    parse_size(text)
        .map(At::Byte)
        .map_err(|error| format!("{error}; or a percentage of each target, such as 50%"))
}

/// How targets are opened and loaded: what all experiments ask of the load generator, each with
/// questions of its own beside it.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// The targets as typed.
    pub targets: Vec<String>,
    /// The direction; `None` lets the targets decide.
    pub direction: Option<Direction>,
    /// Bytes per request.
    pub record_bytes: u64,
    /// Requests in flight per target.
    pub depth: u32,
    /// How they are issued.
    pub engine: EngineChoice,
    /// Number of drivers; `None` lets the run decide.
    pub threads: Option<u32>,
    /// Direct, buffered or passthrough I/O.
    pub path: DataPath,
    /// How several targets are used.
    pub layout: Layout,
    /// The order in which the layout uses the targets, as the names of all of them separated by
    /// commas; `None` for that in which they are named.
    pub order: Option<String>,
    /// Bound in time; `None` only with a bound in bytes.
    pub time_ns: Option<u64>,
    /// Bound in bytes, per target.
    pub bytes: Option<u64>,
    /// Whether to end once every target is steady.
    pub until_steady: bool,
    /// The part of each target that is used.
    pub size_bytes: Option<u64>,
    /// Where in that part the run begins; `None` for its start.
    pub at: Option<At>,
    /// A rate to hold, over all targets.
    pub rate_bytes_per_s: Option<f64>,
    /// The rule for when intervals end.
    pub interval: IntervalRule,
    /// The data to write.
    pub data: DataKind,
    /// Whether to prewrite files before the clock starts.
    pub prewrite: bool,
    /// Targets that may be destroyed, as typed.
    pub destroy: Vec<String>,
    /// Whether targets that do not exist are made as files.
    pub new_file: bool,
    /// Whether to say only what would be done.
    pub dry_run: bool,
    /// Seed of data and simulated machines.
    pub seed: u64,
}

/// Says why simulated disks have no passthrough.
pub const NO_DRIVER: &str = "a simulated machine has no driver that could take commands";

/// Says why they have no choice of engine either.
pub const NO_ENGINES: &str = "a simulated machine has no engines to choose from";

/// The part of a scratch or new file that is used unless a size is given.
pub const SIZE_BYTES_DEFAULT: u64 = 4 << 30;

/// Direct I/O needs blocks of no more than this on all but the rarest disks.
const BLOCK_BYTES: u64 = 4096;

/// The direction if none was asked for, chosen so that it never does harm.
fn harmless_direction(name: &TargetName) -> Direction {
    match name {
        TargetName::Path(path) if is_existing_data(path) => Direction::Read,
        _ => Direction::Write,
    }
}

fn is_existing_data(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_dir())
}

impl LoadPlan {
    /// A plan for half a minute on `targets` with the defaults of the command line.
    pub fn new(targets: impl IntoIterator<Item = impl Into<String>>) -> LoadPlan {
        LoadPlan {
            targets: targets.into_iter().map(Into::into).collect(),
            direction: None,
            record_bytes: 1 << 20,
            depth: 8,
            engine: EngineChoice::Auto,
            threads: None,
            path: DataPath::Direct,
            layout: Layout::Independent,
            order: None,
            time_ns: Some(30_000_000_000),
            bytes: None,
            until_steady: false,
            size_bytes: None,
            at: None,
            rate_bytes_per_s: None,
            interval: IntervalRule::Time(1_000_000_000),
            data: DataKind::Fresh,
            prewrite: true,
            destroy: Vec::new(),
            new_file: false,
            dry_run: false,
            seed: 0,
        }
    }

    /// The same plan, with this bound in time.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> LoadPlan {
        self.time_ns = Some(time.as_nanos() as u64);
        self
    }

    /// How an experiment of many runs opens its targets: each by itself, for runs of this length in
    /// which each record is reported by itself, because a slow disk has only a few of them in one.
    /// Whatever else places, bounds or paces a run has no meaning there.
    #[must_use]
    pub fn in_runs_of(&self, time_ns: u64) -> LoadPlan {
        LoadPlan {
            layout: Layout::Independent,
            order: None,
            time_ns: Some(time_ns),
            bytes: None,
            until_steady: false,
            at: None,
            rate_bytes_per_s: None,
            interval: IntervalRule::Bytes(self.record_bytes),
            ..self.clone()
        }
    }

    /// The same for settings with records and depths that are not less than these. Which records
    /// fit the targets is checked setting by setting.
    #[must_use]
    pub fn in_runs_from(
        &self,
        time_ns: u64,
        record_bytes: u64,
        depth: u32,
        path: DataPath,
    ) -> LoadPlan {
        LoadPlan {
            record_bytes: match path {
                DataPath::Direct => record_bytes.next_multiple_of(BLOCK_BYTES),
                _ => record_bytes,
            },
            depth,
            path,
            interval: IntervalRule::Bytes(record_bytes),
            ..self.in_runs_of(time_ns)
        }
    }

    /// The direction asked for, or the one that harms none of the targets.
    ///
    /// # Errors
    /// [`LoadError::Usage`] if the targets' default directions differ.
    pub fn direction_for(&self, names: &[TargetName]) -> Result<Direction, LoadError> {
        if let Some(direction) = self.direction {
            return Ok(direction);
        }
        let mut directions = names.iter().map(harmless_direction);
        let first = directions.next().unwrap_or(Direction::Write);
        if directions.all(|direction| direction == first) {
            return Ok(first);
        }
        let missing = names.iter().find_map(|name| match name {
            TargetName::Path(path) if path.symlink_metadata().is_err() => Some(path),
            _ => None,
        });
        let missing = missing.map_or(String::new(), |path| {
            format!(", and {} does not exist", path.display())
        });
        Err(LoadError::Usage(format!(
            "by default some targets would be read and others written{missing}: use {} or {}",
            READ.the(),
            WRITE.the()
        )))
    }

    /// The first of the targets that is simulated.
    pub fn simulated_target(&self) -> Option<&String> {
        self.targets.iter().find(|name| is_simulated(name))
    }

    /// Refuses demands that contradict each other.
    ///
    /// # Errors
    /// [`LoadError::Usage`], saying which demand it is and what to do.
    pub fn check(&self) -> Result<(), LoadError> {
        let usage = |text: String| Err(LoadError::Usage(text));
        if self.targets.is_empty() {
            let text = "name at least one target: a directory, a file, a block device, null:";
            return usage(text.to_owned());
        }
        if self.record_bytes == 0 || self.record_bytes > 1 << 30 {
            return usage(RECORD_SIZE.must_be("from 1 byte to 1GiB"));
        }
        if self.depth == 0 || self.depth > 4096 {
            return usage(DEPTH.must_be("from 1 to 4096"));
        }
        if !self.layout.has_own_streams() && self.at.is_some() {
            return usage(format!(
                "{} applies to each target by itself and cannot be combined with {}",
                AT.the(),
                LAYOUT.to("stripe or span")
            ));
        }
        if self.time_ns == Some(0) {
            return usage(TIME.must_be("more than zero"));
        }
        if self.bytes == Some(0) {
            return usage(BYTES.must_be("at least one byte"));
        }
        if self.threads == Some(0) {
            return usage(THREADS.must_be("at least 1"));
        }
        if self.layout == (Layout::Stripe { chunk_bytes: 0 }) {
            return usage(CHUNK.must_be("at least one block"));
        }
        self.check_one_driver()?;
        if self.until_steady && self.rate_bytes_per_s.is_some() {
            return usage(format!(
                "{} looks for a rate, {} sets one: choose one of the two",
                UNTIL_STEADY.the(),
                RATE.the()
            ));
        }
        if self.path == DataPath::Passthrough {
            check_passthrough(&self.targets, self.engine)?;
        }
        match self.interval {
            IntervalRule::Time(length_ns) if length_ns < 1_000_000 => {
                usage(INTERVAL.must_be("at least 1ms"))
            }
            IntervalRule::Bytes(0) => usage(INTERVAL.must_be("at least one byte")),
            _ => Ok(()),
        }
    }

    /// Refuses what only targets with a driver of their own can have, and what only the others can.
    fn check_one_driver(&self) -> Result<(), LoadError> {
        let usage = |text: String| Err(LoadError::Usage(text));
        let (what, is) = match self.layout {
            Layout::Independent if self.order.is_some() => {
                return usage(format!(
                    "{} makes no difference where each target has a queue of its own: use {}, \
                     stripe or span, or leave it out",
                    ORDER.the(),
                    LAYOUT.to("turns")
                ));
            }
            Layout::Independent => return Ok(()),
            Layout::Turns => ("feeding in turns", "is done by one driver"),
            Layout::Stripe { .. } | Layout::Span => {
                ("a stripe or span", "is one stream and uses one driver")
            }
        };
        if self.threads.is_some_and(|threads| threads > 1) {
            return usage(format!("{what} {is}: leave out {}", THREADS.the()));
        }
        if mixes_simulated_and_real(&self.targets) {
            return usage(format!(
                "{what} cannot mix simulated and real disks: name disks of one kind"
            ));
        }
        Ok(())
    }
}

/// Whether a target, as typed, belongs to a simulated machine.
pub fn is_simulated(name: &str) -> bool {
    name.starts_with("sim:")
}

/// Whether some of these targets are simulated, and others are not.
pub fn mixes_simulated_and_real(targets: &[String]) -> bool {
    let are_alike = |pair: &[String]| is_simulated(&pair[0]) == is_simulated(&pair[1]);
    !targets.windows(2).all(are_alike)
}

/// The direction in which targets are opened that will be used in these directions.
pub fn direction_to_open(directions: &[Direction]) -> Option<Direction> {
    // A descriptor that may be written may be read as well.
    let writes = directions.contains(&Direction::Write);
    if writes {
        Some(Direction::Write)
    } else {
        directions.first().copied()
    }
}

/// Whether an engine can drive passthrough I/O to any disk. Which of them it must be, the disks
/// tell.
fn can_pass_through(engine: EngineChoice) -> bool {
    use EngineChoice::{Auto, IoUring, Threads};
    matches!(engine, Auto | IoUring | Threads)
}

/// Passthrough sends commands to a disk: by io_uring to an NVMe drive, by threads to a SATA or SCSI
/// disk.
fn check_passthrough(targets: &[String], engine: EngineChoice) -> Result<(), LoadError> {
    let is_no_disk = |name: &&String| is_simulated(name) || *name == "null:";
    if let Some(name) = targets.iter().find(is_no_disk) {
        let what = if is_simulated(name) {
            NO_DRIVER
        } else {
            "it is not a disk"
        };
        return Err(LoadError::Usage(format!(
            "passthrough needs {PASSED_THROUGH}, and {name} is not one, because {what}: leave out \
             {}",
            PATH.to("passthrough")
        )));
    }
    if !can_pass_through(engine) {
        return Err(LoadError::Usage(format!(
            "{} works only with io_uring (NVMe) or threads (SATA and SCSI): leave out {}",
            PATH.to("passthrough"),
            ENGINE.the()
        )));
    }
    Ok(())
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_part_or_a_byte() {
        assert_eq!(parse_at("50%"), Ok(At::Part(0.5)));
        assert_eq!(parse_at("100GB"), Ok(At::Byte(100_000_000_000)));
        assert_eq!(parse_at("0"), Ok(At::Byte(0)));
        let why = parse_at("95").unwrap_err();
        assert!(why.contains("write 95% or 95B"), "{why}");
        assert!(parse_at("half").unwrap_err().contains("50%"));
        assert!(parse_at("150%").is_err());
    }

    #[test]
    fn the_default_direction_never_harms() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("precious");
        std::fs::write(&file, "x").unwrap();
        let direction = |path: &Path| harmless_direction(&TargetName::Path(path.to_owned()));
        assert_eq!(direction(&file), Direction::Read);
        assert_eq!(direction(directory.path()), Direction::Write);
        assert_eq!(direction(&directory.path().join("new")), Direction::Write);
        assert_eq!(harmless_direction(&TargetName::Null), Direction::Write);
    }

    #[test]
    fn passthrough_needs_a_disk_and_an_engine_that_sends_commands() {
        let why = |target: &str, engine| {
            let plan = LoadPlan {
                path: DataPath::Passthrough,
                engine,
                ..LoadPlan::new(["/dev/nvme0n1", target])
            };
            plan.check().err().map(|error| error.to_string())
        };
        let auto = EngineChoice::Auto;
        assert_eq!(why("/dev/nvme1n1", auto), None);
        assert_eq!(why("/dev/nvme1n1", EngineChoice::IoUring), None);
        assert_eq!(why("/dev/sda", EngineChoice::Threads), None);
        let simulated = why("sim:machines/demo.toml", auto).unwrap();
        assert!(
            simulated.contains("sim:machines/demo.toml is not one"),
            "{simulated}"
        );
        assert!(why("null:", auto).unwrap().contains("it is not a disk"));
        let engine = why("/dev/nvme1n1", EngineChoice::Libaio).unwrap();
        assert!(engine.contains("only with io_uring"), "{engine}");
    }
}
