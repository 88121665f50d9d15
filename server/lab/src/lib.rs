//! What a lab asks, what a run is, and how it is graded.
//!
//! Pure: no clock, no database, no container; reading a lab's folder ([`load`]) is the only I/O.
//! `docs/lab-format.md` is the reference for authors.
#![warn(missing_docs)]

mod check;
mod document;
mod expect;
mod explain;
mod fault;
mod folder;
mod gather;
mod grade;
mod hidden;
mod lab;
mod lang;
mod lint;
mod lint_check;
mod lint_query;
mod load;
mod manifest;
mod names;
mod run;
mod solution;
mod submission;

pub use check::grade;
pub use expect::{Comparison, Expect};
pub use explain::{Commonest, Explanation, Full, LastCall, explain};
pub use fault::{LoadError, LoadErrors};
pub use gather::{Given, WORK_FOLDER};
pub use grade::{CheckGrade, EvidenceRow, Grade, Reason, Status};
pub use lab::{Answers, Files, Lab};
pub use lang::{Lang, Localized};
pub use load::{load, load_all};
pub use manifest::{
    Check, CheckText, Choice, ExampleQuery, FORMAT, Heading, QueryText, Question, QuestionKind,
    QuestionStage, QuestionText, Stage, Window,
};
pub use names::MAX_FILE_NAME_BYTES;
pub use run::{Bytes, Captured, FileKind, FileLeft, FilesLeft, Limits, Outcome, Run, RunSpec, Tracer, Usage};
pub use solution::{AfterAnswer, AnswerQuery, Expected, REFERENCE, Solution, load_solutions};
pub use submission::{InputFault, MAX_FILES, MAX_SUBMISSION_BYTES, MAX_TEXT_CHARS};
