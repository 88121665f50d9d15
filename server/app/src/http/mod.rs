//! The REST API and the web page. Knows the store and the labs, and no container.

mod attempt_view;
mod attempts;
mod body;
mod error;
mod events;
mod evidence;
mod file;
mod health;
mod labs;
mod lang;
mod layers;
mod limit_view;
mod live_view;
mod markdown;
mod path;
mod query;
mod runs;
mod submission;
mod terminal_socket;
mod terminals;
mod visitor;
mod web;

use std::path::PathBuf;
use std::sync::Arc;

use axum::{Json, Router};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use store::Store;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::catalogue::Catalogue;
use crate::explore;
use crate::relay::Relay;
use crate::worker::EngineState;
use error::ApiError;
pub(crate) use terminal_socket::watch as watch_terminals;
pub(crate) use terminals::Offer;

/// Settings of the HTTP side.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Whether visitors without an account may make attempts.
    pub(crate) guests: bool,
    /// The bearer token that may do everything.
    pub(crate) admin_token: Option<String>,
    /// Whether cookies are sent over https alone.
    pub(crate) secure_cookies: bool,
    /// Folder of the built web page.
    pub(crate) web_dir: PathBuf,
    /// Bytes of evidence kept in memory.
    pub(crate) evidence_cache_bytes: usize,
    pub(crate) terminals: Offer,
}

/// What every handler may use. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState(Arc<Inner>);

pub(crate) struct Inner {
    store: Store,
    labs: Catalogue,
    /// What this process's worker says of its engine; `None` where other processes run attempts.
    engine: Option<watch::Receiver<EngineState>>,
    settings: Settings,
    /// Set when the server stops: long answers end.
    stop: CancellationToken,
    /// Grading with late answers, or making evidence again, takes a core for as long as it lasts: one at a time.
    grading: Semaphore,
    /// Evidence that was asked lately.
    evidence: explore::Cache,
    /// Learners' queries, of which there are few at one time.
    queries: explore::Queue,
    /// Terminals that browsers and workers' lines meet at.
    relay: Relay,
    metrics: PrometheusHandle,
}

impl std::ops::Deref for AppState {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl AppState {
    pub(crate) fn new(
        store: Store,
        labs: Catalogue,
        engine: Option<watch::Receiver<EngineState>>,
        settings: Settings,
        stop: CancellationToken,
    ) -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let metrics = recorder.handle();
        // A second server in one process (tests) keeps the first one's recorder.
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::debug!("metrics are recorded elsewhere in this process");
        }
        let grading = Semaphore::new(1);
        let evidence = explore::Cache::new(settings.evidence_cache_bytes);
        let queries = explore::Queue::new();
        let relay = Relay::default();
        Self(Arc::new(Inner {
            store,
            labs,
            engine,
            settings,
            stop,
            grading,
            evidence,
            queries,
            relay,
            metrics,
        }))
    }
}

#[derive(OpenApi)]
#[openapi(info(
    title = "Todoku",
    description = "Labs for Node.js, graded by what reached the operating system. Errors are \
                   application/problem+json (RFC 9457) with a stable `code`; times are RFC 3339 in UTC; ids are UUIDv7."
))]
struct Document;

fn api() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(labs::list))
        .routes(routes!(labs::show))
        .routes(routes!(attempts::create, attempts::list))
        .routes(routes!(attempts::show, attempts::cancel))
        .routes(routes!(attempts::answer))
        .routes(routes!(events::stream))
        .routes(routes!(query::ask))
        .routes(routes!(evidence::file))
        .routes(routes!(evidence::tables))
        .routes(routes!(runs::trace))
        .routes(routes!(runs::picture))
        .routes(routes!(terminals::create))
        .routes(routes!(terminals::current))
        .routes(routes!(terminals::show, terminals::close))
        .routes(routes!(terminals::files))
        .routes(routes!(terminal_socket::connect))
}

/// The OpenAPI 3.1 document of the API.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    OpenApiRouter::new().nest(PREFIX, api()).into_openapi()
}

const PREFIX: &str = "/api/v1";

/// Everything that is served.
pub(crate) fn router(state: AppState) -> Router {
    let (api, _) = api().split_for_parts();
    let api = api
        .route("/openapi.json", axum::routing::get(async || Json(document())))
        .fallback(async || ApiError::not_found("call in this API"))
        .method_not_allowed_fallback(layers::method_not_allowed);
    let api = layers::api(api, &state);
    let app = Router::new()
        .nest(PREFIX, api)
        // A nest does not match its own prefix with a slash behind it.
        .route(&format!("{PREFIX}/"), axum::routing::any(async || ApiError::not_found("call in this API")))
        .merge(health::routes())
        .merge(terminal_socket::routes())
        .merge(web::routes(&state.settings.web_dir))
        .with_state(state);
    layers::all(app)
}
