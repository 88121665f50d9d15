//! `todoku trace`: the evidence of a trace on one's own machine, with no server, database or engine.
//! `docs/trace.md` is its manual.

mod input;
mod overview;
mod save;
mod summary;
mod timeline;
mod units;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use evidence::{Evidence, Overflow, QueryLimits, RunInput, printable};
use input::{Read, Reading, Want};

use crate::config::{self, Format};

/// Most rows and text of an answer: what a person's machine can hold with ease.
const MOST_ROWS: usize = 1_000_000;
const MOST_TEXT: usize = 256 << 20;
/// Notes of one trace that are printed; the table `notes` has them all.
const NOTES_SHOWN: usize = 5;

/// Why the command ends early.
enum Failure {
    /// A file could not be read or written.
    File(anyhow::Error),
    /// The command line is wrong in a way that only the files show.
    Usage(anyhow::Error),
    /// The query is wrong or hit a bound.
    Query(anyhow::Error),
    /// Nobody reads what we print any more.
    Unread,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let unread = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
        };
        if error.chain().any(unread) { Self::Unread } else { Self::File(error) }
    }
}

/// Errors of printing. Files that we write have a context and come as [`anyhow::Error`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Unread;
        }
        Self::File(anyhow::Error::new(error).context("cannot print"))
    }
}

pub(crate) fn run(config: &config::Trace) -> ExitCode {
    let (code, error) = match answer(config) {
        Ok(()) | Err(Failure::Unread) => return ExitCode::SUCCESS,
        Err(Failure::File(error)) => (1, error),
        Err(Failure::Usage(error)) => (2, error),
        Err(Failure::Query(error)) => (3, error),
    };
    complain(&format!("{error:#}"));
    ExitCode::from(code)
}

/// One line on standard error. Where that is closed there is nobody to tell.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "todoku: {}", printable(what));
}

fn answer(config: &config::Trace) -> Result<(), Failure> {
    let sql = config.sql.as_deref().map(query_text).transpose()?;
    let sources = input::sources(&config.files).map_err(Failure::Usage)?;
    let silent = sql.is_some() || config.out.is_some() || config.perfetto.is_some();
    let overview = !(config.summary || config.timeline || silent);
    let want = Want { trace: overview || config.timeline || silent, summary: overview || config.summary };
    let mut readings = Vec::new();
    for source in &sources {
        let reading = input::read(source, config, want)?;
        warn(&reading);
        readings.push(reading);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    for reading in &readings {
        if readings.len() > 1 && (config.summary || config.timeline) {
            writeln!(out, "== {} ==\n", printable(&reading.label))?;
        }
        if let Some(summary) = reading.summary.as_ref().filter(|_| config.summary) {
            summary::print(summary, &mut out)?;
        }
        if let Some(read) = reading.read.as_ref().filter(|_| config.timeline) {
            timeline::print(read, config, &mut out)?;
        }
        if let (true, Some(read), Some(summary)) = (overview, &reading.read, &reading.summary) {
            overview::print(read, summary, config.entry.is_some(), &mut out)?;
        }
    }
    if overview {
        overview::hints(&config.files, config.entry.is_some(), &mut out)?;
    }
    out.flush()?;
    if silent {
        let traces: Vec<Read> = readings.into_iter().filter_map(|reading| reading.read).collect();
        tables(&traces, sql.as_deref(), config, &mut out)?;
    }
    Ok(out.flush()?)
}

/// Everything that needs the tables.
fn tables(
    traces: &[Read],
    sql: Option<&str>,
    config: &config::Trace,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let runs: Vec<RunInput<'_>> = traces.iter().map(Read::run).collect();
    let evidence = Evidence::build(&runs, &[], &BTreeMap::new(), &[]).context("cannot make the tables")?;
    if let Some(path) = &config.out {
        let bytes = evidence.export().context("cannot make the database")?;
        save::atomically(path, |file| Ok(file.write_all(&bytes)?))?;
    }
    if let Some(path) = &config.perfetto {
        save::atomically(path, |file| Ok(evidence.write_perfetto(None, file)?))?;
    }
    sql.map_or(Ok(()), |sql| ask(&evidence, sql, config, out))
}

fn ask(evidence: &Evidence, sql: &str, config: &config::Trace, out: &mut impl Write) -> Result<(), Failure> {
    let limits = QueryLimits {
        wall: Duration::from_secs(config.timeout.into()),
        rows: MOST_ROWS,
        text_bytes: MOST_TEXT,
        overflow: Overflow::Cut,
    };
    let rows = evidence
        .query(sql, &[], &limits)
        .map_err(|error| Failure::Query(anyhow::Error::new(error).context("--sql")))?;
    let format = match config.format {
        Format::Table => evidence::Format::Table,
        Format::Csv => evidence::Format::Csv,
        Format::Json => evidence::Format::Json,
        Format::Markdown => evidence::Format::Markdown,
    };
    rows.write(format, out)?;
    out.flush()?;
    if rows.truncated {
        complain(&format!("only the first {} rows are shown: there are more", rows.rows.len()));
    }
    Ok(())
}

/// The query itself, or what the file behind an @ holds.
fn query_text(sql: &str) -> Result<String, Failure> {
    let Some(path) = sql.strip_prefix('@') else { return Ok(sql.to_owned()) };
    let text = std::fs::read_to_string(Path::new(path));
    Ok(text.with_context(|| format!("cannot read the query in {path}"))?)
}

/// Says what is odd about a trace.
fn warn(reading: &Reading) {
    let name = &reading.name;
    if let Some(read) = &reading.read {
        let notes = &read.trace.notes;
        for note in notes.iter().take(NOTES_SHOWN) {
            let place = if note.line == 0 { String::new() } else { format!(", line {}", note.line) };
            complain(&format!("{name}{place}: {}", note.text));
        }
        if notes.len() > NOTES_SHOWN {
            complain(&format!(
                "{name}: {} more notes (--sql \"select * from notes\")",
                notes.len() - NOTES_SHOWN
            ));
        }
        for reason in &read.trace.incomplete {
            complain(&format!("{name}: not complete: {}", reason.as_str()));
        }
    } else if let Some(summary) = &reading.summary {
        if let Some((line, why)) = summary.first_unread {
            let others = summary.unread.saturating_sub(1);
            complain(&format!("{name}, line {line}: {why} (and {others} more lines that could not be read)"));
        }
        if summary.unfinished > 0 {
            complain(&format!("{name}: {} calls have no end", summary.unfinished));
        }
    }
}
