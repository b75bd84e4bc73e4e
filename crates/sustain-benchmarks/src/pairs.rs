//! Two things measured in turn, ABBA, so that a drift of the machine falls on both alike.

use crate::statistics::Median;

/// What came of one side and the other, and of their ratios pair by pair.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    pub(crate) ours: Median,
    pub(crate) theirs: Median,
    pub(crate) ratio: Median,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Theirs,
}

/// Who goes first in each of `count` pairs: A B, B A, A B, ...
pub(crate) fn order(count: usize) -> impl Iterator<Item = [Side; 2]> {
    (0..count).map(|pair| {
        if pair.is_multiple_of(2) {
            [Side::Ours, Side::Theirs]
        } else {
            [Side::Theirs, Side::Ours]
        }
    })
}

/// Runs `count` pairs; `measure` gives a figure for a side.
pub(crate) fn compare(
    count: usize,
    mut measure: impl FnMut(Side) -> anyhow::Result<f64>,
) -> anyhow::Result<Compared> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in order(count) {
        for side in pair {
            let figure = measure(side)?;
            match side {
                Side::Ours => ours.push(figure),
                Side::Theirs => theirs.push(figure),
            }
        }
    }
    Ok(Compared::of(&ours, &theirs))
}

impl Compared {
    /// Of figures that belong together pair by pair.
    pub(crate) fn of(ours: &[f64], theirs: &[f64]) -> Compared {
        let ratios: Vec<f64> = ours
            .iter()
            .zip(theirs)
            .map(|(ours, theirs)| ours / theirs)
            .collect();
        Compared {
            ours: Median::of(ours),
            theirs: Median::of(theirs),
            ratio: Median::of(&ratios),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_abba_and_a_steady_drift_cancels() {
        let mut turns = Vec::new();
        let compared = compare(4, |side| {
            turns.push(side);
            Ok(100.0 + turns.len() as f64)
        })
        .unwrap();
        use Side::{Ours, Theirs};
        let abba = [Ours, Theirs, Theirs, Ours];
        assert_eq!(turns, [abba, abba].concat());
        assert!((compared.ours.value - compared.theirs.value).abs() < 1e-9);
        assert!((compared.ratio.value - 1.0).abs() < 1e-3);
    }
}
