//! Gives work to fio from the distribution, and reads its JSON.

use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::{Done, Interface, Way, Work};
use crate::process;
use crate::setting::Setting;

/// How fio is run beyond the work itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Its default data: a buffer filled at random once, with small changes.
    Plain,
    /// The same with its buffers in huge pages, which the system keeps aside.
    HugePages,
    /// New random data for every request.
    Refill,
    /// Its leanest way with many small requests: batches, and few readings of the clock.
    Batched,
}

#[derive(Debug, Deserialize)]
struct Output {
    jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
struct Job {
    error: i32,
    read: Moved,
    write: Moved,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Moved {
    io_bytes: u64,
    /// `io_bytes` over the job's own run time, its start-up excluded.
    bw_bytes: f64,
}

/// fio's version, if it is installed.
pub(crate) fn version() -> anyhow::Result<String> {
    let output = Command::new("fio")
        .arg("--version")
        .output()
        .context("fio is not there: install the package `fio` (apt install fio)")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs the work.
pub(crate) fn run(work: &Work<'_>, mode: Mode, setting: &Setting) -> anyhow::Result<Done> {
    let result = setting.scratch().join("fio.json");
    let mut command = Command::new("fio");
    command.args(arguments(work, mode));
    command.arg("--output-format=json");
    command.arg(format!("--output={}", result.display()));
    let used = process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    let text = std::fs::read_to_string(&result).context("fio wrote no result")?;
    let moved = parse(&text, work.way)?;
    Ok(Done {
        bytes: moved.io_bytes,
        rate_bytes_per_s: moved.bw_bytes,
        used,
    })
}

fn arguments(work: &Work<'_>, mode: Mode) -> Vec<String> {
    let mut arguments = vec![
        "--name=compared".to_owned(),
        format!("--filename={}", work.path.display()),
        format!("--rw={}", work.way.name()),
        format!("--bs={}", work.record_bytes),
        format!("--iodepth={}", work.depth),
        format!("--size={}", work.size_bytes),
        format!("--runtime={}", work.time_s),
        format!("--ioengine={}", work.interface.name()),
        "--time_based".to_owned(),
        "--direct=1".to_owned(),
        "--overwrite=1".to_owned(),
        "--fallocate=none".to_owned(),
    ];
    if work.interface == Interface::IoUring {
        arguments.extend(["--fixedbufs=1", "--registerfiles=1"].map(str::to_owned));
    }
    let extra: &[&str] = match mode {
        Mode::Plain => &[],
        Mode::HugePages => &["--iomem=mmaphuge"],
        Mode::Refill => &["--refill_buffers=1"],
        Mode::Batched => &["--iodepth_batch=16", "--gtod_reduce=1"],
    };
    arguments.extend(extra.iter().map(|argument| (*argument).to_owned()));
    arguments
}

fn parse(text: &str, way: Way) -> anyhow::Result<Moved> {
    // Notes of fio may stand before the document.
    let start = text.find('{').context("fio's result is not JSON")?;
    let output: Output =
        serde_json::from_str(&text[start..]).context("fio's result has another form")?;
    let [job] = output.jobs.as_slice() else {
        bail!("fio was given one job and tells of {}", output.jobs.len());
    };
    if job.error != 0 {
        bail!("fio met error {}", job.error);
    }
    let moved = match way {
        Way::Write => job.write,
        Way::Read => job.read,
    };
    if moved.io_bytes == 0 {
        bail!("fio moved nothing");
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"fio: a note
{"fio version":"fio-3.33","jobs":[{"jobname":"compared","error":0,
 "read":{"io_bytes":0,"bw_bytes":0,"iops":0.0},
 "write":{"io_bytes":4096000,"bw_bytes":2048000,"runtime":2000,"iops":500.0}}]}"#;

    #[test]
    fn bytes_and_rate_of_the_right_way_are_read() {
        let moved = parse(TEXT, Way::Write).unwrap();
        assert_eq!((moved.io_bytes, moved.bw_bytes), (4_096_000, 2_048_000.0));
    }

    #[test]
    fn a_job_that_failed_or_did_nothing_is_no_result() {
        assert!(parse(TEXT, Way::Read).is_err());
        assert!(parse(&TEXT.replace("\"error\":0", "\"error\":5"), Way::Write).is_err());
        assert!(parse("no JSON", Way::Write).is_err());
    }

    #[test]
    fn registration_is_asked_of_io_uring_only() {
        let mut work = Work {
            path: std::path::Path::new("/dev/null"),
            way: Way::Write,
            interface: Interface::Libaio,
            record_bytes: 4096,
            depth: 64,
            size_bytes: 1 << 20,
            time_s: 1,
        };
        let fixed =
            |work: &Work<'_>| arguments(work, Mode::Batched).contains(&"--fixedbufs=1".to_owned());
        assert!(!fixed(&work));
        work.interface = Interface::IoUring;
        assert!(fixed(&work));
    }
}
