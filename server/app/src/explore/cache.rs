//! Evidence that was asked lately, as the bytes of its database.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use store::AttemptId;
use tokio::sync::OnceCell;

/// Names evidence: later answers make another version of the grade, and other evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) attempt: AttemptId,
    pub(crate) grade_version: u32,
}

/// The evidence used last, within a bound on bytes.
pub(crate) struct Cache {
    max_bytes: usize,
    /// The one used last at the end.
    entries: Mutex<Vec<Entry>>,
}

struct Entry {
    key: Key,
    /// Empty while it is made.
    evidence: Arc<OnceCell<Bytes>>,
}

impl Cache {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, entries: Mutex::default() }
    }

    /// The evidence of this name. Whoever asks first makes it; others who ask meanwhile wait for that.
    pub(crate) async fn get<E>(
        &self,
        key: Key,
        make: impl Future<Output = Result<Bytes, E>>,
    ) -> Result<Bytes, E> {
        let evidence = self.entry(key);
        let made = evidence.get_or_try_init(|| make).await.cloned();
        drop(evidence);
        self.settle();
        made
    }

    /// The place of this evidence, from now on the one used last.
    fn entry(&self, key: Key) -> Arc<OnceCell<Bytes>> {
        let mut entries = self.lock();
        let known = entries.iter().position(|entry| entry.key == key);
        let entry =
            known.map_or_else(|| Entry { key, evidence: Arc::default() }, |index| entries.remove(index));
        let evidence = Arc::clone(&entry.evidence);
        entries.push(entry);
        evidence
    }

    /// Lets go of what is over the bound, the longest unused first, and of what was never made. What is larger than the
    /// bound goes alone: it would drive out everything else and not stay.
    fn settle(&self) {
        let mut entries = self.lock();
        let bytes = |entry: &Entry| entry.evidence.get().map_or(0, Bytes::len);
        entries.retain(|entry| match entry.evidence.get() {
            Some(evidence) => evidence.len() <= self.max_bytes,
            None => Arc::strong_count(&entry.evidence) > 1,
        });
        let mut total: usize = entries.iter().map(bytes).sum();
        entries.retain(|entry| {
            let goes = total > self.max_bytes && bytes(entry) > 0;
            if goes {
                total -= bytes(entry);
            }
            !goes
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn key(number: u128, grade_version: u32) -> Key {
        Key { attempt: AttemptId(uuid::Uuid::from_u128(number)), grade_version }
    }

    /// Asks for evidence of so many bytes; whether it had to be made.
    async fn made(cache: &Cache, key: Key, bytes: usize) -> bool {
        let times = AtomicUsize::new(0);
        let make = async {
            times.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Bytes::from(vec![0; bytes]))
        };
        assert_eq!(cache.get(key, make).await.unwrap().len(), bytes);
        times.into_inner() == 1
    }

    #[tokio::test]
    async fn the_longest_unused_goes_first() {
        let cache = Cache::new(100);
        assert!(made(&cache, key(1, 1), 40).await);
        assert!(made(&cache, key(2, 1), 40).await);
        assert!(!made(&cache, key(1, 1), 40).await);
        assert!(made(&cache, key(3, 1), 40).await, "drives out 2");
        assert!(!made(&cache, key(1, 1), 40).await);
        assert!(made(&cache, key(2, 1), 40).await);
        assert!(made(&cache, key(1, 2), 40).await, "another grade, other evidence");
    }

    #[tokio::test]
    async fn what_is_over_the_bound_is_given_and_not_kept() {
        let cache = Cache::new(100);
        assert!(made(&cache, key(1, 1), 100).await);
        assert!(made(&cache, key(2, 1), 101).await);
        assert!(made(&cache, key(2, 1), 101).await);
        assert!(!made(&cache, key(1, 1), 100).await, "nothing else had to go");
    }

    #[tokio::test]
    async fn those_who_ask_at_once_wait_for_one_making() {
        let cache = Cache::new(100);
        let times = AtomicUsize::new(0);
        let ask = || {
            cache.get(key(1, 1), async {
                times.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(Bytes::from_static(b"evidence"))
            })
        };
        let (a, b, c) = tokio::join!(ask(), ask(), ask());
        assert_eq!((a.unwrap(), b.unwrap()), (c.clone().unwrap(), c.unwrap()));
        assert_eq!(times.into_inner(), 1);
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let cache = Cache::new(100);
        assert_eq!(cache.get(key(1, 1), async { Err("no database") }).await, Err("no database"));
        assert!(cache.lock().is_empty());
        assert!(made(&cache, key(1, 1), 1).await);
    }
}
