//! Lines of output, and the writes that made them.

use std::borrow::Cow;

use memchr::memchr;
use strace::{Event, FdLifetime, Trace};

use crate::Kept;
use crate::value::CELL_BYTES;

/// One line of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Offset of its first byte in the stream.
    pub(crate) start: usize,
    /// Whether more followed that was not kept: in the line, or behind it.
    pub(crate) truncated: bool,
}

/// The lines of what was kept of a stream. Where bytes were left out, the line before them and the
/// first one behind them say so.
pub(crate) fn lines(kept: Kept<'_>) -> impl Iterator<Item = Line<'_>> {
    let cut = kept.dropped > 0;
    let behind = tail_start(kept);
    let head = split(kept.head, 0)
        .map(move |(line, last)| Line { truncated: line.truncated || (last && cut), ..line });
    let tail = split(kept.tail, behind)
        .map(move |(line, _)| Line { truncated: line.truncated || line.start == behind, ..line });
    head.chain(tail)
}

/// Lines of bytes that begin at an offset of their stream, each with whether it is the last.
fn split(bytes: &[u8], offset: usize) -> impl Iterator<Item = (Line<'_>, bool)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = Line {
            text: String::from_utf8_lossy(&rest[..length.min(CELL_BYTES)]),
            start: offset + start,
            truncated: length > CELL_BYTES,
        };
        start += length + 1;
        Some((line, start >= bytes.len()))
    })
}

/// Offset of the tail in its stream.
fn tail_start(kept: Kept<'_>) -> usize {
    usize::try_from(kept.dropped).unwrap_or(usize::MAX).saturating_add(kept.head.len())
}

/// What was kept of the bytes from `start` to `end`, as far as it was kept from `start` on.
fn written(kept: Kept<'_>, start: usize, end: usize) -> &[u8] {
    let (part, start, end) = match start.checked_sub(tail_start(kept)) {
        Some(into) => (kept.tail, into, end - tail_start(kept)),
        None => (kept.head, start, end),
    };
    &part[start.min(part.len())..end.min(part.len())]
}

/// The writes of one stream, in order, by the bytes of the stream that they made.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// End offset in the stream, and index of the event.
    ends: Vec<(usize, usize)>,
}

impl Writes {
    /// The writes to descriptor `fd` (1 or 2) of a run of whose stream `kept` is left. Where the trace
    /// and the text disagree, the search ends: a line tied to no write is better than to a wrong one.
    pub(crate) fn of(trace: &Trace, fd: i32, kept: Kept<'_>) -> Self {
        let mut writes = Self::default();
        let total = tail_start(kept).saturating_add(kept.tail.len());
        if kept.head.is_empty() {
            return writes;
        }
        let Some(home) = home(trace, fd) else { return writes };
        let home_path = trace.fd_path(home);
        let other_path = self::home(trace, 3 - fd).and_then(|other| trace.fd_path(other));
        let shared = home_path.is_some() && other_path == home_path;
        let mut start = 0_usize;
        for (index, event) in trace.events.iter().enumerate() {
            if !leads_to(trace, event, home, home_path.as_deref(), shared) {
                continue;
            }
            let details = trace.details(event);
            let length =
                details.bytes.or(event.ret()).and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
            let end = start.saturating_add(length);
            if details.data.is_some_and(|data| !agrees(&data, written(kept, start, end))) {
                break;
            }
            if length > 0 {
                writes.ends.push((end, index));
            }
            if end >= total {
                break;
            }
            start = end;
        }
        writes
    }

    /// Index of the event that wrote the byte at an offset.
    pub(crate) fn at(&self, offset: usize) -> Option<usize> {
        let place = self.ends.partition_point(|&(end, _)| end <= offset);
        self.ends.get(place).map(|&(_, event)| event)
    }
}

/// The descriptor as the program was started with it.
fn home(trace: &Trace, fd: i32) -> Option<&FdLifetime> {
    trace.fds.iter().find(|life| life.fd == fd && life.opened.is_none())
}

