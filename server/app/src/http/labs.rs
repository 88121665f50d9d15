//! Labs as a learner sees them.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use lab::{Lab, Lang, QuestionKind, QuestionStage, RunSpec, Stage};
use serde::Serialize;
use store::LabProgress;
use utoipa::ToSchema;

use super::error::{ApiError, Problem};
use super::lang::Language;
use super::path::PathSlug;
use super::visitor::Visitor;
use super::{AppState, markdown};

/// A lab in the list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LabSummary {
    slug: String,
    /// Names the lab's exact content.
    digest: String,
    title: String,
    summary: String,
    /// How long it takes, roughly.
    minutes: u32,
    max_points: u32,
    /// The caller's best; null before the first graded attempt.
    best_points: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LabList {
    items: Vec<LabSummary>,
}

/// A lab with all that is needed to try it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LabView {
    #[serde(flatten)]
    summary: LabSummary,
    /// How many attempts of the caller count.
    attempts: u32,
    /// The task, as HTML.
    text_html: String,
    /// How it works, as HTML; null before the caller's first graded attempt.
    notes_html: Option<String>,
    /// The file that node executes.
    entry: String,
    /// What the editor starts with, by file name.
    starter: BTreeMap<String, String>,
    runs: Vec<RunView>,
    questions: Vec<QuestionView>,
    /// The checks that the caller may know of.
    checks: Vec<CheckView>,
    /// Queries over the evidence to begin with.
    queries: Vec<ExampleQueryView>,
}

/// A question to the evidence, ready to be asked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ExampleQuery)]
pub(crate) struct ExampleQueryView {
    /// What it answers, in the language asked for.
    title: String,
    sql: String,
}

/// An execution that every attempt makes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunView {
    label: String,
    /// As one would type it.
    command: String,
    env: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QuestionView {
    id: String,
    stage: AnswerStage,
    #[serde(rename = "type")]
    kind: AnswerType,
    /// Whether several options may be chosen: the answer is an array then.
    multiple: bool,
    prompt_html: String,
    options: Vec<OptionView>,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerStage {
    /// A prediction, sent with the attempt.
    Before,
    /// A conclusion, given once the attempt is graded.
    After,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerType {
    Choice,
    Number,
    Text,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OptionView {
    value: String,
    text: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckView {
    id: String,
    title: String,
    points: u32,
    #[schema(value_type = CheckStage)]
    stage: Stage,
}

/// When a check is seen.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "stands in for the lab's own type in the document")]
pub(crate) enum CheckStage {
    Visible,
    Hidden,
    AfterDue,
    AfterGraded,
}

/// The labs on offer.
#[utoipa::path(get, path = "/labs", operation_id = "list_labs", params(super::lang::LangParam), responses((status = OK, body = LabList)))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Language(lang): Language,
    visitor: Visitor,
) -> Result<Json<LabList>, ApiError> {
    let progress = progress(&state, visitor).await?;
    let items = state.labs.iter().map(|lab| summary(lab, lang, progress.get(&lab.slug))).collect();
    Ok(Json(LabList { items }))
}

/// One lab.
#[utoipa::path(get, path = "/labs/{slug}", operation_id = "show_lab", params(("slug" = String, Path, description = "The lab's name in addresses"), super::lang::LangParam),
    responses((status = OK, body = LabView), (status = NOT_FOUND, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(state): State<AppState>,
    PathSlug(slug): PathSlug,
    Language(lang): Language,
    visitor: Visitor,
) -> Result<Json<LabView>, ApiError> {
    let lab = state.labs.get(&slug).ok_or_else(|| ApiError::not_found("lab"))?;
    let progress = progress(&state, visitor).await?;
    let known = progress.get(&slug);
    let graded = known.is_some_and(|known| known.graded > 0);
    Ok(Json(LabView {
        summary: summary(lab, lang, known),
        attempts: known.map_or(0, |known| known.attempts),
        text_html: markdown::html(lab.text.get(lang)),
        notes_html: graded.then(|| markdown::html(lab.notes.get(lang))),
        entry: lab.entry.clone(),
        starter: lab.starter.clone(),
        runs: lab.runs.iter().filter(|spec| !lab.hides_run(&spec.label, graded)).map(run).collect(),
        questions: lab.questions.iter().map(|question| self::question(question, lang)).collect(),
        checks: lab
            .checks
            .iter()
            .filter(|check| check.stage.is_seen(graded))
            .map(|check| self::check(check, lang))
            .collect(),
        queries: lab
            .queries
            .iter()
            .map(|query| ExampleQueryView { title: query.title(lang).to_owned(), sql: query.sql.clone() })
            .collect(),
    }))
}

async fn progress(state: &AppState, visitor: Visitor) -> Result<BTreeMap<String, LabProgress>, ApiError> {
    let Some(user) = visitor.user() else { return Ok(BTreeMap::new()) };
    let progress = state.store.progress(user).await?;
    Ok(progress.into_iter().map(|lab| (lab.slug.clone(), lab)).collect())
}

fn summary(lab: &Lab, lang: Lang, progress: Option<&LabProgress>) -> LabSummary {
    let heading = lab.heading.get(lang);
    LabSummary {
        slug: lab.slug.clone(),
        digest: lab.digest.clone(),
        title: heading.title.clone(),
        summary: heading.summary.clone(),
        minutes: lab.minutes,
        max_points: lab.max_points(),
        best_points: progress.and_then(|progress| progress.best_points),
    }
}

fn run(spec: &RunSpec) -> RunView {
    let env: String = spec.env.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    let args: String = spec.args.iter().map(|arg| format!(" {arg}")).collect();
    RunView {
        label: spec.label.clone(),
        command: format!("{env}node {}{args}", spec.entry),
        env: spec.env.clone(),
    }
}

fn question(question: &lab::Question, lang: Lang) -> QuestionView {
    QuestionView {
        id: question.id.clone(),
        stage: match question.stage {
            QuestionStage::Before => AnswerStage::Before,
            QuestionStage::After => AnswerStage::After,
        },
        kind: match question.kind {
            QuestionKind::Choice => AnswerType::Choice,
            QuestionKind::Number => AnswerType::Number,
            QuestionKind::Text => AnswerType::Text,
        },
        multiple: question.multiple,
        prompt_html: markdown::html(question.prompt(lang)),
        options: question
            .options
            .iter()
            .map(|option| OptionView { value: option.value.clone(), text: option.text(lang).to_owned() })
            .collect(),
    }
}

fn check(check: &lab::Check, lang: Lang) -> CheckView {
    CheckView {
        id: check.id.clone(),
        title: check.text(lang).title.clone(),
        points: check.points,
        stage: check.stage,
    }
}
