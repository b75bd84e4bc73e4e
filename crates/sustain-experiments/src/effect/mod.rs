//! Measures what a load does to the rest of the system: light probe workloads run before, during
//! and after it, the kernel's own counters are read, and the part of the memory's rate that the
//! load needs is computed. The measuring run calls this with `--effect`; it must never hold up a
//! driver.

mod board;
mod datagrams;
mod effect_words;
mod figures;
mod latencies;
mod pace;
mod place;
mod probes;
mod timer;
mod watch;
mod writes;

use std::path::PathBuf;

use sustain_disk::target::DataPath;
use sustain_disk::units::Duration;
use sustain_document::setting::VICTIM;
use sustain_load::plan::LoadPlan;
pub(crate) use watch::{Watch, rehearse};

/// How long the probe workloads are watched before and after a load; for a shorter load it is the
/// length of the load.
const IDLE_NS: u64 = 5_000_000_000;

/// The request of `--effect`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectPlan {
    /// Whether to run the load a second time with the other I/O path, direct or buffered.
    pub both_paths: bool,
    /// The directory where the probe workload writes; `None` chooses a file system that the load is
    /// not on.
    pub victim: Option<PathBuf>,
}

/// How long the probe workloads are watched before and after a load.
fn idle_ns(load: &LoadPlan) -> u64 {
    load.time_ns.unwrap_or(IDLE_NS).min(IDLE_NS)
}

/// The other path: direct for buffered, buffered for direct.
fn other(path: DataPath) -> DataPath {
    match path {
        DataPath::Direct | DataPath::Passthrough => DataPath::Buffered,
        DataPath::Buffered => DataPath::Direct,
    }
}

/// Says what is done besides the load; `place` is where the probe workload writes.
fn statements(
    load: &LoadPlan,
    effect: &EffectPlan,
    place: Option<&place::ProbeFile>,
) -> Vec<String> {
    let idle = Duration(idle_ns(load));
    let writes = place.map_or_else(String::new, |place| {
        format!(
            "writes of 4 KiB with fsync up to {} times a second in {}, ",
            writes::OFFERED_PER_S,
            place.describe()
        )
    });
    let mut statements = vec![format!(
        "effect: these probe workloads run during the load and for {idle} before and after it: \
         {writes}a wake-up every {}, {} datagrams of {} bytes a second over loopback; before that, \
         memory is copied for about a second",
        Duration(timer::PERIOD_NS),
        datagrams::OFFERED_PER_S,
        datagrams::DATAGRAM_BYTES,
    )];
    if place.is_none() {
        statements.push(format!("effect: {}", no_place()));
    }
    if effect.both_paths {
        statements.push(format!(
            "effect: the load then runs a second time with {} I/O, with {idle} before and after it",
            other(load.path).name()
        ));
    }
    statements
}

/// Says why nothing is written.
fn no_place() -> String {
    format!(
        "writes: $HOME, /var/tmp, /tmp and this directory cannot be written, or they are in \
         memory; name a directory ({VICTIM})"
    )
}
