//! Draws the part of a measurement's page on the effect of the load on the rest of the system: the
//! verdict for each I/O path, the picture, the figures side by side, and what was not measured.

use sustain_document::effect::{EffectResult, MemoryCopy, PathEffect, ProbePlace};

use super::effect_chart::effect_chart;
use super::escape;
use super::table::Table;
use crate::effect_rows::{cpu_words, load_words, rows};
use crate::format::{memory, percent, rate, stretch};

/// The section of the result with this index.
pub(super) fn markup(effect: &EffectResult, index: usize) -> String {
    let mut markup = "<h2>Effect on the rest of the system</h2>\n".to_owned();
    for path in &effect.paths {
        markup.push_str(&format!(
            "<p><b>{}</b>: {}.</p>\n",
            escape::text(&path.path),
            escape::text(&path.verdict)
        ));
    }
    if let Some(chart) = effect_chart(effect, format!("effect-{index}")) {
        markup.push_str(&chart.markup());
    }
    markup.push_str(&figures(effect));
    markup.push_str(&facts(effect).markup());
    if !effect.unmeasured.is_empty() {
        let items = effect
            .unmeasured
            .iter()
            .map(|why| format!("<li>Not measured: {}</li>\n", escape::text(why)));
        markup.push_str(&format!("<ul>\n{}</ul>\n", items.collect::<String>()));
    }
    markup
}

/// The figures of all I/O paths side by side.
fn figures(effect: &EffectResult) -> String {
    let mut head = vec!["probe workload or counter".to_owned()];
    for path in &effect.paths {
        for part in ["before", "during", "after"] {
            head.push(format!("{part} {}", path.path));
        }
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new("Effect on the rest of the system", &head);
    let rows = rows(&effect.paths);
    let lines = rows.of_paths.first().map_or(0, Vec::len);
    for line in 0..lines {
        let mut cells = vec![rows.of_paths[0][line].name.to_owned()];
        for path in &rows.of_paths {
            cells.extend(path[line].cells().map(str::to_owned));
        }
        table.row(cells);
    }
    let quiet = rows.quiet.join(", ");
    let quiet = if quiet.is_empty() {
        quiet
    } else {
        format!("<p>Zero at all times: {}.</p>\n", escape::text(&quiet))
    };
    format!("{}{quiet}", table.markup())
}

fn facts(effect: &EffectResult) -> Table {
    let mut table = Table::new("Facts about the load", &[]);
    for path in &effect.paths {
        let name = format!("load, {}", path.path);
        table.pair(&name, load_words(path));
        if let Some(share) = &path.memory_share {
            let name = format!("part of the memory rate, {}", path.path);
            table.pair(&name, format!("{}: {}", percent(share.share), share.model));
        }
    }
    if let Some(copy) = &effect.memory_copy {
        table.pair("memory copy rate", copy_words(copy));
    }
    if let Some(place) = &effect.writes_on {
        table.pair("directory of the probe's writes", place_words(place));
    }
    for words in effect.paths.iter().filter_map(|path| victims(effect, path)) {
        table.pair("cost of the probe workloads", words);
    }
    table.pair("idle time watched before and after", stretch(effect.idle_s));
    table
}

fn victims(effect: &EffectResult, path: &PathEffect) -> Option<String> {
    let words = cpu_words(path)?;
    Some(if effect.paths.len() > 1 {
        format!("{}: {words}", path.path)
    } else {
        words
    })
}

fn copy_words(copy: &MemoryCopy) -> String {
    let cache = copy.cache_bytes.map_or_else(String::new, |bytes| {
        format!(", which is more than the caches of {}", memory(bytes))
    });
    format!(
        "{} by one thread, {} by {} at once; each byte is read and written once, in buffers of \
         {}{cache}",
        rate(copy.one_thread_bytes_per_s),
        rate(copy.all_threads_bytes_per_s),
        copy.threads,
        memory(copy.buffer_bytes)
    )
}

fn place_words(place: &ProbePlace) -> String {
    let kind = place.file_system.as_deref().unwrap_or("unknown kind");
    let relation = match (place.is_file_system_of_target, place.is_on_disk_of_target) {
        (true, _) => "the file system under test itself",
        (false, Some(true)) => "another file system on a disk of the load",
        (false, Some(false)) => "a file system on another disk than the load's",
        (false, None) => "another file system, on a disk that is not known",
    };
    let memory = if place.is_in_memory {
        "; it is in memory, where a write waits for no disk"
    } else {
        ""
    };
    format!("{} ({kind}): {relation}{memory}", place.directory.display())
}
