//! Reads a trace as it arrives, for what the sandbox itself must know: that the main tracee has
//! ended, and that a disk was full. Everything else is the parser's.
//!
//! A line is `PID SECONDS.NANOSECONDS EVENT`. A tracee cannot start a line of its own, and strace
//! puts quotes around what a tracee chose; only the start of an event and the end of a line, which
//! strace alone writes, are looked at.

use std::time::Duration;

use memchr::memchr;

/// Of a line that is still arriving: more than this is cut in its middle.
const LINE_MAX: usize = 8 * 1024;
const LINE_ENDS: usize = 1024;

/// How the main tracee ended, by the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MainEnd {
    Exited(i32),
    /// Name of the signal.
    Killed(String),
}

#[derive(Debug, Default)]
pub(crate) struct Scan {
    partial: Vec<u8>,
    /// Pid of the first line, with the time it bears.
    main: Option<(Vec<u8>, Duration)>,
    end: Option<(MainEnd, Duration)>,
    disk_full: bool,
}

impl Scan {
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..at], &bytes[at + 1..]);
            if self.partial.is_empty() {
                self.line(line);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.line(&whole);
            }
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > LINE_MAX {
            self.partial.drain(LINE_ENDS..self.partial.len() - LINE_ENDS);
        }
    }

    /// Whether strace has written anything, so that the program was started.
    pub(crate) fn started(&self) -> bool {
        self.main.is_some()
    }

    pub(crate) fn main_end(&self) -> Option<&MainEnd> {
        self.end.as_ref().map(|(end, _)| end)
    }

    /// From the first line to the main tracee's end.
    pub(crate) fn wall(&self) -> Option<Duration> {
        let (_, from) = self.main.as_ref()?;
        let (_, to) = self.end.as_ref()?;
        to.checked_sub(*from)
    }

    /// Whether a call failed because a writable place was full.
    pub(crate) fn disk_full(&self) -> bool {
        self.disk_full
    }

    fn line(&mut self, line: &[u8]) {
        let Some((pid, time, event)) = leader(line) else { return };
        let (main, _) = self.main.get_or_insert_with(|| (pid.to_vec(), time));
        if event.starts_with(b"+++ ") {
            if pid == main.as_slice() && self.end.is_none() {
                // The first end only: a pid may be used again.
                self.end = main_end(event).map(|end| (end, time));
            }
        } else if !event.starts_with(b"inotify_add_watch(") && !event.starts_with(b"epoll_ctl(") {
            // There, ENOSPC means the user's limit on watches.
            self.disk_full |= without_duration(line).ends_with(b"= -1 ENOSPC (No space left on device)");
        }
    }
}

fn leader(line: &[u8]) -> Option<(&[u8], Duration, &[u8])> {
    let (pid, rest) = split_space(line)?;
    let (time, event) = split_space(rest.trim_ascii_start())?;
    let (seconds, nanos) = std::str::from_utf8(time).ok()?.split_once('.')?;
    let time = Duration::new(seconds.parse().ok()?, nanos.parse().ok()?);
    Some((pid, time, event))
}

fn split_space(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr(b' ', bytes)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn main_end(event: &[u8]) -> Option<MainEnd> {
    let text = std::str::from_utf8(event).ok()?;
    if let Some(code) = text.strip_prefix("+++ exited with ") {
        return Some(MainEnd::Exited(code.strip_suffix(" +++")?.parse().ok()?));
    }
    let signal = text.strip_prefix("+++ killed by ")?.split(' ').next()?;
    Some(MainEnd::Killed(signal.to_owned()))
}

/// The line without ` <0.000012345>` at its end.
fn without_duration(line: &[u8]) -> &[u8] {
    let Some(rest) = line.strip_suffix(b">") else { return line };
    let digits = |b: &u8| b.is_ascii_digit() || *b == b'.';
    let kept = rest.len() - rest.iter().rev().take_while(|b| digits(b)).count();
    rest[..kept].strip_suffix(b" <").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str, chunk: usize) -> Scan {
        let mut scan = Scan::default();
        for piece in text.as_bytes().chunks(chunk) {
            scan.push(piece);
        }
        scan
    }

    const EXITED: &str = "12    1796076416.500000000 execve(\"/usr/local/bin/node\", [\"node\"], 0x1 /* 2 vars */) = 0 <0.000349933>\n\
        13    1796076416.600000000 +++ exited with 9 +++\n\
        12    1796076416.700000000 write(1<pipe:[7]>, \"12 1.1 +++ exited with 3 +++\\n\", 29) = 29 <0.000000001>\n\
        12    1796076418.750000001 +++ exited with 7 +++\n";

    #[test]
    fn the_main_tracees_end_is_found_however_the_bytes_arrive() {
        for chunk in [1, 7, 4096] {
            let scan = scan(EXITED, chunk);
            assert_eq!(scan.main_end(), Some(&MainEnd::Exited(7)), "chunks of {chunk}");
            assert_eq!(scan.wall(), Some(Duration::new(2, 250_000_001)));
            assert!(!scan.disk_full());
        }
    }

    #[test]
    fn a_killing_signal_is_named() {
        let killed = "12    1796076416.5 execve(...) = 0\n12    1796076416.6 +++ killed by SIGABRT (core dumped) +++\n";
        assert_eq!(scan(killed, 10).main_end(), Some(&MainEnd::Killed("SIGABRT".into())));
    }

    #[test]
    fn a_full_disk_is_what_strace_says_not_what_a_tracee_writes() {
        let line = |event: &str| format!("12    1796076416.5 {event}\n");
        let full = "= -1 ENOSPC (No space left on device)";
        for (event, expected) in [
            (format!("write(3</lab/a>, \"x\", 1) {full} <0.000012345>"), true),
            (format!("write(3</lab/a>, \"x\", 1) {full}"), true),
            (format!("write(1, \"{full}\", 40) = 40 <0.000012345>"), false),
            (format!("inotify_add_watch(3, \"/lab\", IN_CREATE) {full} <0.000012345>"), false),
            (format!("epoll_ctl(3, EPOLL_CTL_ADD, 4, {{}}) {full} <0.000012345>"), false),
        ] {
            assert_eq!(scan(&line(&event), 64).disk_full(), expected, "{event}");
        }
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut scan = Scan::default();
        scan.push(b"12    1796076416.5 poll([");
        for _ in 0..10_000 {
            scan.push(&[b'x'; 1024]);
        }
        assert!(scan.partial.len() <= LINE_MAX);
        scan.push(
            b"]) = -1 ENOSPC (No space left on device) <0.1>\n12    1796076416.9 +++ exited with 0 +++\n",
        );
        assert!(scan.disk_full());
        assert_eq!(scan.main_end(), Some(&MainEnd::Exited(0)));
    }
}
