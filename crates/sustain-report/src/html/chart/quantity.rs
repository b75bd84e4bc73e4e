//! What the axes of charts measure, and how their figures are written. The page's script writes
//! the figures under the cursor by the same names.

use crate::format::{latency, memory, position, rate};

/// What an axis measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Quantity {
    /// Bytes per second.
    Rate,
    /// Seconds that a request took.
    Latency,
    /// Bytes of memory, in binary units.
    Memory,
    /// Bytes of data or a place on a target, in decimal units.
    Data,
    /// A part of a whole.
    Part,
    /// A number of things.
    Count,
    /// Seconds of CPU time per 10^9 bytes.
    CpuCost,
    /// Seconds since the start of the run.
    Time(TimeUnit),
    /// A row with a name.
    Row,
}

/// The unit of a run's time axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum TimeUnit {
    Seconds,
    Minutes,
    Hours,
}

impl TimeUnit {
    /// The unit for a run of this length.
    pub(in super::super) fn for_run(seconds: f64) -> TimeUnit {
        match seconds {
            s if s < 600.0 => TimeUnit::Seconds,
            s if s < 3.0 * 3600.0 => TimeUnit::Minutes,
            _ => TimeUnit::Hours,
        }
    }

    pub(super) fn seconds(self) -> f64 {
        match self {
            TimeUnit::Seconds => 1.0,
            TimeUnit::Minutes => 60.0,
            TimeUnit::Hours => 3600.0,
        }
    }

    fn name(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Minutes => "min",
            TimeUnit::Hours => "h",
        }
    }
}

impl Quantity {
    /// The name by which the page's script knows it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Quantity::Rate => "rate",
            Quantity::Latency => "latency",
            Quantity::Memory => "memory",
            Quantity::Data => "data",
            Quantity::Part => "part",
            Quantity::Count => "count",
            Quantity::CpuCost => "cpu",
            Quantity::Time(unit) => unit.name(),
            Quantity::Row => "row",
        }
    }

    /// A figure in words.
    pub(in super::super) fn words(self, figure: f64) -> String {
        match self {
            Quantity::Rate => rate(figure),
            Quantity::Latency => latency((figure * 1e9).round().max(0.0) as u64),
            Quantity::Memory => memory(figure.max(0.0) as u64),
            Quantity::Data => position(figure.max(0.0) as u64),
            Quantity::Part => share(figure),
            // Six digits hide the rounding errors of multiplying a step.
            Quantity::CpuCost => format!("{} s", (figure * 1e6).round() / 1e6),
            Quantity::Time(unit) => {
                let counted = (figure / unit.seconds() * 1e3).round() / 1e3;
                format!("{counted} {}", unit.name())
            }
            Quantity::Count if figure >= 1e4 => {
                let exponent = figure.log10().floor();
                format!("{:.0}×10^{exponent}", figure / 10_f64.powf(exponent))
            }
            Quantity::Count | Quantity::Row => format!("{figure:.0}"),
        }
    }

    /// A round figure in as few characters as it needs.
    pub(super) fn tick(self, figure: f64) -> String {
        if figure == 0.0 {
            return "0".to_owned();
        }
        let words = self.words(figure);
        match words.split_once(' ') {
            Some((digits, unit)) if digits.contains('.') => {
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                format!("{digits} {unit}")
            }
            _ => words,
        }
    }
}

/// A part of a whole: `0.01 %`, with as many digits as it needs.
fn share(part: f64) -> String {
    let percent = part * 100.0;
    let digits = match percent.abs() {
        p if p >= 1.0 => 1,
        p => (1.0 - p.max(1e-12).log10()).ceil() as usize,
    };
    let text = format!("{percent:.digits$}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_as_many_digits_as_they_need() {
        let shown = [1.0, 0.1, 0.015, 0.001, 0.000_01].map(share);
        assert_eq!(shown, ["100 %", "10 %", "1.5 %", "0.1 %", "0.001 %"]);
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(Quantity::Rate.tick(2e9), "2 GB/s");
        assert_eq!(Quantity::Rate.tick(2.5e9), "2.5 GB/s");
        assert_eq!(Quantity::Memory.tick(524_288.0), "512 KiB");
        assert_eq!(Quantity::Time(TimeUnit::Hours).tick(5400.0), "1.5 h");
        assert_eq!(Quantity::Count.tick(1e6), "1×10^6");
    }
}
