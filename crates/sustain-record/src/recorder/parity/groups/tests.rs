//! All that can happen to a few groups, in every order.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::*;

/// An append as the media have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnMedium {
    UnderWay,
    There,
    Never,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    member: usize,
    group: u64,
    /// None for data.
    parity: Option<usize>,
    medium: OnMedium,
}

/// What the groups should know, kept apart from them and judged by brute force.
#[derive(Debug, Clone)]
struct Model {
    members: usize,
    parities: usize,
    data_left: usize,
    failures_left: usize,
    /// How many members may still be hedged.
    hedges_left: usize,
    hedged: BTreeSet<usize>,
    /// How often it may still be held.
    holds_left: usize,
    /// How many writes the kernel may still refuse for good, of members that work.
    refusals_left: usize,
    refused: BTreeSet<u64>,
    groups: Groups,
    parts: BTreeMap<u64, Part>,
    /// Parity that waits for a member.
    waiting: BTreeSet<(u64, usize)>,
    /// Groups that found no place for all of their parity.
    missed: BTreeSet<u64>,
    failed: BTreeSet<usize>,
    covered: BTreeSet<u64>,
    protected: BTreeSet<u64>,
    lost: BTreeSet<u64>,
    next_sequence: u64,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Join(usize),
    Close(u64),
    Place(u64, usize, usize),
    NoPlace(u64, usize),
    Durable(u64),
    /// The member of this append has failed, and this was not durable there, or the kernel never
    /// took it.
    Lost(u64),
    Fail(usize),
    Hedge(usize),
    EndHedge(usize),
    Hold,
    Release,
}

impl Model {
    fn new(members: usize, parities: usize, data: usize, failures: usize) -> Model {
        Model {
            members,
            parities,
            data_left: data,
            failures_left: failures,
            hedges_left: 0,
            hedged: BTreeSet::new(),
            holds_left: 0,
            refusals_left: 0,
            refused: BTreeSet::new(),
            groups: Groups::new(parities),
            parts: BTreeMap::new(),
            waiting: BTreeSet::new(),
            missed: BTreeSet::new(),
            failed: BTreeSet::new(),
            covered: BTreeSet::new(),
            protected: BTreeSet::new(),
            lost: BTreeSet::new(),
            next_sequence: 1,
        }
    }

    fn works(&self, member: usize) -> bool {
        !self.failed.contains(&member)
    }

    fn is_part(&self, group: u64, member: usize) -> bool {
        let mut parts = self.parts.values();
        parts.any(|part| part.group == group && part.member == member)
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let open: Vec<u64> = self.groups.open().collect();
        for member in (0..self.members).filter(|member| self.works(*member)) {
            let may_begin = open.len() < 2;
            let joins = self.groups.open_without(member).next().is_some();
            if self.data_left > 0 && (joins || may_begin) {
                events.push(Event::Join(member));
            }
            if self.failures_left > 0 {
                events.push(Event::Fail(member));
            }
            if self.hedges_left > 0 {
                events.push(Event::Hedge(member));
            }
            if self.hedged.contains(&member) {
                events.push(Event::EndHedge(member));
            }
        }
        if self.groups.is_held() {
            events.push(Event::Release);
        } else if self.holds_left > 0 {
            events.push(Event::Hold);
        }
        events.extend(open.iter().map(|group| Event::Close(*group)));
        for (group, number) in &self.waiting {
            let fit = |member: &usize| self.works(*member) && !self.is_part(*group, *member);
            let fitting = (0..self.members).filter(fit);
            // Those that fit may all be full.
            events.push(Event::NoPlace(*group, *number));
            events.extend(fitting.map(|member| Event::Place(*group, *number, member)));
        }
        for (sequence, part) in &self.parts {
            if part.medium == OnMedium::UnderWay {
                // A flush that was under way when its member failed may still confirm it.
                events.push(Event::Durable(*sequence));
                if !self.works(part.member) || self.refusals_left > 0 {
                    events.push(Event::Lost(*sequence));
                }
            }
        }
        events
    }

