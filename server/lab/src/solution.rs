//! The proof that a lab grades right: a reference that earns everything, and known-bad solutions
//! that each fail exactly the checks they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use evidence::Evidence;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::check::query;
use crate::document::Document;
use crate::fault::{Faults, LoadErrors};
use crate::folder::{Folder, folders};
use crate::grade::{Grade, Status};
use crate::lab::{Answers, Files, Lab};
use crate::load::SOLUTIONS;
use crate::manifest::QuestionStage;

/// The solution that earns every point.
pub const REFERENCE: &str = "reference";

/// A folder of `solutions/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Name of the folder.
    pub name: String,
    /// What is submitted.
    pub files: Files,
    /// Predictions submitted with it.
    pub before: Answers,
    /// Answers given after the run; empty where none are given.
    pub after: BTreeMap<String, AfterAnswer>,
    /// What its grade must be.
    pub expected: Expected,
}

/// An answer given after the run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum AfterAnswer {
    /// Read from the attempt's own evidence, as a learner reads the trace.
    Query(AnswerQuery),
    /// The same every time.
    Fixed(Value),
}

/// `{ sql = "select ..." }`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerQuery {
    /// Its first column of its first row is the answer.
    pub sql: String,
}

/// The verdicts a solution must get: `expect.toml`. Checks it does not name must pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// What is wrong with the solution, in a sentence.
    pub about: String,
    /// Checks that fail.
    #[serde(default)]
    pub fails: BTreeSet<String>,
    /// Checks that get no verdict: those that await answers it does not give, say.
    #[serde(default)]
    pub not_judged: BTreeSet<String>,
}

/// `answers.toml`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswersFile {
    #[serde(default)]
    before: Answers,
    #[serde(default)]
    after: BTreeMap<String, AfterAnswer>,
}

impl Solution {
    /// The answers after the run, as values.
    ///
    /// # Errors
    /// Which answer could not be read from this evidence, and why.
    pub fn after_answers(&self, evidence: &Evidence) -> Result<Answers, String> {
        self.after
            .iter()
            .map(|(id, answer)| match answer {
                AfterAnswer::Fixed(value) => Ok((id.clone(), value.clone())),
                AfterAnswer::Query(AnswerQuery { sql }) => {
                    let rows = query(evidence, sql).map_err(|error| format!("{id}: {error}"))?;
                    let value = rows.rows.first().and_then(|row| row.first());
                    let value = value.ok_or_else(|| format!("{id}: its query returned no row"))?;
                    Ok((id.clone(), value.clone()))
                }
            })
            .collect()
    }
}

impl Expected {
    /// How a grade differs from what was expected, a line each; empty where it does not.
    #[must_use]
    pub fn differences(&self, grade: &Grade) -> Vec<String> {
        let differences = grade.checks.iter().filter_map(|check| {
            let expected = if self.fails.contains(&check.id) {
                Status::Failed
            } else if self.not_judged.contains(&check.id) {
                Status::NotJudged
            } else {
                Status::Passed
            };
            let detail = check.detail.as_deref().unwrap_or_default();
            (check.status != expected).then(|| {
                let (id, status) = (&check.id, check.status);
                format!("{id}: expected {expected:?}, was {status:?} {detail}").trim_end().to_owned()
            })
        });
        differences.collect()
    }
}

/// Reads the solutions of a lab: the reference first, the known-bads by name.
///
/// # Errors
/// All faults at once; among them a check that no known-bad fails, which proves nothing.
pub fn load_solutions(dir: &Path, lab: &Lab) -> Result<Vec<Solution>, LoadErrors> {
    let mut faults = Faults::default();
    let root = dir.join(SOLUTIONS);
    let folders = folders(&root, &mut faults);
    if !folders.contains_key(REFERENCE) {
        let hint = "the solution that earns every point";
        faults.add(&root.join(REFERENCE), None, "is missing", hint);
    }
    let count = folders.len();
    let mut solutions: Vec<_> =
        folders.into_iter().filter_map(|(name, path)| read(name, &path, lab, &mut faults)).collect();
    solutions.sort_by_key(|solution| solution.name != REFERENCE);
    // What fails which check is known only where each of them could be read.
    if solutions.len() == count {
        lint_proof(&root, lab, &solutions, &mut faults);
    }
    faults.or(Some(solutions))
}

