//! How many appends of data a group should have where members differ in speed. Pure.

/// How many appends of data groups have on average, with which members of these rates take the
/// most of a source at full rate. It is at least 1, and need not be whole.
///
/// Groups of appends on different members that begin m times a second take at most min(rate, m) of
/// each member, because none has more than one append of a group. So they have sum of min(rate, m)
/// appends a second, p m of which are parity. That leaves the most data where m is the rate of the
/// member that only p others are faster than (docs/parity.md, "Room and rate").
pub(in crate::recorder) fn width_at_full_rate(rates: &[f64], parities: usize) -> f64 {
    let mut fastest_first = rates.to_vec();
    fastest_first.sort_by(|one, other| other.total_cmp(one));
    let Some(groups_per_s) = fastest_first.get(parities).filter(|rate| **rate > 0.0) else {
        return 1.0;
    };
    let appends_per_s = fastest_first.iter().map(|rate| rate.min(*groups_per_s));
    let width = appends_per_s.sum::<f64>() / groups_per_s - parities as f64;
    width.max(1.0)
}

/// Whole widths whose average is one that need not be whole.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::recorder) struct WholeWidths {
    /// By how much those so far were less, all in all.
    short_by: f64,
}

impl WholeWidths {
    /// The width of the next group.
    pub(in crate::recorder) fn next(self, wanted: f64) -> usize {
        (wanted + self.short_by).floor().max(1.0) as usize
    }

    /// Counts a group that has closed with this width.
    pub(in crate::recorder) fn count(&mut self, wanted: f64, width: usize) {
        self.short_by = (self.short_by + wanted - width as f64).clamp(-1.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_width(rates: &[f64], parities: usize, wanted: f64) {
        let width = width_at_full_rate(rates, parities);
        assert!((width - wanted).abs() < 1e-9, "{rates:?}: {width}");
    }

    #[test]
    fn equal_members_have_groups_as_wide_as_can_be() {
        assert_width(&[100.0; 5], 1, 4.0);
        assert_width(&[100.0; 5], 2, 3.0);
        assert_width(&[7.0; 2], 1, 1.0);
    }

    #[test]
    fn slow_members_do_not_take_part_in_each_group() {
        let rates = [150.0, 50.0, 125.0, 75.0, 100.0];
        assert_width(&rates, 1, 475.0 / 125.0 - 1.0);
        assert_width(&rates, 2, 425.0 / 100.0 - 2.0);
        // Two fast ones nearly mirror each other.
        assert_width(&[10.0, 10.0, 10.0, 1000.0, 1000.0], 1, 1.03);
    }

    #[test]
    fn too_few_members_or_rates_of_nothing_give_the_narrowest() {
        assert_width(&[5.0], 1, 1.0);
        assert_width(&[0.0; 3], 1, 1.0);
    }

    #[test]
    fn whole_widths_come_to_what_is_wanted() {
        let (mut widths, mut sum) = (WholeWidths::default(), 0);
        for _ in 0..100 {
            let width = widths.next(2.4);
            assert!((2..=3).contains(&width));
            widths.count(2.4, width);
            sum += width;
        }
        assert!((239..=241).contains(&sum), "{sum}");
    }
}
