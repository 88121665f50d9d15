//! Lifetimes of descriptors over copies, forks, execs and ends.
#![allow(clippy::unwrap_used)]

use strace::{FdEnd, FdKind, Options, Trace, parse};

fn trace(text: &str) -> Trace {
    parse(text.as_bytes(), &Options::default())
}

/// Number, process, path, and what ended each lifetime.
fn lives(trace: &Trace) -> Vec<(i32, u32, String, Option<FdEnd>)> {
    let path = |life| trace.fd_path(life).unwrap_or_default().into_owned();
    trace.fds.iter().map(|life| (life.fd, life.pid, path(life), life.end)).collect()
}

fn life(fd: i32, pid: u32, path: &str, end: Option<FdEnd>) -> (i32, u32, String, Option<FdEnd>) {
    (fd, pid, path.to_owned(), end)
}

#[test]
fn copies_are_lifetimes_of_their_own() {
    let text = "1 openat(AT_FDCWD, \"/a\", O_RDONLY|O_DIRECTORY) = 3\n1 dup(3) = 4\n1 dup2(3, 5) = 5\n1 dup3(3, 4, O_CLOEXEC) = 4\n\
                1 fcntl(3, F_DUPFD_CLOEXEC, 9) = 9\n1 close(3) = 0\n1 read(5, \"\", 1) = 0\n";
    let trace = trace(text);
    let expected = [
        life(3, 1, "/a", Some(FdEnd::Close)),
        life(4, 1, "/a", Some(FdEnd::Dup)),
        life(5, 1, "/a", None),
        life(4, 1, "/a", None),
        life(9, 1, "/a", None),
    ];
    assert_eq!(lives(&trace), expected);
    assert!(trace.fds.iter().all(|life| life.kind == FdKind::Dir), "a copy is what it is a copy of");
    let cloexec: Vec<bool> = trace.fds.iter().map(|life| life.cloexec).collect();
    assert_eq!(cloexec, [false, false, false, true, true]);
    assert_eq!(trace.events[6].serial(), Some(2), "the read is of the copy");
}

#[test]
fn a_child_has_its_parents_descriptors_and_loses_them_at_exec() {
    let text = "1 openat(AT_FDCWD, \"/keep\", O_RDONLY) = 3</keep>\n1 openat(AT_FDCWD, \"/drop\", O_RDONLY|O_CLOEXEC) = 4</drop>\n\
                1 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x1) = 2\n\
                2 read(3</keep>, \"\", 1) = 0\n2 read(4</drop>, \"\", 1) = 0\n\
                2 execve(\"/x\", [\"x\"], 0x1 /* 2 vars */) = 0\n2 read(3</keep>, \"\", 1) = 0\n2 openat(AT_FDCWD, \"/new\", O_RDONLY) = 4</new>\n\
                2 +++ exited with 0 +++\n1 read(4</drop>, \"\", 1) = 0\n1 +++ exited with 0 +++\n";
    let trace = trace(text);
    let expected = [
        life(3, 1, "/keep", Some(FdEnd::Exit)),
        life(4, 1, "/drop", Some(FdEnd::Exit)),
        life(3, 2, "/keep", Some(FdEnd::Exit)),
        life(4, 2, "/drop", Some(FdEnd::Exec)),
        life(4, 2, "/new", Some(FdEnd::Exit)),
    ];
    assert_eq!(lives(&trace), expected);
    let handed_down = &trace.fds[2];
    assert_eq!((handed_down.opened, handed_down.tid), (Some(2), Some(1)), "the fork handed it down");
    let serials: Vec<_> = trace.events.iter().map(strace::Event::serial).collect();
    assert_eq!(serials[3..10], [Some(2), Some(3), None, Some(2), Some(4), None, Some(1)]);
}

/// A thread may act before its parent's clone is printed: it is the same table all the same.
#[test]
fn a_thread_that_acts_early_acts_on_its_process_table() {
    let text = "1 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3</a>\n1 clone(flags=CLONE_VM|CLONE_FILES|CLONE_THREAD <unfinished ...>\n\
                2 read(3</a>, \"\", 1) = 0\n2 openat(AT_FDCWD, \"/b\", O_RDONLY) = 4</b>\n2 close(3</a>) = 0\n\
                1 <... clone resumed>) = 2\n1 read(4</b>, \"\", 1) = 0\n1 close(4</b>) = 0\n";
    let trace = trace(text);
    assert_eq!(lives(&trace), [life(3, 1, "/a", Some(FdEnd::Close)), life(4, 1, "/b", Some(FdEnd::Close))]);
    let serials: Vec<_> = trace.events.iter().map(strace::Event::serial).collect();
    assert_eq!(serials, [Some(0), None, Some(0), Some(1), Some(0), Some(1), Some(1)]);
    assert!(trace.fds.iter().all(|life| life.closed.is_some()));
}

/// A child that acts before its fork is printed has the same descriptors.
#[test]
fn a_child_that_acts_early_has_its_parents_descriptors() {
    let text = "1 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3</a>\n1 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n\
                2 close(3</a>) = 0\n1 <... clone resumed>) = 2\n1 read(3</a>, \"\", 1) = 0\n";
    let trace = trace(text);
    assert_eq!(lives(&trace), [life(3, 1, "/a", None), life(3, 2, "/a", Some(FdEnd::Close))]);
    assert_eq!(trace.fds[1].opened, Some(1));
}

#[test]
fn ranges_flags_and_refusals() {
    let text = "1 pipe2([3, 4], 0) = 0\n1 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 0) = 5\n1 fcntl(3, F_SETFD, FD_CLOEXEC) = 0\n\
                1 ioctl(4, FIOCLEX) = 0\n1 ioctl(5, FIONCLEX) = 0\n1 close(77) = -1 EBADF (Bad file descriptor)\n\
                1 close(5 <unfinished ...>\n2 getpid() = 2\n1 <... close resumed>) = -1 EBADF (Bad file descriptor)\n";
    let now = trace(text);
    let flags: Vec<bool> = now.fds.iter().map(|life| life.cloexec).collect();
    assert_eq!(flags, [true, true, false]);
    assert!(now.fds.iter().all(|life| life.end.is_none()), "a refused close ends nothing");
    let closed = trace(&format!("{text}1 close_range(4, 4294967295, 0) = 0\n"));
    let ends: Vec<_> = closed.fds.iter().map(|life| life.end).collect();
    assert_eq!(ends, [None, Some(FdEnd::Close), Some(FdEnd::Close)]);
    let flagged = trace(&format!(
        "{text}1 close_range(4, ~0U, CLOSE_RANGE_CLOEXEC) = 0\n1 execve(\"/x\", [], 0x1) = 0\n"
    ));
    let ends: Vec<_> = flagged.fds.iter().map(|life| life.end).collect();
    assert_eq!(ends, [Some(FdEnd::Exec); 3]);
}

#[test]
fn an_exec_from_another_thread_keeps_the_table() {
    let text = "1 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3</a>\n1 clone(flags=CLONE_VM|CLONE_THREAD) = 2\n\
                2 execve(\"/x\", [\"x\"], 0x7 /* 3 vars */ <pid changed to 1 ...>\n1 +++ superseded by execve in pid 2 +++\n\
                1 <... execve resumed>) = 0\n1 read(3</a>, \"\", 1) = 0\n1 +++ exited with 0 +++\n";
    let trace = trace(text);
    assert_eq!(trace.fds.len(), 1);
    assert!(trace.is_complete(), "{:?}", trace.incomplete);
    assert_eq!(trace.events.iter().find(|event| trace.name(event) == "read").unwrap().serial(), Some(0));
}
