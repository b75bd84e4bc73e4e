//! Draws the machine as a tree, the host at the left and the disks at the right: the rate that each
//! hop can carry, the walls in their places, and the walls that no hop explains as brackets around
//! the disks that share them. The section of a diagnosis calls it.

use super::super::chart::svg::{Svg, cut};
use super::super::escape;
use super::facts::DiagnosisPicture;
use super::hops::{BoxLine, WallsAtHops, lines};
use super::tree::{Branch, tree};
use crate::format::rate;

/// More disks than this have leaves of one short line.
const DISKS_LARGE_MAX: usize = 16;
const BOX_WIDTH: f64 = 240.0;
const BOX_GAP: f64 = 36.0;
const LINE_HEIGHT: f64 = 17.0;
const BOX_PADDING: f64 = 6.0;
/// The gap between the disks of one box and those of the next.
const GROUP_GAP: f64 = 7.0;
/// The width of a character in a disk's label, rather too large than too small.
const CHARACTER_WIDTH: f64 = 8.2;
/// The space for the frame of the first box.
const MARGIN: f64 = 3.0;
const BAR_WIDTH: f64 = 150.0;
/// The width of the words beside large leaves.
const WORDS_WIDTH: f64 = 160.0;
const BRACKET_WIDTH: f64 = 112.0;

/// The picture with its heading.
pub(super) fn machine(facts: &DiagnosisPicture<'_>) -> String {
    let root = tree(&facts.result.order.ways, facts.disks.len());
    let walls = WallsAtHops::new(facts, &root);
    let is_large = facts.disks.len() <= DISKS_LARGE_MAX;
    let mut placing = Placing {
        facts,
        walls: &walls,
        row_height: if is_large { 27.0 } else { 15.0 },
        cursor: 6.0,
        rows: vec![0.0; facts.disks.len()],
        depth_max: 0,
    };
    let placed = placing.place(&root, 0, None);
    let (rows, row_height) = (placing.rows, placing.row_height);
    let leaves_x = MARGIN + placing.depth_max as f64 * (BOX_WIDTH + BOX_GAP);
    let longest = facts
        .disks
        .iter()
        .map(|disk| disk.label.chars().count())
        .max();
    let label_width = longest.unwrap_or(0) as f64 * CHARACTER_WIDTH + 12.0;
    let words_width = if is_large { WORDS_WIDTH } else { 16.0 };
    let brackets_x = leaves_x + label_width + BAR_WIDTH + words_width;
    let lanes = lanes(facts, &walls.unexplained);
    let width = brackets_x + lanes.len() as f64 * BRACKET_WIDTH;
    let mut svg = Svg::new(width, placing.cursor + 6.0);
    let mut drawing = MachineDrawing {
        facts,
        svg: &mut svg,
        leaves_x,
        label_width,
        row_height,
        is_large,
    };
    drawing.branch(&placed);
    for (lane, walls) in lanes.iter().enumerate() {
        let x = brackets_x + lane as f64 * BRACKET_WIDTH;
        for wall in walls {
            drawing.bracket(*wall, x, &rows);
        }
    }
    format!(
        "<h2>The machine and its walls</h2>\n<figure><div class=\"scroll\">{}</div>\
         <figcaption>{}</figcaption></figure>\n",
        svg.markup("The machine as a tree, with the walls drawn on it"),
        escape::text(&caption(facts, &walls)),
    )
}

/// A branch with its place in the picture.
struct Placed<'a, 'b> {
    branch: &'b Branch<'a>,
    depth: usize,
    middle: f64,
    lines: Vec<BoxLine>,
    /// The nearest wall on the path to the host, this branch's own included.
    wall: Option<usize>,
    below: Vec<Placed<'a, 'b>>,
}

impl Placed<'_, '_> {
    fn box_height(&self) -> f64 {
        self.lines.len() as f64 * LINE_HEIGHT + 2.0 * BOX_PADDING
    }
}

struct Placing<'a, 'w> {
    facts: &'w DiagnosisPicture<'a>,
    walls: &'w WallsAtHops,
    row_height: f64,
    /// The top of the next box or leaf.
    cursor: f64,
    /// The middle of each disk's leaf.
    rows: Vec<f64>,
    depth_max: usize,
}

