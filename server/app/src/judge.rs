//! From a submission to a grade: run, parse, build evidence, grade.
//!
//! Only [`run_all`] touches the world. [`weigh`] is a pure function of runs, answers and lab, so a
//! late answer or a changed lab is graded from what is stored, without a sandbox.

use std::collections::BTreeMap;

use evidence::{Answer, Evidence, RunInput, Stage};
use lab::{Answers, Files, Grade, Lab, Run, Tracer};
use sandbox::{RunRequest, Sandbox};
use store::FinishedRun;
use tokio_util::sync::CancellationToken;

/// Where the sandbox puts the learner's files.
const WORK: &str = "/lab";

/// Everything that a judgement yields.
pub(crate) struct Weighed {
    pub(crate) runs: Vec<FinishedRun>,
    pub(crate) grade: Grade,
    pub(crate) evidence: Evidence,
}

/// Executes every run of the lab on these files, one after the other.
pub(crate) async fn run_all(
    sandbox: &Sandbox,
    lab: &Lab,
    files: &Files,
    cancel: &CancellationToken,
) -> Result<Vec<Run>, sandbox::Error> {
    // The lab's own files win: a learner cannot replace them.
    let files: BTreeMap<String, Vec<u8>> = files
        .iter()
        .chain(&lab.files)
        .map(|(name, text)| (name.clone(), text.clone().into_bytes()))
        .collect();
    let mut runs = Vec::with_capacity(lab.runs.len());
    for spec in &lab.runs {
        runs.push(sandbox.run(RunRequest { spec, files: &files, cancel: cancel.clone() }).await?);
    }
    Ok(runs)
}

/// Judges runs: their traces become evidence, the evidence a grade. Blocks; takes milliseconds.
pub(crate) fn weigh(
    lab: &Lab,
    runs: Vec<Run>,
    before: &Answers,
    after: Option<&Answers>,
) -> Result<Weighed, evidence::BuildError> {
    let traces: Vec<_> = runs.iter().map(|run| trace(lab, run)).collect();
    let inputs: Vec<_> = runs.iter().zip(&traces).map(|(run, trace)| input(run, trace.as_ref())).collect();
    let evidence = Evidence::build(&inputs, &answers(before, after), &BTreeMap::new())?;
    let grade = lab::grade(lab, &evidence);
    let finished = |(run, trace): (Run, Option<strace::Trace>)| FinishedRun {
        trace_lines: trace.as_ref().map_or(0, |trace| u64::from(trace.lines())),
        incomplete_why: trace.filter(|trace| !trace.is_complete()).map(|trace| incomplete_why(&trace)),
        run,
    };
    let runs = runs.into_iter().zip(traces).map(finished).collect();
    Ok(Weighed { runs, grade, evidence })
}

fn trace(lab: &Lab, run: &Run) -> Option<strace::Trace> {
    if run.tracer == Tracer::None {
        return None;
    }
    let limit = lab.runs.iter().find(|spec| spec.label == run.label).map(|spec| spec.limits.trace.0);
    let mut limits = strace::Limits::default();
    limits.bytes = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(limits.bytes);
    let options = strace::Options { entry: Some(format!("{WORK}/{}", lab.entry)), limits };
    let mut trace = strace::parse(&run.trace.bytes, &options);
    if run.trace.dropped > 0 && !trace.incomplete.contains(&strace::Incomplete::Capped) {
        trace.incomplete.push(strace::Incomplete::Capped);
    }
    Some(trace)
}

fn incomplete_why(trace: &strace::Trace) -> String {
    let reasons: Vec<_> = trace.incomplete.iter().map(|reason| reason.as_str()).collect();
    reasons.join("; ")
}

fn input<'a>(run: &'a Run, trace: Option<&'a strace::Trace>) -> RunInput<'a> {
    let ns = |duration: std::time::Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    RunInput {
        label: &run.label,
        try_no: run.try_no,
        command: &run.command,
        outcome: run.outcome.as_str(),
        exit_code: run.exit_code,
        signal: run.signal.as_deref(),
        wall_ns: ns(run.usage.wall),
        cpu_ns: run.usage.cpu.map(ns),
        max_rss_bytes: run.usage.max_memory.map(|bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX)),
        oom: run.usage.oom,
        milli_cpus: run.milli_cpus,
        trace,
        trace_bytes: run.trace.bytes.len() as u64 + run.trace.dropped,
        stdout: &run.stdout.bytes,
        stdout_dropped: run.stdout.dropped,
        stderr: &run.stderr.bytes,
        stderr_dropped: run.stderr.dropped,
    }
}

fn answers(before: &Answers, after: Option<&Answers>) -> Vec<Answer> {
    let staged = |stage| {
        move |(id, value): (&String, &serde_json::Value)| Answer {
            id: id.clone(),
            stage,
            value: value.clone(),
        }
    };
    let after = after.into_iter().flatten().map(staged(Stage::After));
    before.iter().map(staged(Stage::Before)).chain(after).collect()
}
