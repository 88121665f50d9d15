//! What each thread is, by where it comes from and what it does.
//!
//! A script can give any of its threads any name (`process.title`, `new Worker(code, { name })`), so
//! names decide nothing here, with one exception that only takes a role away: JavaScript cannot
//! name a thread of libuv's pool, hence a thread that named itself something else is not of it.

use std::collections::HashMap;

use memchr::memmem;

use crate::trace::{Event, EventKind, Phase, Role, Thread, Trace};

/// What a thread did, gathered in one pass.
#[derive(Debug, Clone, Default)]
struct Deeds {
    /// Made something that libuv makes for an event loop and for nothing else.
    owns_loop: bool,
    /// Opened `/proc/meminfo`, as V8 does to size a heap.
    sizes_heap: bool,
    /// Acted on a file or a socket, or wrote to a descriptor (an eventfd among them).
    works: bool,
}

/// A thread's birth as its parent saw it.
#[derive(Debug, Clone, Copy)]
struct Birth {
    child: usize,
    event: usize,
    /// Whether the parent made nothing but this thread since the birth before.
    follows: bool,
}

pub(crate) fn assign(trace: &mut Trace, main_pid: u32) {
    let deeds = deeds(trace);
    let mut roles = vec![(Role::Other, "no rule names it"); trace.threads.len()];
    for (thread, role) in trace.threads.iter().zip(&mut roles) {
        if thread.pid != main_pid {
            *role = (Role::Child, "belongs to another process");
        }
    }
    let births = births(trace);
    if let Some(main) = roles.first_mut() {
        *main = (Role::Main, "first thread of the trace");
    }
    platform(trace, births.first().map_or(&[], Vec::as_slice), &deeds, &mut roles);
    for (index, role) in roles.iter_mut().enumerate() {
        if role.0 == Role::Other && deeds[index].owns_loop && deeds[index].sizes_heap {
            *role = (Role::JsWorker, "owns an event loop and sizes a heap");
        }
    }
    pool(trace, &births, &deeds, &mut roles);
    for (thread, (role, rule)) in trace.threads.iter_mut().zip(roles) {
        (thread.role, thread.rule) = (role, rule);
    }
}

fn deeds(trace: &Trace) -> Vec<Deeds> {
    let mut deeds = vec![Deeds::default(); trace.threads.len()];
    for event in trace.events.iter().filter(|event| event.kind == EventKind::Syscall) {
        let entry = &mut deeds[event.thread as usize];
        match trace.name(event) {
            name if opens_loop(name) => entry.owns_loop = true,
            "open" | "openat" if !entry.sizes_heap => {
                entry.sizes_heap = trace.details(event).path.as_deref() == Some("/proc/meminfo");
                entry.works = true;
            }
            // Every thread may name itself, set its mask, or end; none of that is work.
            _ if trace.names.shape(event.name).path.is_some() => entry.works = true,
            _ if trace.names.shape(event.name).fd.is_some() => entry.works = true,
            "socket" => entry.works = true,
            _ => {}
        }
    }
    deeds
}

/// `uv_loop_init` makes an epoll instance, a signal pipe and an eventfd; the pool's threads make none.
fn opens_loop(name: &str) -> bool {
    matches!(name, "epoll_create" | "epoll_create1" | "pipe2" | "eventfd2")
}

/// The threads that each thread made, in order, by the parent's index.
fn births(trace: &Trace) -> Vec<Vec<Birth>> {
    let made = trace
        .threads
        .iter()
        .enumerate()
        .filter_map(|(child, thread)| Some((thread.created? as usize, child)));
    let made: HashMap<usize, usize> = made.collect();
    let mut births: Vec<Vec<Birth>> = vec![Vec::new(); trace.threads.len()];
    let mut follows = vec![false; trace.threads.len()];
    // A signal may strike between two clones: it is nothing that the parent does.
    let calls = trace.events.iter().enumerate().filter(|(_, event)| event.kind == EventKind::Syscall);
    for (index, event) in calls {
        let parent = event.thread as usize;
        if trace.names.shape(event.name).clones {
            if let Some(&child) = made.get(&index) {
                births[parent].push(Birth { child, event: index, follows: follows[parent] });
                follows[parent] = true;
            }
        } else if !sets_up_thread(trace, event) {
            follows[parent] = false;
        }
    }
    births
}

/// Calls that pthread_create(3) itself makes between one clone and the next.
fn sets_up_thread(trace: &Trace, event: &Event) -> bool {
    matches!(
        trace.name(event),
        "mmap"
            | "mprotect"
            | "munmap"
            | "madvise"
            | "brk"
            | "rt_sigprocmask"
            | "futex"
            | "prlimit64"
            | "getrlimit"
    )
}

