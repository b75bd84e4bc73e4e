//! What was published of each set-up, and how a machine is asked for the same. Read by the test,
//! which runs it; no figure here may be one that the source does not have.

use sustain_disk::layout::Layout;
use sustain_disk::target::Direction;

/// One source, or one table of it.
pub struct Section {
    pub title: &'static str,
    /// Its file in `machines/`.
    pub machine: &'static str,
    /// What stands above the table.
    pub text: &'static str,
    /// What the figures of a row are; each ends with a space unless empty.
    pub columns: &'static [&'static str],
    pub rows: Vec<Row>,
}

/// One line of a table.
pub struct Row {
    pub what: String,
    /// As many as the section has columns.
    pub figures: Vec<Figure>,
    /// Whether the machine shows all its figures within 3 %.
    pub explained: bool,
    pub remark: &'static str,
}

/// A published figure.
pub struct Figure {
    /// As in the source: a number, and perhaps words after it.
    pub published: &'static str,
    /// How the machine is run for it; none where no machine can show it.
    pub setup: Option<Setup>,
    pub kind: Kind,
}

/// What a published figure has to do with the machine's keys. The test holds each to its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// It is a key of the machine's file, which may have it rounded.
    Input,
    /// A key is computed from it; how, and the key's number.
    Derived(&'static str, &'static str),
    /// Something was chosen so that the machine shows it; what.
    Fitted(&'static str),
    /// Nothing was taken from it: the machine foretells it.
    Predicted,
    /// No machine shows it.
    Unshown,
}

impl Kind {
    /// As the page says it.
    pub fn words(self) -> String {
        match self {
            Kind::Input => "input".to_owned(),
            Kind::Derived(how, _) => format!("input: {how}"),
            Kind::Fitted(what) => format!("fitted: {what}"),
            Kind::Predicted => "predicted".to_owned(),
            Kind::Unshown => String::new(),
        }
    }
}

/// How a machine is measured.
pub struct Setup {
    pub disks: &'static [&'static str],
    pub direction: Direction,
    pub record_bytes: u64,
    pub layout: Layout,
    pub depth: u32,
    pub seconds: u64,
    pub shows: Shows,
}

/// Which figure of the result is the published one.
#[derive(Clone, Copy)]
pub enum Shows {
    /// MB/s of all disks.
    Rate,
    /// Seconds for 10^9 bytes, all disks together.
    SecondsPerGigabyte,
    /// Of this line of 20 MiB: MB/s, MB/s since the start, its seconds.
    LineRate(usize),
    LineAverage(usize),
    LineSeconds(usize),
}

impl Setup {
    /// Records of 1 MiB written for five seconds, each disk at its own pace.
    pub fn writing(disks: &'static [&'static str]) -> Setup {
        Setup {
            disks,
            direction: Direction::Write,
            record_bytes: MIB,
            layout: Layout::Independent,
            depth: 8,
            seconds: 5,
            shows: Shows::Rate,
        }
    }

    /// A stripe whose records are its chunks, as a RAID 0 hands them on.
    fn striped(disks: &'static [&'static str], chunk_bytes: u64) -> Setup {
        Setup {
            record_bytes: chunk_bytes,
            layout: Layout::Stripe { chunk_bytes },
            ..Setup::writing(disks)
        }
    }
}

fn shown(what: &str, published: &'static str, kind: Kind, setup: Setup) -> Row {
    let figures = vec![Figure {
        published,
        setup: Some(setup),
        kind,
    }];
    Row {
        what: what.to_owned(),
        figures,
        explained: true,
        remark: "",
    }
}

fn differs(what: &str, published: &'static str, setup: Setup, why: &'static str) -> Row {
    Row {
        explained: false,
        remark: why,
        ..shown(what, published, Kind::Predicted, setup)
    }
}

fn beyond(what: &str, published: &'static str, why: &'static str) -> Row {
    let figures = vec![Figure {
        published,
        setup: None,
        kind: Kind::Unshown,
    }];
    Row {
        what: what.to_owned(),
        figures,
        explained: false,
        remark: why,
    }
}

