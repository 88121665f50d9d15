//! Connections asked for, connections taken, sockets that listen: one pass over a trace.
//!
//! By call name, since a descriptor's kind says nothing of what came of it. The calls are those of
//! <https://man7.org/linux/man-pages/man2/connect.2.html>, accept(2), listen(2) and socket(2).

use std::borrow::Cow;
use std::collections::HashMap;

use strace::{Event, FdKind, Trace};

/// How a socket came to be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Connect,
    Accept,
    Listen,
}

impl Direction {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Accept => "accept",
            Self::Listen => "listen",
        }
    }
}

/// A row of `sockets`. Events and lifetimes are indices into the trace.
#[derive(Debug, Clone)]
pub(crate) struct Socket<'t> {
    pub(crate) serial: u32,
    pub(crate) fd: i32,
    pub(crate) family: Option<&'t str>,
    pub(crate) kind: Option<&'static str>,
    pub(crate) direction: Direction,
    /// The call that asked, took or listened.
    pub(crate) event: u32,
    pub(crate) local: Option<String>,
    pub(crate) remote: Option<String>,
    pub(crate) connected_ns: Option<i64>,
    /// `ok`, an error's symbol, or `None` where the trace shows neither.
    pub(crate) outcome: Option<Cow<'t, str>>,
}

/// Finds the rows, in the order of their calls.
pub(crate) fn sockets(trace: &Trace) -> Vec<Socket<'_>> {
    let mut finder = Finder {
        trace,
        rows: Vec::new(),
        made: HashMap::new(),
        open: HashMap::new(),
        listeners: HashMap::new(),
    };
    for (index, event) in (0..).zip(&trace.events) {
        finder.meet(index, event);
    }
    finder.rows
}

/// What a `socket` or `bind` said of a lifetime.
#[derive(Debug, Clone, Copy, Default)]
struct Made<'t> {
    family: Option<&'t str>,
    kind: Option<&'static str>,
    /// The event that bound it.
    bound: Option<u32>,
}

struct Finder<'t> {
    trace: &'t Trace,
    rows: Vec<Socket<'t>>,
    made: HashMap<u32, Made<'t>>,
    /// The latest row of each lifetime.
    open: HashMap<u32, usize>,
    /// The latest row of each process and number that listens.
    listeners: HashMap<(u32, i32), usize>,
}

impl<'t> Finder<'t> {
    fn meet(&mut self, index: u32, event: &'t Event) {
        let Some(serial) = event.serial().filter(|serial| self.may_be_socket(*serial)) else { return };
        match self.trace.name(event) {
            "socket" if event.ok() => {
                let made = Made {
                    family: self.trace.details(event).family,
                    kind: kind_of(&self.trace.args(event)),
                    bound: None,
                };
                self.made.insert(serial, made);
            }
            "bind" if event.ok() => self.made.entry(serial).or_default().bound = Some(index),
            "listen" => self.listen(serial, index, event),
            "accept" | "accept4" if event.ok() => self.accept(serial, index, event),
            "connect" => self.connect(serial, index, event),
            "getsockopt" => self.option(serial, event),
            "read" | "readv" | "recvfrom" | "recvmsg" | "write" | "writev" | "sendto" | "sendmsg"
            | "sendfile" => self.moved(serial, event),
            "epoll_ctl" | "getsockname" | "getpeername" | "shutdown" | "setsockopt" => {
                self.addresses(serial, event);
            }
            _ => {}
        }
    }

    /// Whether a lifetime is a socket, or the trace does not say what it is. Most are not, and the
    /// names of their calls need not be compared.
    fn may_be_socket(&self, serial: u32) -> bool {
        let kind = self.trace.fds.get(serial as usize).map(|life| life.kind);
        matches!(kind, Some(FdKind::Tcp | FdKind::Udp | FdKind::Unix | FdKind::Other))
    }

    fn add(&mut self, row: Socket<'t>) {
        self.open.insert(row.serial, self.rows.len());
        self.rows.push(row);
    }

