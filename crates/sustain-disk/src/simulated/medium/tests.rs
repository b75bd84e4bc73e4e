//! Known answers for what is promised when, and a model that any sequence of events must agree
//! with.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const CAPACITY: u64 = 1 << 20;
const SECTOR: usize = survival::SECTOR_BYTES as usize;

fn cached() -> Medium {
    Medium::new(CAPACITY, true)
}

fn uncached() -> Medium {
    Medium::new(CAPACITY, false)
}

impl Medium {
    fn begin(&mut self, id: u64, offset: u64, bytes: &[u8]) {
        self.begin_write(id, offset, false, [bytes].into_iter());
    }

    fn write_through(&mut self, id: u64, offset: u64, bytes: &[u8]) {
        self.begin_write(id, offset, true, [bytes].into_iter());
        self.complete_write(id, bytes.len() as u64);
    }

    fn write_cached(&mut self, id: u64, offset: u64, bytes: &[u8]) {
        self.begin(id, offset, bytes);
        self.complete_write(id, bytes.len() as u64);
    }

    fn flush(&mut self, id: u64) {
        self.begin_flush(id);
        self.end_flush(id, true);
    }

    fn live(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0xee; length];
        self.read(offset, &mut bytes);
        bytes
    }

    fn after_cut(&self, seed: u64) -> Medium {
        let mut after = self.clone();
        after.cut_power(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        after
    }

    /// Whether these bytes are there after any power cut.
    fn is_durable(&self, offset: u64, bytes: &[u8]) -> bool {
        (0..200).all(|seed| self.after_cut(seed).live(offset, bytes.len()) == bytes)
    }
}

#[test]
fn what_was_never_written_reads_as_zeros() {
    assert_eq!(cached().live(12_345, 10_000), [0; 10_000]);
}

#[test]
fn a_write_in_flight_cannot_be_read_and_a_completed_one_can() {
    let mut medium = cached();
    medium.begin(1, 4096, &[7; 4096]);
    assert_eq!(medium.live(4096, 4096), [0; 4096]);
    medium.complete_write(1, 4096);
    assert_eq!(medium.live(4096, 4096), [7; 4096]);
}

#[test]
fn a_write_carries_the_bytes_that_it_had_when_it_was_submitted_from_all_its_parts() {
    let mut medium = cached();
    let parts: [&[u8]; 3] = [&[1; 4096], &[2; 512], &[3; 100]];
    medium.begin_write(1, 0, false, parts.into_iter());
    medium.complete_write(1, 4708);
    assert_eq!(medium.live(0, 4708), parts.concat());
}

#[test]
fn a_write_in_a_volatile_cache_may_be_lost_until_it_is_flushed() {
    let mut medium = cached();
    medium.write_cached(1, 0, &[7; 4096]);
    assert!((0..200).any(|seed| medium.after_cut(seed).live(0, 4096) == [0; 4096]));
    assert!((0..200).any(|seed| medium.after_cut(seed).live(0, 4096) == [7; 4096]));
    medium.flush(2);
    assert!(medium.is_durable(0, &[7; 4096]));
}

#[test]
fn a_write_without_a_volatile_cache_is_durable_at_completion_and_not_before() {
    let mut medium = uncached();
    medium.begin(1, 0, &[7; 4096]);
    assert!(!medium.is_durable(0, &[7; 4096]));
    medium.complete_write(1, 4096);
    assert!(medium.is_durable(0, &[7; 4096]));
}

#[test]
fn a_durable_write_needs_no_flush() {
    let mut medium = cached();
    medium.write_through(1, 0, &[7; 4096]);
    assert!(medium.is_durable(0, &[7; 4096]));
}

#[test]
fn a_flush_covers_what_completed_before_it_was_submitted_and_nothing_else() {
    let mut medium = cached();
    medium.write_cached(1, 0, &[1; 4096]);
    medium.begin(2, 4096, &[2; 4096]);
    medium.begin_flush(9);
    medium.complete_write(2, 4096);
    medium.write_cached(3, 8192, &[3; 4096]);
    medium.end_flush(9, true);
    assert!(medium.is_durable(0, &[1; 4096]));
    assert!(!medium.is_durable(4096, &[2; 4096]), "it was in flight");
    assert!(!medium.is_durable(8192, &[3; 4096]), "it came later");
    medium.flush(10);
    assert!(medium.is_durable(4096, &[[2; 4096], [3; 4096]].concat()));
}

