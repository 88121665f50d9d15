//! What is done to every request and response.

use std::time::Duration;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use metrics::{counter, histogram};
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::sensitive_headers::SetSensitiveRequestHeadersLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;
use tower_http::trace::TraceLayer;

use super::error::ApiError;
use super::{AppState, visitor};

/// No inline script, nothing from elsewhere. The editor's styles are adopted style sheets, which
/// this policy does not touch.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Methods that are counted by name.
const METHODS: [&str; 5] = ["GET", "HEAD", "POST", "PUT", "DELETE"];

/// A body that takes longer than this to arrive is not waited for.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Around the API: who is calling, and no writing from other sites' pages.
pub(crate) fn api(router: Router<AppState>, state: &AppState) -> Router<AppState> {
    router
        .layer(from_fn_with_state(state.clone(), visitor::identify))
        .layer(CsrfLayer::new().with_rejection_response(|_| cross_site()))
        .layer(RequestBodyTimeoutLayer::new(BODY_TIMEOUT))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
}

/// Around everything.
pub(crate) fn all(router: Router) -> Router {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    ];
    let mut router = router.layer(CatchPanicLayer::custom(panicked)).layer(CompressionLayer::new());
    for (name, value) in fixed {
        router = router.layer(SetResponseHeaderLayer::if_not_present(name, HeaderValue::from_static(value)));
    }
    router
        .layer(from_fn(measure))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(TraceLayer::new_for_http().make_span_with(span))
        .layer(SetSensitiveRequestHeadersLayer::new([header::AUTHORIZATION, header::COOKIE]))
        .layer(SetRequestIdLayer::new(REQUEST_ID, MakeRequestUuid))
}

/// Every log line of a request carries its id, method and path; never its query or headers.
fn span(request: &Request) -> tracing::Span {
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    tracing::info_span!("request", id, method = %request.method(), path = request.uri().path())
}

async fn measure(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    // A client may send any word: each would be a series of its own.
    let method = Some(request.method().as_str())
        .filter(|method| METHODS.contains(method))
        .unwrap_or("other")
        .to_owned();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    counter!("todoku_http_requests_total", "route" => route.clone(), "method" => method, "status" => status)
        .increment(1);
    let elapsed: Duration = started.elapsed();
    histogram!("todoku_http_seconds", "route" => route).record(elapsed.as_secs_f64());
    response
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    let detail = "Something failed on our side. The request id names it in our logs.";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail).into_response()
}

fn cross_site() -> Response {
    let detail = "A page of another site may not make this request.";
    ApiError::new(StatusCode::FORBIDDEN, "cross_site", detail).into_response()
}

pub(crate) async fn method_not_allowed() -> ApiError {
    let detail = "This call does not exist with this method; see /api/v1/openapi.json.";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}