pub fn sections() -> Vec<Section> {
    vec![
        marvell(),
        elphel(),
        fasttrak(),
        fasttrak_zones(),
        smartcache(),
        adaptec(),
    ]
}

const IN_ORDER: &[&str] = &["sda", "sdb", "sdc", "sdd"];
const CROSSED: &[&str] = &["sda", "sdc", "sdb", "sdd"];
const ORDER: &str = "the order in which the disks are fed: on a machine all have requests waiting \
                     at every moment, so no order is better";
const TOOL: &str = "the disks were not kept busy: a way of writing, no machine";

const MIB: u64 = 1 << 20;
/// What was fitted to the small chunks.
const COST: Kind = Kind::Fitted("the cost of a request");

fn marvell() -> Section {
    let mut rows = vec![
        shown("one disk", "105", Kind::Input, Setup::writing(&["sda"])),
        beyond("two disks, `O_NONBLOCK`", "105", TOOL),
        beyond("two disks, a thread each", "50", TOOL),
        beyond("two disks, POSIX AIO", "50", TOOL),
        shown(
            "two disks, `io_submit`",
            "205",
            Kind::Predicted,
            Setup::writing(&["sda", "sdc"]),
        ),
        differs(
            "sda sdc sdb sdd by `io_submit`",
            "240",
            Setup::writing(CROSSED),
            ORDER,
        ),
        shown(
            "sda sdb sdc sdd by `io_submit`",
            "252",
            Kind::Input,
            Setup::writing(IN_ORDER),
        ),
    ];
    rows.extend(marvell_raid());
    rows.push(beyond(
        "two of the disks on a fast PC",
        "160",
        "nothing else is said about that PC",
    ));
    rows.push(beyond(
        "the memory, in theory: bursts of 8 words, of 4",
        "510 to 520, 313",
        "not measured; 252 is what was left of them",
    ));
    Section {
        title: "The 252 MB/s wall",
        machine: "marvell.toml",
        text: "`machines/marvell.toml`, after \"Thrashing Your SATA for Fun and Profit\" (2009), \
               and `machines/demo.toml`, the same board without its RAID 0. MB/s written. The \
               source wrote buffers of 1 MiB; a RAID 0 stands here as what md makes of them, a \
               stripe of which each chunk is a request (`sweep --md raid0` of the machine shows \
               the same with `--record-size 1MiB`). `sustain`'s own stripe hands each disk the \
               chunks of a record as one request and loses nothing: `--layout stripe --chunk \
               64KiB --record-size 1MiB` gives 252. What the 0.368 ms of a small request go into \
               cannot be told from the source. A processor's time for each request that md makes, \
               and the port multiplier's change from disk to disk, would give the same figures, \
               and each would have one number fitted to the one figure of 178; commands of 64 KB, \
               which the source says the controller has, cannot be it, for writes without md go \
               in them too. So the order of the chunks is shown, and not explained: the 249 and \
               247 follow from the limit of 252 alone, and the losses by the order of the disks \
               (240, 244, 170) are beyond the machine.",
        columns: &[""],
        rows,
    }
}

fn marvell_raid() -> Vec<Row> {
    let small = |disks| Setup::striped(disks, MIB / 16);
    let large = |disks| Setup::striped(disks, MIB);
    vec![
        shown(
            "RAID 0, chunk by default (64 KiB), sda sdb sdc sdd, at first",
            "178",
            COST,
            small(IN_ORDER),
        ),
        shown("the same, later", "176", COST, small(IN_ORDER)),
        shown(
            "RAID 0, chunk by default, sda sdc sdb sdd, at first",
            "178",
            COST,
            small(CROSSED),
        ),
        differs(
            "the same, later",
            "170",
            small(CROSSED),
            "it falls as the run goes on, by what is not known; a machine does not",
        ),
        shown(
            "RAID 0, chunk of 1 MiB, sda sdb sdc sdd",
            "249",
            Kind::Predicted,
            large(IN_ORDER),
        ),
        differs(
            "RAID 0, chunk of 1 MiB, sda sdc sdb sdd",
            "244",
            large(CROSSED),
            ORDER,
        ),
        shown(
            "RAID 0, chunk of 2 MiB, sda sdb sdc sdd",
            "247",
            Kind::Predicted,
            Setup::striped(IN_ORDER, 2 * MIB),
        ),
    ]
}

