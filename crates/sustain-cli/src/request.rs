//! Turns flags as typed into a plan that can be carried out. Contradictions are explained.

use std::path::Path;
use std::sync::Arc;

use sustain::disk::data::DataKind;
use sustain::disk::engine::EngineChoice;
use sustain::disk::layout::Layout;
use sustain::disk::meter::IntervalRule;
use sustain::disk::target::DataPath;
use sustain::disk::units::{parse_duration, parse_size};
use sustain::document::profile::ProfileResult;
use sustain::document::reader::{self, Document};
use sustain::host::Roots;
use sustain::measure::KnownProfile;
use sustain::measure::{LoadPlan, MeasurePlan};

use crate::flags::measure::{DataFlag, LogFlag, MeasureFlags, SettingFlags};
use crate::flags::shared::{RequestFlags, SafetyFlags};
use crate::flags::{EngineFlag, LayoutFlag, PathFlag};
use crate::usage_error::UsageError;

/// The length of a run unless a flag says otherwise.
const TIME_NS: u64 = 30_000_000_000;
/// The longest time that a run waits to become steady.
const UNTIL_STEADY_NS: u64 = 600_000_000_000;
const CHUNK_BYTES: u64 = 1 << 20;
/// The bytes per line of the 1998 disk writing test.
const DSKWTST_BYTES: u64 = 20 << 20;

