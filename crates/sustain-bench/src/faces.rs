//! Lets the faces draw beside the work. Every command that drives disks runs its work in here.

use crate::event::Event;

/// Moments that may wait to be drawn.
const EVENTS_WAITING_MAX: usize = 16;

/// What the worker tells.
pub(crate) trait Told: Send {
    /// Whether another one follows soon that says more.
    fn is_passing(&self) -> bool;
}

impl Told for Event {
    fn is_passing(&self) -> bool {
        matches!(self, Event::Live(_))
    }
}

/// Lets the faces draw in a thread of their own: a terminal that has been stopped must not stop the
/// disks. Moments that nobody draws in time are dropped; what must not be lost waits.
pub(crate) fn beside<E: Told, T>(
    observer: &mut (dyn FnMut(E) + Send),
    work: impl FnOnce(&mut (dyn FnMut(E) + Send)) -> T,
) -> T {
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
