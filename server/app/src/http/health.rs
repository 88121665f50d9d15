//! For the operator: alive, ready, numbers.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use metrics::gauge;
use serde::Serialize;

use super::AppState;

pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
}

/// Whether the service can do its work, and if not, what is missing.
#[derive(Debug, Serialize)]
struct Readiness {
    ready: bool,
    database: Part,
    /// `None` where other processes run attempts.
    engine: Option<Part>,
}

#[derive(Debug, Serialize)]
struct Part {
    ok: bool,
    detail: Option<String>,
}

impl Part {
    fn new(state: Result<(), String>) -> Self {
        Self { ok: state.is_ok(), detail: state.err() }
    }
}

async fn ready(State(state): State<AppState>) -> (StatusCode, Json<Readiness>) {
    let database = Part::new(state.store.ping().await.map_err(|error| error.to_string()));
    let engine = state.engine.as_ref().map(|engine| Part::new(engine.borrow().clone()));
    let ready = database.ok && engine.as_ref().is_none_or(|engine| engine.ok);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready, database, engine }))
}

async fn metrics(State(state): State<AppState>) -> String {
    if let Ok(backlog) = state.store.backlog().await {
        gauge!("todoku_attempts_queued").set(f64::from(backlog.queued));
        gauge!("todoku_attempts_claimed").set(f64::from(backlog.running));
    }
    state.metrics.render()
}