    fn take(&mut self, event: Event) {
        let changes = match event {
            Event::Join(member) => {
                self.data_left -= 1;
                let sequence = self.take_sequence();
                let group = self.groups.open_without(member).next();
                let joined = self.groups.join(group, member, sequence);
                self.put(sequence, member, joined.group, None);
                Vec::new()
            }
            Event::Close(group) => {
                self.groups.close(group);
                self.waiting
                    .extend((0..self.parities).map(|number| (group, number)));
                Vec::new()
            }
            Event::Place(group, number, member) => {
                let sequence = self.take_sequence();
                self.waiting.remove(&(group, number));
                self.groups.place_parity(group, number, member, sequence);
                self.put(sequence, member, group, Some(number));
                Vec::new()
            }
            Event::NoPlace(group, number) => {
                self.waiting.remove(&(group, number));
                self.missed.insert(group);
                self.groups.miss_parity(group, number)
            }
            Event::Durable(sequence) => {
                self.set(sequence, OnMedium::There);
                self.groups.durable(sequence)
            }
            Event::Lost(sequence) => {
                if self.works(self.parts[&sequence].member) {
                    self.refusals_left -= 1;
                    self.refused.insert(sequence);
                }
                self.set(sequence, OnMedium::Never);
                self.groups.lose(sequence)
            }
            Event::Fail(member) => {
                self.failures_left -= 1;
                self.failed.insert(member);
                self.groups.fail(member)
            }
            Event::Hedge(member) => {
                self.hedges_left -= 1;
                self.hedged.insert(member);
                self.groups.hedge(member)
            }
            Event::Hold => {
                self.holds_left -= 1;
                self.groups.hold();
                Vec::new()
            }
            Event::Release => self.groups.release(),
            Event::EndHedge(member) => {
                self.hedged.remove(&member);
                self.groups.end_hedge(member);
                Vec::new()
            }
        };
        changes.into_iter().for_each(|change| self.check(change));
    }

    fn take_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    fn put(&mut self, sequence: u64, member: usize, group: u64, parity: Option<usize>) {
        assert!(!self.is_part(group, member), "two of a group on one member");
        let part = Part {
            member,
            group,
            parity,
            medium: OnMedium::UnderWay,
        };
        self.parts.insert(sequence, part);
    }

    fn set(&mut self, sequence: u64, medium: OnMedium) {
        self.parts.get_mut(&sequence).unwrap().medium = medium;
    }

    /// Whether the bytes of an append of data come back without these members, if all that is under
    /// way comes to the medium or not.
    fn is_readable(&self, sequence: u64, gone: &BTreeSet<usize>, comes: bool) -> bool {
        let is_there = |part: &Part| {
            let is_on_medium = match part.medium {
                OnMedium::There => true,
                OnMedium::UnderWay => comes,
                OnMedium::Never => false,
            };
            is_on_medium && !gone.contains(&part.member)
        };
        let group = self.parts[&sequence].group;
        let of_group = || self.parts.values().filter(|part| part.group == group);
        let absent = of_group().filter(|part| part.parity.is_none() && !is_there(part));
        let parities = of_group().filter(|part| part.parity.is_some() && is_there(part));
        let waiting = self.waiting.iter().filter(|(of, _)| *of == group && comes);
        is_there(&self.parts[&sequence]) || absent.count() <= parities.count() + waiting.count()
    }

    fn check(&mut self, change: GroupChange) {
        match change {
            GroupChange::Covered(sequence) => {
                assert!(self.is_readable(sequence, &self.failed, false), "{self:#?}");
                assert!(self.covered.insert(sequence), "told twice");
                assert!(!self.lost.contains(&sequence), "lost before");
            }
            GroupChange::Lost(sequence) => {
                assert!(!self.is_readable(sequence, &self.failed, true), "{self:#?}");
                assert!(self.lost.insert(sequence), "told twice");
                assert!(!self.covered.contains(&sequence), "it was covered");
            }
            GroupChange::Protected(sequence) => {
                assert!(self.protected.insert(sequence), "told twice");
                for gone in self.losses() {
                    assert!(
                        self.is_readable(sequence, &gone, false),
                        "{gone:?} {self:#?}"
                    );
                }
            }
        }
    }

