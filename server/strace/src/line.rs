//! One record of a line, taken apart by scanning left to right; offsets are into the line.

use memchr::memchr;

use crate::leader::seconds;
use crate::scan::{Stop, UNFINISHED, annotation_end, find, number, scan, spaces};

/// What a record says. Ranges are offsets into the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    /// A whole call.
    Call { name: &'a [u8], args: Range, ret: Ret<'a> },
    /// The first half of a call; `depth` brackets are open.
    Head { name: &'a [u8], args: Range, depth: u32, why: HeadEnd },
    /// The second half; its arguments are read when the first half's depth is known.
    Tail { name: &'a [u8], rest: usize },
    /// A signal or a group stop.
    Signal { name: &'a [u8], info: Range },
    /// `+++ exited with N +++`.
    Exited(i64),
    /// `+++ killed by SIG +++`.
    Killed { signal: Range },
    /// `+++ superseded by execve in pid N +++`.
    Superseded,
    /// Something that strace says of itself or adds to a call: no event, and what it is.
    Remark(Remark),
    /// Not understood, and why.
    Unread(&'static str),
}

type Range = (usize, usize);

/// Lines that are no events and nothing odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remark {
    /// Nothing stands there.
    Blank,
    /// `strace: ...`, `Process N attached`.
    Banner,
    /// `[ Process PID=N runs in 32 bit mode. ]`.
    Personality,
    /// A stack frame (`-k`).
    Frame,
    /// A line of a hex dump (`-e read=`, `-e write=`).
    Dump,
    /// `<unfinished ...>` or `<detached ...>` alone: whatever came between broke the line.
    Marker { detached: bool },
}

impl Remark {
    /// Words for a note; none for a blank line.
    pub(crate) const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Blank => None,
            Self::Banner => Some("a remark of the tracer on its own work"),
            Self::Personality => Some("a remark of the tracer on a process's system call table"),
            Self::Frame => Some("a stack frame of the call above"),
            Self::Dump => Some("a hex dump that belongs to the call above"),
            Self::Marker { .. } => Some("only the end mark of a call begun above"),
        }
    }
}

/// Why a call has no end on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadEnd {
    /// `<unfinished ...>`: another thread's line comes between.
    Unfinished,
    /// `<pid changed to N ...>`: `execve` from another thread than the leader.
    PidChanged(u32),
    /// `<detached ...>`: strace let go.
    Detached,
    /// The line simply ends.
    Cut,
}

/// What a call returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ret<'a> {
    pub(crate) value: Option<i64>,
    pub(crate) errno: Option<&'a [u8]>,
    /// Inside of `<...>` behind the value, as offsets into the line.
    pub(crate) note: Range,
    pub(crate) dur_ns: Option<i64>,
}

/// Reads the record that starts at `at`; the second value is the offset behind it.
pub(crate) fn body(line: &[u8], at: usize) -> (Body<'_>, usize) {
    let text = &line[at..];
    match text.first() {
        None => (Body::Remark(Remark::Blank), at),
        Some(b'a'..=b'z' | b'_' | b'?') => call(line, at),
        Some(b'<') => tail(line, at),
        Some(b'-') if text.starts_with(b"--- ") => signal(line, at),
        Some(b'+') if text.starts_with(b"+++ ") => end_of_thread(line, at),
        Some(b'P') if is_attach(text) => (Body::Remark(Remark::Banner), line.len()),
        Some(b'[') if text.starts_with(b"[ Process PID=") => {
            let end = memchr(b']', text).map_or(line.len(), |close| at + close + 1);
            (Body::Remark(Remark::Personality), end)
        }
        Some(b'>') if text.starts_with(b"> ") => (Body::Remark(Remark::Frame), line.len()),
        Some(b'|') if is_dump(text) => (Body::Remark(Remark::Dump), line.len()),
        Some(b'*') if text.starts_with(b"* ") && contains(text, b" bytes in buffer ") => {
            (Body::Remark(Remark::Dump), line.len())
        }
        Some(b'=') if contains(text, b" buffers in vector ") => (Body::Remark(Remark::Dump), line.len()),
        Some(b')') => (Body::Unread("this is the end of a call whose beginning does not stand here"), at),
        Some(_) => (Body::Unread(NO_RECORD), at),
    }
}

