//! The evidence as its readers see it.
#![allow(clippy::unwrap_used)]

mod bounds;
mod build;
mod documentation;
mod functions;
mod perfetto;
mod support;
mod traces;