#[test]
fn a_flush_in_flight_or_failed_promises_nothing() {
    let mut medium = cached();
    medium.write_cached(1, 0, &[1; 4096]);
    medium.begin_flush(2);
    assert!(!medium.is_durable(0, &[1; 4096]));
    medium.end_flush(2, false);
    assert!(!medium.is_durable(0, &[1; 4096]));
}

#[test]
fn a_durable_write_over_a_cached_one_is_not_undone_by_a_later_flush_or_cut() {
    let mut medium = cached();
    medium.write_cached(1, 0, &[1; 4096]);
    medium.write_through(2, 1024, &[2; 512]);
    let expected = [&[1; 1024][..], &[2; 512], &[1; 2560]].concat();
    assert_eq!(medium.live(0, 4096), expected);
    assert!(medium.is_durable(1024, &[2; 512]));
    assert!(!medium.is_durable(0, &[1; 1024]));
    assert!(!medium.is_durable(1536, &[1; 2560]));
    medium.flush(3);
    assert!(medium.is_durable(0, &expected));
}

#[test]
fn a_failed_write_leaves_any_part_of_itself_in_whole_sectors() {
    let mut seen = BTreeMap::new();
    for offset in (0..64 * 4096).step_by(4096) {
        let mut medium = uncached();
        medium.begin(1, offset, &[7; 4096]);
        medium.fail_write(1);
        let left = medium.live(offset, 4096);
        let sectors = left.chunks(SECTOR);
        assert!(
            sectors
                .clone()
                .all(|sector| sector.iter().all(|byte| *byte == sector[0]))
        );
        let count = sectors.filter(|sector| sector[0] == 7).count();
        *seen.entry(count).or_insert(0) += 1;
        assert!(
            medium.is_durable(offset, &left),
            "the rest is gone for good"
        );
    }
    assert!(seen.contains_key(&0) && seen.contains_key(&8), "{seen:?}");
    assert!(seen.keys().any(|count| (1..8).contains(count)), "{seen:?}");
}

#[test]
fn a_short_write_leaves_only_what_it_moved_and_nothing_lies_beyond_the_end() {
    let mut medium = uncached();
    medium.begin(1, 0, &[7; 4096]);
    medium.complete_write(1, 512);
    assert_eq!(medium.live(0, 1024), [[7; 512], [0; 512]].concat());
    medium.begin(2, CAPACITY - 512, &[8; 4096]);
    assert_eq!(medium.in_flight[0].extent.bytes, [8; 512]);
    medium.begin(3, CAPACITY + 4096, &[8; 4096]);
    assert!(medium.in_flight[1].extent.bytes.is_empty());
}

#[test]
fn after_a_cut_all_is_durable_and_nothing_is_in_flight() {
    let mut medium = cached();
    medium.write_cached(1, 0, &[1; 65_536]);
    medium.begin(2, 65_536, &[2; 65_536]);
    medium.begin_flush(3);
    for seed in 0..50 {
        let mut after = medium.after_cut(seed);
        let bytes = after.live(0, 131_072);
        assert!(after.is_durable(0, &bytes));
        after.complete_write(2, 65_536);
        after.end_flush(3, true);
        assert_eq!(
            after.live(0, 131_072),
            bytes,
            "what was in flight is forgotten"
        );
    }
}

#[test]
fn later_writes_may_survive_while_earlier_ones_are_lost() {
    let mut medium = cached();
    for index in 0..3 {
        medium.write_cached(index, index * 4096, &[7; 4096]);
    }
    let only_the_last = [[0; 8192].as_slice(), &[7; 4096]].concat();
    assert!((0..200).any(|seed| medium.after_cut(seed).live(0, 12_288) == only_the_last));
}

#[test]
fn of_two_unflushed_writes_to_one_place_either_may_survive_or_neither() {
    let mut medium = cached();
    medium.write_cached(1, 0, &[1; 512]);
    medium.write_cached(2, 0, &[2; 512]);
    let mut seen = [false; 3];
    for seed in 0..200 {
        seen[usize::from(medium.after_cut(seed).live(0, 1)[0])] = true;
    }
    assert_eq!(seen, [true; 3]);
}

