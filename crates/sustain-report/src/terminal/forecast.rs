//! Words for the forecast of a recording: where its members become too slow, and which part of the
//! store the profile does not know.

use sustain_record::forecast::{Shortfall, Unprofiled};

use crate::format::{percent, rate, size, stretch};

/// The note on the parts of the store that were not profiled; none if all were.
pub(super) fn unprofiled_words(beyond: &[Unprofiled]) -> Option<String> {
    let parts = beyond.iter().map(|one| {
        format!(
            "{} was profiled up to {}, but the store goes on to {}",
            one.member,
            size(one.profiled_bytes),
            size(one.slots_end_bytes)
        )
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| {
        format!(
            "note: {}; the forecast assumes that the rest is as fast as the last zone of the \
             profile",
            parts.join("; ")
        )
    })
}

/// The warning that the members become slower than what the sources offer.
pub(super) fn shortfall_words(short: &Shortfall, in_rate: f64) -> String {
    let when = if short.after_bytes <= 0.0 {
        "from now on".to_owned()
    } else {
        format!(
            "after {} more, in {},",
            size(short.after_bytes as u64),
            stretch(short.in_s)
        )
    };
    format!(
        "warning: according to the profile, {when} the members are slower than the {} that the \
         sources offer: down to {}, on {} of the free space. The buffer will fill up then: \
         offer less, add a member, or end the recording before",
        rate(in_rate),
        rate(short.least_bytes_per_s),
        percent(short.part_left)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortfall_is_told_with_its_place_and_its_rate() {
        let mut short = Shortfall {
            in_s: 600.0,
            after_bytes: 30e9,
            least_bytes_per_s: 30e6,
            part_left: 0.5,
        };
        insta::assert_snapshot!(shortfall_words(&short, 50e6), @"warning: according to the profile, after 30 GB more, in 10 min, the members are slower than the 50.0 MB/s that the sources offer: down to 30.0 MB/s, on 50 % of the free space. The buffer will fill up then: offer less, add a member, or end the recording before");
        short.after_bytes = 0.0;
        insta::assert_snapshot!(shortfall_words(&short, 50e6), @"warning: according to the profile, from now on the members are slower than the 50.0 MB/s that the sources offer: down to 30.0 MB/s, on 50 % of the free space. The buffer will fill up then: offer less, add a member, or end the recording before");
    }

    #[test]
    fn what_was_not_profiled_is_told_for_each_member() {
        assert_eq!(unprofiled_words(&[]), None);
        let beyond = Unprofiled {
            member: "/dev/sdb".to_owned(),
            profiled_bytes: 60_000_000_000,
            slots_end_bytes: 120_000_000_000,
        };
        insta::assert_snapshot!(unprofiled_words(&[beyond]).unwrap_or_default(), @"note: /dev/sdb was profiled up to 60 GB, but the store goes on to 120 GB; the forecast assumes that the rest is as fast as the last zone of the profile");
    }
}