impl Placing<'_, '_> {
    fn place<'a, 'b>(
        &mut self,
        branch: &'b Branch<'a>,
        depth: usize,
        outer: Option<usize>,
    ) -> Placed<'a, 'b> {
        if let Some(disk) = branch.disk {
            let middle = self.cursor + self.row_height / 2.0;
            self.cursor += self.row_height;
            self.rows[disk] = middle;
            return Placed {
                branch,
                depth,
                middle,
                lines: Vec::new(),
                wall: outer,
                below: Vec::new(),
            };
        }
        self.depth_max = self.depth_max.max(depth + 1);
        let top = self.cursor;
        let wall = self.walls.nearest(branch).or(outer);
        let mut placed = Placed {
            branch,
            depth,
            middle: 0.0,
            lines: lines(self.facts, self.walls, branch, depth == 0),
            wall,
            below: Vec::new(),
        };
        let (height, rows) = (placed.box_height(), self.leaves_height(branch));
        // The leaves of a box that is higher than they are stand at its middle.
        self.cursor += ((height - rows) / 2.0).max(0.0);
        for below in &branch.below {
            placed.below.push(self.place(below, depth + 1, wall));
        }
        self.cursor = self.cursor.max(top + height) + GROUP_GAP;
        let ends = placed.below.first().zip(placed.below.last());
        let middle = ends.map_or(top, |(first, last)| (first.middle + last.middle) / 2.0);
        let lowest = (self.cursor - GROUP_GAP - height / 2.0).max(top + height / 2.0);
        placed.middle = middle.clamp(top + height / 2.0, lowest);
        placed
    }

    /// The height of the leaves of a branch that has only leaves; otherwise its boxes have heights
    /// of their own.
    fn leaves_height(&self, branch: &Branch<'_>) -> f64 {
        let only_leaves = branch.below.iter().all(|below| below.disk.is_some());
        if only_leaves {
            branch.below.len() as f64 * self.row_height
        } else {
            f64::INFINITY
        }
    }
}

struct MachineDrawing<'a, 'w> {
    facts: &'w DiagnosisPicture<'a>,
    svg: &'w mut Svg,
    leaves_x: f64,
    label_width: f64,
    row_height: f64,
    is_large: bool,
}

impl MachineDrawing<'_, '_> {
    fn branch(&mut self, placed: &Placed<'_, '_>) {
        if let Some(disk) = placed.branch.disk {
            self.leaf(placed, disk);
            return;
        }
        let x = MARGIN + placed.depth as f64 * (BOX_WIDTH + BOX_GAP);
        let right = x + BOX_WIDTH;
        for below in &placed.below {
            let end = if below.branch.disk.is_some() {
                self.leaves_x - 4.0
            } else {
                right + BOX_GAP
            };
            let bend = right + BOX_GAP / 2.0;
            let points = [
                (right, placed.middle),
                (bend, placed.middle),
                (bend, below.middle),
                (end, below.middle),
            ];
            self.svg
                .line(&points, &edge_class(self.facts, placed.wall), "");
        }
        self.draw_box(placed, x);
        for below in &placed.below {
            self.branch(below);
        }
    }

    fn draw_box(&mut self, placed: &Placed<'_, '_>, x: f64) {
        let top = placed.middle - placed.box_height() / 2.0;
        let title = all_hops(placed.branch);
        let size = (BOX_WIDTH, placed.box_height());
        let own = placed.lines.iter().filter_map(|line| line.wall).next_back();
        let class = own.map_or_else(
            || "hop".to_owned(),
            |wall| format!("hop walled {}", self.facts.ink(wall)),
        );
        self.svg.rect((x, top), size, &class, &title);
        for (index, line) in placed.lines.iter().enumerate() {
            let y = top + BOX_PADDING + index as f64 * LINE_HEIGHT;
            if let Some(wall) = line.wall {
                let class = format!("chip {}", self.facts.ink(wall));
                let size = (BOX_WIDTH - 8.0, LINE_HEIGHT - 1.0);
                self.svg.rect((x + 4.0, y), size, &class, &line.title);
            }
            let at = (x + 9.0, y + 12.5);
            self.svg
                .titled_text(at, line.class, &line.words, &line.title);
        }
    }

    fn leaf(&mut self, placed: &Placed<'_, '_>, place: usize) {
        let disk = &self.facts.disks[place];
        let x = self.leaves_x;
        let alone = disk.alone_bytes_per_s;
        let together = disk.together_bytes_per_s;
        let told = |rate_bytes_per_s: Option<f64>| {
            rate_bytes_per_s.map_or_else(|| "not measured".to_owned(), rate)
        };
        let mut title = format!(
            "{}: {} alone, {} with all disks active",
            disk.name,
            told(alone),
            told(together)
        );
        if !placed.branch.hops.is_empty() {
            title.push_str(&format!(
                "; no other disk passes {}",
                all_hops(placed.branch)
            ));
        }
        let class = if self.is_large { "disk" } else { "disk small" };
        let label_y = placed.middle + 4.5;
        self.svg
            .titled_text((x, label_y), class, &disk.label, &title);
        let scale = BAR_WIDTH / self.facts.most_bytes_per_s();
        let thick = (self.row_height * 0.62).min(14.0);
        let (left, top) = (x + self.label_width, placed.middle - thick / 2.0);
        let whole = alone.unwrap_or(0.0) * scale;
        self.svg.rect((left, top), (whole, thick), "alone", &title);
        let class = format!("got {}", self.facts.class(disk.limit));
        let got = together.unwrap_or(0.0) * scale;
        self.svg
            .rect((left, top + 2.0), (got, thick - 4.0), &class, &title);
        if self.is_large {
            let words = match (together, alone) {
                (Some(together), Some(alone)) => format!("{} of {}", rate(together), rate(alone)),
                (together, alone) => told(together.or(alone)),
            };
            let at = (left + whole.max(got) + 6.0, label_y);
            self.svg.text(at, "soft", &words);
        }
    }

