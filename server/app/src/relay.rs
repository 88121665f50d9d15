//! Terminals as the server holds them: what a browser and a worker's line have to tell each other.
//!
//! Nobody waits for anybody here. Each side takes what the other has left in the [`State`], at its own pace; windows bound
//! how much that can be. The last output is kept, so that a browser that comes back finds it again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use store::{TerminalEnd, TerminalId};
use tokio::sync::{oneshot, watch};

use crate::line::{Folder, FromWorker, INPUT_WINDOW, OUTPUT_WINDOW, ToWorker};

/// Output kept: the window, so that nothing unread is lost, and the worker's own announcements.
const KEPT: usize = OUTPUT_WINDOW as usize + 8 * 1024;
/// Bytes in one message.
const CHUNK: usize = 16 * 1024;
/// Columns and rows that a terminal may have.
const SIZES: std::ops::RangeInclusive<u16> = 1..=1000;

/// The terminals of this process that have not ended.
#[derive(Default)]
pub(crate) struct Relay(Mutex<HashMap<TerminalId, Arc<Session>>>);

impl Relay {
    fn sessions(&self) -> MutexGuard<'_, HashMap<TerminalId, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The terminal that has not ended as the store knows it.
    pub(crate) fn live(&self, id: TerminalId) -> Arc<Session> {
        Arc::clone(self.sessions().entry(id).or_default())
    }

    pub(crate) fn get(&self, id: TerminalId) -> Option<Arc<Session>> {
        self.sessions().get(&id).cloned()
    }

    /// Terminals that wait for a word of the store.
    pub(crate) fn ids(&self) -> Vec<TerminalId> {
        self.sessions().keys().copied().collect()
    }

    pub(crate) fn end(&self, id: TerminalId, end: TerminalEnd) {
        if let Some(session) = self.sessions().remove(&id) {
            session.0.send_modify(|state| state.end = state.end.or(Some(end)));
        }
    }
}

/// One terminal.
pub(crate) struct Session(watch::Sender<State>);

impl Default for Session {
    fn default() -> Self {
        Self(watch::Sender::new(State::default()))
    }
}

#[derive(Default)]
struct State {
    /// The last output. Its last byte is the `shown`th that came.
    output: VecDeque<u8>,
    shown: u64,
    /// Bytes of output that the guest was given credit for.
    credited: u64,
    /// Input that the line has not taken yet.
    input: VecDeque<u8>,
    /// Bytes of input that came from browsers, and that the shell has taken.
    typed: u64,
    taken: u64,
    size: Option<(u16, u16)>,
    line: bool,
    /// Which browser has the terminal: the last that came.
    viewer: u64,
    files_asked: u64,
    files: Vec<oneshot::Sender<Folder>>,
    end: Option<TerminalEnd>,
}

impl State {
    fn oldest(&self) -> u64 {
        self.shown - self.output.len() as u64
    }

    fn show(&mut self, bytes: &[u8]) {
        self.output.extend(bytes);
        self.shown += bytes.len() as u64;
        let over = self.output.len().saturating_sub(KEPT);
        self.output.drain(..over);
    }

    /// Up to a chunk of output from the `from`th byte on.
    fn output_from(&self, from: u64) -> Vec<u8> {
        let at = usize::try_from(from.saturating_sub(self.oldest())).unwrap_or(usize::MAX);
        self.output.iter().skip(at).take(CHUNK).copied().collect()
    }

    /// Where output may be shown from anew: not in the middle of a character or a control sequence.
    fn beginning(&self) -> u64 {
        let oldest = self.oldest();
        if oldest == 0 {
            return 0;
        }
        let line_end = self.output.iter().position(|byte| *byte == b'\n');
        oldest + line_end.map_or(0, |at| at as u64 + 1)
    }

    fn room(&self) -> u32 {
        u64::from(INPUT_WINDOW).saturating_sub(self.typed - self.taken).try_into().unwrap_or(0)
    }
}

/// What a browser is told beside the terminal's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Told {
    /// No worker has the terminal yet.
    Waiting,
    /// Bytes follow; so many may be typed before any is taken.
    Open {
        room: u32,
    },
    /// So many bytes of input have been taken.
    Taken {
        bytes: u64,
    },
    /// Another tab has the terminal now.
    Elsewhere,
    Ended {
        reason: TerminalEnd,
    },
}

