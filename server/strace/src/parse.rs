//! From chunks of text to a trace: lines are read as they end, halves are joined per thread.

use std::sync::Arc;

use memchr::memchr;

use crate::clock::Clock;
use crate::event::{Event, EventKind, NO_FD, NO_INDEX, NO_TIME};
use crate::leader::{Leader, leader};
use crate::line::{self, Body, HeadEnd, Remark};
use crate::model::Model;
use crate::names::Name;
use crate::options::Options;
use crate::pairs::Pairs;
use crate::record::{OwnRet, Record, offset, own, span};
use crate::summary_table::SummaryTable;
use crate::thread::Thread;
use crate::trace::{Incomplete, Span, Trace};
use crate::unnamed::Unnamed;

/// Parses a whole text. Never fails: see [`Trace::notes`] and [`Trace::incomplete`].
#[must_use]
pub fn parse(text: &[u8], options: &Options) -> Trace {
    let mut parser = Parser::new(options.clone());
    parser.expect(text.len());
    parser.push(text);
    parser.finish()
}

/// Parses a text that comes in chunks, cut anywhere.
#[derive(Debug)]
pub struct Parser {
    options: Options,
    trace: Trace,
    /// Offset of the line being read.
    line_start: usize,
    /// Bytes of it that did not fit.
    overlong: usize,
    /// Whether a cap has been hit: everything after it is dropped.
    full: bool,
    clock: Clock,
    pairs: Pairs<Waiting>,
    model: Model,
    table: SummaryTable,
    unnamed: Unnamed,
    /// The last line that broke off in a call, and its thread.
    broken: Option<(u32, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    event: u32,
    depth: u32,
}

/// As much as is taken over at one time, so that it is still near when its lines are read.
const PIECE: usize = 128 << 10;

impl Parser {
    /// A parser that has read nothing.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            model: Model::new(options.entry.clone()),
            options,
            trace: Trace::default(),
            line_start: 0,
            overlong: 0,
            full: false,
            clock: Clock::default(),
            pairs: Pairs::default(),
            table: SummaryTable::default(),
            unnamed: Unnamed::default(),
            broken: None,
        }
    }

    /// The text will have about so many bytes. Nothing depends on it but speed: the kernel gives memory
    /// faster in one piece.
    pub fn expect(&mut self, bytes: usize) {
        let bytes = bytes.min(self.options.limits.bytes);
        self.text().reserve_exact(bytes);
    }

    /// Reads the next chunk. After a cap was hit it does nothing.
    pub fn push(&mut self, chunk: &[u8]) {
        for piece in chunk.chunks(PIECE) {
            if self.full {
                return;
            }
            let begun = self.trace.text.len();
            let room = self.options.limits.bytes.min(u32::MAX as usize).saturating_sub(begun);
            let (kept, dropped) = piece.split_at(piece.len().min(room));
            self.text().extend_from_slice(kept);
            self.lines(begun);
            if !dropped.is_empty() && !self.full {
                let begun = u32::from(self.trace.text.len() > self.line_start);
                let line = self.trace.lines() + begun;
                self.trace.note(line, "the limit of bytes was reached here: what follows was not read");
                self.full = true;
            }
        }
    }

    /// Ends the text and models what was read.
    #[must_use]
    pub fn finish(mut self) -> Trace {
        if self.trace.text.len() > self.line_start || self.overlong > 0 {
            self.end_line(self.trace.text.len(), false);
        }
        if self.full {
            self.trace.incomplete.push(Incomplete::Capped);
        }
        // A thread that died in a call explains why that call has no second half.
        let rest: Vec<_> =
            self.pairs.rest().filter(|(thread, _)| !self.trace.threads[*thread].ended).collect();
        for (_, half) in rest {
            self.abandon(half);
        }
        self.model.finish(&mut self.trace);
        self.trace
    }

    /// Whether a cap was hit, so that further chunks are not kept.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The text while it grows; nobody else has it yet.
    fn text(&mut self) -> &mut Vec<u8> {
        Arc::make_mut(&mut self.trace.text)
    }

    /// Reads every line that ends in the text from `from` on.
    fn lines(&mut self, from: usize) {
        let mut from = from;
        while let Some(ahead) = memchr(b'\n', &self.trace.text[from..]) {
            let end = self.cut_line(from + ahead);
            self.end_line(end, true);
            from = self.line_start;
            if self.full {
                return;
            }
        }
        self.cut_line(self.trace.text.len());
    }

    /// Takes out of the line that reaches to `end` so far what is over the limit; its end then.
    fn cut_line(&mut self, end: usize) -> usize {
        let most = self.line_start.saturating_add(self.options.limits.line_bytes);
        if end <= most {
            return end;
        }
        self.overlong += end - most;
        self.text().drain(most..end);
        most
    }

    /// The line being read ends at `end`, with a line feed there or without one.
    fn end_line(&mut self, end: usize, fed: bool) {
        let start = self.line_start;
        self.trace.line_starts.push(offset(start));
        self.line_start = end + usize::from(fed);
        let number = self.trace.lines();
        if self.overlong > 0 {
            let text = format!("{} bytes of this line are over a limit and were not kept", self.overlong);
            self.trace.note(number, text);
            self.overlong = 0;
            self.trace.incomplete.push(Incomplete::Capped);
        }
        self.read_line(number, start, end, fed);
        if self.trace.events.len() >= self.options.limits.events {
            self.full = true;
            self.trace.note(number, "the limit of events was reached here");
            let end = self.line_start;
            self.text().truncate(end);
        }
    }

    /// Reads the line between two offsets: one record as a rule, more where strace's output was mixed.
    fn read_line(&mut self, number: u32, start: usize, end: usize, fed: bool) {
        let end = start + self.trace.text[start..end].trim_ascii_end().len();
        let mut at = self.hole(number, start, end);
        let mut first = true;
        loop {
            let (leader, body_at) = leader(&self.trace.text[start..end], at);
            let tid = self.caller(leader);
            let line = &self.trace.text[start..end];
            let (body, behind) = line::body(line, body_at);
            let body = match body {
                Body::Remark(Remark::Blank) if leader != Leader::default() => {
                    Body::Unread("nothing stands behind the thread and the time")
                }
                body => body,
            };
            let (record, behind) = match body {
                Body::Unread(why) if first => {
                    if let Some((record, tid)) = self.rest_of_broken(leader, start, end) {
                        self.record(number, tid, leader, record);
                        return;
                    }
                    if let Some(row) = self.table.read(number, &self.trace.text[start..end]) {
                        self.trace.summary.extend(row.row);
                        if let Some(note) = row.note {
                            self.trace.note(number, note);
                        }
                        return;
                    }
                    return self.unread(number, start, end, why);
                }
                Body::Unread(_) => {
                    return self.odd(number, "what stands behind a call here could not be read");
                }
                // Its arguments can be read only where its first half left off.
                Body::Tail { name, rest } => {
                    let depth = self.pairs.expected(tid).map_or(1, |waiting| waiting.depth);
                    let name = self.trace.names.intern(name);
                    let line = &self.trace.text[start..end];
                    let Some((args, ret, behind)) = line::tail_end(line, rest, depth) else {
                        return self.unread(
                            number,
                            start,
                            end,
                            "the second half of a call does not end here",
                        );
                    };
                    let ret = own(ret, start, &mut self.trace.names);
                    (Record::Tail { name, args: span(start, args), ret }, behind)
                }
                body => {
                    match body {
                        Body::Remark(Remark::Banner) => self.unnamed.announcement(line),
                        Body::Head { why: HeadEnd::Cut, .. } => {
                            self.unnamed.announcement(line);
                            self.broken = Some((number, tid));
                        }
                        _ => {}
                    }
                    (Record::new(body, start, &mut self.trace.names), behind)
                }
            };
            self.record(number, tid, leader, record);
            at = behind;
            first = false;
            if start + at >= end {
                break;
            }
        }
        if !fed {
            self.trace.note(number, "the text ends without an end of line: this line may be cut");
        }
    }

    /// Skips what stands before a line and is no text: a byte order mark, or bytes that were never
    /// written where a file was written out of order.
    fn hole(&mut self, number: u32, start: usize, end: usize) -> usize {
        let line = &self.trace.text[start..end];
        match line.first() {
            Some(0) => {
                let length = line.iter().take_while(|byte| **byte == 0).count();
                self.trace.note(number, format!("{length} bytes before this line were never written"));
                self.trace.incomplete.push(Incomplete::Unread);
                length
            }
            Some(0xef) if number == 1 && line.starts_with(b"\xef\xbb\xbf") => 3,
            _ => 0,
        }
    }

    /// A line that goes on where the one before broke off, as it does on a terminal where the tracer's own
    /// remark, or the program's output, came between.
    fn rest_of_broken(&mut self, leader: Leader, start: usize, end: usize) -> Option<(Record, u32)> {
        let (line, tid) = self.broken?;
        if line + 1 != self.trace.lines() || leader != Leader::default() {
            return None;
        }
        let half = *self.pairs.expected(tid)?;
        let name = self.trace.events[half.event as usize].name;
        let (args, ret, behind) = line::tail_end(&self.trace.text[start..end], 0, half.depth)?;
        if start + behind < end {
            return None;
        }
        let ret = own(ret, start, &mut self.trace.names);
        Some((Record::Tail { name, args: span(start, args), ret }, tid))
    }

    /// A line that says nothing known; perhaps because colours stand between.
    fn unread(&mut self, number: u32, start: usize, end: usize, why: &'static str) {
        if memchr(0x1b, &self.trace.text[start..end]).is_some() {
            let plain = line::without_colours(&self.trace.text[start..end]);
            // The line is the last of what is kept, or followed by lines not yet read.
            if plain.len() < end - start {
                let (removed, length) = (end - start - plain.len(), plain.len());
                self.text().splice(start..end, plain);
                self.line_start -= removed;
                return self.read_line(number, start, start + length, true);
            }
        }
        self.odd(number, why);
    }

    fn odd(&mut self, number: u32, why: &'static str) {
        self.trace.note(number, why);
        self.trace.incomplete.push(Incomplete::Unread);
    }

    /// The thread of a line.
    fn caller(&mut self, leader: Leader) -> u32 {
        match leader.tid {
            Some(tid) => {
                let is_new = self.pairs.thread(tid).is_none();
                if is_new && self.unnamed.is_first(tid) && self.pairs.thread(0).is_some() {
                    self.pairs.rename(0, tid);
                    self.model.rename_first(&mut self.trace, tid);
                }
                tid
            }
            None if self.pairs.thread(0).is_some() => 0,
            None => self.unnamed.only().map_or(0, |thread| self.trace.threads[thread as usize].tid),
        }
    }

    fn record(&mut self, line: u32, tid: u32, leader: Leader, record: Record) {
        let t_ns = leader.time.map_or(NO_TIME, |time| self.clock.since_start(time));
        match record {
            Record::Call { name, args, ret } => {
                let event = self.event(line, tid, t_ns, EventKind::Syscall, name);
                let entry = &mut self.trace.events[event as usize];
                entry.args = args;
                entry.end(line, ret);
                self.model.begins(&mut self.trace, event);
                self.returned(event, ret);
            }
            Record::Head { name, args, depth, why } => {
                let event = self.event(line, tid, t_ns, EventKind::Syscall, name);
                let entry = &mut self.trace.events[event as usize];
                (entry.args, entry.complete) = (args, false);
                let thread = entry.thread;
                let waiting = Waiting { event, depth };
                match why {
                    HeadEnd::PidChanged(to) => self.pairs.moves(to, waiting),
                    HeadEnd::Unfinished | HeadEnd::Cut => self.pairs.wait(thread, waiting),
                    HeadEnd::Detached => self.trace.incomplete.push(Incomplete::Detached),
                }
                self.model.begins(&mut self.trace, event);
            }
            Record::Tail { name, args, ret } => self.tail(line, tid, name, args, ret),
            Record::Signal { name, info } => {
                let event = self.event(line, tid, t_ns, EventKind::Signal, name);
                self.trace.events[event as usize].args = info;
            }
            Record::End { how, status, signal } => {
                let name = self.trace.names.exit(how);
                let event = self.event(line, tid, t_ns, EventKind::Exit, name);
                let entry = &mut self.trace.events[event as usize];
                entry.args = signal;
                if let Some(status) = status {
                    (entry.ret, entry.has_ret) = (status, true);
                }
                let t_ns = entry.t_ns();
                self.unnamed.ends(entry.thread);
                let thread = &mut self.trace.threads[entry.thread as usize];
                (thread.exited_ns, thread.ended) = (t_ns, true);
                self.pairs.remove(tid);
                self.model.ended(&self.trace, event);
            }
            Record::Remark(remark) => {
                if let Some(text) = remark.as_str() {
                    self.trace.note(line, text);
                }
                match remark {
                    Remark::Marker { detached: true } => self.trace.incomplete.push(Incomplete::Detached),
                    Remark::Frame if !self.trace.incomplete.contains(&Incomplete::Frames) => {
                        self.trace.incomplete.push(Incomplete::Frames);
                    }
                    _ => {}
                }
            }
        }
    }

    fn tail(&mut self, line: u32, tid: u32, name: Name, args: Span, ret: OwnRet) {
        let thread = self.thread(tid);
        let waiting = self.pairs.take(thread);
        let fits = |waiting: &Waiting| self.trace.events[waiting.event as usize].name == name;
        let own = waiting.filter(fits);
        let moved = if own.is_none() { self.pairs.take_moved(tid).filter(fits) } else { None };
        if let Some(moved) = moved {
            let from = self.trace.events[moved.event as usize].thread;
            self.model.goes_on(&mut self.trace, thread, from);
        }
        if let Some(head) = own.or(moved) {
            let entry = &mut self.trace.events[head.event as usize];
            (entry.args_tail, entry.complete) = (args, true);
            entry.end(line, ret);
            self.returned(head.event, ret);
            return;
        }
        if let Some(other) = waiting {
            self.abandon(other);
        }
        // Its start is not known: the time of this line is that of its end.
        let event = self.event(line, tid, NO_TIME, EventKind::Syscall, name);
        let entry = &mut self.trace.events[event as usize];
        (entry.args_tail, entry.complete) = (args, false);
        entry.end(line, ret);
        self.model.begins(&mut self.trace, event);
        // A child's first line may be the end of the clone that its parent began.
        let clones = self.trace.names.shape(name).call == crate::names::Call::Clone;
        if clones && ret.value == Some(0) {
            return;
        }
        self.returned(event, ret);
        self.trace.note(line, "the first half of this call is missing");
        self.trace.incomplete.push(Incomplete::HeadMissing);
    }

    /// A call's end was read.
    fn returned(&mut self, event: u32, ret: OwnRet) {
        let shape = self.trace.names.shape(self.trace.events[event as usize].name);
        if shape.call == crate::names::Call::Clone {
            let child = ret.value.and_then(|child| u32::try_from(child).ok()).filter(|child| *child > 0);
            if let Some(child) = child {
                // A live thread that already has a creator is an old one whose end the trace lost.
                let known = self.pairs.thread(child);
                if known.is_some_and(|thread| self.trace.threads[thread as usize].created.is_some()) {
                    self.pairs.remove(child);
                }
                let child = self.thread(child);
                self.model.born(&mut self.trace, event, child);
            }
        }
        self.model.returned(&mut self.trace, event);
    }

    /// A first half whose second will not come although its thread lives on.
    fn abandon(&mut self, half: Waiting) {
        let line = self.trace.events[half.event as usize].line;
        self.trace.note(line, "the second half of this call is missing");
        self.trace.incomplete.push(Incomplete::HalfMissing);
    }

    /// Adds an event of a thread, which comes to be known by it.
    #[inline]
    fn event(&mut self, line: u32, tid: u32, t_ns: i64, kind: EventKind, name: Name) -> u32 {
        let thread = self.thread(tid);
        self.unnamed.speaks(thread);
        if kind == EventKind::Syscall
            && let Some(half) = self.pairs.take(thread)
        {
            self.abandon(half);
        }
        self.trace.events.push(Event {
            t_ns,
            dur_ns: NO_TIME,
            ret: 0,
            line,
            end_line: line,
            tid,
            thread,
            fd: NO_FD,
            serial: NO_INDEX,
            args: Span::default(),
            args_tail: Span::default(),
            ret_note: Span::default(),
            name,
            errno: Name::NONE,
            kind,
            phase: self.model.phase(),
            complete: true,
            has_ret: false,
        });
        offset(self.trace.events.len() - 1)
    }

    #[inline]
    fn thread(&mut self, tid: u32) -> u32 {
        match self.pairs.thread(tid) {
            Some(thread) => thread,
            None => self.new_thread(tid),
        }
    }

    fn new_thread(&mut self, tid: u32) -> u32 {
        self.trace.threads.push(Thread::new(tid));
        self.model.thread();
        self.pairs.add(tid)
    }
}

impl Event {
    fn end(&mut self, line: u32, ret: OwnRet) {
        self.end_line = line;
        (self.errno, self.ret_note) = (ret.errno, ret.note);
        (self.ret, self.has_ret) = (ret.value.unwrap_or(0), ret.value.is_some());
        self.dur_ns = ret.dur_ns;
    }
}
