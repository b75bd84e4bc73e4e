//! Draws a profile: rate against position, each target alone and all at once. Samples are dots,
//! zones are steps, places that differ from their zone are marked, and the part where a shared
//! limit binds is shaded. The section of a profile calls it.

use sustain_document::profile::{OutlierKind, ProfileResult, ProfileTarget, ProfileTogether};
use sustain_document::vocabulary::Direction;

use super::super::chart::{Arrangement, Figure, Key, NEUTRAL, Panel, Quantity, Scale};

const HEIGHT_PX: usize = 420;
/// With more targets than this the dots would hide each other.
const DOTTED_MAX: usize = 6;

/// The scale of positions: bytes for one target, a part of each for several.
#[derive(Clone, Copy)]
enum PositionScale {
    Bytes,
    Parts,
}

impl PositionScale {
    fn of(self, byte: u64, target: &ProfileTarget) -> f64 {
        match self {
            PositionScale::Bytes => byte as f64,
            PositionScale::Parts => byte as f64 / target.size_bytes.max(1) as f64,
        }
    }
}

/// The chart of this direction.
pub(super) fn curve_chart(result: &ProfileResult, direction: Direction, id: String) -> Figure {
    let targets = result.targets.iter();
    let targets: Vec<&ProfileTarget> = targets
        .filter(|target| target.direction == direction)
        .collect();
    let mut together = result.together.iter();
    let together = together.find(|one| one.direction == direction);
    let (positions, across, where_words) = match targets.as_slice() {
        [only] => {
            let across = Scale::between(Quantity::Data, 0.0, only.size_bytes as f64);
            let words = "Rate, by position from the start of the target";
            (PositionScale::Bytes, across, words)
        }
        _ => {
            let words = "Rate, by position as a part of each target";
            (PositionScale::Parts, Scale::parts(), words)
        }
    };
    let up = Scale::from_zero(Quantity::Rate, most(&targets, together) * 1.02);
    let mut panel = Panel::new(where_words, HEIGHT_PX, &across, up);
    if let Some(limit) = together.and_then(|one| one.shared_limit.as_ref()) {
        panel.period("shared", 0.0, limit.binds_until.unwrap_or(1.0));
    }
    let mut keys = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        let key = Key::new(index, &target.name);
        curve(
            &mut panel,
            target,
            &key,
            positions,
            targets.len() <= DOTTED_MAX,
        );
        keys.push(key);
    }
    for target in &targets {
        marks(&mut panel, target, positions);
    }
    if let Some(together) = together {
        keys.push(sums(&mut panel, together, keys.len()));
    }
    Figure {
        id,
        heading: match direction {
            Direction::Read => "Read rate by position".to_owned(),
            Direction::Write => "Write rate by position".to_owned(),
        },
        caption: caption(together),
        keys,
        panels: vec![panel],
        arrangement: Arrangement::Stacked,
    }
}

fn caption(together: Option<&ProfileTogether>) -> String {
    let mut words = String::from(
        "Dots: samples, without visits that were disturbed. Steps: the zones fitted to them. \
         Red crosses: places that differ from their zone. Grey crosses: places that were slow in \
         some visits only, or no more often than chance explains.",
    );
    if together.is_some() {
        words.push_str(
            " Grey: the sum of the rates of all targets, measured at once (dots, and a line \
             through their middle) and each alone (dashed). Shaded: where a limit that they share \
             binds.",
        );
    }
    words
}

fn most(targets: &[&ProfileTarget], together: Option<&ProfileTogether>) -> f64 {
    let points = targets.iter().flat_map(|target| &target.points);
    let alone = points.filter_map(|point| point.rate_bytes_per_s);
    let sums = together.into_iter().flat_map(|one| &one.points);
    let sums = sums.flat_map(|point| {
        let seen = point.sums_bytes_per_s.iter().copied();
        seen.chain(point.alone_bytes_per_s)
    });
    alone.chain(sums).fold(1.0, f64::max)
}

/// The samples as dots, if they are wanted, and the zones as a line of steps.
fn curve(
    panel: &mut Panel,
    target: &ProfileTarget,
    key: &Key,
    positions: PositionScale,
    is_dotted: bool,
) {
    let zones = target.zones.iter().flat_map(|zone| {
        let place = |byte: u64| (positions.of(byte, target), zone.rate_bytes_per_s);
        [place(zone.from_byte), place(zone.to_byte)]
    });
    let name = format!("{}, zones", key.name);
    panel.line(key, &name, "bold", &zones.collect::<Vec<_>>());
    if is_dotted {
        let regular = target.points.iter().filter(|point| point.flag.is_none());
        let dots = regular.filter_map(|point| {
            let place = positions.of(point.offset_bytes, target);
            Some((place, point.rate_bytes_per_s?))
        });
        panel.dots(key, &key.name, &dots.collect::<Vec<_>>());
    }
}

/// The places that differ from their zone.
fn marks(panel: &mut Panel, target: &ProfileTarget, positions: PositionScale) {
    for outlier in &target.outliers {
        let middle = outlier.from_byte.midpoint(outlier.to_byte);
        let found = outlier.rate_bytes_per_s.unwrap_or(0.0);
        let class = match outlier.kind {
            OutlierKind::Disturbance | OutlierKind::Uncertain => "cross passing",
            _ => "cross",
        };
        let words = format!("{}: {}", target.name, outlier.words);
        panel.event(class, (positions.of(middle, target), found), &words);
    }
}

/// The rates of all at once, and the sum of their rates alone.
fn sums(panel: &mut Panel, together: &ProfileTogether, number: usize) -> Key {
    let key = Key::coloured(number, "all at once", NEUTRAL);
    let points = together.points.iter();
    let alone = points.filter_map(|point| Some((point.position, point.alone_bytes_per_s?)));
    panel.line(
        &key,
        "sum of each alone",
        "dashed",
        &alone.collect::<Vec<_>>(),
    );
    // Visits of one place may differ much, so that the line goes through their middle.
    let points = together.points.iter();
    let middle = points.map(|point| (point.position, point.rates_bytes_per_s.iter().sum()));
    panel.line(&key, "all at once", "thin", &middle.collect::<Vec<_>>());
    let visits = together.points.iter().flat_map(|point| {
        let sums = point.sums_bytes_per_s.iter();
        sums.map(|sum| (point.position, *sum))
    });
    panel.dots(&key, "all at once, each visit", &visits.collect::<Vec<_>>());
    key
}
