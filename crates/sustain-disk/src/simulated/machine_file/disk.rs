//! One `[[disk]]` of a machine file: its keys, their defaults, and the values they may have. Called
//! by `machine_file` only. It must refuse values that the simulation cannot represent.

use super::section::Section;
use super::{
    CacheDescription, DiskDescription, FaultDescription, FaultKind, LimitDescription,
    MachineFileError, RATE_BYTES_PER_S_MIN, SlowDescription, StallDescription, rate_within,
};
use crate::units::Size;

/// Zones of a disk that has inner rates and does not say how many.
const ZONES_DEFAULT: u32 = 16;
/// More zones than this do not exist on any disk.
const ZONES_MAX: u32 = 65_536;
/// No platter rotates faster.
const RPM_MAX: u32 = 100_000;
/// Above this, a normal distribution is no longer a model of run-to-run noise.
const NOISE_FRACTION_MAX: f64 = 0.3;

const DISK_KEYS: &[&str] = &[
    "name",
    "capacity",
    "read",
    "write",
    "through",
    "inner_read",
    "inner_write",
    "zones",
    "request",
    "rpm",
    "cache",
    "cache_rate",
    "volatile_cache",
    "segment",
    "noise",
    "stall",
    "error",
    "flush_error",
    "slow",
];

pub(super) fn disk_description(
    section: &Section<'_>,
    limits: &[LimitDescription],
    warnings: &mut Vec<String>,
) -> Result<DiskDescription, MachineFileError> {
    section.allow_only(DISK_KEYS)?;
    let name = section.required("name", section.text("name")?)?.to_owned();
    if name.is_empty() {
        return Err(section.invalid_at("name", "a disk's name cannot be empty"));
    }
    let capacity_bytes = section.required("capacity", section.size("capacity")?)?;
    if capacity_bytes == 0 || capacity_bytes > i64::MAX.cast_unsigned() {
        return Err(section.invalid_at(
            "capacity",
            "a disk's capacity must be between 1 B and 8 EiB",
        ));
    }
    let (read, write) = match (
        rate_within(section, "read")?,
        rate_within(section, "write")?,
    ) {
        (Some(read), Some(write)) => (read, write),
        (Some(rate), None) | (None, Some(rate)) => (rate, rate),
        (None, None) => return Err(section.invalid("a disk needs a rate: read, write or both")),
    };
    let mut disk = DiskDescription::new(&name, capacity_bytes, read, write);
    set_zones(&mut disk, section, warnings)?;
    disk.through = through(section, limits)?;
    disk.request_ns = section.duration("request")?.unwrap_or(0);
    disk.rpm = section.integer("rpm")?;
    if disk.rpm.is_some_and(|rpm| !(1..=RPM_MAX).contains(&rpm)) {
        let message = "rpm must be between 1 and 100000; leave it out for none";
        return Err(section.invalid_at("rpm", message));
    }
    disk.cache = cache_description(&name, section, warnings)?;
    disk.segment_bytes = segment_bytes(&disk, section, warnings)?;
    disk.noise_fraction = section.percent("noise")?.unwrap_or(0.0);
    if disk.noise_fraction > NOISE_FRACTION_MAX {
        return Err(section.invalid_at("noise", "noise can be up to 30%"));
    }
    disk.stall = stall_description(section)?;
    disk.fault = fault_description(section, capacity_bytes)?;
    disk.flush_fault = section.choice("flush_error", FaultKind::BY_NAME)?;
    disk.slow = slow_descriptions(section, capacity_bytes)?;
    Ok(disk)
}

/// Sets inner rates and the number of zones. An inner rate that is not given falls as the other one
/// does.
fn set_zones(
    disk: &mut DiskDescription,
    section: &Section<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), MachineFileError> {
    let (read, write) = (disk.read_bytes_per_s, disk.write_bytes_per_s);
    let inner_read = rate_within(section, "inner_read")?;
    let inner_write = rate_within(section, "inner_write")?;
    let zones = section.integer("zones")?;
    if zones.is_some_and(|zones| !(1..=ZONES_MAX).contains(&zones)) {
        return Err(section.invalid_at("zones", "zones must lie between 1 and 65536"));
    }
    let (inner_read, inner_write) = match (inner_read, inner_write) {
        (Some(inner_read), Some(inner_write)) => (inner_read, inner_write),
        (Some(inner_read), None) => (
            inner_read,
            (write * inner_read / read).max(RATE_BYTES_PER_S_MIN),
        ),
        (None, Some(inner_write)) => (
            (read * inner_write / write).max(RATE_BYTES_PER_S_MIN),
            inner_write,
        ),
        (None, None) => {
            if zones.is_some_and(|zones| zones > 1) {
                warnings.push(format!(
                    "disk {:?}: zones has no effect without inner_read or inner_write",
                    disk.name
                ));
            }
            return Ok(());
        }
    };
    if zones == Some(1) {
        let message = "an inner rate needs zones of 2 or more (default: 16)";
        return Err(section.invalid_at("zones", message));
    }
    disk.zones = zones.unwrap_or(ZONES_DEFAULT);
    disk.inner_read_bytes_per_s = inner_read;
    disk.inner_write_bytes_per_s = inner_write;
    Ok(())
}

