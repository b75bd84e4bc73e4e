//! The claim on the repair of a store: two commands never rebuild lost members at once, nor retire
//! one meanwhile. Each would make up for what it finds missing, and together they would do one
//! thing twice and leave another. The members that are there are only read by a repair, so nothing
//! on them could be locked.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use uuid::Uuid;

use super::Store;
use crate::error::RecordError;

/// As long as it lives, no other command on this machine repairs the store. It is a socket without
/// a file, which the kernel gives back when the process ends in any way.
#[derive(Debug)]
pub(crate) struct RepairClaim {
    /// None on a simulated machine, and where the system allows no sockets.
    _socket: Option<UnixListener>,
}

impl RepairClaim {
    /// Claims a store, by its UUID; none if another command has it.
    fn take(store: &Uuid) -> Option<RepairClaim> {
        let name = format!("sustain-repair-{store}");
        let address = SocketAddr::from_abstract_name(name).ok();
        let bound = address.map(|address| UnixListener::bind_addr(&address));
        match bound {
            Some(Err(error)) if error.kind() == ErrorKind::AddrInUse => None,
            bound => Some(RepairClaim {
                _socket: bound.and_then(Result::ok),
            }),
        }
    }
}

impl Store {
    /// Claims the store for a repair.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if another command has it.
    pub(crate) fn claim_repair(&self) -> Result<RepairClaim, RecordError> {
        if !self.machines().is_empty() {
            return Ok(RepairClaim { _socket: None });
        }
        RepairClaim::take(&self.id).ok_or_else(|| {
            RecordError::Usage(
                "a member of this store is being rebuilt or retired by another command at this \
                 moment: wait until that has ended, and look at the store again"
                    .to_owned(),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_claimed_once_until_the_claim_goes() {
        let (one, other) = (Uuid::new_v4(), Uuid::new_v4());
        let claim = RepairClaim::take(&one).unwrap();
        assert!(RepairClaim::take(&one).is_none());
        assert!(RepairClaim::take(&other).is_some());
        drop(claim);
        assert!(RepairClaim::take(&one).is_some());
    }
}