#[test]
fn the_same_seed_cuts_the_same_way() {
    let mut medium = cached();
    medium.write_cached(1, 0, &[1; 65_536]);
    medium.begin(2, 100_000, &[2; 65_536]);
    for seed in 0..20 {
        let [first, second] = [(); 2].map(|()| medium.after_cut(seed).live(0, 200_000));
        assert_eq!(first, second);
    }
}

#[test]
fn a_snapshot_is_what_is_read_now_and_stays_so() {
    let mut medium = cached();
    medium.write_cached(1, 0, &[1; 512]);
    medium.begin(2, 512, &[2; 512]);
    let snapshot = medium.snapshot();
    medium.complete_write(2, 512);
    medium.write(0, &[9; 512]);
    assert!(snapshot.is_durable(0, &[[1; 512], [0; 512]].concat()));
}

#[test]
fn a_few_bytes_on_a_disk_of_20_tb_take_a_few_pages() {
    let mut medium = Medium::new(20_000_000_000_000, false);
    for place in [0, 9_999_999_995_904, 19_999_999_995_904] {
        medium.write_through(1, place, &[7; 4096]);
        assert_eq!(medium.live(place, 4096), [7; 4096]);
    }
    assert!(medium.durable.count() <= 4);
}

/// A disk of a few sectors, each of which holds one mark: what may be on each after a cut.
#[derive(Default)]
struct Model {
    durable: BTreeMap<u64, u8>,
    /// Completed and unflushed: completion number, sector, mark.
    unflushed: Vec<(u64, u64, u8)>,
    /// Id, sectors, mark, durable.
    in_flight: Vec<(u64, std::ops::Range<u64>, u8, bool)>,
    flushes: Vec<(u64, u64)>,
    completions: u64,
}

const SECTORS: u64 = 40;

impl Model {
    fn live(&self, sector: u64) -> u8 {
        let newest = self.unflushed.iter().rev().find(|entry| entry.1 == sector);
        newest.map_or(self.durable_at(sector), |entry| entry.2)
    }

    fn durable_at(&self, sector: u64) -> u8 {
        self.durable.get(&sector).copied().unwrap_or(0)
    }

    fn possible(&self, sector: u64) -> Vec<u8> {
        let unflushed = self.unflushed.iter().filter(|entry| entry.1 == sector);
        let in_flight = self
            .in_flight
            .iter()
            .filter(|write| write.1.contains(&sector));
        std::iter::once(self.durable_at(sector))
            .chain(unflushed.map(|entry| entry.2))
            .chain(in_flight.map(|write| write.2))
            .collect()
    }

    fn land(&mut self, sector: u64, mark: u8, durable: bool) {
        if durable {
            self.unflushed.retain(|entry| entry.1 != sector);
            self.durable.insert(sector, mark);
        } else {
            self.unflushed.push((self.completions, sector, mark));
        }
    }

    fn flush(&mut self, before: u64) {
        let (covered, rest) = std::mem::take(&mut self.unflushed)
            .into_iter()
            .partition(|entry| entry.0 < before);
        self.unflushed = rest;
        let covered: Vec<(u64, u64, u8)> = covered;
        for (_, sector, mark) in covered {
            self.durable.insert(sector, mark);
        }
    }
}

#[derive(Debug, Clone)]
enum Event {
    Begin {
        sector: u64,
        count: u64,
        durable: bool,
    },
    /// One of those in flight ends.
    End {
        which: prop::sample::Index,
        failed: bool,
    },
    BeginFlush,
    EndFlush {
        which: prop::sample::Index,
        failed: bool,
    },
    Put {
        sector: u64,
    },
    Cut {
        seed: u64,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..SECTORS, 1..12u64, prop::bool::weighted(0.2)).prop_map(|(sector, count, durable)| {
            let count = count.min(SECTORS - sector);
            Event::Begin { sector, count, durable }
        }),
        6 => (any::<prop::sample::Index>(), prop::bool::weighted(0.1))
            .prop_map(|(which, failed)| Event::End { which, failed }),
        2 => Just(Event::BeginFlush),
        2 => (any::<prop::sample::Index>(), prop::bool::weighted(0.1))
            .prop_map(|(which, failed)| Event::EndFlush { which, failed }),
        1 => (0..SECTORS).prop_map(|sector| Event::Put { sector }),
        1 => any::<u64>().prop_map(|seed| Event::Cut { seed }),
    ]
}

