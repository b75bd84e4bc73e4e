//! Collects the data of the pictures of one direction: its settings, the axes that have several
//! values, and which axis matters most. The pictures call it; it draws nothing and judges nothing
//! anew.

use sustain_document::sweep::Axis;
use sustain_document::sweep::{SweepAnswer, SweepPoint, SweepResult, SweepSetting};
use sustain_document::vocabulary::LayoutKind;

use super::super::chart::svg::cut;
use crate::format::size;

/// There are as many colours; more curves could not be told apart.
const CURVES_MAX: usize = 7;
/// A longer name does not fit beside its row. It is cut in the middle, where it tells least.
const NAME_CHARACTERS_MAX: usize = 26;
/// The characters that are kept at the end of a name that is cut.
const NAME_LAST: usize = 14;

/// A setting's value on an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// The chunk or the order of a layout that has none.
    None,
    /// A number of bytes or requests.
    Number(u64),
    /// A value without an order among the others.
    Name(String),
}

/// An axis with several values among the points that were measured.
#[derive(Debug, Clone)]
pub(super) struct DrawnAxis {
    /// The axis of the document.
    pub(super) axis: Axis,
    /// The values: numbers ascending, names in the order in which they were given.
    pub(super) values: Vec<Value>,
    /// Whether the document says that it matters, and the loss with its worst value, as a part of
    /// the best rate, if the rest of the setting suits it.
    weight: (bool, f64),
}

impl DrawnAxis {
    /// The name for people.
    pub(super) fn words(&self) -> String {
        self.axis.name().replace('_', " ")
    }

    /// Whether its values have an order that a curve may follow.
    pub(super) fn is_numeric(&self) -> bool {
        let is_name = |value: &Value| matches!(value, Value::Name(_));
        !self.values.iter().any(is_name)
    }

    /// A value in words where the axis is named beside it.
    pub(super) fn value_words(&self, value: &Value) -> String {
        match value {
            Value::None => "none".to_owned(),
            Value::Number(number) if self.axis == Axis::Depth => number.to_string(),
            Value::Number(number) => size(*number),
            Value::Name(name) => cut(name, NAME_CHARACTERS_MAX, NAME_LAST),
        }
    }

    /// A value in words that name the axis.
    pub(super) fn named_value(&self, value: &Value) -> String {
        match (value, self.axis) {
            (Value::None, axis) => format!("no {axis}"),
            (_, Axis::Depth | Axis::Chunk) => format!("{} {}", self.axis, self.value_words(value)),
            (_, Axis::RecordSize) => format!("{} records", self.value_words(value)),
            _ => self.value_words(value),
        }
    }
}

/// One curve of a picture: the points of one value of the second axis.
#[derive(Debug, Clone)]
pub(super) struct AxisCurve {
    /// The value of the second axis; none if there is only one axis.
    pub(super) value: Option<Value>,
    /// The class of the style sheet with its colour, from `w0` on.
    pub(super) class: String,
}

/// One direction of a sweep.
pub(super) struct DirectionPicture<'a> {
    pub(super) result: &'a SweepResult,
    pub(super) answer: &'a SweepAnswer,
    /// The points that have a rate, fastest first.
    pub(super) points: Vec<&'a SweepPoint>,
    /// The points that have none.
    pub(super) unknown: Vec<&'a SweepPoint>,
    /// The axes, the one that matters most first.
    pub(super) axes: Vec<DrawnAxis>,
}

