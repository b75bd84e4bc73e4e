//! The effect of a load on the rest of the system, in a terminal: the verdict for each I/O path,
//! then a table of the probe workloads and counters before, during and after the load. It is a part
//! of the summary of a measurement.

use comfy_table::{ContentArrangement, Table, presets};
use sustain_document::effect::{EffectResult, PathEffect};

use super::columns::text_of;
use super::without_controls;
use super::wrapped::wrapped;
use crate::effect_rows::{EffectRow, cpu_words, load_words, rows};
use crate::format::rate;

/// The width that two I/O paths with three columns each need.
const SIDE_BY_SIDE_WIDTH_MIN: usize = 96;

/// The section, each line ending with a newline. `width` is the terminal's, in columns.
pub(super) fn section(effect: &EffectResult, width: usize) -> String {
    let mut text = "\nEffect on the rest of the system\n".to_owned();
    let several = effect.paths.len() > 1;
    for path in &effect.paths {
        let path_name = if several {
            format!("{}: ", path.path)
        } else {
            String::new()
        };
        text.push_str(&line(&format!("{path_name}{}", path.verdict), width));
    }
    text.push_str(&tables(effect, width));
    for path in &effect.paths {
        let mut words = vec![format!("{}: {}", path.path, load_words(path))];
        words.extend(cpu_words(path));
        text.push_str(&line(&words.join("; "), width));
    }
    if let Some(copy) = &effect.memory_copy {
        let words = format!(
            "memory: one thread copies {}, {} threads copy {}",
            rate(copy.one_thread_bytes_per_s),
            copy.threads,
            rate(copy.all_threads_bytes_per_s)
        );
        text.push_str(&line(&words, width));
    }
    for why in &effect.unmeasured {
        text.push_str(&line(&format!("not measured: {why}"), width));
    }
    text
}

fn line(words: &str, width: usize) -> String {
    wrapped(&format!("  {}", without_controls(words)), width)
}

/// All I/O paths side by side where the width allows it, else one below the other.
fn tables(effect: &EffectResult, width: usize) -> String {
    let rows = rows(&effect.paths);
    let mut text = String::new();
    let side_by_side = width >= SIDE_BY_SIDE_WIDTH_MIN;
    let all: Vec<(&PathEffect, &Vec<EffectRow>)> =
        effect.paths.iter().zip(&rows.of_paths).collect();
    let at_once = if side_by_side { all.len() } else { 1 };
    for paths in all.chunks(at_once.max(1)) {
        text.push_str(&table(paths, all.len() > 1, width));
    }
    if !rows.quiet.is_empty() {
        let words = format!("did not happen at all: {}", rows.quiet.join(", "));
        text.push_str(&line(&words, width));
    }
    text
}

fn table(paths: &[(&PathEffect, &Vec<EffectRow>)], is_named: bool, width: usize) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let mut head = vec![String::new()];
    for (path, _) in paths {
        for part in ["before", "during", "after"] {
            head.push(if is_named {
                format!("{}\n{part}", without_controls(&path.path))
            } else {
                part.to_owned()
            });
        }
    }
    table.set_header(head);
    let names = paths.first().map_or(&[][..], |(_, rows)| rows.as_slice());
    for (index, named) in names.iter().enumerate() {
        let mut cells = vec![format!("  {}", named.name)];
        for (_, rows) in paths {
            cells.extend(rows[index].cells().map(str::to_owned));
        }
        table.add_row(cells);
    }
    let columns = table.column_count();
    text_of(table, 1..columns)
}
