//! Values by numbers that travel through the kernel and come back with its completions. Pure.

/// Values by numbers that the kernel carries for us.
pub(super) struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Slots<T> {
        Slots {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, value: T) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() - 1
        });
        self.values[slot] = Some(value);
        slot
    }

    pub(super) fn get(&self, slot: usize) -> &T {
        self.values[slot].as_ref().expect("a slot in use")
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> &mut T {
        self.values[slot].as_mut().expect("a slot in use")
    }

    pub(super) fn take(&mut self, slot: usize) -> T {
        self.free.push(slot);
        self.values[slot].take().expect("a slot in use")
    }

    pub(super) fn in_use(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// The kernel may still use what these values own: it must never be used again.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.values));
        self.free.clear();
    }
}
