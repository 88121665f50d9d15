//! `--summary`: calls, roles, paths and sockets, each in a table.

use std::io::{self, Write};

use evidence::{Format, Rows};
use serde_json::{Value as Json, json};
use strace::{ByName, CallSums, RoleSums, Summary, Sums};

use super::units::ms;

/// Paths and sockets that are listed.
const LISTED: usize = 20;

pub(super) fn print(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    section(out, "Calls, by the time spent in them", calls(&summary.calls), usize::MAX)?;
    section(out, "Roles: how their threads spent their lives", roles(&summary.roles), usize::MAX)?;
    writeln!(
        out,
        "waiting: in calls that sleep until something happens (epoll_wait, poll, futex, wait4, ...)."
    )?;
    writeln!(
        out,
        "working: in other calls. outside: in no traced call: computing, or ready for a processor.\n"
    )?;
    let title = "Paths, by the time spent with them";
    section(out, title, by_name("path", &summary.paths), LISTED)?;
    let title = "Sockets, by the time spent with them";
    section(out, title, by_name("socket", &summary.sockets), LISTED)?;
    if !summary.has_durations {
        writeln!(out, "The text does not say how long calls took: trace with strace -T.")?;
    }
    Ok(())
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

/// Each call by name.
pub(super) fn calls(calls: &[CallSums]) -> Rows {
    let row = |call: &CallSums| {
        let Sums { calls, errors, time_ns, longest_ns, .. } = call.sums;
        let mean = time_ns / i64::try_from(calls).unwrap_or(i64::MAX).max(1);
        vec![json!(call.name), json!(calls), json!(errors), ms(time_ns), ms(mean), ms(longest_ns)]
    };
    table(&["call", "calls", "errors", "ms", "mean_ms", "longest_ms"], calls.iter().map(row).collect())
}

/// Each role: how long its threads lived, waited and worked.
fn roles(roles: &[RoleSums]) -> Rows {
    let row = |role: &RoleSums| {
        let outside = (role.life_ns - role.waiting_ns - role.working_ns).max(0);
        vec![
            json!(role.role.as_str()),
            json!(role.threads),
            json!(role.calls),
            json!(role.errors),
            ms(role.life_ns),
            ms(role.waiting_ns),
            ms(role.working_ns),
            ms(outside),
        ]
    };
    let columns =
        ["role", "threads", "calls", "errors", "alive_ms", "waiting_ms", "working_ms", "outside_ms"];
    table(&columns, roles.iter().map(row).collect())
}

fn by_name(what: &str, sums: &ByName) -> Rows {
    let row = |name: &str, sums: &Sums| {
        vec![json!(name), json!(sums.calls), json!(sums.errors), json!(sums.bytes), ms(sums.time_ns)]
    };
    let mut rows: Vec<_> = sums.named.iter().map(|named| row(&named.name, &named.sums)).collect();
    if sums.rest.calls > 0 {
        rows.push(row("(names beyond the first 10,000)", &sums.rest));
    }
    table(&[what, "calls", "errors", "bytes", "ms"], rows)
}
