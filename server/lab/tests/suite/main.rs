//! The room from outside: folders in, labs and grades out.
#![allow(clippy::unwrap_used)]

mod explaining;
mod grading;
mod hidden;
mod loading;
mod read_sync_async;
mod solutions;
mod submissions;
mod support;
