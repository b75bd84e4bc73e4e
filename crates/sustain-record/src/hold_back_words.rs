//! Says whether others are held back, and at the end how far they were. Functions of data only.

use sustain_disk::units::Rate;
use sustain_document::hold_back::{HeldGroup, HoldBackResult, LimitEnd};

/// Groups that are named each by itself.
const NAMED: usize = 4;

/// What is so from the first byte on.
pub(crate) fn intent(result: &HoldBackResult) -> String {
    if let Some(why) = &result.refused {
        return format!("other programs are not held back: {why}");
    }
    let own = result.own_group.as_deref().unwrap_or("/");
    format!(
        "other programs are held back while data waits for the disk, but not those in the \
         recorder's own control group, {own}"
    )
}

/// What was done, once the recording is over. Where nobody could be held back the first line has
/// said so.
#[must_use]
pub fn held_line(result: &HoldBackResult) -> Option<String> {
    if result.refused.is_some() {
        return None;
    }
    let mut parts = vec![together(result)];
    let touched = result
        .groups
        .iter()
        .filter(|group| group.ended != LimitEnd::NotNeeded);
    let all: Vec<String> = touched.map(group_words).collect();
    parts.extend(all.iter().take(NAMED).cloned());
    if all.len() > NAMED {
        parts.push(format!("and {} more control groups", all.len() - NAMED));
    }
    Some(parts.join("; "))
}

fn together(result: &HoldBackResult) -> String {
    match result.others_bytes_per_s {
        Some(others) => format!(
            "other programs were held back for {:.1} s, in which the kernel counted {} for them",
            result.held_s,
            Rate(others)
        ),
        None if result.groups.is_empty() => {
            "nobody in another control group used the disks".to_owned()
        }
        None => "no other program was held back".to_owned(),
    }
}

fn group_words(group: &HeldGroup) -> String {
    let (name, device) = (&group.name, &group.device);
    let least = least(group);
    match group.ended {
        LimitEnd::NotNeeded | LimitEnd::Restored => {
            format!("{name} on {device} {least}; its former limits are back")
        }
        LimitEnd::TakenOver => format!(
            "{name} on {device} {least} until someone else changed its limits, which are as they \
             left them"
        ),
        LimitEnd::Spared => format!("{name} on {device} was spared: another recorder is in it"),
        LimitEnd::Removed => format!("{name} on {device} {least} until it was removed"),
        LimitEnd::Refused => format!(
            "{name} on {device} could not be limited: {}",
            group
                .refused
                .as_deref()
                .unwrap_or("the kernel gave no reason")
        ),
    }
}

/// How far it was held back.
fn least(group: &HeldGroup) -> String {
    // A limit of what it never did has held back nothing.
    let of = |limit: Option<u64>, bytes: u64, what: &str| {
        let limit = limit.filter(|_| bytes > 0)?;
        Some(format!("{} {what}", Rate(limit as f64)))
    };
    let read = of(group.least_read_bytes_per_s, group.read_bytes, "read");
    let written = of(group.least_write_bytes_per_s, group.write_bytes, "written");
    let limits: Vec<String> = read.into_iter().chain(written).collect();
    if limits.is_empty() {
        return "was not limited".to_owned();
    }
    format!("was limited to {} at the tightest", limits.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, ended: LimitEnd) -> HeldGroup {
        HeldGroup {
            name: name.to_owned(),
            device: "sdb".to_owned(),
            read_bytes: 1,
            write_bytes: 1,
            least_read_bytes_per_s: Some(1_000_000),
            least_write_bytes_per_s: Some(25_500_000),
            ended,
            refused: None,
        }
    }

    #[test]
    fn what_was_done_to_whom_is_told_with_what_became_of_it() {
        let result = HoldBackResult {
            own_group: Some("/user.slice".to_owned()),
            held_s: 12.34,
            others_bytes_per_s: Some(24.6e6),
            groups: vec![
                group("/backup", LimitEnd::Restored),
                group("/admin", LimitEnd::TakenOver),
                HeldGroup {
                    least_read_bytes_per_s: None,
                    least_write_bytes_per_s: None,
                    refused: Some("io.max: Permission denied".to_owned()),
                    ..group("/root", LimitEnd::Refused)
                },
                group("/idle", LimitEnd::NotNeeded),
            ],
            ..HoldBackResult::default()
        };
        assert_eq!(
            intent(&result),
            "other programs are held back while data waits for the disk, but not those in the \
             recorder's own control group, /user.slice"
        );
        assert_eq!(
            held_line(&result).unwrap(),
            "other programs were held back for 12.3 s, in which the kernel counted 24.6 MB/s for \
             them; /backup on sdb was limited to 1.00 MB/s read and 25.5 MB/s written at the \
             tightest; its former limits are back; /admin on sdb was limited to 1.00 MB/s read \
             and 25.5 MB/s written at the tightest until someone else changed its limits, which are as they left them; /root on sdb could not be limited: io.max: Permission denied"
        );
    }

    #[test]
    fn where_nobody_was_held_back_that_is_told() {
        let mut result = HoldBackResult::default();
        let words = held_line(&result).unwrap();
        assert_eq!(words, "nobody in another control group used the disks");
        result.groups.push(group("/idle", LimitEnd::NotNeeded));
        assert_eq!(
            held_line(&result).unwrap(),
            "no other program was held back"
        );
        result.refused = Some("no disk is known under the members".to_owned());
        assert_eq!(held_line(&result), None);
        assert_eq!(
            intent(&result),
            "other programs are not held back: no disk is known under the members"
        );
    }
}