/// Threads that Node starts before any user code can: scheduler, V8 workers, signal inspector.
fn platform(trace: &Trace, births: &[Birth], deeds: &[Deeds], roles: &mut [(Role, &'static str)]) {
    let boots = |birth: &&Birth| trace.events[birth.event].phase == Phase::Boot;
    let mut births = births.iter().filter(boots);
    let Some(first) = births.next().filter(|birth| deeds[birth.child].owns_loop) else { return };
    roles[first.child] = (Role::DelayedTask, "first thread made, owns an event loop");
    let by_main = |event: &Event| event.thread == 0 && opens_loop(trace.name(event));
    let own_loop = trace.events[first.event..].iter().position(by_main);
    let own_loop = own_loop.map_or(usize::MAX, |ahead| first.event + ahead);
    let mut inspector = false;
    for birth in births {
        if birth.event < own_loop {
            roles[birth.child] = (Role::V8Worker, "made after the scheduler and before main's event loop");
        } else if !inspector && !deeds[birth.child].owns_loop {
            roles[birth.child] =
                (Role::SignalInspector, "first thread made after main's event loop, before user code");
            inspector = true;
        } else {
            return;
        }
    }
}

/// libuv starts its pool in one go, from whichever thread needs it first.
fn pool(trace: &Trace, births: &[Vec<Birth>], deeds: &[Deeds], roles: &mut [(Role, &'static str)]) {
    // `Other` too: a thread of the runtime, such as the writer of trace events, may need the pool first.
    let starts_pool = |role: Role| matches!(role, Role::Main | Role::JsWorker | Role::Other);
    let mut bursts: Vec<Vec<Birth>> = Vec::new();
    for (_, births) in births.iter().enumerate().filter(|(parent, _)| starts_pool(roles[*parent].0)) {
        let mut open = false;
        for &birth in births {
            let candidate = roles[birth.child].0 == Role::Other
                && !deeds[birth.child].owns_loop
                && !named_otherwise(&trace.threads[birth.child]);
            if !candidate {
                open = false;
            } else if let (true, true, Some(burst)) = (open, birth.follows, bursts.last_mut()) {
                burst.push(birth);
            } else {
                bursts.push(vec![birth]);
                open = true;
            }
        }
    }
    // What machine code of the script's own makes may look like anything.
    let trusted = own_machine_code(trace).unwrap_or(usize::MAX);
    bursts.retain(|burst| burst[0].event < trusted);
    bursts.sort_by_key(|burst| burst[0].event);
    let works = |burst: &&Vec<Birth>| burst.iter().any(|birth| deeds[birth.child].works);
    for birth in bursts.iter().find(works).into_iter().flatten() {
        roles[birth.child] =
            (Role::LibuvWorker, "one of the first threads made back to back that serve files or sockets");
    }
}

/// The event from which on the first process may run machine code that came with neither Node nor the
/// system: it has read the head of an ELF file from elsewhere, as dlopen(3) does, or opened its own
/// memory for writing.
fn own_machine_code(trace: &Trace) -> Option<usize> {
    let main_pid = trace.threads.first()?.pid;
    trace.events.iter().position(|event| {
        if event.phase != Phase::User || !event.ok() || trace.thread(event).pid != main_pid {
            return false;
        }
        match trace.name(event) {
            "read" | "pread64" => {
                let holds_head = |span| memmem::find(trace.bytes(span), ELF_HEAD).is_some();
                (holds_head(event.args) || holds_head(event.args_tail))
                    && trace
                        .details(event)
                        .real
                        .is_some_and(|file| !SYSTEM.iter().any(|dir| file.starts_with(dir)))
            }
            "open" | "openat" | "openat2" => {
                let writes =
                    trace.arguments(event).has_flag("O_RDWR") || trace.arguments(event).has_flag("O_WRONLY");
                writes
                    && trace
                        .details(event)
                        .real
                        .is_some_and(|file| file.starts_with("/proc/") && file.ends_with("/mem"))
            }
            _ => false,
        }
    })
}

/// How strace prints a buffer that begins as every ELF file does (elf(5)).
const ELF_HEAD: &[u8] = br#""\177ELF"#;

/// Folders of the image that a run cannot write to.
const SYSTEM: [&str; 3] = ["/usr/", "/lib", "/opt/"];

/// Whether a thread gave itself a name that libuv gives none of its pool's threads.
fn named_otherwise(thread: &Thread) -> bool {
    thread.comm.as_deref().is_some_and(|comm| comm != "libuv-worker")
}
