//! What the pictures of one direction are drawn from: its points, the axes that have several values
//! and which of them matters most. The pictures ask it; it draws nothing and judges nothing anew.

use sustain_bench::sweep::result::{SweepAnswer, SweepPoint, SweepResult, SweepSetting};

use super::super::svg::cut;
use crate::format::size;

/// More curves than colours cannot be told apart.
const CURVES_MAX: usize = 7;
/// A longer name has no room beside its row; its ends tell more than its middle.
const NAME_CHARACTERS_MAX: usize = 26;
const NAME_LAST: usize = 14;

/// A setting's value on an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A chunk or an order, in a layout that has none.
    None,
    /// Bytes or requests.
    Number(u64),
    /// Whatever has no order.
    Name(String),
}

/// An axis with several values among the points that were measured.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// As the document has it.
    pub(super) name: String,
    /// Numbers ascending, names in the order in which they were given.
    pub(super) values: Vec<Value>,
    /// Whether the document says that it matters, and what its worst value costs, as a part of the
    /// best rate, all else being right.
    weight: (bool, f64),
}

impl Axis {
    /// For people.
    pub(super) fn words(&self) -> String {
        self.name.replace('_', " ")
    }

    /// Whether its values have an order that a curve may follow.
    pub(super) fn is_numeric(&self) -> bool {
        let is_name = |value: &Value| matches!(value, Value::Name(_));
        !self.values.iter().any(is_name)
    }

    /// A value, where the axis is named beside it.
    pub(super) fn value_words(&self, value: &Value) -> String {
        match value {
            Value::None => "none".to_owned(),
            Value::Number(number) if self.name == "depth" => number.to_string(),
            Value::Number(number) => size(*number),
            Value::Name(name) => cut(name, NAME_CHARACTERS_MAX, NAME_LAST),
        }
    }

    /// A value by itself.
    pub(super) fn named_value(&self, value: &Value) -> String {
        match (value, self.name.as_str()) {
            (Value::None, name) => format!("no {name}"),
            (_, "depth" | "chunk") => format!("{} {}", self.name, self.value_words(value)),
            (_, "record_size") => format!("{} records", self.value_words(value)),
            _ => self.value_words(value),
        }
    }
}

/// One curve of a picture: the points of one value of the second axis.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Its value; none if there is but one axis.
    pub(super) value: Option<Value>,
    /// `w0` and on, the classes of the page's colours.
    pub(super) class: String,
}

