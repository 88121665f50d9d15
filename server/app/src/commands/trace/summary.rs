//! `--summary`: calls, roles, paths and sockets, each in a table.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};

use evidence::{Family, Format, Rows};
use serde_json::{Value as Json, json};
use strace::{Event, EventKind, FdKind, Role, Trace};

use super::units::ms;

/// Paths and sockets that are listed.
const LISTED: usize = 20;

pub(super) fn print(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    section(out, "Calls, by the time spent in them", calls(trace), usize::MAX)?;
    section(out, "Roles: how their threads spent their lives", roles(trace), usize::MAX)?;
    writeln!(out, "waiting: in calls that sleep until something happens (epoll_wait, poll, nanosleep, wait4, ...).")?;
    writeln!(out, "working: in other calls. outside: in no traced call: computing, or ready for a processor.\n")?;
    section(out, "Paths, by the time spent with them", paths(trace), LISTED)?;
    section(out, "Sockets, by the time spent with them", sockets(trace), LISTED)
}

fn section(out: &mut impl Write, title: &str, mut rows: Rows, most: usize) -> io::Result<()> {
    if rows.rows.is_empty() {
        return Ok(());
    }
    let more = rows.rows.len().saturating_sub(most);
    rows.rows.truncate(most);
    writeln!(out, "{title}\n")?;
    rows.write(Format::Table, out)?;
    if more > 0 {
        writeln!(out, "and {more} more")?;
    }
    writeln!(out)
}

fn table(columns: &[&str], rows: Vec<Vec<Json>>) -> Rows {
    Rows { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows, truncated: false }
}

fn syscalls(trace: &Trace) -> impl Iterator<Item = &Event> {
    trace.events.iter().filter(|event| event.kind == EventKind::Syscall)
}

/// What is counted of calls of one kind.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    calls: u64,
    errors: u64,
    ns: i64,
    longest_ns: i64,
    bytes_in: i64,
    bytes_out: i64,
}

