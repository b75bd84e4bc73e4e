//! By what the data at a position is multiplied in a parity. This is part of the format: it must
//! never change.

use crate::error::ParityError;
use crate::field::{inverse, multiply};
use crate::limits::{PARITIES_MAX, POSITIONS_MAX};

/// All coefficients: a row for each parity, a column for each position.
static COEFFICIENTS: [[u8; POSITIONS_MAX]; PARITIES_MAX] = {
    let mut rows = [[1; POSITIONS_MAX]; PARITIES_MAX];
    let mut parity = 1;
    while parity < PARITIES_MAX {
        let mut position = 1;
        while position < POSITIONS_MAX {
            let dividend = (128 ^ position) as u8;
            let divisor = (128 ^ parity ^ position) as u8;
            rows[parity][position] = multiply(dividend, inverse(divisor));
            position += 1;
        }
        parity += 1;
    }
    rows
};

/// By what the data at `position` is multiplied in `parity`; both count from 0.
///
/// It is 1 for parity 0 and for position 0, and otherwise
///
/// ```text
/// c(parity, position) = (128 xor position) / (128 xor parity xor position)
/// ```
///
/// with the numbers taken as elements of GF(2^8) over x^8 + x^4 + x^3 + x^2 + 1 (0x11D), in which
/// the division is done. So parity 0 is the exclusive or of the data, and each parity of a group
/// that has data at position 0 only is a copy of it.
///
/// Any n columns of any n rows are independent, so n lost appends can be computed from any n
/// parities. As a function of x = 128 xor parity, the column of a position is the quotient of 128 +
/// position and x + position, and that of position 0 is 1. No denominator is 0, because x is at
/// least 128 and a position is less. A combination of n such columns is a polynomial of degree less
/// than n over a common denominator. So it is 0 at fewer than n of the x, unless it is 0
/// everywhere, and that no combination of functions with different poles is. The columns are those
/// of a Cauchy matrix, scaled so that the first row is all ones, and for position 0 their limit for
/// an infinite position.
///
/// # Errors
/// If no parity or no position has that number.
pub fn coefficient(parity: usize, position: usize) -> Result<u8, ParityError> {
    let row = COEFFICIENTS
        .get(parity)
        .ok_or(ParityError::NoSuchParity { parity })?;
    row.get(position)
        .copied()
        .ok_or(ParityError::NoSuchPosition { position })
}

#[cfg(test)]
mod tests {
    use reed_solomon_erasure::galois_8;

    use super::*;

    #[test]
    fn coefficients_are_those_of_the_formula() {
        for position in 0..POSITIONS_MAX {
            assert_eq!(coefficient(0, position), Ok(1));
            for parity in 1..PARITIES_MAX {
                let dividend = 128 ^ position as u8;
                let quotient = galois_8::div(dividend, dividend ^ parity as u8);
                let expected = if position == 0 { 1 } else { quotient };
                assert_eq!(coefficient(parity, position), Ok(expected));
            }
        }
    }

    #[test]
    fn coefficients_on_disks_keep_their_values() {
        let row = |parity| [0, 1, 2, 3, 127].map(|position| coefficient(parity, position));
        assert_eq!(row(1), [1, 26, 28, 160, 127].map(Ok));
        assert_eq!(row(2), [1, 59, 55, 169, 226].map(Ok));
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let refused = ParityError::NoSuchParity { parity: 3 };
        assert_eq!(coefficient(3, 0), Err(refused));
        let refused = ParityError::NoSuchPosition { position: 128 };
        assert_eq!(coefficient(2, 128), Err(refused));
    }

    fn product_of(parity: usize, position: usize, factor: u8) -> u8 {
        multiply(COEFFICIENTS[parity][position], factor)
    }

    /// The determinant of two columns in two rows.
    fn determinant_of_two(rows: [usize; 2], columns: [usize; 2]) -> u8 {
        product_of(rows[0], columns[0], COEFFICIENTS[rows[1]][columns[1]])
            ^ product_of(rows[0], columns[1], COEFFICIENTS[rows[1]][columns[0]])
    }

    #[test]
    fn no_coefficient_is_0() {
        assert!(COEFFICIENTS.iter().flatten().all(|one| *one != 0));
    }

    #[test]
    fn any_two_positions_can_be_computed_from_any_two_parities() {
        for first in 0..POSITIONS_MAX {
            for second in first + 1..POSITIONS_MAX {
                for rows in [[0, 1], [0, 2], [1, 2]] {
                    let determinant = determinant_of_two(rows, [first, second]);
                    assert_ne!(determinant, 0, "{rows:?}: {first}, {second}");
                }
            }
        }
    }

    #[test]
    fn any_three_positions_can_be_computed_from_three_parities() {
        for first in 0..POSITIONS_MAX {
            for second in first + 1..POSITIONS_MAX {
                for third in second + 1..POSITIONS_MAX {
                    let columns = [first, second, third];
                    // Along the first row, which has ones only.
                    let determinant = determinant_of_two([1, 2], [second, third])
                        ^ determinant_of_two([1, 2], [first, third])
                        ^ determinant_of_two([1, 2], [first, second]);
                    assert_ne!(determinant, 0, "{columns:?}");
                }
            }
        }
    }
}
