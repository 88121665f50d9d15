//! What the events mean together, as they are read: phases, threads, descriptors, names, marks; and, at
//! the end, whether the trace can be trusted.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::memmem;

use crate::event::{Event, NO_FD, Phase};
use crate::fds::{Act, Fds};
use crate::names::{Call, Name, Shape};
use crate::roles::Roles;
use crate::thread::Thread;
use crate::trace::{Incomplete, Mark, Trace};
use crate::value::{Arguments, path_argument, string};

const MARK_FOLDER: &str = "/__mark__/";

/// A script can make marks in a loop; no lab needs so many.
const MOST_MARKS: usize = 1000;

#[derive(Debug)]
pub(crate) struct Model {
    /// The script whose opening by the main thread ends the boot phase.
    entry: Option<String>,
    phase: Phase,
    roles: Roles,
    fds: Fds,
    marks: HashSet<String>,
    /// Clones with `CLONE_UNTRACED`: whether they were refused is known when they return.
    untraced: Vec<u32>,
}

impl Model {
    pub(crate) fn new(entry: Option<String>) -> Self {
        let phase = if entry.is_some() { Phase::Boot } else { Phase::User };
        Self {
            entry,
            phase,
            roles: Roles::default(),
            fds: Fds::default(),
            marks: HashSet::new(),
            untraced: Vec::new(),
        }
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    /// A thread came to be known.
    pub(crate) fn thread(&mut self) {
        self.roles.thread();
        self.fds.thread();
    }

    /// A call begins: its first half, or a whole line, has been read.
    #[inline]
    pub(crate) fn begins(&mut self, trace: &mut Trace, index: u32) {
        let event = &trace.events[index as usize];
        let shape = *trace.names.shape(event.name);
        let act = Act { trace, index, event, shape: &shape };
        let (fd, serial) = self.fds.begins(act);
        let arguments = trace.arguments(event);
        let opens_meminfo = shape.call == Call::Open && opens_meminfo(&shape, arguments);
        self.roles.call(event.thread, index, &shape, opens_meminfo);
        let mut phase = self.phase;
        match shape.call {
            Call::Access if event.thread == 0 => self.mark(trace, index, &shape),
            Call::ExitGroup if trace.thread(event).pid == trace.threads[0].pid => {
                phase = Phase::Exit;
                self.phase = phase;
            }
            Call::Clone if arguments.has_flag("CLONE_UNTRACED") => self.untraced.push(index),
            _ => {}
        }
        let event = &mut trace.events[index as usize];
        (event.fd, event.serial, event.phase) = (fd, serial, phase);
    }

    /// A call returned: its second half, or a whole line, has been read.
    #[inline]
    pub(crate) fn returned(&mut self, trace: &mut Trace, index: u32) {
        let event = &trace.events[index as usize];
        let shape = *trace.names.shape(event.name);
        let act = Act { trace, index, event, shape: &shape };
        if !event.ok() {
            // The first half has been taken for an act on a descriptor that is not there.
            if event.line != event.end_line && trace.errno(event) == Some("EBADF") {
                self.fds.refused(act);
            }
            return;
        }
        let (fd, serial) = self.fds.returns(act);
        if event.phase != Phase::Boot && event.thread_is_of_main(trace) && event.phase == Phase::User {
            self.roles.returned(index, &shape, trace.arguments(event), trace.bytes(event.ret_note));
        }
        match shape.call {
            Call::Open if self.phase == Phase::Boot && event.thread == 0 => self.enter(trace, index, &shape),
            Call::Execve => self.fds.exec(act),
            Call::Prctl => name_thread(trace, index),
            _ => {}
        }
        let event = &mut trace.events[index as usize];
        // A copy is about the descriptor that is copied where the call names one.
        if fd != NO_FD && event.fd == NO_FD {
            (event.fd, event.serial) = (fd, serial);
        }
    }

    /// A clone returned the number of the thread or process that it made.
    pub(crate) fn born(&mut self, trace: &mut Trace, index: u32, child: u32) {
        let event = &trace.events[index as usize];
        let arguments = trace.arguments(event);
        let is_thread = arguments.has_flag("CLONE_THREAD");
        let shares_fds = is_thread || arguments.has_flag("CLONE_FILES");
        let parent = trace.thread(event);
        let (pid, tid) = (parent.pid, parent.tid);
        let created_ns = event.end_ns().or(event.t_ns());
        let entry = &mut trace.threads[child as usize];
        entry.pid = if is_thread { pid } else { entry.tid };
        (entry.parent_tid, entry.created, entry.created_ns) = (Some(tid), Some(index), created_ns);
        let event = &trace.events[index as usize];
        self.roles.birth(event.thread, child, index, event.phase);
        let shape = *trace.names.shape(event.name);
        self.fds.born(Act { trace, index, event, shape: &shape }, child, shares_fds);
    }

    /// `thread` goes on where another of its process left off in an `execve`.
    pub(crate) fn goes_on(&mut self, trace: &mut Trace, thread: u32, from: u32) {
        trace.threads[thread as usize].pid = trace.threads[from as usize].pid;
        self.fds.goes_on(thread, from);
    }

    /// The first thread, of which nobody had said the number, turns out to be `tid`.
    pub(crate) fn rename_first(&mut self, trace: &mut Trace, tid: u32) {
        let renamed = |number: &mut u32| {
            if *number == 0 {
                *number = tid;
            }
        };
        for thread in &mut trace.threads {
            renamed(&mut thread.tid);
            renamed(&mut thread.pid);
            thread.parent_tid.as_mut().map(renamed);
        }
        trace.events.iter_mut().for_each(|event| renamed(&mut event.tid));
        self.fds.rename_first(tid);
    }

    /// A thread ended.
    pub(crate) fn ended(&mut self, trace: &Trace, index: u32) {
        let event = &trace.events[index as usize];
        self.fds.ended(event.thread, index, event.t_ns());
    }

    /// The main thread opened something while it was booting: perhaps the entry script.
    fn enter(&mut self, trace: &mut Trace, index: u32, shape: &Shape) {
        let event = &trace.events[index as usize];
        let Some(entry) = self.entry.as_deref() else { return };
        let path = path_argument(shape, trace.arguments(event));
        let real = crate::value::note_path(trace.bytes(event.ret_note));
        if [path, real].into_iter().flatten().any(|path| path == entry) {
            self.phase = Phase::User;
            if event.line == event.end_line {
                trace.events[index as usize].phase = Phase::User;
            }
        }
    }

    fn mark(&mut self, trace: &mut Trace, index: u32, shape: &Shape) {
        let event = &trace.events[index as usize];
        let (line, arguments) = (event.line, trace.arguments(event));
        if memmem::find(arguments.head, MARK_FOLDER.as_bytes()).is_none() {
            return;
        }
        let Some(path) = path_argument(shape, arguments) else { return };
        let Some(name) = path.strip_prefix(MARK_FOLDER).filter(|name| !self.marks.contains(*name)) else {
            return;
        };
        if self.marks.len() < MOST_MARKS {
            let mark = Mark { name: name.to_owned(), event: index };
            self.marks.insert(mark.name.clone());
            trace.marks.push(mark);
        } else if self.marks.len() == MOST_MARKS {
            // One more, so that this is said once.
            self.marks.insert(name.to_owned());
            trace.note(line, format!("only the first {MOST_MARKS} marks are kept"));
        }
    }

    /// Completes a trace whose lines have all been read.
    pub(crate) fn finish(self, trace: &mut Trace) {
        let main_pid = trace.threads.first().map_or(0, |thread| thread.pid);
        self.roles.assign(&mut trace.threads, main_pid);
        if self.fds.too_many {
            trace.note(0, "more descriptors were handed down by forks than are followed");
        }
        let (lifetimes, serials) = self.fds.finish();
        trace.fds = lifetimes;
        if let Some(serials) = serials {
            for event in &mut trace.events {
                event.serial = serials.get(event.serial as usize).copied().unwrap_or(event.serial);
            }
        }
        let untraced = self.untraced.iter().any(|index| trace.events[*index as usize].errno == Name::NONE);
        judge(trace, main_pid, self.phase != Phase::Boot, untraced);
    }
}

impl Event {
    fn thread_is_of_main(&self, trace: &Trace) -> bool {
        trace.threads[self.thread as usize].pid == trace.threads[0].pid
    }
}

fn opens_meminfo(shape: &Shape, arguments: Arguments<'_>) -> bool {
    memmem::find(arguments.head, b"/proc/meminfo").is_some()
        && path_argument(shape, arguments).as_deref() == Some("/proc/meminfo")
}

/// Takes over the name that a thread gives itself: a report, never a proof.
fn name_thread(trace: &mut Trace, index: u32) {
    let event = &trace.events[index as usize];
    let arguments = trace.arguments(event);
    if arguments.get(0).as_deref() != Some(b"PR_SET_NAME") {
        return;
    }
    let name = arguments.get(1).and_then(|name| string(&name).map(Cow::into_owned));
    let (thread, t_ns) = (event.thread as usize, event.t_ns());
    let thread: &mut Thread = &mut trace.threads[thread];
    (thread.comm, thread.named_ns) = (name, thread.named_ns.or(t_ns));
}

/// Collects every reason not to trust the trace whole.
fn judge(trace: &mut Trace, main_pid: u32, entered: bool, untraced: bool) {
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
    if untraced {
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
