//! Errors as `application/problem+json` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)).

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use lab::InputFault;
use serde::Serialize;
use utoipa::ToSchema;

use crate::explore::{self, Fault, FaultKind};

/// What a caller is told when a request is not served.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Always `about:blank`: `code` says which kind of error it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: String,
    status: u16,
    /// Stable, for programs.
    code: &'static str,
    /// What was wrong and what to do, for people.
    detail: String,
    /// One entry for each part of the request that breaks a rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// Where in the SQL of a query, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<explore::Position>,
    /// Which bound a query hit, with `query_limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<explore::Limit>,
}

/// A part of a request that breaks a rule.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct FieldError {
    /// Where: `files`, `files.<name>`, `answers.<id>`.
    field: String,
    /// Which rule; stable, for programs.
    code: String,
    /// What is wrong and what would be right.
    message: String,
}

/// Why a request is not served. 4xx speak to the caller; 5xx say nothing but that it is our fault.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    detail: String,
    errors: Vec<FieldError>,
    position: Option<explore::Position>,
    bound: Option<explore::Limit>,
    /// Seconds after which the same request may be served.
    retry_after: Option<u16>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            errors: Vec::new(),
            position: None,
            bound: None,
            retry_after: None,
        }
    }

    /// Too much is asked at this moment.
    pub(crate) fn busy(status: StatusCode, code: &'static str, detail: &str, retry_after: u16) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(status, code, detail) }
    }

    /// Absent, or not the caller's to see: the two are not told apart.
    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("There is no such {what}."))
    }

    pub(crate) fn conflict(code: &'static str, detail: &str) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    pub(crate) fn invalid(code: &'static str, faults: Vec<InputFault>) -> Self {
        let errors = faults
            .into_iter()
            .map(|fault| FieldError { field: fault.field, code: fault.code.into(), message: fault.message })
            .collect();
        let detail = "Parts of the request break a rule; see errors.";
        Self { errors, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail) }
    }

    pub(crate) fn invalid_field(code: &'static str, field: String, message: &str) -> Self {
        Self::invalid(code, vec![InputFault { field, code, message: message.into() }])
    }

    /// Our fault: logged with its whole chain, told to nobody.
    pub(crate) fn internal(error: &dyn std::error::Error) -> Self {
        let chain: Vec<String> =
            std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
        tracing::error!(error = chain.join(": "), "a request failed");
        let detail = "Something failed on our side. The request id names it in our logs.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let problem = Problem {
            kind: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error").into(),
            status: self.status.as_u16(),
            code: self.code,
            detail: self.detail,
            errors: self.errors,
            position: self.position,
            bound: self.bound,
        };
        let mut response = (self.status, Json(problem)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let (code, bound) = match fault.kind {
            FaultKind::Invalid => ("query_invalid", None),
            FaultKind::Refused => ("query_refused", None),
            FaultKind::Limit(bound) => ("query_limit", Some(bound)),
        };
        let position = fault.position;
        Self { position, bound, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, fault.detail) }
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Nul { ref place } => {
                Self::invalid_field("nul_character", place.clone(), &error.to_string())
            }
            store::Error::Database(_) => {
                let opaque = Self::internal(&error);
                let detail = "The database cannot be reached. Nothing was lost that was answered with a success; try again.";
                Self {
                    status: StatusCode::SERVICE_UNAVAILABLE,
                    code: "unavailable",
                    detail: detail.into(),
                    ..opaque
                }
            }
            error => Self::internal(&error),
        }
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(&error)
    }
}

impl From<tokio::task::JoinError> for ApiError {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::internal(&error)
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> Self {
        let status = rejection.status();
        let code = if status == StatusCode::UNPROCESSABLE_ENTITY { "invalid_body" } else { "malformed_json" };
        Self::new(status, code, rejection.body_text())
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), "bad_query", rejection.body_text())
    }
}
