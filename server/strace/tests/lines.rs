//! One line each of what strace can write, and of what a tracee can make it write.
#![allow(clippy::unwrap_used)]

use strace::{EventKind, Incomplete, Options, Trace, parse};

fn trace(text: &str) -> Trace {
    parse(text.as_bytes(), &Options::default())
}

/// `text` is one whole call of this name, with these arguments, value and error.
fn check(text: &str, name: &str, args: &str, ret: Option<i64>, errno: Option<&str>) {
    let trace = trace(text);
    assert_eq!(trace.events.len(), 1, "{text}: {:?}", trace.notes);
    let event = &trace.events[0];
    let got = (trace.name(event), trace.args(event).into_owned(), event.ret(), trace.errno(event));
    assert_eq!(got, (name, args.to_owned(), ret, errno), "{text}");
    assert!(event.complete, "{text}");
}

#[test]
fn leaders() {
    for (leader, tid, has_time) in [
        ("", 0, false),
        ("906   ", 906, false),
        ("[pid  2658] ", 2658, false),
        ("[pid 2658<node>] ", 2658, false),
        ("25708<forge> ", 25708, false),
        ("25708<x) = 0 \\0740.1\\76> ", 25708, false),
        ("34    1796068214.502267 ", 34, true),
        ("34    1796072259.117713734 ", 34, true),
        ("1796068214 ", 0, true),
        ("12:52:01 ", 0, true),
        ("7 12:52:01.283177 ", 7, true),
        ("7 20:37:49.050065 (+     0.000012) ", 7, true),
        ("     0.000008 ", 0, true),
    ] {
        let trace = trace(&format!("{leader}close(3) = 0 <0.000004>\n"));
        assert_eq!(trace.events.len(), 1, "{leader:?} {:?}", trace.notes);
        let event = &trace.events[0];
        assert_eq!(
            (event.tid, event.t_ns().is_some(), event.dur_ns()),
            (tid, has_time, Some(4000)),
            "{leader:?}"
        );
    }
}

#[test]
fn values() {
    for (text, ret, errno) in [
        ("0", Some(0), None),
        ("-1 ENOENT (No such file or directory)", Some(-1), Some("ENOENT")),
        ("0x7f3c5701d000", Some(0x7f3c_5701_d000), None),
        ("022", Some(0o22), None),
        ("18446744073709551488", Some(-128), None),
        ("?", None, None),
        ("? ERESTARTSYS (To be restarted if SA_RESTART is set)", None, Some("ERESTARTSYS")),
        ("? <unavailable>", None, None),
        ("-1 (errno 999)", Some(-1), Some("errno 999")),
        ("3</lab/a\\nb>", Some(3), None),
        ("3</lab/a>(deleted)", Some(3), None),
        ("0 (Timeout)", Some(0), None),
        ("1 ([{fd=4, revents=POLLOUT}])", Some(1), None),
        ("0x8000 (flags O_RDONLY|O_LARGEFILE)", Some(0x8000), None),
        ("-1 EIO (Input/output error) (INJECTED)", Some(-1), Some("EIO")),
        ("-1 ENOENT (そのようなファイルはありません)", Some(-1), Some("ENOENT")),
    ] {
        check(&format!("7 f(1) = {text}\n"), "f", "1", ret, errno);
        check(&format!("7 f(1)        = {text} <0.000123>\r\n"), "f", "1", ret, errno);
    }
}

