//! Prints our verdict beside fio's steadystate rule and SNIA's on series of known truth, as the
//! table in docs/method.md: `cargo run -p sustain-experiments --example verdicts`.

use std::io::Write as _;

// The table speaks of this module as its neighbour in the crate.
use sustain_experiments::steady_words;

#[path = "../src/steady_words/table.rs"]
mod table;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(table::markdown().as_bytes())
}
