//! Only what reading and pairing cost, for measurements: nothing is kept of a call.

use crate::line::Ret;
use crate::names::Names;
use crate::stream::{Begun, Sink, Stream};

/// What a text holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines.
    pub lines: u64,
    /// Calls, both halves joined.
    pub calls: u64,
    /// Calls that returned an error.
    pub errors: u64,
    /// Signals and ends of threads.
    pub others: u64,
    /// Lines that could not be read.
    pub unread: u64,
}

/// Counts what stands in a text.
#[must_use]
pub fn tally(text: &[u8]) -> Tally {
    let mut stream = Stream::new(Tally::default(), usize::MAX);
    stream.push(text);
    stream.end();
    Tally { lines: stream.lines, ..stream.sink }
}

impl Sink for Tally {
    type Half = ();

    fn thread(&mut self, _: u32) {}

    fn rename_first(&mut self, _: u32) {}

    fn begins(&mut self, _: &Names, _: &Begun<'_>) {}

    fn returned(&mut self, _: u32, (): (), ret: &Ret<'_>) {
        self.calls += 1;
        self.errors += u64::from(ret.errno.is_some());
    }

    fn signal(&mut self, _: u32) {
        self.others += 1;
    }

    fn ended(&mut self, _: u32) {
        self.others += 1;
    }

    fn time(&mut self, _: u32, _: i64) {}

    fn child(&mut self, (): &(), _: &Ret<'_>) -> Option<u32> {
        None
    }

    fn born(&mut self, _: u32, _: u32, (): &()) {}

    fn other(&mut self, _: u64, _: &'static str, unread: bool) {
        self.unread += u64::from(unread);
    }
}