const NO_RECORD: &str = "this is no call, signal or end of a thread";

/// Reads what follows a second half's `resumed>` from `rest` on, `depth` brackets deep.
pub(crate) fn tail_end(line: &[u8], rest: usize, depth: u32) -> Option<(Range, Ret<'_>, usize)> {
    let (args_end, close) = match scan(line, rest, depth) {
        Stop::Closed(close) => (close, close),
        Stop::Unfinished { at, .. } => (trimmed(line, rest, at), dead_end(line, at)?),
        Stop::End { .. } => return None,
    };
    let (ret, end) = ret(line, close + 1)?;
    Some(((rest, args_end), ret, end))
}

/// A thread that dies inside a call leaves `<unfinished ...>` before the bracket that closes it.
fn dead_end(line: &[u8], marker: usize) -> Option<usize> {
    let close = marker + UNFINISHED.len();
    (line.get(close) == Some(&b')')).then_some(close)
}

/// The end of `line[start..end]` without blanks.
fn trimmed(line: &[u8], start: usize, end: usize) -> usize {
    start + line[start..end].trim_ascii_end().len()
}

fn call(line: &[u8], at: usize) -> (Body<'_>, usize) {
    if line[at..].starts_with(b"strace: ") {
        return (Body::Remark(Remark::Banner), line.len());
    }
    let mut name_end = at;
    while line.get(name_end).is_some_and(|byte| is_name(*byte)) {
        name_end += 1;
    }
    if name_end == at && line[at..].starts_with(b"???(") {
        name_end = at + 3;
    }
    if name_end == at || line.get(name_end) != Some(&b'(') {
        return (Body::Unread(NO_RECORD), at);
    }
    let (name, start) = (&line[at..name_end], name_end + 1);
    let head = |args_end, depth, why, end| {
        (Body::Head { name, args: (start, trimmed(line, start, args_end)), depth, why }, end)
    };
    match scan(line, start, 1) {
        Stop::Closed(close) => match ret(line, close + 1) {
            Some((ret, end)) => (Body::Call { name, args: (start, close), ret }, end),
            // The line was cut behind the bracket, or what stands there is of somebody else.
            None if spaces(line, close + 1) == line.len() => head(close, 1, HeadEnd::Cut, line.len()),
            None => (Body::Unread("no value stands behind this call"), at),
        },
        Stop::Unfinished { at: marker, depth } => {
            if let Some((ret, end)) = dead_end(line, marker).and_then(|close| ret(line, close + 1)) {
                let args = (start, trimmed(line, start, marker));
                return (Body::Call { name, args, ret }, end);
            }
            head(marker, depth, HeadEnd::Unfinished, marker + UNFINISHED.len())
        }
        Stop::End { depth } => {
            let (args_end, why) = open_end(line, start);
            if why == HeadEnd::Cut && find(&line[start..], b"[wait(0x").is_some() {
                return (Body::Unread("the tracer's own debugging (-d) stands inside this call"), at);
            }
            head(args_end, depth, why, line.len())
        }
    }
}

/// Why the arguments from `start` on do not end, and where they stop: a mark counts as the last
/// bytes of the line only.
fn open_end(line: &[u8], start: usize) -> (usize, HeadEnd) {
    let text = &line[start..];
    if let Some(args) = text.strip_suffix(b"<detached ...>") {
        return (start + args.len(), HeadEnd::Detached);
    }
    const CHANGED: &[u8] = b"<pid changed to ";
    if let Some(before) = text.strip_suffix(b" ...>")
        && let Some(mark) = memchr::memmem::rfind(before, CHANGED)
        && let (Some(tid), end) = number(before, mark + CHANGED.len())
        && end == before.len()
    {
        return (start + mark, HeadEnd::PidChanged(u32::try_from(tid).unwrap_or(0)));
    }
    // On a terminal the tracer's remark on a new thread breaks the line that its maker's call stands on.
    let remark = memchr::memmem::rfind(text, b"strace: Process ").filter(|at| is_attach(&text[at + 8..]));
    (remark.map_or(line.len(), |at| start + at), HeadEnd::Cut)
}

