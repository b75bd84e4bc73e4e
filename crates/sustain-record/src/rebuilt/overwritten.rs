//! What rings have overwritten on the members of a store. Pure.

/// What rings have overwritten: on a member, all below a sequence, but for recordings that came
/// before the member was added to the store, and have nothing there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overwritten(Vec<(u32, u64)>);

impl Overwritten {
    /// Notes a member on which this recording is the first that may have anything, and all below
    /// this sequence is overwritten.
    pub(crate) fn note(&mut self, first_recording: u32, sequence: u64) {
        self.0.push((first_recording, sequence));
    }

    /// Below this sequence something of a recording is overwritten on a member; 0 if nothing is.
    pub(crate) fn whole_from_sequence(&self, recording: u32) -> u64 {
        let members = self.0.iter().filter(|(first, _)| *first <= recording);
        members.map(|(_, sequence)| *sequence).max().unwrap_or(0)
    }
}