    /// A bracket for a wall that no hop explains, around the disks that share it.
    fn bracket(&mut self, wall: usize, x: f64, rows: &[f64]) {
        let drawn = &self.facts.walls[wall];
        let members = drawn.members.iter().filter_map(|place| rows.get(*place));
        let (mut top, mut bottom) = (f64::INFINITY, 0.0_f64);
        let class = edge_class(self.facts, Some(wall));
        for row in members {
            self.svg.line(&[(x, *row), (x + 12.0, *row)], &class, "");
            top = top.min(*row);
            bottom = bottom.max(*row);
        }
        if !top.is_finite() {
            return;
        }
        let why = drawn.wall.not_explained.as_deref();
        let why = why.or(drawn.wall.explained_by.as_deref());
        let number = wall + 1;
        let title = format!(
            "wall {number}{}: {}",
            self.facts.doubt(wall),
            why.unwrap_or("no known part of the machine explains it")
        );
        self.svg
            .line(&[(x + 12.0, top), (x + 12.0, bottom)], &class, &title);
        let middle = (top + bottom) / 2.0;
        let open = if drawn.wall.is_likely() { "" } else { "?" };
        let words = format!("Wall {number}{open}");
        self.svg
            .titled_text((x + 19.0, middle - 2.0), "wallname", &words, &title);
        let limit = rate(drawn.wall.limit_bytes_per_s);
        self.svg
            .titled_text((x + 19.0, middle + 12.0), "soft", &limit, &title);
    }
}

fn edge_class(facts: &DiagnosisPicture<'_>, wall: Option<usize>) -> String {
    wall.map_or_else(
        || "edge".to_owned(),
        |wall| format!("edge walled {}", facts.ink(wall)),
    )
}

/// All hops of a box with their rates, the host's end first.
fn all_hops(branch: &Branch<'_>) -> String {
    let hops = branch
        .hops
        .iter()
        .map(|hop| match (&hop.formula, hop.rate_bytes_per_s) {
            (Some(formula), Some(carries)) => {
                format!("{}: {} ({formula})", hop.name, rate(carries))
            }
            (None, Some(carries)) => format!("{}: {}", hop.name, rate(carries)),
            (_, None) => hop.name.clone(),
        });
    let hops: Vec<String> = hops.map(|words| cut(&words, 160, 40)).collect();
    hops.join(", then ")
}

/// Places walls side by side where they would overlap.
fn lanes(facts: &DiagnosisPicture<'_>, walls: &[usize]) -> Vec<Vec<usize>> {
    let mut lanes: Vec<Vec<usize>> = Vec::new();
    let meets = |one: usize, other: usize| {
        let ends = |wall: usize| {
            let members = &facts.walls[wall].members;
            members.first().zip(members.last())
        };
        match (ends(one), ends(other)) {
            (Some((from, to)), Some((start, end))) => from <= end && start <= to,
            _ => false,
        }
    };
    for wall in walls {
        let room = |lane: &&mut Vec<usize>| !lane.iter().any(|known| meets(*known, *wall));
        match lanes.iter_mut().find(room) {
            Some(lane) => lane.push(*wall),
            None => lanes.push(vec![*wall]),
        }
    }
    lanes
}

fn caption(facts: &DiagnosisPicture<'_>, walls: &WallsAtHops) -> String {
    let mut words = "Left: the part that all data passes. Right: the disks, in the order in which \
                     they are connected, with their rates with all disks active and alone."
        .to_owned();
    if walls.unexplained.len() < facts.walls.len() {
        words.push_str(
            " A coloured box is the place of a wall; the disks connected to it in its \
                        colour share it.",
        );
    }
    if !walls.unexplained.is_empty() {
        words
            .push_str(" A bracket is a wall that no box explains, around the disks that share it.");
    }
    if facts.walls.iter().any(|drawn| !drawn.wall.is_likely()) {
        words.push_str(" Dashed, with a question mark: a wall that is not certain.");
    }
    if !facts.result.order.known {
        words.push_str(
            " How the disks are connected is not known: they stand in the order in which \
                        they were named.",
        );
    }
    words
}