/// One direction of a sweep.
pub(super) struct Facts<'a> {
    pub(super) result: &'a SweepResult,
    pub(super) answer: &'a SweepAnswer,
    /// Those that have a rate, fastest first.
    pub(super) points: Vec<&'a SweepPoint>,
    /// Those that have none.
    pub(super) unknown: Vec<&'a SweepPoint>,
    /// The one that matters most first.
    pub(super) axes: Vec<Axis>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(result: &'a SweepResult, answer: &'a SweepAnswer) -> Facts<'a> {
        let of_direction = |point: &&SweepPoint| point.setting.direction == answer.direction;
        let points = result.points.iter().filter(of_direction);
        let (mut points, unknown): (Vec<_>, Vec<_>) =
            points.partition(|point| point.rate_bytes_per_s.is_some());
        let axes = result.plan.axes.iter().map(|name| Axis {
            name: name.clone(),
            values: values(name, &points),
            weight: (false, 0.0),
        });
        let mut axes: Vec<Axis> = axes.filter(|axis| axis.values.len() > 1).collect();
        points.sort_by(|one, other| rate_of(other).total_cmp(&rate_of(one)));
        let mut facts = Facts {
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

    fn weight(&self, axis: &Axis) -> (bool, f64) {
        let said = self.answer.axes.iter().find(|said| said.axis == axis.name);
        let rates = axis.values.iter().filter_map(|value| {
            let point = self.fastest(&[(&axis.name, value)])?;
            Some(rate_of(point))
        });
        let loss = 1.0
            - rates.fold(1.0_f64, |least, rate| {
                // Where nothing moved, min takes the other.
                least.min(rate / rate_of(self.best()))
            });
        (said.is_some_and(|said| said.matters), loss)
    }

    pub(super) fn best(&self) -> &'a SweepPoint {
        &self.result.points[self.answer.best]
    }

    /// None if nothing is cheaper than the best.
    pub(super) fn cheapest(&self) -> Option<&'a SweepPoint> {
        let is_other = self.answer.cheapest != self.answer.best;
        is_other.then(|| &self.result.points[self.answer.cheapest])
    }

    /// The fastest of all points that have these values.
    pub(super) fn fastest(&self, wanted: &[(&str, &Value)]) -> Option<&'a SweepPoint> {
        let mut points = self.points.iter();
        points.find(|point| has(point, wanted)).copied()
    }

    /// Points without a rate that have these values.
    pub(super) fn unknown_with(&self, wanted: &[(&str, &Value)]) -> Vec<&'a SweepPoint> {
        let unknown = self.unknown.iter();
        unknown
            .filter(|point| has(point, wanted))
            .copied()
            .collect()
    }

    pub(super) fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// The axis whose values are the curves of this one: of all others the one that matters most.
    pub(super) fn second(&self, axis: &Axis) -> Option<&Axis> {
        self.axes.iter().find(|other| other.name != axis.name)
    }

    /// A curve per value of the second axis; of many the ends, the best's, and some between.
    pub(super) fn curves(&self, second: Option<&Axis>) -> Vec<Curve> {
        let Some(second) = second else {
            let class = "w0".to_owned();
            return vec![Curve { value: None, class }];
        };
        let best = value(&self.best().setting, &second.name);
        let best = second.values.iter().position(|value| *value == best);
        let kept = spread(second.values.len(), best.unwrap_or(0));
        let curve = |(index, place): (usize, usize)| Curve {
            value: Some(second.values[place].clone()),
            class: format!("w{index}"),
        };
        kept.into_iter().enumerate().map(curve).collect()
    }

    /// The point of a curve where the axis has this value.
    pub(super) fn point_on(
        &self,
        curve: &Curve,
        axis: &Axis,
        second: Option<&Axis>,
        value: &Value,
    ) -> Option<&'a SweepPoint> {
        let mut wanted = vec![(axis.name.as_str(), value)];
        if let Some((second, value)) = second.zip(curve.value.as_ref()) {
            wanted.push((&second.name, value));
        }
        self.fastest(&wanted)
    }
}

/// The points' rate; they have one.
pub(super) fn rate_of(point: &SweepPoint) -> f64 {
    point.rate_bytes_per_s.unwrap_or(0.0)
}

/// A setting's value on an axis of the document.
pub(super) fn value(setting: &SweepSetting, axis: &str) -> Value {
    match axis {
        "record_size" => Value::Number(setting.record_size_bytes),
        "depth" => Value::Number(u64::from(setting.depth)),
        "chunk" => setting.chunk_bytes.map_or(Value::None, Value::Number),
        "engine" => Value::Name(setting.engine.clone()),
        "path" => Value::Name(setting.path.clone()),
        "layout" => Value::Name(setting.layout.clone()),
        // Queues of their own are used all at once.
        "order" if setting.layout == "independent" => Value::None,
        "order" => Value::Name(setting.order.join(",").replace("/dev/", "")),
        // Of an axis that is not known here all have the same.
        _ => Value::Name(String::new()),
    }
}

fn values(axis: &str, points: &[&SweepPoint]) -> Vec<Value> {
    // A picture is of one direction.
    if axis == "direction" {
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
        // They stay as they are.
        Value::None | Value::Name(_) => 0,
        Value::Number(number) => *number,
    });
    values
}

fn has(point: &SweepPoint, wanted: &[(&str, &Value)]) -> bool {
    let mut wanted = wanted.iter();
    wanted.all(|(axis, wanted)| value(&point.setting, axis) == **wanted)
}

/// As many places of so many as there are colours: both ends, this one, and some between.
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
