//! What a run left: its raw trace.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use store::RunId;

use super::AppState;
use super::error::{ApiError, Problem};
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
    let trace = state
        .store
        .run_trace(RunId(id), visitor.viewer("run")?)
        .await?
        .ok_or_else(|| ApiError::not_found("run"))?;
    let file = format!("attachment; filename=\"{}-{}-{}.strace\"", trace.attempt, trace.label, trace.try_no);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_str(&file).unwrap_or(HeaderValue::from_static("attachment")),
        ),
    ];
    Ok((headers, trace.bytes).into_response())
}