/// Brackets, equals signs, markers and quotes that are somebody's data.
#[test]
fn arguments_end_where_strace_ends_them() {
    for args in [
        "",
        r#"AT_FDCWD</tmp>, "x) = 3 <9.9>", O_RDONLY"#,
        r#"1, "12345 exit_group(0) = ?\n12345 +++ exited with 0 +++\n", 52"#,
        r#"1, " <unfinished ...>", 17"#,
        r#"1, "q\"uo)te\\", 9"#,
        r#"3</lab/) = 0 \0740.000001\76>"#,
        r#"6<UNIX-STREAM:[108214->108210,"/s)>]\n\"k) = 0"]>, 1"#,
        r#"7<UNIX:[108218,@"abs>]>"]>"#,
        "5<TCP:[127.0.0.1:43564->127.0.0.1:33309]>, 1",
        "5<TCPv6:[[::1]:80->[::1]:90]>, 1",
        "1</dev/null<char 1:3>>, 1",
        "[{WIFEXITED(s) && WEXITSTATUS(s) == 7}], 0",
        "[{diacr='(', base=')', result='*'}, {diacr='\"', base='\\''}]",
        "1<<CAP_DAC_OVERRIDE|1<<CAP_WAKE_ALARM",
        "130 /* QCMD(Q_SYNC, 0xff /* ???QUOTA */) */, NULL",
        r#"{call="\x58"} /* ,}]"'-5 */, 3"#,
        "~[RTMIN RT_1], [INT CHLD], {a=[1, 2], b={...}}",
        "6<{eventfd-count=0x3, eventfd-id=1, eventfd-semaphore=0}>, 1",
        "-1, 4294967294",
    ] {
        check(&format!("7 f({args}) = 0 <0.000001>\n"), "f", args, Some(0), None);
    }
}

#[test]
fn halves_are_joined_per_thread() {
    let trace = trace(
        "1 10.0 statx(17</a>, \"\", AT_EMPTY_PATH,  <unfinished ...>\n\
         2 10.1 close(4 <unfinished ...>\n\
         1 10.2 <... statx resumed>{stx_mode=S_IFREG, (x)}) = 0 <0.200000>\n\
         2 10.3 <... close resumed> ) = -1 EBADF (Bad file descriptor) <0.2>\n\
         1 10.4 +++ exited with 0 +++\n2 10.4 +++ exited with 0 +++\n",
    );
    let calls: Vec<_> = trace.events.iter().filter(|e| e.kind == EventKind::Syscall).collect();
    assert_eq!(calls.iter().map(|e| (e.line, e.end_line)).collect::<Vec<_>>(), [(1, 3), (2, 4)]);
    assert!(trace.args(calls[0]).ends_with("AT_EMPTY_PATH,{stx_mode=S_IFREG, (x)}"));
    assert_eq!(trace.errno(calls[1]), Some("EBADF"));
    assert!(trace.is_complete(), "{:?}", trace.incomplete);
}

#[test]
fn a_second_half_may_begin_inside_a_structure() {
    let trace = trace(
        "1 clone3({flags=CLONE_VM|CLONE_THREAD, child_tid=0x7 <unfinished ...>\n\
         2 prctl(PR_SET_NAME, \"w\") = 0\n\
         1 <... clone3 resumed>, exit_signal=0} => {parent_tid=[2]}, 88) = 2\n\
         2 +++ exited with 0 +++\n1 +++ exited with 0 +++\n",
    );
    assert_eq!(trace.threads.len(), 2);
    assert_eq!((trace.threads[1].pid, trace.threads[1].parent_tid), (1, Some(1)));
    assert!(trace.is_complete(), "{:?}", trace.incomplete);
}

#[test]
fn death_inside_a_call_explains_its_missing_half() {
    let trace = trace(
        "1 read(0 <unfinished ...>\n2 futex(0x1, FUTEX_WAIT <unfinished ...>\n1 <... read resumed> <unfinished ...>) = ?\n\
         2 +++ killed by SIGKILL +++\n1 +++ killed by SIGKILL (core dumped) +++\n",
    );
    assert!(trace.is_complete(), "{:?}", trace.incomplete);
    let end = trace.events.last().unwrap();
    assert_eq!((trace.name(end), trace.signal(end)), ("killed", Some("SIGKILL")));
}

#[test]
fn execve_from_another_thread_goes_on_under_the_leader() {
    let trace = trace(
        "30 execve(\"/x\", [\"x\"], 0x7 /* 3 vars */ <pid changed to 20 ...>\n\
         20 +++ superseded by execve in pid 30 +++\n20 <... execve resumed>) = 0 <0.000244>\n20 +++ exited with 0 +++\n",
    );
    let execve = &trace.events[0];
    assert_eq!((execve.complete, execve.ret(), execve.end_line), (true, Some(0), 3));
}

