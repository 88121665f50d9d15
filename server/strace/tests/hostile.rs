//! No bytes make the parser fail, and every answer about what it read is within bounds.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use strace::{Options, Parser, Trace, parse};

fn sound(trace: &Trace) {
    let count = u32::try_from(trace.events.len()).unwrap();
    for event in &trace.events {
        assert!(event.line >= 1 && event.end_line <= trace.lines() && event.line <= event.end_line);
        assert!((event.thread as usize) < trace.threads.len());
        assert!(event.serial().is_none_or(|serial| (serial as usize) < trace.fds.len()));
        let _ = (
            trace.name(event),
            trace.args(event),
            trace.errno(event),
            trace.details(event),
            trace.signal(event),
        );
    }
    for lifetime in &trace.fds {
        assert!(lifetime.opened.is_none_or(|event| event < count));
        assert!(lifetime.closed.is_none_or(|event| event < count));
    }
    assert!(trace.notes.iter().all(|note| note.line <= trace.lines()));
    assert!((0..=trace.lines() + 1).all(|line| trace.line(line).len() <= trace.text().len() * 3));
}

/// Pieces that strace prints, so that random texts come close to real ones.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "12 ",
        "[pid 7] ",
        "1796068214.502267 ",
        "09:10:11.5 ",
        "(+     0.000012) ",
        "openat(",
        "AT_FDCWD</lab>, ",
        "\"/etc/x\\n\"...",
        "3</a\\76>",
        "<unfinished ...>",
        "<... openat resumed>",
        ") = ",
        "3</a>",
        "-1 ENOENT (No)",
        " <0.000010>",
        "\n",
        "\r\n",
        "{",
        "}",
        "[",
        "]",
        "'x'",
        "/* ",
        " */",
        "<<",
        "TCP:[1->2]>",
        "?",
        "0x1f",
        "\\",
        "\"",
        "<",
        ">",
        "+++ exited with 0 +++\n",
        "+++ killed by SIGKILL +++\n",
        "--- SIGTERM {si_signo=SIGTERM} ---\n",
        "<pid changed to 9 ...>\n",
        "+++ superseded by execve in pid 9 +++\n",
        "clone(flags=CLONE_THREAD",
        "close(3",
        "epoll_ctl(5, EPOLL_CTL_ADD, 3, {events=EPOLLIN})",
        "pipe2([3, 4], 0) = 0\n",
        "99999999999999999999",
    ];
    prop_oneof![
        6 => prop::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ]
}

proptest! {
    #[test]
    fn any_bytes_parse(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        sound(&parse(&bytes, &Options::default()));
    }

    #[test]
    fn any_mixture_of_real_pieces_parses(pieces in prop::collection::vec(piece(), 0..200)) {
        let options = Options { entry: Some("/etc/x\n".into()), ..Options::default() };
        sound(&parse(&pieces.concat(), &options));
    }

    #[test]
    fn chunks_never_matter(pieces in prop::collection::vec(piece(), 0..80), size in 1usize..40) {
        let text = pieces.concat();
        let mut parser = Parser::new(Options::default());
        text.chunks(size).for_each(|chunk| parser.push(chunk));
        let (chunked, whole) = (parser.finish(), parse(&text, &Options::default()));
        prop_assert_eq!(format!("{:?}", chunked.events), format!("{:?}", whole.events));
        prop_assert_eq!(chunked.notes, whole.notes);
    }
}

#[test]
fn caps_keep_what_was_read_and_say_so() {
    let line = "7 1.0 close(3) = 0 <0.1>\n".repeat(100);
    let capped = |limits: strace::Limits| parse(line.as_bytes(), &Options { limits, ..Options::default() });
    for (limits, events) in [
        (strace::Limits { bytes: 250, ..strace::Limits::default() }, 10),
        (strace::Limits { events: 5, ..strace::Limits::default() }, 5),
    ] {
        let trace = capped(limits);
        assert_eq!(trace.events.len(), events);
        assert!(trace.incomplete.contains(&strace::Incomplete::Capped));
        sound(&trace);
    }
    let long = format!("7 write(1, \"{}\", 9) = 9\n7 close(1) = 0\n", "a".repeat(500));
    let limits = strace::Limits { line_bytes: 100, ..strace::Limits::default() };
    let trace = parse(long.as_bytes(), &Options { limits, ..Options::default() });
    assert!(trace.incomplete.contains(&strace::Incomplete::Capped));
    assert_eq!(trace.lines(), 2, "the rest of a long line is skipped, not the lines after it");
    assert!(trace.events.iter().any(|event| trace.name(event) == "close"));
}
