//! Calls of a text that is not kept: lines are read as they end, halves joined per thread.
//!
//! Memory is that of one line, of the names met, and of one first half for each thread.

use memchr::memchr;

use crate::clock::Clock;
use crate::leader::{Leader, leader};
use crate::line::{self, Body, HeadEnd, Remark, Ret};
use crate::names::{Name, Names};
use crate::pairs::Pairs;
use crate::unnamed::Unnamed;
use crate::value::Arguments;

/// What is made of the calls.
pub(crate) trait Sink {
    /// What is kept of a first half until its second comes.
    type Half;

    /// A thread came to be known; threads are numbered from 0 in the order of their first lines.
    fn thread(&mut self, tid: u32);
    /// The first thread, of which nobody had said the number, has this one.
    fn rename_first(&mut self, tid: u32);
    /// A call began at a time, if the text has times; `args` are those of its first half.
    fn begins(&mut self, names: &Names, begun: &Begun<'_>) -> Self::Half;
    /// A call of a thread returned.
    fn returned(&mut self, thread: u32, half: Self::Half, ret: &Ret<'_>);
    /// A signal was delivered to a thread.
    fn signal(&mut self, thread: u32);
    /// A thread ended.
    fn ended(&mut self, thread: u32);
    /// A line has this time.
    fn time(&mut self, thread: u32, t_ns: i64);
    /// The number of a thread that a call made, to be known from now on.
    fn child(&mut self, half: &Self::Half, ret: &Ret<'_>) -> Option<u32>;
    /// The thread of [`Sink::child`].
    fn born(&mut self, parent: u32, child: u32, half: &Self::Half);
    /// A line that is no event, and what it is.
    fn other(&mut self, line: u64, why: &'static str, unread: bool);
}

/// A call as its first half says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun<'a> {
    pub(crate) thread: u32,
    pub(crate) name: Name,
    pub(crate) args: Arguments<'a>,
}

/// Reads chunks of text and gives their calls to a [`Sink`].
#[derive(Debug)]
pub(crate) struct Stream<S: Sink> {
    pub(crate) sink: S,
    pub(crate) names: Names,
    pub(crate) lines: u64,
    /// The beginning of a line whose end has not come.
    carry: Vec<u8>,
    /// Bytes kept of one line.
    line_bytes: usize,
    clock: Clock,
    pairs: Pairs<Waiting<S::Half>>,
    unnamed: Unnamed,
    /// Numbers of the threads.
    tids: Vec<u32>,
}

#[derive(Debug)]
struct Waiting<H> {
    name: Name,
    depth: u32,
    half: H,
}

impl<S: Sink> Stream<S> {
    pub(crate) fn new(sink: S, line_bytes: usize) -> Self {
        Self {
            sink,
            names: Names::default(),
            lines: 0,
            carry: Vec::new(),
            line_bytes,
            clock: Clock::default(),
            pairs: Pairs::default(),
            unnamed: Unnamed::default(),
            tids: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, mut chunk: &[u8]) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            if self.carry.is_empty() {
                self.line(&line[..line.len().min(self.line_bytes)]);
            } else {
                self.carry_over(line);
                let carried = std::mem::take(&mut self.carry);
                self.line(&carried);
                // The same memory serves the next line.
                self.carry = carried;
                self.carry.clear();
            }
            chunk = &rest[1..];
        }
        self.carry_over(chunk);
    }

    /// The text ends: a last line without an end is read too.
    pub(crate) fn end(&mut self) {
        if !self.carry.is_empty() {
            let carried = std::mem::take(&mut self.carry);
            self.line(&carried);
        }
    }

    /// How many halves still wait for another.
    pub(crate) fn open_halves(&mut self) -> u64 {
        self.pairs.rest().map(|_| 1).sum()
    }

    fn carry_over(&mut self, text: &[u8]) {
        let room = self.line_bytes.saturating_sub(self.carry.len());
        self.carry.extend_from_slice(&text[..text.len().min(room)]);
    }

    fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut at = 0;
        loop {
            let (leader, body_at) = leader(line, at);
            let (body, mut behind) = line::body(line, body_at);
            let tid = self.named(leader);
            match body {
                Body::Call { name, args, ret } => {
                    let (name, thread) = (self.names.intern(name), self.caller(tid, leader));
                    let args = Arguments { head: &line[args.0..args.1], tail: &[] };
                    let half = self.sink.begins(&self.names, &Begun { thread, name, args });
                    self.returned(thread, half, &ret);
                }
                Body::Head { name, args, depth, why } => {
                    let (name, thread) = (self.names.intern(name), self.caller(tid, leader));
                    let args = Arguments { head: &line[args.0..args.1], tail: &[] };
                    let half = self.sink.begins(&self.names, &Begun { thread, name, args });
                    let waiting = Waiting { name, depth, half };
                    if why == HeadEnd::Cut {
                        self.unnamed.announcement(line);
                    }
                    match why {
                        HeadEnd::PidChanged(to) => self.pairs.moves(to, waiting),
                        HeadEnd::Unfinished | HeadEnd::Cut => self.pairs.wait(thread, waiting),
                        HeadEnd::Detached => {}
                    }
                }
                Body::Tail { name, rest } => match self.tail(line, tid, leader, name, rest) {
                    Some(end) => behind = end,
                    None => return self.sink.other(self.lines, "a second half without its first", true),
                },
                Body::Signal { .. } => {
                    let thread = self.seen(tid, leader);
                    self.sink.signal(thread);
                }
                Body::Exited(_) | Body::Killed { .. } | Body::Superseded => {
                    let thread = self.seen(tid, leader);
                    self.sink.ended(thread);
                    self.unnamed.ends(thread);
                    self.pairs.take(thread);
                    self.pairs.remove(tid);
                }
                Body::Remark(Remark::Blank) => return,
                Body::Remark(remark) => {
                    if remark == Remark::Banner {
                        self.unnamed.announcement(line);
                    }
                    return self.sink.other(self.lines, remark.as_str().unwrap_or_default(), false);
                }
                Body::Unread(why) => return self.sink.other(self.lines, why, true),
            }
            at = behind;
            if at >= line.len() {
                return;
            }
        }
    }

    fn tail(&mut self, line: &[u8], tid: u32, leader: Leader, name: &[u8], rest: usize) -> Option<usize> {
        let depth = self.pairs.expected(tid).map_or(1, |waiting| waiting.depth);
        let (_, ret, behind) = line::tail_end(line, rest, depth)?;
        let name = self.names.intern(name);
        let thread = self.seen(tid, leader);
        let waiting = self.pairs.take(thread).filter(|waiting| waiting.name == name);
        let waiting =
            waiting.or_else(|| self.pairs.take_moved(tid).filter(|waiting| waiting.name == name))?;
        self.returned(thread, waiting.half, &ret);
        Some(behind)
    }

    fn returned(&mut self, thread: u32, half: S::Half, ret: &Ret<'_>) {
        if let Some(child) = self.sink.child(&half, ret) {
            let child = self.thread(child);
            self.sink.born(thread, child, &half);
        }
        self.sink.returned(thread, half, ret);
    }

    /// The number of a line's thread: as it stands there, or of the one that lives.
    #[inline]
    fn named(&mut self, leader: Leader) -> u32 {
        let Some(tid) = leader.tid else {
            let only = self.pairs.thread(0).or_else(|| self.unnamed.only());
            return only.map_or(0, |thread| self.tids[thread as usize]);
        };
        if self.pairs.thread(tid).is_none() && self.unnamed.is_first(tid) && self.pairs.thread(0) == Some(0) {
            self.pairs.rename(0, tid);
            self.tids[0] = tid;
            self.sink.rename_first(tid);
        }
        tid
    }

    /// The thread of a line, whose time is taken.
    #[inline]
    fn seen(&mut self, tid: u32, leader: Leader) -> u32 {
        let thread = self.thread(tid);
        self.unnamed.speaks(thread);
        if let Some(time) = leader.time {
            let t_ns = self.clock.since_start(time);
            self.sink.time(thread, t_ns);
        }
        thread
    }

    /// The thread that begins a call: what it was in before will not end.
    fn caller(&mut self, tid: u32, leader: Leader) -> u32 {
        let thread = self.seen(tid, leader);
        self.pairs.take(thread);
        thread
    }

    #[inline]
    fn thread(&mut self, tid: u32) -> u32 {
        match self.pairs.thread(tid) {
            Some(thread) => thread,
            None => {
                self.sink.thread(tid);
                self.tids.push(tid);
                self.pairs.add(tid)
            }
        }
    }
}
