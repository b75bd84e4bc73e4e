//! What parity costs: the kernels of sustain-parity beside two other packages, then right after the
//! checksums, as the recorder is to compute it.

use std::fmt;
use std::hint::black_box;

use crc_fast::crc32_iscsi;
use reed_solomon_erasure::galois_8::ReedSolomon;
use reed_solomon_simd::ReedSolomonEncoder;
use sustain::disk::buffer::{Buffer, BufferPool};
use sustain::disk::clock::thread_cpu_ns;
use sustain_parity::{Kernel, Sums};

use crate::group::Group;
use crate::pairs::Compared;
use crate::progress::progress;
use crate::setting::Setting;
use crate::statistics::Median;
use crate::table::{Goal, Row, Section};

/// Parities of a group, the most last.
const PARITIES: [usize; 2] = [1, 2];
/// Data appends of a group.
const DATA: [usize; 3] = [2, 4, 8];
const APPEND_BYTES: usize = 1 << 20;
/// How much one checksum covers, as in a store.
const PIECE_BYTES: usize = 64 << 10;
/// Appends in memory, more than the caches of most processors hold.
const APPENDS: usize = 64;
/// How many appends one run goes over.
const APPENDS_OF_RUN: usize = 512;
/// Groups whose parities take turns in memory, as many as may be open at once.
const GROUPS: usize = 8;
/// Others must take half as long again to justify code of our own.
const RATIO_MAX: f64 = 1.0 / 1.5;
/// What each parity may add to the CPU time of the checksums, in seconds per GB.
const MORE_MAX_S_PER_GB: f64 = 0.05;

/// What computes parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coder {
    /// Only the checksums are computed.
    Nobody,
    Ours(Kernel),
    Erasure,
    Simd,
}

impl fmt::Display for Coder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Coder::Nobody => write!(formatter, "checksums alone"),
            Coder::Ours(kernel) => write!(formatter, "our {} kernel", kernel.name()),
            Coder::Erasure => write!(formatter, "reed-solomon-erasure"),
            Coder::Simd => write!(formatter, "reed-solomon-simd"),
        }
    }
}

/// One way to go over the appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    coder: Coder,
    /// Whether each piece's checksum is taken right before.
    checksums: bool,
}

/// The appends and the parities, in memory like the recorder's.
struct Appends {
    data: Vec<Buffer>,
    parities: Vec<Buffer>,
}

/// How wide the groups are.
#[derive(Debug, Clone, Copy)]
struct Width {
    parities: usize,
    data: usize,
}

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let mut appends = Appends::new()?;
    let (mut alone, mut beside_checksums) = (Vec::new(), Vec::new());
    for parities in PARITIES {
        for data in DATA {
            let width = Width { parities, data };
            let measured = Measured::of(width, &mut appends, setting)?;
            alone.extend(measured.rows_alone());
            beside_checksums.extend(measured.rows_beside_checksums());
        }
    }
    Ok(Section {
        name: Group::Parity.name(),
        columns: ["", "sustain", "other", "ratio or difference [95 %]"],
        rows: alone.into_iter().chain(beside_checksums).collect(),
        notes: vec![format!(
            "CPU seconds of one thread per GB of data, for p parities of k appends of 1 MiB. Ours is \
             the {} kernel.",
            Kernel::best().name()
        )],
    })
}

impl Appends {
    fn new() -> anyhow::Result<Appends> {
        let take = |count| -> anyhow::Result<Vec<Buffer>> {
            let mut pool = BufferPool::new(count, APPEND_BYTES)?;
            Ok(std::iter::from_fn(|| pool.take()).collect())
        };
        let mut data = take(APPENDS)?;
        for (index, buffer) in data.iter_mut().enumerate() {
            // Memory that nobody has written may be one page of zeros again and again.
            buffer.bytes_mut().fill(index as u8 + 1);
        }
        Ok(Appends {
            data,
            parities: take(GROUPS * PARITIES[PARITIES.len() - 1])?,
        })
    }

