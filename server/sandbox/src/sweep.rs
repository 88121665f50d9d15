//! Removing what processes left behind that could not clean up.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Error, Sandbox, container, fifo};

/// What a sweep removed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Containers: expired, forgotten, or of a process that is gone.
    pub containers: usize,
    /// Folders of FIFOs of processes that are gone.
    pub folders: usize,
}

impl Sandbox {
    /// Removes containers and folders that nobody will: call it at start and every 30 s. Containers
    /// of other living processes are left alone until they expire.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        let inner = &*self.inner;
        let root = &inner.config.fifo_dir;
        let dead = fifo::sweep(root).map_err(|source| Error::folder("cannot sweep", root, source))?;
        let own = inner.instance.to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut containers = 0;
        for found in inner.engine.labelled(container::INSTANCE).await? {
            let labels = found.labels.unwrap_or_default();
            let Some(name) = found.names.and_then(|names| names.into_iter().next()) else { continue };
            let name = name.trim_start_matches('/');
            let maker = labels.get(container::INSTANCE).map(String::as_str);
            // A container without a readable date is nobody's.
            let expires: u64 = labels.get(container::EXPIRES).and_then(|at| at.parse().ok()).unwrap_or(0);
            let is_own = maker == Some(own.as_str());
            // Of those in use this process knows best, whatever the clock says.
            if is_own && inner.removals.is_live(name) {
                continue;
            }
            let orphan = maker.is_some_and(|maker| dead.iter().any(|gone| gone == maker));
            if expires < now || is_own || orphan {
                inner.engine.remove(name).await?;
                containers += 1;
            }
        }
        Ok(Swept { containers, folders: dead.len() })
    }
}
