//! The one line that says what a recorder took for itself. The recording says it first, and the
//! reports show it. A function of data only.

use sustain_disk::units::Size;
use sustain_document::share::{
    CpuPriorityResult, IoClass, IoPriorityResult, LockedBufferResult, MemberPriority,
    PriorityEffect, RecorderShare, ShareResult,
};

use crate::hold_back_words::intent;

/// What was taken, what was refused and how it could be had, and what the disks make of it.
#[must_use]
pub fn share_line(share: &ShareResult) -> String {
    let mut line = own_line(share);
    if let Some(hold_back) = &share.hold_back {
        line.push_str(&format!("; {}", intent(hold_back)));
    }
    line
}

fn own_line(share: &ShareResult) -> String {
    match (share.asked, share.is_simulated) {
        (RecorderShare::Fair, _) => {
            "share fair: disk, CPU and memory are shared with other programs on equal terms"
                .to_owned()
        }
        (RecorderShare::First, true) => {
            "share first: nothing is taken on a simulated machine".to_owned()
        }
        (RecorderShare::First, false) => {
            let mut line = format!("share first: {}", taken(share));
            for effect in effects(&share.members) {
                line.push_str(&format!("; {effect}"));
            }
            line
        }
    }
}

fn taken(share: &ShareResult) -> String {
    [
        io_words(&share.io_priority),
        cpu_words(&share.cpu_priority),
        memory_words(&share.locked_buffer),
    ]
    .join(", ")
}

fn io_words(io: &IoPriorityResult) -> String {
    let level = io.level.unwrap_or_default();
    match io.class {
        Some(IoClass::RealTime) => format!("I/O priority real-time {level}"),
        Some(IoClass::BestEffort) => {
            format!("I/O priority best-effort {level} (real-time needs CAP_SYS_NICE)")
        }
        None => format!("no I/O priority ({})", answer(io.refused.as_ref())),
    }
}

fn cpu_words(cpu: &CpuPriorityResult) -> String {
    let nice = cpu.nice.unwrap_or_default();
    match cpu.refused {
        None => format!("CPU nice {nice}"),
        Some(_) => format!("CPU nice {nice} (less needs CAP_SYS_NICE or `ulimit -e`)"),
    }
}

fn memory_words(locked: &LockedBufferResult) -> String {
    let (bytes, of_bytes) = (Size(locked.bytes), Size(locked.of_bytes));
    match &locked.refused {
        None => format!("{of_bytes} of buffer locked"),
        Some(_) => format!("{bytes} of {of_bytes} of buffer locked (all needs `ulimit -l`)"),
    }
}

fn answer(refused: Option<&String>) -> &str {
    refused.map_or("the kernel has none", String::as_str)
}

/// What the disks make of the I/O priority, each thing said once for all members of which it is
/// true.
fn effects(members: &[MemberPriority]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for words in members.iter().flat_map(member_words) {
        if !found.contains(&words) {
            found.push(words);
        }
    }
    found
}

