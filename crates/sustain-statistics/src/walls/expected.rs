//! How many readings a search usually takes.

/// The usual number of readings if one limit is shared, and if several are, one inside another: the
/// numbers for generated machines, rounded up.
#[must_use]
pub fn expected_readings(targets: usize) -> (usize, usize) {
    let (one, several) = match targets {
        0..8 => (4.0, 6.0),
        8..16 => (3.0, 6.0),
        _ => (2.5, 4.0),
    };
    let of = |each: f64| (each * targets as f64).ceil() as usize;
    (of(one), of(several))
}
