//! What a user sets, by name: the one place where errors and notes have the names of settings from.
//! A library speaks of the concept, "a smaller depth". The command, whose users set it by a flag,
//! says "a smaller --depth".

use std::fmt;
use std::sync::OnceLock;

/// Whether settings are called by their flags: what made this process sets them so.
static BY_FLAGS: OnceLock<()> = OnceLock::new();

/// Has all settings called by their flags from now on, in errors, notes and documents. The command
/// does this before anything else; it cannot be undone.
pub fn name_by_flags() {
    BY_FLAGS.get_or_init(|| ());
}

fn is_by_flags() -> bool {
    BY_FLAGS.get().is_some()
}

/// The name of a setting. It is written as "depth" or `--depth`, to follow words such as "a
/// smaller".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingName {
    flag: &'static str,
    concept: &'static str,
}

macro_rules! settings {
    ($($name:ident: $flag:literal, $concept:literal;)*) => {
        $(
            #[doc = concat!("The ", $concept, ", `", $flag, "`.")]
            pub const $name: SettingName = SettingName { flag: $flag, concept: $concept };
        )*

        /// All settings that have a name here.
        pub const ALL: &[SettingName] = &[$($name,)*];
    };
}

settings! {
    AB: "--ab", "trial of two settings";
    ADD: "--add", "list of new members";
    ALIGN_FRAMES: "--align-frames", "alignment of frames";
    APPEND_SIZE: "--append-size", "append size";
    AT: "--at", "start";
    BUDGET: "--budget", "budget";
    BUFFER: "--buffer", "buffer";
    BYTES: "--bytes", "bound in bytes";
    CHUNK: "--chunk", "chunk";
    CONTROL: "--control", "control socket";
    DEGRADED: "--degraded", "permission to record without some members";
    DEPTH: "--depth", "depth";
    DESTROY: "--destroy", "permission to destroy";
    DURABLE: "--durable", "interval of flushes";
    EFFECT: "--effect", "watch for effects";
    EFFECT_BOTH: "--effect=both", "watch for effects on both paths";
    ENGINE: "--engine", "engine";
    FRAMES: "--frames", "framing";
    FROM: "--from", "list of sources";
    INTERVAL: "--interval", "interval";
    JSON: "--json", "JSON file";
    LAYOUT: "--layout", "layout";
    MATRIX: "--matrix", "list of combinations";
    MD: "--md", "layout md";
    NEW_FILE: "--new-file", "option to make new files";
    ONTO: "--onto", "member to repair onto";
    ORDER: "--order", "order";
    PATH: "--path", "I/O path";
    PARITY: "--parity", "parity";
    PIN: "--pin", "pin number";
    PLACE: "--place", "place";
    PROFILE: "--profile", "profile";
    RATE: "--rate", "given rate";
    READ: "--read", "direction read";
    READ_BACK: "--read-back", "reading back";
    RECORD_SIZE: "--record-size", "record size";
    RING: "--ring", "ring mode";
    ROUNDS: "--rounds", "number of rounds";
    ACCEPT_LOSS: "--accept-loss", "permission to go on with a loss";
    SAME_DISK: "--same-disk", "permission for members on one disk";
    SIZE: "--size", "size";
    SLOT: "--slot", "slot size";
    STREAM: "--stream", "stream name";
    THREADS: "--threads", "threads";
    TIME: "--time", "time";
    TIME_PER_POINT: "--time-per-point", "time per point";
    TIME_PER_RUN: "--time-per-run", "time per run";
    UNTIL_STEADY: "--until-steady", "end at a steady state";
    VICTIM: "--victim", "victim directory";
    WRITE: "--write", "direction write";
}

impl SettingName {
    /// Its flag, for a command line that is given whole.
    #[must_use]
    pub fn flag(self) -> &'static str {
        self.flag
    }

    /// By itself: "the depth", or `--depth`.
    #[must_use]
    pub fn the(self) -> String {
        if is_by_flags() {
            return self.flag.to_owned();
        }
        format!("the {}", self.concept)
    }

    /// With a value that is a name: "the engine libaio", or `--engine libaio`.
    #[must_use]
    pub fn to(self, value: impl fmt::Display) -> String {
        format!("{} {value}", self.the())
    }

    /// With a value that is a quantity: "the time of 2 s", or `--time 2 s`.
    #[must_use]
    pub fn of(self, value: impl fmt::Display) -> String {
        if is_by_flags() {
            return self.to(value);
        }
        self.to(format_args!("of {value}"))
    }

    /// What is demanded of it: "the depth must be from 1 to 4096".
    #[must_use]
    pub fn must_be(self, what: impl fmt::Display) -> String {
        format!("{} must be {what}", self.the())
    }
}

/// Several settings with their values: "the size of 4GiB and the time of 5m", or
/// `--size 4GiB --time 5m`.
#[must_use]
pub fn joined(settings: &[String]) -> String {
    settings.join(if is_by_flags() { " " } else { " and " })
}

impl fmt::Display for SettingName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if is_by_flags() {
            self.flag
        } else {
            self.concept
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_speaks_of_the_concept_and_the_command_of_the_flag() {
        let said = || {
            format!(
                "a smaller {DEPTH}; {}; {}; {}; {}",
                DEPTH.the(),
                ENGINE.to("libaio"),
                TIME.of("2 s"),
                joined(&["a", "b"].map(|name| DESTROY.to(name)))
            )
        };
        assert_eq!(
            said(),
            "a smaller depth; the depth; the engine libaio; the time of 2 s; the permission to \
             destroy a and the permission to destroy b"
        );
        name_by_flags();
        assert_eq!(
            said(),
            "a smaller --depth; --depth; --engine libaio; --time 2 s; --destroy a --destroy b"
        );
    }
}
