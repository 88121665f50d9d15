//! What a learner sends: files and answers, checked before anything runs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::lab::{Answers, Files, Lab};
use crate::lang::bounded;
use crate::manifest::{Question, QuestionKind, QuestionStage};
use crate::names::{MAX_FILE_NAME_BYTES, check_file_name};

/// Most files of a submission.
pub const MAX_FILES: usize = 100;

/// Most bytes of a submission: names and contents together.
pub const MAX_SUBMISSION_BYTES: usize = 1024 * 1024;

/// Longest text answer, in characters.
pub const MAX_TEXT_CHARS: usize = 2000;

/// Most faults that are told: who sends more has no use for them.
const MAX_FAULTS: usize = 100;

/// Something in a submission that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFault {
    /// Where: `files`, `files.<name>` or `answers.<id>`.
    pub field: String,
    /// Which rule: stable, for programs.
    pub code: &'static str,
    /// What is wrong and what would be right, in English.
    pub message: String,
}

impl InputFault {
    fn new(field: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { field: field.into(), code, message: message.into() }
    }
}

impl Lab {
    /// Checks the files of an attempt and its predictions, which may be left out.
    ///
    /// # Errors
    /// All faults at once.
    pub fn validate_submission(&self, files: &Files, answers: &Answers) -> Result<(), Vec<InputFault>> {
        let mut faults = self.file_faults(files);
        faults.extend(self.answer_faults(QuestionStage::Before, answers));
        none_or(faults)
    }

    /// Checks the answers given after an attempt is graded. They are given once, so each question
    /// needs one.
    ///
    /// # Errors
    /// All faults at once.
    pub fn validate_after_answers(&self, answers: &Answers) -> Result<(), Vec<InputFault>> {
        let mut faults = self.answer_faults(QuestionStage::After, answers);
        for question in self.questions(QuestionStage::After) {
            if !answers.contains_key(&question.id) {
                faults.push(InputFault::new(
                    field_of("answers", &question.id),
                    "answer_missing",
                    "answers after the run are given once, all together",
                ));
            }
        }
        none_or(faults)
    }

    /// Whether a submission may have a file of this name.
    #[must_use]
    pub fn takes_file(&self, name: &str) -> bool {
        check_file_name(name).is_ok() && !self.files.contains_key(name)
    }

    fn file_faults(&self, files: &Files) -> Vec<InputFault> {
        let mut faults = Vec::new();
        if files.len() > MAX_FILES {
            let message = format!("{} files; at most {MAX_FILES} are allowed", files.len());
            faults.push(InputFault::new("files", "too_many_files", message));
        }
        let bytes: usize = files.iter().map(|(name, text)| name.len() + text.len()).sum();
        if bytes > MAX_SUBMISSION_BYTES {
            let message = format!("{bytes} bytes in all; at most {MAX_SUBMISSION_BYTES} are allowed");
            faults.push(InputFault::new("files", "files_too_large", message));
        }
        if !files.contains_key(&self.entry) {
            let message = format!("{} is missing: it is the file that runs", self.entry);
            faults.push(InputFault::new("files", "entry_missing", message));
        }
        for name in files.keys() {
            let field = || field_of("files", name);
            if let Err((code, message)) = check_file_name(name) {
                faults.push(InputFault::new(field(), code, message));
            } else if self.files.contains_key(name) {
                let message = "the lab itself puts a file of this name there";
                faults.push(InputFault::new(field(), "file_reserved", message));
            } else if let Some(inner) = file_below(name, files.keys().chain(self.files.keys())) {
                let message = format!("cannot be a file and the folder of {inner} at once");
                faults.push(InputFault::new(field(), "file_is_folder", message));
            } else if let Some(outer) = self.files.keys().find(|lab| is_below(name, lab)) {
                let message = format!("{outer} is a file of the lab, not a folder");
                faults.push(InputFault::new(field(), "file_is_folder", message));
            }
        }
        faults
    }

    fn answer_faults(&self, stage: QuestionStage, answers: &Answers) -> Vec<InputFault> {
        answers
            .iter()
            .filter_map(|(id, value)| {
                let (code, message) = match self.question(id) {
                    None => ("answer_unknown", "this lab has no such question".to_owned()),
                    Some(question) if question.stage != stage => {
                        ("answer_wrong_stage", stage_rule(question.stage).to_owned())
                    }
                    Some(question) => answer_fault(question, value)?,
                };
                let field = field_of("answers", id);
                Some(InputFault::new(field, code, message))
            })
            .collect()
    }
}

fn none_or(mut faults: Vec<InputFault>) -> Result<(), Vec<InputFault>> {
    faults.truncate(MAX_FAULTS);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Where a fault is: printable and short whatever was sent.
fn field_of(part: &str, name: &str) -> String {
    format!("{part}.{}", bounded(&name.escape_debug().to_string(), MAX_FILE_NAME_BYTES))
}

/// Whether `name` lies in the folder `folder`.
fn is_below(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn file_below<'a>(folder: &str, mut names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    names.find(|name| is_below(name, folder))
}

const fn stage_rule(stage: QuestionStage) -> &'static str {
    match stage {
        QuestionStage::Before => "is a prediction: it is sent with the attempt, not after it",
        QuestionStage::After => "is answered once the attempt is graded, not with it",
    }
}

/// What is wrong with a value as an answer to a question of its stage.
fn answer_fault(question: &Question, value: &Value) -> Option<(&'static str, String)> {
    match (question.kind, value) {
        // JSON knows no infinity: what parsed is finite.
        (QuestionKind::Number, Value::Number(_)) => None,
        (QuestionKind::Text, Value::String(text)) => {
            let chars = text.chars().count();
            (chars > MAX_TEXT_CHARS).then(|| {
                let message = format!("{chars} characters; at most {MAX_TEXT_CHARS} are allowed");
                ("answer_too_long", message)
            })
        }
        (QuestionKind::Choice, Value::String(chosen)) if !question.multiple => option_fault(question, chosen),
        (QuestionKind::Choice, Value::Array(chosen)) if question.multiple => set_fault(question, chosen),
        (kind, _) => Some(("answer_wrong_type", wanted(kind, question.multiple).to_owned())),
    }
}

fn set_fault(question: &Question, chosen: &[Value]) -> Option<(&'static str, String)> {
    let mut seen = BTreeSet::new();
    chosen.iter().find_map(|value| match value.as_str() {
        None => Some(("answer_wrong_type", wanted(question.kind, true).to_owned())),
        Some(option) if !seen.insert(option) => {
            Some(("answer_repeated", "an option is chosen twice".to_owned()))
        }
        Some(option) => option_fault(question, option),
    })
}

fn option_fault(question: &Question, chosen: &str) -> Option<(&'static str, String)> {
    let values: Vec<_> = question.options.iter().map(|o| o.value.as_str()).collect();
    (!values.contains(&chosen)).then(|| {
        let message = format!("choose from: {}", values.join(", "));
        ("answer_not_an_option", message)
    })
}

const fn wanted(kind: QuestionKind, multiple: bool) -> &'static str {
    match kind {
        QuestionKind::Number => "wants a number",
        QuestionKind::Text => "wants a string",
        QuestionKind::Choice if multiple => "wants an array of the options chosen",
        QuestionKind::Choice => "wants the chosen option as a string",
    }
}
