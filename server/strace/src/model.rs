//! What the events mean together: phases, names, marks, and whether the trace can be trusted.

use std::collections::HashSet;

use crate::parse::Options;
use crate::trace::{Incomplete, Mark, Phase, Trace};
use crate::{fds, roles, value};

const MARK_FOLDER: &str = "/__mark__/";

/// A script can make marks in a loop; no lab needs so many.
const MOST_MARKS: usize = 1000;

/// Completes a trace whose lines have all been read.
pub(crate) fn complete(trace: &mut Trace, options: &Options) {
    let main_pid = trace.threads.first().map_or(0, |thread| thread.pid);
    let entered = phases(trace, main_pid, options.entry.as_deref());
    names(trace);
    roles::assign(trace, main_pid);
    trace.fds = fds::lifetimes(trace);
    trace.marks = marks(trace);
    judge(trace, main_pid, entered);
}

/// Sets every event's phase; false if the entry script was declared and never opened.
fn phases(trace: &mut Trace, main_pid: u32, entry: Option<&str>) -> bool {
    let entered = entry.and_then(|entry| {
        let opened = |event: &&crate::Event| event.thread == 0 && event.ok() && opens(trace, event, entry);
        trace.events.iter().find(opened).map(|event| event.end_line)
    });
    let ends =
        |event: &&crate::Event| trace.name(event) == "exit_group" && trace.thread(event).pid == main_pid;
    let exit = trace.events.iter().find(ends).map_or(u32::MAX, |event| event.line);
    let user = if entry.is_some() { entered.unwrap_or(u32::MAX) } else { 0 };
    for event in &mut trace.events {
        event.phase = match event.line {
            line if line >= exit => Phase::Exit,
            line if line < user => Phase::Boot,
            _ => Phase::User,
        };
    }
    entry.is_none() || entered.is_some()
}

fn opens(trace: &Trace, event: &crate::Event, entry: &str) -> bool {
    if !matches!(trace.name(event), "open" | "openat" | "openat2") {
        return false;
    }
    let details = trace.details(event);
    [details.path, details.real].into_iter().flatten().any(|path| path == entry)
}

/// Takes over the names that threads give themselves: reports, never proofs.
fn names(trace: &mut Trace) {
    for index in 0..trace.events.len() {
        let event = &trace.events[index];
        if trace.name(event) != "prctl" || !event.ok() {
            continue;
        }
        let arguments = trace.arguments(event);
        if arguments.get(0) != Some(b"PR_SET_NAME") {
            continue;
        }
        let name = arguments.get(1).and_then(value::string).map(std::borrow::Cow::into_owned);
        let (thread, t_ns) = (event.thread as usize, event.t_ns);
        let thread = &mut trace.threads[thread];
        (thread.comm, thread.named_ns) = (name, thread.named_ns.or(t_ns));
    }
}

fn marks(trace: &mut Trace) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut seen = HashSet::new();
    let mut over = None;
    for (index, event) in trace.events.iter().enumerate() {
        if event.thread != 0 || !matches!(trace.name(event), "access" | "faccessat" | "faccessat2") {
            continue;
        }
        let Some(path) = trace.details(event).path else { continue };
        let Some(name) = path.strip_prefix(MARK_FOLDER).filter(|name| !seen.contains(*name)) else {
            continue;
        };
        if marks.len() == MOST_MARKS {
            over = Some(event.line);
            break;
        }
        seen.insert(name.to_owned());
        marks.push(Mark { name: name.into(), event: u32::try_from(index).unwrap_or(u32::MAX) });
    }
    if let Some(line) = over {
        trace.note(line, format!("only the first {MOST_MARKS} marks are kept"));
    }
    marks
}

/// Collects every reason not to trust the trace whole.
fn judge(trace: &mut Trace, main_pid: u32, entered: bool) {
    let mut reasons = std::mem::take(&mut trace.incomplete);
    if trace.events.is_empty() {
        reasons.push(Incomplete::Empty);
    }
    // The last word of a main process is that of its leader's tid, also after an execve.
    let main_ended =
        trace.threads.iter().rev().find(|thread| thread.tid == main_pid).is_some_and(|t| t.ended);
    if !main_ended {
        reasons.push(Incomplete::EndMissing);
    }
    if !entered {
        reasons.push(Incomplete::NeverLeftBoot);
    }
    let untraced = |event: &crate::Event| {
        trace.names.shape(event.name).clones && trace.arguments(event).has_flag("CLONE_UNTRACED")
            // A refused call made no process.
            && event.errno.is_none()
    };
    if trace.events.iter().any(untraced) {
        reasons.push(Incomplete::Untraced);
    }
    trace.notes.sort_by_key(|note| note.line);
    let mut seen = Vec::new();
    reasons.retain(|reason| {
        !seen.contains(reason) && {
            seen.push(*reason);
            true
        }
    });
    trace.incomplete = reasons;
}
