//! What each thread is, by where it comes from and what it does.
//!
//! A script can give any of its threads any name (`process.title`, `new Worker(code, { name })`), so
//! names decide nothing here, with one exception that only takes a role away: JavaScript cannot
//! name a thread of libuv's pool, hence a thread that named itself something else is not of it.

use memchr::memmem;

use crate::event::Phase;
use crate::names::{Call, Shape};
use crate::thread::{Role, Thread};
use crate::value::{Arguments, fd_argument, note_path};

/// What is seen of threads while the trace is read; what they are is decided at its end.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    lives: Vec<Life>,
    /// Number of the first call by which the main thread made an event loop after its first thread.
    main_loop: Option<u32>,
    /// Number of the call from which on the first process may run machine code that came with neither
    /// Node nor the system.
    own_machine_code: Option<u32>,
}

/// What one thread did.
#[derive(Debug, Default)]
struct Life {
    /// Made something that libuv makes for an event loop and for nothing else.
    owns_loop: bool,
    /// Opened `/proc/meminfo`, as V8 does to size a heap.
    sizes_heap: bool,
    /// Acted on a file or a socket, or wrote to a descriptor (an eventfd among them).
    works: bool,
    /// Made nothing but a thread since the birth before.
    in_burst: bool,
    births: Vec<Birth>,
}

/// A thread's birth as its parent saw it.
#[derive(Debug, Clone, Copy)]
struct Birth {
    child: usize,
    /// Number of the call.
    call: u32,
    phase: Phase,
    /// Whether the parent made nothing but this thread since the birth before.
    follows: bool,
}

impl Roles {
    /// A thread came to be known.
    pub(crate) fn thread(&mut self) {
        self.lives.push(Life::default());
    }

    /// A thread began a call. `opens_meminfo` says of an open whether it is of V8's file.
    #[inline]
    pub(crate) fn call(&mut self, thread: u32, call: u32, shape: &Shape, opens_meminfo: bool) {
        if thread == 0
            && shape.call == Call::LoopMaker
            && self.main_loop.is_none()
            && !self.lives[0].births.is_empty()
        {
            self.main_loop = Some(call);
        }
        let life = &mut self.lives[thread as usize];
        match shape.call {
            // Whether it made a thread is known when it returns.
            Call::Clone | Call::ThreadSetup => return,
            Call::LoopMaker => life.owns_loop = true,
            Call::Open => {
                life.sizes_heap |= opens_meminfo;
                life.works = true;
            }
            Call::Socket => life.works = true,
            // Every thread may name itself, set its mask, or end; none of that is work.
            _ => life.works |= shape.path.is_some() || shape.fd.is_some(),
        }
        life.in_burst = false;
    }

    /// A call made a thread or process.
    pub(crate) fn birth(&mut self, parent: u32, child: u32, call: u32, phase: Phase) {
        let life = &mut self.lives[parent as usize];
        let follows = std::mem::replace(&mut life.in_burst, true);
        life.births.push(Birth { child: child as usize, call, phase, follows });
    }

    /// A call of the first process returned well in phase `user`: it may have brought machine code of
    /// the script's own, by the head of an ELF file from elsewhere, as dlopen(3) reads it, or by its own
    /// memory, opened for writing.
    pub(crate) fn returned(&mut self, call: u32, shape: &Shape, arguments: Arguments<'_>, ret_note: &[u8]) {
        let brings_code = match shape.call {
            Call::Read => {
                [arguments.head, arguments.tail].iter().any(|text| memmem::find(text, ELF_HEAD).is_some())
                    && fd_argument(shape, arguments)
                        .and_then(|fd| note_path(fd.note))
                        .is_some_and(|file| !SYSTEM.iter().any(|dir| file.starts_with(dir)))
            }
            Call::Open => {
                ret_note.ends_with(b"/mem")
                    && ret_note.starts_with(b"/proc/")
                    && (arguments.has_flag("O_RDWR") || arguments.has_flag("O_WRONLY"))
            }
            _ => false,
        };
        if brings_code {
            self.own_machine_code = Some(self.own_machine_code.map_or(call, |first| first.min(call)));
        }
    }

