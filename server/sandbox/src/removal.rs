//! Removing containers in a lane of their own, so that no run waits for the one before it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, mpsc};

use crate::engine::Engine;

/// Removals at one time: more of them slow down the engine's starts.
const AT_ONCE: usize = 2;
const TRIES: u32 = 3;

/// Takes the names of containers that are no longer needed.
pub(crate) struct Lane {
    sender: mpsc::UnboundedSender<String>,
    live: Arc<Live>,
}

/// Names of this process's containers, from before their creation until after their removal.
#[derive(Default)]
struct Live {
    names: Mutex<HashSet<String>>,
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
    sender: mpsc::UnboundedSender<String>,
}

impl Guard {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.sender.send(std::mem::take(&mut self.name)).is_err() {
            // The runtime is shutting down: stdin closes with us, the sweep of another process follows.
            tracing::debug!("a container is left to the sweep");
        }
    }
}

impl Lane {
    pub(crate) fn start(engine: Engine) -> Self {
        let (sender, mut names) = mpsc::unbounded_channel::<String>();
        let live = Arc::new(Live::default());
        let (permits, of_lane) = (Arc::new(Semaphore::new(AT_ONCE)), Arc::clone(&live));
        tokio::spawn(async move {
            while let Some(name) = names.recv().await {
                let (engine, live) = (engine.clone(), Arc::clone(&of_lane));
                let permit = Arc::clone(&permits).acquire_owned().await;
                tokio::spawn(async move {
                    remove(&engine, &name).await;
                    drop(permit);
                    live.names().remove(&name);
                    live.gone.notify_waiters();
                });
            }
        });
        Self { sender, live }
    }

    /// Vouches for a container that is about to be created.
    pub(crate) fn guard(&self, name: String) -> Guard {
        self.live.names().insert(name.clone());
        Guard { name, sender: self.sender.clone() }
    }

    pub(crate) fn is_live(&self, name: &str) -> bool {
        self.live.names().contains(name)
    }

    pub(crate) async fn drained(&self) {
        loop {
            let gone = self.live.gone.notified();
            tokio::pin!(gone);
            // Registered before the look, or the last removal could slip in between.
            gone.as_mut().enable();
            if self.live.names().is_empty() {
                return;
            }
            gone.await;
        }
    }
}

async fn remove(engine: &Engine, name: &str) {
    for attempt in 1..=TRIES {
        match engine.remove(name).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, name, attempt, "a container is not removed"),
        }
        tokio::time::sleep(Duration::from_millis(200) * attempt).await;
    }
}
