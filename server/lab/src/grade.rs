//! What an attempt earned and why: language-neutral, so that a stored grade reads in any language.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The judgement of one attempt by one lab digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// Points earned by passed checks.
    pub points: u32,
    /// Points of all checks.
    pub max_points: u32,
    /// Whether some check is not judged (yet).
    pub incomplete: bool,
    /// One per check of the lab, in the lab's order.
    pub checks: Vec<CheckGrade>,
}

/// The judgement of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckGrade {
    /// The check's id in the lab.
    pub id: String,
    /// The verdict.
    pub status: Status,
    /// Why it is not judged, or why it failed before its query was asked; `None` otherwise.
    pub reason: Option<Reason>,
    /// What the author (never the learner of a hidden check) is told of an error in the check; what was
    /// missing in which run.
    pub detail: Option<String>,
    /// Points earned: all of them or none.
    pub points: u32,
    /// Points the check is worth.
    pub max_points: u32,
    /// The rows that prove a pass, or that were found instead of what was expected (bounded).
    pub evidence: Vec<EvidenceRow>,
    /// First row of the check's query: values for `{row.column}` in its texts.
    pub row: Option<Map<String, Value>>,
    /// First row of the check's `near` query on failure: values for `{near.column}` in its texts.
    pub near: Option<Map<String, Value>>,
}

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The evidence meets the expectation.
    Passed,
    /// It does not.
    Failed,
    /// No verdict; see [`Reason`].
    NotJudged,
}

/// Why a check was not judged by its query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A run that the check reads has no complete trace.
    EvidenceIncomplete,
    /// The check's own query failed: the author's fault.
    CheckError,
    /// It judges an answer that is not given yet.
    AwaitingAnswer,
    /// It failed: a window that it asks for was never opened, so there was nothing to look into.
    MarkMissing,
}

/// One row of proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRow {
    /// Label of the run; `None` where the row belongs to no single run.
    pub run: Option<String>,
    /// Event id, where the row names one (a column called `id` or `event`).
    pub event: Option<i64>,
    /// Line of that event in its run's trace, from 1.
    pub line: Option<u32>,
    /// The trace's text of that line, or the row's columns as `name = value` where it names no event.
    pub text: String,
}
