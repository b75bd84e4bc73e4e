//! The copies of superblocks on their members. They are read when a store is opened, and written
//! two at a time when one is created, recorded to or recovered.

use sustain_disk::engine::Operation;
use sustain_disk::error::{IoFault, RequestError};

use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, Geometry, SLOT_BYTES_MIN, Superblock, SuperblockError, newest};
use crate::member_io::{MemberIo, MemberStep, ReadOrder, WriteOrder};

/// The newest superblock of a member, and whether the medium refused to be read.
pub(super) struct Finding {
    pub(super) superblock: Result<Superblock, SuperblockError>,
    pub(super) unreadable: Option<IoFault>,
}

/// Reads the newest superblock of each member, given the capacities in bytes: copies A and B, and
/// where neither is valid, C and D.
pub(super) fn read(io: &mut MemberIo, capacities_bytes: &[u64]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = capacities_bytes
        .iter()
        .map(|_| Finding {
            superblock: Err(SuperblockError::Foreign),
            unreadable: None,
        })
        .collect();
    // All four: an old image of the beginning of a member has older copies than its end.
    for copies in [0..2, 2..4] {
        let mut orders = Vec::new();
        for (member, capacity_bytes) in capacities_bytes.iter().enumerate() {
            let offsets = offsets_within(*capacity_bytes);
            let offsets = offsets.iter().flat_map(|all| &all[copies.clone()]);
            orders.extend(offsets.map(|offset_bytes| ReadOrder {
                member,
                offset_bytes: *offset_bytes,
                length_bytes: BLOCK_BYTES,
            }));
        }
        let blocks = io.read_all(&orders);
        for (order, block) in orders.iter().zip(blocks) {
            findings[order.member].add(block);
        }
    }
    findings
}

impl Finding {
    fn add(&mut self, block: Result<Vec<u8>, IoFault>) {
        match block {
            Ok(block) => {
                let (before, found) = (self.superblock.clone(), Superblock::decode(&block));
                // The end may have been that of another store, of which the beginning is gone.
                let is_other = |one: &Superblock, other: &Superblock| {
                    (one.store, one.member) != (other.store, other.member)
                };
                if let (Ok(one), Ok(other)) = (&before, &found)
                    && is_other(one, other)
                {
                    return;
                }
                self.superblock = newest([before, found]);
            }
            Err(errno) => self.unreadable = Some(errno),
        }
    }
}

/// The offsets of the copies on a member of this capacity. They do not depend on the size of the
/// slots.
fn offsets_within(capacity_bytes: u64) -> Option<[u64; 4]> {
    let geometry = Geometry::of_member(capacity_bytes, SLOT_BYTES_MIN).ok()?;
    Some(geometry.superblock_offsets())
}

/// Writes the superblocks of all members, each given with its name: copies A and C, a flush, B and
/// D, a flush. So at every instant a valid copy is on each medium that had one before.
pub(super) fn write(io: &mut MemberIo, members: &[(&str, &Superblock)]) -> Result<(), RecordError> {
    let all = members.iter().enumerate();
    let all = all.map(|(member, (name, superblock))| (member, *name, *superblock));
    write_some(io, &all.collect::<Vec<_>>())
}

/// The same on some of the members, each given with its place among those of `io`. Nothing is asked
/// of the others.
pub(super) fn write_some(
    io: &mut MemberIo,
    members: &[(usize, &str, &Superblock)],
) -> Result<(), RecordError> {
    for copies in [[0, 2], [1, 3]] {
        let blocks: Vec<(usize, u64, Vec<u8>)> = members
            .iter()
            .flat_map(|(member, _, superblock)| {
                let offsets = superblock.geometry.superblock_offsets();
                copies.map(|copy| {
                    let block = superblock.encode(copy);
                    (*member, offsets[copy as usize], block)
                })
            })
            .collect();
        let names: Vec<(usize, &str)> = members.iter().map(|(at, name, _)| (*at, *name)).collect();
        write_blocks(io, &names, &blocks)?;
    }
    Ok(())
}

