//! The machine's faults. What the learner's program does is an outcome, never one of these.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::container::CONTRACT_VERSION;

/// Why a program could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine refused or could not be reached.
    #[error("the container engine could not {doing}: {source}")]
    Engine {
        /// What was asked of it.
        doing: &'static str,
        /// What it answered.
        source: bollard::errors::Error,
    },
    /// The engine or the guest did not answer in time.
    #[error("no answer in {} s while waiting to {doing}", .after.as_secs())]
    Timeout {
        /// What was waited for.
        doing: &'static str,
        /// How long.
        after: Duration,
    },
    /// An image is missing or of another version.
    #[error("{0}")]
    Image(String),
    /// As many sandboxes live on this host as there are learners' ids.
    #[error("all {0} places for sandboxes on this host are taken")]
    Full(u32),
    /// The folder of the FIFOs cannot be used.
    #[error("{what} {path}: {source}")]
    Folder {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The first process of the container failed at its work.
    #[error("inside the sandbox: {0}")]
    Guest(String),
    /// The caller asked for what cannot be run.
    #[error("{0}")]
    Refused(String),
    /// The caller cancelled the run.
    #[error("the run was cancelled")]
    Cancelled,
}

impl Error {
    /// Whether trying again may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Engine { .. }
            | Self::Timeout { .. }
            | Self::Folder { .. }
            | Self::Full(_)
            | Self::Guest(_) => true,
            Self::Image(_) | Self::Refused(_) | Self::Cancelled => false,
        }
    }

    pub(crate) fn folder(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Folder { what, path: path.display().to_string(), source }
    }

    /// `contract` is what the image's label says, if there is one.
    pub(crate) fn image(tag: &str, contract: Option<&str>) -> Self {
        let found = match contract {
            None => "is missing at the engine, or has no label todoku.contract".to_owned(),
            Some(other) => {
                format!("is of another version (label todoku.contract {other:?}, not {CONTRACT_VERSION:?})")
            }
        };
        let name = tag.trim_start_matches("todoku/").trim_end_matches(":local");
        Self::Image(format!("the image {tag} {found}: run lab-images/build {name}"))
    }
}
