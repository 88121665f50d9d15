//! From a submission to a grade: run, gather evidence, grade.
//!
//! Only [`run_all`] touches the world. [`weigh`] is a pure function of runs, answers and lab, so a
//! late answer or a changed lab is graded from what is stored, without a sandbox.

use std::collections::BTreeMap;

use evidence::{BuildError, Evidence};
use lab::{Files, Given, Grade, Lab, Run};
use sandbox::{RunRequest, Sandbox};
use store::FinishedRun;
use tokio_util::sync::CancellationToken;

use crate::live::Live;

/// A grade and the evidence that it comes from.
pub(crate) struct Weighed {
    pub(crate) grade: Grade,
    pub(crate) evidence: Evidence,
}

/// Executes every run of the lab on these files, one after the other; what they write goes to `live` meanwhile, but for
/// runs that the learner may not know of.
pub(crate) async fn run_all(
    sandbox: &Sandbox,
    lab: &Lab,
    files: &Files,
    live: Option<&Live>,
    cancel: &CancellationToken,
) -> Result<Vec<Run>, sandbox::Error> {
    let files: BTreeMap<String, Vec<u8>> = lab
        .inputs(files)
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()))
        .collect();
    let mut runs = Vec::with_capacity(lab.runs.len());
    for spec in &lab.runs {
        let output = live.filter(|_| !lab.hides_run(&spec.label, true)).map(|live| live.of(&spec.label));
        runs.push(sandbox.run(RunRequest { spec, files: &files, output, cancel: cancel.clone() }).await?);
    }
    Ok(runs)
}

/// Judges runs: their traces become evidence, the evidence a grade. Blocks; takes milliseconds.
pub(crate) fn weigh(lab: &Lab, runs: &[Run], given: Given<'_>) -> Result<Weighed, BuildError> {
    let evidence = lab.gather(runs, given)?;
    Ok(Weighed { grade: lab::grade(lab, &evidence), evidence })
}

/// Runs as the store keeps them, with what their evidence says of their traces.
pub(crate) fn finished(runs: Vec<Run>, evidence: &Evidence) -> Vec<FinishedRun> {
    let why = |run: &Run| {
        let same = |status: &&evidence::RunStatus| status.label == run.label && status.try_no == run.try_no;
        evidence.runs().iter().find(same)?.incomplete_why.clone()
    };
    let lines = |run: &Run| run.trace.bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    runs.into_iter()
        .map(|run| FinishedRun {
            trace_lines: lines(&run),
            incomplete_why: why(&run),
            explanation: lab::explain(evidence, &run),
            run,
        })
        .collect()
}
