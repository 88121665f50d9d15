//! One run while it is drawn: its tracks, its counters, and what each row becomes.

use std::collections::HashMap;
use std::io::{self, Write};

use rusqlite::{Row, Statement};
use serde_json::Value as Json;

use super::PerfettoError;
use super::json::{File, Micros, Place, number, text};
use crate::{Evidence, Family};

/// Between the ids of two runs in one file. Above 2^22, the kernel's own limit of ids, and round, so
/// that the id in the trace can be read off.
/// <https://man7.org/linux/man-pages/man5/proc_sys_kernel.5.html> (`pid_max`)
const IDS_PER_RUN: i64 = 5_000_000;
/// Stands for the 0 of a trace without thread ids: 0 is the kernel's idle thread to the viewer.
const NO_ID: i64 = IDS_PER_RUN - 1;

/// What is shown of one event.
pub(super) const DETAILS: &str = "select e.pid, e.tid, e.kind, e.name, e.args, e.dur_ns, e.ret, e.errno, e.path, e.fd, e.line, \
     f.kind as fd_kind from events e left join fds f on f.serial = e.serial where e.id = ?";

/// A run while it is drawn.
pub(super) struct Run {
    index: i64,
    pub(super) label: String,
    pub(super) try_no: u32,
    /// Its threads in order: what `threads` says of each.
    threads: Vec<Thread>,
    /// Its last event's end.
    pub(super) end_ns: i64,
    /// Whether its calls have durations.
    has_ends: bool,
    /// Start of the last call of each thread id.
    last_call: HashMap<i64, i64>,
    /// The thread that each `clone` made, by the event's id.
    births: HashMap<i64, i64>,
    /// Threads made and not yet seen to act: the arrow that ends at their first call.
    born: HashMap<i64, i64>,
    open_fds: i64,
    bytes: i64,
}

struct Thread {
    pid: i64,
    tid: i64,
    role: String,
    comm: Option<String>,
    exited_ns: Option<i64>,
}

