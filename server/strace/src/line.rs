//! One line of a trace, taken apart by scanning left to right.
//!
//! Nothing here searches for ` = ` or `<unfinished`: file names, buffers and descriptors hold
//! whatever the tracee likes, so a bracket counts only outside strings, comments and `fd<...>`.

use memchr::{memchr, memchr2, memmem};

/// What stands before the event: thread and time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Leader {
    pub(crate) tid: Option<u32>,
    pub(crate) time: Option<Time>,
}

/// A timestamp as printed, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// `-ttt`: since the Unix epoch.
    Epoch(i64),
    /// `-t`, `-tt`: since some midnight.
    OfDay(i64),
    /// `-r`: since the line before.
    Delta(i64),
}

/// What the rest of the line says. Ranges are offsets into the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    /// A whole call.
    Call { name: &'a [u8], args: (usize, usize), ret: Ret<'a> },
    /// The first half of a call; `depth` brackets are open.
    Head { name: &'a [u8], args: (usize, usize), depth: u32, why: HeadEnd },
    /// The second half; its arguments are read when the first half's depth is known.
    Tail { name: &'a [u8], rest: usize },
    /// A signal or a group stop.
    Signal { name: &'a [u8], info: (usize, usize) },
    /// `+++ exited with N +++`.
    Exited(i64),
    /// `+++ killed by SIG +++`.
    Killed { signal: (usize, usize) },
    /// `+++ superseded by execve in pid N +++`.
    Superseded,
    /// Something that strace says of itself, or nothing: no event, nothing odd.
    Remark,
    /// Not understood.
    Unread,
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
    pub(crate) note: (usize, usize),
    pub(crate) dur_ns: Option<i64>,
}

/// Where a scan over arguments stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At the bracket that closes the call.
    Closed(usize),
    /// At the end of the text, `depth` brackets deep.
    End { depth: u32 },
}

/// Splits `line` into its leader and the offset at which its body starts.
pub(crate) fn leader(line: &[u8]) -> (Leader, usize) {
    let mut leader = Leader::default();
    let mut at = spaces(line, 0);
    if line[at..].starts_with(b"[pid") {
        let digits = spaces(line, at + 4);
        let (tid, end) = number(line, digits);
        let end = comm(line, end);
        if let (Some(tid), Some(b']')) = (tid, line.get(end)) {
            leader.tid = u32::try_from(tid).ok();
            at = spaces(line, end + 1);
        }
    } else if let (Some(tid), end) = number(line, at) {
        // Linux numbers threads below 2^22 (proc(5), pid_max): a longer number is a time.
        let named = comm(line, end);
        if tid <= 1 << 22 && line.get(named) == Some(&b' ') {
            leader.tid = u32::try_from(tid).ok();
            at = spaces(line, named);
        }
    }
    while let Some((time, end)) = time(line, at) {
        // With both -t and -r the absolute time comes first and counts.
        leader.time = leader.time.or(Some(time));
        at = spaces(line, end);
    }
    (leader, at)
}

/// Skips `<name>` of `--decode-pids=comm` at `at`; strace escapes `<` and `>` inside it.
fn comm(line: &[u8], at: usize) -> usize {
    if line.get(at) != Some(&b'<') {
        return at;
    }
    memchr(b'>', &line[at..]).map_or(at, |length| at + length + 1)
}

/// Reads the body that starts at `at`.
pub(crate) fn body(line: &[u8], at: usize) -> Body<'_> {
    let text = &line[at..];
    match text.first() {
        None => Body::Remark,
        Some(b'-') if text.starts_with(b"--- ") => signal(line, at),
        Some(b'+') if text.starts_with(b"+++ ") => end_of_thread(line, at),
        Some(b'<') if text.starts_with(b"<... ") => tail(line, at),
        Some(b's') if text.starts_with(b"strace: ") => Body::Remark,
        Some(b'P') if text.starts_with(b"Process ") => Body::Remark,
        Some(b'[') if text.starts_with(b"[ Process PID=") => Body::Remark,
        _ => call(line, at),
    }
}

