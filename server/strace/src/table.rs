//! One table of open descriptors: what the kernel keeps for a process.

use rustc_hash::FxHashMap;

/// Who opened what has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A lifetime of this process.
    Own(u32),
    /// A lifetime of an ancestor: this process has it since its fork and has not acted on it.
    Inherited(u32),
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    /// By number: 0 for a free one, else a lifetime's index doubled, and 2 or, if inherited, 3 more.
    low: Vec<u64>,
    /// Numbers too large for a list.
    high: FxHashMap<i32, u64>,
    /// Threads that use it.
    pub(crate) users: u32,
    /// The fork that made it.
    pub(crate) born: Option<u32>,
    /// Lifetimes begun before the clone that made its thread returned; `None` once it has.
    early: Option<Vec<u32>>,
}

const LOW: usize = 4096;

impl Table {
    /// The table of a new thread; `first` for that of the trace's first, which nobody makes.
    pub(crate) fn new(first: bool) -> Self {
        Self { users: 1, early: (!first).then(Vec::new), ..Self::default() }
    }

    /// What a process gets at its fork.
    pub(crate) fn copy(&self) -> Self {
        let inherited = |code: &u64| if *code == 0 { 0 } else { code | 1 };
        Self {
            low: self.low.iter().map(inherited).collect(),
            high: self.high.iter().map(|(fd, code)| (*fd, inherited(code))).collect(),
            users: 1,
            born: None,
            early: None,
        }
    }

    #[inline]
    pub(crate) fn get(&self, fd: i32) -> Option<Entry> {
        let code = match usize::try_from(fd) {
            Ok(low) if low < LOW => self.low.get(low).copied().unwrap_or(0),
            _ => self.high.get(&fd).copied().unwrap_or(0),
        };
        entry(code)
    }

    pub(crate) fn set(&mut self, fd: i32, entry: Entry) {
        let code = match entry {
            Entry::Own(serial) => (u64::from(serial) << 1) + 2,
            Entry::Inherited(serial) => (u64::from(serial) << 1) + 3,
        };
        match usize::try_from(fd) {
            Ok(low) if low < LOW => {
                if self.low.len() <= low {
                    self.low.resize(low + 1, 0);
                }
                self.low[low] = code;
            }
            _ => drop(self.high.insert(fd, code)),
        }
    }

    /// A lifetime begins in this process.
    pub(crate) fn opened(&mut self, fd: i32, serial: u32) {
        self.set(fd, Entry::Own(serial));
        if let Some(early) = &mut self.early {
            early.push(serial);
        }
    }

    pub(crate) fn remove(&mut self, fd: i32) {
        match usize::try_from(fd) {
            Ok(low) if low < LOW => {
                if let Some(code) = self.low.get_mut(low) {
                    *code = 0;
                }
            }
            _ => drop(self.high.remove(&fd)),
        }
    }

    /// All open numbers, the lowest first.
    pub(crate) fn entries(&self) -> Vec<(i32, Entry)> {
        let low = (0..).zip(&self.low).map(|(fd, code)| (fd, *code));
        let mut all: Vec<_> = low
            .chain(self.high.iter().map(|(fd, code)| (*fd, *code)))
            .filter_map(|(fd, code)| Some((fd, entry(code)?)))
            .collect();
        all.sort_unstable_by_key(|(fd, _)| *fd);
        all
    }

    /// Lifetimes begun before its thread's maker was known.
    pub(crate) fn early(&self) -> &[u32] {
        self.early.as_deref().unwrap_or_default()
    }
}

fn entry(code: u64) -> Option<Entry> {
    let serial = u32::try_from(code.checked_sub(2)? >> 1).ok()?;
    Some(if code & 1 == 0 { Entry::Own(serial) } else { Entry::Inherited(serial) })
}