#[test]
fn what_is_missing_is_named() {
    for (text, reason) in [
        ("", Incomplete::Empty),
        ("1 close(3) = 0\n", Incomplete::EndMissing),
        ("1 kill(7, SIGKILL", Incomplete::EndMissing),
        ("2 close(3 <unfinished ...>\n1 +++ exited with 0 +++\n", Incomplete::HalfMissing),
        ("1 <... read resumed>\"\", 1) = 0\n1 +++ exited with 0 +++\n", Incomplete::HeadMissing),
        ("1 clone(flags=CLONE_UNTRACED|SIGCHLD) = 9\n1 +++ exited with 0 +++\n", Incomplete::Untraced),
        ("1 read(3 <detached ...>\n", Incomplete::Detached),
        ("what is this\n1 +++ exited with 0 +++\n", Incomplete::Unread),
    ] {
        assert!(trace(text).incomplete.contains(&reason), "{text:?}: {:?}", trace(text).incomplete);
    }
    let refused = trace(
        "1 clone(flags=CLONE_UNTRACED) = -1 EPERM (Operation not permitted)\n1 +++ exited with 0 +++\n",
    );
    assert!(refused.is_complete(), "a refused clone made no process");
    let options = Options { entry: Some("/lab/read.js".into()), ..Options::default() };
    let boot = parse(b"1 close(3) = 0\n1 +++ exited with 0 +++\n", &options);
    assert_eq!(boot.incomplete, [Incomplete::NeverLeftBoot]);
}

#[test]
fn details_are_decoded_and_cannot_be_forged_by_data() {
    let text = "1 openat(AT_FDCWD</lab>, \"/etc/\\343\\201\\202\", O_RDONLY) = 3</usr/\\343\\201\\202>\n\
         1 write(1</a>, \"{sa_family=AF_INET, sin_port=htons(1), sin_addr=inet_addr(\\\"9.9.9.9\\\")}\", 9) = 9\n\
         1 connect(4<TCP:[1]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"192.0.2.4\")}, 16) = 0\n\
         1 read(4<TCP:[10.0.0.1:9->192.0.2.4:80]>, \"ok\", 2) = 2\n\
         1 connect(5, {sa_family=AF_INET6, sin6_port=htons(81), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, \"::1\", &sin6_addr), sin6_scope_id=0}, 28) = 0\n\
         1 connect(6, {sa_family=AF_UNIX, sun_path=@\"abs\"}, 12) = 0\n";
    let trace = trace(text);
    let details: Vec<_> = trace.events.iter().map(|event| trace.details(event)).collect();
    assert_eq!((details[0].path.as_deref(), details[0].real.as_deref()), (Some("/etc/あ"), Some("/usr/あ")));
    assert_eq!((&details[1].family, &details[1].remote, details[1].bytes), (&None, &None, Some(9)));
    assert_eq!((details[2].family, details[2].remote.as_deref()), (Some("AF_INET"), Some("192.0.2.4:80")));
    assert_eq!(details[3].remote.as_deref(), Some("192.0.2.4:80"));
    assert_eq!(details[4].remote.as_deref(), Some("[::1]:81"));
    assert_eq!(details[5].remote.as_deref(), Some("abs"));
}

/// A close that strace prints after the open that got its number again ends the older lifetime.
#[test]
fn lifetimes_do_not_cross() {
    let trace = trace(
        "1 1796068214.000000 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3</a> <0.000010>\n\
         2 1796068214.000200 openat(AT_FDCWD, \"/b\", O_RDONLY) = 3</b> <0.000010>\n\
         1 1796068214.000100 close(3</a>) = 0 <0.000050>\n\
         2 1796068214.000300 read(3</b>, \"\", 1) = 0 <0.000010>\n\
         2 1796068214.000400 close(3</b>) = 0 <0.000010>\n",
    );
    // Two processes have two tables; the same two calls in one process share one.
    assert_eq!(trace.fds.iter().filter(|fd| trace.fd_path(fd).as_deref() == Some("/b")).count(), 1);
    let text = "1 clone(flags=CLONE_THREAD) = 2\n";
    let one = parse(&[text.as_bytes(), trace.text()].concat(), &Options::default());
    let paths: Vec<_> =
        one.fds.iter().map(|fd| (one.fd_path(fd).unwrap().into_owned(), fd.closed.is_some())).collect();
    assert_eq!(paths, [("/a".to_owned(), true), ("/b".to_owned(), true)]);
    let serials: Vec<_> = one.events.iter().filter_map(|event| event.serial()).collect();
    assert_eq!(serials, [0, 1, 0, 1, 1]);
}

