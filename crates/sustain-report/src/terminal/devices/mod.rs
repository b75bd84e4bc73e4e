//! Draws how the disks are connected, as a tree: memory, links and controllers, disks, and what is
//! built on them. The command `devices` prints it; it must fit the width that it is given.

use std::collections::BTreeSet;

use sustain_document::devices::{
    DeviceFacts, DeviceKind, DevicesDocument, DiskFacts, Hop, HopKind,
};

use super::without_controls;
use super::wrapped::wrapped;
use crate::format::{memory, rate, size};

/// The text of a branch gets at least this many columns, however deep the branch is.
const TEXT_WIDTH_MIN: usize = 24;
/// The number of reasons for not writing a device that are shown; the document has all.
const REASONS_SHOWN: usize = 2;

/// The tree, the links in it that are slower than they could be, and what could not be read.
#[must_use]
pub fn devices_text(document: &DevicesDocument, width: usize) -> String {
    let mut text = String::new();
    for root in forest(document) {
        root.draw("", "", width, &mut text);
    }
    for line in remarks(document) {
        text.push_str(&wrapped(&without_controls(&line), width));
    }
    text
}

/// A branch of the tree.
struct TreeBranch {
    /// Topology paths that pass the same id are one branch.
    id: String,
    lines: Vec<String>,
    children: Vec<TreeBranch>,
}

impl TreeBranch {
    fn new(id: &str, lines: &[String]) -> TreeBranch {
        TreeBranch {
            id: id.to_owned(),
            lines: lines.iter().map(|line| without_controls(line)).collect(),
            children: Vec::new(),
        }
    }