/// The disk and its model, told of the same events.
struct Pair {
    medium: Medium,
    model: Model,
    volatile_cache: bool,
    next_id: u64,
}

fn marks_of(bytes: &[u8]) -> Vec<u8> {
    let mark = |sector: &[u8]| {
        assert_eq!(sector, [sector[0]; SECTOR], "a torn sector");
        sector[0]
    };
    bytes.chunks(SECTOR).map(mark).collect()
}

impl Pair {
    /// The mark that is read on each sector.
    fn marks(&self) -> Vec<u8> {
        marks_of(&self.medium.live(0, SECTORS as usize * SECTOR))
    }

    /// The mark on each sector that no cut could take away.
    fn durable_marks(&self) -> Vec<u8> {
        let mut bytes = vec![0; SECTORS as usize * SECTOR];
        self.medium.durable.read(0, &mut bytes);
        marks_of(&bytes)
    }

    fn happen(&mut self, event: &Event) {
        self.next_id += 1;
        let id = self.next_id;
        // Marks tell all writes of one run apart.
        let mark = u8::try_from(id).unwrap();
        match event {
            Event::Begin {
                sector,
                count,
                durable,
            } => {
                let bytes = vec![mark; *count as usize * SECTOR];
                let offset = sector * SECTOR as u64;
                self.medium
                    .begin_write(id, offset, *durable, [&bytes[..]].into_iter());
                let sectors = *sector..sector + count;
                self.model.in_flight.push((id, sectors, mark, *durable));
            }
            Event::End { which, failed } => self.end_write(which, *failed),
            Event::BeginFlush => {
                self.medium.begin_flush(id);
                self.model.flushes.push((id, self.model.completions));
            }
            Event::EndFlush { which, failed } if !self.model.flushes.is_empty() => {
                let place = which.index(self.model.flushes.len());
                let (id, before) = self.model.flushes.remove(place);
                self.medium.end_flush(id, !failed);
                if !failed {
                    self.model.flush(before);
                }
            }
            Event::EndFlush { .. } => {}
            Event::Put { sector } => {
                self.medium.write(sector * SECTOR as u64, &[mark; SECTOR]);
                self.model.land(*sector, mark, true);
            }
            Event::Cut { seed } => self.cut(*seed),
        }
    }

    fn end_write(&mut self, which: &prop::sample::Index, failed: bool) {
        if self.model.in_flight.is_empty() {
            return;
        }
        let place = which.index(self.model.in_flight.len());
        let (id, sectors, mark, durable) = self.model.in_flight.remove(place);
        if failed {
            self.medium.fail_write(id);
        } else {
            let bytes = (sectors.end - sectors.start) * SECTOR as u64;
            self.medium.complete_write(id, bytes);
        }
        let marks = self.marks();
        for sector in sectors {
            // Which sectors a failure leaves is the medium's to choose.
            if !failed || marks[sector as usize] == mark {
                let durable = durable || !self.volatile_cache;
                self.model.land(sector, mark, durable);
            }
        }
        self.model.completions += 1;
    }

    fn cut(&mut self, seed: u64) {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.medium.cut_power(&mut generator);
        let after: BTreeMap<u64, u8> = (0..SECTORS).zip(self.marks()).collect();
        for (sector, mark) in &after {
            let possible = self.model.possible(*sector);
            assert!(
                possible.contains(mark),
                "sector {sector}: {mark} is none of {possible:?}"
            );
        }
        self.model = Model {
            durable: after,
            ..Model::default()
        };
        self.model.completions = self.medium.completions;
    }
}

proptest! {
    #[test]
    fn the_disk_reads_and_keeps_what_the_model_allows(
        events in prop::collection::vec(event(), 1..200),
        volatile_cache in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut pair = Pair {
            medium: Medium::new(SECTORS * SECTOR as u64, volatile_cache),
            model: Model::default(),
            volatile_cache,
            next_id: 0,
        };
        for event in &events {
            pair.happen(event);
            let expected: Vec<u8> = (0..SECTORS).map(|sector| pair.model.live(sector)).collect();
            prop_assert_eq!(pair.marks(), expected, "read after {:?}", event);
            let sectors = 0..SECTORS;
            let expected: Vec<u8> = sectors.map(|sector| pair.model.durable_at(sector)).collect();
            prop_assert_eq!(pair.durable_marks(), expected, "durable after {:?}", event);
        }
        pair.cut(seed);
    }
}