/// Reads what follows a second half's `resumed>` from `rest` on, `depth` brackets deep.
pub(crate) fn tail_end(line: &[u8], rest: usize, depth: u32) -> Option<((usize, usize), Ret<'_>)> {
    let Stop::Closed(close) = scan(line, rest, depth) else { return None };
    let args_end = trim_marker(line, rest, close);
    Some(((rest, args_end), ret(line, close + 1)?))
}

/// A thread that dies inside a call leaves `<unfinished ...>` before the bracket that closes it.
fn trim_marker(line: &[u8], start: usize, close: usize) -> usize {
    let args = &line[start..close];
    args.strip_suffix(b"<unfinished ...>").map_or(close, |args| start + args.trim_ascii_end().len())
}

fn call(line: &[u8], at: usize) -> Body<'_> {
    let name_end = at + line[at..].iter().take_while(|b| is_name(**b)).count();
    let unknown = line[at..].starts_with(b"???(");
    let name_end = if unknown { at + 3 } else { name_end };
    if name_end == at || line.get(name_end) != Some(&b'(') {
        return Body::Unread;
    }
    let (name, args_start) = (&line[at..name_end], name_end + 1);
    let (args_end, why) = head_end(line, args_start);
    match scan(&line[..args_end], args_start, 1) {
        Stop::Closed(close) => match ret(line, close + 1) {
            Some(ret) => Body::Call { name, args: (args_start, trim_marker(line, args_start, close)), ret },
            None => Body::Unread,
        },
        Stop::End { depth } => {
            let end = args_start + line[args_start..args_end].trim_ascii_end().len();
            Body::Head { name, args: (args_start, end), depth, why }
        }
    }
}

/// Where a first half's arguments end, and why: the marker counts only as the line's last bytes.
fn head_end(line: &[u8], start: usize) -> (usize, HeadEnd) {
    let text = &line[start..];
    if let Some(args) = text.strip_suffix(b"<unfinished ...>") {
        return (start + args.len(), HeadEnd::Unfinished);
    }
    if let Some(args) = text.strip_suffix(b"<detached ...>") {
        return (start + args.len(), HeadEnd::Detached);
    }
    if let (true, Some(marker)) = (text.ends_with(b" ...>"), memmem::rfind(text, b"<pid changed to ")) {
        let (pid, end) = number(text, marker + 16);
        if let (Some(pid), b" ...>") = (pid, &text[end..]) {
            return (start + marker, HeadEnd::PidChanged(u32::try_from(pid).unwrap_or(0)));
        }
    }
    (line.len(), HeadEnd::Cut)
}

fn tail(line: &[u8], at: usize) -> Body<'_> {
    let name_start = at + 5;
    let name_end = name_start + line[name_start..].iter().take_while(|b| is_name(**b)).count();
    match line[name_end..].strip_prefix(b" resumed>") {
        Some(_) if name_end > name_start => {
            Body::Tail { name: &line[name_start..name_end], rest: name_end + 9 }
        }
        _ => Body::Unread,
    }
}

fn signal(line: &[u8], at: usize) -> Body<'_> {
    let start = at + 4;
    let Some(inner) = line[start..].strip_suffix(b" ---") else { return Body::Unread };
    let (name, info) = match inner.strip_prefix(b"stopped by ") {
        Some(name) => (name, (start, start)),
        None => {
            let name = inner.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            (&inner[..name], (spaces(line, start + name), start + inner.len()))
        }
    };
    if name.is_empty() { Body::Unread } else { Body::Signal { name, info } }
}

fn end_of_thread(line: &[u8], at: usize) -> Body<'_> {
    let start = at + 4;
    let Some(inner) = line[start..].strip_suffix(b" +++") else { return Body::Unread };
    if let Some(status) = inner.strip_prefix(b"exited with ") {
        return number(status, 0).0.map_or(Body::Unread, Body::Exited);
    }
    if inner.starts_with(b"superseded by execve in pid ") {
        return Body::Superseded;
    }
    match inner.strip_prefix(b"killed by ") {
        Some(signal) => {
            let signal = signal.strip_suffix(b" (core dumped)").unwrap_or(signal);
            Body::Killed { signal: (start + 10, start + 10 + signal.len()) }
        }
        None => Body::Unread,
    }
}