fn tail(line: &[u8], at: usize) -> (Body<'_>, usize) {
    let text = &line[at..];
    if let Some(named) = text.strip_prefix(b"<... ") {
        let length =
            if named.starts_with(b"???") { 3 } else { named.iter().take_while(|b| is_name(**b)).count() };
        if length > 0 && named[length..].starts_with(b" resumed>") {
            return (Body::Tail { name: &named[..length], rest: at + 5 + length + 9 }, at);
        }
    }
    match text {
        UNFINISHED => (Body::Remark(Remark::Marker { detached: false }), line.len()),
        b"<detached ...>" => (Body::Remark(Remark::Marker { detached: true }), line.len()),
        _ => (Body::Unread(NO_RECORD), at),
    }
}

fn signal(line: &[u8], at: usize) -> (Body<'_>, usize) {
    const WHY: &str = "this begins like a signal and does not end like one";
    let start = at + 4;
    let stopped = line[start..].starts_with(b"stopped by ");
    let name_start = if stopped { start + 11 } else { start };
    let name_end = name_start
        + line[name_start..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let info = spaces(line, name_end);
    // The siginfo in braces, or the words that strace 4.6 and older used.
    let siginfo =
        if line.get(info) == Some(&b'{') { scan(line, info + 1, 1) } else { Stop::End { depth: 0 } };
    let close = match siginfo {
        Stop::Closed(close) => close + 1,
        _ if line[info..].starts_with(b"---") => info,
        _ => memchr::memmem::find(&line[info..], b" ---").map_or(info, |ahead| info + ahead),
    };
    let end = spaces(line, close);
    if name_end == name_start || !line[end..].starts_with(b"---") {
        return (Body::Unread(WHY), at);
    }
    let info = if stopped { (start, start) } else { (info, trimmed(line, info, close.max(info))) };
    (Body::Signal { name: &line[name_start..name_end], info }, end + 3)
}

fn end_of_thread(line: &[u8], at: usize) -> (Body<'_>, usize) {
    const WHY: &str = "this begins like the end of a thread and does not end like one";
    let start = at + 4;
    let text = &line[start..];
    let Some(length) = memchr::memmem::find(text, b" +++") else { return (Body::Unread(WHY), at) };
    let (inner, end) = (&text[..length], start + length + 4);
    if let Some(status) = inner.strip_prefix(b"exited with ") {
        let status = number(status, 0).0.and_then(|status| i64::try_from(status).ok());
        return (status.map_or(Body::Unread(WHY), Body::Exited), end);
    }
    if inner.starts_with(b"superseded by execve in pid ") {
        return (Body::Superseded, end);
    }
    let Some(signal) = inner.strip_prefix(b"killed by ") else { return (Body::Unread(WHY), at) };
    let signal = signal.strip_suffix(b" (core dumped)").unwrap_or(signal);
    (Body::Killed { signal: (start + 10, start + 10 + signal.len()) }, end)
}

/// Reads ` = value<note> ERRNO (text) (more) <time>` from `at` on, and the offset behind it.
fn ret(line: &[u8], at: usize) -> Option<(Ret<'_>, usize)> {
    let at = spaces(line, at);
    if line.get(at) != Some(&b'=') {
        return None;
    }
    let (value, mut at) = returned(line, spaces(line, at + 1))?;
    let mut ret = Ret { value, ..Ret::default() };
    if line.get(at) == Some(&b'<') {
        let close = annotation_end(line, at);
        ret.note = (at + 1, close.saturating_sub(1).max(at + 1));
        at = close;
        if line[at..].starts_with(b"(deleted)") {
            at += 9;
        }
    }
    if line.get(at) == Some(&b' ') {
        at = behind_value(line, at, &mut ret);
    }
    Some((ret, at))
}

/// Reads what may follow a value, each part behind a blank, until something else stands there.
fn behind_value<'a>(line: &'a [u8], mut at: usize, ret: &mut Ret<'a>) -> usize {
    loop {
        let start = spaces(line, at);
        let rest = &line[start..];
        match rest.first() {
            None => return line.len(),
            Some(b'<') if rest.get(1).is_some_and(u8::is_ascii_digit) => {
                let Some((ns, end)) = seconds(line, start + 1) else { return at };
                if line.get(end) != Some(&b'>') {
                    return at;
                }
                ret.dur_ns = Some(ns);
                return spaces(line, end + 1);
            }
            Some(b'E') if ret.errno.is_none() => {
                let symbol =
                    rest.iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'_');
                let length = symbol.count();
                ret.errno = Some(&rest[..length]);
                at = start + length;
                // The error's words, in whatever language and with whatever quotes.
                if line[at..].starts_with(b" (") {
                    at = closing(line, at + 2);
                }
            }
            Some(b'(') => {
                at = match scan(line, start + 1, 1) {
                    Stop::Closed(close) => close + 1,
                    Stop::Unfinished { .. } | Stop::End { .. } => line.len(),
                };
                if rest.starts_with(b"(errno ") {
                    let inner = &line[start + 1..at];
                    ret.errno = ret.errno.or(Some(inner.strip_suffix(b")").unwrap_or(inner)));
                }
            }
            // The number as strace's own process namespace has it: the one that its leaders show.
            Some(b'/') if rest.starts_with(b"/* ") && contains(rest, b" in strace's PID NS */") => {
                let (tid, end) = number(line, start + 3);
                ret.value = tid.and_then(|tid| i64::try_from(tid).ok()).or(ret.value);
                at = end + b" in strace's PID NS */".len();
            }
            Some(b'<') if rest.starts_with(b"<unavailable>") => at = start + 13,
            Some(b'<') if rest.starts_with(b"<Cannot restart pid ") => return line.len(),
            Some(_) => return start,
        }
    }
}

