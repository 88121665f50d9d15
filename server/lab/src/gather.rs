//! From what a sandbox brought back to evidence: with [`grade`](crate::grade), all that a regrade needs.

use std::collections::BTreeMap;

use evidence::{Answer, BuildError, Evidence, InputFile, RunInput, Stage};
use sha2::{Digest, Sha256};
use strace::Trace;

use crate::lab::{Answers, Lab};
use crate::manifest::Window;
use crate::run::{Run, Tracer};

/// Where the files of an attempt lie in the sandbox. Traces name the entry by this path.
pub const WORK_FOLDER: &str = "/lab";

impl Lab {
    /// The evidence of an attempt. Runs that learners may not see come last: events have the same ids in
    /// [`Lab::gather_seen`].
    ///
    /// # Errors
    /// When a run is there twice, an answer is too long for a cell (validation refuses such), or
    /// memory is short: never because of what a trace says.
    pub fn gather(&self, runs: &[Run], before: &Answers, after: &Answers) -> Result<Evidence, BuildError> {
        let (hidden, mut runs): (Vec<&Run>, Vec<&Run>) =
            runs.iter().partition(|run| self.hides_run(&run.label, true));
        runs.extend(hidden);
        let traces: Vec<Option<Trace>> = runs.iter().map(|run| self.trace(run)).collect();
        let digests: Vec<_> = self.files.values().map(|text| hex::encode(Sha256::digest(text))).collect();
        let files: Vec<_> = std::iter::zip(&self.files, &digests)
            .map(|((path, text), sha256)| InputFile { path, sha256, size_bytes: text.len() as u64 })
            .collect();
        let inputs: Vec<_> =
            runs.into_iter().zip(&traces).map(|(run, trace)| input(run, trace.as_ref(), &files)).collect();
        let windows: Vec<_> = self.windows.iter().filter_map(Window::spec).collect();
        let answers: Vec<_> = [(Stage::Before, before), (Stage::After, after)]
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
    pub fn gather_seen(
        &self,
        mut runs: Vec<Run>,
        before: &Answers,
        after: &Answers,
    ) -> Result<Evidence, BuildError> {
        runs.retain(|run| !self.hides_run(&run.label, true));
        self.gather(&runs, before, after)
    }

    /// What the run's trace says; `None` for an untraced run.
    fn trace(&self, run: &Run) -> Option<Trace> {
        if run.tracer == Tracer::None {
            return None;
        }
        // The sandbox has cut the text at the run's limit already.
        let limits = strace::Limits { bytes: run.trace.bytes.len(), ..strace::Limits::default() };
        let entry = Some(format!("{WORK_FOLDER}/{}", self.entry));
        let options = strace::Options { entry, limits, ..strace::Options::default() };
        let mut trace = strace::parse(&run.trace.bytes, &options);
        if run.trace.dropped > 0 && !trace.incomplete.contains(&strace::Incomplete::Capped) {
            trace.incomplete.push(strace::Incomplete::Capped);
        }
        Some(trace)
    }
}

fn input<'a>(run: &'a Run, trace: Option<&'a Trace>, inputs: &'a [InputFile<'a>]) -> RunInput<'a> {
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
        milli_cpus: run.milli_cpus,
        trace,
        trace_bytes: run.trace.bytes.len() as u64 + run.trace.dropped,
        stdout: &run.stdout.bytes,
        stdout_dropped: run.stdout.dropped,
        stderr: &run.stderr.bytes,
        stderr_dropped: run.stderr.dropped,
        inputs,
        // The sandbox brings none of these.
        summary: &[],
        files: &[],
        requests: &[],
    }
}

fn nanoseconds(duration: std::time::Duration) -> i64 {
    saturated(duration.as_nanos())
}

fn saturated(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
