//! Shows the chain of a diagnosis: every link from the disks to the memory, what it carried of what
//! it can, and whether a limit is there.

use sustain_document::chain::{ChainLink, ChainVerdict};
use sustain_document::diagnose::DiagnoseResult;

use super::list;
use crate::format::{percent, rate};
use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// The number of links that the terminal shows; those of the most targets matter most. The document
/// and the page have all.
const LINKS_SHOWN: usize = 12;

/// The lines of the chain; empty if no link is known.
pub(super) fn chain(result: &DiagnoseResult, width: usize) -> String {
    if result.chain.is_empty() {
        return String::new();
    }
    let mut text = "\nWhat each link carried, nearest to the disks first\n".to_owned();
    let hidden = result.chain.len().saturating_sub(LINKS_SHOWN);
    if hidden > 0 {
        text.push_str(&format!(
            "  ({hidden} links of single targets are in the result of --json and in the report)\n"
        ));
    }
    for link in &result.chain[hidden..] {
        let names: Vec<&str> = link.targets.iter().map(String::as_str).collect();
        let line = format!(
            "  {}: {} for {}; {}",
            link.hop.name,
            carried(link),
            list(&names),
            verdict(link)
        );
        text.push_str(&wrapped(&without_controls(&line), width));
    }
    text
}

/// What a link carried, and of what.
pub(crate) fn carried(link: &ChainLink) -> String {
    let carried = rate(link.carried_bytes_per_s);
    match link.hop.rate_bytes_per_s {
        Some(can) => {
            let part = percent(link.carried_bytes_per_s / can);
            format!("{carried}, {part} of {}", rate(can))
        }
        None => carried,
    }
}

/// What that says of the link.
pub(crate) fn verdict(link: &ChainLink) -> String {
    match (link.verdict, link.wall, link.hop.rate_bytes_per_s) {
        (ChainVerdict::Guilty, Some(wall), _) => format!("wall {} is here", wall + 1),
        (ChainVerdict::Guilty, None, _) => "a wall is here".to_owned(),
        (ChainVerdict::Cleared, ..) => "cleared: it can carry more".to_owned(),
        (ChainVerdict::Suspect, ..) => {
            "not cleared: together its targets reach less than one alone".to_owned()
        }
        (ChainVerdict::Open, _, Some(_)) => "nearly all that it can carry".to_owned(),
        (ChainVerdict::Open, _, None) => "what it can carry is not known".to_owned(),
    }
}
