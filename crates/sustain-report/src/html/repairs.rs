//! Draws what `repair` has rebuilt: the answer, its figures, and how the new member came to what it
//! has. The page of repairs has a section of each.

use sustain_document::repair::{RepairDocument, RepairedAppends};

use super::bars::{Bar, BarChart};
use super::escape;
use super::page::Sectioned;
use super::section::notes;
use super::table::Table;
use super::tiles::{self, Standing, Tiles};
use crate::ReportError;
use crate::format::{position, rate, stretch};

impl Sectioned for RepairDocument {
    const PLURAL: &'static str = "repairs";

    fn title(&self) -> String {
        name(self)
    }

    fn version(&self) -> &str {
        // Whoever draws it: the result does not tell who made it.
        env!("CARGO_PKG_VERSION")
    }

    fn overview(results: &[RepairDocument]) -> String {
        overview(results)
    }

    fn section(&self, index: usize) -> Result<String, ReportError> {
        Ok(format!(
            "<section>\n<h1>{}</h1>\n{}{}{}{}</section>\n",
            escape::text(&name(self)),
            tiles::answer(standing(self), &sentence(self), &tiles(self)),
            whence(self, format!("repair-{index}")).markup(),
            notes(&self.notes),
            identities(self),
        ))
    }
}

/// The colour of what is lost.
const LOST: &str = "lost";

/// The title: `Member 2 rebuilt onto /dev/sdc`.
fn name(result: &RepairDocument) -> String {
    let member = &result.member;
    match result.copies {
        None => format!("Member {} rebuilt onto {}", member.number, member.name),
        Some(_) => format!("Member {} retired, and copied to the others", member.number),
    }
}

fn overview(results: &[RepairDocument]) -> String {
    let mut table = Table::new(
        "All repairs",
        &["repair", "data", "parity", "lost", "length"],
    );
    for (index, result) in results.iter().enumerate() {
        table.row(vec![
            format!("{}. {}", index + 1, name(result)),
            position(result.data.bytes),
            position(result.parity.bytes),
            position(missing_bytes(result)),
            stretch(result.elapsed_s),
        ]);
    }
    let heading = format!("{} repairs", results.len());
    format!(
        "<section>\n<h1>{heading}</h1>\n{}</section>\n",
        table.markup()
    )
}

/// What could not be rebuilt: bytes of streams if they are known, else those of appends.
fn missing_bytes(result: &RepairDocument) -> u64 {
    result.missing_bytes.unwrap_or(0).max(result.lost.bytes)
}

fn standing(result: &RepairDocument) -> Standing {
    if missing_bytes(result) > 0 {
        return Standing::Bad;
    }
    match result.unprotected_groups > 0 || !result.still_missing.is_empty() {
        true => Standing::Open,
        false => Standing::Plain,
    }
}

fn sentence(result: &RepairDocument) -> String {
    let rebuilt = match (missing_bytes(result), result.copies) {
        (0, None) => "All that parity protects of it was rebuilt.",
        (_, None) => "Not all of it could be rebuilt.",
        (0, Some(_)) => "All that parity protects of it is on the other members as well.",
        (_, Some(_)) => "Not all of it could be computed.",
    };
    let groups = match result.unprotected_groups {
        1 => "1 group".to_owned(),
        count => format!("{count} groups"),
    };
    let less = match result.unprotected_groups {
        0 => String::new(),
        _ => format!(
            " Of {groups} of appends some parity found no place: nothing of that is lost, but the \
             next loss of a member may take some of it."
        ),
    };
    let missing = match result.still_missing.len() {
        0 => String::new(),
        1 => " One member is missing still: repair it onto another new member.".to_owned(),
        count => {
            format!(" {count} members are missing still: repair them onto other new members.")
        }
    };
    format!("{rebuilt}{less}{missing}")
}

fn tiles(result: &RepairDocument) -> Tiles {
    let mut tiles = Tiles::default();
    tiles.add(&position(result.data.bytes), "of data are on it");
    tiles.add(&position(result.parity.bytes), "of parity were made again");
    tiles.add(&stretch(result.elapsed_s), "was how long it took");
    // Where some of it was there already, less was written.
    if result.elapsed_s > 0.0 && result.kept_bytes == 0 {
        let written_bytes = result.data.bytes + result.parity.bytes;
        let bytes_per_s = written_bytes as f64 / result.elapsed_s;
        tiles.add(&rate(bytes_per_s), "was the rate of both");
    }
    if result.lost.bytes > 0 {
        let words = "on it are lost, some perhaps only in part: more of their groups is missing \
                     than parity replaces";
        tiles.stand(Standing::Bad, &position(result.lost.bytes), words);
    }
    if let Some(bytes) = result.missing_bytes.filter(|bytes| *bytes > 0) {
        let words = "of recordings are on no member";
        tiles.stand(Standing::Bad, &position(bytes), words);
    }
    tiles
}

/// What the new member has, and what it should have and has not.
fn whence(result: &RepairDocument, id: String) -> BarChart {
    let of = |name: &str, appends: RepairedAppends, ink: &str| Bar {
        name: name.to_owned(),
        title: name.to_owned(),
        is_alarming: ink == LOST,
        whole: None,
        part: appends.bytes as f64,
        ink: ink.to_owned(),
        fair: None,
        words: format!("{} in {}", position(appends.bytes), count(appends.appends)),
    };
    let mut bars = vec![
        of("data", result.data, "w0"),
        of("parity", result.parity, "w2"),
    ];
    if result.lost.appends > 0 {
        bars.push(of("lost", result.lost, LOST));
    }
    BarChart {
        id,
        heading: "What is on the new member".to_owned(),
        caption: "Data was computed from what the other members have of its group, or was there \
                  already. Parity was computed from the data of its group."
            .to_owned(),
        bars,
        most: None,
    }
}

fn count(appends: u64) -> String {
    match appends {
        1 => "1 append".to_owned(),
        appends => format!("{appends} appends"),
    }
}

fn identities(result: &RepairDocument) -> String {
    let mut table = Table::new("What it belongs to", &[]);
    table.pair("store", result.store.clone());
    table.pair("member", result.member.uuid.clone());
    if result.kept_bytes > 0 {
        table.pair(
            "stayed as it was",
            format!(
                "{} in slots that were whole there already",
                position(result.kept_bytes)
            ),
        );
    }
    for missing in &result.still_missing {
        let which = format!("member {}, {}", missing.number, missing.uuid);
        table.pair("missing still", which);
    }
    table.markup()
}
