//! What a pipe gives at most: the least that any recorder must do with it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;

use anyhow::Context;
use sustain::disk::buffer::AlignedBytes;

/// More than the CPU's caches, as a recorder's buffer is.
const POOL_BYTES: usize = 64 << 20;
const READ_BYTES: usize = 1 << 20;

/// Reads standard input to its end, each time into the next part of the pool.
pub(super) fn discard() -> anyhow::Result<()> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let mut input = File::from(input.context("there is no standard input")?);
    let mut pool = AlignedBytes::new(POOL_BYTES)?;
    let mut start = 0;
    loop {
        match input.read(&mut pool[start..start + READ_BYTES]) {
            Ok(0) => return Ok(()),
            Ok(count) if start + count + READ_BYTES > POOL_BYTES => start = 0,
            Ok(count) => start += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("cannot read standard input"),
        }
    }
}
