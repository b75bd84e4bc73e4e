//! The description of a machine in its TOML file, parsed and checked, with every default filled in.
//! Whoever opens a `sim:` target calls it; [`super::Machine`] is built from it. It must refuse keys
//! that it does not know, and list in `warnings` what it accepts although it has no effect.

mod disk;
mod section;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use super::fault::{FaultDescription, FaultKind};
use disk::disk_description;
use section::{MachineDocument, Section};

/// The fastest rate a machine file may state: the simulation's arithmetic ends above it.
const RATE_BYTES_PER_S_MAX: f64 = 10e12;
/// The slowest one, so that no request takes longer than the virtual clock can count.
const RATE_BYTES_PER_S_MIN: f64 = 1.0;

/// The reason why a machine file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MachineFileError {
    /// The file cannot be read.
    #[error("cannot read the machine file {}: {error}; is the path right?", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// A key, a value, or the combination of several is wrong.
    #[error("{path}:{line}: {message}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error, and what was expected.
        message: String,
    },
    /// The disk that was asked for is not in the file.
    #[error("{path} has no disk {name:?}; its disks are {known}", path = path.display())]
    DiskUnknown {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The text is no `sim:` target.
    #[error(
        "{text:?} names no simulated machine; expected sim:MACHINE.toml (all its disks) or \
         sim:MACHINE.toml:DISK"
    )]
    Target {
        /// The text as typed.
        text: String,
    },
}

/// A machine: its disks and the limits that they share.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineFile {
    /// The file it came from, as named; shown in messages.
    pub path: PathBuf,
    /// The disks, in the order of the file.
    pub disks: Vec<DiskDescription>,
    /// The limits, by name.
    pub limits: Vec<LimitDescription>,
    /// Warnings about what was accepted and has no effect, for the user.
    pub warnings: Vec<String>,
}

/// One simulated disk. All rates in bytes per second.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskDescription {
    /// Its name, unique on the machine.
    pub name: String,
    /// Its size.
    pub capacity_bytes: u64,
    /// Read rate of the outermost zone.
    pub read_bytes_per_s: f64,
    /// Write rate of the outermost zone.
    pub write_bytes_per_s: f64,
    /// Read rate of the innermost zone.
    pub inner_read_bytes_per_s: f64,
    /// Write rate of the innermost zone.
    pub inner_write_bytes_per_s: f64,
    /// Number of zones of equal capacity.
    pub zones: u32,
    /// Limits its data passes, nearest first: indices into [`MachineFile::limits`].
    pub through: Vec<usize>,
    /// Cost of each request besides its bytes.
    pub request_ns: u64,
    /// Revolutions per minute: a late request waits for whole revolutions. `None`: it never waits.
    pub rpm: Option<u32>,
    /// Write cache.
    pub cache: Option<CacheDescription>,
    /// The part of the drive's memory into which it reads ahead on a stream. `None`: it reads only
    /// what is asked for. It has an effect only where `rpm` is given.
    pub segment_bytes: Option<u64>,
    /// Standard deviation of the disk's rates from run to run, as a fraction.
    pub noise_fraction: f64,
    /// Periodic stalls.
    pub stall: Option<StallDescription>,
    /// A position at which requests fail.
    pub fault: Option<FaultDescription>,
    /// The error with which every flush fails.
    pub flush_fault: Option<FaultKind>,
    /// Stretches that are slower than their zone, in order of position, without overlap.
    pub slow: Vec<SlowDescription>,
}

/// A disk's write cache.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheDescription {
    /// Its size.
    pub capacity_bytes: u64,
    /// Rate at which it absorbs; `None`: only the limits on the way to the disk bound it.
    pub rate_bytes_per_s: Option<f64>,
    /// Whether a power cut loses what was not flushed. A flush of a cache that is not volatile,
    /// such as one with a battery, need not wait for the media.
    pub volatile: bool,
}

