//! How long members are waited for, who hears of it, and the words for it.

use std::sync::OnceLock;

use sustain_disk::engine::Operation;

/// A member that writes or flushes is given up when none has answered for so long.
pub(crate) const GIVEN_UP_AFTER_NS: u64 = 30_000_000_000;
/// And one that reads after so many times that: over a bad sector a disk, and the kernel's own
/// attempts, take minutes, and then answer.
pub(crate) const READS_ARE_GIVEN: u64 = 10;
/// After so long it is told what is waited for.
pub(crate) const LONG_WAIT_NS: u64 = 30_000_000_000;
/// Hears what is waited for.
static LISTENER: OnceLock<fn(&str)> = OnceLock::new();

/// From now on `listener` hears, in words, of a read that has not returned for long while a store
/// is opened or recovered. Of several listeners the first stays.
pub fn on_long_wait(listener: fn(&str)) {
    let _ = LISTENER.set(listener);
}

/// Tells whoever listens what is waited for.
pub(crate) fn report_long_wait(words: &str) {
    if let Some(listener) = LISTENER.get() {
        listener(words);
    }
}

/// What is told of a member that is given up for a request.
pub(crate) fn words_of_silence(
    operation: Operation,
    name: &str,
    offset_bytes: u64,
    seconds: f64,
) -> String {
    let what = format!("{operation} on {name} at byte {offset_bytes}");
    words_of_silent(&what, name, seconds)
}

/// What is told of a member that is given up for whatever it was asked.
pub(crate) fn words_of_silent(what: &str, name: &str, seconds: f64) -> String {
    format!(
        "{what} has not returned for {seconds:.0} s, and {name} was given up. Look at the \
         kernel log (dmesg) and its cable, and begin again; until the request returns, the kernel \
         keeps {name}, and maybe this process, from ending"
    )
}