impl Run {
    pub(super) fn read(
        evidence: &Evidence,
        index: i64,
        (label, try_no): (&str, u32),
    ) -> rusqlite::Result<Self> {
        let sql =
            "select pid, tid, role, comm, exited_ns from threads where run = ? and try = ? order by rowid";
        let mut statement = evidence.db.prepare(sql)?;
        let thread = |row: &Row<'_>| {
            Ok(Thread {
                pid: row.get(0)?,
                tid: row.get(1)?,
                role: row.get(2)?,
                comm: row.get(3)?,
                exited_ns: row.get(4)?,
            })
        };
        let threads = statement.query_map((label, try_no), thread)?.collect::<rusqlite::Result<_>>()?;
        let sql = "select created_id, tid from threads where run = ? and try = ? and created_id is not null";
        let mut statement = evidence.db.prepare(sql)?;
        let birth = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let births = statement.query_map((label, try_no), birth)?.collect::<rusqlite::Result<_>>()?;
        let sql = "select tid, max(t_ns) filter (where kind = 'syscall'), max(max(t_ns, coalesce(end_ns, t_ns))), count(dur_ns)
             from events where run = ? and try = ? and t_ns is not null group by tid";
        let mut statement = evidence.db.prepare(sql)?;
        let mut rows = statement.query((label, try_no))?;
        let (mut end_ns, mut has_ends, mut last_call) = (0, false, HashMap::new());
        while let Some(row) = rows.next()? {
            if let Some(t_ns) = row.get(1)? {
                last_call.insert(row.get(0)?, t_ns);
            }
            end_ns = end_ns.max(row.get(2)?);
            has_ends |= row.get::<_, i64>(3)? > 0;
        }
        let (label, born) = (label.to_owned(), HashMap::new());
        Ok(Self {
            index,
            label,
            try_no,
            threads,
            end_ns,
            has_ends,
            last_call,
            births,
            born,
            open_fds: 0,
            bytes: 0,
        })
    }

    /// An id of its own in the file.
    fn id(&self, id: i64) -> i64 {
        self.index * IDS_PER_RUN + if id == 0 { NO_ID } else { id }
    }

    /// The process that the counters and windows belong to.
    fn main_pid(&self) -> i64 {
        self.id(self.threads.first().map_or(0, |thread| thread.pid))
    }

    /// Names and orders its tracks.
    pub(super) fn name(&self, file: &mut File<impl Write>) -> io::Result<()> {
        let mut seen = Vec::new();
        let (mut processes, mut order) = (Vec::new(), 0);
        for thread in &self.threads {
            if !processes.contains(&thread.pid) {
                let mut name = self.label.clone();
                if self.try_no > 1 {
                    name += &format!(", try {}", self.try_no);
                }
                if !processes.is_empty() {
                    name += &format!(", process {}", thread.pid);
                }
                processes.push(thread.pid);
                let place = Place { pid: self.id(thread.pid), tid: self.id(thread.pid), t_ns: 0 };
                file.meta("process_name", place, "name", &Json::from(name))?;
                let order = self.index * 1000 + i64::try_from(processes.len()).unwrap_or(1000);
                file.meta("process_sort_index", place, "sort_index", &Json::from(order))?;
            }
            // A number that was given again shares the track.
            if seen.contains(&(thread.pid, thread.tid)) {
                continue;
            }
            seen.push((thread.pid, thread.tid));
            order += 1;
            let place = Place { pid: self.id(thread.pid), tid: self.id(thread.tid), t_ns: 0 };
            let comm = thread.comm.as_deref().map_or(String::new(), |comm| format!(" {comm}"));
            let name = format!("{} {}{comm}", thread.role, thread.tid);
            file.meta("thread_name", place, "name", &Json::from(name))?;
            file.meta("thread_sort_index", place, "sort_index", &Json::from(order))?;
        }
        Ok(())
    }

    pub(super) fn draw(
        &mut self,
        step: &Row<'_>,
        details: &mut Statement<'_>,
        file: &mut File<impl Write>,
    ) -> Result<(), PerfettoError> {
        let (t_ns, id): (i64, i64) = (step.get("t")?, step.get("id")?);
        let what: String = step.get("what")?;
        let process = Place { pid: self.main_pid(), tid: self.main_pid(), t_ns };
        match what.as_str() {
            "fd" => {
                self.open_fds += step.get::<_, i64>("extra")?;
                file.counter("open descriptors", process, "open", self.open_fds)?;
            }
            "bytes" => {
                self.bytes = self.bytes.saturating_add(step.get("extra")?);
                file.counter("bytes in flight", process, "bytes", self.bytes)?;
            }
            "open" | "close" => {
                let ph = if what == "open" { "b" } else { "e" };
                let label: String = step.get("label")?;
                file.event(ph, "window", &label, process, &format!("\"id\":{id},"), &[])?;
            }
            "mark" => {
                let label: String = step.get("label")?;
                let at = details.query_row([id], |row| self.place(row, t_ns))?;
                file.event("i", "mark", &label, at, "\"s\":\"p\",", &[("id", Json::from(id))])?;
            }
            "instant" => details.query_row([id], |row| Ok(self.instant(row, t_ns, id, file)))??,
            _ => {
                let next = step.get("extra")?;
                details.query_row([id], |row| Ok(self.call(row, t_ns, next, id, file)))??;
            }
        }
        Ok(())
    }

    fn place(&self, row: &Row<'_>, t_ns: i64) -> rusqlite::Result<Place> {
        Ok(Place { pid: self.id(row.get("pid")?), tid: self.id(row.get("tid")?), t_ns })
    }

    /// A signal, or the end of a thread.
    fn instant(
        &self,
        row: &Row<'_>,
        t_ns: i64,
        id: i64,
        file: &mut File<impl Write>,
    ) -> Result<(), PerfettoError> {
        let (kind, name): (String, String) = (row.get("kind")?, row.get("name")?);
        let args = [
            ("args", text(row.get("args")?)),
            ("status", number(row.get("ret")?)),
            ("id", Json::from(id)),
            ("line", row.get::<_, i64>("line")?.into()),
        ];
        Ok(file.event("i", &kind, &name, self.place(row, t_ns)?, "\"s\":\"t\",", &args)?)
    }

    /// A system call, and the arrow that begins or ends at it.
    fn call(
        &mut self,
        row: &Row<'_>,
        t_ns: i64,
        next: Option<i64>,
        id: i64,
        file: &mut File<impl Write>,
    ) -> Result<(), PerfettoError> {
        let place = self.place(row, t_ns)?;
        let tid: i64 = row.get("tid")?;
        let (end_ns, until) = self.end(t_ns, row.get("dur_ns")?, tid, next);
        let name: String = row.get("name")?;
        let fd_kind: Option<String> = row.get("fd_kind")?;
        let args = [
            ("args", text(row.get("args")?)),
            ("ret", number(row.get("ret")?)),
            ("errno", text(row.get("errno")?)),
            ("path", text(row.get("path")?)),
            ("fd", number(row.get("fd")?)),
            ("id", Json::from(id)),
            ("line", row.get::<_, i64>("line")?.into()),
            ("shown_until", until.map_or(Json::Null, Json::from)),
        ];
        let dur = format!("\"dur\":{},", Micros(end_ns - t_ns));
        let family = Family::of(&name, fd_kind.as_deref()).as_str();
        file.event("X", family, &name, place, &dur, &args)?;
        if let Some(arrow) = self.born.remove(&tid) {
            file.event("f", "thread", "clone", place, &format!("\"bp\":\"e\",\"id\":{arrow},"), &[])?;
        }
        let acts = |made: &&i64| self.last_call.get(*made).is_some_and(|last| *last > t_ns);
        if let Some(&made) = self.births.get(&id).filter(acts) {
            self.born.insert(made, id);
            file.event("s", "thread", "clone", place, &format!("\"id\":{id},"), &[])?;
        }
        Ok(())
    }

    /// Where a call's slice ends, and why there if not because the trace says so.
    fn end(
        &self,
        t_ns: i64,
        dur_ns: Option<i64>,
        tid: i64,
        next: Option<i64>,
    ) -> (i64, Option<&'static str>) {
        let mut end = match dur_ns {
            Some(dur_ns) => (t_ns.saturating_add(dur_ns.max(0)), None),
            // Without -T no call has an end: none is made up.
            None if !self.has_ends => return (t_ns, Some("its start: the trace has no durations")),
            None => {
                let ends = self.threads.iter().filter(|thread| thread.tid == tid).filter_map(|t| t.exited_ns);
                match ends.filter(|end| *end >= t_ns).min() {
                    Some(end) => (end, Some("the end of its thread")),
                    None => (self.end_ns, Some("the end of the run")),
                }
            }
        };
        if let Some(next) = next.filter(|next| *next < end.0) {
            end = (next, Some("the next call of its thread"));
        }
        end
    }
}
