//! For how long the kernel has held this process back from the processors, because its control
//! group, or one around it, has a quota. The sampler reads it with every sample.

use std::path::PathBuf;

use crate::control_groups::membership;
use crate::mounts::read_mounts;
use crate::roots::{Roots, read_text};

/// The counters of the groups that this process is in.
#[derive(Debug, Default)]
pub(crate) struct ThrottleCounters {
    paths: Vec<PathBuf>,
}

impl ThrottleCounters {
    /// None where no hierarchy is mounted that shares out processors.
    pub(crate) fn find(roots: &Roots) -> ThrottleCounters {
        let memberships = read_text(&roots.proc.join("self/cgroup")).unwrap_or_default();
        let mut paths = Vec::new();
        for mount in read_mounts(roots).unwrap_or_default() {
            let has_cpu = mount.options.iter().any(|option| option == "cpu");
            let controller = match mount.kind.as_str() {
                "cgroup" if has_cpu => Some("cpu"),
                "cgroup2" => None,
                _ => continue,
            };
            let own = membership(&memberships, controller).map(PathBuf::from);
            let own = own.and_then(|own| Some(own.strip_prefix(&mount.root).ok()?.to_owned()));
            let Some(own) = own else { continue };
            let groups = own.ancestors().map(|group| mount.mount_point.join(group));
            paths.extend(groups.map(|group| group.join("cpu.stat")));
        }
        paths.retain(|path| read_text(path).is_ok_and(|text| throttled_ns(&text).is_some()));
        ThrottleCounters { paths }
    }

    /// The time so far, of all groups together; `None` if none of them can have a quota.
    pub(crate) fn throttled_ns(&self) -> Option<u64> {
        let texts = self.paths.iter().filter_map(|path| read_text(path).ok());
        let times = texts.filter_map(|text| throttled_ns(&text));
        times.reduce(u64::saturating_add)
    }
}

/// `throttled_time 1000` in version 1 (kernel, scheduler/sched-bwc), `throttled_usec 1` in
/// version 2 (admin-guide/cgroup-v2).
fn throttled_ns(text: &str) -> Option<u64> {
    let mut fields = text.lines().filter_map(|line| line.split_once(' '));
    fields.find_map(|(name, value)| {
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_time" => Some(value),
            "throttled_usec" => Some(value.saturating_mul(1000)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    fn mounted(host: &FakeHost, kind: &str, options: &str) -> PathBuf {
        let root = host.roots().sys.join("groups");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        let line = format!(
            "40 30 0:35 / {} rw - {kind} cgroup {options}\n",
            root.display()
        );
        host.write_proc("self/mountinfo", &line);
        root
    }

    #[test]
    fn the_times_of_a_group_and_those_around_it_are_added() {
        let host = FakeHost::new();
        host.write_proc("self/cgroup", "0::/a/b\n");
        let root = mounted(&host, "cgroup2", "rw");
        // The root group has no quota.
        std::fs::write(root.join("cpu.stat"), "usage_usec 5\n").unwrap();
        std::fs::write(root.join("a/cpu.stat"), "usage_usec 5\nthrottled_usec 7\n").unwrap();
        std::fs::write(root.join("a/b/cpu.stat"), "throttled_usec 30\n").unwrap();
        let counters = ThrottleCounters::find(host.roots());
        assert_eq!(counters.throttled_ns(), Some(37_000));
    }

    #[test]
    fn version_one_has_a_hierarchy_for_processors() {
        let host = FakeHost::new();
        host.write_proc("self/cgroup", "7:blkio:/\n3:cpuacct,cpu:/a\n0::/\n");
        let root = mounted(&host, "cgroup", "rw,cpu,cpuacct");
        let text = "nr_periods 9\nnr_throttled 2\nthrottled_time 123456\n";
        std::fs::write(root.join("a/cpu.stat"), text).unwrap();
        let counters = ThrottleCounters::find(host.roots());
        assert_eq!(counters.throttled_ns(), Some(123_456));
        let without = mounted(&host, "cgroup", "rw,memory");
        assert!(without.exists());
        assert_eq!(ThrottleCounters::find(host.roots()).throttled_ns(), None);
    }
}
