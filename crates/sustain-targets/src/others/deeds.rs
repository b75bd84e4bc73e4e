//! Sums up what other programs did on the disks of a run. Pure; the words and the mean rate of
//! foreign I/O come from here.

use sustain_document::system::Others;

/// What is more than this many times the rest is most of what others did,
const MOSTLY: u64 = 8;
/// and what is more than this many times the rest is all of it: no figure of three digits tells.
const WHOLLY: u64 = 200;

/// Whether others read or wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeedsKind {
    Reading,
    Writing,
    MostlyReading,
    MostlyWriting,
    Both,
}

impl DeedsKind {
    fn of(read: u64, written: u64) -> DeedsKind {
        let is_above = |one: u64, times: u64, other: u64| one > other.saturating_mul(times);
        match () {
            () if is_above(read, WHOLLY, written) => DeedsKind::Reading,
            () if is_above(written, WHOLLY, read) => DeedsKind::Writing,
            () if is_above(read, MOSTLY, written) => DeedsKind::MostlyReading,
            () if is_above(written, MOSTLY, read) => DeedsKind::MostlyWriting,
            () => DeedsKind::Both,
        }
    }
}

/// What other programs did on the disks of a run, and when.
pub(super) struct OthersDeeds<'a> {
    pub(super) kind: DeedsKind,
    /// Whether they did so all the time between the two moments.
    pub(super) is_one_stretch: bool,
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    /// Each device with the rate of others on it.
    pub(super) places: Vec<(&'a str, f64)>,
    /// The rate of the run itself on these devices meanwhile.
    pub(super) own_bytes_per_s: f64,
}

impl<'a> OthersDeeds<'a> {
    /// `None` if there was no foreign I/O.
    pub(super) fn of(others: &'a [Others]) -> Option<OthersDeeds<'a>> {
        let first = others.first()?;
        let sum = |part: fn(&Others) -> u64| others.iter().map(part).sum::<u64>();
        let (read, written) = (sum(|one| one.read_bytes), sum(|one| one.written_bytes));
        let devices = devices_of(others);
        let rate = |device: &str| mean(others, device, |one| one.rate_bytes_per_s);
        let own = |device: &str| mean(others, device, |one| one.own_rate_bytes_per_s);
        // What went to a device beneath another one went through that one, and counts there.
        let is_top = |device: &str| {
            let mut on_device = others.iter().filter(|one| one.device == device);
            on_device.any(|one| !one.is_beneath)
        };
        let is_any_top = devices.iter().any(|device| is_top(device));
        let counted = devices
            .iter()
            .filter(|device| !is_any_top || is_top(device));
        let own_bytes_per_s = counted.map(|device| own(device)).sum();
        Some(OthersDeeds {
            kind: DeedsKind::of(read, written),
            is_one_stretch: others.len() == 1,
            // The sample in which they were first seen may have begun just before the run.
            from_s: first.from_s.max(0.0),
            to_s: others.iter().map(|one| one.to_s).fold(0.0, f64::max),
            own_bytes_per_s,
            places: devices
                .into_iter()
                .map(|device| (device, rate(device)))
                .collect(),
        })
    }
}

/// The devices, each once.
pub(super) fn devices_of(others: &[Others]) -> Vec<&str> {
    let mut devices: Vec<&str> = Vec::new();
    for one in others {
        if !devices.contains(&one.device.as_str()) {
            devices.push(&one.device);
        }
    }
    devices
}

/// The mean of a rate over the stretches of a device.
pub(super) fn mean(others: &[Others], device: &str, rate: fn(&Others) -> f64) -> f64 {
    let of_device = || others.iter().filter(|one| one.device == device);
    let seconds: f64 = of_device().map(|one| one.to_s - one.from_s).sum();
    let bytes: f64 = of_device()
        .map(|one| rate(one) * (one.to_s - one.from_s))
        .sum();
    bytes / seconds.max(1e-9)
}