/// Offset behind the bracket that closes the words of an error; brackets in them are in pairs.
fn closing(line: &[u8], mut at: usize) -> usize {
    let mut open = 1;
    while let Some(&byte) = line.get(at) {
        at += 1;
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    line.len()
}

/// The value behind `= `: decimal, hex, octal or `?`.
fn returned(text: &[u8], at: usize) -> Option<(Option<i64>, usize)> {
    if text.get(at) == Some(&b'?') {
        return Some((None, at + 1));
    }
    let negative = text.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    if text.get(start) == Some(&b'0') {
        match text.get(start + 1) {
            Some(b'x') => return radix(text, start + 2, 16),
            Some(b'0'..=b'7') => return radix(text, start + 1, 8),
            _ => {}
        }
    }
    let (value, end) = number(text, start);
    if end == start {
        return None;
    }
    let value =
        value.map(|value| if negative { value.cast_signed().wrapping_neg() } else { value.cast_signed() });
    Some((value, end))
}

fn radix(text: &[u8], at: usize, radix: u32) -> Option<(Option<i64>, usize)> {
    let digits = text[at..].iter().take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let value = std::str::from_utf8(&text[at..at + digits]).ok()?;
    Some((Some(u64::from_str_radix(value, radix).ok()?.cast_signed()), at + digits))
}

/// `Process 46 attached`, `Process 46 detached`, in the words of old straces.
fn is_attach(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"Process ") else { return false };
    let (pid, end) = number(rest, 0);
    pid.is_some()
        && [b" attached".as_slice(), b" detached", b" suspended", b" resumed"]
            .iter()
            .any(|word| rest[end..].starts_with(word))
}

/// ` | 00000  68 65 6c ...  hello |`
fn is_dump(text: &[u8]) -> bool {
    text.strip_prefix(b"| ")
        .is_some_and(|rest| rest.iter().take_while(|b| b.is_ascii_hexdigit()).count() >= 5)
        && text.ends_with(b"|")
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(text, needle).is_some()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// A line without the escape sequences that colour it (ECMA-48, SGR), which `--color` and pastes leave.
pub(crate) fn without_colours(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        if byte == 0x1b && line.get(at + 1) == Some(&b'[') {
            let parameters = line[at + 2..].iter().take_while(|b| b.is_ascii_digit() || **b == b';').count();
            if line.get(at + 2 + parameters) == Some(&b'm') {
                at += parameters + 3;
                continue;
            }
        }
        plain.push(byte);
        at += 1;
    }
    plain
}
