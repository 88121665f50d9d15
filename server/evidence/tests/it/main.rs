//! The evidence as its readers see it.
#![allow(clippy::unwrap_used)]

mod bounds;
mod build;
mod documentation;
mod export;
mod functions;
mod perfetto;
mod sockets;
mod support;
mod traces;
mod views;
mod windows;
