//! The server as its users meet it: the binary, over HTTP, with a real PostgreSQL and a real engine.
#![allow(clippy::unwrap_used)]

mod api;
mod architecture;
mod doctor;
mod faults;
mod graded;
mod live;
mod openapi;
mod second_engine;
mod support;
mod terminals;
mod trace;
mod trace_manual;
mod unconfined;
mod worker;
