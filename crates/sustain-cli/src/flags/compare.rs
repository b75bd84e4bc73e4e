//! The flags of `sustain compare`.

use clap::{Args, Parser};
use sustain::disk::units::{parse_duration, parse_size};

use super::help::{self, group};
use super::measure::SettingFlags;
use super::number::parse_number;
use super::shared::{DirectionFlags, OutputFlags, SafetyFlags};

const EXAMPLES: &str = "\
Examples:
  sustain compare monday.json friday.json
      Do these two measurements differ by more than noise, and by how much?
  sustain compare new.json tonight.json --fail-if-slower 5%
      Each night, after `rm -f tonight.json` and then `sustain measure /dev/sdb --read --size 40GB
      --json tonight.json`; new.json is from the same command when the disk was new. The exit code
      is 1 if the disk failed, or is slower by more than 5 %, and 2 if it could not be measured, so
      that there is no tonight.json. Without the `rm`, yesterday's file would then be compared.
      With --size both runs use the same part of the disk. Only the noise within a run is known, so
      allow for more than runs differ from night to night.
  sustain compare --ab '--depth 8' '--depth 32' /data
      Two settings in turn, on a scratch file, until their difference is known.
  sustain compare --ab '--engine io_uring' '--engine threads --depth 4' /dev/sdb --read --time 10m
      The same on a disk, read only.
  sustain compare --ab /mnt/sdb1 /dev/sdb2 --write --destroy /dev/sdb2
      What does the file system on /mnt/sdb1 cost beside the bare partition on the same disk? What
      is on /dev/sdb2 is lost.

Saved runs can be compared if they did the same work: direction, record size, depth, layout, chunk,
--rate, --data, --size and number of targets. The targets themselves, their order, I/O path, engine,
machine, kernel, disk and version may differ; the differences are named. Rates are compared by
their 95 % confidence intervals, which take into account that neighbouring seconds are correlated.
What has no interval is shown and not judged.

A setting of --ab takes --record-size, --depth, --engine, --path, --threads, --layout, --order,
--chunk and --data, as in `sustain measure`; '' stands for the defaults. It may also name targets of
its own: then both name as many, on the same disks, and none follow. Each is used up to the size of
the smallest; a note says where on the disk they are if that differs. Runs go in the order ABBA
BAAB. The intervals are valid however often they are looked at, so measuring ends as soon as one is
narrow enough. Ctrl-C ends it early; the answer then rests on what was measured.

With --fail-if-slower a rate counts as slower only if even the upper end of its interval is below
the limit. If the runs are too short or too noisy to tell, that is said, and the exit code is 0.
Exit codes: 0 compared; 1 slower than --fail-if-slower allows, or requests of --ab failed; 2 usage
error, a refused target, or runs of different work; 130 interrupted, with the result of what was
done.";

const OUTPUT: &str = "\
What the output means:
  A, B, B - A
      The figure of each run, and how far B's is from A's, in per cent of A's.
  95 % interval
      The range in which that difference lies with a confidence of 95 %, as far
      as the noise within the runs can tell.
  verdict
      For a rate, whether B is faster or slower; for a latency or CPU time,
      whether it is more or less. \"no difference shown\" means that noise alone
      may explain what is seen. \"no interval\" means that the figure is shown,
      but that nothing is known of its noise.
  usual max latency
      The longest latency of a usual second: the mean (of logarithms) over all seconds. The
      longest of the whole run may be a single accident.
  resolution
      The smallest difference that would have been seen four times out of five.
      A smaller one may have been missed.";

#[derive(Debug, Args)]
#[command(after_help = help::short("compare", EXAMPLES))]
#[command(after_long_help = help::whole(EXAMPLES, OUTPUT))]
#[command(next_help_heading = group::WHAT_TO_COMPARE)]
#[command(override_usage = "sustain compare [OPTIONS] A.json B.json\n       \
                            sustain compare [OPTIONS] --ab 'FLAGS A' 'FLAGS B' TARGET...\n       \
                            sustain compare [OPTIONS] --ab 'FLAGS TARGET...' 'FLAGS TARGET...'")]
