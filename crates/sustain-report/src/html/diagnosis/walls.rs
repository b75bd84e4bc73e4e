//! Draws each wall as a card: which disks share it and the rate that each gets, its limit and
//! place, how certain that is, and the test of its prediction. The section of a diagnosis calls it;
//! it judges nothing.

use sustain_document::diagnose::{Prediction, Wall, WallKind, WallState};

use super::super::bars::{Bar, BarChart};
use super::super::chart::svg::Svg;
use super::super::escape;
use super::super::table::{Table, glued};
use super::facts::{DiagnosisPicture, DrawnWall, off_by};
use crate::format::{confidence, percent, rate, rates_of_each};
use crate::terminal::diagnosis::revolutions::revolution_words;
use crate::terminal::diagnosis::{collapse_words, margin};

const WIDTH: f64 = 560.0;
const STRIP_HEIGHT: f64 = 56.0;
/// The largest width of a bar, which otherwise would look like a block.
const STRIP_BAR_MAX: f64 = 44.0;

/// The cards with their heading; without a wall, the certainty that there is none.
pub(super) fn walls(facts: &DiagnosisPicture<'_>) -> String {
    if facts.walls.is_empty() {
        return no_wall(facts);
    }
    let walls = facts.walls.iter().enumerate();
    let cards: String = walls
        .map(|(index, wall)| card(facts, index, wall))
        .collect();
    format!(
        "<h2>Walls: limits that several disks share</h2>\n<div class=\"walls\">\n{cards}</div>\n"
    )
}

fn no_wall(facts: &DiagnosisPicture<'_>) -> String {
    if let Some(loss) = &facts.result.unexplained {
        let words = format!(
            "A wall is a limit that several disks share. None was found that explains what is \
             lost: {} should reach {}, but reach {}. So the answer is not complete.",
            loss.who(),
            rate(loss.expected_bytes_per_s),
            rate(loss.measured_bytes_per_s)
        );
        return format!("<h2>Walls</h2>\n<p>{}</p>\n", escape::text(&glued(&words)));
    }
    let Some(none) = &facts.result.no_wall else {
        return String::new();
    };
    let words = format!(
        "A wall is a limit that several disks share. None was found below {} of the sum of \
         their rates alone. Noise could hide a loss of at most {}.",
        percent(none.none_below_share),
        rate(none.largest_hidden_loss_bytes_per_s)
    );
    format!("<h2>Walls</h2>\n<p>{}</p>\n", escape::text(&glued(&words)))
}

fn card(facts: &DiagnosisPicture<'_>, index: usize, drawn: &DrawnWall<'_>) -> String {
    let wall = drawn.wall;
    let members = facts.list(&wall.members);
    let heading = format!(
        "Wall {}{}: {} shared by {} of {} targets",
        index + 1,
        facts.doubt(index),
        rate(wall.limit_bytes_per_s),
        wall.members.len(),
        facts.disks.len()
    );
    let mut table = Table::new("The wall", &[]);
    table.pair("shared by", members);
    table.pair("limit", limit(wall));
    table.pair("kind", kind(wall));
    table.pair("place", place(wall));
    table.pair("certainty", certainty(wall));
    if let Some(weakest) = weakest(facts, wall) {
        table.pair("weakest evidence", weakest);
    }
    if let Some(words) = shares(facts, wall) {
        table.pair("shares", words);
    }
    let prediction = wall.prediction.as_ref();
    format!(
        "<div class=\"wall {}\"><h3>{}</h3>\n{}{}{}</div>\n",
        facts.ink(index),
        escape::text(&glued(&heading)),
        strip(facts, index, drawn),
        table.markup(),
        prediction.map_or_else(String::new, |prediction| tried(facts, prediction, index)),
    )
}

fn limit(wall: &Wall) -> String {
    let mut words = format!(
        "{} ± {}",
        rate(wall.limit_bytes_per_s),
        rate(wall.deviation_bytes_per_s)
    );
    let more = percent(wall.headroom);
    words.push_str(&format!(
        "; without it, its members would reach {more} more"
    ));
    words
}

fn kind(wall: &Wall) -> String {
    let mut words = match wall.kind {
        WallKind::Collapse => format!("collapse: {}", collapse_words(wall)),
        WallKind::Tool => "tool: this program or the machine's CPUs, not the disks".to_owned(),
        WallKind::Limit => "limit: the sum stays the same when more disks are active".to_owned(),
    };
    if let Some(missed) = revolution_words(wall) {
        words.push_str(&format!("; {missed}"));
    }
    words
}

fn place(wall: &Wall) -> String {
    match (&wall.explained_by, &wall.not_explained) {
        (Some(text), _) => text.clone(),
        (None, Some(why)) => format!("no known part of the machine explains it: {why}"),
        (None, None) => "no known part of the machine explains it".to_owned(),
    }
}

fn certainty(wall: &Wall) -> String {
    let state = match wall.state {
        WallState::Confirmed if !wall.is_likely() => "not certain",
        WallState::Confirmed => "the readings agree on it",
        WallState::MembersUncertain => "which targets share it is not certain",
        WallState::CapacityIsLowerBound => "the true limit may be higher",
        WallState::Crossing => "some of its targets share another wall too",
    };
    format!("{state}; confidence {}", confidence(wall.confidence))
}

