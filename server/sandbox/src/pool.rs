//! Containers that are made ahead, so that a run does not wait for the engine.
//!
//! What is kept follows what was last used: as many containers as the pool holds, of the shapes of
//! the last runs. A container serves one run. The place that it leaves is filled when no run is under
//! way, or at once where no container of its shape is left: a start beside a run takes time from it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use crate::container::Shape;
use crate::parked::Parked;
use crate::{Inner, Sandbox};

/// How long a container waits for its run before another is made in its place.
pub(crate) const PARKED_LIFE: Duration = Duration::from_secs(900);
/// How often those that wait are looked at although nothing happened.
const LOOK_EVERY: Duration = Duration::from_secs(20);
/// Waits after a start that failed, doubled each time up to the second.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(20));
/// What one parked container costs (its shim and its first process), and the share of the memory
/// that is free at start that the pool may take.
const PARKED_BYTES: u64 = 20 << 20;
const FREE_SHARE: u64 = 8;

pub(crate) struct Pool {
    size: usize,
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    ready: Vec<Parked>,
    /// Shapes of the last runs, the latest first: what is worth keeping.
    recent: VecDeque<Shape>,
    making: Vec<Shape>,
    runs: usize,
    closed: bool,
}

/// Counts a run that is under way.
pub(crate) struct UnderWay(Arc<Pool>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.state().runs -= 1;
        self.0.wake.notify_one();
    }
}

impl Pool {
    pub(crate) fn new(size: usize) -> Arc<Self> {
        Arc::new(Self { size, state: Mutex::default(), wake: Notify::new() })
    }

    /// How many containers the free memory allows of those that were asked for.
    pub(crate) fn affordable(asked: usize, free_bytes: Option<u64>) -> usize {
        let most = free_bytes.map_or(u64::MAX, |free| free / FREE_SHARE / PARKED_BYTES);
        asked.min(usize::try_from(most).unwrap_or(usize::MAX))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for containers of this shape ahead of its first run.
    pub(crate) fn warm(&self, shape: &Shape) {
        let mut state = self.state();
        state.recent.clear();
        state.recent.resize(self.size, shape.clone());
        drop(state);
        self.wake.notify_one();
    }

    /// A container that waits, where there is one; the shape is remembered either way.
    pub(crate) fn take(&self, shape: &Shape) -> Option<Parked> {
        let mut state = self.state();
        state.recent.push_front(shape.clone());
        state.recent.truncate(self.size);
        let mut dead = Vec::new();
        let taken = loop {
            let Some(at) = state.ready.iter().position(|parked| parked.shape() == shape) else { break None };
            let mut parked = state.ready.swap_remove(at);
            if parked.is_fit() {
                break Some(parked);
            }
            dead.push(parked);
        };
        let left = state.ready.iter().any(|parked| parked.shape() == shape);
        drop(state);
        drop(dead);
        if !left {
            self.wake.notify_one();
        }
        taken
    }

    pub(crate) fn under_way(self: &Arc<Self>) -> UnderWay {
        self.state().runs += 1;
        UnderWay(Arc::clone(self))
    }

    pub(crate) fn ready(&self) -> usize {
        self.state().ready.len()
    }

    /// The shape of which a container is to be made now; the caller answers with `made`.
    fn next(&self) -> Option<Shape> {
        let mut state = self.state();
        let stale: Vec<_> = {
            let State { ready, recent, .. } = &mut *state;
            ready.extract_if(.., |parked| !parked.is_fit() || !recent.contains(parked.shape())).collect()
        };
        let shape = state.missing(self.size);
        state.making.extend(shape.clone());
        drop(state);
        drop(stale);
        shape
    }

    fn made(&self, shape: &Shape, parked: Option<Parked>) {
        let mut state = self.state();
        if let Some(at) = state.making.iter().position(|making| making == shape) {
            state.making.swap_remove(at);
        }
        // What comes after the close is dropped, when the lock is gone.
        let unwanted = if state.closed {
            parked
        } else {
            state.ready.extend(parked);
            None
        };
        drop(state);
        drop(unwanted);
    }

    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let ready = std::mem::take(&mut state.ready);
        drop(state);
        drop(ready);
        self.wake.notify_waiters();
    }

    /// Whether a container is being made: after [`Pool::close`] it will be dropped.
    pub(crate) fn is_making(&self) -> bool {
        !self.state().making.is_empty()
    }
}

impl State {
    fn missing(&self, size: usize) -> Option<Shape> {
        if self.closed || self.ready.len() + self.making.len() >= size {
            return None;
        }
        let shape = self.recent.iter().find(|shape| {
            let wanted = self.recent.iter().filter(|other| other == shape).count();
            let ready = self.ready.iter().filter(|parked| parked.shape() == *shape).count();
            let making = self.making.iter().filter(|making| making == shape).count();
            ready + making < wanted && (self.runs == 0 || ready == 0)
        });
        shape.cloned()
    }
}

/// Fills the pool for as long as the sandbox lives.
pub(crate) async fn fill(pool: Arc<Pool>, sandbox: Weak<Inner>) {
    let mut wait = RETRY.0;
    loop {
        let woken = pool.wake.notified();
        let Some(inner) = sandbox.upgrade() else { return };
        if let Some(shape) = pool.next() {
            // Others may be missing too: the next in line looks while this one makes.
            pool.wake.notify_one();
            let made = Sandbox { inner }.park(&shape, PARKED_LIFE).await;
            let error = made.as_ref().err().map(ToString::to_string);
            pool.made(&shape, made.ok());
            match error {
                None => wait = RETRY.0,
                Some(error) => {
                    tracing::warn!(%error, "no sandbox is made ahead");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(RETRY.1);
                }
            }
            continue;
        }
        drop(inner);
        // A time-out is only another reason to look.
        let _looked = tokio::time::timeout(LOOK_EVERY, woken).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_memory_allows() {
        assert_eq!(Pool::affordable(3, None), 3);
        assert_eq!(Pool::affordable(3, Some(24 << 30)), 3);
        assert_eq!(Pool::affordable(3, Some(400 << 20)), 2);
        assert_eq!(Pool::affordable(3, Some(100 << 20)), 0);
    }

    fn shape(image: &str) -> Shape {
        Shape::of(image, &lab::Limits::default())
    }

    #[test]
    fn what_is_made_follows_what_was_used() {
        let pool = Pool::new(2);
        assert_eq!(pool.next(), None, "nobody asked for anything");
        pool.warm(&shape("a"));
        assert_eq!(pool.next(), Some(shape("a")));
        assert_eq!(pool.next(), Some(shape("a")));
        assert_eq!(pool.next(), None, "no more than the pool holds");
        pool.made(&shape("a"), None);
        assert!(pool.take(&shape("b")).is_none());
        assert_eq!(pool.next(), Some(shape("b")), "one of the two last runs was of this shape");
        pool.close();
        pool.made(&shape("b"), None);
        assert_eq!(pool.next(), None);
    }

    #[test]
    fn a_pool_of_none_makes_none() {
        let pool = Pool::new(0);
        pool.warm(&shape("a"));
        assert!(pool.take(&shape("a")).is_none());
        assert_eq!(pool.next(), None);
    }
}