pub(crate) struct CompareFlags {
    /// Two results of `sustain measure --json`, A and B; with --ab the targets, as for
    /// `sustain measure`, unless A and B name their own.
    #[arg(help_heading = None::<&str>)]
    #[arg(required_unless_present = "ab", value_name = "A.json B.json|TARGET")]
    pub(crate) inputs: Vec<String>,
    /// Measure two settings in turn instead of reading saved runs.
    #[arg(long, num_args = 2, value_names = ["FLAGS A", "FLAGS B"], allow_hyphen_values = true)]
    pub(crate) ab: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) direction: DirectionFlags,
    /// With --ab: length of each run. Longer runs have less noise [default: 3s].
    #[arg(help_heading = group::HOW_LONG, hide_short_help = true)]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time_per_run: Option<u64>,
    /// With --ab: the time that measuring may take, after files are prewritten [default: 5m].
    #[arg(help_heading = group::HOW_LONG)]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) time: Option<u64>,
    /// With --ab: also end as soon as it is certain that A and B differ by less than this [default:
    /// 1%].
    #[arg(help_heading = group::HOW_LONG, hide_short_help = true)]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, allow_hyphen_values = true)]
    pub(crate) alike: Option<f64>,
    /// With --ab: use only this much of each target, from its start, again and again [default: 4GiB
    /// of new files, else the whole target].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) size: Option<u64>,
    #[command(flatten)]
    pub(crate) safety: SafetyFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    /// Exit with 1 if B is slower than A by more than this percentage and by more than noise
    /// explains, for all targets together or for any of them, or if requests of B failed and those
    /// of A did not.
    #[arg(help_heading = group::OUTPUT)]
    #[arg(long, value_name = "PERCENT", value_parser = parse_limit, allow_hyphen_values = true)]
    pub(crate) fail_if_slower: Option<f64>,
    /// With --ab: seed for the data and for simulated machines [default: 0].
    #[arg(help_heading = group::RARE, hide_short_help = true)]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = parse_number::<u64>, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
}

impl CompareFlags {
    /// The first flag that says something of measuring; saved runs need none.
    pub(crate) fn flag_of_measuring(&self) -> Option<&'static str> {
        let flags = [
            ("--write", self.direction.write),
            ("--read", self.direction.read),
            ("--time-per-run", self.time_per_run.is_some()),
            ("--time", self.time.is_some()),
            ("--alike", self.alike.is_some()),
            ("--size", self.size.is_some()),
            ("--seed", self.seed.is_some()),
            ("--no-prewrite", self.safety.no_prewrite),
            ("--destroy", !self.safety.destroy.is_empty()),
            ("--new-file", self.safety.new_file),
            ("--dry-run", self.safety.dry_run),
        ];
        let mut given = flags.into_iter().filter(|(_, is_given)| *is_given);
        given.next().map(|(flag, _)| flag)
    }
}

/// A setting of `--ab`, split as a shell would.
#[derive(Debug, Parser)]
#[command(
    no_binary_name = true,
    disable_help_flag = true,
    disable_help_subcommand = true
)]
pub(crate) struct TypedSetting {
    #[command(flatten)]
    pub(crate) flags: SettingFlags,
    /// Targets of its own.
    pub(crate) targets: Vec<String>,
}

/// `5%` as the part of a whole.
fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim_end);
    let part = number.and_then(|number| number.parse::<f64>().ok());
    part.filter(|percent| (0.0..100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("{text:?} is not a percentage from 0% to 100%, such as 5% or 0.5%"))
}

/// The part by which B may be slower. Nothing at all would be exceeded by every difference that
/// shows, and a disk cannot be slower by more than all of its rate.
fn parse_limit(text: &str) -> Result<f64, String> {
    let part = parse_percent(text).ok().filter(|part| *part > 0.0);
    part.ok_or_else(|| {
        format!(
            "{text:?} is not a percentage above 0% and below 100%, such as 5% or 0.5%: say by how \
             much B may be slower; runs of one disk differ by a few percent from day to day"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_needs_its_sign() {
        assert_eq!(parse_percent("5%"), Ok(0.05));
        assert_eq!(parse_percent("0.5 %"), Ok(0.005));
        for text in ["5", "0.05", "-1%", "100%", "%", "nan%", ""] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_limit_is_above_nothing_and_below_all() {
        assert_eq!(parse_limit("5%"), Ok(0.05));
        for text in ["0%", "0.0 %", "-5%", "-0%", "100%", "250%", "5", "--json"] {
            let why = parse_limit(text).unwrap_err();
            assert!(why.contains("such as 5% or 0.5%"), "{text}: {why}");
        }
    }
}