    /// Gives every thread its role.
    pub(crate) fn assign(self, threads: &mut [Thread], main_pid: u32) {
        let mut roles = vec![(Role::Other, "no rule names it"); threads.len()];
        for (thread, role) in threads.iter().zip(&mut roles) {
            if thread.pid != main_pid {
                *role = (Role::Child, "belongs to another process");
            }
        }
        if let Some(main) = roles.first_mut() {
            *main = (Role::Main, "first thread of the trace");
        }
        self.platform(&mut roles);
        for (life, role) in self.lives.iter().zip(&mut roles) {
            if role.0 == Role::Other && life.owns_loop && life.sizes_heap {
                *role = (Role::JsWorker, "owns an event loop and sizes a heap");
            }
        }
        self.pool(threads, &mut roles);
        for (thread, (role, rule)) in threads.iter_mut().zip(roles) {
            (thread.role, thread.rule) = (role, rule);
        }
    }

    /// Threads that Node starts before any user code can: scheduler, V8 workers, signal inspector.
    fn platform(&self, roles: &mut [(Role, &'static str)]) {
        let Some(main) = self.lives.first() else { return };
        let mut births = main.births.iter().filter(|birth| birth.phase == Phase::Boot);
        let Some(first) = births.next().filter(|birth| self.lives[birth.child].owns_loop) else { return };
        roles[first.child] = (Role::DelayedTask, "first thread made, owns an event loop");
        let own_loop = self.main_loop.unwrap_or(u32::MAX);
        let mut inspector = false;
        for birth in births {
            if birth.call < own_loop {
                roles[birth.child] =
                    (Role::V8Worker, "made after the scheduler and before main's event loop");
            } else if !inspector && !self.lives[birth.child].owns_loop {
                roles[birth.child] =
                    (Role::SignalInspector, "first thread made after main's event loop, before user code");
                inspector = true;
            } else {
                return;
            }
        }
    }

    /// libuv starts its pool in one go, from whichever thread needs it first.
    fn pool(&self, threads: &[Thread], roles: &mut [(Role, &'static str)]) {
        // `Other` too: a thread of the runtime, such as the writer of trace events, may need the pool first.
        let starts_pool = |role: Role| matches!(role, Role::Main | Role::JsWorker | Role::Other);
        let mut bursts: Vec<Vec<Birth>> = Vec::new();
        for (life, _) in self.lives.iter().zip(roles.iter()).filter(|(_, role)| starts_pool(role.0)) {
            let mut open = false;
            for &birth in &life.births {
                let candidate = roles[birth.child].0 == Role::Other
                    && !self.lives[birth.child].owns_loop
                    && !named_otherwise(&threads[birth.child]);
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
        let trusted = self.own_machine_code.unwrap_or(u32::MAX);
        bursts.retain(|burst| burst[0].call < trusted);
        bursts.sort_by_key(|burst| burst[0].call);
        let works = |burst: &&Vec<Birth>| burst.iter().any(|birth| self.lives[birth.child].works);
        for birth in bursts.iter().find(works).into_iter().flatten() {
            roles[birth.child] =
                (Role::LibuvWorker, "one of the first threads made back to back that serve files or sockets");
        }
    }
}

/// How strace prints a buffer that begins as every ELF file does (elf(5)).
const ELF_HEAD: &[u8] = br#""\177ELF"#;

/// Folders of the image that a run cannot write to.
const SYSTEM: [&str; 3] = ["/usr/", "/lib", "/opt/"];

/// Whether a thread gave itself a name that libuv gives none of its pool's threads.
fn named_otherwise(thread: &Thread) -> bool {
    thread.comm.as_deref().is_some_and(|comm| comm != "libuv-worker")
}