    fn row(&self, serial: u32, index: u32, event: &Event, direction: Direction) -> Socket<'t> {
        let made = self.made.get(&serial).copied().unwrap_or_default();
        Socket {
            serial,
            fd: event.fd().unwrap_or(-1),
            family: made.family,
            kind: made.kind,
            direction,
            event: index,
            local: None,
            remote: None,
            connected_ns: None,
            outcome: None,
        }
    }

    fn listen(&mut self, serial: u32, index: u32, event: &'t Event) {
        let bound = self.made.get(&serial).and_then(|made| self.trace.events.get(made.bound? as usize));
        let mut row = self.row(serial, index, event, Direction::Listen);
        row.outcome = outcome(self.trace, event);
        row.local = local(note(&self.trace.args(event)))
            .map(str::to_owned)
            .or_else(|| self.trace.details(bound?).remote);
        self.listeners.insert((self.trace.thread(event).pid, row.fd), self.rows.len());
        self.add(row);
    }

    /// The new descriptor is a socket of its listener's kind.
    fn accept(&mut self, serial: u32, index: u32, event: &'t Event) {
        let life = self.trace.fds.get(serial as usize);
        let path = life.and_then(|life| self.trace.fd_path(life)).unwrap_or_default();
        let path = path.as_ref();
        let args = self.trace.args(event);
        let number = args.split(['<', ',']).next().and_then(|number| number.trim().parse().ok());
        let listener = number.and_then(|fd| self.listeners.get(&(self.trace.thread(event).pid, fd)));
        let listener = listener.and_then(|row| self.rows.get(*row));
        let by_note = path.starts_with("TCP").then_some("stream");
        let (family, kind) = listener.map_or((family_of(path), by_note), |row| (row.family, row.kind));
        let address = listener.and_then(|row| row.local.clone());
        let mut row = self.row(serial, index, event, Direction::Accept);
        (row.family, row.kind) = (family, kind);
        row.local = local(path).map(str::to_owned).or(address);
        row.remote = remote(path).map(str::to_owned).or_else(|| self.trace.details(event).remote);
        row.connected_ns = event.end_ns().or(event.t_ns());
        row.outcome = Some("ok".into());
        self.add(row);
    }

    fn connect(&mut self, serial: u32, index: u32, event: &'t Event) {
        let trace = self.trace;
        let args = trace.args(event);
        // Takes a datagram socket's address away again.
        if args.contains("sa_family=AF_UNSPEC") {
            return;
        }
        if let Some(row) = self.pending(serial) {
            return match trace.errno(event) {
                None if event.ok() => settle(row, event.t_ns(), "ok".into()),
                Some("EISCONN") => settle(row, event.t_ns(), "ok".into()),
                None | Some("EALREADY" | "EINPROGRESS" | "EINTR") => {}
                Some(_) => row.outcome = outcome(trace, event),
            };
        }
        let details = trace.details(event);
        let mut row = self.row(serial, index, event, Direction::Connect);
        row.family = row.family.or(details.family);
        row.remote = details.remote;
        row.local = local(note(&args)).map(str::to_owned);
        match trace.errno(event) {
            // It goes on in the background.
            Some("EINPROGRESS" | "EINTR") => {}
            _ => row.outcome = outcome(trace, event),
        }
        if event.ok() {
            row.connected_ns = event.end_ns().or(event.t_ns());
        }
        self.add(row);
    }

    /// A connect of this lifetime of which the trace has not yet shown what came of it.
    fn pending(&mut self, serial: u32) -> Option<&mut Socket<'t>> {
        let row = self.rows.get_mut(*self.open.get(&serial)?)?;
        (row.direction == Direction::Connect && row.outcome.is_none()).then_some(row)
    }

    /// `getsockopt(18, SOL_SOCKET, SO_ERROR, [0], [4]) = 0`
    fn option(&mut self, serial: u32, event: &'t Event) {
        self.addresses(serial, event);
        let trace = self.trace;
        let Some(row) = self.pending(serial).filter(|_| event.ok()) else { return };
        let args = trace.args(event);
        match args.split_once("SO_ERROR, [").and_then(|(_, rest)| rest.split(']').next()) {
            Some("0") => settle(row, event.t_ns(), "ok".into()),
            Some(error) => row.outcome = Some(error.to_owned().into()),
            None => {}
        }
    }

    /// Bytes that went through, or an error that says why not.
    fn moved(&mut self, serial: u32, event: &'t Event) {
        self.addresses(serial, event);
        let trace = self.trace;
        let Some(row) = self.pending(serial) else { return };
        match trace.errno(event) {
            None if event.ok() => settle(row, event.t_ns(), "ok".into()),
            None | Some("EAGAIN" | "EINTR" | "ENOTCONN") => {}
            Some(_) => row.outcome = outcome(trace, event),
        }
    }

    /// What strace says of a descriptor names both addresses once it is connected.
    fn addresses(&mut self, serial: u32, event: &Event) {
        let trace = self.trace;
        let Some(row) = self.open.get(&serial).and_then(|row| self.rows.get_mut(*row)) else { return };
        if row.local.is_none() && row.direction == Direction::Connect {
            let args = trace.args(event);
            // `epoll_ctl` names the instance and what to do before it.
            let start = format!("{}<", row.fd);
            let second = || Some(args.find(&format!(", {start}"))? + 2);
            let at = if args.starts_with(&start) { Some(0) } else { second() };
            row.local = at.and_then(|at| local(note(&args[at..]))).map(str::to_owned);
        }
    }
}

