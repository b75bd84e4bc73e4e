//! Divides what all others together may have among them: whoever wants little gets what it wants,
//! and the rest is divided equally. A function of data only.

/// Whoever uses this part of its limit would use more.
const SATURATED_PART: f64 = 0.9;
/// Whoever is not held back by its limit gets this much more than it uses, so that it can grow.
const ROOM_FACTOR: f64 = 1.5;
/// Room to begin with, bytes per second.
const ROOM_BYTES_PER_S: f64 = 1e6;

/// One that shares: a control group that reads a disk, or writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    /// What it uses.
    pub(crate) used_bytes_per_s: f64,
    /// What it is limited to, if it is.
    pub(crate) limit_bytes_per_s: Option<f64>,
}

/// What each may have, in the order of the claims. No more than the allowance is given out in all.
pub(crate) fn allotments(claims: &[Claim], allowance_bytes_per_s: f64) -> Vec<f64> {
    let wanted: Vec<f64> = claims.iter().map(wanted).collect();
    let mut by_want: Vec<usize> = (0..claims.len()).collect();
    by_want.sort_by(|&one, &other| wanted[one].total_cmp(&wanted[other]));
    let mut given = vec![0.0; claims.len()];
    let mut left = allowance_bytes_per_s;
    for (index, &claim) in by_want.iter().enumerate() {
        let equal_part = left / (claims.len() - index) as f64;
        given[claim] = wanted[claim].min(equal_part);
        left -= given[claim];
    }
    given
}

fn wanted(claim: &Claim) -> f64 {
    let is_held = |limit| claim.used_bytes_per_s >= SATURATED_PART * limit;
    if claim.limit_bytes_per_s.is_some_and(is_held) {
        return f64::INFINITY;
    }
    claim.used_bytes_per_s * ROOM_FACTOR + ROOM_BYTES_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(used: f64, limit: Option<f64>) -> Claim {
        Claim {
            used_bytes_per_s: used,
            limit_bytes_per_s: limit,
        }
    }

    #[test]
    fn who_wants_little_gets_it_and_the_rest_is_shared_equally() {
        let claims = [
            claim(60e6, None),
            claim(2e6, Some(5e6)),
            claim(19.5e6, Some(20e6)),
        ];
        assert_eq!(allotments(&claims, 40e6), [18e6, 4e6, 18e6]);
    }

    #[test]
    fn no_more_is_given_than_there_is() {
        let claims = [claim(5e6, None), claim(0.0, None), claim(9e6, Some(9e6))];
        for allowance in [0.0, 1e6, 3e6, 30e6, 1e9] {
            let sum: f64 = allotments(&claims, allowance).iter().sum();
            assert!(sum <= allowance * (1.0 + 1e-9), "{sum} of {allowance}");
        }
        assert_eq!(allotments(&[], 5.0), [] as [f64; 0]);
    }
}
