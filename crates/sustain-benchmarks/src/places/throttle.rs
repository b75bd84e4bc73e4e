//! A limit on devices, for this program and the programs it starts: a control group of its own
//! (version 1, blkio), left and removed when dropped.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::LoopDevice;

const CONTROLLER: &str = "/sys/fs/cgroup/blkio";
const PROCESSES: &str = "cgroup.procs";
const RULES: [&str; 2] = [
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_bps_device",
];

/// The control group this program is in.
#[derive(Debug)]
pub(crate) struct Throttle {
    group: PathBuf,
    home: PathBuf,
}

impl Throttle {
    /// Why limits cannot be had, if so.
    pub(crate) fn refused() -> Option<String> {
        if let Some(why) = super::refused() {
            return Some(why);
        }
        let there = Path::new(CONTROLLER).join(RULES[0]).exists()
            || Path::new(CONTROLLER).join(PROCESSES).exists();
        (!there).then(|| format!("needs the cgroup v1 controller blkio at {CONTROLLER}"))
    }

    /// Enters a new group without limits.
    pub(crate) fn enter() -> anyhow::Result<Throttle> {
        let own = std::fs::read_to_string("/proc/self/cgroup")
            .context("cannot tell the control group of this program")?;
        let place = place(&own).context("this program is in no blkio control group")?;
        let home = Path::new(CONTROLLER).join(place.trim_start_matches('/'));
        let group = home.join(format!("sustain-benchmarks-{}", std::process::id()));
        std::fs::create_dir(&group)
            .with_context(|| format!("cannot make the control group {}", group.display()))?;
        let throttle = Throttle { group, home };
        move_to(&throttle.group)?;
        Ok(throttle)
    }

    /// Limits a device both ways.
    pub(crate) fn limit(&self, device: &LoopDevice, bytes_per_s: u64) -> anyhow::Result<()> {
        let rule = format!("{} {bytes_per_s}", device.number()?);
        for name in RULES {
            let file = self.group.join(name);
            std::fs::write(&file, &rule)
                .with_context(|| format!("cannot write {rule:?} to {}", file.display()))?;
        }
        Ok(())
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // Where that fails nothing better can be done than to leave an empty group.
        let _ = move_to(&self.home);
        let _ = std::fs::remove_dir(&self.group);
    }
}

fn move_to(group: &Path) -> anyhow::Result<()> {
    let file = group.join(PROCESSES);
    std::fs::write(&file, std::process::id().to_string())
        .with_context(|| format!("cannot enter the control group {}", group.display()))
}

/// The blkio group in a text like `7:blkio:/user`.
fn place(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers
            .split(',')
            .any(|name| name == "blkio")
            .then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_found_among_others() {
        let text = "9:name=systemd:/\n7:cpu,blkio:/a:b\n0::/\n";
        assert_eq!(place(text), Some("/a:b"));
        assert_eq!(place("0::/user.slice\n"), None);
    }
}