impl<'a> DirectionPicture<'a> {
    pub(super) fn new(result: &'a SweepResult, answer: &'a SweepAnswer) -> DirectionPicture<'a> {
        let of_direction = |point: &&SweepPoint| point.setting.direction == answer.direction;
        let points = result.points.iter().filter(of_direction);
        let (mut points, unknown): (Vec<_>, Vec<_>) =
            points.partition(|point| point.rate_bytes_per_s.is_some());
        let axes = result.plan.axes.iter().map(|axis| DrawnAxis {
            axis: *axis,
            values: values(*axis, &points),
            weight: (false, 0.0),
        });
        let mut axes: Vec<DrawnAxis> = axes.filter(|axis| axis.values.len() > 1).collect();
        points.sort_by(|one, other| rate_of(other).total_cmp(&rate_of(one)));
        let mut facts = DirectionPicture {
            result,
            answer,
            points,
            unknown,
            axes: Vec::new(),
        };
        for axis in &mut axes {
            axis.weight = facts.weight(axis);
        }
        axes.sort_by(|one, other| {
            let (one, other) = (one.weight, other.weight);
            other.0.cmp(&one.0).then(other.1.total_cmp(&one.1))
        });
        facts.axes = axes;
        facts
    }

    fn weight(&self, axis: &DrawnAxis) -> (bool, f64) {
        let said = self.answer.axes.iter().find(|said| said.axis == axis.axis);
        let rates = axis.values.iter().filter_map(|value| {
            let point = self.fastest(&[(axis.axis, value)])?;
            Some(rate_of(point))
        });
        let loss = 1.0
            - rates.fold(1.0_f64, |least, rate| {
                // Without any rate the quotient is NaN, and min takes the other value.
                least.min(rate / rate_of(self.best()))
            });
        (said.is_some_and(|said| said.matters), loss)
    }

    pub(super) fn best(&self) -> &'a SweepPoint {
        &self.result.points[self.answer.best]
    }

    /// The cheapest point; none if nothing is cheaper than the best.
    pub(super) fn cheapest(&self) -> Option<&'a SweepPoint> {
        let is_other = self.answer.cheapest != self.answer.best;
        is_other.then(|| &self.result.points[self.answer.cheapest])
    }

    /// The points that the answer names, with the class of the style sheet for their rings.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'a SweepPoint, &'static str)> {
        let cheapest = self.cheapest().map(|point| (point, "cheapest"));
        std::iter::once((self.best(), "best")).chain(cheapest)
    }

    /// The fastest of all points that have these values.
    pub(super) fn fastest(&self, wanted: &[(Axis, &Value)]) -> Option<&'a SweepPoint> {
        let mut points = self.points.iter();
        points.find(|point| has(point, wanted)).copied()
    }

    /// The points without a rate that have these values.
    pub(super) fn unknown_with(&self, wanted: &[(Axis, &Value)]) -> Vec<&'a SweepPoint> {
        let unknown = self.unknown.iter();
        unknown
            .filter(|point| has(point, wanted))
            .copied()
            .collect()
    }

    pub(super) fn axis(&self, wanted: Axis) -> Option<&DrawnAxis> {
        self.axes.iter().find(|drawn| drawn.axis == wanted)
    }

    /// The axis whose values are the curves of this one: the one that matters most of the others.
    pub(super) fn second(&self, axis: &DrawnAxis) -> Option<&DrawnAxis> {
        self.axes.iter().find(|other| other.axis != axis.axis)
    }

    /// A curve per value of the second axis. Of many values the first, the last, that of the best
    /// point, and some between have a curve.
    pub(super) fn curves(&self, second: Option<&DrawnAxis>) -> Vec<AxisCurve> {
        let Some(second) = second else {
            let class = "w0".to_owned();
            return vec![AxisCurve { value: None, class }];
        };
        let best = value(&self.best().setting, second.axis);
        let best = second.values.iter().position(|value| *value == best);
        let kept = spread(second.values.len(), best.unwrap_or(0));
        let curve = |(index, place): (usize, usize)| AxisCurve {
            value: Some(second.values[place].clone()),
            class: format!("w{index}"),
        };
        kept.into_iter().enumerate().map(curve).collect()
    }

    /// The point of a curve where the axis has this value.
    pub(super) fn point_on(
        &self,
        curve: &AxisCurve,
        axis: &DrawnAxis,
        second: Option<&DrawnAxis>,
        value: &Value,
    ) -> Option<&'a SweepPoint> {
        let mut wanted = vec![(axis.axis, value)];
        if let Some((second, value)) = second.zip(curve.value.as_ref()) {
            wanted.push((second.axis, value));
        }
        self.fastest(&wanted)
    }
}

/// The rate of a point that has one.
pub(super) fn rate_of(point: &SweepPoint) -> f64 {
    point.rate_bytes_per_s.unwrap_or(0.0)
}

/// A setting's value on an axis of the document.
pub(super) fn value(setting: &SweepSetting, axis: Axis) -> Value {
    match axis {
        Axis::RecordSize => Value::Number(setting.record_size_bytes),
        Axis::Depth => Value::Number(u64::from(setting.depth)),
        Axis::Chunk => setting.chunk_bytes.map_or(Value::None, Value::Number),
        Axis::Place => Value::Name(setting.order.join(",")),
        Axis::Engine => Value::Name(setting.engine.to_string()),
        Axis::Path => Value::Name(setting.path.to_string()),
        Axis::Layout => Value::Name(setting.layout.to_string()),
        // Independent targets are all used at once, in no order.
        Axis::Order if setting.layout == LayoutKind::Independent => Value::None,
        Axis::Order => Value::Name(setting.order.join(",").replace("/dev/", "")),
        Axis::Direction => Value::Name(setting.direction.to_string()),
    }
}

fn values(axis: Axis, points: &[&SweepPoint]) -> Vec<Value> {
    // A picture shows one direction only.
    if axis == Axis::Direction {
        return Vec::new();
    }
    let mut values: Vec<Value> = Vec::new();
    for point in points {
        let value = value(&point.setting, axis);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values.sort_by_key(|value| match value {
        // Names keep their order.
        Value::None | Value::Name(_) => 0,
        Value::Number(number) => *number,
    });
    values
}

fn has(point: &SweepPoint, wanted: &[(Axis, &Value)]) -> bool {
    let mut wanted = wanted.iter();
    wanted.all(|(axis, wanted)| value(&point.setting, *axis) == **wanted)
}

/// Chooses as many of `count` places as there are colours: the first, the last, the needed one, and
/// some between.
fn spread(count: usize, needed: usize) -> Vec<usize> {
    if count <= CURVES_MAX {
        return (0..count).collect();
    }
    let last = CURVES_MAX - 1;
    let mut places: Vec<usize> = (0..CURVES_MAX)
        .map(|index| (index * (count - 1) + last / 2) / last)
        .collect();
    if !places.contains(&needed) {
        let inner = 1..last;
        let nearest = inner.min_by_key(|index| places[*index].abs_diff(needed));
        places[nearest.unwrap_or(0)] = needed;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_values_the_ends_and_the_best_are_shown() {
        assert_eq!(spread(3, 1), [0, 1, 2]);
        assert_eq!(spread(13, 4), [0, 2, 4, 6, 8, 10, 12]);
        assert_eq!(spread(13, 3).len(), CURVES_MAX);
        for count in 8..40 {
            for needed in 0..count {
                let places = spread(count, needed);
                assert_eq!((places[0], places[CURVES_MAX - 1]), (0, count - 1));
                assert!(places.contains(&needed) && places.is_sorted());
                assert!(
                    places.windows(2).all(|pair| pair[0] < pair[1]),
                    "{places:?}"
                );
            }
        }
    }
}
