//! Buffers that pass between threads: sources borrow and fill them, and a driver's thread gives
//! them back. The pool must never lend more than it was made with, because this bound is what holds
//! a source back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use sustain_document::share::LockedBufferResult;

use super::pool::map_buffers;
use super::region::{REGION_BYTES_MAX, Region};
use super::{BUFFER_ALIGNMENT, Buffer};
use crate::error::Error;

/// The part that is registered with the kernel, and so taken at once: as much as a virtual machine
/// whose host has to supply it gets within some 15 ms.
const FIRST_REGION_BYTES: usize = 8 << 20;

/// A bounded pool for many threads; clones are the same pool.
///
/// The buffer given back last is lent first, so that few buffers stay in the CPU's cache. Address
/// space for all is mapped at once, which costs next to nothing. Memory is taken when it is first
/// touched, unless [`SharedPool::find`] has had it supplied before: a source that waits while the
/// kernel supplies and clears pages would do so when the disks have just fallen behind, which is
/// the worst time. A [`Finder`](super::Finder) has it supplied beside the work.
///
/// Registering pins memory, which must exist for that, and of which ordinary users may pin little.
/// So [`SharedPool::regions`] returns only the first 8 MiB to be registered, and buffers are lent
/// from there as long as one is free. For each request from one of the others, the kernel looks up
/// and pins its pages anew, which costs CPU time by the page, little of it if pages are huge, and
/// no copy.
#[derive(Debug, Clone)]
pub struct SharedPool(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    regions: Vec<Arc<Region>>,
    count: usize,
    /// Bytes from the first one on, in the order of lending, whose memory has been asked for.
    found_bytes: AtomicUsize,
    state: Mutex<PoolState>,
    given: Condvar,
}

#[derive(Debug)]
struct PoolState {
    /// One stack for each region; the lower regions are lent first.
    free: Vec<Vec<Buffer>>,
    /// Number of threads inside [`SharedPool::take`]: if it is zero, giving back needs no system
    /// call.
    waiting: usize,
    closed: bool,
}

impl SharedPool {
    /// A pool of `count` buffers of `length` bytes each.
    ///
    /// # Errors
    /// [`Error::Memory`] if the kernel does not have that much.
    ///
    /// # Panics
    /// Panics if `length` is 0.
    pub fn new(count: usize, length: usize) -> Result<SharedPool, Error> {
        let (mut regions, mut free, mut mapped) = (Vec::new(), Vec::new(), 0);
        while mapped < count {
            let bytes_max = if regions.is_empty() {
                FIRST_REGION_BYTES
            } else {
                REGION_BYTES_MAX
            };
            let (region, buffers) = map_buffers(regions.len(), count - mapped, length, bytes_max)?;
            let mut stack: Vec<Buffer> = buffers.collect();
            // The lowest address is lent first.
            stack.reverse();
            mapped += stack.len();
            regions.push(region);
            free.push(stack);
        }
        Ok(SharedPool(Arc::new(Pool {
            regions,
            count,
            found_bytes: AtomicUsize::new(0),
            state: Mutex::new(PoolState {
                free,
                waiting: 0,
                closed: false,
            }),
            given: Condvar::new(),
        })))
    }

    /// Has the kernel supply memory for the next `bytes` now, in the order in which buffers are
    /// lent. Buffers may be lent, and written to, at the same time. It takes from a tenth of a
    /// millisecond for each MiB up to two on a virtual machine whose host has to supply it, and
    /// more if other memory must be freed.
    ///
    /// # Errors
    /// [`Error::Memory`] if the kernel does not have that much. Memory that is lent then is
    /// supplied when it is touched, if at all.
    pub fn find(&self, bytes: usize) -> Result<(), Error> {
        let (mut skip, mut left) = (self.found_bytes(), bytes);
        self.0.found_bytes.fetch_add(bytes, Ordering::Relaxed);
        for region in &self.0.regions {
            let start = skip.min(region.length());
            let length = left.min(region.length() - start);
            if length > 0 {
                region.populate(start, length)?;
            }
            skip -= start;
            left -= length;
        }
        Ok(())
    }

