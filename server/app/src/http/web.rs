//! The built web page: files with hashed names for ever, the page itself always asked for anew.

use std::path::Path;

use axum::Router;
use axum::http::{HeaderValue, Response, header};
use tower::Layer;
use tower_http::services::{ServeDir, ServeFile};
use tower_http::set_header::SetResponseHeaderLayer;

use super::AppState;

/// The build puts a digest of its content into the name of each file of this folder.
const HASHED: &str = "assets";

/// Every other path is the page's own to show: it has a page for what does not exist.
pub(crate) fn routes(dir: &Path) -> Router<AppState> {
    // What is missing now may be there after the next build: only what was found is kept.
    let cached = |value| {
        let found = move |response: &Response<_>| {
            let value = if response.status().is_client_error() { "no-store" } else { value };
            Some(HeaderValue::from_static(value))
        };
        SetResponseHeaderLayer::if_not_present(header::CACHE_CONTROL, found)
    };
    let hashed = ServeDir::new(dir.join(HASHED)).precompressed_br().precompressed_gzip();
    let page = ServeFile::new(dir.join("index.html")).precompressed_br().precompressed_gzip();
    let rest = ServeDir::new(dir).precompressed_br().precompressed_gzip().fallback(page);
    Router::new()
        .nest_service(&format!("/{HASHED}"), cached("public, max-age=31536000, immutable").layer(hashed))
        .fallback_service(cached("no-cache").layer(rest))
}
