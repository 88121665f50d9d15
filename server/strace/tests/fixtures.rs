//! Whole recorded runs, each with what it is known to contain.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use strace::{EventKind, Options, Phase, Role, Trace, parse};

fn fixture(name: &str, entry: Option<&str>) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
        .with_added_extension("strace");
    let text = std::fs::read(path).unwrap();
    parse(&text, &Options { entry: entry.map(Into::into), ..Options::default() })
}

/// Every fixture with the script it executed.
const FIXTURES: [(&str, Option<&str>); 34] = [
    ("613-killed-in-loop", Some("/lab/loop.js")),
    ("613-killed-in-poll", Some("/lab/wait.js")),
    ("613-read-default", Some("/lab/read.js")),
    ("613-read-pool8", Some("/lab/read.js")),
    ("613-throw", Some("/lab/throw.js")),
    ("613-worker-named-libuv", Some("/lab/worker.js")),
    ("await-all", Some("/lab/F_all.mjs")),
    ("await-fetch", Some("/lab/F_fetch.mjs")),
    ("await-fetch-localhost-dns", None),
    ("await-resolve", Some("/lab/F_resolve.mjs")),
    ("await-serial", Some("/lab/F_serial.mjs")),
    ("bigfile-async", Some("/lab/E_mem.cjs")),
    ("bigfile-sync", Some("/lab/E_mem.cjs")),
    ("block-offload", Some("/lab/C_server.ts")),
    ("cheat-named-worker", Some("/lab/main.js")),
    ("child", Some("/lab/p4.js")),
    ("copy3", Some("/lab/p17.js")),
    ("cpuprof", Some("/lab/p15.js")),
    ("env-in-script", Some("/lab/p3.js")),
    ("hostile-names", Some("/lab/n.js")),
    ("lag", Some("/lab/G_lag.mjs")),
    ("marks", Some("/lab/p16.js")),
    ("nested-names", Some("/lab/p5.js")),
    ("nuxt-all", Some("/app/server/index.mjs")),
    ("nuxt-serial", Some("/app/server/index.mjs")),
    ("open-mix", Some("/lab/I_mix.js")),
    ("order-io.cjs", Some("/lab/D_io.cjs")),
    ("order-order.cjs", Some("/lab/D_order.cjs")),
    ("order-order.mjs", Some("/lab/D_order.mjs")),
    ("pbkdf2-pool4", Some("/lab/B_pb.js")),
    ("pbkdf2-pool8", Some("/lab/B_pb.js")),
    ("preload-pool", Some("/lab/p1.js")),
    ("read-default", Some("/lab/A_read.js")),
    ("read-pool8", Some("/lab/A_read.js")),
];

