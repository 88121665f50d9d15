//! Texts of many straces and many options, each with what it holds; and that no line is lost.
#![allow(clippy::unwrap_used)]

use strace::{EventKind, Incomplete, Options, Trace, merge, parse};

fn trace(text: &str) -> Trace {
    parse(text.as_bytes(), &Options::default())
}

/// Calls with both halves or whole, calls without, signals, ends; and lines that only notes tell of.
fn counts(trace: &Trace) -> (usize, usize, usize, usize, usize) {
    let of = |kind: EventKind| trace.events.iter().filter(move |event| event.kind == kind);
    let mut told: Vec<u32> = trace.events.iter().flat_map(|event| [event.line, event.end_line]).collect();
    told.extend(trace.summary.iter().map(|row| row.line));
    let only_noted = (1..=trace.lines()).filter(|line| !told.contains(line));
    let noted = only_noted.filter(|line| trace.notes.iter().any(|note| note.line == *line)).count();
    (
        of(EventKind::Syscall).filter(|event| event.complete).count(),
        of(EventKind::Syscall).filter(|event| !event.complete).count(),
        of(EventKind::Signal).count(),
        of(EventKind::Exit).count(),
        noted,
    )
}

/// Every line that says something is of an event, of a table, or has a note.
fn nothing_is_lost(trace: &Trace) {
    for line in (1..=trace.lines()).filter(|line| !trace.line(*line).trim().is_empty()) {
        let in_event = trace.events.iter().any(|event| event.line == line || event.end_line == line);
        let in_table = trace.summary.iter().any(|row| row.line == line);
        let noted = trace.notes.iter().any(|note| note.line == line);
        assert!(in_event || in_table || noted, "line {line} is lost: {}", trace.line(line));
    }
}

fn check(what: &str, text: &str, expected: (usize, usize, usize, usize, usize)) {
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let trace = trace(&text);
        nothing_is_lost(&trace);
        assert_eq!(counts(&trace), expected, "{what}: {:?}", trace.notes);
    }
}

#[test]
fn leaders_of_every_option() {
    for leader in [
        "",
        "9     ",
        "4194304 ",
        "[pid     9] ",
        "[pid 91234<my name>] ",
        "77<a] b> ",
        "10:11:12 ",
        "10:11:12.000131 ",
        "1796068214 ",
        "1796068214.123 ",
        "1796068214.123456789 ",
        "     0.000131 ",
        "10:11:12.5 (+     0.000131) ",
        "77    10:11:12.000131 (+     0.000131) [  12] [00007f3372120c47] ",
        "77 [???] [????????????????] ",
        "77 [system_u:system_r:init_t:s0] ",
        "\u{feff}77 ",
        "    ",
        "\x1b[33m77 \x1b[0m",
    ] {
        check(leader, &format!("{leader}close(3) = 0\n"), (1, 0, 0, 0, 0));
    }
}

#[test]
fn values_and_what_follows_them() {
    for value in [
        "0",
        "-1 ENOENT (No such file or directory)",
        "-1 ENOENT (Файл (или каталог) не найден)",
        "-1 EPERM (L'opération n'est pas permise) <0.000010>",
        "? ERESTARTNOHAND (To be restarted if no handler)",
        "? <unavailable>",
        "-1 (errno 4095) <0.000012>",
        "3</a (b) = 0>(deleted) <0.000012>",
        "7<thread name>",
        "7 /* 1234 in strace's PID NS */ <0.000012>",
        "0x1 (flags FD_CLOEXEC)",
        "3 (out [1 2 4], left {tv_sec=1, tv_nsec=2})",
        "-1 EIO (Input/output error) (INJECTED)",
        "0 (INJECTED: args) (DELAYED) <1>",
        "0 (Timeout)",
        "022",
        "18446744073709551488",
    ] {
        check(value, &format!("7 f(1)        = {value}\n"), (1, 0, 0, 0, 0));
        check(value, &format!("7 f( <unfinished ...>\n7 <... f resumed>1) = {value}\n"), (1, 0, 0, 0, 0));
        check(value, &format!("7 f( <unfinished ...>\n7 <... f resumed> )     = {value}\n"), (1, 0, 0, 0, 0));
    }
}