/// Finds the bracket that closes a call, from `at` on, `depth` brackets deep.
pub(crate) fn scan(line: &[u8], mut at: usize, mut depth: u32) -> Stop {
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' => at = string_end(line, at),
            b'\'' => at = char_end(line, at),
            b'<' => at = annotation_end(line, at),
            b'/' if line.get(at + 1) == Some(&b'*') => at = comment_end(line, at),
            b'(' | b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b')' | b']' | b'}' => {
                if depth <= 1 {
                    return Stop::Closed(at);
                }
                depth -= 1;
                at += 1;
            }
            _ => at += 1,
        }
    }
    Stop::End { depth }
}

/// Offset behind the string that opens at `at`.
pub(crate) fn string_end(line: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = line.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if line[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    line.len()
}

/// Offset behind the character literal at `at` (`'x'`, `'\n'`, `'\x41'`), or behind a lone quote.
fn char_end(line: &[u8], at: usize) -> usize {
    let escaped = line.get(at + 1) == Some(&b'\\');
    let longest = if escaped { 5 } else { 2 };
    let shortest = if escaped { 3 } else { 2 };
    let close = (shortest..=longest).find(|i| line.get(at + i) == Some(&b'\''));
    close.map_or(at + 1, |i| at + i + 1)
}

/// Offset behind the comment at `at`. strace nests comments and never quotes inside them.
fn comment_end(line: &[u8], at: usize) -> usize {
    let (mut at, mut open) = (at + 2, 1);
    while at < line.len() {
        match &line[at..(at + 2).min(line.len())] {
            b"*/" => {
                open -= 1;
                at += 2;
                if open == 0 {
                    return at;
                }
            }
            b"/*" => {
                open += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    line.len()
}

/// Offset behind the `<...>` at `at`: what strace says of a descriptor, or a shift (`1<<CAP`).
pub(crate) fn annotation_end(line: &[u8], at: usize) -> usize {
    if line.get(at + 1) == Some(&b'<') {
        return at + 2;
    }
    if is_socket(&line[at + 1..]) {
        return socket_end(line, at + 1);
    }
    let (mut at, mut open) = (at + 1, 1);
    while let Some(&byte) = line.get(at) {
        match byte {
            b'\\' => at += 1,
            b'<' => open += 1,
            b'>' => open -= 1,
            _ => {}
        }
        at += 1;
        if open == 0 {
            return at;
        }
    }
    line.len()
}

/// Whether `text` starts a socket's description: `TCP:[`, `UNIX-STREAM:[`.
pub(crate) fn is_socket(text: &[u8]) -> bool {
    let proto =
        text.iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'-').count();
    let proto = if text[proto..].starts_with(b"v6") { proto + 2 } else { proto };
    proto >= 3 && text[0].is_ascii_uppercase() && text[proto..].starts_with(b":[")
}

/// A socket's description ends with `]>`; a Unix path inside is quoted and may hold anything.
fn socket_end(line: &[u8], mut at: usize) -> usize {
    while at < line.len() {
        match line[at] {
            b'"' => at = string_end(line, at),
            b']' if line.get(at + 1) == Some(&b'>') => return at + 2,
            _ => at += 1,
        }
    }
    line.len()
}

/// Reads ` = value<note> ERRNO (text) <time>` from `at` on.
fn ret(line: &[u8], at: usize) -> Option<Ret<'_>> {
    let at = spaces(line, at);
    let at = at + usize::from(line.get(at) == Some(&b'='));
    if line.get(at.wrapping_sub(1)) != Some(&b'=') {
        return None;
    }
    let at = spaces(line, at);
    let (end, dur_ns) = duration(line, at);
    let text = &line[..end];
    let (value, mut at) = returned(text, at)?;
    let mut ret = Ret { value, dur_ns, ..Ret::default() };
    if text.get(at) == Some(&b'<') {
        let close = annotation_end(text, at);
        ret.note = (at + 1, close.saturating_sub(1).max(at + 1));
        at = close;
    }
    let at = spaces(text, at);
    let symbol =
        text[at..].iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'_');
    let symbol = &text[at..at + symbol.count()];
    if symbol.len() > 1 && symbol[0] == b'E' {
        ret.errno = Some(symbol);
    } else if text[at..].starts_with(b"(errno ") {
        ret.errno = memchr(b')', &text[at..]).map(|close| &text[at + 1..at + close]);
    }
    Some(ret)
}

/// The value behind `= `: decimal, hex, octal or `?`.
fn returned(text: &[u8], at: usize) -> Option<(Option<i64>, usize)> {
    if text.get(at) == Some(&b'?') {
        return Some((None, at + 1));
    }
    let negative = text.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    if let Some(rest) = text.get(start..).and_then(|rest| rest.strip_prefix(b"0x")) {
        let digits = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let value = u64::from_str_radix(std::str::from_utf8(&rest[..digits]).ok()?, 16).ok()?;
        return Some((Some(value.cast_signed()), start + 2 + digits));
    }
    let (value, end) = number_u64(text, start);
    let mut value = value?;
    // umask(2) is printed in octal: a zero and more digits.
    if text[start] == b'0' && end > start + 1 {
        value = u64::from_str_radix(std::str::from_utf8(&text[start..end]).ok()?, 8).unwrap_or(value);
    }
    let value = value.cast_signed();
    Some((Some(if negative { value.wrapping_neg() } else { value }), end))
}

/// The time that `-T` prints: the last `<digits.digits>` of the line, and only that.
fn duration(line: &[u8], from: usize) -> (usize, Option<i64>) {
    let none = (line.len(), None);
    let Some(text) = line[from..].strip_suffix(b">") else { return none };
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let Some(open) = (from + text.len() - digits).checked_sub(1).filter(|i| *i >= from) else { return none };
    if line[open] != b'<' || digits == 0 {
        return none;
    }
    match seconds(line, open + 1) {
        Some((ns, end)) if end == line.len() - 1 => {
            (from + line[from..open].trim_ascii_end().len(), Some(ns))
        }
        _ => none,
    }
}

/// One of strace's times at `at`, followed by a blank.
fn time(line: &[u8], at: usize) -> Option<(Time, usize)> {
    let relative = line[at..].starts_with(b"(+");
    let start = if relative { spaces(line, at + 2) } else { at };
    let colons = (line.get(start + 2), line.get(start + 5)) == (Some(&b':'), Some(&b':'));
    let (time, end) = if colons {
        let (hours, minutes) = (number(line, start).0?, number(line, start + 3).0?);
        let (ns, end) = seconds(line, start + 6)?;
        (Time::OfDay(ns.saturating_add((hours * 60 + minutes) * 60_000_000_000)), end)
    } else {
        let (ns, end) = seconds(line, start)?;
        let epoch = end > start + 9 && ns > 100_000_000 * 1_000_000_000;
        (if epoch { Time::Epoch(ns) } else { Time::Delta(ns) }, end)
    };
    let end = if relative { end + usize::from(line.get(end) == Some(&b')')) } else { end };
    (line.get(end) == Some(&b' ')).then_some((time, end))
}

/// `seconds[.fraction]` at `at` in ns.
fn seconds(line: &[u8], at: usize) -> Option<(i64, usize)> {
    let (whole, end) = number(line, at);
    let mut ns = whole?.checked_mul(1_000_000_000)?;
    if line.get(end) != Some(&b'.') {
        return Some((ns, end));
    }
    let mut unit = 100_000_000;
    let mut at = end + 1;
    while let Some(digit) = line.get(at).filter(|b| b.is_ascii_digit()) {
        ns = ns.saturating_add(i64::from(digit - b'0') * unit);
        unit /= 10;
        at += 1;
    }
    (at > end + 1).then_some((ns, at))
}

fn number(line: &[u8], at: usize) -> (Option<i64>, usize) {
    let (value, end) = number_u64(line, at);
    (value.and_then(|value| i64::try_from(value).ok()), end)
}

fn number_u64(line: &[u8], at: usize) -> (Option<u64>, usize) {
    let mut value = Some(0u64);
    let mut end = at;
    while let Some(digit) = line.get(end).filter(|b| b.is_ascii_digit()) {
        value = value.and_then(|v| v.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        end += 1;
    }
    (if end > at { value } else { None }, end)
}

fn spaces(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    at.min(line.len()) + rest.iter().take_while(|b| **b == b' ').count()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}
