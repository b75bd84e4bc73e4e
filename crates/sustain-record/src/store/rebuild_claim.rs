//! The claim on the place of a member: two commands never rebuild one lost member onto two new ones
//! at once, nor retire what is being rebuilt. The members that are there are only read by a repair,
//! so nothing on them could be locked.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use uuid::Uuid;

use super::{Missing, Store};
use crate::error::RecordError;

/// As long as it lives, no other command on this machine puts anything in the place of a member. It
/// is a socket without a file, which the kernel gives back when the process ends in any way.
#[derive(Debug)]
pub(crate) struct RebuildClaim {
    /// None on a simulated machine, and where the system allows no sockets.
    _socket: Option<UnixListener>,
}

impl RebuildClaim {
    /// Claims a member, by its UUID; none if another command has it.
    fn take(member: &Uuid) -> Option<RebuildClaim> {
        let name = format!("sustain-rebuild-{member}");
        let address = SocketAddr::from_abstract_name(name).ok();
        let bound = address.map(|address| UnixListener::bind_addr(&address));
        match bound {
            Some(Err(error)) if error.kind() == ErrorKind::AddrInUse => None,
            bound => Some(RebuildClaim {
                _socket: bound.and_then(Result::ok),
            }),
        }
    }
}

impl Store {
    /// Claims the first of these members that no other command has.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if others have them all.
    pub(crate) fn claim_one_of(
        &self,
        missing: &[Missing],
    ) -> Result<Option<(Missing, RebuildClaim)>, RecordError> {
        if !self.machines().is_empty() {
            let claim = RebuildClaim { _socket: None };
            return Ok(missing.first().map(|first| (*first, claim)));
        }
        let mut claims = missing
            .iter()
            .filter_map(|one| Some((*one, RebuildClaim::take(&one.member)?)));
        let claimed = claims.next();
        match missing.first() {
            Some(first) if claimed.is_none() => Err(RecordError::Usage(format!(
                "member {} ({}) is being rebuilt or retired by another command at this moment: \
                 wait until that has ended. Two members cannot take the place of one",
                first.index + 1,
                first.member
            ))),
            _ => Ok(claimed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_claimed_once_until_the_claim_goes() {
        let (one, other) = (Uuid::new_v4(), Uuid::new_v4());
        let claim = RebuildClaim::take(&one).unwrap();
        assert!(RebuildClaim::take(&one).is_none());
        assert!(RebuildClaim::take(&other).is_some());
        drop(claim);
        assert!(RebuildClaim::take(&one).is_some());
    }
}