    /// CPU seconds per GB of one way. With checksums, the data comes from memory, and the groups
    /// take turns with the memory of their parities. Without, one group is gone over again and
    /// again, so that it is in the caches, and what is computed counts rather than how it comes
    /// there.
    fn cpu_s_per_gb(&mut self, way: Way, width: Width) -> anyhow::Result<f64> {
        let Width { parities, data } = width;
        let (groups, sets) = match way.checksums {
            true => (APPENDS / data, GROUPS),
            false => (1, 1),
        };
        let erasure = ReedSolomon::new(data, parities)?;
        let mut simd = ReedSolomonEncoder::new(data, parities, APPEND_BYTES)?;
        let start_ns = thread_cpu_ns();
        for turn in 0..APPENDS_OF_RUN / data {
            let group = &self.data[turn % groups * data..][..data];
            let group: Vec<&[u8]> = group.iter().map(Buffer::bytes).collect();
            let sums = &mut self.parities[turn % sets * parities..][..parities];
            let sums: Vec<&mut [u8]> = sums.iter_mut().map(Buffer::bytes_mut).collect();
            match way.coder {
                Coder::Nobody => check(&group),
                Coder::Ours(kernel) => add(&group, sums, kernel, way.checksums)?,
                Coder::Erasure => add_by_erasure(&group, sums, &erasure, way.checksums)?,
                Coder::Simd => encode_by_simd(&group, sums, &mut simd, way.checksums)?,
            }
        }
        let used_ns = thread_cpu_ns() - start_ns;
        Ok(used_ns as f64 / (APPENDS_OF_RUN * APPEND_BYTES) as f64)
    }
}

fn checksum(piece: &[u8]) {
    black_box(crc32_iscsi(black_box(piece)));
}

fn check(group: &[&[u8]]) {
    let pieces = group.iter().flat_map(|append| append.chunks(PIECE_BYTES));
    pieces.for_each(checksum);
}

fn add(
    group: &[&[u8]],
    sums: Vec<&mut [u8]>,
    kernel: Kernel,
    checksums: bool,
) -> anyhow::Result<()> {
    let parities: Vec<usize> = (0..sums.len()).collect();
    let mut sums = Sums::empty(&parities, sums)?.with_kernel(kernel);
    for (position, append) in group.iter().enumerate() {
        for (index, piece) in append.chunks(PIECE_BYTES).enumerate() {
            if checksums {
                checksum(piece);
            }
            sums.add(position, index * PIECE_BYTES, piece)?;
        }
    }
    black_box(sums);
    Ok(())
}

/// In the same order as [`add`], which is the best one for this package, too.
fn add_by_erasure(
    group: &[&[u8]],
    mut sums: Vec<&mut [u8]>,
    code: &ReedSolomon,
    checksums: bool,
) -> anyhow::Result<()> {
    for (position, append) in group.iter().enumerate() {
        for (index, piece) in append.chunks(PIECE_BYTES).enumerate() {
            if checksums {
                checksum(piece);
            }
            let here = sums.iter_mut();
            let here = here.map(|sum| &mut sum[index * PIECE_BYTES..][..piece.len()]);
            let mut here: Vec<&mut [u8]> = here.collect();
            code.encode_single_sep(position, piece, &mut here)?;
        }
    }
    black_box(sums);
    Ok(())
}

/// It wants all of a group before it computes anything, and then keeps the parities in memory of
/// its own. They are copied to where they can be written from.
fn encode_by_simd(
    group: &[&[u8]],
    mut sums: Vec<&mut [u8]>,
    encoder: &mut ReedSolomonEncoder,
    checksums: bool,
) -> anyhow::Result<()> {
    for append in group {
        if checksums {
            append.chunks(PIECE_BYTES).for_each(checksum);
        }
        encoder.add_original_shard(append)?;
    }
    for (sum, parity) in sums.iter_mut().zip(encoder.encode()?.recovery_iter()) {
        sum.copy_from_slice(parity);
    }
    black_box(sums);
    Ok(())
}

