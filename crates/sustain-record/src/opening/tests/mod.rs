//! Opens members that lie in memory: whole, damaged, unreadable, left by a crash, and huge ones.

pub(crate) mod image;

mod catalogs;
mod pins;
mod tails;

use std::cell::Cell;

use sustain_disk::error::IoFault;

use super::*;
use image::{Image, Member};

const SLOT: u32 = 64 << 10;
const MIB: u64 = 1 << 20;
const EIO: IoFault = IoFault::Kernel(5);

/// Answers all needs from `read` until the question is answered, and counts what was read.
fn ask<T>(
    opening: &mut Opening,
    question: impl Fn(&mut Opening) -> Asked<T>,
    read: impl Fn(u64, usize) -> Result<Vec<u8>, IoFault>,
) -> (T, u64) {
    let mut read_bytes = 0;
    loop {
        match question(opening) {
            Ok(answer) => return (answer, read_bytes),
            Err(needs) => {
                assert!(!needs.is_empty());
                for need in needs {
                    let bytes = read(need.offset_bytes, need.length_bytes);
                    read_bytes += need.length_bytes as u64;
                    opening.answer(&need, bytes.as_deref().map_err(|errno| *errno));
                }
            }
        }
    }
}

fn read_of(member: &Member) -> impl Fn(u64, usize) -> Result<Vec<u8>, IoFault> {
    |offset_bytes, length_bytes| Ok(member.medium.read(offset_bytes, length_bytes))
}

fn tail_of(member: &Member) -> MemberTail {
    let mut opening = Opening::new(&member.superblock);
    ask(&mut opening, Opening::tail, read_of(member)).0
}

fn chapters_of(member: &Member) -> Vec<Chapter> {
    let mut opening = Opening::new(&member.superblock);
    ask(&mut opening, Opening::chapters, read_of(member)).0
}

fn recordings_of(image: &Image) -> Vec<Recording> {
    let chapters: Vec<_> = image
        .members
        .iter()
        .map(|member| Some(chapters_of(member)))
        .collect();
    merge(&chapters).unwrap()
}

/// Reads a member with some blocks that cannot be read.
fn read_with_errors<'a>(
    member: &'a Member,
    is_unreadable: &'a dyn Fn(u64) -> bool,
) -> impl Fn(u64, usize) -> Result<Vec<u8>, IoFault> + 'a {
    let reads = Cell::new(0_u64);
    move |offset_bytes, length_bytes| {
        reads.set(reads.get() + 1);
        assert!(reads.get() < 1_000_000, "it comes to an end");
        let end = offset_bytes + length_bytes as u64;
        let blocks = (offset_bytes..end).step_by(4096);
        if blocks.into_iter().any(is_unreadable) {
            return Err(EIO);
        }
        Ok(member.medium.read(offset_bytes, length_bytes))
    }
}
