//! Removing containers in a lane of their own, so that no run waits for the one before it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use crate::engine::Engine;
use crate::slot::Lease;
use crate::{Error, Sandbox};

/// Removals at one time: more of them slow down the engine's starts.
const AT_ONCE: usize = 2;
/// An engine that is away may come back; until then the slot of what it keeps stays taken.
const TRIES: u32 = 40;
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// Takes the names of containers that are no longer needed.
pub(crate) struct Lane {
    sender: mpsc::UnboundedSender<Leaving>,
    live: Arc<Live>,
}

/// A container on its way out, and the slot that is free after it.
type Leaving = (String, Option<Box<Lease>>);

/// Names of this process's containers, from before their creation until after their removal.
#[derive(Default)]
struct Live {
    names: Mutex<HashSet<String>>,
    leaving: AtomicUsize,
    gone: Notify,
}

impl Live {
    fn names(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A container that will be removed when this value goes, however it goes.
pub(crate) struct Guard {
    name: String,
    lease: Option<Box<Lease>>,
    sender: mpsc::UnboundedSender<Leaving>,
    live: Arc<Live>,
}

impl Guard {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A new holder for the slot of this container, which was not started.
    pub(crate) async fn new_holder(&mut self, sandbox: &Sandbox, tag: &str) -> Result<String, Error> {
        self.forget_holder();
        let Some(lease) = &mut self.lease else { return Err(Error::Refused("no slot".to_owned())) };
        Ok(lease.holder(sandbox, tag).await?.0)
    }

    pub(crate) fn forget_holder(&mut self) {
        if let Some(lease) = &mut self.lease {
            lease.forget_holder();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.live.leaving.fetch_add(1, Ordering::SeqCst);
        let leaving = (std::mem::take(&mut self.name), self.lease.take());
        if self.sender.send(leaving).is_err() {
            self.live.leaving.fetch_sub(1, Ordering::SeqCst);
            // The runtime is shutting down: stdin closes with us, the sweep of another process follows.
            tracing::debug!("a container is left to the sweep");
        }
    }
}

impl Lane {
    pub(crate) fn start(engine: Engine) -> Self {
        let (sender, mut names) = mpsc::unbounded_channel::<Leaving>();
        let live = Arc::new(Live::default());
        let (permits, of_lane) = (Arc::new(Semaphore::new(AT_ONCE)), Arc::clone(&live));
        tokio::spawn(async move {
            while let Some((name, lease)) = names.recv().await {
                let (engine, live) = (engine.clone(), Arc::clone(&of_lane));
                let permit = Arc::clone(&permits).acquire_owned().await.ok();
                tokio::spawn(async move {
                    let removed = remove(&engine, &name, permit).await;
                    live.names().remove(&name);
                    match lease {
                        Some(lease) if !removed => lease.lose(),
                        lease => drop(lease),
                    }
                    live.leaving.fetch_sub(1, Ordering::SeqCst);
                    live.gone.notify_waiters();
                });
            }
        });
        Self { sender, live }
    }

    /// Vouches for a container that is about to be created.
    pub(crate) fn guard(&self, name: String, lease: Option<Lease>) -> Guard {
        self.live.names().insert(name.clone());
        Guard { name, lease: lease.map(Box::new), sender: self.sender.clone(), live: Arc::clone(&self.live) }
    }

    pub(crate) fn is_live(&self, name: &str) -> bool {
        self.live.names().contains(name)
    }

    /// Waits until all that was let go of is removed.
    pub(crate) async fn drained(&self) {
        loop {
            let gone = self.live.gone.notified();
            tokio::pin!(gone);
            // Registered before the look, or the last removal could slip in between.
            gone.as_mut().enable();
            if self.live.leaving.load(Ordering::SeqCst) == 0 {
                return;
            }
            gone.await;
        }
    }
}

/// Whether it is gone. The permit is for the first try: an engine that is away must not hold up what
/// another try could remove.
async fn remove(engine: &Engine, name: &str, permit: Option<OwnedSemaphorePermit>) -> bool {
    let mut permit = permit;
    let mut wait = Duration::from_millis(200);
    for attempt in 1..=TRIES {
        match engine.remove(name).await {
            Ok(()) => return true,
            Err(error) => tracing::warn!(%error, name, attempt, "a container is not removed"),
        }
        permit = permit.and(None);
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
    false
}