/// Every request of the disk is held for `for_ns` at each multiple of `every_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StallDescription {
    /// Period.
    pub every_ns: u64,
    /// Length, shorter than the period.
    pub for_ns: u64,
}

/// A stretch of a disk that is slower than its zone, because sectors are read again or were moved
/// elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowDescription {
    /// Its first byte.
    pub at_bytes: u64,
    /// Its length.
    pub for_bytes: u64,
    /// The highest rate there, in bytes per second.
    pub to_bytes_per_s: f64,
}

/// A limit that the data of several disks passes: a channel, a bus, a controller.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitDescription {
    /// Its name: `channel0` of `[limit.channel0]`.
    pub name: String,
    /// The rates that it carries.
    pub rates: LimitRates,
    /// The time that each request needs of a server that serves all of them, one at a time: a
    /// processor, a controller.
    pub request_ns: u64,
    /// How it is shared.
    pub share: SharingRule,
    /// How its rate comes about, in words, for people.
    pub formula: Option<String>,
}

/// The rates that a limit carries, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LimitRates {
    /// Reads and writes together (`rate`).
    Together(f64),
    /// Reads and writes each on their own, as on a full-duplex link (`read`, `write`).
    Apart {
        /// All reads together.
        read_bytes_per_s: f64,
        /// All writes together.
        write_bytes_per_s: f64,
    },
}

/// How a limit is shared among the disks that use it at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharingRule {
    /// Equal shares; what a slower disk does not use goes to the others.
    MaxMin,
    /// In proportion to the requests in flight on each disk; what one cannot use goes to the
    /// others.
    Depth,
    /// In the order in which the disks are listed: each gets all that it can take of what those
    /// before it do not use.
    Priority,
}

impl MachineFile {
    /// Reads and checks a machine file.
    ///
    /// # Errors
    /// The file cannot be read, or something in it is wrong: the error names the line and what was
    /// expected.
    pub fn read(path: &Path) -> Result<Self, MachineFileError> {
        let text = std::fs::read_to_string(path).map_err(|error| MachineFileError::Unreadable {
            path: path.to_owned(),
            error,
        })?;
        Self::parse(&text, path)
    }

    /// Checks a machine file's text; `path` is only named in messages.
    ///
    /// # Errors
    /// Something in it is wrong: the error names the line and what was expected.
    pub fn parse(text: &str, path: &Path) -> Result<Self, MachineFileError> {
        let document = MachineDocument::parse(text, path)?;
        let root = document.root();
        root.allow_only(&["disk", "limit"])?;
        let mut warnings = Vec::new();

        let mut limits = Vec::new();
        for (name, section) in root.named_sections("limit")? {
            limits.push(limit_description(name, &section)?);
        }
        let mut disks: Vec<DiskDescription> = Vec::new();
        for section in root.listed_sections("disk")? {
            let disk = disk_description(&section, &limits, &mut warnings)?;
            if disks.iter().any(|other| other.name == disk.name) {
                let message = format!("a second disk named {:?}: give it its own name", disk.name);
                return Err(section.invalid_at("name", message));
            }
            disks.push(disk);
        }
        if disks.is_empty() {
            let message = "the machine has no disk: add a [[disk]] with name, capacity and read \
                           or write";
            return Err(root.invalid(message));
        }
        for (index, limit) in limits.iter().enumerate() {
            if !disks.iter().any(|disk| disk.through.contains(&index)) {
                warnings.push(format!(
                    "limit {:?} is on no disk's way (through)",
                    limit.name
                ));
            }
        }
        Ok(Self {
            path: path.to_owned(),
            disks,
            limits,
            warnings,
        })
    }

