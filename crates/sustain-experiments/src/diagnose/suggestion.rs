//! What advice is made of: the facts on which it rests, walls and links as far as it needs them,
//! and one suggestion.

use super::fall::SeenFall;
use super::reason::{AdviceReason, NamedFall, WallPlace};

/// A set that fills a link to this part is limited by it.
pub(super) const FULL: f64 = 0.98;
/// Another port is worth the effort from this gain on.
pub(super) const WORTH_MOVING: f64 = 0.05;
/// A measured subset that is faster by this part than the best prediction is better advice.
pub(super) const NOT_PREDICTED: f64 = 0.03;

/// The facts about the targets on which advice rests.
#[derive(Debug, Clone)]
pub(super) struct AdviceBasis {
    pub(super) names: Vec<String>,
    /// The rates of the targets alone.
    pub(super) alone: Vec<f64>,
    /// Sizes; they decide what a span reaches over its whole length.
    pub(super) capacity_bytes: Vec<Option<u64>>,
    pub(super) walls: Vec<KnownWall>,
    /// Links that several targets pass through, whether or not they limit today.
    pub(super) links: Vec<Link>,
    /// The targets in the order in which they are connected.
    pub(super) hang: Vec<usize>,
    /// The fastest subset that was measured, and its sum.
    pub(super) fastest: (Vec<usize>, f64),
    /// What all of them reached at once, if that was measured.
    pub(super) together_bytes_per_s: Option<f64>,
    /// The readings that show that a sum falls, if a wall is a collapse.
    pub(super) fall: Option<SeenFall>,
    pub(super) record_bytes: u64,
}

/// A link that several targets pass through.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    pub(super) name: String,
    /// The targets behind it, sorted.
    pub(super) members: Vec<usize>,
    /// The rate that it carries, if known.
    pub(super) rate_bytes_per_s: Option<f64>,
    /// Whether it carries exactly that rate, as a limit of a simulated machine does; real links
    /// carry less than their nominal rate.
    pub(super) is_exact: bool,
}

/// A wall as far as advice needs it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KnownWall {
    /// The place where it sits, if known.
    pub(super) place: Option<String>,
    pub(super) members: Vec<usize>,
    pub(super) limit_bytes_per_s: f64,
    /// The rate that all members reach at once, if that is less.
    pub(super) collapses_to_bytes_per_s: Option<f64>,
    /// Whether the wall depends on where the targets are connected; the program's own limit does
    /// not.
    pub(super) is_of_places: bool,
    /// Whether it is more likely to be there than not. Nothing is predicted by one that is not.
    pub(super) is_likely: bool,
}

/// The sum that a subset is predicted to reach under these walls.
pub(super) type Predict<'a> = dyn Fn(&[KnownWall], &[usize]) -> f64 + 'a;

/// One piece of advice, its targets by number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Suggestion {
    pub(super) layout: SuggestedLayout,
    pub(super) order: Vec<usize>,
    pub(super) leave_out: Vec<usize>,
    pub(super) move_elsewhere: Vec<usize>,
    /// The place that the moved targets get away from.
    pub(super) moved_from: Option<WallPlace>,
    /// The limits that are full after the move.
    pub(super) then_limited_by: Vec<KnownWall>,
    pub(super) expected_bytes_per_s: f64,
    /// Whether the rate is only an upper bound, because something on the path may carry less.
    pub(super) is_at_most: bool,
    /// Whether it is only a lower bound, because a target that moves was held by the limit alone.
    pub(super) is_at_least: bool,
    pub(super) why: AdviceReason,
}

/// How the targets are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuggestedLayout {
    Independent,
    Stripe { chunk_bytes: u64 },
    Span,
}

impl AdviceBasis {
    pub(super) fn has_uncertain_walls(&self) -> bool {
        self.walls.iter().any(|wall| !wall.is_likely)
    }

    /// All targets with what they reached at once, unless fewer of them were clearly faster.
    pub(super) fn most_measured(&self) -> (&[usize], f64) {
        let (fastest, most) = &self.fastest;
        match self.together_bytes_per_s {
            Some(sum) if sum * (1.0 + NOT_PREDICTED) >= *most => (&self.hang, sum),
            _ => (fastest, *most),
        }
    }

    /// The place where a wall sits, if that is known.
    pub(super) fn place_of(&self, wall: &KnownWall) -> WallPlace {
        let of_members = || WallPlace::WallOf(self.named(&wall.members));
        wall.place.clone().map_or_else(of_members, WallPlace::Known)
    }

    /// The targets that reached less than some of them did.
    pub(super) fn named_fall(&self) -> Option<NamedFall> {
        let fall = self.fall.as_ref()?;
        Some(NamedFall {
            members: self.named(&fall.members),
            sum_bytes_per_s: fall.sum,
            fewer: self.named(&fall.fewer),
            fewer_bytes_per_s: fall.fewer_sum,
        })
    }

    /// Whether a target is held by this wall by itself, so that its own rate is not known.
    pub(super) fn fills_alone(&self, target: usize, wall: &KnownWall) -> bool {
        wall.members.contains(&target) && self.alone[target] >= FULL * wall.limit_bytes_per_s
    }

    pub(super) fn named(&self, targets: &[usize]) -> Vec<String> {
        let names = targets.iter().map(|target| self.names[*target].clone());
        names.collect()
    }
}

impl Suggestion {
    /// To use all these targets, where they are.
    pub(super) fn of_all(
        layout: SuggestedLayout,
        order: Vec<usize>,
        expected_bytes_per_s: f64,
        why: AdviceReason,
    ) -> Suggestion {
        Suggestion {
            layout,
            order,
            leave_out: Vec::new(),
            move_elsewhere: Vec::new(),
            moved_from: None,
            then_limited_by: Vec::new(),
            expected_bytes_per_s,
            is_at_most: false,
            is_at_least: false,
            why,
        }
    }
}