impl Sum {
    fn add(&mut self, trace: &Trace, event: &Event) {
        let ns = event.dur_ns.unwrap_or(0);
        self.calls += 1;
        self.errors += u64::from(trace.errno(event).is_some());
        self.ns = self.ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// Counts what a call moved: into the program, or out of it.
    fn moved(&mut self, name: &str, bytes: i64) {
        let out = name.contains("write") || name.starts_with("send") || name == "splice";
        *(if out { &mut self.bytes_out } else { &mut self.bytes_in }) += bytes;
    }
}

/// Sums by a key, the longest time first.
fn sorted<K: Hash + Eq + Ord>(sums: HashMap<K, Sum>) -> Vec<(K, Sum)> {
    let mut sums: Vec<(K, Sum)> = sums.into_iter().collect();
    sums.sort_unstable_by(|a, b| b.1.ns.cmp(&a.1.ns).then(b.1.calls.cmp(&a.1.calls)).then(a.0.cmp(&b.0)));
    sums
}

/// Each call by name.
pub(super) fn calls(trace: &Trace) -> Rows {
    let mut sums: HashMap<&str, Sum> = HashMap::new();
    for event in syscalls(trace) {
        sums.entry(trace.name(event)).or_default().add(trace, event);
    }
    let row = |(name, sum): (&str, Sum)| {
        let mean = sum.ns / i64::try_from(sum.calls).unwrap_or(i64::MAX).max(1);
        vec![json!(name), json!(sum.calls), json!(sum.errors), ms(sum.ns), ms(mean), ms(sum.longest_ns)]
    };
    let rows = sorted(sums).into_iter().map(row).collect();
    table(&["call", "calls", "errors", "ms", "mean_ms", "longest_ms"], rows)
}

/// Each role: how long its threads lived, waited and worked.
fn roles(trace: &Trace) -> Rows {
    let mut order: Vec<Role> = Vec::new();
    for thread in &trace.threads {
        if !order.contains(&thread.role) {
            order.push(thread.role);
        }
    }
    let (mut waiting, mut working) = (vec![0_i64; trace.threads.len()], vec![0_i64; trace.threads.len()]);
    let mut spans = vec![(i64::MAX, 0_i64); trace.threads.len()];
    let mut calls = vec![0_u64; trace.threads.len()];
    let mut last = 0;
    for event in &trace.events {
        let thread = event.thread as usize;
        let Some(start) = event.t_ns else { continue };
        let ns = event.dur_ns.unwrap_or(0);
        let end = start.saturating_add(ns);
        spans[thread] = (spans[thread].0.min(start), spans[thread].1.max(end));
        last = last.max(end);
        if event.kind == EventKind::Syscall {
            calls[thread] += 1;
            let waits = Family::of(trace.name(event), None) == Family::Wait;
            *(if waits { &mut waiting[thread] } else { &mut working[thread] }) += ns;
        }
    }
    let life = |index: usize| {
        let thread = &trace.threads[index];
        let from = thread.created_ns.unwrap_or(spans[index].0);
        let to = thread.exited_ns.unwrap_or(if thread.ended { spans[index].1 } else { last });
        to.saturating_sub(from).max(0)
    };
    let rows = order.into_iter().map(|role| {
        let of: Vec<usize> = (0..trace.threads.len()).filter(|&index| trace.threads[index].role == role).collect();
        let sum = |values: &[i64]| of.iter().map(|&index| values[index]).sum::<i64>();
        let alive: i64 = of.iter().map(|&index| life(index)).sum();
        let (waiting, working) = (sum(&waiting), sum(&working));
        let calls: u64 = of.iter().map(|&index| calls[index]).sum();
        let outside = (alive - waiting - working).max(0);
        vec![json!(role.as_str()), json!(of.len()), json!(calls), ms(alive), ms(waiting), ms(working), ms(outside)]
    });
    table(&["role", "threads", "calls", "alive_ms", "waiting_ms", "working_ms", "outside_ms"], rows.collect())
}

/// Each file or folder, under the name that the kernel gave it where the trace says that.
fn paths(trace: &Trace) -> Rows {
    let mut sums: HashMap<Cow<'_, str>, Sum> = HashMap::new();
    for event in syscalls(trace) {
        let details = trace.details(event);
        let life = event.serial.and_then(|serial| trace.fds.get(serial as usize));
        let of_fd = life.filter(|life| matches!(life.kind, FdKind::File | FdKind::Dir)).and_then(|life| life.path.as_deref());
        let Some(path) = of_fd.map(Cow::from).or(details.real).or(details.path) else { continue };
        let sum = sums.entry(path).or_default();
        sum.add(trace, event);
        sum.moved(trace.name(event), details.bytes.unwrap_or(0));
    }
    let row = |(path, sum): (Cow<'_, str>, Sum)| {
        vec![json!(path), json!(sum.calls), json!(sum.errors), json!(sum.bytes_in), json!(sum.bytes_out), ms(sum.ns)]
    };
    let rows = sorted(sums).into_iter().map(row).collect();
    table(&["path", "calls", "errors", "bytes_read", "bytes_written", "ms"], rows)
}

/// Each lifetime of a socket.
fn sockets(trace: &Trace) -> Rows {
    let mut sums: HashMap<u32, (Sum, Option<String>)> = HashMap::new();
    for event in syscalls(trace) {
        let Some(serial) = event.serial else { continue };
        let life = &trace.fds[serial as usize];
        if !matches!(life.kind, FdKind::Tcp | FdKind::Udp | FdKind::Unix) {
            continue;
        }
        let details = trace.details(event);
        let (sum, remote) = sums.entry(serial).or_default();
        sum.add(trace, event);
        sum.moved(trace.name(event), details.bytes.unwrap_or(0));
        *remote = remote.take().or(details.remote);
    }
    let remotes: HashMap<u32, String> =
        sums.iter().filter_map(|(serial, (_, remote))| Some((*serial, remote.clone()?))).collect();
    let row = |(serial, sum): (u32, Sum)| {
        let life = &trace.fds[serial as usize];
        let remote = remotes.get(&serial).map_or(Json::Null, |remote| json!(remote));
        let open = life.opened_ns.zip(life.closed_ns).map_or(Json::Null, |(from, to)| ms(to - from));
        vec![
            json!(life.fd),
            json!(life.kind.as_str()),
            remote,
            json!(sum.calls),
            json!(sum.errors),
            json!(sum.bytes_in),
            json!(sum.bytes_out),
            ms(sum.ns),
            open,
        ]
    };
    let rows = sorted(sums.into_iter().map(|(serial, (sum, _))| (serial, sum)).collect()).into_iter().map(row);
    let columns = ["fd", "kind", "remote", "calls", "errors", "bytes_in", "bytes_out", "ms", "open_ms"];
    table(&columns, rows.collect())
}
