//! Learners' own questions to the evidence of an attempt.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics::{counter, histogram};
use store::{AttemptId, Viewer};
use tokio::time::Instant;

use super::AppState;
use super::body::JsonBody;
use super::error::{ApiError, Problem};
use super::evidence::{evidence_of, graded};
use super::path::PathId;
use super::visitor::Visitor;
use crate::explore::child::QueryRows;
use crate::explore::{self, Answer, Busy, FaultKind, Query};

/// Most parameters, as many as SQLite takes, and longest name of one in bytes: an error may list them all.
const MAX_PARAMS: usize = 100;
const MAX_NAME_BYTES: usize = 100;
/// A query is over within 2.5 s.
const RETRY_AFTER_SECONDS: u16 = 3;

/// Runs one reading statement over the evidence of a graded attempt. Rows over the bounds are cut off.
#[utoipa::path(post, path = "/attempts/{id}/query", operation_id = "query_attempt", request_body = Query, params(("id" = uuid::Uuid, Path)),
    responses((status = OK, body = QueryRows), (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json"),
    (status = TOO_MANY_REQUESTS, body = Problem, content_type = "application/problem+json"),
    (status = SERVICE_UNAVAILABLE, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn ask(
    State(state): State<AppState>,
    visitor: Visitor,
    PathId(id): PathId,
    JsonBody(query): JsonBody<Query>,
) -> Result<Response, ApiError> {
    let viewer = visitor.viewer("attempt")?;
    let (attempt, key) = graded(&state, AttemptId(id), viewer).await?;
    bounded(&query)?;
    let who = match viewer {
        Viewer::User(user) => Some(user),
        Viewer::Admin => None,
    };
    let started = Instant::now();
    let turn = state.queries.turn(who).await.map_err(|busy| {
        record("busy", started);
        too_many(busy)
    })?;
    let evidence = evidence_of(&state, attempt, key, viewer).await?;
    let started = Instant::now();
    let answer = explore::ask(turn, query, evidence).await.map_err(|error| {
        record("failed", started);
        ApiError::internal(&error)
    })?;
    record(outcome(&answer), started);
    match answer {
        Answer::Rows { json, .. } => {
            Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], json).into_response())
        }
        Answer::Fault(fault) => Err(fault.into()),
    }
}

fn bounded(query: &Query) -> Result<(), ApiError> {
    let Some(params) = &query.params else { return Ok(()) };
    if params.len() > MAX_PARAMS || params.keys().any(|name| name.len() > MAX_NAME_BYTES) {
        let message = format!(
            "a query takes {MAX_PARAMS} parameters at most, whose names have {MAX_NAME_BYTES} bytes at most"
        );
        return Err(ApiError::invalid_field("query_invalid", "params".into(), &message));
    }
    Ok(())
}

fn too_many(busy: Busy) -> ApiError {
    match busy {
        Busy::Visitor => ApiError::busy(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_queries",
            "Your earlier queries are still running: one runs and two wait at a time. Ask again when they are answered.",
            RETRY_AFTER_SECONDS,
        ),
        Busy::Server => ApiError::busy(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "Too many queries of other people are waiting. Ask again in a moment.",
            RETRY_AFTER_SECONDS,
        ),
    }
}

/// A word for the numbers of the operator.
const fn outcome(answer: &Answer) -> &'static str {
    match answer {
        Answer::Rows { truncated: false, .. } => "rows",
        Answer::Rows { truncated: true, .. } => "truncated",
        Answer::Fault(fault) => match fault.kind {
            FaultKind::Invalid => "invalid",
            FaultKind::Refused => "refused",
            FaultKind::Limit(bound) => bound.as_str(),
        },
    }
}

fn record(outcome: &'static str, started: Instant) {
    counter!("todoku_queries_total", "outcome" => outcome).increment(1);
    histogram!("todoku_query_seconds", "outcome" => outcome).record(started.elapsed().as_secs_f64());
}
