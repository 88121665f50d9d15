//! The sandbox on a real engine. Without an engine or its images these tests fail and say so:
//! `./dev test` brings both.
#![allow(clippy::unwrap_used)]

mod cleanup;
mod limits;
mod parked;
mod runs;
mod support;