#[test]
fn halves_that_never_meet_and_odd_ends() {
    check("a cut line", "7 openat(AT_FDCWD, \"/etc", (0, 1, 0, 0, 0));
    check("cut behind the bracket", "7 close(3)\n", (0, 1, 0, 0, 0));
    check("detached", "7 read(0 <detached ...>\n", (0, 1, 0, 0, 0));
    check("a lone mark", "7 read(0\n <unfinished ...>\n", (0, 1, 0, 0, 1));
    check("an end without a leader", ")                 = 0 <0.1>\n", (0, 0, 0, 0, 1));
    check("an unknown call", "7 ???( <unfinished ...>\n7 <... ??? resumed>) = ?\n", (1, 0, 0, 0, 0));
    check("a tail alone", "7 <... read resumed>\"\", 1) = 0\n", (0, 1, 0, 0, 0));
    check("only a leader", "7 1796068214.1 \n", (0, 0, 0, 0, 1));
    check("restarted", "7 restart_syscall(<... resuming interrupted nanosleep ...>) = 0\n", (1, 0, 0, 0, 0));
    check("a debugging tracer", "7 brk(0 [wait(0x057f) = 7] WIFSTOPPED,sig=SIGTRAP\n", (0, 0, 0, 0, 1));
}

#[test]
fn signals_and_ends() {
    let text = "7 --- SIGSEGV {si_signo=SIGSEGV, si_addr=0x38} ---\n7 --- SIGSEGV (Segmentation fault) @ 0 (0) ---\n\
                7 --- stopped by SIGSTOP ---\n7 +++ killed by SIGSEGV (core dumped) +++\n8 +++ exited with 0 +++\n\
                9 +++ superseded by execve in pid 7 +++\n7 --- SIG\n7 +++ what +++\n";
    check("signals", text, (0, 0, 3, 3, 2));
    let trace = trace("7 --- SIGCHLD {si_signo=SIGCHLD, si_status=0} ---\n");
    assert_eq!(trace.args(&trace.events[0]), "{si_signo=SIGCHLD, si_status=0}");
}

#[test]
fn two_records_on_one_line_are_two() {
    for (line, expected) in [
        ("7 close(3) = 0 <0.000010>8 close(4) = 0 <0.000010>", (2, 0, 0, 0, 0)),
        ("7 read(3,  <unfinished ...>[pid 8] close(4) = 0", (1, 1, 0, 0, 0)),
        ("7 read(3,  <unfinished ...>strace: Process 9 attached", (0, 1, 0, 0, 0)),
        ("[ Process PID=7 runs in 32 bit mode. ]close(4) = 0", (1, 0, 0, 0, 0)),
        ("7 +++ exited with 0 +++8 +++ exited with 0 +++", (0, 0, 0, 2, 0)),
        ("7 close(3) = 0 what is this", (1, 0, 0, 0, 0)),
    ] {
        check(line, &format!("{line}\n"), expected);
    }
    let trace = trace("7 close(3) = 0 what is this\n7 +++ exited with 0 +++\n");
    assert_eq!(trace.incomplete, [Incomplete::Unread], "what stands behind a call is not passed over");
}

/// A thread may be named as strace's own mark, a file as a whole line.
#[test]
fn no_name_forges_a_mark() {
    check("a thread's name", "7 kill(8<unfinished ...>, SIGTERM) = 0\n", (1, 0, 0, 0, 0));
    check("a file's name", "7 close(3</tmp/ \\74unfinished ...\\76) = 0>) = 0\n", (1, 0, 0, 0, 0));
    check("a string", "7 write(1, \" <unfinished ...>\", 17) = 17\n", (1, 0, 0, 0, 0));
    check(
        "a socket's name",
        "7 read(3<UNIX-STREAM:[1->2,\" <unfinished ...>\"]>, \"\", 1) = 0\n",
        (1, 0, 0, 0, 0),
    );
}

#[test]
fn what_is_no_trace_gives_notes() {
    let text = "int main(void) {\n  printf(\"%d\", 3);\n}\n$ strace -f ls\nE execve(0x7f, [ls]) = 0\n\
                [   44.98][   T40] eth0: link up\n<html>\n% not a table\n= 3\n";
    let trace = trace(text);
    assert_eq!(trace.events.len(), 0, "{:?}", trace.events);
    assert_eq!(trace.notes.len(), text.lines().count());
    assert!(trace.incomplete.contains(&Incomplete::Unread));
}

