//! The evidence of an attempt: its tables described, and as a file.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use evidence::{BuildError, Evidence, schema};
use lab::Given;
use serde::Serialize;
use store::{Attempt, AttemptId, Viewer};
use utoipa::ToSchema;

use super::AppState;
use super::attempts::lab_of;
use super::error::{ApiError, Problem};
use super::file::{Version, attachment};
use super::path::PathId;
use super::visitor::Visitor;
use crate::explore::Key;

/// What there is to be asked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvidenceTables {
    /// Counts up when a column changes its meaning.
    version: i32,
    tables: Vec<TableView>,
    /// Functions beside SQLite's own.
    functions: Vec<FunctionView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EvidenceFunction)]
pub(crate) struct FunctionView {
    name: &'static str,
    /// As it is called: `peak(open_ns, close_ns)`.
    signature: &'static str,
    /// What it yields.
    about: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EvidenceTable)]
pub(crate) struct TableView {
    name: &'static str,
    /// `table` or `view`.
    kind: &'static str,
    /// What one row is.
    about: &'static str,
    columns: Vec<ColumnView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EvidenceColumn)]
pub(crate) struct ColumnView {
    name: &'static str,
    /// SQLite's type: `integer`, `real`, `text` or `any`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What a value means.
    about: &'static str,
}

/// The tables of the evidence, which queries read.
#[utoipa::path(get, path = "/evidence", operation_id = "describe_evidence", responses((status = OK, body = EvidenceTables)))]
pub(crate) async fn tables() -> Json<EvidenceTables> {
    let column =
        |column: &schema::Column| ColumnView { name: column.name, kind: column.kind, about: column.about };
    let table = |table: &schema::Table| TableView {
        name: table.name,
        kind: table.kind.as_str(),
        about: table.about,
        columns: table.columns.iter().map(column).collect(),
    };
    let function = |function: &schema::Function| FunctionView {
        name: function.name,
        signature: function.signature,
        about: function.about,
    };
    Json(EvidenceTables {
        version: schema::VERSION,
        tables: schema::TABLES.iter().map(table).collect(),
        functions: schema::FUNCTIONS.iter().map(function).collect(),
    })
}

/// Bytes that a SQLite tool reads.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "stands for the file in the document")]
pub(crate) struct EvidenceFile(Vec<u8>);

/// The evidence as a SQLite database, for any tool that reads one.
#[utoipa::path(get, path = "/attempts/{id}/evidence.sqlite", operation_id = "read_evidence", params(("id" = uuid::Uuid, Path),
    ("If-None-Match" = Option<String>, Header, description = "The `ETag` of a file that the caller has")),
    responses((status = OK, content_type = "application/vnd.sqlite3", body = EvidenceFile), (status = NOT_MODIFIED),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn file(
    State(state): State<AppState>,
    visitor: Visitor,
    PathId(id): PathId,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let viewer = visitor.viewer("attempt")?;
    let (attempt, key) = graded(&state, AttemptId(id), viewer).await?;
    let version = Version::new(&format!("{id}.{}.{}", key.grade_version, schema::VERSION));
    if version.is_known(&headers) {
        return Ok(version.not_modified());
    }
    let evidence = evidence_of(&state, attempt, key, viewer).await?;
    let _turn = state.grading.acquire().await.map_err(|error| ApiError::internal(&error))?;
    let file = tokio::task::spawn_blocking(move || Evidence::from_bytes(&evidence)?.export()).await?;
    let file = file.map_err(|error| ApiError::internal(&error))?;
    Ok(version.on(attachment("application/vnd.sqlite3", &format!("{id}.sqlite"), file)))
}

/// An attempt that has evidence, and its evidence's name.
pub(crate) async fn graded(
    state: &AppState,
    id: AttemptId,
    viewer: Viewer,
) -> Result<(Attempt, Key), ApiError> {
    let attempt = state.store.attempt(id, viewer).await?.ok_or_else(|| ApiError::not_found("attempt"))?;
    let key = key_of(&attempt)?;
    Ok((attempt, key))
}

/// The name of an attempt's evidence, where it has any.
pub(crate) fn key_of(attempt: &Attempt) -> Result<Key, ApiError> {
    let Some(grade) = &attempt.grade else {
        let detail = "The attempt has no evidence: only a graded one has.";
        return Err(ApiError::conflict("attempt_not_finished", detail));
    };
    Ok(Key { attempt: attempt.id, grade_version: grade.version })
}

/// The evidence that the attempt's maker may see, as bytes: kept, or made from what is stored.
pub(crate) async fn evidence_of(
    state: &AppState,
    attempt: Attempt,
    key: Key,
    viewer: Viewer,
) -> Result<Bytes, ApiError> {
    let make = async {
        let _turn = state.grading.acquire().await.map_err(|error| ApiError::internal(&error))?;
        let lab = lab_of(state, &attempt).await?;
        let runs = state.store.runs_with_traces(attempt.id, viewer).await?;
        let gather = move || -> Result<Vec<u8>, BuildError> {
            let after = attempt.answers_after.unwrap_or_default();
            let runs = runs.into_iter().map(|stored| stored.run).collect();
            let given = Given { files: &attempt.files, before: &attempt.answers_before, after: &after };
            lab.gather_seen(runs, given)?.to_bytes()
        };
        let made = tokio::task::spawn_blocking(gather).await?;
        Ok(Bytes::from(made.map_err(|error| ApiError::internal(&error))?))
    };
    state.evidence.get(key, make).await
}
