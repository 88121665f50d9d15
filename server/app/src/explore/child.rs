//! The process of one query: reads the query and the evidence, bounds itself, answers and ends.
//!
//! Standard input is a line of JSON ([`Order`]) and the bytes of the evidence; standard output a line of JSON ([`Verdict`]) and,
//! where there are rows, the body of the answer. It is started without environment and opens nothing.

use std::io::{BufRead, Read, Write};
use std::time::Instant;

use anyhow::Context;
use evidence::{Evidence, QueryLimits};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Fault, Query};

const MIB: u64 = 1024 * 1024;
/// What SQLite may use beside the evidence itself.
const SQLITE_BYTES: u64 = 64 * MIB;
/// What may be used beside SQLite: the rows, and the values that our aggregates keep.
const REST_BYTES: u64 = 64 * MIB;
/// Processor time, in seconds: more than a query may take by the clock, for the case that nobody is left to kill us.
const CPU_SECONDS: u64 = 3;
/// Standard input, output and error, which are open: no further file can be.
const OPEN_FILES: u64 = 3;

/// The first line of the input.
#[derive(Serialize, Deserialize)]
pub(super) struct Order<Q> {
    pub(super) query: Q,
    /// How many bytes of evidence follow.
    pub(super) evidence_bytes: u64,
}

/// The first line of the output.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// The rest of the output is a [`QueryRows`]. Says whether rows were cut off.
    Rows { truncated: bool },
    /// There is no rest.
    Fault(Fault),
}

/// What a query yields.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueryRows {
    /// Names of the columns. An integer in a column `id`, or in one whose name ends in `_id`, is an event's.
    columns: Vec<String>,
    /// Values, a list for each row: null, numbers and texts. Blobs are text (`X'00FF'`).
    rows: Vec<Vec<serde_json::Value>>,
    /// Whether there were more rows, which were left out.
    truncated: bool,
    /// How long the query took.
    wall_ms: f64,
}

/// Answers the query on standard input.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    input.read_line(&mut line)?;
    let order: Order<Query> = serde_json::from_str(&line).context("the first line is no order")?;
    confine(order.evidence_bytes)?;
    let mut bytes = vec![0; usize::try_from(order.evidence_bytes)?];
    input.read_exact(&mut bytes).context("the evidence is not whole")?;
    let evidence = Evidence::from_bytes(&bytes)?;
    drop(bytes);

    let params: Vec<_> = order.query.params.unwrap_or_default().into_iter().collect();
    let started = Instant::now();
    let answer = evidence.query(&order.query.sql, &params, &QueryLimits::exploring());
    let wall_ms = (started.elapsed().as_secs_f64() * 1e5).round() / 1e2;
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    let mut say = |verdict: &Verdict| writeln!(output, "{}", serde_json::to_string(verdict)?);
    match answer {
        Err(error) => say(&Verdict::Fault(error.into()))?,
        Ok(found) => {
            say(&Verdict::Rows { truncated: found.truncated })?;
            let evidence::Rows { columns, rows, truncated } = found;
            serde_json::to_writer(&mut output, &QueryRows { columns, rows, truncated, wall_ms })?;
        }
    }
    Ok(output.flush()?)
}

/// Gives up what a query does not need, for good.
/// [setrlimit(2)](https://man7.org/linux/man-pages/man2/setrlimit.2.html).
fn confine(evidence_bytes: u64) -> anyhow::Result<()> {
    // The evidence is here twice for a moment: as it was read, and as SQLite keeps it.
    let space = address_space()? + 2 * evidence_bytes + SQLITE_BYTES + REST_BYTES;
    for (resource, most) in [
        (Resource::As, space),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, OPEN_FILES),
    ] {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .with_context(|| format!("cannot bound {resource:?}"))?;
    }
    rustix::thread::set_no_new_privs(true)?;
    Ok(evidence::limit_heap(SQLITE_BYTES + evidence_bytes)?)
}

/// Bytes of address space in use: the program itself and its libraries.
/// [proc_pid_status(5)](https://man7.org/linux/man-pages/man5/proc_pid_status.5.html).
fn address_space() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix("kB"));
    let kib: u64 = size.context("/proc/self/status has no VmSize")?.trim().parse()?;
    Ok(kib * 1024)
}
