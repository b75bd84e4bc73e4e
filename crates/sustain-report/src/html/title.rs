//! What the titles of several kinds of pages have in common.

/// The targets of an experiment in a title: all names up to four, else how many they are. A run
/// that ended before it had opened its targets knows them as they were typed.
pub(super) fn targets(names: &[String], typed: &[String]) -> String {
    match names {
        [] => typed.join(", "),
        [only] => only.clone(),
        [first @ .., last] if first.len() < 4 => format!("{} and {last}", first.join(", ")),
        several => format!("{} targets", several.len()),
    }
}

/// How a title ends if time and disks were simulated.
pub(super) fn on_simulated(simulated: bool) -> &'static str {
    if simulated {
        ", on a simulated machine"
    } else {
        ""
    }
}