    /// `first` stands before its first line, `rest` before all lines of its children.
    fn draw(&self, first: &str, rest: &str, width: usize, text: &mut String) {
        let beside = if self.children.is_empty() {
            "  "
        } else {
            "│ "
        };
        let taken = rest.chars().count() + beside.chars().count();
        let room = width.saturating_sub(taken).max(TEXT_WIDTH_MIN);
        let wrapped: String = self.lines.iter().map(|line| wrapped(line, room)).collect();
        for (index, line) in wrapped.lines().enumerate() {
            if index == 0 {
                text.push_str(&format!("{first}{line}\n"));
            } else {
                text.push_str(&format!("{rest}{beside}{line}\n"));
            }
        }
        for (index, child) in self.children.iter().enumerate() {
            let (branch, below) = if index + 1 == self.children.len() {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            let (first, rest) = (format!("{rest}{branch}"), format!("{rest}{below}"));
            child.draw(&first, &rest, width, text);
        }
    }
}

/// The topology paths of all disks, merged from the memory down.
fn forest(document: &DevicesDocument) -> Vec<TreeBranch> {
    let mut roots = Vec::new();
    let mut drawn = BTreeSet::new();
    for disk in &document.disks {
        let mut branches: &mut Vec<TreeBranch> = &mut roots;
        for hop in disk.path.hops.iter().skip(1).rev() {
            let found = branches.iter().position(|node| node.id == hop.id);
            let index = found.unwrap_or_else(|| {
                branches.push(TreeBranch::new(&hop.id, &hop_lines(hop)));
                branches.len() - 1
            });
            branches = &mut branches[index].children;
        }
        let mut node = TreeBranch::new(&disk.path.disk, &disk_lines(disk));
        node.children = layers_on(document, &disk.path.disk, &mut drawn);
        branches.push(node);
    }
    roots
}

/// The devices that are built on a device. One that is built on several is drawn on the first and
/// named on the others.
fn layers_on(
    document: &DevicesDocument,
    device: &str,
    drawn: &mut BTreeSet<String>,
) -> Vec<TreeBranch> {
    let layers = document.layers.iter();
    let on_device = layers.filter(|layer| layer.lies_on.iter().any(|name| name == device));
    let mut nodes = Vec::new();
    for layer in on_device {
        let name = layer.device.name();
        if !drawn.insert(name.to_owned()) {
            let line = format!("{} (shown above)", named(layer));
            nodes.push(TreeBranch::new(name, &[line]));
            continue;
        }
        let mut lines = vec![layer_line(layer)];
        lines.extend(layer.caution.clone());
        let mut node = TreeBranch::new(name, &lines);
        node.children = layers_on(document, name, drawn);
        nodes.push(node);
    }
    nodes
}

fn hop_lines(hop: &Hop) -> Vec<String> {
    let mut lines = vec![match (hop.rate_bytes_per_s, &hop.formula) {
        (Some(bytes_per_s), Some(formula)) => {
            format!("{}: {} ({formula})", hop.name, rate(bytes_per_s))
        }
        _ => hop.name.clone(),
    }];
    let rates = hop.rate_bytes_per_s.zip(hop.possible_rate_bytes_per_s);
    if let (Some((bytes_per_s, possible)), Some(words)) = (rates, &hop.slow) {
        let (runs, could) = (rate(bytes_per_s), rate(possible));
        lines.push(format!("SLOW: {words}: {runs} of {could}"));
    }
    lines
}

fn disk_lines(disk: &DiskFacts) -> Vec<String> {
    let device = &disk.facts.device;
    // The disk's own hop tells by which of its topology paths it is shown.
    let name = disk
        .path
        .hops
        .first()
        .map_or(device.name(), |hop| hop.name.as_str());
    let mut facts = vec![size(device.node.size_bytes)];
    facts.extend(device.model.clone());
    facts.extend(
        device
            .serial
            .as_ref()
            .map(|serial| format!("serial {serial}")),
    );
    if let Some(file) = &device.loop_backing_file {
        facts.push(format!("over {}", file.display()));
    }
    let mut habits = Vec::new();
    habits.extend(device.rotational.map(|turns| {
        let kind = if turns { "rotating" } else { "not rotating" };
        kind.to_owned()
    }));
    habits.extend(
        device
            .scheduler
            .as_ref()
            .map(|name| format!("scheduler {name}")),
    );
    habits.extend(
        device
            .write_cache
            .as_ref()
            .map(|cache| format!("cache {cache}")),
    );
    let request = device.max_request_bytes;
    habits.extend(request.map(|bytes| format!("requests up to {}", memory(bytes))));
    let own_hop = disk.path.hops.first();
    let mode = own_hop.and_then(|hop| hop.transfer_mode.as_ref());
    habits.extend(mode.map(|mode| format!("transfers by {mode}")));
    let mut lines = vec![format!("{name}: {}", facts.join(", "))];
    if !habits.is_empty() {
        lines.push(habits.join(", "));
    }
    let slow = own_hop.and_then(|hop| hop.slow.as_ref());
    lines.extend(slow.map(|words| format!("SLOW: {words}")));
    lines.push(verdict(&disk.facts));
    lines.extend(disk.facts.caution.clone());
    lines
}

/// A volume by the name that its user gave it.
fn named(layer: &DeviceFacts) -> String {
    let name = layer.device.name();
    match &layer.device.mapper_name {
        Some(mapper) => format!("{mapper} ({name})"),
        None => name.to_owned(),
    }
}

fn layer_line(layer: &DeviceFacts) -> String {
    let (name, size) = (named(layer), size(layer.device.node.size_bytes));
    let over = match (&layer.device.loop_backing_file, layer.kind) {
        (Some(file), DeviceKind::Loop) => format!(", over {}", file.display()),
        _ => String::new(),
    };
    format!("{name}: {size}{over}; {}", verdict(layer))
}

/// Whether it may be written, and if not, the first reasons.
fn verdict(facts: &DeviceFacts) -> String {
    let reasons = facts.why_not.iter().map(|why| why.reason.as_str());
    let mut shown: Vec<&str> = reasons.take(REASONS_SHOWN).collect();
    let more = facts.why_not.len() - shown.len();
    let more = format!("and {more} more");
    if facts.why_not.len() > REASONS_SHOWN {
        shown.push(&more);
    }
    match facts.may_be_written {
        Some(true) => "may be written".to_owned(),
        Some(false) => format!("must not be written: {}", shown.join("; ")),
        None => "must not be written: whether it is in use cannot be found out".to_owned(),
    }
}

fn processors(count: u32) -> String {
    match count {
        1 => "1 processor".to_owned(),
        count => format!("{count} processors"),
    }
}

fn remarks(document: &DevicesDocument) -> Vec<String> {
    let mut lines = Vec::new();
    if document.disks.is_empty() {
        lines.push("no disk was found".to_owned());
    }
    let hops = || document.disks.iter().flat_map(|disk| &disk.path.hops);
    // A disk in a slow transfer mode says so itself.
    let slow = hops().filter(|hop| hop.slow.is_some() && hop.kind != HopKind::Disk);
    let slow: BTreeSet<&str> = slow.map(|hop| hop.name.as_str()).collect();
    match slow.len() {
        0 => {}
        1 => lines.extend(
            slow.first()
                .map(|name| format!("{name} runs more slowly than both its ends could")),
        ),
        count => {
            let names: Vec<&str> = slow.into_iter().collect();
            let names = names.join("; ");
            lines.push(format!(
                "{count} links run more slowly than both their ends could: {names}"
            ));
        }
    }
    if let Some(copy) = &document.memory_copy {
        lines.push(format!(
            "memory: {} copied by {}, {} by one",
            rate(copy.all_threads_bytes_per_s),
            processors(copy.threads),
            rate(copy.one_thread_bytes_per_s)
        ));
    }
    if hops().any(|hop| hop.rate_bytes_per_s.is_some()) {
        let line = "A rate is that of a link in one direction after line encoding; headers and \
                    commands take a part of it.";
        lines.push(line.to_owned());
    }
    lines.extend(document.notes.iter().map(|note| format!("note: {note}")));
    lines
}

#[cfg(test)]
mod tests;