    /// Has the kernel keep the memory of all buffers from the moment at which it is there, so that
    /// a machine that is short of memory does not take it back. Nothing is supplied now, so this
    /// takes no time. Where RLIMIT_MEMLOCK does not allow all of it, the buffers that are lent
    /// first are kept.
    pub fn lock_memory(&self) -> LockedBufferResult {
        let limit = getrlimit(Resource::Memlock).current;
        let limit = limit.map_or(usize::MAX, |limit| limit.try_into().unwrap_or(usize::MAX));
        let regions: Vec<usize> = self.0.regions.iter().map(|one| one.length()).collect();
        let lock = |region: usize, length| self.0.regions[region].lock(length);
        let (bytes, refused) = lock_in_turn(&regions, limit, lock);
        LockedBufferResult {
            bytes: bytes as u64,
            of_bytes: self.bytes() as u64,
            refused: refused.map(|errno| std::io::Error::from(errno).to_string()),
        }
    }

    /// Bytes for which memory has been asked, by [`SharedPool::find`].
    pub fn found_bytes(&self) -> usize {
        self.0.found_bytes.load(Ordering::Relaxed).min(self.bytes())
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> usize {
        self.0.regions.iter().map(|region| region.length()).sum()
    }

    /// About how many bytes have been found and are not lent.
    pub fn ready_bytes(&self) -> usize {
        let buffer_bytes = self.bytes() / self.count().max(1);
        let lent_bytes = (self.count() - self.free()) * buffer_bytes;
        self.found_bytes().saturating_sub(lent_bytes)
    }

    /// The memory to be registered: the first region, if there is one.
    pub fn regions(&self) -> &[Arc<Region>] {
        &self.0.regions[..self.0.regions.len().min(1)]
    }

    /// Buffers in all, lent or not.
    pub fn count(&self) -> usize {
        self.0.count
    }

    /// Buffers that are not lent.
    pub fn free(&self) -> usize {
        self.lock().free.iter().map(Vec::len).sum()
    }

    /// Lends a buffer if one is free and the pool is open. Its content is left over from its last
    /// use.
    pub fn try_take(&self) -> Option<Buffer> {
        self.lock().lend()
    }

    /// Lends a buffer, and waits until one is free; `None` once the pool is closed.
    pub fn take(&self) -> Option<Buffer> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(buffer) = state.lend() {
                return Some(buffer);
            }
            state.waiting += 1;
            state = self.0.given.wait(state).expect(UNBROKEN);
            state.waiting -= 1;
        }
    }

    /// Works as [`SharedPool::take`], but waits no longer than this: `None` also if none was free.
    pub fn take_within(&self, at_most: Duration) -> Option<Buffer> {
        let mut state = self.lock();
        if let Some(buffer) = state.lend() {
            return Some(buffer);
        }
        state.waiting += 1;
        let is_wanting = |state: &mut PoolState| !state.closed && !state.has_free();
        let waited = self.0.given.wait_timeout_while(state, at_most, is_wanting);
        let (mut state, _) = waited.expect(UNBROKEN);
        state.waiting -= 1;
        state.lend()
    }

    /// Takes a buffer back, also when the pool is closed.
    ///
    /// # Panics
    /// Panics if the buffer is not one of this pool.
    pub fn give(&self, buffer: Buffer) {
        let index = buffer
            .region()
            .filter(|(region, index)| {
                let own = self.0.regions.get(usize::from(*index));
                own.is_some_and(|own| Arc::ptr_eq(own, region))
            })
            .map(|(_, index)| usize::from(index))
            .expect("a pool takes back only what it has lent");
        let mut state = self.lock();
        state.free[index].push(buffer);
        let wanted = state.waiting > 0;
        drop(state);
        if wanted {
            self.0.given.notify_one();
        }
    }

    /// Ends the lending: waiting threads are told so. Buffers may still be given back.
    pub fn close(&self) {
        self.lock().closed = true;
        self.0.given.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.0.state.lock().expect(UNBROKEN)
    }
}

/// Locks regions of these lengths in turn: each whole, and of the first that is refused as much as
/// the limit has left. Returns the bytes locked, and the answer to what was refused.
fn lock_in_turn(
    regions: &[usize],
    limit: usize,
    lock: impl Fn(usize, usize) -> Result<(), Errno>,
) -> (usize, Option<Errno>) {
    let mut locked = 0;
    for (region, length) in regions.iter().enumerate() {
        let Err(errno) = lock(region, *length) else {
            locked += length;
            continue;
        };
        let left = limit.saturating_sub(locked).min(*length);
        let part = left - left % BUFFER_ALIGNMENT;
        if part > 0 && lock(region, part).is_ok() {
            locked += part;
        }
        return (locked, Some(errno));
    }
    (locked, None)
}

