//! Lines of output, and the writes that made them.

use std::borrow::Cow;

use memchr::memchr;
use strace::{Event, FdLifetime, Trace};

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

/// The lines of what was kept of a stream, `dropped` bytes having followed.
pub(crate) fn lines(kept: &[u8], dropped: u64) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = kept.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let end = start + length + 1;
        let last = end >= kept.len();
        let line = Line {
            text: String::from_utf8_lossy(&rest[..length.min(CELL_BYTES)]),
            start,
            truncated: length > CELL_BYTES || (last && dropped > 0),
        };
        start = end;
        Some(line)
    })
}

/// The writes of one stream, in order, by the bytes of the stream that they made.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// End offset in the stream, and index of the event.
    ends: Vec<(usize, usize)>,
}

impl Writes {
    /// The writes to descriptor `fd` (1 or 2) of a run whose stream began with `kept`. Where the trace
    /// and the text disagree, the search ends: a line tied to no write is better than to a wrong one.
    pub(crate) fn of(trace: &Trace, fd: i32, kept: &[u8]) -> Self {
        let mut writes = Self::default();
        if kept.is_empty() {
            return writes;
        }
        let Some(home) = home(trace, fd) else { return writes };
        let home_path = trace.fd_path(home);
        let other_path = self::home(trace, 3 - fd).and_then(|other| trace.fd_path(other));
        let shared = home_path.is_some() && other_path == home_path;
        let mut start = 0;
        for (index, event) in trace.events.iter().enumerate() {
            if !leads_to(trace, event, home, home_path.as_deref(), shared) {
                continue;
            }
            let details = trace.details(event);
            let length =
                details.bytes.or(event.ret()).and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
            let end = start + length;
            let written = &kept[start.min(kept.len())..end.min(kept.len())];
            if details.data.is_some_and(|data| !agrees(&data, written)) {
                break;
            }
            if length > 0 {
                writes.ends.push((end, index));
            }
            if end >= kept.len() {
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

    fn check(kept: &[u8], dropped: u64, expected: &[(&str, usize, bool)]) {
        let found: Vec<_> =
            lines(kept, dropped).map(|l| (l.text.into_owned(), l.start, l.truncated)).collect();
        let expected: Vec<_> =
            expected.iter().map(|&(text, start, cut)| (text.to_owned(), start, cut)).collect();
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(kept));
    }

    #[test]
    fn lines_of_a_stream() {
        check(b"", 0, &[]);
        check(b"\n", 0, &[("", 0, false)]);
        check(b"a\nb", 0, &[("a", 0, false), ("b", 2, false)]);
        check(b"a\n\nb\n", 0, &[("a", 0, false), ("", 2, false), ("b", 3, false)]);
        check(b"a\nb", 9, &[("a", 0, false), ("b", 2, true)]);
        check(b"a\nb\n", 9, &[("a", 0, false), ("b", 2, true)]);
        check(b"a\xffb\n", 0, &[("a\u{fffd}b", 0, false)]);
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let long = vec![b'x'; CELL_BYTES + 1];
        let found: Vec<_> = lines(&long, 0).collect();
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