/// The next thing for a browser.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Bytes(Vec<u8>),
    Told(Told),
}

impl Session {
    /// One that is over: it only says so.
    pub(crate) fn ended(end: TerminalEnd) -> Self {
        Self(watch::Sender::new(State { end: Some(end), ..State::default() }))
    }

    /// A browser comes, and whoever came before is told.
    pub(crate) fn view(self: &Arc<Self>) -> View {
        let mut view = View {
            states: self.0.subscribe(),
            session: Arc::clone(self),
            number: 0,
            line: None,
            sent: 0,
            read: 0,
            taken: 0,
            over: false,
        };
        self.0.send_modify(|state| {
            state.viewer += 1;
            view.number = state.viewer;
            view.sent = state.beginning();
            view.read = view.sent;
            view.taken = state.taken;
            // What it skips nobody will read.
            state.credited = state.credited.max(view.read);
        });
        view
    }

    /// A worker calls; `None` when the terminal has ended meanwhile.
    pub(crate) fn line(self: &Arc<Self>) -> Option<Line> {
        let mut first = false;
        self.0.send_if_modified(|state| {
            first = !state.line && state.end.is_none();
            state.line = true;
            first
        });
        let states = self.0.subscribe();
        first.then(|| Line { states, session: Arc::clone(self), size: None, credited: 0, files_asked: 0 })
    }

    /// Asks for the work folder's files.
    pub(crate) fn ask_files(&self) -> oneshot::Receiver<Folder> {
        let (sender, receiver) = oneshot::channel();
        self.0.send_modify(|state| {
            state.files.push(sender);
            state.files_asked += 1;
        });
        receiver
    }
}

/// A browser's end of a terminal.
pub(crate) struct View {
    session: Arc<Session>,
    states: watch::Receiver<State>,
    number: u64,
    line: Option<bool>,
    /// Bytes of output that were sent, and that the browser has shown, counted from the terminal's start.
    sent: u64,
    read: u64,
    taken: u64,
    over: bool,
}

impl View {
    /// The next thing to send; `None` when there is nothing at the moment, or [`View::is_over`].
    pub(crate) fn next(&mut self) -> Option<Next> {
        let state = self.states.borrow_and_update();
        if self.over {
            return None;
        }
        if state.viewer != self.number {
            self.over = true;
            return Some(Next::Told(Told::Elsewhere));
        }
        if self.line != Some(state.line) && state.end.is_none() {
            self.line = Some(state.line);
            let room = state.room();
            return Some(Next::Told(if state.line { Told::Open { room } } else { Told::Waiting }));
        }
        if self.sent < state.shown {
            // What was pushed out meanwhile is lost to this browser, which nobody waits for.
            self.sent = self.sent.max(state.oldest());
            let bytes = state.output_from(self.sent);
            self.sent += bytes.len() as u64;
            return Some(Next::Bytes(bytes));
        }
        if self.taken < state.taken {
            let bytes = state.taken - self.taken;
            self.taken = state.taken;
            return Some(Next::Told(Told::Taken { bytes }));
        }
        let reason = state.end?;
        self.over = true;
        Some(Next::Told(Told::Ended { reason }))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Waits until there may be something to send.
    pub(crate) async fn changed(&mut self) {
        // The session is held here, so its sender lives.
        let _lives = self.states.changed().await;
    }

    /// Hands over what was typed; false when it is more than the window allows.
    pub(crate) fn typed(&self, bytes: &[u8]) -> bool {
        let mut fits = true;
        self.session.0.send_if_modified(|state| {
            if !state.line || state.viewer != self.number {
                return false;
            }
            fits = state.typed - state.taken + bytes.len() as u64 <= 2 * u64::from(INPUT_WINDOW);
            if fits {
                state.typed += bytes.len() as u64;
                state.input.extend(bytes);
            }
            fits
        });
        fits
    }

    pub(crate) fn resize(&self, cols: u16, rows: u16) {
        let size = Some((cols, rows)).filter(|_| SIZES.contains(&cols) && SIZES.contains(&rows));
        self.session.0.send_if_modified(|state| {
            let changes = size.is_some() && state.size != size && state.viewer == self.number;
            if changes {
                state.size = size;
            }
            changes
        });
    }

    /// The browser has shown so many bytes more: never more than it was sent.
    pub(crate) fn read(&mut self, bytes: u64) {
        self.read = self.read.saturating_add(bytes).min(self.sent);
        let read = self.read;
        self.session.0.send_if_modified(|state| {
            let more = read > state.credited;
            state.credited = state.credited.max(read);
            more
        });
    }
}

/// A worker's end of a terminal. One a terminal.
pub(crate) struct Line {
    session: Arc<Session>,
    states: watch::Receiver<State>,
    size: Option<(u16, u16)>,
    credited: u64,
    files_asked: u64,
}

/// The next thing for a worker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ForWorker {
    Bytes(Vec<u8>),
    Told(ToWorker),
}

