//! What the tests of the command share: a place of their own with machine files, runs of the real
//! binary, and its result as JSON.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use serde_json::Value;

/// A directory of its own on a real disk, gone with the test. Commands run in it.
pub struct Place {
    directory: tempfile::TempDir,
}

/// What a run of the binary left.
#[derive(Debug)]
pub struct Ran {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// What standard error said of who records on the same disk: other tests may, at any time.
    pub said_of_recorders: String,
}

impl Ran {
    /// Fails the test with everything that was said unless the exit code is this.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Standard error without the lines of free space, which is another on each machine.
    pub fn told(&self) -> String {
        let is_of_space = |line: &str| {
            [" free, ", " free)", " are free"]
                .iter()
                .any(|words| line.contains(words))
        };
        let told = self.stderr.lines().filter(|line| !is_of_space(line));
        told.collect::<Vec<_>>().join("\n")
    }

    /// Fails the test unless standard error has these words.
    #[track_caller]
    pub fn says(self, words: &str) -> Ran {
        assert!(
            unwrapped(&self.stderr).contains(words),
            "no {words:?} in {self:#?}"
        );
        self
    }
}

/// Whether a file here can be opened for direct requests. It is made, and removed.
fn takes_direct(probe: &Path) -> bool {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::DIRECT;
    let opened = rustix::fs::open(probe, flags, Mode::RUSR | Mode::WUSR);
    // What could not be made is not there.
    let _ = std::fs::remove_file(probe);
    opened.is_ok()
}

/// Text without the line breaks of a narrow terminal.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A sentence on each line, for snapshots that are reviewed whole.
pub fn sentences(text: &str) -> String {
    unwrapped(text).replace(". ", ".\n")
}

/// The notes of a document, one on each line.
#[track_caller]
pub fn notes_of(result: &Value) -> String {
    let notes = result["notes"].as_array().unwrap().iter();
    notes
        .map(|note| note.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The words of a part of a page as a reader sees them, with a bar between its cells.
pub fn words_of_markup(markup: &str) -> String {
    let texts = markup
        .split('<')
        .skip(1)
        .filter_map(|part| Some(part.split_once('>')?.1.trim()));
    texts
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(" | ")
}

impl Place {
    pub fn new() -> Place {
        // Not in /tmp, which is often memory and refuses direct I/O.
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Place { directory }
    }

    /// A place in memory, where no other user of a disk can hold up a short run: where memory takes
    /// direct requests, as it does from Linux 6.6 on. Else it is one on the disk.
    pub fn in_memory() -> Place {
        match tempfile::tempdir_in("/dev/shm") {
            Ok(directory) if takes_direct(&directory.path().join("probe")) => Place { directory },
            _ => Place::new(),
        }
    }

    /// A place with one machine, `machine.toml`.
    pub fn with_machine(toml: &str) -> Place {
        let place = Place::new();
        place.write("machine.toml", toml);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// What lies here, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The binary, to be run here, its output to be read.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sustain"));
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `sustain` to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).output().unwrap())
    }

    /// What is said to whoever asks for what is refused, a sentence on each line.
    #[track_caller]
    pub fn refusal(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments).expect(2);
        assert_eq!(ran.stdout, "", "results go there, explanations do not");
        assert!(ran.stderr.lines().count() < 12, "too long: {}", ran.stderr);
        let here = format!("{}/", self.directory.path().display());
        sentences(&ran.told()).replace(&here, "")
    }

    /// The same for each of these, under the arguments that it answers.
    #[track_caller]
    pub fn refusals(&self, command: &[&str], all: &[&[&str]]) -> String {
        let mut said = String::new();
        for arguments in all {
            let words = [command, arguments].concat();
            let typed = shlex::try_join(words.iter().copied()).unwrap();
            said += &format!("$ sustain {typed}\n{}\n\n", self.refusal(&words));
        }
        said
    }

    /// Runs `sustain measure sim:machine.toml` with these flags and reads its result.
    #[track_caller]
    pub fn simulate(&self, code: i32, flags: &[&str]) -> Value {
        self.measure(code, &[&["sim:machine.toml"], flags].concat())
    }

    /// Runs `sustain measure` and reads its result.
    #[track_caller]
    pub fn measure(&self, code: i32, arguments: &[&str]) -> Value {
        let all = [&["measure", "--json", "-"], arguments].concat();
        json_of(&self.run(&all).expect(code).stdout)
    }
}

/// What an ended process left.
pub fn ran(output: std::process::Output) -> Ran {
    let (own, of_recorders) = said(output.stderr);
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: own,
        said_of_recorders: of_recorders,
    }
}

/// What was written to standard error, and what of that is about recorders on the same disk, which
/// may be those of other tests.
pub fn said(stderr: Vec<u8>) -> (String, String) {
    let stderr = String::from_utf8(stderr).unwrap();
    let is_of_recorders = |line: &&str| line.contains("on this disk: reads wait");
    let (of_recorders, own): (Vec<&str>, Vec<&str>) =
        stderr.split_inclusive('\n').partition(is_of_recorders);
    (own.concat(), of_recorders.concat())
}

#[track_caller]
pub fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// A simulated disk, written at a rate; more keys may follow.
pub fn disk(name: &str, capacity: &str, write: &str, more: &str) -> String {
    format!("[[disk]]\nname = \"{name}\"\ncapacity = \"{capacity}\"\nwrite = \"{write}\"\n{more}\n")
}

/// The target of this name.
#[track_caller]
pub fn target<'a>(result: &'a Value, name: &str) -> &'a Value {
    let targets = result["targets"].as_array().unwrap();
    let found = targets.iter().find(|target| target["name"] == name);
    found.unwrap_or_else(|| panic!("no target {name} in {targets:#?}"))
}

/// A number, wherever it stands.
#[track_caller]
pub fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Fails unless the value lies within so many percent.
#[track_caller]
pub fn assert_about(value: &Value, expected: f64, percent: f64) {
    let found = number(value);
    assert!(
        (found - expected).abs() <= expected.abs() * percent / 100.0,
        "{found} is not {expected} within {percent} %"
    );
}

/// The published schema of `measure --json`.
pub fn schema() -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measure.schema.json");
    jsonschema::validator_for(&json_of(&std::fs::read_to_string(path).unwrap())).unwrap()
}

/// Fails unless the document has the published form.
#[track_caller]
pub fn assert_valid(document: &Value) {
    let errors: Vec<String> = schema()
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
