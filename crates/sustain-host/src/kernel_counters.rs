//! Kernel counters that show what a load does to other programs: memory reclaimed, packets dropped,
//! time that tasks waited. They are read at the ends of a stretch, and the difference is what
//! happened in it. A counter that this kernel or container does not have is `None`, never zero.

use std::path::Path;

use sustain_document::system::KernelCounters;

use crate::roots::{Roots, read_text};

/// Reads all counters that exist. There is no error: a counter that cannot be read is `None`.
pub fn read_kernel_counters(roots: &Roots) -> KernelCounters {
    let text = |name: &str| read_text(&roots.proc.join(name)).unwrap_or_default();
    let vmstat = text("vmstat");
    let softnet = softnet(&text("net/softnet_stat"));
    let waited = |resource: &str, line: &str| {
        let path = Path::new("pressure").join(resource);
        pressure_us(&text(&path.to_string_lossy()), line)
    };
    KernelCounters {
        direct_scanned_pages: over_zones(&vmstat, "pgscan_direct"),
        direct_reclaimed_pages: over_zones(&vmstat, "pgsteal_direct"),
        allocation_stalls: over_zones(&vmstat, "allocstall"),
        background_scanned_pages: over_zones(&vmstat, "pgscan_kswapd"),
        compaction_stalls: over_zones(&vmstat, "compact_stall"),
        softnet_dropped_packets: softnet.map(|(dropped, _)| dropped),
        softnet_time_squeezes: softnet.map(|(_, squeezed)| squeezed),
        udp_receive_buffer_errors: snmp(&text("net/snmp"), "Udp", "RcvbufErrors"),
        cpu_some_waited_us: waited("cpu", "some"),
        memory_some_waited_us: waited("memory", "some"),
        memory_all_waited_us: waited("memory", "full"),
        io_some_waited_us: waited("io", "some"),
        io_all_waited_us: waited("io", "full"),
    }
}

/// The sum of a counter of /proc/vmstat over the zones that kernels split it into.
fn over_zones(vmstat: &str, counter: &str) -> Option<u64> {
    // `pgscan_direct_throttle` is another counter: only names of zones count.
    const ZONES: [&str; 6] = ["dma", "dma32", "normal", "high", "movable", "device"];
    let of_counter = |name: &str| match name.strip_prefix(counter) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('_')
            .is_some_and(|zone| ZONES.contains(&zone)),
        None => false,
    };
    vmstat
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| of_counter(name))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .reduce(u64::saturating_add)
}

/// Packets dropped and turns squeezed, over all processors. Each has a line of hexadecimal fields:
/// processed, dropped, time_squeeze, ...
fn softnet(text: &str) -> Option<(u64, u64)> {
    let of_processor = |line: &str| {
        let mut fields = line.split_whitespace();
        let mut field = |skip| u64::from_str_radix(fields.nth(skip)?, 16).ok();
        Some((field(1)?, field(0)?))
    };
    text.lines()
        .filter_map(of_processor)
        .reduce(|all, one| (all.0 + one.0, all.1 + one.1))
}

/// A field of /proc/net/snmp: a line of names and a line of values for each protocol.
fn snmp(text: &str, protocol: &str, field: &str) -> Option<u64> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(name, _)| *name == field)?.1.parse().ok()
}

/// `total=` of the line `some` or `full` of a file under /proc/pressure.
fn pressure_us(text: &str, line: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut fields = lines.find_map(|mut fields| (fields.next()? == line).then_some(fields))?;
    fields
        .find_map(|field| field.strip_prefix("total="))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn counters_are_summed_over_zones_and_processors() {
        let host = FakeHost::new();
        host.write_proc(
            "vmstat",
            "nr_dirty 5\nallocstall_dma 1\nallocstall_normal 20\nallocstall_movable 300\n\
             pgscan_kswapd 4000\npgscan_direct 17\npgscan_direct_throttle 9\npgsteal_direct 16\n\
             compact_stall 2\n",
        );
        host.write_proc(
            "net/softnet_stat",
            "0000933d 00000002 0000000a 00000000\n00000050 00000010 00000001 00000000\n",
        );
        host.write_proc(
            "net/snmp",
            "Icmp: InMsgs\nIcmp: 3\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\n\
             Udp: 5584 0 7 5590 6\nUdpLite: InDatagrams RcvbufErrors\nUdpLite: 0 99\n",
        );
        host.write_proc(
            "pressure/io",
            "some avg10=0.20 avg60=1.66 avg300=4.08 total=8101\n\
             full avg10=0.00 avg60=0.05 avg300=2.51 total=6016\n",
        );
        let read = read_kernel_counters(host.roots());
        let expected = KernelCounters {
            direct_scanned_pages: Some(17),
            direct_reclaimed_pages: Some(16),
            allocation_stalls: Some(321),
            background_scanned_pages: Some(4000),
            compaction_stalls: Some(2),
            softnet_dropped_packets: Some(18),
            softnet_time_squeezes: Some(11),
            udp_receive_buffer_errors: Some(6),
            io_some_waited_us: Some(8101),
            io_all_waited_us: Some(6016),
            ..KernelCounters::default()
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn what_a_kernel_does_not_count_is_none_and_not_zero() {
        let host = FakeHost::new();
        assert_eq!(
            read_kernel_counters(host.roots()),
            KernelCounters::default()
        );
        for broken in ["", "Udp:\n", "Udp: RcvbufErrors\n", "Udp: a\nUdp: b\n"] {
            assert_eq!(snmp(broken, "Udp", "RcvbufErrors"), None, "{broken:?}");
        }
        assert_eq!(softnet("zz 1 2\n"), Some((1, 2)), "only two fields matter");
        assert_eq!(softnet("1 2\n"), None);
        assert_eq!(pressure_us("some avg10=0.00\n", "some"), None);
        assert_eq!(over_zones("allocstall_normal many\n", "allocstall"), None);
    }

    #[test]
    fn a_difference_needs_both_ends() {
        let before = KernelCounters {
            allocation_stalls: Some(10),
            io_some_waited_us: Some(5),
            compaction_stalls: Some(9),
            ..KernelCounters::default()
        };
        let after = KernelCounters {
            allocation_stalls: Some(13),
            cpu_some_waited_us: Some(5),
            // A counter that was reset has counted nothing that is known.
            compaction_stalls: Some(1),
            ..KernelCounters::default()
        };
        let expected = KernelCounters {
            allocation_stalls: Some(3),
            compaction_stalls: Some(0),
            ..KernelCounters::default()
        };
        assert_eq!(after.since(&before), expected);
    }
}
