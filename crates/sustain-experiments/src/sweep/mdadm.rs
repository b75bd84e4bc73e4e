//! Runs the program `mdadm`: the arguments it is given, and its message when it fails. `array.rs`
//! calls it. It must never be given a device that the guard has not passed, nor an array that this
//! program has not made itself.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sustain_disk::units::Size;
use sustain_document::setting::{CHUNK, MD};
use sustain_host::Roots;

use crate::error::MeasureError;

/// The directories where it is on systems whose users do not have these in their PATH.
const SYSTEM_PLACES: [&str; 2] = ["/usr/sbin", "/sbin"];
/// Arrays are given these numbers, because people number theirs from 0 up, and the system from 127
/// down.
const NUMBERS: std::ops::Range<u32> = 80..112;

/// The program that builds and stops arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mdadm {
    /// A name that is searched for in PATH, or a path.
    pub program: PathBuf,
    /// The directory where devices appear.
    pub devices: PathBuf,
}

impl Default for Mdadm {
    fn default() -> Mdadm {
        Mdadm {
            program: PathBuf::from("mdadm"),
            devices: PathBuf::from("/dev"),
        }
    }
}

/// Checks that everything an array needs besides its members is there.
///
/// # Errors
/// [`MeasureError::Usage`] with what to do: there is no root, no program, or no driver.
pub(super) fn check(mdadm: &Mdadm, roots: &Roots) -> Result<(), MeasureError> {
    let usage = |text: String| Err(MeasureError::Usage(text));
    let md = MD.the();
    if !rustix::process::geteuid().is_root() {
        return usage(format!(
            "{md} builds arrays, which needs root: run it with sudo"
        ));
    }
    if mdadm.found().is_none() {
        return usage(format!(
            "{md} builds arrays with {}, which is not installed: install mdadm (Debian: apt \
             install mdadm)",
            mdadm.program.display()
        ));
    }
    if !roots.proc.join("mdstat").exists() {
        return usage(format!(
            "{md} builds arrays, and no md driver is loaded: load it with modprobe raid0; if there \
             is no such module, this kernel cannot build arrays: leave out {md}"
        ));
    }
    Ok(())
}

/// Checks that chunks are possible for arrays.
///
/// # Errors
/// [`MeasureError::Usage`], naming the first chunk that is not possible.
pub(super) fn check_chunks(chunks_bytes: &[u64]) -> Result<(), MeasureError> {
    let is_one = |chunk: &&u64| chunk.is_power_of_two() && **chunk >= 4096;
    match chunks_bytes.iter().find(|chunk| !is_one(chunk)) {
        None => Ok(()),
        Some(chunk) => Err(MeasureError::Usage(format!(
            "{} cannot be used with {}: an array needs a power of two from 4KiB on",
            CHUNK.of(Size(*chunk)),
            MD.to("raid0")
        ))),
    }
}

impl Mdadm {
    /// The path of the program, if it exists.
    fn found(&self) -> Option<PathBuf> {
        if self.program.components().count() > 1 {
            return self.program.is_file().then(|| self.program.clone());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let system = SYSTEM_PLACES.iter().map(PathBuf::from);
        let mut places = std::env::split_paths(&path).chain(system);
        places.find_map(|place| {
            let program = place.join(&self.program);
            program.is_file().then_some(program)
        })
    }

    /// A name of an array that does not exist: `md80`.
    pub(super) fn free_name(roots: &Roots) -> Option<String> {
        let mut names = NUMBERS.map(|number| format!("md{number}"));
        names.find(|name| !exists(roots, name))
    }

    /// The path of that array's device.
    pub(super) fn device(&self, name: &str) -> PathBuf {
        self.devices.join(name)
    }

    /// Makes a RAID 0. Its data begins where that of its members does, so that the same part of a
    /// disk is measured with and without an array.
    pub(super) fn create(
        &self,
        device: &Path,
        chunk_bytes: u64,
        members: &[PathBuf],
    ) -> Result<(), String> {
        let words = [
            "--create".to_owned(),
            device.display().to_string(),
            "--run".to_owned(),
            "--level=0".to_owned(),
            "--metadata=1.0".to_owned(),
            "--name=sustain".to_owned(),
            format!("--chunk={}K", chunk_bytes >> 10),
            format!("--raid-devices={}", members.len()),
        ];
        self.run(&words, members)
    }

    /// Stops an array; the content of its members is kept.
    pub(super) fn stop(&self, device: &Path) -> Result<(), String> {
        self.run(&["--stop".to_owned()], &[device])
    }

    /// Removes the superblocks, so that nobody assembles the array again.
    pub(super) fn zero_superblocks(&self, members: &[PathBuf]) -> Result<(), String> {
        self.run(&["--zero-superblock".to_owned()], members)
    }

    fn run(&self, words: &[String], devices: &[impl AsRef<OsStr>]) -> Result<(), String> {
        let program = self.found().unwrap_or_else(|| self.program.clone());
        let output = Command::new(program)
            .args(words)
            .args(devices)
            .stdin(Stdio::null())
            // Ctrl-C in a terminal is meant for this program, which then ends what it has begun.
            .process_group(0)
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().map(str::trim).collect();
        let said = if lines.is_empty() {
            output.status.to_string()
        } else {
            lines.join("; ")
        };
        // Its messages begin with its own name.
        let said = said.strip_prefix("mdadm: ").unwrap_or(&said);
        Err(format!("mdadm {}: {said}", words[0]))
    }
}

/// Whether the kernel has an array of this name, in any state.
pub(super) fn exists(roots: &Roots, name: &str) -> bool {
    roots.sys.join("class/block").join(name).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_taken_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: place.path().to_owned(),
            proc: place.path().to_owned(),
        };
        assert_eq!(Mdadm::free_name(&roots).as_deref(), Some("md80"));
        for number in NUMBERS {
            let name = format!("md{number}");
            assert!(!exists(&roots, &name));
            std::fs::create_dir_all(place.path().join("class/block").join(&name)).unwrap();
            assert_ne!(Mdadm::free_name(&roots), Some(name));
        }
        assert_eq!(Mdadm::free_name(&roots), None);
    }

    #[test]
    fn chunks_are_powers_of_two_from_a_page_on() {
        assert!(check_chunks(&[4096, 65536, 1 << 22]).is_ok());
        for wrong in [512, 2048, 6144, 96 << 10] {
            let why = check_chunks(&[65536, wrong]).unwrap_err().to_string();
            assert!(why.contains("power of two from 4KiB"), "{why}");
        }
    }

    #[test]
    fn what_the_program_says_is_kept() {
        let mdadm = |program: &str| Mdadm {
            program: PathBuf::from(program),
            ..Mdadm::default()
        };
        let why = mdadm("/nowhere/mdadm").stop(Path::new("md80")).unwrap_err();
        assert!(why.starts_with("/nowhere/mdadm: "), "{why}");
        assert_eq!(mdadm("no-such-program").found(), None);
        let why = mdadm("/bin/false").stop(Path::new("md80")).unwrap_err();
        assert!(why.starts_with("mdadm --stop: exit status: 1"), "{why}");
    }
}