fn elphel() -> Section {
    let software = "the kernel's path to the disk, which a machine does not have";
    let sheet = "a data sheet's, not measured";
    Section {
        title: "A camera's disks",
        machine: "elphel.toml",
        text: "`machines/elphel.toml`, after \"Reaching 220 MB/s sustained write speed with SATA-2 \
               controller\" (2016). MB/s written.",
        columns: &[""],
        rows: vec![
            beyond("SanDisk, file system", "82", software),
            beyond("SanDisk, device file", "90", software),
            shown(
                "SanDisk, the camera's driver",
                "160",
                Kind::Input,
                Setup::writing(&["sandisk"]),
            ),
            beyond("SanDisk in SATA 3 mode", "182", sheet),
            beyond("Crucial, file system", "78", software),
            Row {
                remark: "the controller's limit: the disk's data sheet says 500",
                ..shown(
                    "Crucial, the camera's driver",
                    "220",
                    Kind::Input,
                    Setup::writing(&["crucial"]),
                )
            },
            beyond("Crucial in SATA 3 mode", "500", sheet),
            beyond(
                "the controller, in preliminary tests",
                "200",
                "the later 220 is its limit here",
            ),
        ],
    }
}

fn fasttrak() -> Section {
    let reading = |disks| Setup {
        direction: Direction::Read,
        record_bytes: 80_000,
        seconds: 10,
        ..Setup::writing(disks)
    };
    Section {
        title: "Missed revolutions",
        machine: "fasttrak.toml",
        text: "`machines/fasttrak.toml`, after \"Investigating RAID performance\". MB/s read, in \
               records of 80 kB: the source does not give its requests' size, and this one is \
               fitted to the second row.",
        columns: &[""],
        rows: vec![
            shown("one drive", "35", Kind::Input, reading(&["a0"])),
            shown(
                "two drives on one channel, at the start",
                "15",
                Kind::Fitted("the size of the requests"),
                reading(&["a0", "a1"]),
            ),
            beyond(
                "the same, towards the end of the drives",
                "more",
                "no figure is given. These drives have no zones: see the next table",
            ),
            differs(
                "two drives on two channels (\"doubles\")",
                "30",
                reading(&["a0", "b0"]),
                "drives that share only the PCI side both keep up there (70) or both are late for \
                 each record (15). 30 is a revolution missed for every third record: these drives \
                 have buffers of their own, which the next table's machine has, too",
            ),
            Row {
                remark: "less than one drive alone",
                ..shown(
                    "four drives (\"barely\")",
                    "30",
                    Kind::Predicted,
                    reading(&["a0", "a1", "b0", "b1"]),
                )
            },
            beyond(
                "two drives on two controllers",
                "61",
                "not of the drives' beginning, but of the place where two of them do no more than \
                 a limit of 61; which place that is, is not told",
            ),
        ],
    }
}

