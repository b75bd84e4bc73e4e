//! What the guard's tests are made of: loop devices over sparse images, partitions on them, mounts
//! and swap areas. Each takes itself away again, also when a test fails, and nothing here touches
//! a device that it has not made.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use sustain_testing::{Requirement, skip};

use crate::support::Place;

/// How often something that the kernel does in its own time is looked at again.
const TRIES: u32 = 200;
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// Runs a system tool; its standard output, or all that it said.
pub fn try_tool(words: &[&str]) -> Result<String, String> {
    let output: Output = Command::new(words[0])
        .args(&words[1..])
        .output()
        .map_err(|error| format!("{}: {error}", words[0]))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() {
        return Ok(text);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{words:?}: {text} {}", stderr.trim()))
}

#[track_caller]
pub fn tool(words: &[&str]) -> String {
    try_tool(words).unwrap_or_else(|why| panic!("{why}"))
}

/// Whether it became so within ten seconds.
pub fn becomes(mut so: impl FnMut() -> bool) -> bool {
    for _ in 0..TRIES {
        if so() {
            return true;
        }
        std::thread::park_timeout(TRY_AGAIN);
    }
    false
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A loop device.
pub struct Loop {
    /// `/dev/loop7`.
    pub name: String,
    over: PathBuf,
}

impl Loop {
    /// Over a file or device; `None`, with the reason printed, where that is not possible.
    pub fn over(path: &Path, flags: &[&str]) -> Option<Loop> {
        if !is_root() {
            skip(Requirement::LoopDevices, "they need root");
            return None;
        }
        let find = ["losetup", "--find", "--show"];
        let mut why = String::new();
        // Between finding a free one and taking it, someone else may have taken it.
        for _ in 0..TRIES {
            match try_tool(&[&find[..], flags, &[text(path)]].concat()) {
                Ok(name) => {
                    let over = path.to_owned();
                    return Some(Loop { name, over });
                }
                Err(said) => why = said,
            }
            if !why.contains("busy") {
                break;
            }
            std::thread::park_timeout(TRY_AGAIN);
        }
        skip(Requirement::LoopDevices, why);
        None
    }

    pub fn kernel_name(&self) -> &str {
        self.name.strip_prefix("/dev/").unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let backing = format!("/sys/block/{}/loop/backing_file", self.kernel_name());
        // Never one that has meanwhile become someone else's.
        let ours = std::fs::read_to_string(backing)
            .is_ok_and(|path| Path::new(path.trim_end()) == self.over);
        if ours && let Err(why) = try_tool(&["losetup", "--detach", &self.name]) {
            eprintln!("{why}");
        }
    }
}

/// A sparse file with a little data at its beginning, middle and end, and a loop device over it.
pub struct Disk {
    // Detached before its directory goes.
    pub device: Loop,
    pub image: PathBuf,
    pub place: Place,
}

impl Disk {
    pub fn new(size_bytes: u64) -> Option<Disk> {
        Disk::with_flags(size_bytes, &[])
    }

    pub fn with_flags(size_bytes: u64, flags: &[&str]) -> Option<Disk> {
        let place = Place::new();
        let image = place.path("disk.img");
        make_image(&image, size_bytes);
        let device = Loop::over(&image, flags)?;
        Some(Disk {
            device,
            image,
            place,
        })
    }

    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// Every byte that lies on it.
    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.image).unwrap()
    }

    /// Puts a small ext4 on it that does nothing by itself once it is mounted.
    pub fn make_file_system(&self) {
        make_file_system(self.name());
    }
}

pub fn make_image(path: &Path, size_bytes: u64) {
    use std::os::unix::fs::FileExt;
    let file = File::create_new(path).unwrap();
    file.set_len(size_bytes).unwrap();
    // No known signature; past the first 4 KiB, so that nothing takes it for one.
    let words = b"of great value";
    for offset in [300_000, size_bytes / 2, size_bytes - 1000] {
        if offset < size_bytes {
            file.write_all_at(words, offset).unwrap();
        }
    }
}

pub fn make_file_system(device: &str) {
    let options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    tool(&[
        "mkfs.ext4",
        "-q",
        "-F",
        "-L",
        "precious",
        "-E",
        options,
        device,
    ]);
}

/// A partition that the kernel was told of; the table on the disk stays as it is.
pub struct Partition {
    /// `/dev/loop7p1`.
    pub name: String,
    disk: String,
    number: String,
    start_bytes: u64,
    size_bytes: u64,
}

impl Partition {
    pub fn add(disk: &Disk, number: u32, start_bytes: u64, size_bytes: u64) -> Partition {
        let sectors = |bytes: u64| (bytes / 512).to_string();
        let number = number.to_string();
        tool(&[
            "addpart",
            disk.name(),
            &number,
            &sectors(start_bytes),
            &sectors(size_bytes),
        ]);
        let partition = Partition {
            name: format!("{}p{number}", disk.name()),
            disk: disk.name().to_owned(),
            number,
            start_bytes,
            size_bytes,
        };
        assert!(becomes(|| Path::new(&partition.name).exists()));
        partition
    }

