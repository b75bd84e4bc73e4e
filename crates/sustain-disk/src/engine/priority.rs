//! The priorities of the thread that calls, for those who come first on the disk and on the CPU.
//!
//! The kernel takes a request's I/O priority from the thread that submits it, at that moment, for
//! every engine here: pwrite, native AIO, and io_uring, where the preparation of an entry that
//! names no priority of its own reads it, so that it stays with the request when a worker of the
//! kernel takes over. Threads begin with the priorities of the thread that starts them, those
//! workers too. So a thread that takes its priorities before it opens an engine has them in all
//! requests, and no engine has to know of it.

use std::ffi::c_int;
use std::io;

use rustix::process::{Resource, getpriority_process, getrlimit, setpriority_process};
use sustain_document::share::{CpuPriorityResult, IoClass, IoPriorityResult};

/// The first level of a class.
const FIRST_LEVEL: u8 = 0;
/// The first of all nice values.
const FIRST_NICE: i32 = -20;
/// In what the kernel takes, the class stands above this many bits of the level.
const CLASS_SHIFT: u32 = 13;
/// `IOPRIO_WHO_PROCESS`: with 0 as whose, it is the thread that calls.
const WHO_THREAD: c_int = 1;

/// Takes the first I/O priority that the kernel gives this thread: the first level of the real-time
/// class, else that of the best-effort class. Any thread may have the latter.
pub fn take_io_priority() -> IoPriorityResult {
    let classes = [IoClass::RealTime, IoClass::BestEffort];
    let (class, refused) = first_granted(&classes, |class| set_io_priority(*class, FIRST_LEVEL));
    IoPriorityResult {
        class: class.copied(),
        level: class.map(|_| FIRST_LEVEL),
        refused: refused.map(|error| error.to_string()),
    }
}

/// Takes the first nice value that the kernel gives this thread.
pub fn take_cpu_priority() -> CpuPriorityResult {
    let now = getpriority_process(None).unwrap_or(0);
    let limit = getrlimit(Resource::Nice).current;
    let values = nice_values(now, limit);
    let set = |nice: &i32| setpriority_process(None, *nice).map_err(io::Error::from);
    let (nice, refused) = first_granted(&values, set);
    CpuPriorityResult {
        nice: Some(nice.copied().unwrap_or(now)),
        refused: refused.map(|error| error.to_string()),
    }
}

/// What to ask for, the best first: a process without CAP_SYS_NICE may go down to 20 less its
/// RLIMIT_NICE (`None` is no limit). Nothing is asked for that would take a thread back.
fn nice_values(now: i32, limit: Option<u64>) -> Vec<i32> {
    let by_limit = limit.map_or(FIRST_NICE, |limit| {
        20_i32.saturating_sub(i32::try_from(limit).unwrap_or(i32::MAX))
    });
    let mut values = vec![FIRST_NICE, by_limit.max(FIRST_NICE)];
    values.dedup();
    values.retain(|nice| *nice < now || (*nice == FIRST_NICE && now == FIRST_NICE));
    values
}

/// The first of these that is granted, and the answer to the first one if that was refused.
fn first_granted<T>(
    wanted: &[T],
    mut set: impl FnMut(&T) -> io::Result<()>,
) -> (Option<&T>, Option<io::Error>) {
    let mut refused = None;
    for one in wanted {
        match set(one) {
            Ok(()) => return (Some(one), refused),
            Err(error) => {
                refused.get_or_insert(error);
            }
        }
    }
    (None, refused)
}

fn set_io_priority(class: IoClass, level: u8) -> io::Result<()> {
    // SAFETY: the call takes three numbers and no memory, and changes only this thread's priority.
    let answer =
        unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_THREAD, 0, encoded(class, level)) };
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A priority as the kernel takes it.
fn encoded(class: IoClass, level: u8) -> c_int {
    let class = match class {
        IoClass::RealTime => 1,
        IoClass::BestEffort => 2,
    };
    class << CLASS_SHIFT | c_int::from(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [IoClass; 2] = [IoClass::RealTime, IoClass::BestEffort];

    /// A kernel that grants what this says, and tells what it was asked for.
    fn asked(granted: impl Fn(&IoClass) -> bool) -> (Option<IoClass>, bool, usize) {
        let mut times = 0;
        let (class, refused) = first_granted(&CLASSES, |class| {
            times += 1;
            match granted(class) {
                true => Ok(()),
                false => Err(io::Error::from_raw_os_error(libc::EPERM)),
            }
        });
        (class.copied(), refused.is_some(), times)
    }

    #[test]
    fn who_may_gets_the_real_time_class_and_everyone_else_the_first_of_best_effort() {
        assert_eq!(asked(|_| true), (Some(IoClass::RealTime), false, 1));
        let ordinary = asked(|class| *class == IoClass::BestEffort);
        assert_eq!(ordinary, (Some(IoClass::BestEffort), true, 2));
        assert_eq!(asked(|_| false), (None, true, 2));
    }

    #[test]
    fn priorities_are_written_as_the_kernel_reads_them() {
        assert_eq!(encoded(IoClass::RealTime, 0), 0x2000);
        assert_eq!(encoded(IoClass::BestEffort, 0), 0x4000);
        assert_eq!(encoded(IoClass::BestEffort, 7), 0x4007);
    }

    #[test]
    fn the_first_nice_value_is_asked_for_and_then_what_the_limit_allows() {
        assert_eq!(nice_values(0, Some(0)), [-20]);
        assert_eq!(nice_values(0, Some(30)), [-20, -10]);
        assert_eq!(nice_values(0, Some(40)), [-20]);
        assert_eq!(nice_values(0, Some(u64::MAX)), [-20]);
        assert_eq!(nice_values(0, None), [-20]);
        assert_eq!(nice_values(-15, Some(30)), [-20], "never back");
        assert_eq!(nice_values(-20, Some(0)), [-20], "which is no refusal");
    }
}
