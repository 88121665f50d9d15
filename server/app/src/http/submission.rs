//! The body of a new attempt, read so that what is wrong with it can be named.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Json, Request};
use lab::InputFault;
use serde::Deserialize;
use utoipa::ToSchema;

use super::body;
use super::error::ApiError;

/// A new attempt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with lab, files and answers")]
pub(crate) struct NewAttemptBody {
    /// The lab's slug.
    pub(crate) lab: String,
    /// Text files by name: at most 100 files and 1 MiB in all.
    pub(crate) files: BTreeMap<String, String>,
    /// Predictions by question id; any may be left out. A choice is a string (or an array of strings), a number a number.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    pub(crate) answers: lab::Answers,
}

impl<S: Send + Sync> FromRequest<S> for NewAttemptBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        let bytes = body::read(request).await?;
        match not_utf8(&bytes) {
            Some(error) => Err(error),
            None => Ok(Json::from_bytes(&bytes)?.0),
        }
    }
}

/// Names the files whose bytes are not UTF-8, which JSON must be ([RFC 8259, 8.1](https://www.rfc-editor.org/rfc/rfc8259#section-8.1)).
fn not_utf8(bytes: &[u8]) -> Option<ApiError> {
    std::str::from_utf8(bytes).err()?;
    let repaired = String::from_utf8_lossy(bytes);
    let files = serde_json::from_str::<NewAttemptBody>(&repaired).map(|body| body.files).unwrap_or_default();
    let faults: Vec<_> = files
        .iter()
        .filter(|(name, text)| name.contains('\u{fffd}') || text.contains('\u{fffd}'))
        .map(|(name, _)| InputFault {
            field: format!("files.{name}"),
            code: "file_not_utf8",
            message: "files are text in UTF-8: convert this one, or leave it out".into(),
        })
        .collect();
    if faults.is_empty() {
        let detail = "The body is not UTF-8, as JSON must be.";
        return Some(ApiError::new(axum::http::StatusCode::BAD_REQUEST, "malformed_json", detail));
    }
    Some(ApiError::invalid("invalid_submission", faults))
}
