//! Prints our verdict beside fio's steadystate rule and SNIA's on series of known truth, as the
//! table in docs/method.md: `cargo run -p sustain-statistics --example verdicts`.

#[path = "../src/judge/series.rs"]
mod series;
#[path = "../src/judge/table.rs"]
mod table;

// The two files above speak of their neighbours in the crate.
use std::io::Write as _;
use sustain_statistics::judge::{Revisits, Step, burst, conventional, steady};

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(table::markdown().as_bytes())
}
