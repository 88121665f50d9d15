//! Attempts: made, listed, shown, cancelled, answered.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use lab::{Given, Lab, Lang, Run};
use serde::{Deserialize, Serialize};
use store::{
    Attempt, AttemptId, AttemptState, AttemptSummary, Cancelled, Enqueued, LateAnswers, NewAttempt, Viewer,
};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::AppState;
use super::attempt_view::{AttemptView, State as StateView, view};
use super::body::JsonBody;
use super::error::{ApiError, Problem};
use super::lang::{LangParam, Language};
use super::path::PathId;
use super::submission::NewAttemptBody;
use super::visitor::{self, Visitor};
use crate::{catalogue, judge};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_KEY_CHARS: usize = 200;
const PAGE: u32 = 20;
const MAX_PAGE: u32 = 100;

/// Submits files for a lab. The attempt is queued; follow its events.
#[utoipa::path(post, path = "/attempts", operation_id = "create_attempt", request_body = NewAttemptBody, params(LangParam,
    ("Idempotency-Key" = Option<String>, Header, description = "Sent again with the same key, the request makes no second attempt")),
    responses((status = CREATED, body = AttemptView), (status = OK, body = AttemptView), (status = BAD_REQUEST, body = Problem, content_type = "application/problem+json"),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn create(
    State(state): State<AppState>,
    Language(lang): Language,
    visitor: Visitor,
    headers: HeaderMap,
    body: NewAttemptBody,
) -> Result<Response, ApiError> {
    let lab = state.labs.get(&body.lab).ok_or_else(|| ApiError::not_found("lab"))?;
    lab.validate_submission(&body.files, &body.answers)
        .map_err(|faults| ApiError::invalid("invalid_submission", faults))?;
    let idempotency_key = idempotency_key(&headers)?;
    let (user, cookie) = visitor::user_or_guest(&state, visitor).await?;
    let lab_snapshot = catalogue::snapshot(lab)?;
    let new =
        NewAttempt { user, lab: lab_snapshot, files: body.files, answers: body.answers, idempotency_key };
    let (id, status) = match state.store.enqueue(&new, Utc::now()).await? {
        Enqueued::Made(id) => (id, StatusCode::CREATED),
        Enqueued::Known(id) => (id, sent_again(&state, id, &new).await?),
    };
    let shown = read(&state, id, Viewer::User(user), lang).await?;
    let location = format!("{}/attempts/{id}", super::PREFIX);
    let mut response = (status, [(header::LOCATION, location)], Json(shown)).into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// A request sent again is answered with what it made; another request may not use its key.
async fn sent_again(state: &AppState, id: AttemptId, new: &NewAttempt) -> Result<StatusCode, ApiError> {
    let known = state.store.attempt(id, Viewer::User(new.user)).await?;
    let same = known.is_some_and(|known| {
        known.lab_slug == new.lab.slug && known.files == new.files && known.answers_before == new.answers
    });
    if same {
        return Ok(StatusCode::OK);
    }
    let detail = "This Idempotency-Key was used for another submission: use a new one.";
    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", detail))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    match key.to_str() {
        Ok(key) if (1..=MAX_KEY_CHARS).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "bad_idempotency_key",
            format!("Idempotency-Key takes 1 to {MAX_KEY_CHARS} visible ASCII characters."),
        )),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only attempts at the lab of this slug.
    lab: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<Uuid>,
    /// Attempts on a page: 20, at most 100.
    limit: Option<u32>,
}

/// A line of the list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttemptSummaryView {
    id: Uuid,
    lab: String,
    lab_title: String,
    state: StateView,
    created_at: DateTime<Utc>,
    points: Option<u32>,
    max_points: Option<u32>,
    incomplete: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttemptList {
    items: Vec<AttemptSummaryView>,
    /// Where the next page starts; null on the last.
    next_cursor: Option<Uuid>,
}

/// The caller's attempts, newest first.
#[utoipa::path(get, path = "/attempts", operation_id = "list_attempts", params(ListParams, LangParam), responses((status = OK, body = AttemptList)))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Language(lang): Language,
    visitor: Visitor,
    params: Result<Query<ListParams>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(params) = params?;
    let limit = params.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let mut attempts = match visitor.user() {
        // PostgreSQL knows no NUL, and no slug has one.
        Some(user) if !params.lab.as_ref().is_some_and(|lab| lab.contains('\0')) => {
            let before = params.cursor.map(AttemptId);
            state.store.attempts(user, params.lab.as_deref(), before, limit + 1).await?
        }
        _ => Vec::new(),
    };
    let more = attempts.len() > limit as usize;
    attempts.truncate(limit as usize);
    let next_cursor = attempts.last().filter(|_| more).map(|attempt| attempt.id.0);
    let items = attempts.into_iter().map(|attempt| summary(attempt, &state, lang)).collect();
    let mut response = Json(AttemptList { items, next_cursor }).into_response();
    if let Some(cursor) = next_cursor {
        let lab = params.lab.map(|lab| format!("&lab={lab}")).unwrap_or_default();
        let link = format!("<{}/attempts?cursor={cursor}&limit={limit}{lab}>; rel=\"next\"", super::PREFIX);
        response.headers_mut().extend(HeaderValue::from_str(&link).map(|link| (header::LINK, link)));
    }
    Ok(response)
}

