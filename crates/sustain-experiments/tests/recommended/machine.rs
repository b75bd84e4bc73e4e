//! Machines of which the rate that they hold for ever is known, drawn from a seed.

use std::fmt::Write;

/// What the disks of a machine do besides writing at their rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinds {
    /// They stand still for a while, each in a rhythm of its own.
    Stalls,
    /// They have caches, volatile or not, that are full within the run or are not; some of them
    /// stand still as well.
    Caches,
    /// They stand still, often and for long, and have volatile caches that are full at once.
    SmallCaches,
    /// They have volatile caches of 0.5 to 5 GB; some of them stand still as well.
    LargeCaches,
}

#[derive(Debug)]
struct Stall {
    every_ms: u64,
    for_ms: u64,
}

#[derive(Debug)]
struct Cache {
    bytes: u64,
    rate_bytes_per_s: u64,
    is_volatile: bool,
}

#[derive(Debug)]
struct GeneratedDisk {
    write_bytes_per_s: u64,
    stall: Option<Stall>,
    cache: Option<Cache>,
}

/// A machine, and the buffer of the recorder on it.
#[derive(Debug)]
pub struct GeneratedMachine {
    disks: Vec<GeneratedDisk>,
    /// The buffer asked for.
    pub buffer_bytes: u64,
}

impl GeneratedMachine {
    /// The machine of this seed.
    pub fn new(kinds: Kinds, seed: u64) -> GeneratedMachine {
        let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9).wrapping_add(17));
        let count = draw.between(1, 4);
        let disks = (0..count).map(|_| disk(kinds, &mut draw)).collect();
        GeneratedMachine {
            disks,
            buffer_bytes: draw.between(1, 8) * (64 << 20),
        }
    }

    /// A machine of one disk, with a buffer that its pauses do not fill.
    pub fn of_one_disk(kinds: Kinds, seed: u64) -> GeneratedMachine {
        let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9).wrapping_add(29));
        GeneratedMachine {
            disks: vec![disk(kinds, &mut draw)],
            buffer_bytes: 1 << 30,
        }
    }

    /// The rate that all disks together hold for ever.
    pub fn capacity_bytes_per_s(&self) -> f64 {
        let disks = self.disks.iter();
        disks
            .map(|disk| {
                let at_rest = disk
                    .stall
                    .as_ref()
                    .map_or(0.0, |stall| stall.for_ms as f64 / stall.every_ms as f64);
                disk.write_bytes_per_s as f64 * (1.0 - at_rest)
            })
            .sum()
    }

    /// The machine's file.
    pub fn description(&self) -> String {
        let mut file = String::new();
        for (number, disk) in self.disks.iter().enumerate() {
            let rate = disk.write_bytes_per_s / 1000;
            write!(
                file,
                "[[disk]]\nname = \"d{number}\"\ncapacity = \"40TB\"\nwrite = \"{rate}kB/s\"\n"
            )
            .unwrap();
            if let Some(Stall { every_ms, for_ms }) = disk.stall {
                writeln!(
                    file,
                    "stall = {{ every = \"{every_ms}ms\", for = \"{for_ms}ms\" }}"
                )
                .unwrap();
            }
            if let Some(cache) = &disk.cache {
                let (bytes, rate) = (cache.bytes / 1000, cache.rate_bytes_per_s / 1000);
                writeln!(
                    file,
                    "cache = \"{bytes}kB\"\ncache_rate = \"{rate}kB/s\"\nvolatile_cache = {}",
                    cache.is_volatile
                )
                .unwrap();
            }
        }
        file
    }
}

fn disk(kinds: Kinds, draw: &mut Draw) -> GeneratedDisk {
    let write_bytes_per_s = draw.between(40_000, 250_000) * 1000;
    let stalls = match kinds {
        Kinds::Stalls => draw.between(0, 3) > 0,
        Kinds::Caches | Kinds::LargeCaches => draw.between(0, 3) == 0,
        Kinds::SmallCaches => true,
    };
    let part = if kinds == Kinds::SmallCaches { 3 } else { 5 };
    // Three or more of them within the run, so that their rhythm can be seen.
    let stall = stalls.then(|| {
        let every_ms = draw.between(2000, 9000);
        Stall {
            every_ms,
            for_ms: draw.between(20, every_ms / part),
        }
    });
    let volatile_mb = match kinds {
        Kinds::SmallCaches => draw.between(16, 64),
        Kinds::LargeCaches => draw.between(500, 5000),
        Kinds::Stalls | Kinds::Caches => 0,
    };
    if volatile_mb > 0 {
        let cache = Cache {
            bytes: volatile_mb * 1_000_000,
            rate_bytes_per_s: write_bytes_per_s / 10 * draw.between(15, 40),
            is_volatile: true,
        };
        return GeneratedDisk {
            write_bytes_per_s,
            stall,
            cache: Some(cache),
        };
    }
    let has_cache = kinds == Kinds::Caches && draw.between(0, 3) > 0;
    let cache = has_cache.then(|| {
        let rate_bytes_per_s = write_bytes_per_s / 10 * draw.between(15, 40);
        let is_volatile = draw.between(0, 1) == 0;
        // What is safe from power cuts shows in no flush, so the run has to be long enough to
        // fill it.
        let full_s_max = if is_volatile { 50 } else { 10 };
        let full_ms = draw.between(500, full_s_max * 1000);
        Cache {
            bytes: (rate_bytes_per_s - write_bytes_per_s) / 1000 * full_ms,
            rate_bytes_per_s,
            is_volatile,
        }
    });
    GeneratedDisk {
        write_bytes_per_s,
        stall,
        cache,
    }
}

/// Random numbers of a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    /// From the least to the most, both included.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        least + (mixed ^ (mixed >> 31)) % (most - least + 1)
    }
}
