//! What follows from a profile, in plain words: figures first, then what to do. Pure; the conclusion
//! calls it. The document keeps these words, so that every face says the same.

use sustain_disk::units::{Position, Rate};

use super::fit::{Fit, Flag};
use super::noise::median;
use super::result::{ProfileOutlier, ProfileTarget};
use super::shape::Shape;
use super::together::{Kind, Shared, Spot};

/// A loss for which other ways of using the targets are worth a word.
const MUCH: f64 = 0.02;

/// Where only a larger effect would have been seen, flat is too strong a word.
const POOR: f64 = 0.15;

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

fn of_flat(target: &ProfileTarget, all: &str, mean: f64) -> String {
    let (mean, resolution) = (Rate(mean), percent(target.resolution));
    if target.resolution > POOR {
        return format!(
            "{all} about {mean}; the samples scatter so much ({}) that an effect of the position \
             below {resolution} would not show: a longer --budget tells more",
            percent(target.noise)
        );
    }
    format!("{mean} everywhere: no effect of the position within {resolution}")
}

/// Of one target alone, the answer first.
pub(super) fn of_target(target: &ProfileTarget, shape: Shape, is_pausing: bool) -> Vec<String> {
    let figures = (
        target.mean_rate_bytes_per_s,
        target.outer_rate_bytes_per_s,
        target.inner_rate_bytes_per_s,
        target.zones.last(),
    );
    let (Some(mean), Some(outer), Some(inner), Some(last)) = figures else {
        let why = target.errors.first().cloned();
        let why = why.unwrap_or_else(|| "it ended before".to_owned());
        return vec![format!("nothing was measured: {why}")];
    };
    let all = if target.direction == "write" {
        "a full recording gets"
    } else {
        "reading all of it gets"
    };
    let mut words = Vec::new();
    match shape {
        Shape::Flat => words.push(of_flat(target, all, mean)),
        Shape::Unknown => words.push(format!(
            "{all} about {}; too few places were measured to say more",
            Rate(mean)
        )),
        Shape::Zones | Shape::Smooth => {
            words.push(format!(
                "{all} {} on average; {} can be promised at every place",
                Rate(mean),
                Rate(inner)
            ));
            let how = match shape {
                Shape::Zones => format!("in {} zones", target.zones.len()),
                _ => "smoothly, without zones that these samples could show".to_owned(),
            };
            let end = last.rate_bytes_per_s;
            let change = (end / outer - 1.0).abs();
            let verb = if end < outer { "falls" } else { "rises" };
            words.push(format!(
                "it {verb} {how} from {} at its start to {} at its end, {} {}",
                Rate(outer),
                Rate(end),
                percent(change),
                if end < outer { "less" } else { "more" }
            ));
            if inner < end * (1.0 - MUCH) {
                let slowest = target
                    .zones
                    .iter()
                    .min_by(|one, other| one.rate_bytes_per_s.total_cmp(&other.rate_bytes_per_s));
                if let Some(zone) = slowest {
                    words.push(format!(
                        "the slowest zone is not the last one: {} from {} to {}",
                        Rate(inner),
                        Position(zone.from_byte),
                        Position(zone.to_byte)
                    ));
                }
            }
        }
    }
    let is_disturbance = |outlier: &ProfileOutlier| outlier.kind == Flag::Disturbance.name();
    if is_pausing {
        words.push(of_pauses(target));
    }
    let told = target
        .outliers
        .iter()
        .filter(|outlier| !is_pausing || !is_disturbance(outlier));
    words.extend(told.map(|outlier| outlier.words.clone()));
    words
}

fn of_pauses(target: &ProfileTarget) -> String {
    let disturbed = target
        .points
        .iter()
        .filter(|point| point.flag.as_deref() == Some(Flag::Disturbance.name()))
        .count();
    format!(
        "{disturbed} of {} places were slow now and then: the disk pauses by itself, or something \
         else uses it, and bad spots cannot be told from that; repeat it on an idle disk",
        target.points.len()
    )
}