/// Whether an event wrote into the stream. A child may have a descriptor 1 of its own, and a copy
/// of the stream may have another number: what counts is where it leads. Two streams that lead
/// to one place are told apart by number.
fn leads_to(trace: &Trace, event: &Event, home: &FdLifetime, path: Option<&str>, shared: bool) -> bool {
    if !event.ok() || !matches!(trace.name(event), "write" | "writev") {
        return false;
    }
    let Some(life) = event.serial().and_then(|serial| trace.fds.get(serial as usize)) else { return false };
    let same_number = life.fd == home.fd;
    match path {
        Some(path) => (same_number || !shared) && trace.fd_path(life).as_deref() == Some(path),
        None => same_number && life.opened.is_none(),
    }
}

/// Whether the beginning of a write, as the tracer shows it, is that of the bytes written. The tracer
/// may cut inside a character.
fn agrees(shown: &str, written: &[u8]) -> bool {
    let shown = shown.trim_end_matches(char::REPLACEMENT_CHARACTER);
    let written = String::from_utf8_lossy(written);
    // What was kept may be shorter than what is shown.
    let written = written.trim_end_matches(char::REPLACEMENT_CHARACTER);
    written.starts_with(shown) || shown.starts_with(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept<'a>(head: &'a [u8], dropped: u64, tail: &'a [u8]) -> Kept<'a> {
        Kept { head, dropped, tail }
    }

    fn check(head: &[u8], dropped: u64, tail: &[u8], expected: &[(&str, usize, bool)]) {
        let lines = lines(kept(head, dropped, tail));
        let found: Vec<_> = lines.map(|l| (l.text.into_owned(), l.start, l.truncated)).collect();
        let expected: Vec<_> =
            expected.iter().map(|&(text, start, cut)| (text.to_owned(), start, cut)).collect();
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(head));
    }

    #[test]
    fn lines_of_a_stream() {
        check(b"", 0, b"", &[]);
        check(b"\n", 0, b"", &[("", 0, false)]);
        check(b"a\nb", 0, b"", &[("a", 0, false), ("b", 2, false)]);
        check(b"a\n\nb\n", 0, b"", &[("a", 0, false), ("", 2, false), ("b", 3, false)]);
        check(b"a\nb", 9, b"", &[("a", 0, false), ("b", 2, true)]);
        check(b"a\nb\n", 9, b"", &[("a", 0, false), ("b", 2, true)]);
        check(b"a\xffb\n", 0, b"", &[("a\u{fffd}b", 0, false)]);
        check(b"a\nb", 9, b"c\nd\n", &[("a", 0, false), ("b", 2, true), ("c", 12, true), ("d", 14, false)]);
    }

    #[test]
    fn bytes_of_a_write_are_found_on_either_side_of_what_was_left_out() {
        let kept = kept(b"abc", 4, b"hij");
        for (start, end, expected) in
            [(0, 2, "ab"), (1, 5, "bc"), (3, 6, ""), (5, 9, ""), (7, 9, "hi"), (8, 99, "ij"), (20, 30, "")]
        {
            assert_eq!(written(kept, start, end), expected.as_bytes(), "{start} {end}");
        }
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let long = vec![b'x'; CELL_BYTES + 1];
        let found: Vec<_> = lines(kept(&long, 0, b"")).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text.len(), CELL_BYTES);
        assert!(found[0].truncated);
    }

    #[test]
    fn what_the_tracer_shows_may_end_inside_a_character() {
        for (shown, written, expected) in [
            ("abc", "abcdef".as_bytes(), true),
            ("あ\u{fffd}", "ああ".as_bytes(), true),
            ("abcdef", b"abc", true),
            ("abd", b"abc", false),
        ] {
            assert_eq!(agrees(shown, written), expected, "{shown}");
        }
    }
}