const UNBROKEN: &str = "no panic leaves a pool in disorder";

impl PoolState {
    fn has_free(&self) -> bool {
        self.free.iter().any(|stack| !stack.is_empty())
    }

    fn lend(&mut self) -> Option<Buffer> {
        if self.closed {
            return None;
        }
        self.free.iter_mut().find_map(Vec::pop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_given_back_last_is_lent_first() {
        let pool = SharedPool::new(3, 4096).unwrap();
        let first = pool.try_take().unwrap();
        let second = pool.try_take().unwrap();
        let addresses = [first.address().addr(), second.address().addr()];
        pool.give(first);
        pool.give(second);
        let again = [pool.try_take().unwrap(), pool.try_take().unwrap()];
        assert_eq!(
            again.map(|buffer| buffer.address().addr()),
            [addresses[1], addresses[0]]
        );
    }

    #[test]
    fn a_pool_lends_no_more_than_its_count() {
        let pool = SharedPool::new(2, 5000).unwrap();
        assert_eq!((pool.count(), pool.free()), (2, 2));
        let lent = [pool.try_take().unwrap(), pool.try_take().unwrap()];
        assert_eq!(pool.free(), 0);
        assert!(pool.try_take().is_none());
        lent.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!(pool.free(), 2);
    }

    #[test]
    fn the_first_8_mib_are_registered_and_are_lent_as_long_as_they_last() {
        let pool = SharedPool::new(12, 1 << 20).unwrap();
        assert_eq!(pool.regions().len(), 1);
        assert_eq!(pool.regions()[0].length(), 8 << 20);
        let index = |buffer: &Buffer| buffer.region().unwrap().1;
        let mut lent: Vec<Buffer> = std::iter::from_fn(|| pool.try_take()).collect();
        assert_eq!(lent.len(), 12);
        assert!(lent[..8].iter().all(|buffer| index(buffer) == 0));
        assert!(lent[8..].iter().all(|buffer| index(buffer) == 1));
        // Whatever comes back last, what is registered goes out first.
        pool.give(lent.remove(0));
        pool.give(lent.pop().unwrap());
        assert_eq!(index(&pool.try_take().unwrap()), 0);
    }

    #[test]
    fn memory_that_is_found_is_there_before_it_is_touched() {
        let pool = SharedPool::new(14, 1 << 20).unwrap();
        let resident = || -> u64 {
            let regions = &pool.0.regions;
            regions
                .iter()
                .map(|region| {
                    let mut resident = vec![0_u8; region.length().div_ceil(4096)];
                    // SAFETY: the range is mapped while the pool lives, and there is a byte for
                    // each of its pages.
                    let told = unsafe {
                        libc::mincore(
                            region.address().cast(),
                            region.length(),
                            resident.as_mut_ptr(),
                        )
                    };
                    assert_eq!(told, 0);
                    resident
                        .iter()
                        .map(|page| u64::from(page & 1) * 4096)
                        .sum::<u64>()
                })
                .sum()
        };
        assert_eq!(resident(), 0);
        pool.find(6 << 20).unwrap();
        pool.find(4 << 20).unwrap();
        assert_eq!(
            (pool.found_bytes(), pool.ready_bytes()),
            (10 << 20, 10 << 20)
        );
        // Old kernels do nothing; huge pages round it up.
        let found = resident();
        assert!(found == 0 || found >= 10 << 20, "{found} bytes");
        let mut lent = pool.take().unwrap();
        lent.bytes_mut().fill(7);
        assert_eq!(pool.ready_bytes(), 9 << 20);
        pool.find(100 << 20).unwrap();
        assert_eq!((pool.found_bytes(), pool.bytes()), (14 << 20, 14 << 20));
        assert!(found == 0 || resident() == 14 << 20, "{} bytes", resident());
        assert!(
            lent.bytes().iter().all(|byte| *byte == 7),
            "what is lent stays as it is"
        );
        assert!(
            pool.try_take()
                .unwrap()
                .bytes()
                .iter()
                .all(|byte| *byte == 0)
        );
    }

    #[test]
    fn memory_is_locked_in_the_order_of_lending_as_far_as_the_limit_allows() {
        const MIB: usize = 1 << 20;
        let regions = [8 * MIB, 1024 * MIB, 512 * MIB];
        let locked_within = |allowed: usize, limit: usize| {
            let held = std::cell::Cell::new(0);
            lock_in_turn(&regions, limit, |_, length| {
                if held.get() + length > allowed {
                    return Err(Errno::NOMEM);
                }
                held.set(held.get() + length);
                Ok(())
            })
        };
        assert_eq!(locked_within(usize::MAX, 0), (1544 * MIB, None));
        assert_eq!(
            locked_within(64 * MIB + 5, 64 * MIB + 5),
            (64 * MIB, Some(Errno::NOMEM))
        );
        assert_eq!(
            locked_within(8 * MIB, 8 * MIB),
            (8 * MIB, Some(Errno::NOMEM))
        );
        // Another part of the process has locked some of the limit already.
        assert_eq!(locked_within(7 * MIB, 8 * MIB), (0, Some(Errno::NOMEM)));
        assert_eq!(locked_within(0, 0), (0, Some(Errno::NOMEM)));
    }

    #[test]
    fn locking_supplies_nothing_and_takes_buffers_as_they_are() {
        let pool = SharedPool::new(1024, 1 << 20).unwrap();
        let locked = pool.lock_memory();
        assert_eq!(locked.of_bytes, 1 << 30);
        assert_eq!(locked.refused.is_none(), locked.bytes == 1 << 30);
        assert_eq!(pool.found_bytes(), 0);
        let mut buffer = pool.try_take().unwrap();
        buffer.bytes_mut()[5] = 1;
        pool.give(buffer);
    }

    #[test]
    fn a_thread_that_waits_gets_what_another_gives_back() {
        let pool = SharedPool::new(1, 4096).unwrap();
        let mut lent = pool.take().unwrap();
        lent.bytes_mut()[0] = 7;
        let waiter = {
            let pool = pool.clone();
            std::thread::spawn(move || pool.take().map(|buffer| buffer.bytes()[0]))
        };
        pool.give(lent);
        assert_eq!(waiter.join().unwrap(), Some(7));
    }

    #[test]
    fn whoever_waits_for_a_bounded_time_gets_a_buffer_or_nothing() {
        let pool = SharedPool::new(1, 4096).unwrap();
        let lent = pool.take_within(Duration::ZERO).unwrap();
        assert!(pool.take_within(Duration::from_millis(1)).is_none());
        let waiter = {
            let pool = pool.clone();
            std::thread::spawn(move || pool.take_within(Duration::from_secs(600)).is_some())
        };
        pool.give(lent);
        assert!(waiter.join().unwrap());
        pool.close();
        assert!(pool.take_within(Duration::from_secs(600)).is_none());
    }

    #[test]
    fn closing_a_pool_ends_every_wait_and_still_takes_back() {
        let pool = SharedPool::new(1, 4096).unwrap();
        let lent = pool.take().unwrap();
        let waiters = [(); 3].map(|()| {
            let pool = pool.clone();
            std::thread::spawn(move || pool.take().is_none())
        });
        pool.close();
        for waiter in waiters {
            assert!(waiter.join().unwrap());
        }
        pool.give(lent);
        assert_eq!(pool.free(), 1);
        assert!(pool.try_take().is_none(), "a closed pool lends nothing");
    }

    #[test]
    fn many_threads_never_hold_the_same_buffer_nor_more_than_the_bound() {
        let pool = SharedPool::new(3, 4096).unwrap();
        let threads = [1u8, 2, 3, 4, 5, 6, 7, 8].map(|mark| {
            let pool = pool.clone();
            std::thread::spawn(move || {
                for _ in 0..500 {
                    let mut buffer = pool.take().unwrap();
                    buffer.bytes_mut().fill(mark);
                    std::thread::yield_now();
                    assert!(buffer.bytes().iter().all(|byte| *byte == mark));
                    pool.give(buffer);
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(pool.free(), 3);
    }

    #[test]
    #[should_panic(expected = "only what it has lent")]
    fn a_buffer_of_another_pool_is_not_taken() {
        let other = SharedPool::new(1, 4096).unwrap();
        SharedPool::new(1, 4096)
            .unwrap()
            .give(other.try_take().unwrap());
    }
}