impl Line {
    /// The next thing to send; `None` when there is nothing at the moment.
    pub(crate) fn next(&mut self) -> Option<ForWorker> {
        self.states.mark_unchanged();
        let (size, credited, files_asked) = (&mut self.size, &mut self.credited, &mut self.files_asked);
        let mut next = None;
        self.session.0.send_if_modified(|state| {
            next = if state.size != *size {
                *size = state.size;
                size.map(|(cols, rows)| ForWorker::Told(ToWorker::Resize { cols, rows }))
            } else if !state.input.is_empty() {
                let chunk = state.input.len().min(CHUNK);
                Some(ForWorker::Bytes(state.input.drain(..chunk).collect()))
            } else if *credited < state.credited {
                let bytes = u32::try_from(state.credited - *credited).unwrap_or(u32::MAX);
                *credited = state.credited;
                Some(ForWorker::Told(ToWorker::Credit { bytes }))
            } else if *files_asked < state.files_asked {
                *files_asked = state.files_asked;
                Some(ForWorker::Told(ToWorker::Files))
            } else {
                None
            };
            false
        });
        next
    }

    /// Waits until there may be something to send.
    pub(crate) async fn changed(&mut self) {
        // The session is held here, so its sender lives.
        let _lives = self.states.changed().await;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.states.borrow().end.is_some()
    }

    /// The terminal has written this.
    pub(crate) fn shows(&self, bytes: &[u8]) {
        self.session.0.send_modify(|state| state.show(bytes));
    }

