//! How many queries there are at one time, and whose turn it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Queries that run at one time in this process.
const RUNNING: usize = 2;
/// Queries that run or wait.
const SEATS: usize = 10;
/// Of one visitor: one runs, the others wait.
const SEATS_OF_ONE: usize = 3;
/// How long a query waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a query has no turn now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// The visitor has as many queries under way as one may have.
    Visitor,
    /// All visitors together have.
    Server,
}

/// A query's turn; it is over when this is dropped.
pub(crate) struct Turn {
    _running: OwnedSemaphorePermit,
    // Fields are dropped in order: the visitor's next query finds a place free when its turn comes.
    _own: OwnedSemaphorePermit,
    _of_one: Place,
    _seat: OwnedSemaphorePermit,
}

/// Lets queries in.
pub(crate) struct Queue {
    patience: Duration,
    seats: Arc<Semaphore>,
    running: Arc<Semaphore>,
    visitors: Arc<Mutex<HashMap<Who, Visitor>>>,
}

/// Who asks; `None` is the administrator.
type Who = Option<UserId>;

struct Visitor {
    queries: usize,
    turn: Arc<Semaphore>,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            patience: PATIENCE,
            seats: Arc::new(Semaphore::new(SEATS)),
            running: Arc::new(Semaphore::new(RUNNING)),
            visitors: Arc::default(),
        }
    }

    /// Waits for a turn, for a while.
    pub(crate) async fn turn(&self, who: Who) -> Result<Turn, Busy> {
        let (of_one, own) = self.place(who)?;
        let seat = Arc::clone(&self.seats).try_acquire_owned().map_err(|_| Busy::Server)?;
        let own = timeout(self.patience, own.acquire_owned()).await;
        let own = own.ok().and_then(Result::ok).ok_or(Busy::Visitor)?;
        let running = timeout(self.patience, Arc::clone(&self.running).acquire_owned()).await;
        let running = running.ok().and_then(Result::ok).ok_or(Busy::Server)?;
        Ok(Turn { _running: running, _own: own, _of_one: of_one, _seat: seat })
    }

    fn place(&self, who: Who) -> Result<(Place, Arc<Semaphore>), Busy> {
        let mut visitors = lock(&self.visitors);
        let visitor =
            visitors.entry(who).or_insert_with(|| Visitor { queries: 0, turn: Arc::new(Semaphore::new(1)) });
        if visitor.queries == SEATS_OF_ONE {
            return Err(Busy::Visitor);
        }
        visitor.queries += 1;
        Ok((Place { who, visitors: Arc::clone(&self.visitors) }, Arc::clone(&visitor.turn)))
    }
}

/// One of a visitor's places; free again when this is dropped.
struct Place {
    who: Who,
    visitors: Arc<Mutex<HashMap<Who, Visitor>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut visitors = lock(&self.visitors);
        if let Some(visitor) = visitors.get_mut(&self.who) {
            visitor.queries -= 1;
            // Nothing is kept of those who ask no longer.
            if visitor.queries == 0 {
                visitors.remove(&self.who);
            }
        }
    }
}

fn lock(visitors: &Mutex<HashMap<Who, Visitor>>) -> MutexGuard<'_, HashMap<Who, Visitor>> {
    visitors.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures_util::FutureExt;

    use super::*;

    fn somebody(number: u128) -> Who {
        Some(UserId(uuid::Uuid::from_u128(number)))
    }

    /// Whether it is still waiting.
    fn waits<T>(turn: &mut (impl Future<Output = T> + Unpin)) -> bool {
        turn.now_or_never().is_none()
    }

    #[tokio::test]
    async fn one_runs_two_wait_and_a_fourth_of_the_same_visitor_is_sent_away() {
        let queue = Queue::new();
        let first = queue.turn(somebody(1)).await.unwrap();
        let (mut second, mut third) = (Box::pin(queue.turn(somebody(1))), Box::pin(queue.turn(somebody(1))));
        assert!(waits(&mut second) && waits(&mut third));
        assert_eq!(queue.turn(somebody(1)).await.err(), Some(Busy::Visitor));
        drop(queue.turn(somebody(2)).await.unwrap());
        drop(first);
        drop(second.await.unwrap());
        drop(third);
        assert!(lock(&queue.visitors).is_empty(), "nothing is left of those who went");
    }

    #[tokio::test]
    async fn the_server_has_two_at_once_and_a_short_queue() {
        let queue = Queue::new();
        let running = [queue.turn(somebody(1)).await.unwrap(), queue.turn(somebody(2)).await.unwrap()];
        let mut waiting: Vec<_> = (3..=10).map(|n| Box::pin(queue.turn(somebody(n)))).collect();
        assert!(waiting.iter_mut().all(waits));
        assert_eq!(queue.turn(somebody(11)).await.err(), Some(Busy::Server), "the queue is full");
        drop(running);
        drop(waiting.remove(0).await.unwrap());
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let queue = Queue { patience: Duration::from_millis(20), ..Queue::new() };
        let _running = [queue.turn(somebody(1)).await.unwrap(), queue.turn(somebody(2)).await.unwrap()];
        assert_eq!(queue.turn(somebody(1)).await.err(), Some(Busy::Visitor));
        assert_eq!(queue.turn(somebody(3)).await.err(), Some(Busy::Server));
    }
}
