//! What a retirement has done.

use uuid::Uuid;

/// What a retirement has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retired {
    /// The member's place in the table of members, from 0.
    pub member: usize,
    /// Its UUID.
    pub uuid: Uuid,
    /// Its name as typed; none if it is not there.
    pub name: Option<String>,
    /// The recording that has the copies; none if all were there already.
    pub recording: Option<u32>,
    /// What was copied, and what could not be.
    pub tally: RetireTally,
    /// What it may have had besides and nobody knows, because it is not there, in words.
    pub unknown: Vec<String>,
}

/// What a retirement would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RehearsedRetirement {
    /// Appends of data and parity of which others would have copies.
    pub appends: u64,
    /// Bytes of all copies that are not there yet.
    pub copies_bytes: u64,
    /// Bytes that the other members have free.
    pub free_bytes: u64,
    /// Bytes of appends that can neither be read nor computed.
    pub lost_bytes: u64,
    /// What it may have had besides and nobody knows, because it is not there, in words.
    pub unknown: Vec<String>,
}

/// What was copied from a member, and what could not be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetireTally {
    /// Appends of data that others have now.
    pub data_appends: u64,
    /// Their bytes, descriptors included; each counted once.
    pub data_bytes: u64,
    /// Appends of parity that others have now.
    pub parity_appends: u64,
    /// Their bytes, descriptors included; each counted once.
    pub parity_bytes: u64,
    /// Bytes that were written to the others.
    pub written_bytes: u64,
    /// Appends of data that can neither be read nor computed.
    pub lost_appends: u64,
    /// Their bytes, descriptors included.
    pub lost_bytes: u64,
}
