//! What stands before an event: its thread, its time, and columns that are skipped.

use memchr::memchr;

use crate::scan::{POWERS, eight, number, spaces};

/// Thread and time of a line.
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

/// Linux numbers threads below 2^22 (proc(5), `pid_max`): a longer number is a time.
const MOST_TID: u64 = 1 << 22;

/// An epoch in seconds has at least nine digits since 1973.
const EPOCH_DIGITS: usize = 9;

/// Splits `line`, from `at` on, into its leader and the offset at which its body starts. The order
/// is strace's: thread, security context, time, time since the line before, `-n`, `-i`.
pub(crate) fn leader(line: &[u8], at: usize) -> (Leader, usize) {
    let mut leader = Leader::default();
    let mut at = spaces(line, at);
    match line.get(at) {
        Some(b'0'..=b'9') => {
            let (tid, digits) = number(line, at);
            let end = comm(line, digits);
            if let (Some(tid), Some(b' ')) = (tid.filter(|tid| *tid <= MOST_TID), line.get(end)) {
                leader.tid = u32::try_from(tid).ok();
                at = spaces(line, end);
            }
        }
        Some(b'[') if line[at..].starts_with(b"[pid") => {
            let (tid, digits) = number(line, spaces(line, at + 4));
            let end = comm(line, digits);
            if let (Some(tid), Some(b']')) = (tid.filter(|tid| *tid <= MOST_TID), line.get(end)) {
                leader.tid = u32::try_from(tid).ok();
                at = spaces(line, end + 1);
            }
        }
        _ => {}
    }
    loop {
        match line.get(at) {
            Some(b'0'..=b'9' | b'(') => {
                let Some((time, end)) = time(line, at) else { break };
                // With both -t and -r the absolute time comes first and counts.
                leader.time = leader.time.or(Some(time));
                at = spaces(line, end);
            }
            Some(b'[') => {
                let Some(end) = column(line, at) else { break };
                at = spaces(line, end);
            }
            _ => break,
        }
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

/// Offset behind a column in brackets: a call's number (`-n`), an instruction pointer (`-i`) or a
/// security context (`--secontext`).
fn column(line: &[u8], at: usize) -> Option<usize> {
    let start = spaces(line, at + 1);
    let word = line[start..].iter().take_while(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'?' | b'_' | b':' | b'.' | b',' | b'-')
    });
    let end = start + word.count();
    (end > start && line[end..].starts_with(b"] ")).then_some(end + 2)
}

/// One of strace's times at `at`, followed by a blank.
#[inline]
fn time(line: &[u8], at: usize) -> Option<(Time, usize)> {
    let relative = line[at] == b'(';
    if relative && line.get(at + 1) != Some(&b'+') {
        return None;
    }
    let start = if relative { spaces(line, at + 2) } else { at };
    let (time, end) = if line.get(start + 2) == Some(&b':') && line.get(start + 5) == Some(&b':') {
        let part = |at| number(line, at).0.and_then(|value| i64::try_from(value).ok()).filter(|v| *v < 60);
        let minutes = part(start)?.checked_mul(60)? + part(start + 3)?;
        let (ns, end) = seconds(line, start + 6)?;
        (Time::OfDay(ns.saturating_add(minutes * 60_000_000_000)), end)
    } else {
        let (ns, end) = seconds(line, start)?;
        let epoch = end >= start + EPOCH_DIGITS && ns > 100_000_000 * 1_000_000_000;
        (if epoch { Time::Epoch(ns) } else { Time::Delta(ns) }, end)
    };
    let end = if relative { end + usize::from(line.get(end) == Some(&b')')) } else { end };
    (line.get(end) == Some(&b' ')).then_some((time, end))
}

/// `seconds[.fraction]` at `at` in ns, digits beyond the ninth left out.
#[inline]
pub(crate) fn seconds(line: &[u8], at: usize) -> Option<(i64, usize)> {
    let (whole, end) = number(line, at);
    let ns = i64::try_from(whole?).ok()?.checked_mul(1_000_000_000)?;
    if line.get(end) != Some(&b'.') {
        return Some((ns, end));
    }
    // Nanoseconds have nine digits: eight are read at once, and the ninth.
    let (fraction, digits) = eight(line, end + 1);
    let mut ns = ns.saturating_add_unsigned(fraction * POWERS[8 - digits] * 10);
    let mut at = end + 1 + digits;
    if digits == 8 {
        let more = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if more > 0 {
            ns = ns.saturating_add(i64::from(line[at] - b'0'));
        }
        at += more;
    }
    (digits > 0).then_some((ns, at))
}
