//! From what a sandbox brought back to evidence: with [`grade`](crate::grade), all that a regrade needs.

use std::collections::BTreeMap;

use evidence::{Answer, BuildError, Evidence, FileLeft, InputFile, Kept, RunInput, Stage};
use sha2::{Digest, Sha256};
use strace::Trace;

use crate::lab::{Answers, Files, Lab};
use crate::manifest::Window;
use crate::run::{Captured, Run, Tracer};

/// Where the files of an attempt lie in the sandbox. Traces name the entry by this path.
pub const WORK_FOLDER: &str = "/lab";

/// What a learner gave in an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The files submitted.
    pub files: &'a Files,
    /// Answers before the run.
    pub before: &'a Answers,
    /// Answers after it.
    pub after: &'a Answers,
}

impl Default for Given<'_> {
    /// Nothing at all.
    fn default() -> Self {
        static FILES: Files = Files::new();
        static ANSWERS: Answers = Answers::new();
        Self { files: &FILES, before: &ANSWERS, after: &ANSWERS }
    }
}

impl Lab {
    /// What lies in the work folder of a run. The lab's own files win: a learner cannot replace them.
    pub fn inputs<'a>(&'a self, submitted: &'a Files) -> BTreeMap<&'a str, &'a str> {
        let files = submitted.iter().chain(&self.files);
        files.map(|(path, text)| (path.as_str(), text.as_str())).collect()
    }

    /// The evidence of an attempt. Runs that learners may not see come last: events have the same ids in
    /// [`Lab::gather_seen`].
    ///
    /// # Errors
    /// When a run is there twice, an answer is too long for a cell (validation refuses such), or
    /// memory is short: never because of what a trace says.
    pub fn gather(&self, runs: &[Run], given: Given<'_>) -> Result<Evidence, BuildError> {
        let (hidden, mut runs): (Vec<&Run>, Vec<&Run>) =
            runs.iter().partition(|run| self.hides_run(&run.label, true));
        runs.extend(hidden);
        let traces: Vec<Option<Trace>> = runs.iter().map(|run| self.trace(run)).collect();
        let files = self.inputs(given.files);
        let digests: Vec<_> = files.values().map(|text| hex::encode(Sha256::digest(text))).collect();
        let files: Vec<_> = std::iter::zip(&files, &digests)
            .map(|((path, text), sha256)| InputFile { path, sha256, size_bytes: text.len() as u64 })
            .collect();
        let left: Vec<Vec<_>> = runs.iter().map(|run| left(run)).collect();
        let inputs: Vec<_> = std::iter::zip(runs, &traces)
            .zip(&left)
            .map(|((run, trace), left)| input(run, trace.as_ref(), &files, left))
            .collect();
        let windows: Vec<_> = self.windows.iter().filter_map(Window::spec).collect();
        let answers: Vec<_> = [(Stage::Before, given.before), (Stage::After, given.after)]
            .into_iter()
            .flat_map(|(stage, answers)| answers.iter().map(move |answer| (stage, answer)))
            .map(|(stage, (id, value))| Answer { id: id.clone(), stage, value: value.clone() })
            .collect();
        Evidence::build(&inputs, &answers, &BTreeMap::new(), &windows)
    }

    /// The evidence that a learner may see: that of [`Lab::gather`] without the runs that only hidden checks read.
    ///
    /// # Errors
    /// As [`Lab::gather`].
    pub fn gather_seen(&self, mut runs: Vec<Run>, given: Given<'_>) -> Result<Evidence, BuildError> {
        runs.retain(|run| !self.hides_run(&run.label, true));
        self.gather(&runs, given)
    }

    /// What the run's trace says; `None` for an untraced run.
    fn trace(&self, run: &Run) -> Option<Trace> {
        if run.tracer == Tracer::None {
            return None;
        }
        // The sandbox has cut the text at the run's limit already.
        let limits = strace::Limits { bytes: run.trace.bytes.len(), ..strace::Limits::default() };
        let entry = Some(format!("{WORK_FOLDER}/{}", self.entry));
        let options = strace::Options { entry, limits };
        let mut trace = strace::parse(&run.trace.bytes, &options);
        if run.trace.dropped > 0 && !trace.incomplete.contains(&strace::Incomplete::Capped) {
            trace.incomplete.push(strace::Incomplete::Capped);
        }
        Some(trace)
    }
}

fn input<'a>(
    run: &'a Run,
    trace: Option<&'a Trace>,
    inputs: &'a [InputFile<'a>],
    files: &'a [FileLeft<'a>],
) -> RunInput<'a> {
    RunInput {
        label: &run.label,
        try_no: run.try_no,
        command: &run.command,
        outcome: run.outcome.as_str(),
        exit_code: run.exit_code,
        signal: run.signal.as_deref(),
        wall_ns: nanoseconds(run.usage.wall),
        cpu_ns: run.usage.cpu.map(nanoseconds),
        max_rss_bytes: run.usage.max_memory.map(|bytes| saturated(bytes.0)),
        oom: run.usage.oom,
        milli_cpus: Some(run.milli_cpus),
        trace,
        trace_bytes: run.trace.total(),
        stdout: kept(&run.stdout),
        stderr: kept(&run.stderr),
        inputs,
        files,
        files_complete: run.files.as_ref().map(|files| files.cut.is_none()),
        // The sandbox brings none of these.
        summary: &[],
        requests: &[],
    }
}

fn left(run: &Run) -> Vec<FileLeft<'_>> {
    let rows = run.files.iter().flat_map(|files| &files.rows);
    rows.map(|row| FileLeft {
        path: &row.path,
        kind: row.kind.as_str(),
        size_bytes: row.size_bytes,
        mode: row.mode,
        sha256: row.sha256.as_deref(),
        text: row.text.as_deref(),
    })
    .collect()
}

fn kept(stream: &Captured) -> Kept<'_> {
    Kept { head: &stream.bytes, dropped: stream.dropped, tail: &stream.tail }
}

fn nanoseconds(duration: std::time::Duration) -> i64 {
    saturated(duration.as_nanos())
}

fn saturated(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