/// The command as typed, to repeat the run. The name of a file may not be UTF-8.
pub(crate) fn arguments() -> Vec<String> {
    std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

/// The engine that the flag asks for.
pub(crate) fn engine(flag: EngineFlag) -> EngineChoice {
    match flag {
        EngineFlag::Auto => EngineChoice::Auto,
        EngineFlag::IoUring => EngineChoice::IoUring,
        EngineFlag::Libaio => EngineChoice::Libaio,
        EngineFlag::PosixAio => EngineChoice::PosixAio,
        EngineFlag::Threads => EngineChoice::Threads,
        EngineFlag::Sync => EngineChoice::Sync,
    }
}

/// The I/O path that the flag asks for.
pub(crate) fn data_path(flag: PathFlag) -> DataPath {
    match flag {
        PathFlag::Direct => DataPath::Direct,
        PathFlag::Buffered => DataPath::Buffered,
        PathFlag::Passthrough => DataPath::Passthrough,
    }
}

/// The layout that the flags ask for.
pub(crate) fn layout(flags: &SettingFlags) -> Result<Layout, UsageError> {
    if flags.chunk.is_some() && flags.layout != LayoutFlag::Stripe {
        return Err(usage("--chunk can be used only with --layout stripe"));
    }
    if flags.order.as_deref() == Some("all") {
        return Err(usage(
            "--order all is for `sustain sweep`, which tries every order: name the targets in one \
             order here",
        ));
    }
    Ok(match flags.layout {
        LayoutFlag::Independent => Layout::Independent,
        LayoutFlag::Turns => Layout::Turns,
        LayoutFlag::Stripe => Layout::Stripe {
            chunk_bytes: flags.chunk.unwrap_or(CHUNK_BYTES),
        },
        LayoutFlag::Span => Layout::Span,
    })
}

/// The data that the flag asks for.
pub(crate) fn data(flag: DataFlag) -> DataKind {
    match flag {
        DataFlag::Fresh => DataKind::Fresh,
        DataFlag::Rewritten => DataKind::Rewritten,
        DataFlag::Zero => DataKind::Zero,
    }
}

/// A load on these targets with these requests.
pub(crate) fn load(
    targets: &[String],
    size_bytes: Option<u64>,
    safety: &SafetyFlags,
    request: RequestFlags,
) -> LoadPlan {
    LoadPlan {
        record_bytes: request.record_size,
        depth: request.depth,
        engine: engine(request.engine),
        path: data_path(request.path),
        ..targets_load(targets, size_bytes, safety)
    }
}

/// A load on these targets, of which so much is used, and by this permission.
pub(crate) fn targets_load(
    targets: &[String],
    size_bytes: Option<u64>,
    safety: &SafetyFlags,
) -> LoadPlan {
    LoadPlan {
        size_bytes,
        prewrite: !safety.no_prewrite,
        destroy: safety.destroy.clone(),
        new_file: safety.new_file,
        ..LoadPlan::new(targets)
    }
}

/// The plan that the flags ask for.
pub(crate) fn plan(flags: &MeasureFlags) -> Result<MeasurePlan, UsageError> {
    let load = LoadPlan {
        direction: flags.direction.direction(&flags.safety)?,
        threads: flags.setting.threads,
        layout: layout(&flags.setting)?,
        order: flags.setting.order.clone(),
        time_ns: time_ns(flags),
        bytes: flags.bytes,
        until_steady: flags.until_steady,
        at: flags.at,
        rate_bytes_per_s: flags.rate,
        interval: interval(flags)?,
        data: data(flags.setting.data),
        seed: flags.seed,
        ..load(
            &flags.targets,
            flags.size,
            &flags.safety,
            flags.setting.request,
        )
    };
    Ok(MeasurePlan {
        load,
        profile: known_profile(flags.profile.as_deref())?,
        buffer_bytes: buffer_bytes(flags.buffer),
        confirm: !flags.no_confirm,
        read_back: flags.read_back,
        effect: flags.effect.plan(&flags.targets)?,
        arguments: arguments(),
    })
}

/// The recorder's buffer: what was asked for, or what suits this machine.
pub(crate) fn buffer_bytes(asked_bytes: Option<u64>) -> u64 {
    asked_bytes.unwrap_or_else(|| sustain::usual_buffer_bytes(&Roots::default()))
}

/// Reads a saved profile.
pub(crate) fn known_profile(path: Option<&Path>) -> Result<Option<KnownProfile>, UsageError> {
    let known = known::<ProfileResult>(path)?;
    Ok(known.map(|(name, result)| KnownProfile {
        name,
        result: Arc::new(result),
    }))
}

/// Reads a saved document, if one is given, with its name.
pub(crate) fn known<D: Document>(path: Option<&Path>) -> Result<Option<(String, D)>, UsageError> {
    let Some(path) = path else {
        return Ok(None);
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| UsageError(format!("cannot read {name}: {error}; check the path")))?;
    let result =
        reader::read::<D>(&text).map_err(|error| UsageError(format!("{name}: {error}")))?;
    Ok(Some((name, result)))
}

fn usage(text: &str) -> UsageError {
    UsageError(text.to_owned())
}

fn time_ns(flags: &MeasureFlags) -> Option<u64> {
    match (flags.time, flags.until_steady, flags.bytes) {
        (Some(time_ns), ..) => Some(time_ns),
        (None, true, _) => Some(UNTIL_STEADY_NS),
        (None, false, Some(_)) => None,
        (None, false, None) => Some(TIME_NS),
    }
}

fn interval(flags: &MeasureFlags) -> Result<IntervalRule, UsageError> {
    let text = flags.interval.as_str();
    // A bare number would mean bytes, and was surely meant as seconds.
    let has_unit = text.ends_with(|last: char| last.is_alphabetic());
    let rule = match (parse_duration(text), parse_size(text)) {
        (Ok(length_ns), Err(_)) => IntervalRule::Time(length_ns),
        (Err(_), Ok(bytes)) if has_unit => IntervalRule::Bytes(bytes),
        _ => {
            return Err(UsageError(format!(
                "--interval {text} is neither a time nor a size, such as 1s, 500ms or 20MiB"
            )));
        }
    };
    if flags.log != Some(LogFlag::Dskwtst) {
        return Ok(rule);
    }
    if text != "1s" && rule != IntervalRule::Bytes(DSKWTST_BYTES) {
        return Err(usage(
            "--log dskwtst writes a line for each 20MiB: leave out --interval",
        ));
    }
    Ok(IntervalRule::Bytes(DSKWTST_BYTES))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::flags::{Arguments, Command};

    fn plan_of(arguments: &[&str]) -> Result<MeasurePlan, UsageError> {
        let all = ["sustain", "measure", "."].iter().chain(arguments);
        match Arguments::try_parse_from(all).unwrap().command {
            Command::Measure(flags) => plan(&flags),
            _ => unreachable!("measure was typed"),
        }
    }

    #[test]
    fn the_time_depends_on_the_other_bounds() {
        assert_eq!(plan_of(&[]).unwrap().load.time_ns, Some(TIME_NS));
        assert_eq!(plan_of(&["--bytes", "1GiB"]).unwrap().load.time_ns, None);
        assert_eq!(
            plan_of(&["--until-steady"]).unwrap().load.time_ns,
            Some(UNTIL_STEADY_NS)
        );
        let both = plan_of(&["--bytes", "1GiB", "--time", "5s"]).unwrap();
        assert_eq!(
            (both.load.time_ns, both.load.bytes),
            (Some(5_000_000_000), Some(1 << 30))
        );
    }

    #[test]
    fn intervals_are_times_or_sizes() {
        let rule = |text| plan_of(&["--interval", text]).map(|plan| plan.load.interval);
        assert_eq!(rule("250ms").unwrap(), IntervalRule::Time(250_000_000));
        assert_eq!(rule("20MiB").unwrap(), IntervalRule::Bytes(20 << 20));
        assert!(rule("often").is_err());
        assert!(rule("5").is_err());
        let log = plan_of(&["--log", "dskwtst"]).unwrap();
        assert_eq!(log.load.interval, IntervalRule::Bytes(20 << 20));
    }

    #[test]
    fn data_is_fresh_unless_it_is_said_otherwise() {
        let data = |arguments| plan_of(arguments).unwrap().load.data;
        assert_eq!(data(&[]), DataKind::Fresh);
        assert_eq!(data(&["--data", "rewritten"]), DataKind::Rewritten);
        assert_eq!(data(&["--data", "zero"]), DataKind::Zero);
    }

    #[test]
    fn contradictions_are_explained() {
        let why = |arguments| plan_of(arguments).unwrap_err().to_string();
        assert!(why(&["--chunk", "64KiB"]).contains("--layout stripe"));
        assert!(why(&["--read", "--destroy", "."]).contains("destroys nothing"));
        assert!(why(&["--log", "dskwtst", "--interval", "2s"]).contains("20MiB"));
    }
}