/// The same for one member, as single steps.
pub(super) fn steps(superblock: &Superblock) -> Vec<MemberStep> {
    let offsets = superblock.geometry.superblock_offsets();
    let write = |copy: u32| MemberStep::Write {
        offset_bytes: offsets[copy as usize],
        bytes: superblock.encode(copy),
    };
    let (first, second) = ([0, 2].map(write), [1, 3].map(write));
    let mut steps = Vec::from(first);
    steps.push(MemberStep::Flush);
    steps.extend(second);
    steps.push(MemberStep::Flush);
    steps
}

/// Writes blocks to members, each given with its place, and flushes the members of these names.
pub(crate) fn write_blocks(
    io: &mut MemberIo,
    names: &[(usize, &str)],
    blocks: &[(usize, u64, Vec<u8>)],
) -> Result<(), RecordError> {
    let orders: Vec<WriteOrder<'_>> = blocks
        .iter()
        .map(|(member, offset_bytes, bytes)| WriteOrder {
            member: *member,
            offset_bytes: *offset_bytes,
            bytes,
        })
        .collect();
    let written = io.write_all(&orders);
    io.check_engine()?;
    let failed = |member: usize, operation, offset_bytes, fault| {
        let name = names.iter().find(|(at, _)| *at == member);
        RequestError {
            target: name.map_or_else(String::new, |(_, name)| (*name).to_owned()),
            operation,
            offset_bytes,
            fault,
        }
    };
    for (order, written) in orders.iter().zip(written) {
        written
            .map_err(|fault| failed(order.member, Operation::Write, order.offset_bytes, fault))?;
    }
    let all: Vec<usize> = names.iter().map(|(member, _)| *member).collect();
    let flushed = io.flush_all(&all);
    io.check_engine()?;
    for (member, flushed) in all.into_iter().zip(flushed) {
        flushed.map_err(|fault| failed(member, Operation::Flush, 0, fault))?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;
    use std::sync::Mutex;

    use sustain_disk::clock::Clock;
    use sustain_disk::engine::{
        Completion, Engine, Request, SharedMachine, SimulatedEngine, SimulatedTarget, Until, Waker,
    };
    use sustain_disk::error::Error;
    use sustain_disk::simulated::{Machine, MachineFile};
    use uuid::Uuid;

    use super::*;
    use crate::member_io::on_long_wait;

    pub(crate) const CAPACITY_BYTES: u64 = 4 << 20;
    const PATIENCE_NS: u64 = 30_000_000_000;
    const SLOW_NS: u64 = 25_000_000_000;

    /// Two simulated disks: the first takes 25 s for each request, the second may keep its requests
    /// for ever.
    struct Patchy {
        inner: SimulatedEngine,
        /// The operation whose requests the second one keeps.
        silent: Option<Operation>,
        kept: Vec<Request>,
    }

    impl Engine for Patchy {
        fn name(&self) -> &'static str {
            self.inner.name()
        }

        fn describe(&self) -> String {
            self.inner.describe()
        }

        fn submit(&mut self, request: Request) {
            if request.target == 1 && self.silent == Some(request.operation) {
                self.kept.push(request);
            } else {
                self.inner.submit(request);
            }
        }

        fn wait(&mut self, until: Until, completions: &mut Vec<Completion>) -> Result<(), Error> {
            self.inner.wait(until, completions)
        }

        fn waker(&self) -> Waker {
            self.inner.waker()
        }
    }

    impl Drop for Patchy {
        fn drop(&mut self) {
            assert!(self.kept.is_empty(), "closing it would wait for ever");
        }
    }

    fn patchy(silent: Option<Operation>) -> (MemberIo, Clock) {
        let (engine, clock) = patchy_engine(silent);
        let names = ["slow", "silent"].map(str::to_owned).to_vec();
        let io = MemberIo::over(engine, clock.clone(), names).unwrap();
        (io.given_up_after(PATIENCE_NS), clock)
    }

    pub(crate) fn patchy_engine(silent: Option<Operation>) -> (Box<dyn Engine>, Clock) {
        let slow_s = SLOW_NS / 1_000_000_000;
        let disk = |name: &str, request: &str| {
            format!("[[disk]]\nname = \"{name}\"\ncapacity = \"4MiB\"\nread = \"1GB/s\"\n{request}")
        };
        let slow = disk("slow", &format!("request = \"{slow_s}s\"\n"));
        let file = slow + &disk("silent", "");
        let file = MachineFile::parse(&file, Path::new("test.toml")).unwrap();
        let clock = Clock::simulated();
        let machine = SharedMachine::with_contents(Machine::new(&file, 1), &clock);
        let targets = [0, 1].map(|disk| SimulatedTarget { machine: 0, disk });
        let engine = Patchy {
            inner: SimulatedEngine::new(vec![machine], targets.to_vec(), clock.clone()),
            silent,
            kept: Vec::new(),
        };
        (Box::new(engine), clock)
    }

    fn superblock(index: u16) -> Superblock {
        let members = vec![Uuid::from_u128(1), Uuid::from_u128(2)];
        Superblock {
            store: Uuid::from_u128(3),
            member: members[usize::from(index)],
            generation: 1,
            created_ns: 0,
            geometry: Geometry::of_member(CAPACITY_BYTES, SLOT_BYTES_MIN).unwrap(),
            member_index: index,
            members,
            is_prewritten: false,
            has_ended: false,
            recordings_begun: 0,
            end_slot: None,
            pins: Vec::new(),
            pins_numbered: 0,
            parities: 0,
            slot_counts: Vec::new(),
            repaired_slots: 0,
            is_being_repaired: false,
            first_recording: 0,
            retired: std::collections::BTreeSet::new(),
            behind: std::collections::BTreeSet::new(),
            slots_begun: 0,
        }
    }

    fn write_both(io: &mut MemberIo) -> Result<(), RecordError> {
        let superblocks = [0, 1].map(superblock);
        write(
            io,
            &[("slow", &superblocks[0]), ("silent", &superblocks[1])],
        )
    }

    #[test]
    fn a_member_that_never_answers_is_given_up_and_named_when_superblocks_are_written() {
        for silent in [Operation::Write, Operation::Flush] {
            let (mut io, clock) = patchy(Some(silent));
            let begun_at = clock.now();
            let error = write_both(&mut io).unwrap_err();
            assert!(matches!(error, RecordError::Silent(_)), "{error}");
            let told = error.to_string();
            assert!(
                told.starts_with(&format!("{silent} on silent at byte ")),
                "{told}"
            );
            // The slow one answered meanwhile, one request after the other.
            let waited_ns = clock.now().since_ns(begun_at);
            assert!(waited_ns >= PATIENCE_NS + SLOW_NS, "{waited_ns} ns");
            assert!(waited_ns < PATIENCE_NS + 6 * SLOW_NS, "{waited_ns} ns");
        }
    }

    #[test]
    fn a_member_that_never_answers_is_no_empty_one_when_superblocks_are_read() {
        static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        on_long_wait(|words| TOLD.lock().unwrap().push(words.to_owned()));
        let (mut io, clock) = patchy(Some(Operation::Read));
        let begun_at = clock.now();
        read(&mut io, &[CAPACITY_BYTES; 2]);
        let error = io.check_engine().unwrap_err();
        let begin = "read on silent at byte ";
        assert!(error.to_string().starts_with(begin), "{error}");
        // A disk that tries a bad sector for minutes is waited for, and that is told.
        let waited_ns = clock.now().since_ns(begun_at);
        assert!(waited_ns >= 10 * PATIENCE_NS, "{waited_ns} ns");
        let told = TOLD.lock().unwrap();
        assert!(
            told.iter().any(|words| words.starts_with(begin)),
            "{told:?}"
        );
    }

    #[test]
    fn a_member_that_takes_long_is_waited_for() {
        let (mut io, clock) = patchy(None);
        let begun_at = clock.now();
        write_both(&mut io).unwrap();
        assert!(clock.now().since_ns(begun_at) > PATIENCE_NS, "it took long");
        let found = read(&mut io, &[CAPACITY_BYTES; 2]);
        io.check_engine().unwrap();
        for (index, finding) in (0..).zip(found) {
            assert_eq!(finding.superblock, Ok(superblock(index)));
        }
    }
}
