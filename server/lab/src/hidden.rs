//! What a learner may see of a lab's checks, and of the runs that they read.

use crate::{Check, Lab, Stage};

impl Stage {
    /// Whether a learner may know of a check: before or after the attempt was graded. Without an assignment nothing is
    /// ever due.
    #[must_use]
    pub const fn is_seen(self, graded: bool) -> bool {
        match self {
            Self::Visible => true,
            Self::AfterGraded => graded,
            Self::Hidden | Self::AfterDue => false,
        }
    }
}

impl Lab {
    /// Whether a run is there for checks alone that the learner may not know of: then neither may the run be known.
    #[must_use]
    pub fn hides_run(&self, label: &str, graded: bool) -> bool {
        let names = |check: &Check| check.runs.as_ref().map(|runs| runs.iter().any(|run| run == label));
        let (seen, unseen): (Vec<_>, Vec<_>) =
            self.checks.iter().partition(|check| check.stage.is_seen(graded));
        // A check that names no runs reads all of them.
        unseen.into_iter().any(|check| names(check) == Some(true))
            && seen.into_iter().all(|check| names(check) == Some(false))
    }
}
