//! Helpers that the tests of this crate share: targets with nothing behind them, and a system of
//! made-up devices.

use std::path::Path;

use sustain_disk::target::{Target, TargetKind};
use sustain_host::Roots;

/// A target of this kind, without a file.
pub(crate) fn target(kind: TargetKind) -> Target {
    Target {
        name: "one".to_owned(),
        kind,
        file: None,
        capacity_bytes: None,
        alignment_bytes: 1,
        device: None,
        lock: None,
    }
}

/// A system with these devices below `sys`: of each the path, as `sdz/sdz1` for a partition, and
/// the number. It lives as long as the directory.
pub(crate) fn system(devices: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
    let directory = tempfile::tempdir().unwrap();
    let roots = Roots {
        sys: directory.path().join("sys"),
        proc: directory.path().join("proc"),
    };
    for (device, number) in devices {
        let node = roots.sys.join("devices").join(device);
        write(&node.join("dev"), number);
        write(&node.join("size"), "2048");
        write(&node.join("ro"), "0");
        if device.contains('/') {
            write(&node.join("partition"), "1");
        }
        let name = node.file_name().unwrap().to_str().unwrap();
        for link in [format!("dev/block/{number}"), format!("class/block/{name}")] {
            let link = roots.sys.join(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(&node, link).unwrap();
        }
    }
    (directory, roots)
}

/// Writes a file with the directories that lead to it.
pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