/// `is_pausing` if so many places were disturbed that it need not be the place.
pub(super) fn of_outlier(outlier: &ProfileOutlier, is_pausing: bool) -> String {
    let at = format!(
        "{} to {}",
        Position(outlier.from_byte),
        Position(outlier.to_byte)
    );
    let (rate, zone) = (outlier.rate_bytes_per_s, outlier.zone_rate_bytes_per_s);
    let (Some(rate), Some(zone)) = (rate, zone) else {
        return format!("{at}: requests failed there");
    };
    let figures = format!("{} where its zone has {}", Rate(rate), Rate(zone));
    match outlier.kind.as_str() {
        "missed_revolutions" => format!(
            "{at}: {figures}, one part in {:.0} whenever it was visited: revolutions are missed \
             there, as where sectors are read again",
            zone / rate
        ),
        "bad_spot" => format!(
            "{at}: {figures} whenever it was visited: a bad spot, with sectors read again or moved \
             elsewhere"
        ),
        "disturbance" if is_pausing => format!(
            "{at}: {figures}, as at many places now and then: a pause, or a bad spot, which cannot \
             be told"
        ),
        "disturbance" => format!(
            "{at}: {figures}, but not in its other visits: a passing disturbance, not the place"
        ),
        _ => format!("{at}: requests failed there; others gave {}", Rate(rate)),
    }
}

pub(super) fn of_drift(name: &str, drift: f64) -> String {
    let (how, change) = if drift > 1.0 {
        ("faster", drift - 1.0)
    } else {
        ("slower", 1.0 - drift)
    };
    let why = if drift > 1.0 {
        "a cache may hold what the first one read"
    } else {
        "something else may have used it, or it slowed down"
    };
    format!(
        "{name}: the second pass was {} {how} than the first: {why}",
        percent(change)
    )
}

fn how_it_collapses(shared: &Shared) -> String {
    let rising = "rising while each of them falls";
    match (shared.part, shared.is_erratic, shared.is_rising) {
        (Some(part), false, false) => format!(", one part in {part}"),
        (_, true, true) => format!(", erratic, and {rising}"),
        (_, true, false) => ", erratic".to_owned(),
        (_, false, true) => format!(", {rising}"),
        (None, false, false) => String::new(),
    }
}

/// Of all targets at once, the answer first. `best_alone` is the fastest target's rate alone.
pub(super) fn of_together(
    found: &Option<Option<Shared>>,
    fit: &Fit,
    spots: &[Spot],
    best_alone: f64,
) -> Vec<String> {
    let Some(mean) = fit.mean_rate() else {
        return vec!["all at once: nothing was measured".to_owned()];
    };
    let Some(found) = found else {
        return vec![format!(
            "all at once: about {}; too few positions were measured to say more",
            Rate(mean)
        )];
    };
    let Some(shared) = found else {
        return vec![format!(
            "all at once: {} on average, what they give alone, added up: they share no limit that \
             binds",
            Rate(mean)
        )];
    };
    let until = shared.until.unwrap_or(f64::INFINITY);
    let within = || spots.iter().filter(|spot| spot.position < until);
    let sum = median(within().map(|spot| median(spot.sums.clone())).collect());
    let alone = median(within().map(|spot| spot.alone).collect());
    let mut words = vec![format!(
        "all at once: {} on average{}",
        Rate(mean),
        match fit.slowest_zone() {
            Some(zone) => format!("; {} can be promised at every position", Rate(zone.rate)),
            None => String::new(),
        }
    )];
    words.push(match shared.kind {
        Kind::Limit => format!(
            "they share a limit of {}: the sum stays level there, where alone they give {} together",
            Rate(sum),
            Rate(alone)
        ),
        Kind::Collapse => format!(
            "at once they give {} where alone they give {} together{}: more than a limit, as where \
             disks that come late miss revolutions",
            Rate(sum),
            Rate(alone),
            how_it_collapses(shared)
        ),
    });
    words.push(match (shared.until, shared.rate) {
        (Some(until), Some(rate)) => format!(
            "from {} of the way on it no longer binds: there, at {} and below, the curve is smooth \
             and each gives what it gives alone",
            percent(until),
            Rate(rate)
        ),
        _ => "it binds to the end".to_owned(),
    });
    if sum < best_alone * (1.0 - MUCH) {
        words.push(format!(
            "one alone gives up to {}, more than all at once: fill them one after the other (a \
             span), or attach them apart",
            Rate(best_alone)
        ));
    }
    words
}
