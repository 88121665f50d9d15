//! Terminals: asked for, looked at, closed, and their files taken back. Their bytes are in `terminal_socket.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use store::{
    NewTerminal, OpenedTerminal, Terminal, TerminalEnd, TerminalId, TerminalState, UserId, UserKind,
};
use tokio::time::timeout;
use utoipa::ToSchema;
use uuid::Uuid;

use super::AppState;
use super::body::JsonBody;
use super::error::{ApiError, Problem};
use super::lang::{LangParam, Language};
use super::path::PathId;
use super::visitor::{self, Visitor};
use crate::catalogue;

/// What a terminal gets to hand over its files.
const FILES_WITHIN: Duration = Duration::from_secs(20);

/// Which terminals a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Whether anybody gets one.
    pub(crate) any: bool,
    /// Whether visitors without an account get one.
    pub(crate) guests: bool,
    /// Where workers reach this server.
    pub(crate) internal_url: String,
    /// Origins of pages that may open one: the page's own.
    pub(crate) origins: Vec<String>,
}

/// A new terminal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTerminalBody {
    /// The lab's slug.
    lab: String,
    /// Text files by name, as of an attempt: they lie in the terminal's folder.
    files: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TerminalStateView {
    /// No worker has it yet.
    Waiting,
    Open,
    Ended,
}

/// A live sandbox.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalView {
    id: Uuid,
    /// The lab's slug.
    lab: String,
    state: TerminalStateView,
    /// Once ended: `exited`, `closed`, `idle`, `time_up`, `no_place`, `lost`, `failed`.
    #[schema(value_type = Option<String>)]
    end_reason: Option<TerminalEnd>,
    created_at: DateTime<Utc>,
    opened_at: Option<DateTime<Utc>>,
}

/// What terminals the caller may have, and has.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalOffer {
    /// Why the caller gets no terminal: `terminals_off`, `account_needed`; null where they get one.
    refused: Option<&'static str>,
    /// The one that they have.
    terminal: Option<TerminalView>,
}

/// Files of a terminal's folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalFiles {
    /// Text files that an attempt may have, by name.
    files: BTreeMap<String, String>,
    /// How many others there are: links, binary files, or more than an attempt may have.
    left_out: u32,
}

impl From<Terminal> for TerminalView {
    fn from(terminal: Terminal) -> Self {
        Self {
            id: terminal.id.0,
            lab: terminal.lab,
            state: match terminal.state {
                TerminalState::Waiting => TerminalStateView::Waiting,
                TerminalState::Open => TerminalStateView::Open,
                TerminalState::Ended => TerminalStateView::Ended,
            },
            end_reason: terminal.end,
            created_at: terminal.created_at,
            opened_at: terminal.opened_at,
        }
    }
}

/// Asks for a terminal in a sandbox of a lab. Connect to its socket; it ends when nobody types for long.
#[utoipa::path(post, path = "/terminals", operation_id = "create_terminal", request_body = NewTerminalBody, params(LangParam),
    responses((status = CREATED, body = TerminalView), (status = UNAUTHORIZED, body = Problem, content_type = "application/problem+json"),
    (status = FORBIDDEN, body = Problem, content_type = "application/problem+json"),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json"),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn create(
    State(state): State<AppState>,
    Language(lang): Language,
    visitor: Visitor,
    JsonBody(body): JsonBody<NewTerminalBody>,
) -> Result<Response, ApiError> {
    let lab = state.labs.get(&body.lab).ok_or_else(|| ApiError::not_found("lab"))?;
    lab.validate_submission(&body.files, &lab::Answers::new())
        .map_err(|faults| ApiError::invalid("invalid_submission", faults))?;
    if let Some(refused) = refused(&state, visitor).await? {
        return Err(refused.into());
    }
    let (user, cookie) = visitor::user_or_guest(&state, visitor).await?;
    let server = state.settings.terminals.internal_url.clone();
    let new = NewTerminal { user, lab: catalogue::snapshot(lab)?, files: body.files, lang, server };
    let id = match state.store.open_terminal(&new, Utc::now()).await? {
        OpenedTerminal::Made(id) => id,
        OpenedTerminal::Already(id) => {
            let detail = format!("You have a terminal already: {id}. Connect to it, or close it first.");
            return Err(ApiError::conflict("terminal_open", &detail));
        }
    };
    let made = read(&state, id, user).await?;
    let location = format!("{}/terminals/{id}", super::PREFIX);
    let mut response =
        (StatusCode::CREATED, [(header::LOCATION, location)], Json(TerminalView::from(made))).into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The caller's terminal, and whether they may have one.
#[utoipa::path(get, path = "/terminals/current", operation_id = "current_terminal", responses((status = OK, body = TerminalOffer)))]
pub(crate) async fn current(
    State(state): State<AppState>,
    visitor: Visitor,
) -> Result<Json<TerminalOffer>, ApiError> {
    let terminal = match visitor.user() {
        Some(user) => state.store.current_terminal(user, Utc::now()).await?,
        None => None,
    };
    let refused = refused(&state, visitor).await?.map(Refused::code);
    Ok(Json(TerminalOffer { refused, terminal: terminal.map(Into::into) }))
}

/// One terminal.
#[utoipa::path(get, path = "/terminals/{id}", operation_id = "show_terminal", params(("id" = Uuid, Path)), responses((status = OK, body = TerminalView),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(state): State<AppState>,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<Json<TerminalView>, ApiError> {
    let user = owner(visitor)?;
    Ok(Json(read(&state, TerminalId(id), user).await?.into()))
}

