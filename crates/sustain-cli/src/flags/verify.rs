//! The flags of `sustain verify`, as typed.

use std::path::PathBuf;

use clap::Args;

use super::help;

const EXAMPLES: &str = "\
Examples:
  sustain verify /data1 /data2
      Reads everything that is recorded and says what is damaged or missing.
  sustain verify /dev/sdb1 /dev/sdc1 --json verify.json
      The same, with the place of each fault as JSON.

After a crash, bytes that were not yet durable may be missing at the end of a recording. They are
named with their length, and are not a fault. While the end of a recording is open, nothing tells
whether the crash took these bytes or whether they were damaged since. Run `sustain recover` soon
after a crash: it notes what is there, so that later damage is recognised as a fault.

Nothing is written to the members. Exit codes: 0 everything that was durable, or that `sustain
recover` found, is there; 1 some of it is damaged or missing; 2 usage error, or something that is
not a member of a store; 130 interrupted, with what was found so far.";

const OUTPUT: &str = "\
What the output means:
  whole
      Bytes whose checksums are right.
  lost before they reached a member
      Bytes of which the recorder itself says that they were lost: no fault of the store.
  pin 2: 1.20 GB, whole
      What a pin keeps of a ring, with the space that it takes there: all of it was read, and so was
      what the ring has passed by since. A fault in it names the pin.
  damaged or missing
      Bytes that should be there and are not. A line that begins with \"bad\" names their place.
  ok
      Every byte is whole, or accounted for as lost.";

#[derive(Debug, Args)]
#[command(after_help = help::short("verify", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
pub(crate) struct VerifyFlags {
    /// Members of one store, in any order: block devices, files, or directories that hold one.
    #[arg(required = true, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Write the result as JSON to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
