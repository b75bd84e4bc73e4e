//! The claim on the repair of a store: two commands never rebuild lost members at once, nor retire
//! one meanwhile. Each would make up for what it finds missing, and together they would do one
//! thing twice and leave another. The members that are there are only read by a repair, so nothing
//! on them could be locked.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;

use rustix::fs::{FileType, fstat};
use sustain_disk::target::Target;

use super::{OpenMember, Store};
use crate::error::RecordError;

/// As long as it lives, no other command on this machine repairs a store of which it has one of
/// these members. For each there is a socket without a file, which the kernel gives back when the
/// process ends in any way. There is none on a simulated machine, and where the system allows none.
#[derive(Debug, Clone)]
pub struct RepairClaim {
    _sockets: Arc<Vec<UnixListener>>,
}

/// The name of the claim on a member that is a file or a device, whatever it is called: copies of a
/// store are stores of their own.
fn name_of(target: &Target) -> Option<String> {
    let found = fstat(target.file.as_ref()?).ok()?;
    let id = match FileType::from_raw_mode(found.st_mode) {
        FileType::BlockDevice => format!("device-{}", found.st_rdev),
        _ => format!("file-{}-{}", found.st_dev, found.st_ino),
    };
    Some(format!("sustain-repair-{id}"))
}

/// Whether another command on this machine repairs a store of which it has one of these members, as
/// far as the kernel tells of its claim.
pub(super) fn is_repair_under_way(members: &[OpenMember]) -> bool {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let claimed: BTreeSet<&str> = sockets
        .lines()
        .filter_map(|line| line.rsplit_once('@'))
        .map(|(_, name)| name)
        .collect();
    let mut names = members.iter().filter_map(|member| name_of(&member.target));
    names.any(|name| claimed.contains(name.as_str()))
}

impl Store {
    /// Claims the store for a repair, which may open it several times.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if another command has it.
    pub fn claim_repair(&self) -> Result<RepairClaim, RecordError> {
        let there = self.members.iter().filter(|member| member.is_there());
        let names = there.filter_map(|member| name_of(&member.target));
        let addresses = names.filter_map(|name| SocketAddr::from_abstract_name(name).ok());
        let mut sockets = Vec::new();
        for address in addresses {
            match UnixListener::bind_addr(&address) {
                Ok(socket) => sockets.push(socket),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    return Err(RecordError::Usage(
                        "a member of this store is being rebuilt or retired by another command at \
                         this moment: wait until that has ended, and look at the store again"
                            .to_owned(),
                    ));
                }
                Err(_) => {}
            }
        }
        Ok(RepairClaim {
            _sockets: Arc::new(sockets),
        })
    }
}