    /// The indices of the disks that a target names: the one named, or all.
    ///
    /// # Errors
    /// There is no disk of that name.
    pub fn select(&self, disk: Option<&str>) -> Result<Vec<usize>, MachineFileError> {
        let Some(name) = disk else {
            return Ok((0..self.disks.len()).collect());
        };
        self.disks
            .iter()
            .position(|disk| disk.name == name)
            .map(|index| vec![index])
            .ok_or_else(|| MachineFileError::DiskUnknown {
                path: self.path.clone(),
                name: name.to_owned(),
                known: self
                    .disks
                    .iter()
                    .map(|disk| disk.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }
}

impl DiskDescription {
    /// A disk with these rates everywhere and without limits, cache, noise or faults, for machines
    /// that are made by a program; the other fields can be set on the result.
    #[must_use]
    pub fn new(
        name: &str,
        capacity_bytes: u64,
        read_bytes_per_s: f64,
        write_bytes_per_s: f64,
    ) -> Self {
        Self {
            name: name.to_owned(),
            capacity_bytes,
            read_bytes_per_s,
            write_bytes_per_s,
            inner_read_bytes_per_s: read_bytes_per_s,
            inner_write_bytes_per_s: write_bytes_per_s,
            zones: 1,
            through: Vec::new(),
            request_ns: 0,
            rpm: None,
            cache: None,
            segment_bytes: None,
            noise_fraction: 0.0,
            stall: None,
            fault: None,
            flush_fault: None,
            slow: Vec::new(),
        }
    }
}

/// Splits `sim:MACHINE.toml` or `sim:MACHINE.toml:DISK` into the file and the disk, if one is
/// named. The file's name must end in `.toml`, so that a colon in a path or name does no harm.
///
/// # Errors
/// An error if the text is neither.
pub fn parse_target(text: &str) -> Result<(PathBuf, Option<&str>), MachineFileError> {
    let unknown = || MachineFileError::Target {
        text: text.to_owned(),
    };
    let rest = text.strip_prefix("sim:").ok_or_else(unknown)?;
    const SUFFIX: &str = ".toml";
    let (path, disk) = match rest.find(".toml:") {
        Some(at) => {
            let (path, disk) = rest.split_at(at + SUFFIX.len());
            (path, Some(&disk[1..]))
        }
        None => (rest, None),
    };
    if !path.ends_with(SUFFIX) || path == SUFFIX || disk == Some("") {
        return Err(unknown());
    }
    Ok((PathBuf::from(path), disk))
}

fn limit_description(
    name: &str,
    section: &Section<'_>,
) -> Result<LimitDescription, MachineFileError> {
    section.allow_only(&["rate", "read", "write", "request", "share", "formula"])?;
    let rate = rate_within(section, "rate")?;
    let read = rate_within(section, "read")?;
    let write = rate_within(section, "write")?;
    let rates = match (rate, read, write) {
        (Some(rate), None, None) => LimitRates::Together(rate),
        (None, Some(read_bytes_per_s), Some(write_bytes_per_s)) => LimitRates::Apart {
            read_bytes_per_s,
            write_bytes_per_s,
        },
        _ => {
            return Err(section.invalid(
                "a limit has either rate (reads and writes together) or both read and write \
                 (each on its own)",
            ));
        }
    };
    let choices = [
        ("max-min", SharingRule::MaxMin),
        ("depth", SharingRule::Depth),
        ("priority", SharingRule::Priority),
    ];
    let share = section
        .choice("share", &choices)?
        .unwrap_or(SharingRule::MaxMin);
    Ok(LimitDescription {
        name: name.to_owned(),
        rates,
        request_ns: section.duration("request")?.unwrap_or(0),
        share,
        formula: section.text("formula")?.map(str::to_owned),
    })
}

/// A rate that the simulation can represent.
fn rate_within(section: &Section<'_>, key: &str) -> Result<Option<f64>, MachineFileError> {
    let Some(rate_bytes_per_s) = section.rate(key)? else {
        return Ok(None);
    };
    if !(RATE_BYTES_PER_S_MIN..=RATE_BYTES_PER_S_MAX).contains(&rate_bytes_per_s) {
        let message = format!("{key} must lie between 1 B/s and 10 TB/s");
        return Err(section.invalid_at(key, message));
    }
    Ok(Some(rate_bytes_per_s))
}