fn lint_proof(root: &Path, lab: &Lab, solutions: &[Solution], faults: &mut Faults) {
    let failed: BTreeSet<_> = solutions.iter().flat_map(|s| &s.expected.fails).collect();
    for check in lab.checks.iter().filter(|check| !failed.contains(&check.id)) {
        let message = format!("no solution fails the check \"{}\"", check.id);
        faults.add(root, None, message, "a check is proven by a known-bad that it stops");
    }
}

/// A solution; `None` where one of its TOML files cannot be read.
fn read(name: String, path: &Path, lab: &Lab, faults: &mut Faults) -> Option<Solution> {
    let mut folder = Folder::read(path, None, faults);
    let answers: Option<AnswersFile> = read_toml(&mut folder, "answers.toml", faults);
    let stated = folder.files.contains_key("expect.toml");
    let expected: Option<Expected> = read_toml(&mut folder, "expect.toml", faults);
    let (answers, expected) = (answers?, expected?);
    let solution =
        Solution { name, files: folder.files, before: answers.before, after: answers.after, expected };
    lint(&solution, stated, path, lab, faults);
    Some(solution)
}

/// Removes and reads a file: the default where there is none, `None` once its faults are noted.
fn read_toml<T: Default + DeserializeOwned>(
    folder: &mut Folder,
    name: &str,
    faults: &mut Faults,
) -> Option<T> {
    let Some(text) = folder.files.remove(name) else {
        return Some(T::default());
    };
    let path = folder.path.join(name);
    let document = Document::parse(&path, &text, faults)?;
    Some(document.rest(faults)?.value)
}

fn lint(solution: &Solution, stated: bool, path: &Path, lab: &Lab, faults: &mut Faults) {
    let expect = path.join("expect.toml");
    let expected = &solution.expected;
    if solution.name == REFERENCE && stated {
        faults.add(&expect, None, "the reference passes every check", "remove the file");
    } else if solution.name != REFERENCE && expected.fails.is_empty() {
        let hint = "about = \"what is wrong\" and fails = [\"check-id\"]";
        faults.add(&expect, None, "names no check that this solution fails", hint);
    }
    for id in expected.fails.iter().chain(&expected.not_judged) {
        if lab.check(id).is_none() {
            faults.add(&expect, None, format!("no check is called \"{id}\""), "");
        }
    }
    for id in expected.fails.intersection(&expected.not_judged) {
        faults.add(&expect, None, format!("\"{id}\" cannot fail and have no verdict"), "");
    }
    if let Err(invalid) = lab.validate_submission(&solution.files, &solution.before) {
        for fault in invalid {
            faults.add(path, None, format!("{}: {}", fault.field, fault.message), "");
        }
    }
    if !solution.after.is_empty() {
        lint_after(solution, path, lab, faults);
    }
}

/// Answers that a query gives cannot be checked before there is evidence; their ids can.
fn lint_after(solution: &Solution, path: &Path, lab: &Lab, faults: &mut Faults) {
    let fixed = |answer: &AfterAnswer| match answer {
        AfterAnswer::Fixed(value) => Some(value.clone()),
        AfterAnswer::Query(_) => None,
    };
    let known: Answers =
        solution.after.iter().filter_map(|(id, answer)| Some((id.clone(), fixed(answer)?))).collect();
    let queried = |field: &str| {
        let id = field.trim_start_matches("answers.");
        matches!(solution.after.get(id), Some(AfterAnswer::Query(_)))
    };
    for fault in lab.validate_after_answers(&known).err().into_iter().flatten() {
        if !queried(&fault.field) {
            let message = format!("after: {}: {}", fault.field, fault.message);
            faults.add(&path.join("answers.toml"), None, message, "");
        }
    }
    for (id, answer) in &solution.after {
        let asked = lab.questions(QuestionStage::After).any(|q| q.id == *id);
        if !asked && fixed(answer).is_none() {
            let message = format!("after: no question after the run is called \"{id}\"");
            faults.add(&path.join("answers.toml"), None, message, "");
        }
    }
}
