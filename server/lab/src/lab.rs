//! A lab, read whole: everything that asking, running and grading need, and nothing on disk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lang::Localized;
use crate::manifest::{Check, ExampleQuery, Heading, Question, QuestionStage, Window};
use crate::run::RunSpec;

/// Text files by name relative to the work folder, `/` between folders.
pub type Files = BTreeMap<String, String>;

/// Answers by question id: text or an option's value as a string, several options as an array of
/// strings, numbers as numbers.
pub type Answers = BTreeMap<String, serde_json::Value>;

/// An authored exercise at one exact content.
///
/// Serialised, it is the snapshot from which an attempt can be graded again years later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lab {
    /// Name in addresses: the name of its folder.
    pub slug: String,
    /// SHA-256, in hex, of all that a learner or a grade depends on: every file but the solutions.
    pub digest: String,
    /// Version of the `lab.toml` format.
    pub format: u32,
    /// Version of the evidence tables that its queries were written for.
    pub evidence: i32,
    /// A folder of `lab-images/`.
    pub image: String,
    /// The learner's file that node executes.
    pub entry: String,
    /// How long it takes a learner, roughly.
    pub minutes: u32,
    /// Title and summary.
    pub heading: Localized<Heading>,
    /// What to do, Markdown.
    pub text: Localized<String>,
    /// How it works, Markdown: shown after the first graded attempt.
    pub notes: Localized<String>,
    /// What the editor starts with.
    pub starter: Files,
    /// Files beside the learner's that the learner cannot replace.
    pub files: Files,
    /// What is executed, in this order.
    pub runs: Vec<RunSpec>,
    /// What is asked before and after the runs.
    pub questions: Vec<Question>,
    /// Spans of the runs that checks ask for by name.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Queries to begin exploring with.
    #[serde(default)]
    pub queries: Vec<ExampleQuery>,
    /// What is graded.
    pub checks: Vec<Check>,
}

impl Lab {
    /// Points of all checks.
    #[must_use]
    pub fn max_points(&self) -> u32 {
        self.checks.iter().map(|check| check.points).sum()
    }

    /// The questions of one stage.
    pub fn questions(&self, stage: QuestionStage) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(move |q| q.stage == stage)
    }

    /// The question of this id.
    #[must_use]
    pub fn question(&self, id: &str) -> Option<&Question> {
        self.questions.iter().find(|question| question.id == id)
    }

    /// The window of this name.
    pub(crate) fn window(&self, name: &str) -> Option<&Window> {
        self.windows.iter().find(|window| window.name == name)
    }

    /// The check of this id: texts for a stored [`CheckGrade`](crate::CheckGrade).
    #[must_use]
    pub fn check(&self, id: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.id == id)
    }
}