#[test]
fn what_strace_says_of_itself_is_no_event() {
    let trace = trace(
        "strace: Process 22 attached\n[ Process PID=3 runs in 32 bit mode. ]\n\n1 +++ exited with 3 +++\n",
    );
    assert_eq!(trace.events.len(), 1);
    assert_eq!(trace.events[0].ret(), Some(3));
    assert_eq!(trace.notes.iter().map(|note| note.line).collect::<Vec<_>>(), [1, 2], "each is accounted for");
    assert!(trace.is_complete());
}

/// A hundred thousand marks are a learner's loop, not a reason to think for minutes.
#[test]
fn marks_are_bounded() {
    let lines: String = (0..100_000)
        .map(|n| format!("1 access(\"/__mark__/m{n}\", F_OK) = -1 ENOENT (No such file or directory)\n"))
        .collect();
    let trace = trace(&(lines + "1 +++ exited with 0 +++\n"));
    assert_eq!(trace.marks.len(), 1000);
    assert!(trace.notes.iter().any(|note| note.text.contains("1000 marks")));
    assert!(trace.is_complete());
}

const POOL_CLONE: &str = "clone(flags=CLONE_VM|CLONE_THREAD)";

fn pool(text: &str) -> usize {
    trace(text).threads.iter().filter(|thread| thread.role == strace::Role::LibuvWorker).count()
}

/// A signal between two clones is nothing that the parent does.
#[test]
fn a_signal_does_not_split_the_pool() {
    let text = format!(
        "1 {POOL_CLONE} = 2\n1 --- SIGPROF {{si_signo=SIGPROF}} ---\n1 {POOL_CLONE} = 3\n\
         3 openat(AT_FDCWD, \"/x\", O_RDONLY) = 4\n1 +++ exited with 0 +++\n"
    );
    assert_eq!(pool(&text), 2);
}

/// Whichever thread of the process needs the pool first starts it.
#[test]
fn a_thread_of_the_runtime_may_start_the_pool() {
    let text = format!(
        "1 {POOL_CLONE} = 2\n2 epoll_create1(EPOLL_CLOEXEC) = 3\n2 {POOL_CLONE} = 4\n2 {POOL_CLONE} = 5\n\
         5 openat(AT_FDCWD, \"/x\", O_RDONLY) = 4\n1 +++ exited with 0 +++\n"
    );
    assert_eq!(pool(&text), 2);
}

/// Threads made after a script loaded machine code of its own prove nothing of libuv.
#[test]
fn machine_code_of_the_scripts_own_makes_no_pool() {
    let burst =
        format!("1 {POOL_CLONE} = 2\n1 {POOL_CLONE} = 3\n3 openat(AT_FDCWD, \"/x\", O_RDONLY) = 4</x>\n");
    let end = "1 +++ exited with 0 +++\n";
    for (line, workers) in [
        ("1 read(3</usr/lib/libc.so.6>, \"\\177ELF\\2\", 832) = 832\n", 2),
        ("1 write(3</lab/f.node>, \"\\177ELF\\2\", 832) = 832\n", 2),
        ("1 read(3</lab/f.node>, \"\\177ELF\\2\", 832) = 832\n", 0),
        ("1 read(3</memfd:x>(deleted), \"\\177ELF\\2\", 832) = 832\n", 0),
        ("1 openat(AT_FDCWD, \"/proc/self/mem\", O_RDONLY) = 3</proc/1/mem>\n", 2),
        ("1 openat(AT_FDCWD, \"/proc/self/mem\", O_RDWR|O_CLOEXEC) = 3</proc/1/mem>\n", 0),
    ] {
        assert_eq!(pool(&format!("{line}{burst}{end}")), workers, "{line}");
        assert_eq!(pool(&format!("{burst}{line}{end}")), 2, "a pool made before is a pool: {line}");
    }
}