fn summary(attempt: AttemptSummary, state: &AppState, lang: Lang) -> AttemptSummaryView {
    // A lab that is no longer on offer still has its name.
    let title = state.labs.get(&attempt.lab_slug).map(|lab| lab.heading.get(lang).title.clone());
    AttemptSummaryView {
        id: attempt.id.0,
        lab_title: title.unwrap_or_else(|| attempt.lab_slug.clone()),
        lab: attempt.lab_slug,
        state: attempt.state.into(),
        created_at: attempt.created_at,
        points: attempt.points,
        max_points: attempt.max_points,
        incomplete: attempt.incomplete,
    }
}

/// One attempt.
#[utoipa::path(get, path = "/attempts/{id}", operation_id = "show_attempt", params(("id" = Uuid, Path), LangParam), responses((status = OK, body = AttemptView),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Language(lang): Language,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<Json<AttemptView>, ApiError> {
    let id = AttemptId(id);
    Ok(Json(read(&state, id, visitor.viewer("attempt")?, lang).await?))
}

/// Cancels an attempt that is queued or running.
#[utoipa::path(delete, path = "/attempts/{id}", operation_id = "cancel_attempt", params(("id" = Uuid, Path), LangParam), responses((status = OK, body = AttemptView),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(state): State<AppState>,
    Language(lang): Language,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<Json<AttemptView>, ApiError> {
    let (id, viewer) = (AttemptId(id), visitor.viewer("attempt")?);
    match state.store.cancel(id, viewer, Utc::now()).await? {
        Cancelled::Done => Ok(Json(read(&state, id, viewer, lang).await?)),
        Cancelled::Ended(_) => {
            Err(ApiError::conflict("attempt_finished", "The attempt has ended: there is nothing to cancel."))
        }
        Cancelled::Absent => Err(ApiError::not_found("attempt")),
    }
}

/// Answers given after the run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswersBody {
    /// By question id: all questions of stage `after`.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    answers: lab::Answers,
}

/// Gives the answers that come after the run, once. They add a version of the grade.
#[utoipa::path(post, path = "/attempts/{id}/answers", operation_id = "answer_attempt", request_body = AnswersBody, params(("id" = Uuid, Path), LangParam),
    responses((status = OK, body = AttemptView), (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn answer(
    State(state): State<AppState>,
    Language(lang): Language,
    visitor: Visitor,
    PathId(id): PathId,
    JsonBody(body): JsonBody<AnswersBody>,
) -> Result<Json<AttemptView>, ApiError> {
    let (id, viewer) = (AttemptId(id), visitor.viewer("attempt")?);
    let attempt = state.store.attempt(id, viewer).await?.ok_or_else(|| ApiError::not_found("attempt"))?;
    let lab = lab_of(&state, &attempt).await?;
    let answers = body.answers;
    lab.validate_after_answers(&answers).map_err(|faults| ApiError::invalid("invalid_answers", faults))?;
    // What would be refused costs no grading; the store refuses again whoever comes second.
    if attempt.state != AttemptState::Graded {
        return Err(not_graded());
    }
    if attempt.answers_after.is_some() {
        return Err(already_given());
    }
    let grade = grade_with(&state, lab, attempt, viewer, answers.clone()).await?;
    match state.store.answer_after(id, viewer, &answers, &grade, Utc::now()).await? {
        LateAnswers::Stored { .. } => Ok(Json(read(&state, id, viewer, lang).await?)),
        LateAnswers::AlreadyGiven => Err(already_given()),
        LateAnswers::NotGraded(_) => Err(not_graded()),
        LateAnswers::Absent => Err(ApiError::not_found("attempt")),
    }
}

/// Grades what is stored together with these answers, one attempt at a time in this process.
async fn grade_with(
    state: &AppState,
    lab: Arc<Lab>,
    attempt: Attempt,
    viewer: Viewer,
    after: lab::Answers,
) -> Result<lab::Grade, ApiError> {
    let _turn = state.grading.acquire().await.map_err(|error| ApiError::internal(&error))?;
    let runs = state.store.runs_with_traces(attempt.id, viewer).await?;
    let runs: Vec<Run> = runs.into_iter().map(|stored| stored.run).collect();
    let weigh = move || {
        let given = Given { files: &attempt.files, before: &attempt.answers_before, after: &after };
        judge::weigh(&lab, &runs, given)
    };
    let weighed = tokio::task::spawn_blocking(weigh).await?;
    Ok(weighed.map_err(|error| ApiError::internal(&error))?.grade)
}

fn already_given() -> ApiError {
    ApiError::conflict("answers_already_given", "These answers are given once, and they were.")
}

fn not_graded() -> ApiError {
    ApiError::conflict("attempt_not_graded", "Answers are taken once the attempt is graded.")
}

/// The attempt as `viewer` may see it.
pub(crate) async fn read(
    state: &AppState,
    id: AttemptId,
    viewer: Viewer,
    lang: Lang,
) -> Result<AttemptView, ApiError> {
    let attempt = state.store.attempt(id, viewer).await?.ok_or_else(|| ApiError::not_found("attempt"))?;
    let lab = lab_of(state, &attempt).await?;
    Ok(view(attempt, &lab, lang))
}

/// The exact lab that an attempt is about, which may no longer be the one on offer.
pub(crate) async fn lab_of(state: &AppState, attempt: &Attempt) -> Result<Arc<Lab>, ApiError> {
    if let Some(lab) = state.labs.get(&attempt.lab_slug).filter(|lab| lab.digest == attempt.lab_digest) {
        return Ok(Arc::clone(lab));
    }
    let stored = state.store.lab(&attempt.lab_digest).await?.ok_or_else(|| ApiError::not_found("lab"))?;
    Ok(Arc::new(catalogue::restore(&stored)?))
}