fn summary(trace: &Trace) -> String {
    let mut roles: BTreeMap<&str, usize> = BTreeMap::new();
    for thread in &trace.threads {
        *roles.entry(thread.role.as_str()).or_default() += 1;
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for lifetime in &trace.fds {
        *kinds.entry(lifetime.kind.as_str()).or_default() += 1;
    }
    let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &trace.events {
        *phases.entry(event.phase.as_str()).or_default() += 1;
    }
    let mut out = format!("lines {} events {} phases {phases:?}\n", trace.lines(), trace.events.len());
    writeln!(out, "roles {roles:?}").unwrap();
    writeln!(out, "fds {kinds:?}").unwrap();
    let incomplete: Vec<_> = trace.incomplete.iter().map(|reason| reason.as_str()).collect();
    writeln!(out, "incomplete {incomplete:?}").unwrap();
    for mark in &trace.marks {
        writeln!(out, "mark {} on line {}", mark.name, trace.events[mark.event as usize].line).unwrap();
    }
    for note in &trace.notes {
        writeln!(out, "note {}: {}", note.line, note.text).unwrap();
    }
    out
}

#[test]
fn every_fixture_reads_as_recorded() {
    let mut all = String::new();
    for (name, entry) in FIXTURES {
        write!(all, "## {name}\n{}\n", summary(&fixture(name, entry))).unwrap();
    }
    insta::assert_snapshot!(all);
}

/// Whole-line traces of strace 6.13 (`613-`) and half-line traces of 6.1 say the same.
#[test]
fn pool_size_follows_the_environment() {
    for (name, entry, workers) in [
        ("read-default", "/lab/A_read.js", 4),
        ("read-pool8", "/lab/A_read.js", 8),
        ("env-in-script", "/lab/p3.js", 2),
        ("613-read-default", "/lab/read.js", 4),
        ("613-read-pool8", "/lab/read.js", 8),
    ] {
        let trace = fixture(name, Some(entry));
        let pool = trace.threads.iter().filter(|thread| thread.role == Role::LibuvWorker).count();
        assert_eq!(pool, workers, "{name}");
        assert!(trace.is_complete(), "{name}: {:?}", trace.incomplete);
    }
}

#[test]
fn main_reads_synchronously_and_the_pool_reads_asynchronously() {
    for (name, entry) in [("read-default", "/lab/A_read.js"), ("613-read-default", "/lab/read.js")] {
        let trace = fixture(name, Some(entry));
        let openers = |path: &str| -> Vec<Role> {
            let opens = trace.events.iter().filter(|e| trace.name(e) == "openat" && e.phase == Phase::User);
            let opens = opens.filter(|e| trace.details(e).path.as_deref() == Some(path));
            opens.map(|e| trace.thread(e).role).collect()
        };
        assert_eq!(openers("/etc/hostname"), [Role::Main], "{name}");
        assert_eq!(openers("/etc/os-release"), [Role::LibuvWorker], "{name}");
    }
}

#[test]
fn a_forged_name_changes_no_role() {
    for (name, entry, workers) in
        [("cheat-named-worker", "/lab/main.js", 0), ("613-worker-named-libuv", "/lab/worker.js", 4)]
    {
        let trace = fixture(name, Some(entry));
        let forged = |thread: &&strace::Thread| {
            thread.role == Role::JsWorker && thread.comm.as_deref() == Some("libuv-worker")
        };
        assert!(trace.threads.iter().any(|thread| forged(&thread)), "{name} holds a forger");
        let pool = trace.threads.iter().filter(|thread| thread.role == Role::LibuvWorker).count();
        assert_eq!(pool, workers, "{name}");
    }
}

#[test]
fn a_run_that_was_killed_shows_where_main_was() {
    for (name, entry, last) in [
        ("613-killed-in-poll", "/lab/wait.js", Some("epoll_pwait")),
        ("613-killed-in-loop", "/lab/loop.js", None),
    ] {
        let trace = fixture(name, Some(entry));
        let mut main = trace.events.iter().rev().filter(|event| event.thread == 0);
        let end = main.next().unwrap();
        assert_eq!((end.kind, trace.signal(end)), (EventKind::Exit, Some("SIGKILL")), "{name}");
        let pending = main.next().filter(|event| event.ret().is_none()).map(|event| trace.name(event));
        assert_eq!(pending, last, "{name}: the call main was in when it was killed");
        assert!(trace.is_complete(), "{name}: {:?}", trace.incomplete);
    }
}

#[test]
fn lifetimes_match_opens_and_closes() {
    let trace = fixture("read-default", Some("/lab/A_read.js"));
    let read: Vec<_> =
        trace.fds.iter().filter(|fd| trace.fd_path(fd).as_deref() == Some("/usr/lib/os-release")).collect();
    assert_eq!(read.len(), 1);
    let lifetime = read[0];
    let event = |index: Option<u32>| &trace.events[index.unwrap() as usize];
    assert_eq!(trace.name(event(lifetime.opened)), "openat");
    assert_eq!(trace.name(event(lifetime.closed)), "close");
    let serial = event(lifetime.opened).serial();
    let names: Vec<_> = trace.events.iter().filter(|e| e.serial() == serial).map(|e| trace.name(e)).collect();
    assert_eq!(names, ["openat", "statx", "read", "close"]);
}

#[test]
fn a_text_reads_the_same_in_chunks_of_any_size() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/read-default.strace");
    let text = std::fs::read(path).unwrap();
    let whole = summary(&parse(&text, &Options::default()));
    for size in [1, 7, 64, 1000, 65_536] {
        let mut parser = strace::Parser::new(Options::default());
        text.chunks(size).for_each(|chunk| parser.push(chunk));
        assert_eq!(summary(&parser.finish()), whole, "chunks of {size}");
    }
}
