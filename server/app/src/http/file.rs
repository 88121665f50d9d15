//! Answers that a browser saves as a file.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A file of this type and name.
pub(crate) fn attachment(kind: &'static str, name: &str, body: impl Into<Body>) -> Response {
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""))
        .unwrap_or(HeaderValue::from_static("attachment"));
    let headers =
        [(header::CONTENT_TYPE, HeaderValue::from_static(kind)), (header::CONTENT_DISPOSITION, disposition)];
    (headers, body.into()).into_response()
}

/// Names a version of what is sent. Weak, for the same version may be sent compressed
/// ([RFC 9110, 8.8.3](https://www.rfc-editor.org/rfc/rfc9110#field.etag)).
pub(crate) struct Version(HeaderValue);

impl Version {
    pub(crate) fn new(version: &str) -> Self {
        Self(HeaderValue::from_str(&format!("W/\"{version}\"")).unwrap_or(HeaderValue::from_static("W/\"\"")))
    }

    /// Whether the caller has it already.
    pub(crate) fn is_known(&self, headers: &HeaderMap) -> bool {
        let tags = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        tags.flat_map(|tags| tags.split(',')).any(|tag| tag.trim().as_bytes() == self.0.as_bytes())
    }

    /// The answer to somebody who has it.
    pub(crate) fn not_modified(self) -> Response {
        self.on(StatusCode::NOT_MODIFIED.into_response())
    }

    /// Kept by the caller's browser alone, and asked for again each time.
    pub(crate) fn on(self, mut response: Response) -> Response {
        response.headers_mut().insert(header::ETAG, self.0);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        response
    }
}
