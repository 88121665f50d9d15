//! What is printed when nothing is asked: what the trace is, and what may be asked.

use std::io::{self, Write};
use std::path::PathBuf;

use evidence::printable;
use strace::{Phase, Role, Summary, Trace};

use super::input::Read;
use super::{summary, units};

/// Calls that are listed.
const CALLS: usize = 8;

pub(super) fn print(read: &Read, summary: &Summary, entry: bool, out: &mut impl Write) -> io::Result<()> {
    let trace = &read.trace;
    let size = units::size(trace.text().len() as u64);
    let lines = units::count(trace.lines() as usize, "line");
    let events = units::count(trace.events.len(), "event");
    let whole = if trace.is_complete() { "complete" } else { "not complete" };
    writeln!(out, "{}: {size}, {lines}, {events}, {whole}", printable(&read.name))?;
    for reason in &trace.incomplete {
        field(out, "", reason.as_str())?;
    }
    if !read.command.is_empty() {
        field(out, "command", &read.command.join(" "))?;
    }
    let ended = match (read.exit_code, &read.signal) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("killed by {signal}"),
        (None, None) => "unknown".to_owned(),
    };
    field(out, "ended", &ended)?;
    field(out, "time", &time(read, entry))?;
    field(out, "threads", &threads(trace))?;
    if !trace.marks.is_empty() {
        let names: Vec<&str> = trace.marks.iter().map(|mark| mark.name.as_str()).collect();
        field(out, "marks", &names.join(", "))?;
    }
    if !trace.summary.is_empty() {
        let rows = units::count(trace.summary.len(), "row");
        field(out, "table", &format!("{rows} of strace -c: --sql \"select * from syscall_summary\""))?;
    }
    if !trace.notes.is_empty() {
        field(out, "notes", &trace.notes.len().to_string())?;
    }
    writeln!(out)?;
    let mut calls = summary::calls(&summary.calls);
    let more = calls.rows.len().saturating_sub(CALLS);
    calls.rows.truncate(CALLS);
    calls.write(evidence::Format::Table, out)?;
    if more > 0 {
        writeln!(out, "and {more} more")?;
    }
    writeln!(out)
}

fn field(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {name:<9}{}", printable(value))
}

fn time(read: &Read, entry: bool) -> String {
    let trace = &read.trace;
    if trace.events.iter().all(|event| event.t_ns().is_none()) {
        return "not recorded (strace -ttt -T)".to_owned();
    }
    let all = units::duration(read.wall_ns);
    let begins =
        |phase: Phase| trace.events.iter().find(|event| event.phase == phase).and_then(strace::Event::t_ns);
    let exit = begins(Phase::Exit).unwrap_or(read.wall_ns);
    match begins(Phase::User) {
        Some(user) if entry => {
            let (boot, work) = (units::duration(user), units::duration(exit - user));
            format!("{all}: boot {boot}, user {work}, exit {}", units::duration(read.wall_ns - exit))
        }
        _ => all,
    }
}

/// How many threads there are of each role, in the order in which roles appear.
fn threads(trace: &Trace) -> String {
    let mut roles: Vec<(Role, usize)> = Vec::new();
    for thread in &trace.threads {
        match roles.iter_mut().find(|(role, _)| *role == thread.role) {
            Some((_, count)) => *count += 1,
            None => roles.push((thread.role, 1)),
        }
    }
    let roles: Vec<String> = roles.iter().map(|(role, count)| format!("{count} {}", role.as_str())).collect();
    format!("{}: {}", trace.threads.len(), roles.join(", "))
}

/// What to type next.
pub(super) fn hints(files: &[PathBuf], entry: bool, out: &mut impl Write) -> io::Result<()> {
    let files: Vec<String> = files.iter().map(|file| quoted(&file.to_string_lossy())).collect();
    let files = files.join(" ");
    writeln!(out, "Next:")?;
    if !entry {
        writeln!(out, "  --entry SCRIPT tells the start of the runtime from the script's own work")?;
    }
    writeln!(out, "  todoku trace {files} --summary")?;
    writeln!(out, "  todoku trace {files} --timeline")?;
    writeln!(
        out,
        "  todoku trace {files} --sql \"select role, count(*) as calls from events group by role\""
    )?;
    writeln!(out, "  todoku trace {files} --out evidence.sqlite --perfetto trace.json")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    let shown = printable(word);
    if !word.is_empty() && word.chars().all(plain) {
        shown.into()
    } else {
        format!("'{}'", shown.replace('\'', "'\\''"))
    }
}
