//! The time at which each disk of a simulated machine must be stepped next, with the earliest at
//! hand. The machine uses it at every event; it is cheap for one disk and for a few hundred.

/// A time per disk, as the leaves of a tree in which each node has the smaller of its two.
pub(super) struct Timetable {
    /// Node `i` has the children `2 i` and `2 i + 1`; the root is node 1.
    nodes: Vec<u64>,
    leaves: usize,
}

impl Timetable {
    /// A timetable with all disks at `u64::MAX`, which means never.
    pub(super) fn new(disks: usize) -> Self {
        let leaves = disks.next_power_of_two();
        Self {
            nodes: vec![u64::MAX; 2 * leaves],
            leaves,
        }
    }

    pub(super) fn get(&self, disk: usize) -> u64 {
        self.nodes[self.leaves + disk]
    }

    pub(super) fn set(&mut self, disk: usize, time_ns: u64) {
        let mut node = self.leaves + disk;
        self.nodes[node] = time_ns;
        while node > 1 {
            node /= 2;
            let earlier_ns = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            if self.nodes[node] == earlier_ns {
                return;
            }
            self.nodes[node] = earlier_ns;
        }
    }

    /// The earliest time and its disk; of several the first.
    pub(super) fn earliest(&self) -> (u64, usize) {
        let time_ns = self.nodes[1];
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.nodes[node] != time_ns {
                node += 1;
            }
        }
        (time_ns, node - self.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_minimum(
            disks in 1usize..20,
            settings in proptest::collection::vec((0usize..20, 0u64..50), 1..60),
        ) {
            let mut timetable = Timetable::new(disks);
            let mut times = vec![u64::MAX; disks];
            for (disk, time_ns) in settings {
                timetable.set(disk % disks, time_ns);
                times[disk % disks] = time_ns;
                let earliest_ns = *times.iter().min().unwrap();
                let first = times.iter().position(|time_ns| *time_ns == earliest_ns).unwrap();
                prop_assert_eq!(timetable.earliest(), (earliest_ns, first));
                prop_assert_eq!(timetable.get(disk % disks), time_ns);
            }
        }
    }
}
