//! Whose lines are those that name no thread?
//!
//! On a terminal strace prints `[pid N]` only while it traces more than one thread: lines without it are
//! of the one that is traced, at first of a thread whose number is not yet known.

use rustc_hash::FxHashSet;

use crate::scan::number;

#[derive(Debug, Default)]
pub(crate) struct Unnamed {
    /// Threads that strace said it attached to: they are not the first one.
    announced: FxHashSet<u32>,
    /// Threads that have not ended, and their indices combined by exclusive or: of one alone, its index.
    living: u32,
    combined: u32,
    /// By index: a thread counts once it has a line of its own. strace names no thread either before it
    /// has attached to a second.
    spoken: Vec<bool>,
}

impl Unnamed {
    /// A thread has a line of its own.
    #[inline]
    pub(crate) fn speaks(&mut self, thread: u32) {
        let index = thread as usize;
        if self.spoken.get(index) == Some(&true) {
            return;
        }
        if self.spoken.len() <= index {
            self.spoken.resize(index + 1, false);
        }
        self.spoken[index] = true;
        self.living += 1;
        self.combined ^= thread;
    }

    /// A thread that had a line of its own ended.
    pub(crate) fn ends(&mut self, thread: u32) {
        self.living = self.living.saturating_sub(1);
        self.combined ^= thread;
    }

    /// The one thread that lives, by index.
    pub(crate) fn only(&self) -> Option<u32> {
        (self.living == 1).then_some(self.combined)
    }

    /// Takes note of `Process 22 attached` at the end of a line, which may stand behind half a call.
    pub(crate) fn announcement(&mut self, line: &[u8]) {
        if let Some(at) = memchr::memmem::rfind(line, b"Process ")
            && let (Some(tid), end) = number(line, at + 8)
            && line[end..].starts_with(b" attached")
        {
            self.announced.extend(u32::try_from(tid));
        }
    }

    /// Whether a thread that is met for the first time is the first one, whose number nobody had said.
    pub(crate) fn is_first(&self, tid: u32) -> bool {
        !self.announced.is_empty() && !self.announced.contains(&tid)
    }
}