/// What all ways took, round by round.
struct Measured {
    width: Width,
    ways: Vec<(Way, Vec<f64>)>,
}

impl Measured {
    fn of(width: Width, appends: &mut Appends, setting: &Setting) -> anyhow::Result<Measured> {
        let way = |coder, checksums| (Way { coder, checksums }, Vec::new());
        let best = Coder::Ours(Kernel::best());
        let kernels = Kernel::all().map(|kernel| way(Coder::Ours(kernel), false));
        let others = [
            way(Coder::Erasure, false),
            way(Coder::Simd, false),
            way(Coder::Nobody, true),
            way(best, true),
            way(Coder::Erasure, true),
            way(Coder::Simd, true),
        ];
        let mut ways: Vec<_> = kernels.chain(others).collect();
        for _ in 0..setting.effort.pairs {
            setting.interrupt.check()?;
            for (way, figures) in &mut ways {
                figures.push(appends.cpu_s_per_gb(*way, width)?);
            }
            ways.reverse();
        }
        Ok(Measured { width, ways })
    }

    /// In the order of the rounds.
    fn figures(&self, coder: Coder, checksums: bool) -> &[f64] {
        let wanted = Way { coder, checksums };
        let found = self.ways.iter().find(|(way, _)| *way == wanted);
        found.map_or(&[], |(_, figures)| figures)
    }

    fn compared(&self, other: Coder, checksums: bool) -> Compared {
        let best = Coder::Ours(Kernel::best());
        let ours = self.figures(best, checksums);
        Compared::of(ours, self.figures(other, checksums))
    }

    fn what(&self, which: impl fmt::Display) -> String {
        let Width { parities, data } = self.width;
        format!("p = {parities}, k = {data}: {which}")
    }

    /// Of the best kernel against others, each of which must take half as long again.
    fn rows_against_others(&self, checksums: bool) -> impl Iterator<Item = Row> {
        let with = if checksums { "checksums and " } else { "" };
        [Coder::Simd, Coder::Erasure].into_iter().map(move |other| {
            let what = self.what(format!("{with}{other}"));
            let compared = self.compared(other, checksums);
            Row::compared(what, &compared, Goal::AtMost(RATIO_MAX), figure)
        })
    }

    fn rows_alone(&self) -> Vec<Row> {
        let slower = Kernel::all().filter(|kernel| *kernel != Kernel::best());
        let slower = slower.map(|kernel| {
            let other = Coder::Ours(kernel);
            Row::shown(self.what(other), &self.compared(other, false), figure)
        });
        told(self.rows_against_others(false).chain(slower).collect())
    }

    fn rows_beside_checksums(&self) -> Vec<Row> {
        let best = Coder::Ours(Kernel::best());
        let (with, without) = (self.figures(best, true), self.figures(Coder::Nobody, true));
        let pairs = with.iter().zip(without);
        let more: Vec<f64> = pairs.map(|(with, without)| with - without).collect();
        let more = Median::of(&more);
        let more_max = self.width.parities as f64 * MORE_MAX_S_PER_GB;
        let alone = Row {
            what: self.what(Coder::Nobody),
            ours: figure(Median::of(with).value),
            other: figure(Median::of(without).value),
            ratio: format!(
                "{:+.4} [{:+.4}, {:+.4}] s/GB",
                more.value, more.low, more.high
            ),
            goal: format!("<= {more_max:+.2} s/GB"),
            verdict: Goal::AtMost(more_max).judge(more),
        };
        let others = self.rows_against_others(true);
        told([alone].into_iter().chain(others).collect())
    }
}

fn figure(cpu_s_per_gb: f64) -> String {
    format!("{cpu_s_per_gb:.4} s/GB")
}

/// For the person who waits.
fn told(rows: Vec<Row>) -> Vec<Row> {
    rows.iter().for_each(|row| progress(&row.line()));
    rows
}