    /// The sets of members that may be gone: as many as there are parities, those that failed
    /// included.
    fn losses(&self) -> Vec<BTreeSet<usize>> {
        let sets = (0..1_usize << self.members).map(|bits| {
            let of_set = (0..self.members).filter(move |member| bits >> member & 1 == 1);
            of_set.collect::<BTreeSet<usize>>()
        });
        sets.filter(|set| set.len() <= self.parities.max(self.failed.len()))
            .filter(|set| set.is_superset(&self.failed))
            .collect()
    }

    /// Where nothing is under way any more, all is decided and was told.
    fn check_end(&self) {
        assert_eq!(self.groups.group_of.len(), 0, "{self:#?}");
        assert_eq!(self.groups.groups.len(), 0);
        for (sequence, part) in self.parts.iter().filter(|(_, part)| part.parity.is_none()) {
            let is_told = self.covered.contains(sequence) || self.lost.contains(sequence);
            assert!(part.medium == OnMedium::There || is_told, "{self:#?}");
        }
        let is_smooth = self.failed.is_empty() && self.refused.is_empty();
        if is_smooth && self.members > self.parities {
            let width = |group: u64| {
                let parts = self.parts.values();
                parts
                    .filter(|part| part.group == group && part.parity.is_none())
                    .count()
            };
            for (sequence, part) in self.parts.iter().filter(|(_, part)| part.parity.is_none()) {
                let is_whole = !self.missed.contains(&part.group);
                assert!(!is_whole || width(part.group) + self.parities <= self.members);
                assert_eq!(self.protected.contains(sequence), is_whole, "{self:#?}");
            }
        }
    }
}

/// Tries every order of events. Returns how many states there were, and how many of them were ends.
fn explore(first: Model) -> (usize, usize) {
    let (mut seen, mut ends) = (HashSet::new(), 0);
    let mut left = vec![first];
    while let Some(model) = left.pop() {
        if !seen.insert(format!("{model:?}")) {
            continue;
        }
        let events = model.events();
        let is_of_members = |event: &Event| {
            matches!(
                event,
                Event::Fail(_) | Event::Hedge(_) | Event::EndHedge(_) | Event::Hold
            )
        };
        if events.iter().all(is_of_members) {
            model.check_end();
            ends += 1;
        }
        for event in events {
            let mut next = model.clone();
            next.take(event);
            left.push(next);
        }
    }
    (seen.len(), ends)
}

#[test]
fn with_one_parity_every_order_of_events_keeps_the_promise() {
    // A mirror, and groups that differ in width, with up to two failures.
    for (members, data, failures) in [(2, 2, 1), (3, 2, 1), (2, 2, 2)] {
        let (states, ends) = explore(Model::new(members, 1, data, failures));
        assert!(states > 500 && ends > 50, "{states} states, {ends} ends");
    }
}

#[test]
fn with_two_parities_every_order_of_events_keeps_the_promise() {
    for (members, data, failures) in [(3, 1, 2), (4, 1, 1)] {
        let (states, ends) = explore(Model::new(members, 2, data, failures));
        assert!(states > 500 && ends > 50, "{states} states, {ends} ends");
    }
}

/// Tries every order of events of these stores, each with so many members, parities, appends of
/// data and failures, in which one thing more may happen.
fn explore_with(stores: [(usize, usize, usize, usize); 3], more: impl Fn(&mut Model)) {
    for (members, parities, data, failures) in stores {
        let mut model = Model::new(members, parities, data, failures);
        more(&mut model);
        let (states, ends) = explore(model);
        assert!(states > 500 && ends > 50, "{states} states, {ends} ends");
    }
}

