//! Who is calling: a session's cookie, the administrator's token, or nobody yet.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderMap, HeaderValue, header, request::Parts};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chrono::{TimeDelta, Utc};
use cookie::{Cookie, SameSite};
use sha2::{Digest, Sha256};
use store::{UserId, Viewer};
use uuid::Uuid;

use super::AppState;
use super::error::ApiError;

const COOKIE: &str = "todoku_session";
/// A guest who comes back within this time finds their attempts again.
const LIFETIME: TimeDelta = TimeDelta::days(180);

/// The caller, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visitor {
    Nobody,
    User(UserId),
    Admin,
}

impl Visitor {
    /// Whose things the caller may see. Nobody's things do not exist.
    pub(crate) fn viewer(self, what: &str) -> Result<Viewer, ApiError> {
        match self {
            Self::Nobody => Err(ApiError::not_found(what)),
            Self::User(user) => Ok(Viewer::User(user)),
            Self::Admin => Ok(Viewer::Admin),
        }
    }

    pub(crate) const fn user(self) -> Option<UserId> {
        match self {
            Self::User(user) => Some(user),
            Self::Nobody | Self::Admin => None,
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get().copied().unwrap_or(Self::Nobody))
    }
}

/// Finds out who is calling, once a request, and moves the cookie's end with the session's.
pub(crate) async fn identify(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let (visitor, renewed) = match known(&state, request.headers()).await {
        Ok(known) => known,
        Err(error) => return error.into_response(),
    };
    request.extensions_mut().insert(visitor);
    let mut response = next.run(request).await;
    if let Some(cookie) = renewed.and_then(|token| set_cookie(&state, token)) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// The caller, and the session's token where its end has moved.
async fn known(state: &AppState, headers: &HeaderMap) -> Result<(Visitor, Option<String>), ApiError> {
    if let Some(token) = bearer(headers) {
        let admin = state.settings.admin_token.as_deref();
        return match admin {
            Some(admin) if same(admin, token) => Ok((Visitor::Admin, None)),
            _ => Err(ApiError::new(
                axum::http::StatusCode::UNAUTHORIZED,
                "bad_token",
                "The bearer token is not valid.",
            )),
        };
    }
    let Some(token) = session_token(headers) else { return Ok((Visitor::Nobody, None)) };
    let Some(session) = state.store.session(&token, Utc::now(), LIFETIME).await? else {
        return Ok((Visitor::Nobody, None));
    };
    Ok((Visitor::User(session.user), session.renewed.then_some(token)))
}

fn session_token(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = values.flat_map(Cookie::split_parse).filter_map(Result::ok);
    cookies.find(|cookie| cookie.name() == COOKIE).map(|cookie| cookie.value().to_owned())
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    value.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("bearer ")).map(|_| value[7..].trim())
}

/// Compares digests, whose first difference tells nothing of the token's.
fn same(a: &str, b: &str) -> bool {
    Sha256::digest(a.as_bytes()) == Sha256::digest(b.as_bytes())
}

/// The caller's user: a new guest where nobody is signed in and guests are let in.
pub(crate) async fn user_or_guest(
    state: &AppState,
    visitor: Visitor,
) -> Result<(UserId, Option<HeaderValue>), ApiError> {
    if let Some(user) = visitor.user() {
        return Ok((user, None));
    }
    // The administrator's token has no user of its own: what it makes is a guest's.
    if visitor == Visitor::Nobody && !state.settings.guests {
        let detail = "Sign in first: this site has no guests.";
        return Err(ApiError::new(axum::http::StatusCode::UNAUTHORIZED, "sign_in_needed", detail));
    }
    let token = new_token();
    let now = Utc::now();
    let user = state.store.create_guest(&token, now, now + LIFETIME).await?;
    let cookie = if visitor == Visitor::Nobody { set_cookie(state, token) } else { None };
    Ok((user, cookie))
}

/// 244 random bits from the operating system.
fn new_token() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn set_cookie(state: &AppState, token: String) -> Option<HeaderValue> {
    let cookie = Cookie::build((COOKIE, token))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(state.settings.secure_cookies)
        .max_age(cookie::time::Duration::seconds(LIFETIME.num_seconds()));
    HeaderValue::from_str(&cookie.build().to_string()).ok()
}