    /// Where it lies on its disk.
    pub fn range(&self) -> std::ops::Range<usize> {
        let end_bytes = self.start_bytes + self.size_bytes;
        usize::try_from(self.start_bytes).unwrap()..usize::try_from(end_bytes).unwrap()
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        let gone = becomes(|| try_tool(&["delpart", &self.disk, &self.number]).is_ok());
        if !gone {
            eprintln!("{} could not be taken away", self.name);
        }
    }
}

/// A mounted file system.
pub struct Mount {
    pub point: PathBuf,
}

impl Mount {
    /// Mounts with these words of mount(8); the file system is quiet afterwards.
    pub fn new(place: &Place, flags: &[&str]) -> Mount {
        Mount::at(place, flags).unwrap_or_else(|why| panic!("{why}"))
    }

    /// The same; `None`, with the reason printed, where nothing can be mounted.
    pub fn try_new(place: &Place, flags: &[&str]) -> Option<Mount> {
        if !is_root() {
            skip(Requirement::Mounts, "they need root");
            return None;
        }
        let mount = Mount::at(place, flags);
        mount.map_err(|why| skip(Requirement::Mounts, why)).ok()
    }

    fn at(place: &Place, flags: &[&str]) -> Result<Mount, String> {
        let point = place.path("mounted");
        std::fs::create_dir_all(&point).unwrap();
        try_tool(&[&["mount"], flags, &[text(&point)]].concat())?;
        let mount = Mount { point };
        mount.settle();
        Ok(mount)
    }

    pub fn settle(&self) {
        tool(&["sync", "--file-system", text(&self.point)]);
    }

    pub fn path(&self, name: &str) -> String {
        text(&self.point.join(name)).to_owned()
    }

    pub fn free_bytes(&self) -> u64 {
        let status = rustix::fs::statvfs(&self.point).unwrap();
        status.f_bavail * status.f_frsize
    }

    /// Takes all the space there is.
    pub fn fill(&self) {
        use std::io::Write;
        let mut file = File::create(self.point.join("filling")).unwrap();
        for length in [1 << 16, 1 << 10] {
            while file.write_all(&vec![1; length]).is_ok() {}
        }
        self.settle();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // What a killed process had open is let go in the kernel's own time.
        if !becomes(|| try_tool(&["umount", text(&self.point)]).is_ok()) {
            eprintln!("{} could not be unmounted", self.point.display());
        }
    }
}

/// Active swap on a device or in a file.
pub struct Swap {
    name: String,
    /// The pages of the disk's image that the kernel may write at any moment.
    pages: Vec<usize>,
}

const PAGE_BYTES: usize = 4096;
/// Fills what becomes swap, so that its pages are found in the image of the disk below.
const SWAP_FILL: [u8; PAGE_BYTES] = [0xa5; PAGE_BYTES];

impl Swap {
    /// Switches on a partition or file that lies on this disk.
    ///
    /// `None`, with the reason printed, where that is not allowed.
    pub fn on(disk: &Disk, name: &str) -> Option<Swap> {
        tool(&["mkswap", name]);
        tool(&["sync", name]);
        let bytes = disk.bytes();
        let filled = bytes.chunks_exact(PAGE_BYTES).enumerate();
        let filled = filled.filter(|(_, page)| *page == SWAP_FILL);
        let pages: Vec<usize> = filled.map(|(number, _)| number).collect();
        assert!(!pages.is_empty(), "nothing of {name} is filled");
        match try_tool(&["swapon", "--priority", "0", name]) {
            Ok(_) => Some(Swap {
                name: name.to_owned(),
                pages,
            }),
            Err(why) => {
                skip(Requirement::Swap, why);
                None
            }
        }
    }

    /// Every byte of the disk, but zeros for those which the kernel may write.
    ///
    /// The head of the swap area is among what is left: whatever writes it from its beginning on
    /// changes these bytes.
    pub fn bytes_beside(&self, disk: &Disk) -> Vec<u8> {
        let mut bytes = disk.bytes();
        for page in &self.pages {
            bytes[page * PAGE_BYTES..][..PAGE_BYTES].fill(0);
        }
        bytes
    }
}

/// Fills an area as [`Swap::on`] wants to find it.
pub fn fill_for_swap(area: &str, size_bytes: u64) {
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(false)
        .open(area)
        .unwrap();
    for _ in 0..size_bytes / SWAP_FILL.len() as u64 {
        file.write_all(&SWAP_FILL).unwrap();
    }
    file.sync_all().unwrap();
}

impl Drop for Swap {
    fn drop(&mut self) {
        if let Err(why) = try_tool(&["swapoff", &self.name]) {
            eprintln!("{why}");
        }
    }
}