fn through(
    section: &Section<'_>,
    limits: &[LimitDescription],
) -> Result<Vec<usize>, MachineFileError> {
    let mut through = Vec::new();
    for name in section.texts("through")? {
        let Some(index) = limits.iter().position(|limit| limit.name == name) else {
            let known = limits
                .iter()
                .map(|limit| limit.name.as_str())
                .collect::<Vec<_>>();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            let message = format!(
                "through names a limit {name:?} that does not exist; limits here: {known}; add \
                 [limit.{name}] with a rate"
            );
            return Err(section.invalid_at("through", message));
        };
        if through.contains(&index) {
            return Err(section.invalid_at("through", format!("through names {name:?} twice")));
        }
        through.push(index);
    }
    Ok(through)
}

fn cache_description(
    name: &str,
    section: &Section<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<CacheDescription>, MachineFileError> {
    let rate_bytes_per_s = rate_within(section, "cache_rate")?;
    let volatile = section.boolean("volatile_cache")?;
    let Some(capacity_bytes) = section.size("cache")? else {
        if rate_bytes_per_s.is_some() || volatile.is_some() {
            warnings.push(format!(
                "disk {name:?}: cache_rate and volatile_cache have no effect without cache"
            ));
        }
        return Ok(None);
    };
    if capacity_bytes == 0 || capacity_bytes > i64::MAX.cast_unsigned() {
        let message = "a cache's size must be between 1 B and 8 EiB; leave it out for none";
        return Err(section.invalid_at("cache", message));
    }
    let volatile = volatile.unwrap_or(true);
    Ok(Some(CacheDescription {
        capacity_bytes,
        rate_bytes_per_s,
        volatile,
    }))
}

fn segment_bytes(
    disk: &DiskDescription,
    section: &Section<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<u64>, MachineFileError> {
    let Some(segment_bytes) = section.size("segment")? else {
        return Ok(None);
    };
    if segment_bytes == 0 || segment_bytes > i64::MAX.cast_unsigned() {
        let message = "a segment's size must be between 1 B and 8 EiB; leave it out for none";
        return Err(section.invalid_at("segment", message));
    }
    let cache_bytes = disk.cache.as_ref().map(|cache| cache.capacity_bytes);
    if let Some(cache_bytes) = cache_bytes.filter(|cache_bytes| *cache_bytes < segment_bytes) {
        let message = format!(
            "a segment of {} is larger than the cache of {}, of which it is a part; make segment \
             smaller or cache larger",
            Size(segment_bytes),
            Size(cache_bytes)
        );
        return Err(section.invalid_at("segment", message));
    }
    if disk.rpm.is_none() {
        let name = &disk.name;
        warnings.push(format!("disk {name:?}: segment has no effect without rpm"));
    }
    Ok(Some(segment_bytes))
}

fn stall_description(section: &Section<'_>) -> Result<Option<StallDescription>, MachineFileError> {
    let Some(stall) = section.subsection("stall")? else {
        return Ok(None);
    };
    stall.allow_only(&["every", "for"])?;
    let every_ns = stall.required("every", stall.duration("every")?)?;
    let for_ns = stall.required("for", stall.duration("for")?)?;
    if for_ns == 0 || for_ns >= every_ns {
        return Err(stall.invalid("a stall's for must be above zero and shorter than its every"));
    }
    Ok(Some(StallDescription { every_ns, for_ns }))
}

fn fault_description(
    section: &Section<'_>,
    capacity_bytes: u64,
) -> Result<Option<FaultDescription>, MachineFileError> {
    let Some(error) = section.subsection("error")? else {
        return Ok(None);
    };
    error.allow_only(&["at", "kind", "once"])?;
    let at_bytes = error.required("at", error.size("at")?)?;
    if at_bytes >= capacity_bytes {
        return Err(error.invalid_at("at", "the error is beyond the disk's capacity"));
    }
    let kind = error
        .choice("kind", FaultKind::BY_NAME)?
        .unwrap_or(FaultKind::InputOutput);
    let once = error.boolean("once")?.unwrap_or(false);
    Ok(Some(FaultDescription {
        at_bytes,
        kind,
        once,
    }))
}

/// The slow stretches, in the order of position.
fn slow_descriptions(
    section: &Section<'_>,
    capacity_bytes: u64,
) -> Result<Vec<SlowDescription>, MachineFileError> {
    let mut found: Vec<SlowDescription> = Vec::new();
    for slow in section.listed_sections("slow")? {
        slow.allow_only(&["at", "for", "to"])?;
        let at_bytes = slow.required("at", slow.size("at")?)?;
        let for_bytes = slow.required("for", slow.size("for")?)?;
        let to_bytes_per_s = slow.required("to", rate_within(&slow, "to")?)?;
        let is_within = at_bytes
            .checked_add(for_bytes)
            .is_some_and(|end_byte| end_byte <= capacity_bytes);
        if for_bytes == 0 || !is_within {
            let message = "a slow stretch must be longer than zero and end within the capacity";
            return Err(slow.invalid_at("for", message));
        }
        let is_over = |other: &SlowDescription| {
            at_bytes < other.at_bytes + other.for_bytes && other.at_bytes < at_bytes + for_bytes
        };
        if found.iter().any(is_over) {
            return Err(slow.invalid_at("at", "this slow stretch overlaps another one"));
        }
        found.push(SlowDescription {
            at_bytes,
            for_bytes,
            to_bytes_per_s,
        });
    }
    found.sort_by_key(|slow| slow.at_bytes);
    Ok(found)
}
