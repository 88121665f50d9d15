//! Windows of a run: from one mark to another, or one inbound request.

use strace::{Event, Trace};

use crate::sockets::{Direction, Socket};

/// A window that a lab declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSpec {
    /// Its name: `windows.name` and `events.win`.
    pub name: String,
    /// What opens and closes it.
    pub edges: Edges,
}

/// What opens and closes a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edges {
    /// Two marks; the second one counts where it comes after the first.
    Marks {
        /// The mark that opens it.
        from: String,
        /// The mark that closes it.
        to: String,
    },
    /// An HTTP request from a connection that the program accepted: from its read to the last write
    /// before the connection's next request.
    Request {
        /// Its path, without a query.
        path: String,
        /// Which request for that path, from 1, by the order of their reads.
        nth: u32,
    },
}

/// A window that was opened. Events are indices into the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window<'s> {
    pub(crate) name: &'s str,
    pub(crate) from: usize,
    pub(crate) to: Option<usize>,
}

/// The windows that were opened, in the order of their declaration.
pub(crate) fn windows<'s>(trace: &Trace, specs: &'s [WindowSpec], sockets: &[Socket<'_>]) -> Vec<Window<'s>> {
    let asks = specs.iter().any(|spec| matches!(spec.edges, Edges::Request { .. }));
    let requests = if asks { requests(trace, sockets) } else { Vec::new() };
    let mark = |name: &str| {
        let mark = trace.marks.iter().find(|mark| mark.name == name)?;
        Some(mark.event as usize)
    };
    let window = |spec: &'s WindowSpec| {
        let (from, to) = match &spec.edges {
            Edges::Marks { from, to } => {
                let from = mark(from)?;
                (from, mark(to).filter(|to| *to > from))
            }
            Edges::Request { path, nth } => {
                let of_path = requests.iter().filter(|request| request.path == *path);
                let request = of_path.into_iter().nth((*nth as usize).checked_sub(1)?)?;
                (request.read, request.write)
            }
        };
        Some(Window { name: &spec.name, from, to })
    };
    specs.iter().filter_map(window).collect()
}

/// The window of each event, as an index; empty where there is no window. Where windows overlap, an
/// event lies in the one opened last.
pub(crate) fn of_events(trace: &Trace, windows: &[Window<'_>]) -> Vec<Option<usize>> {
    if windows.is_empty() {
        return Vec::new();
    }
    let mut found = vec![None; trace.events.len()];
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by_key(|index| windows[*index].from);
    for index in order {
        let Window { from, to, .. } = windows[index];
        let end = to.map_or(found.len(), |to| to + 1);
        found[from..end].fill(Some(index));
    }
    found
}

/// Methods of HTTP: RFC 9110, section 9.3, and RFC 5789. The view `served` has the same list.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// A request read and answered, as in the view `served`.
struct Request {
    path: String,
    read: usize,
    write: Option<usize>,
}

/// The requests read from accepted connections, in the order of their reads.
fn requests(trace: &Trace, sockets: &[Socket<'_>]) -> Vec<Request> {
    let mut accepted = vec![false; trace.fds.len()];
    for socket in sockets.iter().filter(|socket| socket.direction == Direction::Accept) {
        accepted[socket.serial as usize] = true;
    }
    let mut found: Vec<Request> = Vec::new();
    // The latest request of each connection.
    let mut latest: Vec<Option<usize>> = vec![None; trace.fds.len()];
    for (index, event) in trace.events.iter().enumerate().filter(|(_, event)| event.ok()) {
        let Some(serial) = event.serial().map(|serial| serial as usize).filter(|serial| accepted[*serial])
        else {
            continue;
        };
        match trace.name(event) {
            "read" | "readv" | "recvfrom" | "recvmsg" => {
                if let Some(path) = path(trace, event) {
                    latest[serial] = Some(found.len());
                    found.push(Request { path, read: index, write: None });
                }
            }
            "write" | "writev" | "sendto" | "sendmsg" | "sendfile" => {
                if let Some(request) = latest[serial] {
                    found[request].write = Some(index);
                }
            }
            _ => {}
        }
    }
    found
}

/// The path that a read's first bytes ask for, without its query.
fn path(trace: &Trace, event: &Event) -> Option<String> {
    let data = trace.details(event).data?;
    let (method, rest) = data.split_once(' ')?;
    let target = rest.split(' ').next().filter(|_| METHODS.contains(&method))?;
    Some(target.split('?').next().unwrap_or(target).to_owned())
}
