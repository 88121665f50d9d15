//! What a run left: its raw trace.

use axum::extract::State;
use axum::response::Response;
use store::RunId;

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
    let trace = state.store.run_trace(RunId(id), viewer).await?.ok_or_else(|| ApiError::not_found("run"))?;
    let attempt =
        state.store.attempt(trace.attempt, viewer).await?.ok_or_else(|| ApiError::not_found("run"))?;
    if lab_of(&state, &attempt).await?.hides_run(&trace.label, true) {
        return Err(ApiError::not_found("run"));
    }
    let name = format!("{}-{}-{}.strace", trace.attempt, trace.label, trace.try_no);
    Ok(attachment("text/plain; charset=utf-8", &name, trace.bytes))
}
