//! What a learner is told of the limit that struck a run: facts, which the page makes sentences of.

use lab::{Explanation, Lab, Limits, Outcome};
use serde::Serialize;
use store::StoredRun;
use utoipa::ToSchema;

/// A limit that struck. What does not belong to it, or is not known, is null.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LimitStruck)]
pub(crate) struct LimitView {
    /// The limit: milliseconds of `wall_limit`, a number of processes and threads of `process_limit`, bytes of the
    /// others. Null where the lab no longer says.
    allowed: Option<u64>,
    /// `wall_limit`: the main thread's last call.
    last_call: Option<LastCallView>,
    /// `wall_limit`: when the main thread last left its event loop, or boot where it never came to the loop.
    left_loop_ms: Option<u64>,
    /// `process_limit`: processes and threads that were alive when the first was refused.
    alive: Option<u32>,
    /// `disk_limit`: the folder that was full.
    full: Option<FullView>,
    /// `trace_limit`: what most of the trace was.
    commonest: Option<CommonestView>,
}

/// The last call of a thread.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LastCall)]
pub(crate) struct LastCallView {
    name: String,
    /// Line of the run's trace, from 1.
    line: u32,
    /// When it began.
    at_ms: u64,
    /// Whether it had not returned when the run was stopped.
    in_flight: bool,
    /// Whether it is the event loop's own wait.
    poll: bool,
}

/// A folder that was full.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FullPlace)]
pub(crate) struct FullView {
    place: String,
    /// Of files and folders, rather than of bytes.
    entries: bool,
}

/// The call that was made most often.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CommonestCall)]
pub(crate) struct CommonestView {
    name: String,
    calls: u64,
}

pub(crate) fn view(stored: &StoredRun, lab: &Lab) -> Option<LimitView> {
    let outcome = stored.run.outcome;
    if matches!(outcome, Outcome::Exited | Outcome::Signalled) {
        return None;
    }
    let spec = lab.runs.iter().find(|spec| spec.label == stored.run.label);
    let Explanation { last_call, left_loop_ns, alive, full, commonest } =
        stored.explanation.clone().unwrap_or_default();
    Some(LimitView {
        allowed: spec.and_then(|spec| allowed(outcome, &spec.limits)),
        last_call: last_call.map(|call| LastCallView {
            name: call.name,
            line: call.line,
            at_ms: ms(call.start_ns),
            in_flight: call.in_flight,
            poll: call.poll,
        }),
        left_loop_ms: left_loop_ns.map(ms),
        alive,
        full: full.map(|full| FullView { place: full.place, entries: full.entries }),
        commonest: commonest.map(|most| CommonestView { name: most.name, calls: most.calls }),
    })
}

fn allowed(outcome: Outcome, limits: &Limits) -> Option<u64> {
    match outcome {
        Outcome::Exited | Outcome::Signalled => None,
        Outcome::WallLimit => limits.wall.as_millis().try_into().ok(),
        Outcome::MemoryLimit => Some(limits.memory.0),
        Outcome::ProcessLimit => Some(limits.processes.into()),
        Outcome::OutputLimit => Some(limits.output.0),
        Outcome::DiskLimit => Some(limits.disk.0),
        Outcome::TraceLimit => Some(limits.trace.0),
    }
}

fn ms(ns: i64) -> u64 {
    ns.max(0).unsigned_abs() / 1_000_000
}