fn fasttrak_zones() -> Section {
    let reading = |disks| Setup {
        direction: Direction::Read,
        seconds: 10,
        ..Setup::writing(disks)
    };
    Section {
        title: "Missed revolutions by drives that read ahead",
        machine: "fasttrak-zones.toml",
        text: "`machines/fasttrak-zones.toml`, after the same source. MB/s read. Two keys are fitted \
               to the second row, and one to the fourth.",
        columns: &[""],
        rows: vec![
            shown("one drive", "35", Kind::Input, reading(&["a0"])),
            shown(
                "two drives on one channel, at the start",
                "15",
                Kind::Fitted("the drive's segment and the channel"),
                reading(&["a0", "a1"]),
            ),
            beyond(
                "the same, towards the end of the drives",
                "more",
                "no figure is given. The machine shows more, too: 40 in the innermost zone, which \
                 `profile` draws as rising while each drive falls. Its 20 inside are assumed",
            ),
            shown(
                "two drives on two channels (\"doubles\")",
                "30",
                Kind::Fitted("the controller's side towards the bus"),
                reading(&["a0", "b0"]),
            ),
            Row {
                remark: "less than one drive alone. The source tells neither the chunk nor the \
                         record; with others the machine shows 21 to 43, and 23 with a queue for each \
                         drive",
                ..shown(
                    "four drives as a RAID 0 (\"barely\")",
                    "30",
                    Kind::Fitted("one record of 512 KiB at a time, in chunks of 128 KiB"),
                    Setup {
                        record_bytes: MIB / 2,
                        layout: Layout::Stripe {
                            chunk_bytes: MIB / 8,
                        },
                        depth: 1,
                        ..reading(&["a0", "a1", "b0", "b1"])
                    },
                )
            },
            beyond(
                "two drives on two controllers, where the line becomes smooth",
                "61",
                "an input, and not of the drives' beginning: further inside, two of them do no more \
                 than this limit. `profile` draws it so: rising up to 60 at a third of the drives, and \
                 falling with them from there on",
            ),
        ],
    }
}

fn smartcache() -> Section {
    let line = |shows| Setup {
        seconds: 45,
        shows,
        ..Setup::writing(&["smartcache"])
    };
    Section {
        title: "A cache that misleads",
        machine: "smartcache.toml",
        text: "`machines/smartcache.toml`, after \"Hard disk continuous-write measurements\" \
               (1998): the line that the source prints as its example, beside the machine's \
               eighth line of 20 MiB. That the line is one of this controller is an assumption. \
               The curves are pictures without figures.",
        columns: &[""],
        rows: vec![
            shown(
                "seconds for 20 MiB",
                "5.002443",
                Kind::Derived("20 MiB at the rate of the next row", "4.2"),
                line(Shows::LineSeconds(8)),
            ),
            shown(
                "MB/s in the line",
                "4.192256",
                Kind::Input,
                line(Shows::LineRate(8)),
            ),
            shown(
                "MB/s on average so far",
                "5.245273",
                Kind::Fitted("the line, the eighth because it comes nearest"),
                line(Shows::LineAverage(8)),
            ),
        ],
    }
}

/// A disk alone was published as a picture only.
const HALF_OF_22: Kind = Kind::Derived("each disk has half of it", "11");

fn adaptec() -> Section {
    Section {
        title: "One controller, and two",
        machine: "adaptec.toml",
        text: "`machines/adaptec.toml`, after the same source. Its curves of the record size, of \
               the RAID controller's settings and of `ccd` are pictures without figures.",
        columns: &[""],
        rows: vec![
            shown(
                "MB/s, two disks on one Adaptec 2940",
                "17",
                Kind::Input,
                Setup::writing(&["sd0", "sd1"]),
            ),
            shown(
                "MB/s, two disks, each on its own",
                "22",
                HALF_OF_22,
                Setup::writing(&["sd0", "sd2"]),
            ),
            shown(
                "seconds to write a gigabyte so",
                "45",
                Kind::Derived("a gigabyte at the rate of the row above", "11"),
                Setup {
                    shows: Shows::SecondsPerGigabyte,
                    ..Setup::writing(&["sd0", "sd2"])
                },
            ),
            beyond(
                "bytes in the file that was written on `ccd`, mounted",
                "17,723,088,896",
                "a size and no rate; by the times in its listing (11:11 and 11:31) it took about \
                 20 minutes, so went at about 15 MB/s. A machine has no file system and no `ccd`",
            ),
        ],
    }
}
