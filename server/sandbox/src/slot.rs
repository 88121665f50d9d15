//! A place for one live sandbox at a time: a learner's id, and an empty network namespace.
//!
//! Making and destroying a network namespace is most of what an engine spends on a start, so a slot
//! keeps one: that of its *holder*, a container that does nothing but wait. Never two live sandboxes
//! share a slot, so nobody meets anybody on its loopback; a lease ends only when the container that
//! used it is removed, and with its last process every socket of it is gone.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bollard::container::AttachContainerResults;
use futures_util::{FutureExt, StreamExt};
use guest::{LEARNER_FIRST, LEARNERS};
use uuid::Uuid;

use crate::removal::Guard;
use crate::{Error, Sandbox, container};

/// A holder is replaced at this age, by its next lease.
const HOLDER_RENEWED: Duration = Duration::from_secs(3600);
/// When anyone may remove it: past the life of any sandbox that joined it at the age above.
const HOLDER_LIFE: Duration = Duration::from_secs(3 * 3600);

/// The slots of this process. Ids are shared by all processes with the same folder for FIFOs: each
/// is a locked file there, which the kernel lets go with its process.
pub(crate) struct Slots {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: Vec<Slot>,
    /// Locks of slots that nobody may use again.
    lost: Vec<File>,
    closed: bool,
}

struct Slot {
    learner: u32,
    lock: File,
    holder: Option<Holder>,
}

/// Waits on its standard input for as long as this value lives.
struct Holder {
    /// In a mutex because its streams are not `Sync`; nobody waits for it.
    attached: Mutex<AttachContainerResults>,
    since: Instant,
    guard: Guard,
}

impl Holder {
    fn is_fit(&mut self) -> bool {
        let attached = self.attached.get_mut().unwrap_or_else(PoisonError::into_inner);
        // It says nothing while it lives.
        self.since.elapsed() < HOLDER_RENEWED && attached.output.next().now_or_never().is_none()
    }
}

/// A slot in use. It is free again when this value goes.
pub(crate) struct Lease {
    slots: Arc<Slots>,
    slot: Option<Slot>,
}

impl Slots {
    pub(crate) fn make(root: &Path) -> Result<Arc<Self>, Error> {
        let folder = root.join("slots");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|source| Error::folder("cannot make the folder for slots", &folder, source))?;
        Ok(Arc::new(Self { folder, state: Mutex::default() }))
    }

    pub(crate) fn lease(self: &Arc<Self>) -> Result<Lease, Error> {
        // The last used comes first, so that no more holders are kept than are needed at one time.
        let free = self.state().free.pop();
        let slot = match free {
            Some(slot) => slot,
            None => self.lock_one()?,
        };
        Ok(Lease { slots: Arc::clone(self), slot: Some(slot) })
    }

    fn lock_one(&self) -> Result<Slot, Error> {
        for learner in LEARNER_FIRST..LEARNER_FIRST + LEARNERS {
            let path = self.folder.join(learner.to_string());
            let failed = |source| Error::folder("cannot lock a slot in", &self.folder, source);
            let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
            let lock = lock.map_err(failed)?;
            match lock.try_lock() {
                Ok(()) => return Ok(Slot { learner, lock, holder: None }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Err(Error::Full(LEARNERS))
    }

    /// Lets go of every holder, now and when a lease ends.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let free = std::mem::take(&mut state.free);
        drop(state);
        drop(free);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Uid and gid of the learner's program.
    pub(crate) fn learner(&self) -> u32 {
        self.slot.as_ref().map_or(LEARNER_FIRST, |slot| slot.learner)
    }

    /// The holder's name, and whether it was there already.
    pub(crate) async fn holder(&mut self, sandbox: &Sandbox, tag: &str) -> Result<(String, bool), Error> {
        let Some(slot) = &mut self.slot else { return Err(Error::Full(LEARNERS)) };
        if let Some(holder) = &mut slot.holder
            && holder.is_fit()
        {
            return Ok((holder.guard.name().to_owned(), true));
        }
        let holder = slot.holder.insert(sandbox.hold(tag).await?);
        Ok((holder.guard.name().to_owned(), false))
    }

    /// After a failure that may be the holder's.
    pub(crate) fn forget_holder(&mut self) {
        if let Some(slot) = &mut self.slot {
            slot.holder = None;
        }
    }

    /// Keeps the slot from ever being used again by this process: its container may still live.
    pub(crate) fn lose(mut self) {
        if let Some(Slot { lock, .. }) = self.slot.take() {
            self.slots.state().lost.push(lock);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        let mut state = self.slots.state();
        if !state.closed {
            state.free.push(slot);
        }
        // A slot that is not kept goes after the guard of the state, which is dropped first.
    }
}

impl Sandbox {
    async fn hold(&self, tag: &str) -> Result<Holder, Error> {
        let inner = &*self.inner;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let instance = inner.instance.to_string();
        let who = container::Identity {
            instance: &instance,
            expires_unix: (now + HOLDER_LIFE).as_secs(),
            // A namespace is the host kernel's, and a holder has little memory.
            runtime: inner.config.runtime.as_deref().filter(|_| !inner.config.has_own_kernel()),
            own_kernel: false,
        };
        let guard = inner.removals.guard(format!("todoku-holder-{}", Uuid::now_v7()), None);
        inner.engine.create(guard.name(), container::holder(tag.to_owned(), &who)).await?;
        let attached = inner.engine.attach(guard.name()).await?;
        inner.engine.start(guard.name()).await?;
        Ok(Holder { attached: Mutex::new(attached), since: Instant::now(), guard })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn no_two_leases_have_one_id_whoever_asks() {
        let dir = tempfile::tempdir().unwrap();
        // Two of them, as two processes would.
        let (one, other) = (Slots::make(dir.path()).unwrap(), Slots::make(dir.path()).unwrap());
        let leases: Vec<_> =
            (0..LEARNERS / 2).flat_map(|_| [one.lease().unwrap(), other.lease().unwrap()]).collect();
        let ids: std::collections::BTreeSet<_> = leases.iter().map(Lease::learner).collect();
        assert_eq!(ids.len(), leases.len());
        assert!(ids.iter().all(|id| guest::is_learner(*id)));
        assert!(matches!(one.lease(), Err(Error::Full(_))));
        drop(leases);
        assert!(guest::is_learner(one.lease().unwrap().learner()));
    }

    #[test]
    fn a_lost_slot_is_not_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let slots = Slots::make(dir.path()).unwrap();
        let lost = slots.lease().unwrap();
        let id = lost.learner();
        lost.lose();
        assert_ne!(slots.lease().unwrap().learner(), id);
    }
}
