//! A target that takes no requests holds up no other: two file systems, one of them frozen, below
//! one io_uring. Needs root, loop devices, mkfs.ext4 and fsfreeze.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test says why it stops or skips"
)]

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use sustain_disk::buffer::BufferPool;
use sustain_disk::clock::Clock;
use sustain_disk::engine::{
    Completion, Engine, EngineChoice, Limits, Operation, Request, Until, Vector, Vectors, open,
};
use sustain_disk::error::Error;
use sustain_testing::{Requirement, skip};

const BLOCK: usize = 4096;
/// More than the kernel has worker threads for by default, which is four for each CPU.
fn depth() -> u32 {
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    4 * cpus as u32 + 8
}
/// Whoever waits so long waits for ever.
const FAR_NS: u64 = 30_000_000_000;

/// A file system in a file. It is thawed and unmounted whatever happens.
struct Mounted {
    place: PathBuf,
}

impl Mounted {
    fn new(folder: &Path, name: &str) -> Result<Mounted, String> {
        let (image, place) = (folder.join(format!("{name}.img")), folder.join(name));
        File::create(&image).unwrap().set_len(32 << 20).unwrap();
        std::fs::create_dir(&place).unwrap();
        run(Command::new("mkfs.ext4").arg("-q").arg(&image))?;
        run(Command::new("mount")
            .args(["-o", "loop"])
            .args([&image, &place]))?;
        Ok(Mounted { place })
    }

    fn freeze(&self) -> Result<(), String> {
        run(Command::new("fsfreeze").arg("--freeze").arg(&self.place))
    }

    fn thaw(&self) {
        let _ = run(Command::new("fsfreeze").arg("--unfreeze").arg(&self.place));
    }

    /// A file of so many blocks that are written, for direct I/O.
    fn file(&self, blocks: usize) -> File {
        let path = self.place.join("file");
        std::fs::write(&path, vec![1; blocks * BLOCK]).unwrap();
        let mut options = File::options();
        let options = options.read(true).write(true);
        let file = options.custom_flags(libc::O_DIRECT).open(path).unwrap();
        file.sync_all().unwrap();
        file
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.thaw();
        // A ring that is closed has its files for a moment still; the rest follows when they are
        // closed.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.place));
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {told}")),
    }
}

fn write(pool: &mut BufferPool, target: usize, block: usize) -> Request {
    Request {
        operation: Operation::Write,
        offset_bytes: (block * BLOCK) as u64,
        vectors: Vectors::One(Vector::new(pool.take().unwrap(), 0, BLOCK)),
        ..Request::flush(target)
    }
}

/// Waits for so many completions of a target; how many came, if not all.
fn wait_for(
    engine: &mut dyn Engine,
    target: usize,
    count: usize,
    completions: &mut Vec<Completion>,
) -> usize {
    let deadline = Clock::Real.now() + FAR_NS;
    loop {
        let of_target = |one: &&Completion| one.request.target == target;
        let came = completions.iter().filter(of_target).count();
        if came >= count || Clock::Real.now() >= deadline {
            return came;
        }
        let until = Until::CompletionOr(deadline);
        engine.wait(until, completions).unwrap();
    }
}

#[test]
fn a_frozen_file_system_holds_up_no_other() {
    if !rustix::process::geteuid().is_root() {
        skip(Requirement::Mounts, "they need root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let both = ["frozen", "healthy"].map(|name| Mounted::new(folder.path(), name));
    let [Ok(frozen), Ok(healthy)] = both else {
        let why: Vec<String> = both.into_iter().filter_map(Result::err).collect();
        skip(Requirement::Mounts, why.join("; "));
        return;
    };
    let count = depth() as usize;
    let files = [&frozen, &healthy].map(|one| Arc::new(one.file(count).into()));
    let limits = Limits {
        depth: depth() + 1,
        in_flight_max: 2 * (depth() + 1),
    };
    let opened = open(
        EngineChoice::IoUring,
        files.to_vec(),
        limits,
        &[],
        &Clock::Real,
    );
    let mut engine = match opened {
        Ok(opened) => opened.engine,
        Err(Error::EngineRefused { engine, why }) => {
            skip(Requirement::Engine(engine), why);
            return;
        }
        Err(other) => panic!("{other}"),
    };
    drop(files);
    let mut pool = BufferPool::new(2 * count, BLOCK).unwrap();
    let mut completions = Vec::new();
    frozen.freeze().unwrap();
    for block in 0..count {
        engine.submit(write(&mut pool, 0, block));
    }
    engine.wait(Until::Now, &mut completions).unwrap();
    for block in 0..count {
        engine.submit(write(&mut pool, 1, block));
    }
    let written = wait_for(&mut *engine, 1, count, &mut completions);
    // A flush is always the work of such a thread.
    engine.submit(Request::flush(1));
    let all = wait_for(&mut *engine, 1, count + 1, &mut completions);
    let is_frozen = completions.iter().all(|one| one.request.target == 1);
    frozen.thaw();
    assert_eq!((written, all), (count, count + 1), "the healthy one waits");
    assert!(is_frozen, "what is frozen takes no writes");
    let thawed = wait_for(&mut *engine, 0, count, &mut completions);
    assert_eq!(thawed, count);
    assert!(completions.iter().all(|one| one.error.is_none()));
}
