//! Removing what processes left behind that could not clean up.

use std::collections::HashMap;
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

/// Whether anyone may remove a container that carries these labels. The clock decides only about those
/// whose maker cannot be asked: neither a jump of the clock nor a long run harms what this process has.
fn is_left_over(
    labels: &HashMap<String, String>,
    own: &str,
    is_live: bool,
    dead: &[String],
    now_unix: u64,
) -> bool {
    let maker = labels.get(container::INSTANCE).map_or("", String::as_str);
    if maker == own {
        return !is_live;
    }
    // A container without a readable date is nobody's.
    let expires: u64 = labels.get(container::EXPIRES).and_then(|at| at.parse().ok()).unwrap_or(0);
    expires < now_unix || dead.iter().any(|gone| gone == maker)
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
            if !is_left_over(&labels, &own, inner.removals.is_live(name), &dead, now) {
                continue;
            }
            match inner.engine.remove(name).await {
                Ok(()) => containers += 1,
                // One that cannot be removed must not keep the others.
                Err(error) => tracing::warn!(%error, name, "a container is not swept"),
            }
        }
        Ok(Swept { containers, folders: dead.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_the_clock_harms_nothing_that_lives() {
        let labels = |maker: &str, expires: &str| {
            HashMap::from([
                (container::INSTANCE.to_owned(), maker.to_owned()),
                (container::EXPIRES.to_owned(), expires.to_owned()),
            ])
        };
        let dead = ["gone".to_owned()];
        let left_over = |maker: &str, expires: &str, is_live: bool, now: u64| {
            is_left_over(&labels(maker, expires), "own", is_live, &dead, now)
        };
        for now in [0, 1_000, u64::MAX] {
            assert!(!left_over("own", "1000", true, now), "ours, and in use, at {now}");
            assert!(left_over("own", "1000", false, now), "ours, and forgotten, at {now}");
            assert!(left_over("gone", "1000", false, now), "of a process that is gone, at {now}");
        }
        assert!(!left_over("other", "1000", false, 1_000), "another's, until it expires");
        assert!(left_over("other", "1000", false, 1_001));
        assert!(left_over("other", "soon", false, 1));
        assert!(is_left_over(&HashMap::new(), "own", false, &dead, 1), "nobody's");
    }
}