fn weakest(facts: &DiagnosisPicture<'_>, wall: &Wall) -> Option<String> {
    let weakest = wall.weakest.as_ref()?;
    let about = weakest.target.as_ref().map_or_else(
        || "that there is a wall".to_owned(),
        |target| {
            let shares = if wall.members.contains(target) {
                "shares it"
            } else {
                "does not share it"
            };
            format!("that {} {shares}", facts.label(target))
        },
    );
    let subset = if weakest.members.len() == facts.disks.len() {
        "all targets".to_owned()
    } else {
        facts.list(&weakest.members)
    };
    Some(format!(
        "{about}: with {subset} active, the reading was {} from what the other answer predicts",
        margin(weakest.margin_sd)
    ))
}

fn shares(facts: &DiagnosisPicture<'_>, wall: &Wall) -> Option<String> {
    let rates = wall.shares.iter().map(|share| share.rate_bytes_per_s);
    let mut words = rates_of_each(rates)?;
    words.push_str(match wall.shares_repeat {
        Some(true) => ", the same in each reading",
        Some(false) => ", different in each reading",
        None => "",
    });
    let below: Vec<String> = wall
        .shares
        .iter()
        .filter(|share| share.below_fair)
        .map(|share| share.target.clone())
        .collect();
    if !below.is_empty() {
        let below = facts.list(&below);
        words.push_str(&format!("; less than an even share: {below}"));
    }
    Some(words)
}

/// All disks in the order in which they are connected; those that share the wall with their rates.
fn strip(facts: &DiagnosisPicture<'_>, index: usize, drawn: &DrawnWall<'_>) -> String {
    let step = (WIDTH / facts.disks.len().max(1) as f64).min(STRIP_BAR_MAX);
    let thick = step * 0.8;
    let shares = &drawn.wall.shares;
    let most = shares.iter().fold(1.0, |most: f64, share| {
        most.max(share.rate_bytes_per_s).max(share.fair_bytes_per_s)
    });
    let scale = STRIP_HEIGHT / most;
    let mut svg = Svg::new(WIDTH, STRIP_HEIGHT + 10.0);
    for (place, disk) in facts.disks.iter().enumerate() {
        let x = place as f64 * step;
        if !drawn.members.contains(&place) {
            let title = format!("{}: does not share it", disk.name);
            svg.rect((x, STRIP_HEIGHT + 3.0), (thick, 4.0), "outside", &title);
            continue;
        }
        let share = shares.iter().find(|share| share.target == disk.name);
        let words = share.map_or_else(
            || "shares it".to_owned(),
            |share| {
                let got = rate(share.rate_bytes_per_s);
                format!(
                    "gets {got}; an even share is {}",
                    rate(share.fair_bytes_per_s)
                )
            },
        );
        let title = format!("{}: {words}", disk.name);
        let class = facts.ink(index);
        svg.rect((x, STRIP_HEIGHT + 2.0), (thick, 6.0), &class, &title);
        if let Some(share) = share {
            let height = share.rate_bytes_per_s * scale;
            let below = if share.below_fair { " below" } else { "" };
            let class = format!("{class}{below}");
            svg.rect((x, STRIP_HEIGHT - height), (thick, height), &class, &title);
            let y = STRIP_HEIGHT - share.fair_bytes_per_s * scale;
            svg.line(&[(x - 1.0, y), (x + thick + 1.0, y)], "fair", "");
        }
    }
    let words = format!(
        "shared by {} of {} targets",
        drawn.members.len(),
        facts.disks.len()
    );
    format!(
        "{}<p class=\"tried\">{}</p>\n",
        svg.markup(&format!(
            "The rate that each disk gets of wall {}",
            index + 1
        )),
        escape::text(&words)
    )
}

/// The prediction beside the measured rate.
fn tried(facts: &DiagnosisPicture<'_>, prediction: &Prediction, index: usize) -> String {
    let (predicted, measured) = (
        prediction.predicted_bytes_per_s,
        prediction.measured_bytes_per_s,
    );
    let words = format!(
        "Test: predicted for {}, then measured; they differ by {}",
        facts.list(&prediction.members),
        off_by(measured, predicted)
    );
    let bars = [
        ("predicted", predicted, "alone".to_owned()),
        ("measured", measured, facts.ink(index)),
    ];
    format!(
        "<p class=\"tried\">{}</p>\n{}",
        escape::text(&glued(&words)),
        rate_bars(&bars, measured.max(predicted))
    )
}

/// Bars of rates under each other, given by name, rate and class; the longest possible one has the
/// rate `most`.
pub(super) fn rate_bars(bars: &[(&str, f64, String)], most: f64) -> String {
    let bars = bars.iter().map(|(name, value, ink)| Bar {
        name: (*name).to_owned(),
        title: String::new(),
        is_alarming: false,
        whole: None,
        part: *value,
        ink: ink.clone(),
        fair: None,
        words: rate(*value),
    });
    BarChart::plain(bars.collect(), Some(most)).markup()
}
