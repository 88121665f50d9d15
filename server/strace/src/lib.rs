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
mod fds;
mod line;
mod model;
mod names;
mod parse;
mod roles;
mod trace;
mod value;

pub use argv::argv;
pub use parse::{Limits, Options, Parser, parse};
pub use trace::{
    Details, Event, EventKind, FdKind, FdLifetime, Incomplete, Mark, Note, Phase, Role, Thread, Trace,
};
