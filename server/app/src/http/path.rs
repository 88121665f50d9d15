//! Parts of a path: what is no name or id names nothing, and is answered like what does not exist.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use uuid::Uuid;

use super::error::ApiError;

/// The id in a path.
pub(crate) struct PathId(pub(crate) Uuid);

/// The slug in a path.
pub(crate) struct PathSlug(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let PathSlug(text) = PathSlug::from_request_parts(parts, state).await?;
        Uuid::try_parse(&text).map(Self).map_err(|_| nothing())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathSlug {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map(|Path(text)| Self(text)).map_err(|_| nothing())
    }
}

fn nothing() -> ApiError {
    ApiError::not_found("thing")
}