#[test]
fn frames_and_dumps_belong_to_their_call_and_frames_are_not_trusted() {
    let text = "7 read(3, \"hello\", 5) = 5\n | 00000  68 65 6c 6c 6f                                    hello            |\n\
                 \u{20}> /usr/lib/libc.so.6(read+0x10) [0x1144a0]\n7 +++ exited with 0 +++\n";
    check("frames and dumps", text, (1, 0, 0, 1, 2));
    assert_eq!(trace(text).incomplete, [Incomplete::Frames]);
    let dumped = "7 writev(1, [{iov_base=\"a\", iov_len=1}], 1) = 1\n * 1 bytes in buffer 0\n \
                  | 00000  61                                                a                |\n7 +++ exited with 0 +++\n";
    assert!(trace(dumped).is_complete());
}

#[test]
fn a_summary_table_is_read_as_a_table() {
    let text = "% time     seconds  usecs/call     calls    errors syscall\n\
                ------ ----------- ----------- --------- --------- ----------------\n \
                60.00    0.000600          60        10         2 openat\n \
                40.00    0.000400         100         4           read\n\
                ------ ----------- ----------- --------- --------- ----------------\n\
                100.00    0.001000          71        14         2 total\n7 close(3) = 0\n";
    let trace = trace(text);
    nothing_is_lost(&trace);
    let rows: Vec<_> =
        trace.summary.iter().map(|row| (row.name.as_str(), row.calls, row.errors, row.seconds)).collect();
    assert_eq!(rows, [("openat", 10, 2, 0.0006), ("read", 4, 0, 0.0004)]);
    assert_eq!(trace.events.len(), 1, "calls may follow a table");
    assert!(!trace.incomplete.contains(&Incomplete::Unread));
}

#[test]
fn argument_names_change_nothing() {
    let plain = trace("7 openat(AT_FDCWD</x>, \"/a\", O_RDONLY) = 3</a>\n7 read(3</a>, \"b\", 1) = 1\n");
    let named = trace(
        "7 openat(dirfd=AT_FDCWD</x>, pathname=\"/a\", flags=O_RDONLY) = 3</a>\n7 read(fd=3</a>, buf=\"b\", count=1) = 1\n",
    );
    for (plain_event, named_event) in plain.events.iter().zip(&named.events) {
        assert_eq!(plain.details(plain_event), named.details(named_event));
        assert_eq!((plain_event.fd(), plain_event.serial()), (named_event.fd(), named_event.serial()));
    }
}

/// Since strace 6.16 the comma between two halves' arguments stands in the second half.
#[test]
fn both_ways_to_split_arguments_say_the_same() {
    let old = trace("7 read(3</a>,  <unfinished ...>\n7 <... read resumed>\"abc\", 10) = 3\n");
    let new = trace("7 read(3</a> <unfinished ...>\n7 <... read resumed>, \"abc\", 10) = 3\n");
    for trace in [&old, &new] {
        let details = trace.details(&trace.events[0]);
        assert_eq!((details.data.as_deref(), details.real.as_deref()), (Some("abc"), Some("/a")));
        assert_eq!(trace.args(&trace.events[0]).replace(" ", ""), "3</a>,\"abc\",10");
    }
}

#[test]
fn files_of_single_threads_become_one_text() {
    let main =
        "1796068214.000100 clone(flags=CLONE_VM|CLONE_THREAD) = 8\n1796068214.000400 +++ exited with 0 +++\n";
    let worker = "1796068214.000200 close(3) = 0\n\n1796068214.000300 +++ exited with 0 +++";
    let merged = String::from_utf8(merge(&[(7, main.as_bytes()), (8, worker.as_bytes())])).unwrap();
    let tids: Vec<&str> = merged.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(tids, ["7", "8", "8", "8", "7"]);
    let trace = trace(&merged);
    assert_eq!((trace.threads.len(), trace.threads[1].pid), (2, 7));
    assert_eq!(trace.events.len(), 4);
}

