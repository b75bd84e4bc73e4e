//! What this program does when a comparison starts it as one of its sides: processes of their own,
//! so that the kernel accounts for each. Nobody needs to call them by hand.

mod bare;
mod discard;
mod lend;

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use clap::Subcommand;

pub(crate) use bare::BarelyWritten;
pub(crate) use lend::Lent;

/// A side of a comparison.
#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// Writes standard input into a file by a bare loop, with checksums.
    #[command(hide = true)]
    Bare {
        /// A file that is there; direct I/O must be allowed on it.
        file: PathBuf,
        /// Where to write what came of it.
        #[arg(long)]
        json: PathBuf,
    },
    /// Reads standard input into memory and forgets it.
    #[command(hide = true)]
    Discard,
    /// Records through the library, in buffers that the recorder lends.
    #[command(hide = true)]
    Lend {
        /// The only member of a store.
        member: String,
        /// How long.
        #[arg(long)]
        time_s: u64,
        /// Where to write what came of it.
        #[arg(long)]
        json: PathBuf,
    },
}

impl Role {
    pub(crate) fn play(&self) -> anyhow::Result<()> {
        match self {
            Role::Bare { file, json } => bare::bare(file, json),
            Role::Discard => discard::discard(),
            Role::Lend {
                member,
                time_s,
                json,
            } => lend::lend(member, *time_s, json),
        }
    }
}

/// This program, to be given a role.
pub(crate) fn command(role: &str) -> anyhow::Result<Command> {
    let own = std::env::current_exe().context("cannot tell where this program lies")?;
    let mut command = Command::new(own);
    command.arg(role);
    Ok(command)
}
