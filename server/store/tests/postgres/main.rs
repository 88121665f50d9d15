//! The store against a real PostgreSQL. `DATABASE_URL` names a server where databases may be created: each test gets one
//! of its own. Nothing is skipped when there is none; the tests fail.
#![allow(clippy::unwrap_used)]

mod changes;
mod dropped;
mod grades;
mod hostile;
mod leases;
mod live_output;
mod people;
mod queue;
mod reading;
mod schema;
mod support;
mod terminals;
