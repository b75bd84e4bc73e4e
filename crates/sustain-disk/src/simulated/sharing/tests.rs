//! What every way of sharing must keep to, on any machine, and known answers.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const MB: f64 = 1e6;

/// A machine of limits (rate in MB/s, share) and of the limits that each disk passes.
fn sharing(limits: &[(u32, &str)], paths: &[Vec<usize>]) -> Sharing {
    let mut text = String::new();
    for (index, (rate, share)) in limits.iter().enumerate() {
        text += &format!("[limit.l{index}]\nrate='{rate}MB/s'\nshare='{share}'\n");
    }
    for (index, path) in paths.iter().enumerate() {
        let names: Vec<String> = path.iter().map(|limit| format!("'l{limit}'")).collect();
        text += &format!(
            "[[disk]]\nname='d{index}'\ncapacity='1GB'\nread='1MB/s'\nthrough=[{}]\n",
            names.join(",")
        );
    }
    Sharing::new(&MachineFile::parse(&text, Path::new("test.toml")).unwrap())
}

fn flow(cap_mb_per_s: u32, depth: u64) -> Flow {
    Flow {
        cap: if cap_mb_per_s == 0 {
            0
        } else {
            flow_rate(f64::from(cap_mb_per_s) * MB)
        },
        direction: MediumDirection::Read,
        depth,
    }
}

fn mb_per_s(limits: &[(u32, &str)], paths: &[Vec<usize>], wanted: &[Flow]) -> Vec<f64> {
    let mut sharing = sharing(limits, paths);
    sharing.allocate(wanted);
    let unit = flow_rate(MB) as f64;
    let rates = sharing.rates().iter();
    rates
        .map(|rate| (*rate as f64 / unit * 1e6).round() / 1e6)
        .collect()
}

#[test]
fn by_depth_each_gets_its_part_of_the_requests_in_flight() {
    let paths = vec![vec![0]; 3];
    let wanted = [flow(500, 1), flow(500, 3), flow(500, 6)];
    assert_eq!(
        mb_per_s(&[(100, "depth")], &paths, &wanted),
        [10.0, 30.0, 60.0]
    );
    // What the deepest cannot take goes to the others by the same rule.
    let wanted = [flow(500, 1), flow(500, 3), flow(20, 6)];
    assert_eq!(
        mb_per_s(&[(100, "depth")], &paths, &wanted),
        [20.0, 60.0, 20.0]
    );
}

#[test]
fn by_priority_earlier_disks_get_all_that_they_can_take() {
    let paths = vec![vec![0]; 4];
    let wanted = [flow(60, 1), flow(0, 0), flow(30, 9), flow(50, 9)];
    assert_eq!(
        mb_per_s(&[(100, "priority")], &paths, &wanted),
        [60.0, 0.0, 30.0, 10.0]
    );
}

#[test]
fn a_limit_of_one_rule_leaves_the_rule_of_another_alone() {
    // By depth on the channel, in equal shares on the bus, where the third disk is alone.
    let paths = [vec![0, 1], vec![0, 1], vec![1]];
    let wanted = [flow(500, 8), flow(500, 2), flow(500, 1)];
    assert_eq!(
        mb_per_s(&[(100, "depth"), (1000, "max-min")], &paths, &wanted),
        [80.0, 20.0, 500.0]
    );
    // The bus is the tighter one: its rule counts.
    assert_eq!(
        mb_per_s(&[(1000, "depth"), (90, "max-min")], &paths, &wanted),
        [30.0, 30.0, 30.0]
    );
    // Behind the first disk the second one waits; meanwhile the first shares with the third.
    assert_eq!(
        mb_per_s(&[(70, "priority"), (90, "max-min")], &paths, &wanted),
        [45.0, 0.0, 45.0]
    );
    assert_eq!(
        mb_per_s(&[(40, "priority"), (90, "max-min")], &paths, &wanted),
        [40.0, 0.0, 50.0]
    );
}

#[test]
fn limits_of_crossing_rules_are_used_up() {
    // Each limit offers the other disk more; by neither alone would all be given away.
    let paths = [vec![0, 2], vec![0, 1], vec![1, 3]];
    let limits = [
        (90, "depth"),
        (90, "max-min"),
        (500, "depth"),
        (500, "depth"),
    ];
    let wanted = [flow(500, 1), flow(500, 2), flow(500, 1)];
    let rates = mb_per_s(&limits, &paths, &wanted);
    assert!((rates[0] + rates[1] - 90.0).abs() < 1e-3, "{rates:?}");
    assert!((rates[1] + rates[2] - 90.0).abs() < 1e-3, "{rates:?}");
}

const SHARES: [&str; 3] = ["max-min", "depth", "priority"];

/// A disk: the limits that it passes, what it wants in MB/s, and how deep its queue is.
type AnyDisk = (Vec<usize>, u32, u64);
/// A limit: its MB/s, and which of [`SHARES`].
type AnyLimit = (u32, usize);

fn any_disks(limits: usize) -> impl Strategy<Value = Vec<AnyDisk>> {
    let all: Vec<usize> = (0..limits).collect();
    let path = prop::sample::subsequence(all, 0..=limits.min(3));
    vec((path, 0u32..200, 1u64..64), 1..12)
}

fn any_machine() -> impl Strategy<Value = (Vec<AnyLimit>, Vec<AnyDisk>)> {
    vec((1u32..400, 0usize..3), 1..6).prop_flat_map(|limits| {
        let disks = any_disks(limits.len());
        (Just(limits), disks)
    })
}

struct Shared {
    sharing: Sharing,
    paths: Vec<Vec<usize>>,
    wanted: Vec<Flow>,
}

