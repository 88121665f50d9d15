//! The evidence as a picture for Perfetto's viewer (<https://ui.perfetto.dev>): Trace Event JSON.
//!
//! Its structure is that of the "Trace Event Format" document
//! (<https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>), in the form
//! "JSON Object Format". Rows are read, drawn and forgotten one by one, in the order of time.

mod json;
mod run;

use std::io::{self, Write};

use serde_json::Value as Json;

use crate::Evidence;
use json::File;
use run::{DETAILS, Run};

/// Why a picture was not written.
#[derive(Debug, thiserror::Error)]
pub enum PerfettoError {
    /// No run has that name.
    #[error("there is no run {label}, try {try_no}")]
    UnknownRun {
        /// Its label.
        label: String,
        /// Its try.
        try_no: u32,
    },
    /// No event of it has a time.
    #[error(
        "no event has a time: record with --absolute-timestamps=unix,ns (-ttt) and --syscall-times=ns (-T)"
    )]
    NoTimes,
    /// It could not be written.
    #[error("the picture cannot be written")]
    Write(#[from] io::Error),
    /// The tables could not be read.
    #[error("the evidence cannot be read")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<rusqlite::Error> for PerfettoError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

impl Evidence {
    /// Writes the runs (all of them, or one label and try) as Trace Event JSON. Each run has processes
    /// of its own and begins at time 0. In it are
    ///
    /// - a process and a thread track for each process and thread, named by role, id and name;
    /// - a slice for each system call, up to its end; one whose end the trace does not hold goes on to
    ///   the end of its thread or run, but never into the next call, and its `shown_until` says so;
    /// - instants for signals and ends of threads, and for marks; bands for windows;
    /// - the counter `open descriptors` (the lifetimes that `peak(opened_ns, closed_ns)` counts);
    /// - the counter `bytes in flight`: the bytes of all calls that move bytes and are under way, by
    ///   what they returned in the end;
    /// - an arrow from each `clone` to the first call of the thread it made.
    ///
    /// Events without a time are not drawn; `otherData.events_without_time` counts them.
    ///
    /// # Errors
    /// When there is no such run, no time in it, or `out` fails.
    pub fn write_perfetto(&self, run: Option<(&str, u32)>, out: impl Write) -> Result<(), PerfettoError> {
        let runs = self.tracks(run)?;
        let undrawn = self.undrawn(&runs)?;
        let mut file = File::new(out);
        file.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        for run in &runs {
            run.name(&mut file)?;
        }
        self.draw(runs, &mut file)?;
        write!(file.out, "\n],\"otherData\":{{\"events_without_time\":{undrawn}}}}}\n")?;
        Ok(file.out.flush()?)
    }

    /// The runs to be drawn, with their threads.
    fn tracks(&self, wanted: Option<(&str, u32)>) -> Result<Vec<Run>, PerfettoError> {
        let mut found = Vec::new();
        for status in self.runs() {
            let name = (status.label.as_str(), status.try_no);
            if wanted.is_none_or(|wanted| wanted == name) {
                let index = i64::try_from(found.len()).unwrap_or(i64::MAX);
                found.push(Run::read(self, index, name)?);
            }
        }
        match wanted {
            Some((label, try_no)) if found.is_empty() => {
                Err(PerfettoError::UnknownRun { label: label.to_owned(), try_no })
            }
            _ => Ok(found),
        }
    }

    /// How many events have no time.
    fn undrawn(&self, runs: &[Run]) -> Result<i64, PerfettoError> {
        let sql = "select count(*), count(t_ns) from events where run = ? and try = ?";
        let mut statement = self.db.prepare_cached(sql)?;
        let (mut all, mut timed) = (0, 0);
        for run in runs {
            let counts: (i64, i64) =
                statement.query_row((&run.label, run.try_no), |row| Ok((row.get(0)?, row.get(1)?)))?;
            (all, timed) = (all + counts.0, timed + counts.1);
        }
        if all > 0 && timed == 0 { Err(PerfettoError::NoTimes) } else { Ok(all - timed) }
    }

    /// Draws everything that has a time, in its order.
    fn draw(&self, mut runs: Vec<Run>, file: &mut File<impl Write>) -> Result<(), PerfettoError> {
        let mut plan = self.db.prepare(&plan())?;
        let mut details = self.db.prepare(DETAILS)?;
        let names =
            (0..).zip(&runs).map(|(r, run)| serde_json::json!([r, run.label, run.try_no, run.end_ns]));
        let mut steps = plan.query([Json::from_iter(names).to_string()])?;
        while let Some(step) = steps.next()? {
            let index: u32 = step.get("r")?;
            if let Some(run) = runs.get_mut(index as usize) {
                run.draw(step, &mut details, file)?;
            }
        }
        Ok(())
    }
}

/// Everything that is drawn, as small rows that can be sorted whole: the texts are looked up later.
/// At one time spans end before others begin, and a call begins before what lies in it.
fn plan() -> String {
    const FDS: &str = "fds x where coalesce(opened_ns, 0) < coalesce(closed_ns, 9223372036854775807) \
                       and coalesce(opened_ns, closed_ns) is not null";
    const MOVES: &str = "events x where bytes > 0 and t_ns < end_ns";
    const WINDOWS: &str = "windows x where opened_ns is not null";
    const CALLS: &str = "events x where kind = 'syscall' and t_ns is not null";
    const OTHERS: &str = "events x where kind <> 'syscall' and t_ns is not null";
    // The next call of the thread bounds one whose end is not known.
    const NEXT: &str = "lead(t_ns) over (partition by r, pid, tid order by t_ns, id)";
    let close = "max(opened_ns, coalesce(closed_ns, last_ns))";
    let parts = [
        ("closed_ns", "fd", "serial", "-1", "null", FDS),
        ("coalesce(opened_ns, 0)", "fd", "serial", "1", "null", FDS),
        ("end_ns", "bytes", "id", "-bytes", "null", MOVES),
        ("t_ns", "bytes", "id", "bytes", "null", MOVES),
        (close, "close", "x.rowid", "null", "name", WINDOWS),
        ("opened_ns", "open", "x.rowid", "null", "name", WINDOWS),
        ("t_ns", "call", "id", NEXT, "null", CALLS),
        ("t_ns", "mark", "id", "null", "name", "marks x where t_ns is not null"),
        ("t_ns", "instant", "id", "null", "null", OTHERS),
    ];
    let part = |(rank, (t, what, id, extra, label, from)): (i32, (&str, &str, &str, &str, &str, &str))| {
        let (table, condition) = from.split_once(" where ").unwrap_or((from, "1"));
        format!(
            "select {t} as t, {rank} as rank, '{what}' as what, r, {id} as id, {extra} as extra, {label} as label \
             from {table} cross join picked p on p.run = x.run and p.try = x.try where {condition} and {t} is not null"
        )
    };
    let parts: Vec<String> = (0..).zip(parts).map(part).collect();
    format!(
        "with picked as materialized (select value ->> 0 as r, value ->> 1 as run, value ->> 2 as try, \
         value ->> 3 as last_ns from json_each(?)) select * from ({}) order by t, rank, r, id",
        parts.join(" union all ")
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::{Evidence, RunInput, guard};
    use serde_json::{Value, json};

    const TEXT: &[u8] = b"7 1796000000.000000000 getpid() = 7 <0.000001000>\n\
        7 1796000000.000005000 getpid() = 7 <0.000002000>\n\
        7 1796000000.000010000 +++ exited with 0 +++\n";

    fn run(trace: &strace::Trace) -> RunInput<'_> {
        RunInput { label: "r", try_no: 1, outcome: "exited", trace: Some(trace), ..RunInput::default() }
    }

    #[test]
    fn windows_are_bands() {
        let trace = strace::parse(TEXT, &strace::Options::default());
        let evidence = Evidence::build(&[run(&trace)], &[], &Default::default(), &[]).unwrap();
        guard::unwatch(&evidence.db).unwrap();
        let fill = "pragma query_only = 0;
            insert into windows (run, try, name, from_id, to_id, opened_ns, closed_ns) values ('r', 1, 'a..b', 1, 2, 0, 7000), ('r', 1, 'a..', 1, null, 0, null);";
        evidence.db.execute_batch(fill).unwrap();
        let mut out = Vec::new();
        evidence.write_perfetto(None, &mut out).unwrap();
        let picture: Value = serde_json::from_slice(&out).unwrap();
        let events = picture["traceEvents"].as_array().unwrap();
        let bands = events.iter().filter(|event| event["cat"] == "window");
        let bands: Vec<_> = bands
            .map(|event| json!([event["ph"], event["id"], event["name"], event["ts"], event["pid"]]))
            .collect();
        assert_eq!(
            bands,
            [
                json!(["b", 1, "a..b", 0.0, 7]),
                json!(["b", 2, "a..", 0.0, 7]),
                json!(["e", 1, "a..b", 7.0, 7]),
                json!(["e", 2, "a..", 10.0, 7]),
            ]
        );
    }
}
