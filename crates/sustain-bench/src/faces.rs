//! Lets the faces draw beside the work, and tells them of it. Every command that drives disks runs
//! its work in here.

use sustain_disk::clock::Clock;

use crate::event::{Event, Live};

/// Moments that may wait to be drawn.
const EVENTS_WAITING_MAX: usize = 16;

/// What the worker tells.
pub(crate) trait Told: Send {
    /// Whether another one follows soon that says more.
    fn is_passing(&self) -> bool;

    /// What the user should know.
    fn note(text: String) -> Self;
}

impl Told for Event {
    fn is_passing(&self) -> bool {
        matches!(self, Event::Live(_))
    }

    fn note(text: String) -> Event {
        Event::Note(text)
    }
}

/// Tells of a phase that is a part of a larger work: its moments as `moment` has them, its notes as
/// they are, of its intervals nothing.
pub(crate) fn of_phase<E: Told>(
    observer: &mut (dyn FnMut(E) + Send),
    moment: impl Fn(Live) -> E + Send,
) -> impl FnMut(Event) + Send {
    move |event| match event {
        Event::Live(live) => observer(moment(live)),
        Event::Note(note) => observer(E::note(note)),
        Event::Interval { .. } => {}
    }
}

/// Lets the faces draw in a thread of their own: a terminal that has been stopped must not stop the
/// disks. Moments that nobody draws in time are dropped; what must not be lost waits. In virtual
/// time no disk waits, and a repeated run is to be told alike: there the work calls them itself.
pub(crate) fn beside<E: Told, T>(
    clock: &Clock,
    observer: &mut (dyn FnMut(E) + Send),
    work: impl FnOnce(&mut (dyn FnMut(E) + Send)) -> T,
) -> T {
    if clock.is_virtual() {
        return work(observer);
    }
    let (sender, events) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        scope.spawn(move || events.iter().for_each(observer));
        // It goes with the work's end, which ends the thread.
        let mut tell = move |event: E| {
            let dropped = event.is_passing() && sender.len() >= EVENTS_WAITING_MAX;
            if !dropped {
                // The other end closes only when the observer has panicked.
                let _ = sender.send(event);
            }
        };
        let result = work(&mut tell);
        drop(tell);
        result
    })
}