fn share(limits: &[(u32, &str)], disks: &[AnyDisk]) -> Shared {
    let paths: Vec<Vec<usize>> = disks.iter().map(|disk| disk.0.clone()).collect();
    let wanted: Vec<Flow> = disks.iter().map(|disk| flow(disk.1, disk.2)).collect();
    let mut sharing = sharing(limits, &paths);
    sharing.allocate(&wanted);
    Shared {
        sharing,
        paths,
        wanted,
    }
}

impl Shared {
    fn used(&self, limit: usize) -> u128 {
        let disks = self.paths.iter().zip(self.sharing.rates());
        disks
            .filter(|(path, _)| path.contains(&limit))
            .map(|(_, rate)| u128::from(*rate))
            .sum()
    }

    /// Used up, but for what the rounding of each flow leaves.
    fn is_full(&self, limit: usize) -> bool {
        let slack = 100_000;
        self.used(limit) + slack >= u128::from(self.sharing.limits[limit].rate)
    }
}

/// Plain progressive filling in equal shares, as it is in the book: all rates rise together.
fn max_min(shared: &Shared) -> Vec<f64> {
    let mut rates = vec![0.0; shared.wanted.len()];
    let mut left: Vec<f64> = shared
        .sharing
        .limits
        .iter()
        .map(|one| one.rate as f64)
        .collect();
    let mut open: Vec<usize> = (0..rates.len())
        .filter(|disk| shared.wanted[*disk].cap > 0)
        .collect();
    let mut level = 0.0;
    while !open.is_empty() {
        let users = |limit: usize| {
            open.iter()
                .filter(|disk| shared.paths[**disk].contains(&limit))
                .count() as f64
        };
        let mut rise = f64::MAX;
        for (limit, left) in left
            .iter()
            .enumerate()
            .filter(|(limit, _)| users(*limit) > 0.0)
        {
            rise = rise.min(left / users(limit));
        }
        for disk in &open {
            rise = rise.min(shared.wanted[*disk].cap as f64 - level);
        }
        level += rise;
        for (limit, left) in left.iter_mut().enumerate() {
            *left -= rise * users(limit);
        }
        open.retain(|disk| {
            let full = |limit: &usize| left[*limit] <= 1.0 + 1e-9 * level;
            let ends = shared.wanted[*disk].cap as f64 <= level + 1.0
                || shared.paths[*disk].iter().any(full);
            if ends {
                rates[*disk] = level;
            }
            !ends
        });
    }
    rates
}

proptest! {
    #[test]
    fn no_limit_carries_too_much_and_no_rate_is_wasted((limits, disks) in any_machine()) {
        let limits: Vec<(u32, &str)> =
            limits.iter().map(|(rate, share)| (*rate, SHARES[*share])).collect();
        let shared = share(&limits, &disks);
        for limit in 0..limits.len() {
            prop_assert!(shared.used(limit) <= u128::from(shared.sharing.limits[limit].rate));
        }
        for (disk, rate) in shared.sharing.rates().iter().enumerate() {
            let cap = shared.wanted[disk].cap;
            prop_assert!(*rate <= cap);
            let held_back = shared.paths[disk].iter().any(|limit| shared.is_full(*limit));
            prop_assert!(*rate == cap || held_back, "disk {disk}: {:?}", shared.sharing.rates());
        }
    }

    #[test]
    fn equal_depths_share_as_max_min_does((limits, disks) in any_machine(), depth in 1u64..64) {
        let with = |share: &'static str| -> Vec<(u32, &str)> {
            limits.iter().map(|(rate, _)| (*rate, share)).collect()
        };
        let disks: Vec<_> = disks.into_iter().map(|(path, cap, _)| (path, cap, depth)).collect();
        let by_depth = share(&with("depth"), &disks);
        let equally = share(&with("max-min"), &disks);
        prop_assert_eq!(by_depth.sharing.rates(), equally.sharing.rates());
        for (rate, expected) in equally.sharing.rates().iter().zip(max_min(&equally)) {
            prop_assert!((*rate as f64 - expected).abs() <= 1e5, "{rate} is not {expected}");
        }
    }

    #[test]
    fn by_priority_each_takes_what_those_before_it_leave((limits, disks) in any_machine()) {
        let limits: Vec<(u32, &str)> =
            limits.iter().map(|(rate, _)| (*rate, "priority")).collect();
        let shared = share(&limits, &disks);
        let mut left: Vec<u64> = shared.sharing.limits.iter().map(|limit| limit.rate).collect();
        for (disk, rate) in shared.sharing.rates().iter().enumerate() {
            let least = shared.paths[disk].iter().map(|limit| left[*limit]).min();
            let expected = least.unwrap_or(u64::MAX).min(shared.wanted[disk].cap);
            prop_assert_eq!(*rate, expected);
            for &limit in &shared.paths[disk] {
                left[limit] -= rate;
            }
        }
    }

    #[test]
    fn behind_one_limit_by_depth_no_disk_gets_less_than_its_part(
        rate in 1u32..400,
        disks in vec((Just(vec![0]), 1u32..200, 1u64..64), 1..12),
    ) {
        let shared = share(&[(rate, "depth")], &disks);
        let depths: u64 = disks.iter().map(|disk| disk.2).sum();
        for (disk, got) in shared.sharing.rates().iter().enumerate() {
            let flow = shared.wanted[disk];
            let part = shared.sharing.limits[0].rate as f64 * flow.depth as f64 / depths as f64;
            prop_assert!(*got as f64 + 1.0 >= part.floor().min(flow.cap as f64));
        }
    }
}
