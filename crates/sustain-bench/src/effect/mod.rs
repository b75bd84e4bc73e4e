//! What a load does to the rest of the system: light victims before, during and after it, the
//! kernel's own counters, and which part of the memory's rate the load needs. Called by the
//! measuring run with `--effect`; must never hold up a driver.

mod board;
mod copy;
mod datagrams;
mod figures;
mod latencies;
mod pace;
mod place;
pub mod result;
mod timer;
mod verdict;
mod victims;
mod watch;
mod writes;

use sustain_disk::target::DataPath;
use sustain_disk::units::Duration;

use crate::plan::{EffectPlan, Plan};
pub(crate) use watch::{Watch, rehearse};

/// The victims are watched so long before and after a load; a shorter load has as long as itself.
const IDLE_NS: u64 = 5_000_000_000;

/// How long the victims are watched before and after the load of this plan.
pub(crate) fn idle_ns(plan: &Plan) -> u64 {
    plan.time_ns.unwrap_or(IDLE_NS).min(IDLE_NS)
}

/// Direct for buffered, buffered for direct.
fn other(path: DataPath) -> DataPath {
    match path {
        DataPath::Direct | DataPath::Passthrough => DataPath::Buffered,
        DataPath::Buffered => DataPath::Direct,
    }
}

/// What is done besides the load, in words; `place` is where the victim writes.
fn statements(plan: &Plan, effect: &EffectPlan, place: Option<&place::Place>) -> Vec<String> {
    let idle = Duration(idle_ns(plan));
    let writes = place.map_or_else(String::new, |place| {
        format!(
            "4 KiB with fsync up to {} times a second in {}, ",
            writes::OFFERED_PER_S,
            place.describe()
        )
    });
    let mut statements = vec![format!(
        "effect: beside the load and for {idle} before and after it: {writes}a wake-up each {}, \
         {} datagrams of {} bytes a second over loopback; memory is copied for about a second first",
        Duration(timer::PERIOD_NS),
        datagrams::OFFERED_PER_S,
        datagrams::DATAGRAM_BYTES,
    )];
    if place.is_none() {
        statements.push(format!("effect: {NO_PLACE}"));
    }
    if effect.both_paths {
        statements.push(format!(
            "effect: the load runs a second time by the {} path, with {idle} before and after it",
            other(plan.path).name()
        ));
    }
    statements
}

/// Why nothing is written.
const NO_PLACE: &str = "writes: none of $HOME, /var/tmp, /tmp and this directory can be written, or \
                        they lie in memory; name a place with --victim";