#[test]
fn what_the_kernel_never_took_counts_as_lost_in_every_order_of_events() {
    let stores = [(3, 1, 2, 0), (3, 1, 2, 1), (4, 2, 1, 0)];
    explore_with(stores, |model| model.refusals_left = 1);
}

#[test]
fn what_waits_on_a_slow_member_is_covered_only_where_it_can_be_computed() {
    let stores = [(2, 1, 2, 0), (3, 1, 2, 1), (4, 2, 1, 0)];
    explore_with(stores, |model| model.hedges_left = 1);
    let mut groups = Groups::new(1);
    groups.join(None, 0, 7);
    groups.join(Some(7), 1, 8);
    groups.close(7);
    groups.place_parity(7, 0, 2, 9);
    assert_eq!(groups.durable(8), []);
    assert_eq!(groups.hedge(0), []);
    assert_eq!(groups.durable(9), [GroupChange::Covered(7)]);
    assert!(groups.owes(0) && !groups.owes(1));
    let protected = [GroupChange::Protected(7), GroupChange::Protected(8)];
    assert_eq!(groups.durable(7), protected);
    assert!(!groups.owes(0));
}

#[test]
fn what_is_held_is_told_as_it_is_when_it_is_released() {
    let stores = [(2, 1, 2, 1), (3, 1, 2, 1), (2, 1, 2, 2)];
    explore_with(stores, |model| model.holds_left = 1);
}

#[test]
fn parity_without_a_place_protects_nothing_and_loses_nothing() {
    let mut groups = Groups::new(1);
    let joined = groups.join(None, 0, 7);
    assert_eq!((joined.group, joined.position), (7, 0));
    groups.close(7);
    assert_eq!(groups.durable(7), []);
    assert_eq!(groups.miss_parity(7, 0), []);
    assert!(!groups.has(7), "all is decided");
}

#[test]
fn parity_that_was_not_written_may_go_to_another_member() {
    let mut groups = Groups::new(1);
    groups.join(None, 0, 7);
    groups.join(Some(7), 1, 8);
    groups.close(7);
    groups.place_parity(7, 0, 2, 9);
    assert!(groups.has_part_on(7, 2));
    groups.take_parity_back(7, 0);
    assert!(!groups.has_part_on(7, 2));
    groups.place_parity(7, 0, 3, 10);
    assert_eq!(groups.durable(9), [], "that append is none of the group");
    assert_eq!(groups.durable(10), []);
    assert_eq!(groups.durable(8), []);
    let protected = [GroupChange::Protected(7), GroupChange::Protected(8)];
    assert_eq!(groups.durable(7), protected);
}

/// A pin waits for groups, and not for members that do not answer.
#[test]
fn a_group_is_waited_for_as_long_as_members_that_answer_have_to_do_with_it() {
    let mut groups = Groups::new(1);
    groups.join(None, 0, 10);
    groups.join(Some(10), 1, 11);
    let waited_for = |groups: &Groups, answering: &[usize]| {
        let answers = |member: usize| answering.contains(&member);
        groups.is_waited_for(10, &answers, &answers, 3)
    };
    assert!(waited_for(&groups, &[]), "others may join it");
    groups.close(10);
    assert!(waited_for(&groups, &[2]), "its parity may go there");
    assert!(waited_for(&groups, &[0]), "data is on its way there");
    assert!(!waited_for(&groups, &[]));
    groups.place_parity(10, 0, 2, 12);
    assert!(waited_for(&groups, &[2]));
    groups.durable(10);
    groups.durable(12);
    assert!(
        !waited_for(&groups, &[0, 2]),
        "the rest is on one that does not answer"
    );
    assert_eq!(groups.undecided().collect::<Vec<_>>(), [10]);
    groups.durable(11);
    assert_eq!(groups.undecided().count(), 0);
    assert!(!waited_for(&groups, &[0, 1, 2]));
}
