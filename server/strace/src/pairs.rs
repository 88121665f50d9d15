//! Live threads by their numbers, and first halves that wait for their second.

use rustc_hash::FxHashMap;

/// `H` is what is kept of a first half.
#[derive(Debug)]
pub(crate) struct Pairs<H> {
    /// The live thread of each small number: its index and 1 more, or 0.
    low: Vec<u32>,
    /// The live thread of each other number.
    high: FxHashMap<u32, u32>,
    /// By thread index.
    waiting: Vec<Option<H>>,
    /// `execve` halves that go on under another number.
    moved: FxHashMap<u32, H>,
}

/// Numbers that have a place in a list: those of a sandbox, or of a quiet machine.
const LOW: u32 = 1 << 15;

impl<H> Default for Pairs<H> {
    fn default() -> Self {
        Self { low: Vec::new(), high: FxHashMap::default(), waiting: Vec::new(), moved: FxHashMap::default() }
    }
}

impl<H> Pairs<H> {
    /// The live thread of a number.
    #[inline]
    pub(crate) fn thread(&self, tid: u32) -> Option<u32> {
        if tid < LOW { self.low.get(tid as usize)?.checked_sub(1) } else { self.high.get(&tid).copied() }
    }

    /// A new thread of this number; whoever had it is forgotten.
    pub(crate) fn add(&mut self, tid: u32) -> u32 {
        let thread = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        self.waiting.push(None);
        self.place(tid, thread);
        thread
    }

    /// The number of a live thread comes to be known.
    pub(crate) fn rename(&mut self, from: u32, to: u32) {
        if let Some(thread) = self.thread(from) {
            self.remove(from);
            self.place(to, thread);
        }
    }

    fn place(&mut self, tid: u32, thread: u32) {
        if tid < LOW {
            let index = tid as usize;
            if self.low.len() <= index {
                self.low.resize(index + 1, 0);
            }
            self.low[index] = thread.saturating_add(1);
        } else {
            self.high.insert(tid, thread);
        }
    }

    /// Ends the thread of a number.
    pub(crate) fn remove(&mut self, tid: u32) {
        match self.low.get_mut(tid as usize) {
            Some(thread) => *thread = 0,
            None => drop(self.high.remove(&tid)),
        }
    }

    /// A thread's call begins and waits for its other half.
    #[inline]
    pub(crate) fn wait(&mut self, thread: u32, half: H) {
        self.waiting[thread as usize] = Some(half);
    }

    /// An `execve` that goes on under another number.
    pub(crate) fn moves(&mut self, to: u32, half: H) {
        self.moved.insert(to, half);
    }

    /// The half that a thread's next line would end.
    #[inline]
    pub(crate) fn take(&mut self, thread: u32) -> Option<H> {
        self.waiting[thread as usize].take()
    }

    /// The half that goes on under a number.
    pub(crate) fn take_moved(&mut self, tid: u32) -> Option<H> {
        if self.moved.is_empty() { None } else { self.moved.remove(&tid) }
    }

    /// The half that the next second half of a number would end.
    pub(crate) fn expected(&self, tid: u32) -> Option<&H> {
        match self.thread(tid) {
            Some(thread) if self.waiting[thread as usize].is_some() => self.waiting[thread as usize].as_ref(),
            _ => self.moved.get(&tid),
        }
    }

    /// All halves that still wait, by thread index.
    pub(crate) fn rest(&mut self) -> impl Iterator<Item = (usize, H)> {
        self.waiting.iter_mut().enumerate().filter_map(|(thread, half)| Some((thread, half.take()?)))
    }
}
