//! What a run left: its raw trace.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use evidence::Evidence;
use store::{Attempt, RunId, StoredRun, Viewer};

use super::AppState;
use super::attempts::lab_of;
use super::error::{ApiError, Problem};
use super::evidence::{evidence_of, key_of};
use super::file::{Version, attachment};
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

/// The run as a picture, for [Perfetto's viewer](https://ui.perfetto.dev): Trace Event JSON.
#[utoipa::path(get, path = "/runs/{id}/trace.json", operation_id = "draw_trace", params(("id" = uuid::Uuid, Path),
    ("If-None-Match" = Option<String>, Header, description = "The `ETag` of a file that the caller has")),
    responses((status = OK, content_type = "application/json", body = serde_json::Value), (status = NOT_MODIFIED),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn picture(
    State(state): State<AppState>,
    visitor: Visitor,
    PathId(id): PathId,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let viewer = visitor.viewer("run")?;
    let attempt = seen(&state, RunId(id), viewer).await?;
    let key = key_of(&attempt)?;
    let run = attempt.runs.iter().find(|run| run.id == RunId(id)).ok_or_else(no_run)?;
    let (label, try_no) = (run.run.label.clone(), run.run.try_no);
    let name = format!("{}-{label}-{try_no}.trace.json", attempt.id);
    let version = Version::new(&format!("{id}.{}.{}", key.grade_version, evidence::schema::VERSION));
    if version.is_known(&headers) {
        return Ok(version.not_modified());
    }
    let evidence = evidence_of(&state, attempt, key, viewer).await?;
    let _turn = state.grading.acquire().await.map_err(|error| ApiError::internal(&error))?;
    let draw = move || -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let mut picture = Vec::new();
        Evidence::from_bytes(&evidence)?.write_perfetto(Some((&label, try_no)), &mut picture)?;
        Ok(picture)
    };
    let picture = tokio::task::spawn_blocking(draw).await?.map_err(|error| ApiError::internal(&*error))?;
    Ok(version.on(attachment("application/json", &name, picture)))
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