    /// Takes what the worker says; the reason when it was its last word.
    pub(crate) fn told(&self, told: FromWorker) -> Option<TerminalEnd> {
        match told {
            FromWorker::Taken { bytes } => self.session.0.send_modify(|state| {
                state.taken = state.typed.min(state.taken + u64::from(bytes));
            }),
            FromWorker::Files(folder) => {
                let mut asked = Vec::new();
                self.session.0.send_if_modified(|state| {
                    asked = std::mem::take(&mut state.files);
                    false
                });
                // Whoever does not wait any more gets nothing.
                asked.into_iter().for_each(|asker| drop(asker.send(folder.clone())));
            }
            FromWorker::Ended { reason } => return Some(reason),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use uuid::Uuid;

    use super::*;

    /// What a browser gets now: its bytes joined, and what it is told.
    fn drain(view: &mut View) -> (Vec<u8>, Vec<Told>) {
        let (mut bytes, mut told) = (Vec::new(), Vec::new());
        while let Some(next) = view.next() {
            match next {
                Next::Bytes(more) => bytes.extend(more),
                Next::Told(more) => told.push(more),
            }
        }
        (bytes, told)
    }

    fn open() -> (Arc<Session>, Line) {
        let session = Arc::new(Session::default());
        let line = session.line().unwrap();
        (session, line)
    }

    #[test]
    fn a_browser_waits_then_sees_then_hears_of_the_end() {
        let relay = Relay::default();
        let id = TerminalId(Uuid::nil());
        let session = relay.live(id);
        let mut view = session.view();
        assert_eq!(drain(&mut view), (vec![], vec![Told::Waiting]));
        assert!(view.typed(b"lost: nobody has the terminal"));
        let mut line = session.line().unwrap();
        assert!(session.line().is_none(), "one line a terminal");
        assert_eq!(line.next(), None);
        line.shows(b"$ ");
        assert_eq!(drain(&mut view), (b"$ ".to_vec(), vec![Told::Open { room: INPUT_WINDOW }]));
        relay.end(id, TerminalEnd::Idle);
        relay.end(id, TerminalEnd::Lost);
        assert_eq!(drain(&mut view), (vec![], vec![Told::Ended { reason: TerminalEnd::Idle }]));
        assert!(view.is_over() && line.is_over() && relay.get(id).is_none());
    }

    #[test]
    fn a_second_tab_takes_over_and_sees_what_was_shown() {
        let (session, mut line) = open();
        let mut first = session.view();
        line.shows(b"$ ls\r\nread.js\r\n$ ");
        drain(&mut first);
        let mut second = session.view();
        assert_eq!(drain(&mut first), (vec![], vec![Told::Elsewhere]));
        assert!(first.is_over() && first.typed(b"too late"));
        assert_eq!(line.next(), None, "what the first types is nobody's");
        let (bytes, told) = drain(&mut second);
        assert_eq!((bytes.as_slice(), told.len()), (b"$ ls\r\nread.js\r\n$ ".as_slice(), 1));
    }

    #[test]
    fn credit_is_given_once_for_what_was_shown_and_never_for_more() {
        let (session, mut line) = open();
        let mut view = session.view();
        line.shows(&[b'x'; 1000]);
        drain(&mut view);
        view.read(400);
        view.read(u64::MAX);
        assert_eq!(line.next(), Some(ForWorker::Told(ToWorker::Credit { bytes: 1000 })));
        // Who comes back is shown it again, which is no new credit.
        let mut again = session.view();
        drain(&mut again);
        again.read(1000);
        assert_eq!(line.next(), None);
        line.shows(b"more");
        drain(&mut again);
        again.read(4);
        assert_eq!(line.next(), Some(ForWorker::Told(ToWorker::Credit { bytes: 4 })));
    }

    #[test]
    fn a_flood_that_nobody_reads_stays_within_its_bound_and_flows_again() {
        let (session, mut line) = open();
        for _ in 0..100 {
            line.shows(&[b'y'; 16 * 1024]);
        }
        line.shows(b"\n");
        let mut view = session.view();
        // The only line that is whole begins at its end: nothing is shown, and the flood must not wait for that.
        assert_eq!(drain(&mut view).0, b"");
        let credit = 100 * 16 * 1024 + 1;
        assert_eq!(line.next(), Some(ForWorker::Told(ToWorker::Credit { bytes: credit })));
        line.shows("日本\n".as_bytes());
        assert_eq!(drain(&mut view).0, "日本\n".as_bytes());
    }

    #[test]
    fn input_is_bounded_and_comes_in_order_with_the_latest_size() {
        let (session, mut line) = open();
        let view = session.view();
        let window = vec![b'i'; INPUT_WINDOW as usize];
        assert!(view.typed(&window) && view.typed(&window) && !view.typed(b"!"));
        for cols in [0, 80, 1001, 100] {
            view.resize(cols, 24);
        }
        assert_eq!(line.next(), Some(ForWorker::Told(ToWorker::Resize { cols: 100, rows: 24 })));
        let mut typed = 0;
        while let Some(ForWorker::Bytes(bytes)) = line.next() {
            typed += bytes.len();
        }
        assert_eq!(typed, 2 * window.len());
        assert_eq!(line.told(FromWorker::Taken { bytes: INPUT_WINDOW }), None);
        assert!(view.typed(b"again"));
    }

    #[test]
    fn everybody_who_asks_gets_the_files() {
        let (session, mut line) = open();
        let (mut first, mut second) = (session.ask_files(), session.ask_files());
        assert_eq!(line.next(), Some(ForWorker::Told(ToWorker::Files)));
        assert_eq!(line.next(), None);
        line.told(FromWorker::Files(Folder { left_out: 3, ..Folder::default() }));
        assert_eq!((first.try_recv().unwrap().left_out, second.try_recv().unwrap().left_out), (3, 3));
    }
}
