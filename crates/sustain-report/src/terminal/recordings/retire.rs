//! A member that was retired, in words.

use sustain_document::repair::RepairedAppends;
use sustain_document::retire::RetireDocument;

use crate::format::{position, stretch};
use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// The result of `retire`.
#[must_use]
pub fn retire_text(document: &RetireDocument, width: usize) -> String {
    let member = &document.member;
    let name = match &member.name {
        Some(name) => without_controls(name).to_string(),
        None => format!("member {} (UUID {})", member.number, member.uuid),
    };
    let what = format!(
        "{name}: retired after {}. What it had is on the other members",
        stretch(document.elapsed_s)
    );
    let copied = format!(
        "copied: {} of data, {} of parity; {} were written",
        appends(document.data),
        appends(document.parity),
        position(document.written_bytes)
    );
    let lost = (document.lost_bytes > 0).then(|| {
        format!(
            "lost: {} could neither be read nor computed",
            position(document.lost_bytes)
        )
    });
    let then = match &member.name {
        Some(name) => format!(
            "Leave {} out of all commands from now on. Nothing on it was deleted",
            without_controls(name)
        ),
        None => "The store is whole without it".to_owned(),
    };
    let lines = [what, copied].into_iter().chain(lost).chain([then]);
    lines.map(|line| wrapped(&line, width)).collect()
}

fn appends(appends: RepairedAppends) -> String {
    match appends.appends {
        1 => format!("1 append ({})", position(appends.bytes)),
        count => format!("{count} appends ({})", position(appends.bytes)),
    }
}