/// A hole of zero bytes is what a file looks like that somebody else wrote into.
#[test]
fn bytes_never_written_are_not_trusted() {
    let trace = trace("\0\0\0\x007 close(3) = 0\n7 +++ exited with 0 +++\n");
    assert_eq!(trace.events.len(), 2);
    assert_eq!(trace.incomplete, [Incomplete::Unread]);
}

/// To a terminal strace names a thread only while it traces more than one, and its own remarks stand
/// in the middle of lines.
#[test]
fn lines_without_a_thread_are_of_the_one_that_lives() {
    let text = "execve(\"/x\", [\"x\"], 0x7 /* 3 vars */) = 0\nopenat(AT_FDCWD, \"/a\", O_RDONLY) = 3</a>\n\
                clone(child_stack=NULL, flags=SIGCHLDstrace: Process 22 attached\n <unfinished ...>\n\
                [pid    22] read(3</a>,  <unfinished ...>\n[pid    21] <... clone resumed>) = 22\n\
                [pid    22] <... read resumed>\"\", 1) = 0\n[pid    21] wait4(-1,  <unfinished ...>\n\
                [pid    22] +++ exited with 0 +++\n<... wait4 resumed>NULL, 0, NULL) = 22\nclose(3</a>) = 0\n+++ exited with 0 +++\n";
    let trace = trace(text);
    nothing_is_lost(&trace);
    assert!(trace.is_complete(), "{:?} {:?}", trace.incomplete, trace.notes);
    let threads: Vec<_> = trace.threads.iter().map(|t| (t.tid, t.pid, t.parent_tid, t.ended)).collect();
    assert_eq!(threads, [(21, 21, None, true), (22, 22, Some(21), true)]);
    assert!(trace.events.iter().all(|event| event.tid > 0 && event.complete));
    let lives: Vec<_> = trace.fds.iter().map(|life| (life.pid, life.tid)).collect();
    assert_eq!(lives, [(21, Some(21)), (22, Some(21))]);
}

/// The tracer's remark on a new thread may break the line of the call that makes it: the rest follows on
/// a line of its own.
#[test]
fn a_line_that_was_broken_goes_on() {
    let text = "[pid 7] clone(child_stack=NULL, flags=SIGCHLDstrace: Process 8 attached\n, child_tidptr=0x1) = 8 <0.000010>\n\
                [pid 8] close(3) = 0\n[pid 8] +++ exited with 0 +++\n+++ exited with 0 +++\n";
    let trace = trace(text);
    nothing_is_lost(&trace);
    assert!(trace.is_complete(), "{:?} {:?}", trace.incomplete, trace.notes);
    assert_eq!(trace.args(&trace.events[0]), "child_stack=NULL, flags=SIGCHLD, child_tidptr=0x1");
    assert_eq!((trace.threads[1].pid, trace.threads[1].parent_tid), (8, Some(7)));
    // Whatever comes later is no rest of it.
    let later = parse(text.replace("attached\n", "attached\n\n").as_bytes(), &Options::default());
    assert!(later.incomplete.contains(&Incomplete::Unread));
}

/// A summary counts what the whole model counts, thread by thread.
#[test]
fn summaries_agree_with_the_model() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        let trace = parse(&text, &Options::default());
        let mut summarizer = strace::Summarizer::new(None);
        text.chunks(1000).for_each(|chunk| summarizer.push(chunk));
        let summary = summarizer.finish();
        let of = |role: strace::Role| trace.threads.iter().filter(|thread| thread.role == role).count();
        for role in &summary.roles {
            // A summary does without the rule on machine code, and may not see the newest threads.
            assert_eq!(role.threads as usize, of(role.role), "{:?}", role.role);
        }
        let returned = |event: &&strace::Event| event.kind == EventKind::Syscall && event.complete;
        let calls: u64 = summary.calls.iter().map(|call| call.sums.calls).sum();
        assert_eq!(calls as usize, trace.events.iter().filter(returned).count());
        let time: i64 = summary.calls.iter().map(|call| call.sums.time_ns).sum();
        assert_eq!(time, trace.events.iter().filter(returned).filter_map(strace::Event::dur_ns).sum::<i64>());
    }
}
