//! Says where foreign I/O cannot be seen. Every experiment adds this to its notes.

use sustain_document::host::Host;

/// File systems that write more than a file's data, in an unknown amount.
const WRITE_MORE: [&str; 3] = ["btrfs", "zfs", "bcachefs"];

/// Names the targets on whose disks foreign I/O is not looked for, and says why.
pub(crate) fn others_unseen(host: &Host) -> Option<String> {
    let file_systems = host.file_systems.iter();
    let unseen: Vec<_> = file_systems
        .filter(|one| WRITE_MORE.contains(&one.file_system.kind.as_str()))
        .collect();
    let kind = &unseen.first()?.file_system.kind;
    let names: Vec<&str> = unseen.iter().map(|one| one.target.as_str()).collect();
    Some(format!(
        "foreign I/O on the file system of {} cannot be told from this run's: {kind} writes more \
         than a file's data, and how much more is not known",
        names.join(", ")
    ))
}
