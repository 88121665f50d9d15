//! The labs on offer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use lab::Lab;
use store::StoredLab;

/// Labs by slug, as read when the process started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalogue(Arc<BTreeMap<String, Arc<Lab>>>);

impl Catalogue {
    pub(crate) fn load(dir: &Path) -> anyhow::Result<Self> {
        let labs =
            lab::load_all(dir).with_context(|| format!("the labs in {} have faults", dir.display()))?;
        Ok(Self(Arc::new(labs.into_iter().map(|lab| (lab.slug.clone(), Arc::new(lab))).collect())))
    }

    pub(crate) fn get(&self, slug: &str) -> Option<&Arc<Lab>> {
        self.0.get(slug)
    }

    /// Images that the labs use.
    pub(crate) fn images(&self) -> BTreeSet<String> {
        self.iter().map(|lab| lab.image.clone()).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Lab>> {
        self.0.values()
    }
}

/// A lab as the store keeps it.
pub(crate) fn snapshot(lab: &Lab) -> serde_json::Result<StoredLab> {
    Ok(StoredLab {
        digest: lab.digest.clone(),
        slug: lab.slug.clone(),
        snapshot: serde_json::to_string(lab)?,
    })
}

/// A lab from what the store kept.
pub(crate) fn restore(stored: &StoredLab) -> serde_json::Result<Lab> {
    serde_json::from_str(&stored.snapshot)
}
