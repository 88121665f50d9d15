//! JSON bodies, bounded.

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Most bytes of a body. A submission is at most 1 MiB of text, which JSON may double.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// A longer body is read so far and thrown away before it is refused: a client that is still
/// sending when the connection closes never sees the answer.
const DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// A value from a JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = read(request).await?;
        Ok(Self(Json::from_bytes(&bytes)?.0))
    }
}

/// The bytes of a body that says it is JSON.
pub(crate) async fn read(request: Request) -> Result<Vec<u8>, ApiError> {
    let (parts, body) = request.into_parts();
    let bytes = collect(body).await?;
    if !is_json(&parts.headers) {
        let detail = "Send JSON with the header `Content-Type: application/json`.";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail));
    }
    Ok(bytes)
}

async fn collect(body: Body) -> Result<Vec<u8>, ApiError> {
    let mut kept = Vec::new();
    let mut length = 0;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            let detail = format!("The body could not be read whole: {error}.");
            ApiError::new(StatusCode::BAD_REQUEST, "unreadable_body", detail)
        })?;
        length += chunk.len();
        if length <= MAX_BYTES {
            kept.extend_from_slice(&chunk);
        } else if length > DRAINED_BYTES {
            break;
        }
    }
    if length > MAX_BYTES {
        let detail = "The request's body is over 2 MiB.";
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail));
    }
    Ok(kept)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}
