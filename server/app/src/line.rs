//! The line of a terminal: a WebSocket on which a worker calls the server that a learner's browser talks to.
//!
//! Binary messages are the terminal's bytes, text messages are these. The worker proves itself with the secret of its
//! claim, once. Neither end needs to hold back: windows bound what is under way from end to end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use store::{TerminalEnd, TerminalId};

pub(crate) use sandbox::{INPUT_WINDOW, OUTPUT_WINDOW};

/// Where the server answers to workers.
pub(crate) const ROUTE: &str = "/internal/terminals/{id}/line";

/// Most bytes of a message: a submission's files, as JSON may swell them.
pub(crate) const MAX_MESSAGE: usize = 8 * 1024 * 1024;

/// The address of a terminal's line at a server.
pub(crate) fn path(id: TerminalId) -> String {
    ROUTE.replace("{id}", &id.to_string())
}

/// What the server says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ToWorker {
    /// The browser's terminal has this size.
    Resize { cols: u16, rows: u16 },
    /// The browser has shown so many bytes more.
    Credit { bytes: u32 },
    /// The work folder's files are wanted.
    Files,
}

/// What the worker says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum FromWorker {
    /// So many bytes of input have been taken.
    Taken { bytes: u32 },
    /// The answer to [`ToWorker::Files`].
    Files(Folder),
    /// The last word.
    Ended { reason: TerminalEnd },
}

/// Text files of a work folder that a submission may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folder {
    pub(crate) files: BTreeMap<String, String>,
    /// Files that are no text, over a bound, or not what a submission may have.
    pub(crate) left_out: u32,
}
