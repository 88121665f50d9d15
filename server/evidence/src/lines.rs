//! The lines of a trace, kept for whoever asks where an event stands.

use std::borrow::Cow;
use std::sync::OnceLock;

use memchr::memchr_iter;

/// The text of one trace. Few of its lines are ever asked for, and most evidence is asked for none:
/// where they begin is found at the first question.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    text: Vec<u8>,
    starts: OnceLock<Vec<usize>>,
}

impl Lines {
    pub(crate) fn of(trace: Option<&strace::Trace>) -> Self {
        Self { text: trace.map_or_else(Vec::new, |trace| trace.text().to_vec()), starts: OnceLock::new() }
    }

    /// A line, from 1, without its end; empty where there is none.
    pub(crate) fn get(&self, line: u32) -> Cow<'_, str> {
        let starts = self.starts.get_or_init(|| {
            std::iter::once(0).chain(memchr_iter(b'\n', &self.text).map(|at| at + 1)).collect()
        });
        let Some(&start) = (line as usize).checked_sub(1).and_then(|index| starts.get(index)) else {
            return Cow::Borrowed("");
        };
        let end = starts.get(line as usize).copied().unwrap_or(self.text.len());
        String::from_utf8_lossy(self.text[start..end].trim_ascii_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_1() {
        let lines = Lines { text: b"one\n\nthr\xffe\r\nlast".to_vec(), starts: OnceLock::new() };
        let found = [0, 1, 2, 3, 4, 5, u32::MAX].map(|line| lines.get(line).into_owned());
        assert_eq!(found, ["", "one", "", "thr\u{fffd}e", "last", "", ""]);
        assert_eq!(Lines::of(None).get(1), "");
    }
}
