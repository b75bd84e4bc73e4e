//! Makes the text of a box in the machine's tree: the walls that are there, and the rates that its
//! hops can carry. [`super::machine`] draws it.

use sustain_document::chain::TopologyHop;
use sustain_document::diagnose::Wall;

use super::super::chart::svg::cut;
use super::facts::{DiagnosisPicture, ratio};
use super::tree::Branch;
use crate::format::{percent, rate};

/// The characters that a line of a box holds.
const CHARACTERS_MAX: usize = 36;
/// The number of hops without a wall whose rate a box shows.
const RATES_SHOWN: usize = 2;

/// A line of a box.
pub(super) struct BoxLine {
    pub(super) words: String,
    pub(super) class: &'static str,
    /// The words in full.
    pub(super) title: String,
    /// The wall whose colour is behind it.
    pub(super) wall: Option<usize>,
}

/// The places of the walls in the tree.
pub(super) struct WallsAtHops {
    /// The walls that are at a hop, with its id.
    at: Vec<(String, usize)>,
    /// The walls that no box of the tree explains.
    pub(super) unexplained: Vec<usize>,
}

impl WallsAtHops {
    pub(super) fn new(facts: &DiagnosisPicture<'_>, root: &Branch<'_>) -> WallsAtHops {
        let (mut at, mut unexplained) = (Vec::new(), Vec::new());
        for (index, wall) in facts.walls.iter().enumerate() {
            match &wall.wall.hop {
                Some(hop) if is_in_a_box(root, &hop.id) => at.push((hop.id.clone(), index)),
                _ => unexplained.push(index),
            }
        }
        WallsAtHops { at, unexplained }
    }

    fn at_hop<'a>(&'a self, hop: &'a TopologyHop) -> impl Iterator<Item = usize> + 'a {
        let own = self.at.iter().filter(|(id, _)| *id == hop.id);
        own.map(|(_, wall)| *wall)
    }

    /// The wall at this branch that is nearest to the disks.
    pub(super) fn nearest(&self, branch: &Branch<'_>) -> Option<usize> {
        branch.hops.iter().flat_map(|hop| self.at_hop(hop)).last()
    }
}

fn is_in_a_box(branch: &Branch<'_>, id: &str) -> bool {
    let own = branch.disk.is_none() && branch.hops.iter().any(|hop| hop.id == id);
    own || branch.below.iter().any(|below| is_in_a_box(below, id))
}

/// The lines of a branch's box: its walls, then the slowest of its other hops.
pub(super) fn lines(
    facts: &DiagnosisPicture<'_>,
    walls: &WallsAtHops,
    branch: &Branch<'_>,
    is_root: bool,
) -> Vec<BoxLine> {
    let mut lines = Vec::new();
    let mut others: Vec<&TopologyHop> = Vec::new();
    for hop in &branch.hops {
        let mut has_wall = false;
        for wall in walls.at_hop(hop) {
            if !has_wall {
                lines.push(plain(&hop.name, "hopname"));
            }
            has_wall = true;
            lines.extend(wall_lines(wall, facts.walls[wall].wall, hop));
        }
        if !has_wall {
            others.push(hop);
        }
    }
    let mut known: Vec<(&TopologyHop, f64)> = others
        .iter()
        .filter_map(|hop| Some((*hop, hop.rate_bytes_per_s?)))
        .collect();
    known.sort_by(|one, other| one.1.total_cmp(&other.1));
    for (hop, carries) in known.iter().take(RATES_SHOWN) {
        let carries = format!("can carry {}", rate(*carries));
        lines.push(plain(&hop.name, "hopname"));
        lines.push(plain(&carries, "soft"));
    }
    if lines.is_empty() {
        lines.push(unnamed(branch, is_root));
    }
    lines
}

fn wall_lines(index: usize, wall: &Wall, hop: &TopologyHop) -> [BoxLine; 2] {
    let limit = rate(wall.limit_bytes_per_s);
    let open = if wall.is_likely() { "" } else { "?" };
    let words = format!("Wall {}{open}: {limit}", index + 1);
    let compared = match (wall.at_full_load_bytes_per_s, hop.rate_bytes_per_s) {
        (Some(left), _) if wall.falls_at_full_load() => {
            format!("falls to {} with all active", rate(left))
        }
        (Some(left), _) => format!("{} with all active, less with fewer", rate(left)),
        (None, Some(carries)) => format!(
            "{} of the {} it can carry",
            ratio(wall.limit_bytes_per_s, carries).map_or_else(|| "?".to_owned(), percent),
            rate(carries)
        ),
        (None, None) => "the rate it can carry is not known".to_owned(),
    };
    let chip = BoxLine {
        wall: Some(index),
        ..plain(&words, "on")
    };
    [chip, plain(&compared, "soft")]
}

/// The text of a box without a known rate: its hop nearest to the disks, where the paths part.
fn unnamed(branch: &Branch<'_>, is_root: bool) -> BoxLine {
    match branch.hops.last() {
        _ if is_root => plain("the whole machine", "hopname"),
        Some(hop) => plain(&hop.name, "hopname"),
        None => plain("what is in between is not known", "soft"),
    }
}

fn plain(words: &str, class: &'static str) -> BoxLine {
    BoxLine {
        words: cut(words, CHARACTERS_MAX, CHARACTERS_MAX / 2),
        class,
        title: words.to_owned(),
        wall: None,
    }
}
