//! The fixed-point arithmetic of the simulation: amounts of data and the rates at which they flow.
//! Used by every part of it. Integers, so that an hour of small steps adds up to exactly an hour.

/// Bytes in units of 2^-48. May be slightly negative: what was moved beyond an event's exact time
/// because events fall on whole nanoseconds.
pub(super) type Amount = i128;

/// [`Amount`] per nanosecond: 1 B/s is 281475 units, and 65 TB/s the most that fits.
pub(super) type FlowRate = u64;

const FRACTION_BITS: u32 = 48;

/// A rate, never zero. It is rounded up, by less than one part in 10^5 at 1 B/s and in 10^11 at 1
/// MB/s, because a transfer that takes a whole number of nanoseconds must not end one later.
pub(super) fn flow_rate(rate_bytes_per_s: f64) -> FlowRate {
    let scaled = rate_bytes_per_s * (1u64 << FRACTION_BITS) as f64 / 1e9;
    // The cast saturates; rates are checked where they are read.
    (scaled.ceil() as u64).max(1)
}

pub(super) fn amount(bytes: u64) -> Amount {
    i128::from(bytes) << FRACTION_BITS
}

/// The whole bytes in an amount; none in a negative one.
pub(super) fn whole_bytes(amount: Amount) -> u64 {
    u64::try_from(amount >> FRACTION_BITS).unwrap_or(0)
}

/// The amount that flows in a time. The product of two 64-bit numbers always fits: an overflow of
/// the sign would need a transfer of 2^79 bytes.
pub(super) fn moved(rate: FlowRate, duration_ns: u64) -> Amount {
    (u128::from(rate) * u128::from(duration_ns)).cast_signed()
}

/// How long an amount takes, rounded up to whole nanoseconds; `u64::MAX` for never.
pub(super) fn time_ns(amount: Amount, rate: FlowRate) -> u64 {
    if amount <= 0 {
        return 0;
    }
    if rate == 0 {
        return u64::MAX;
    }
    let duration_ns = amount.cast_unsigned().div_ceil(u128::from(rate));
    u64::try_from(duration_ns).unwrap_or(u64::MAX)
}