/// Ends a terminal. What was not taken back is gone.
#[utoipa::path(delete, path = "/terminals/{id}", operation_id = "close_terminal", params(("id" = Uuid, Path)), responses((status = OK, body = TerminalView),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn close(
    State(state): State<AppState>,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<Json<TerminalView>, ApiError> {
    let (id, user) = (TerminalId(id), owner(visitor)?);
    if state.store.close_terminal(id, user, Utc::now()).await? {
        state.relay.end(id, TerminalEnd::Closed);
    }
    Ok(Json(read(&state, id, user).await?.into()))
}

/// The text files of a terminal's folder, as they are now.
#[utoipa::path(get, path = "/terminals/{id}/files", operation_id = "take_terminal_files", params(("id" = Uuid, Path)), responses((status = OK, body = TerminalFiles),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = CONFLICT, body = Problem, content_type = "application/problem+json"),
    (status = SERVICE_UNAVAILABLE, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn files(
    State(state): State<AppState>,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<Json<TerminalFiles>, ApiError> {
    let terminal = read(&state, TerminalId(id), owner(visitor)?).await?;
    let session = state.relay.get(terminal.id).filter(|_| terminal.state == TerminalState::Open);
    let Some(session) = session else {
        return Err(ApiError::conflict("terminal_not_open", "The terminal is not open: it has no files."));
    };
    match timeout(FILES_WITHIN, session.ask_files()).await {
        Ok(Ok(folder)) => Ok(Json(TerminalFiles { files: folder.files, left_out: folder.left_out })),
        // It ended meanwhile, or does not answer.
        Ok(Err(_)) | Err(_) => {
            let detail = "The terminal did not hand over its files. Ask again in a moment.";
            Err(ApiError::busy(StatusCode::SERVICE_UNAVAILABLE, "terminal_silent", detail, 3))
        }
    }
}

/// Terminals are their owner's alone: the administrator's token types into nobody's.
pub(crate) fn owner(visitor: Visitor) -> Result<UserId, ApiError> {
    visitor.user().ok_or_else(|| ApiError::not_found("terminal"))
}

pub(crate) async fn read(state: &AppState, id: TerminalId, user: UserId) -> Result<Terminal, ApiError> {
    state.store.terminal(id, user).await?.ok_or_else(|| ApiError::not_found("terminal"))
}

/// Why somebody gets no terminal.
#[derive(Debug, Clone, Copy)]
enum Refused {
    Off,
    AccountNeeded,
}

impl Refused {
    const fn code(self) -> &'static str {
        match self {
            Self::Off => "terminals_off",
            Self::AccountNeeded => "account_needed",
        }
    }
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        let detail = match refused {
            Refused::Off => "This site has no terminals.",
            Refused::AccountNeeded => "A terminal needs an account on this site: guests get none.",
        };
        Self::new(StatusCode::FORBIDDEN, refused.code(), detail)
    }
}

async fn refused(state: &AppState, visitor: Visitor) -> Result<Option<Refused>, ApiError> {
    let offer = &state.settings.terminals;
    if !offer.any {
        return Ok(Some(Refused::Off));
    }
    let kind = match visitor.user() {
        Some(user) => state.store.user_kind(user).await?,
        None => None,
    };
    let welcome = offer.guests || kind == Some(UserKind::Account);
    Ok((!welcome).then_some(Refused::AccountNeeded))
}
