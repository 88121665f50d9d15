//! What a learner is told when a limit struck.

use lab::{Explanation, Given, Outcome, explain};

use crate::support::{Draft, run};

/// A trace's lines: seconds and event; the thread is 12 unless the event names another.
fn trace(lines: &[(&str, &str)]) -> Vec<u8> {
    let text = lines.iter().map(|(at, event)| match event.split_once("| ") {
        Some((tid, event)) => format!("{tid} 1796076416.{at} {event}\n"),
        None => format!("12 1796076416.{at} {event}\n"),
    });
    text.collect::<String>().into_bytes()
}

fn told(outcome: Outcome, lines: &[(&str, &str)]) -> Option<Explanation> {
    let lab = Draft::new().load().unwrap();
    let mut run = run(&lab.runs[0].label, Some(&trace(lines)));
    run.outcome = outcome;
    let runs = [run];
    let evidence = lab.gather(&runs, Given::default()).unwrap();
    explain(&evidence, &runs[0])
}

const BOOT: (&str, &str) =
    ("000000000", "execve(\"/usr/local/bin/node\", [\"node\"], 0x1 /* 2 vars */) = 0 <0.000349933>");
const ENTRY: (&str, &str) =
    ("012000000", "openat(AT_FDCWD, \"/lab/main.js\", O_RDONLY) = 3</lab/main.js> <0.000010000>");

#[test]
fn a_run_that_no_limit_struck_needs_no_explanation() {
    assert_eq!(told(Outcome::Exited, &[BOOT, ENTRY]), None);
    assert_eq!(told(Outcome::Signalled, &[BOOT, ENTRY]), None);
}

#[test]
fn a_loop_that_was_never_returned_to_is_told_with_the_last_call() {
    let read = ("013000000", "read(3</lab/main.js>, \"for (;;);\", 9) = 9 <0.000001000>");
    let told = told(Outcome::WallLimit, &[BOOT, ENTRY, read]).unwrap();
    assert_eq!(told.left_loop_ns, Some(12_000_000));
    let last = told.last_call.unwrap();
    assert_eq!((last.name.as_str(), last.line, last.start_ns), ("read", 3, 13_000_000));
    assert!(!last.in_flight && !last.poll);
}

#[test]
fn the_call_in_flight_at_the_kill_is_told_and_whether_it_is_the_loops_own() {
    let polled =
        ("020000000", "epoll_pwait(9<anon_inode:[eventpoll]>, [], 1024, 5, NULL, 8) = 0 <0.005000000>");
    let poll = ("030000000", "epoll_pwait(9<anon_inode:[eventpoll]>, <unfinished ...>) = ?");
    let killed = ("999000000", "+++ killed by SIGKILL +++");
    let waiting = told(Outcome::WallLimit, &[BOOT, ENTRY, polled, poll, killed]).unwrap();
    let last = waiting.last_call.unwrap();
    assert!(last.in_flight && last.poll, "{last:?}");
    assert_eq!((last.start_ns, waiting.left_loop_ns), (30_000_000, Some(25_000_000)));

    let read = ("030000000", "read(4<pipe:[7]>,  <unfinished ...>) = ?");
    let last = told(Outcome::WallLimit, &[BOOT, ENTRY, polled, read, killed]).unwrap().last_call.unwrap();
    assert!(last.in_flight && !last.poll && last.name == "read", "{last:?}");
}

#[test]
fn processes_alive_at_the_first_refusal_are_counted() {
    let made =
        |tid: u32| format!("clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = {tid} <0.000100000>");
    let (first, second) = (made(13), made(14));
    let lines = [
        BOOT,
        ENTRY,
        ("020000000", first.as_str()),
        ("021000000", second.as_str()),
        ("022000000", "14| +++ exited with 0 +++"),
        (
            "030000000",
            "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = -1 EAGAIN (Resource temporarily unavailable) <0.000100000>",
        ),
        ("040000000", first.as_str()),
    ];
    assert_eq!(told(Outcome::ProcessLimit, &lines).unwrap().alive, Some(2));
    assert_eq!(told(Outcome::ProcessLimit, &[BOOT, ENTRY]).unwrap().alive, None, "no refusal in the trace");
}

#[test]
fn the_place_that_was_full_is_named_and_of_what_it_was_full() {
    let full = "= -1 ENOSPC (No space left on device) <0.000001000>";
    for (event, place, entries) in [
        ("write(4</tmp/big>, \"x\", 1)", "/tmp", false),
        ("openat(AT_FDCWD</lab>, \"/lab/n1\", O_WRONLY|O_CREAT, 0666)", "/lab", true),
        ("mkdir(\"deeper\", 0777)", "/lab", true),
        ("pwrite64(4</dev/shm/x>, \"x\", 1, 0)", "/dev/shm", false),
    ] {
        let line = format!("{event} {full}");
        let told =
            told(Outcome::DiskLimit, &[BOOT, ENTRY, ("020000000", line.as_str())]).unwrap().full.unwrap();
        assert_eq!((told.place.as_str(), told.entries), (place, entries), "{event}");
    }
}

#[test]
fn what_filled_the_trace_is_told() {
    let stat = (
        "020000000",
        "statx(AT_FDCWD</lab>, \"/x\", 0, 0, 0x1) = -1 ENOENT (No such file or directory) <0.000001000>",
    );
    let told = told(Outcome::TraceLimit, &[BOOT, ENTRY, stat, stat]).unwrap().commonest.unwrap();
    assert_eq!((told.name.as_str(), told.calls), ("statx", 2));
}
