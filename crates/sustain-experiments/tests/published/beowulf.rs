//! The tables of "Beowulf Bulk Data Server - Disk Test Results" (1998): three models of disk on two
//! controllers, alone and together, read and written.

use sustain_disk::target::Direction;

use super::rows::{Figure, Kind, Row, Section, Setup};

/// Disks, MB/s read, MB/s written, remark.
type Line = (
    &'static [&'static str],
    (&'static str, Kind),
    (&'static str, Kind),
    &'static str,
);

const IN: Kind = Kind::Input;
const OUT: Kind = Kind::Predicted;

const QUANTUM: &[Line] = &[
    (&["hda"], ("11.220", OUT), ("9.723", IN), ""),
    (&["hdb"], ("11.226", IN), ("9.723", IN), ""),
    (
        &["hda", "hdb"],
        ("11.193", OUT),
        ("9.607", OUT),
        "slightly below one disk: to change from disk to disk costs a little, which no key \
         describes",
    ),
    (&["hda", "hdc"], ("12.098", IN), ("10.750", OUT), ""),
    (
        &["hda", "hdb", "hdc", "hdd"],
        ("12.098", IN),
        ("10.799", IN),
        "",
    ),
    (&["hde"], ("11.269", IN), ("11.268", IN), ""),
    (&["hde", "hdg"], ("22.512", OUT), ("22.497", OUT), ""),
    (
        &["hdc", "hde", "hdg"],
        ("32.884", IN),
        ("30.540", IN),
        "less than the sum, so `host` is a third wall",
    ),
];

const MAXTOR: &[Line] = &[
    (&["hda"], ("11.307", IN), ("7.111", IN), ""),
    (&["hdb"], ("11.306", IN), ("7.198", IN), ""),
    (
        &["hda", "hdb"],
        ("11.197", OUT),
        ("7.397", IN),
        "written slightly faster than by either: the channel's rate is this row's",
    ),
    (&["hda", "hdc"], ("11.937", OUT), ("10.801", IN), ""),
    (
        &["hda", "hdb", "hdc", "hdd"],
        ("11.939", IN),
        ("10.785", OUT),
        "",
    ),
    (
        &["hde"],
        (
            "11.292",
            Kind::Derived("the key is half of the next row", "11.3"),
        ),
        ("7.443", IN),
        "",
    ),
    (
        &["hde", "hdg"],
        (
            "22.599",
            Kind::Derived("half of it is the rate of hde and of hdg", "11.3"),
        ),
        (
            "14.656",
            Kind::Derived("less hde it is the rate of hdg", "7.213"),
        ),
        "",
    ),
    (
        &["hdc", "hde", "hdg"],
        ("32.830", IN),
        ("21.327", OUT),
        "hdc alone was not published: as hda",
    ),
];

const IBM: &[Line] = &[
    (&["hda"], ("9.732", IN), ("7.145", IN), ""),
    (
        &["hdb"],
        ("9.740", IN),
        ("9.124", IN),
        "why hda writes slower than hdb, of one model, is not known",
    ),
    (
        &["hda", "hdb"],
        ("9.724", OUT),
        ("9.984", IN),
        "written faster than by either: the channel carries more than one of its disks writes; \
         the channel's rate is this row's",
    ),
    (&["hda", "hdc"], ("12.070", OUT), ("10.735", OUT), ""),
    (
        &["hda", "hdb", "hdc", "hdd"],
        ("12.071", IN),
        ("10.787", IN),
        "",
    ),
    (&["hde"], ("9.756", IN), ("9.609", IN), ""),
    (
        &["hde", "hdg"],
        (
            "19.493",
            Kind::Derived("less hde it is the rate of hdg", "9.737"),
        ),
        (
            "19.161",
            Kind::Derived("less hde it is the rate of hdg", "9.552"),
        ),
        "",
    ),
    (
        &["hdc", "hde", "hdg"],
        ("28.902", OUT),
        ("28.129", OUT),
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
        let figure = |(published, kind), direction| Figure {
            published,
            kind,
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