fn settle<'t>(row: &mut Socket<'t>, at: Option<i64>, outcome: Cow<'t, str>) {
    (row.connected_ns, row.outcome) = (at, Some(outcome));
}

/// What a call that returned came to.
fn outcome<'t>(trace: &'t Trace, event: &'t Event) -> Option<Cow<'t, str>> {
    match trace.errno(event) {
        Some(errno) => Some(errno.into()),
        None => event.ok().then(|| "ok".into()),
    }
}

/// The type among the arguments of `socket`.
fn kind_of(args: &str) -> Option<&'static str> {
    let flags = args.split(", ").nth(1)?;
    match flags.split('|').next()? {
        "SOCK_STREAM" => Some("stream"),
        "SOCK_DGRAM" => Some("dgram"),
        "SOCK_SEQPACKET" => Some("seqpacket"),
        "SOCK_RAW" => Some("raw"),
        _ => None,
    }
}

/// What strace says of the descriptor that the arguments begin with: `TCP:[127.0.0.1:1->127.0.0.1:2]`.
fn note(args: &str) -> &str {
    let digits = args.len() - args.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let inner = args[digits..].strip_prefix('<').and_then(|rest| rest.split_once("]>"));
    inner.map_or("", |(inner, _)| inner)
}

/// The addresses in a note, its closing bracket there or not; empty for another note.
fn inner(note: &str) -> &str {
    let inner = note.split_once(":[").map_or("", |(_, inner)| inner);
    inner.strip_suffix(']').unwrap_or(inner)
}

fn family_of(note: &str) -> Option<&'static str> {
    match note.split(":[").next()? {
        "TCP" | "UDP" => Some("AF_INET"),
        "TCPv6" | "UDPv6" => Some("AF_INET6"),
        "UNIX-STREAM" | "UNIX-DGRAM" | "UNIX-SEQPACKET" | "UNIX" => Some("AF_UNIX"),
        _ => None,
    }
}

/// The near end: `127.0.0.1:3000`. A mere inode number is none; a Unix socket's path stands here with
/// escapes, so it is taken from the call that bound it.
fn local(note: &str) -> Option<&str> {
    let near = inner(note).split("->").next()?;
    (near.contains(':') && !near.contains('"')).then_some(near)
}

/// The far end.
fn remote(note: &str) -> Option<&str> {
    let (_, far) = inner(note).split_once("->")?;
    (far.contains(':') && !far.contains('"')).then_some(far)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_what_strace_says() {
        for (args, near, far) in [
            ("18<TCP:[127.0.0.1:1->127.0.0.1:2]>, \"a\", 1", Some("127.0.0.1:1"), Some("127.0.0.1:2")),
            ("18<TCP:[127.0.0.1:3000]>, 511", Some("127.0.0.1:3000"), None),
            ("18<TCPv6:[[::1]:1->[::1]:2]>, 0", Some("[::1]:1"), Some("[::1]:2")),
            ("18<TCP:[421990]>, {", None, None),
            ("18<UNIX-STREAM:[12,\"/tmp/a:b\"]>, 1", None, None),
            ("18<UNIX-STREAM:[12->13]>, 1", None, None),
            ("18, 1", None, None),
            ("18</etc/hosts>, 1", None, None),
            ("", None, None),
        ] {
            assert_eq!((local(note(args)), remote(note(args))), (near, far), "{args}");
        }
    }
}
