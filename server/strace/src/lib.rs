//! strace's text as a value: bytes in, [`Trace`] out.
//!
//! Parsing never fails. A line that cannot be understood becomes a [`Note`] with its number, and
//! [`Trace::incomplete`] says whether the trace can be trusted whole. This crate knows no lab, no
//! database and no container; it allocates per trace, thread and note, not per event.
//!
//! The text's grammar is strace's own (strace(1), and `printleader` in its source); the forms that
//! are read here are listed in `docs/trace-text.md`.
#![warn(missing_docs)]

mod argv;
mod clock;
mod event;
mod fd;
mod fds;
mod leader;
mod line;
mod merge;
mod model;
mod names;
mod options;
mod pairs;
mod parse;
mod record;
mod roles;
mod scan;
mod stream;
mod summary;
mod summary_table;
mod table;
mod tally;
mod thread;
mod trace;
mod unnamed;
mod value;

pub use argv::argv;
pub use event::{Event, EventKind, Phase};
pub use fd::{FdEnd, FdKind, FdLifetime};
pub use merge::merge;
pub use options::{Limits, Options};
pub use parse::{Parser, parse};
pub use summary::{ByName, CallSums, NamedSums, RoleSums, Summarizer, Summary, Sums};
pub use tally::{Tally, tally};
pub use thread::{Role, Thread};
pub use trace::{Details, Incomplete, Mark, Note, SummaryRow, Trace};
