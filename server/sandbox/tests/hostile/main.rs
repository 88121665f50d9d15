//! Hostile programs, one for each limit and each wall, on a real engine. Each is named for what it does, and its test
//! for what must come of it. After each: a named outcome, nothing left on the host, and a next run as usual.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod case;
mod host;
mod leftovers;
mod limits;
mod reach;
#[path = "../engine/support.rs"]
mod support;
mod walls;