fn member_words(member: &MemberPriority) -> Vec<String> {
    let name = &member.name;
    if member.schedulers.is_empty() {
        return vec![format!("what disk is under {name} is not known")];
    }
    if member.is_cached {
        return vec![format!(
            "{name} is written through the page cache, from where the kernel writes without this \
             priority"
        )];
    }
    if member.is_passthrough {
        return vec![format!(
            "passthrough to {name} has no I/O scheduler, so the kernel gives nobody priority there"
        )];
    }
    let through = member.through.join(" and ");
    let disks = member.schedulers.iter();
    disks
        .map(|disk| {
            let (device, scheduler) = (&disk.device, &disk.scheduler);
            if scheduler == "none" {
                return format!(
                    "{device} has no I/O scheduler, so the kernel gives nobody priority there"
                );
            }
            let heeds = format!("the I/O scheduler of {device} ({scheduler})");
            match member.effect {
                PriorityEffect::Ignored => format!("{heeds} gives nobody priority"),
                PriorityEffect::Unclear if !through.is_empty() => {
                    format!("{heeds} gives it priority as far as {through} passes that on")
                }
                PriorityEffect::Unclear | PriorityEffect::Heeded => {
                    format!("{heeds} puts its requests first")
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use sustain_document::share::DeviceScheduler;

    use super::*;

    fn member(name: &str, effect: PriorityEffect, disk: &str, scheduler: &str) -> MemberPriority {
        MemberPriority {
            name: name.to_owned(),
            effect,
            is_cached: false,
            is_passthrough: false,
            schedulers: vec![DeviceScheduler {
                device: disk.to_owned(),
                scheduler: scheduler.to_owned(),
            }],
            through: Vec::new(),
        }
    }

    fn root() -> ShareResult {
        ShareResult {
            io_priority: IoPriorityResult {
                class: Some(IoClass::RealTime),
                level: Some(0),
                refused: None,
            },
            cpu_priority: CpuPriorityResult {
                nice: Some(-20),
                refused: None,
            },
            locked_buffer: LockedBufferResult {
                bytes: 512 << 20,
                of_bytes: 512 << 20,
                refused: None,
            },
            ..ShareResult::untouched(RecorderShare::First, false)
        }
    }

    #[test]
    fn who_may_take_everything_is_told_so_with_what_the_disks_make_of_it() {
        let mut share = root();
        share.members = vec![
            member("/dev/sda1", PriorityEffect::Heeded, "sda", "bfq"),
            member("/srv/store", PriorityEffect::Ignored, "vda", "none"),
            member("/srv/other", PriorityEffect::Ignored, "vda", "none"),
        ];
        assert_eq!(
            share_line(&share),
            "share first: I/O priority real-time 0, CPU nice -20, 512 MiB of buffer locked; the \
             I/O scheduler of sda (bfq) puts its requests first; vda has no I/O scheduler, so the \
             kernel gives nobody priority there"
        );
    }

    #[test]
    fn who_may_take_less_is_told_what_it_needs() {
        let denied = || Some("Permission denied (os error 13)".to_owned());
        let share = ShareResult {
            io_priority: IoPriorityResult {
                class: Some(IoClass::BestEffort),
                level: Some(0),
                refused: denied(),
            },
            cpu_priority: CpuPriorityResult {
                nice: Some(0),
                refused: denied(),
            },
            locked_buffer: LockedBufferResult {
                bytes: 8 << 20,
                of_bytes: 512 << 20,
                refused: denied(),
            },
            ..root()
        };
        assert_eq!(
            share_line(&share),
            "share first: I/O priority best-effort 0 (real-time needs CAP_SYS_NICE), CPU nice 0 \
             (less needs CAP_SYS_NICE or `ulimit -e`), 8 MiB of 512 MiB of buffer locked (all \
             needs `ulimit -l`)"
        );
    }

    #[test]
    fn a_priority_that_may_get_lost_on_the_way_is_not_promised() {
        let line_of = |member: MemberPriority| {
            let mut share = root();
            share.members = vec![member];
            share_line(&share)
        };
        let cached = MemberPriority {
            is_cached: true,
            ..member("/srv/store", PriorityEffect::Ignored, "sda", "bfq")
        };
        assert!(line_of(cached).ends_with(
            "/srv/store is written through the page cache, from where the kernel writes without \
             this priority"
        ));
        let array = MemberPriority {
            through: vec!["md0".to_owned()],
            ..member("/dev/md0", PriorityEffect::Unclear, "sda", "mq-deadline")
        };
        assert!(line_of(array).ends_with(
            "the I/O scheduler of sda (mq-deadline) gives it priority as far as md0 passes \
                 that on"
        ));
        let kyber = member("/dev/sda", PriorityEffect::Ignored, "sda", "kyber");
        assert!(line_of(kyber).ends_with("the I/O scheduler of sda (kyber) gives nobody priority"));
        let unknown = MemberPriority {
            schedulers: Vec::new(),
            ..member("/mnt/nfs", PriorityEffect::Unclear, "", "")
        };
        assert!(line_of(unknown).ends_with("what disk is under /mnt/nfs is not known"));
    }

    #[test]
    fn where_nothing_is_taken_that_is_said() {
        let simulated = ShareResult::untouched(RecorderShare::First, true);
        assert_eq!(
            share_line(&simulated),
            "share first: nothing is taken on a simulated machine"
        );
        for is_simulated in [false, true] {
            let fair = ShareResult::untouched(RecorderShare::Fair, is_simulated);
            assert!(share_line(&fair).starts_with("share fair: "));
        }
    }
}
