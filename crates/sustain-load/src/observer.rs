//! Calls observers, such as the terminal, beside the work, and passes events to them. Every command
//! that drives disks runs its work in here.

use sustain_disk::clock::Clock;

use crate::event::{Event, Live};

/// Number of live events that may wait to be drawn.
const EVENTS_WAITING_MAX: usize = 16;

/// An event that the worker passes to an observer.
pub trait RunObserver: Send {
    /// Whether another event follows soon that replaces this one.
    fn is_passing(&self) -> bool;

    /// Makes an event of a note for the user.
    fn note(text: String) -> Self;
}

impl RunObserver for Event {
    fn is_passing(&self) -> bool {
        matches!(self, Event::Live(_))
    }

    fn note(text: String) -> Event {
        Event::Note(text)
    }
}

/// Passes on the events of a phase that is a part of a larger work: live figures through `moment`,
/// notes as they are, and intervals not at all.
pub fn of_phase<E: RunObserver>(
    observer: &mut (dyn FnMut(E) + Send),
    moment: impl Fn(Live) -> E + Send,
) -> impl FnMut(Event) + Send {
    move |event| match event {
        Event::Live(live) => observer(moment(live)),
        Event::Note(note) => observer(E::note(note)),
        Event::Interval { .. } => {}
    }
}

/// Calls the observer in a thread of its own, because a terminal that has been stopped must not
/// stop the disks. Live events that nobody draws in time are dropped; events that must not be lost
/// wait. In virtual time no disk waits, and a repeated run must report the same events; there the
/// work calls the observer itself.
pub fn beside<E: RunObserver, T>(
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
        // The sender is dropped when the work ends, which ends the thread.
        let mut report = move |event: E| {
            let dropped = event.is_passing() && sender.len() >= EVENTS_WAITING_MAX;
            if !dropped {
                // The receiver closes early only if the observer has panicked.
                let _ = sender.send(event);
            }
        };
        let result = work(&mut report);
        drop(report);
        result
    })
}
