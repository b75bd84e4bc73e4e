//! The tables of "Beowulf Bulk Data Server - Disk Test Results" (1998): three models of disk on two
//! controllers, alone and together, read and written.

use sustain_disk::target::Direction;

use super::rows::{Figure, Row, Section, Setup};

/// Disks, MB/s read, MB/s written, remark.
type Line = (
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static str,
);

const QUANTUM: &[Line] = &[
    (&["hda"], "11.220", "9.723", ""),
    (&["hdb"], "11.226", "9.723", ""),
    (
        &["hda", "hdb"],
        "11.193",
        "9.607",
        "slightly below one disk: to change from disk to disk costs a little, which no key \
         describes",
    ),
    (&["hda", "hdc"], "12.098", "10.750", ""),
    (&["hda", "hdb", "hdc", "hdd"], "12.098", "10.799", ""),
    (&["hde"], "11.269", "11.268", ""),
    (&["hde", "hdg"], "22.512", "22.497", ""),
    (
        &["hdc", "hde", "hdg"],
        "32.884",
        "30.540",
        "less than the sum, so `host` is a third wall",
    ),
];

const MAXTOR: &[Line] = &[
    (&["hda"], "11.307", "7.111", ""),
    (&["hdb"], "11.306", "7.198", ""),
    (
        &["hda", "hdb"],
        "11.197",
        "7.397",
        "written slightly faster than by either: the channel's rate is this row's",
    ),
    (&["hda", "hdc"], "11.937", "10.801", ""),
    (&["hda", "hdb", "hdc", "hdd"], "11.939", "10.785", ""),
    (&["hde"], "11.292", "7.443", ""),
    (&["hde", "hdg"], "22.599", "14.656", ""),
    (
        &["hdc", "hde", "hdg"],
        "32.830",
        "21.327",
        "hdc alone was not published: as hda",
    ),
];

const IBM: &[Line] = &[
    (&["hda"], "9.732", "7.145", ""),
    (
        &["hdb"],
        "9.740",
        "9.124",
        "why hda writes slower than hdb, of one model, is not known",
    ),
    (
        &["hda", "hdb"],
        "9.724",
        "9.984",
        "written faster than by either: the channel carries more than one of its disks writes; \
         the channel's rate is this row's",
    ),
    (&["hda", "hdc"], "12.070", "10.735", ""),
    (&["hda", "hdb", "hdc", "hdd"], "12.071", "10.787", ""),
    (&["hde"], "9.756", "9.609", ""),
    (&["hde", "hdg"], "19.493", "19.161", ""),
    (
        &["hdc", "hde", "hdg"],
        "28.902",
        "28.129",
        "hdc alone was not published: as hdb",
    ),
];

pub fn sections() -> Vec<Section> {
    vec![
        section(
            "Beowulf, Quantum Fireball SE",
            "beowulf-quantum.toml",
            "`machines/beowulf-quantum.toml`, after \"Beowulf Bulk Data Server - Disk Test \
             Results\" (1998). MB/s. hda and hdb share a channel of a PIIX3, hdc and hdd the other \
             one; hde and hdg have a channel each of a Promise Ultra33.",
            QUANTUM,
        ),
        section(
            "Beowulf, Maxtor Diamond MAX",
            "beowulf-maxtor.toml",
            "`machines/beowulf-maxtor.toml`, after the same source. MB/s.",
            MAXTOR,
        ),
        section(
            "Beowulf, IBM Deskstar 8",
            "beowulf-ibm.toml",
            "`machines/beowulf-ibm.toml`, after the same source. MB/s.",
            IBM,
        ),
    ]
}

fn section(
    title: &'static str,
    machine: &'static str,
    text: &'static str,
    lines: &[Line],
) -> Section {
    let row = |&(disks, read, written, remark): &Line| {
        let figure = |published, direction| Figure {
            published,
            setup: Some(Setup {
                direction,
                ..Setup::writing(disks)
            }),
        };
        Row {
            what: disks.join(" "),
            figures: vec![
                figure(read, Direction::Read),
                figure(written, Direction::Write),
            ],
            explained: true,
            remark,
        }
    };
    Section {
        title,
        machine,
        text,
        columns: &["read: ", "written: "],
        rows: lines.iter().map(row).collect(),
    }
}
