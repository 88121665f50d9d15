//! What a run left: its raw trace.

use axum::extract::State;
use axum::response::Response;
use store::{Attempt, RunId, StoredRun, Viewer};

use super::AppState;
use super::attempts::lab_of;
use super::error::{ApiError, Problem};
use super::file::attachment;
use super::path::PathId;
use super::visitor::Visitor;

/// The text that strace wrote.
#[utoipa::path(get, path = "/runs/{id}/trace", operation_id = "read_trace", params(("id" = uuid::Uuid, Path)),
    responses((status = OK, content_type = "text/plain", body = String),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn trace(
    State(state): State<AppState>,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    let viewer = visitor.viewer("run")?;
    seen(&state, RunId(id), viewer).await?;
    let trace = state.store.run_trace(RunId(id), viewer).await?.ok_or_else(no_run)?;
    let name = format!("{}-{}-{}.strace", trace.attempt, trace.label, trace.try_no);
    Ok(attachment("text/plain; charset=utf-8", &name, trace.bytes))
}

/// The attempt of a run that the caller may know of.
async fn seen(state: &AppState, id: RunId, viewer: Viewer) -> Result<Attempt, ApiError> {
    let attempt = state.store.attempt_of_run(id, viewer).await?.ok_or_else(no_run)?;
    let attempt = state.store.attempt(attempt, viewer).await?.ok_or_else(no_run)?;
    let lab = lab_of(state, &attempt).await?;
    let hidden = |run: &StoredRun| run.id == id && lab.hides_run(&run.run.label, true);
    if attempt.runs.iter().any(hidden) { Err(no_run()) } else { Ok(attempt) }
}

fn no_run() -> ApiError {
    ApiError::not_found("run")
}
