//! The two WebSockets of a terminal: a browser's, and the line of the worker that has it.
//!
//! A WebSocket is not kept from other sites by the browser as other requests are: whoever opens one must come from a page
//! of ours ([RFC 6455, 10.2](https://www.rfc-editor.org/rfc/rfc6455#section-10.2)).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use chrono::Utc;
use serde::Deserialize;
use store::{Change, TerminalEnd, TerminalId};
use tokio::time::{Instant, interval, timeout};

use super::AppState;
use super::error::{ApiError, Problem};
use super::path::PathId;
use super::terminals::{owner, read};
use super::visitor::{Visitor, bearer};
use crate::line::{MAX_MESSAGE, ROUTE};
use crate::relay::{ForWorker, Line, Next, Session, View};

/// A browser sends keys, pastes in pieces, and short words.
const MAX_FROM_BROWSER: usize = 64 * 1024;
/// How often the other end is asked whether it lives, and after which silence it does not.
const PING: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);
/// What a message gets to leave.
const SEND: Duration = Duration::from_secs(30);
/// What the other end gets to close.
const PARTS: Duration = Duration::from_secs(2);
/// How often terminals are looked for whose worker is silent, or that nobody took.
const LAPSES: Duration = Duration::from_secs(5);

/// What a browser says beside the bytes that are typed.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum FromBrowser {
    Resize {
        cols: u16,
        rows: u16,
    },
    /// So many bytes more have been shown.
    Read {
        bytes: u64,
    },
}

/// The terminal itself, as a WebSocket: binary messages are its bytes, text messages JSON. See docs/api.md.
#[utoipa::path(get, path = "/terminals/{id}/socket", operation_id = "connect_terminal", params(("id" = uuid::Uuid, Path)),
    responses((status = SWITCHING_PROTOCOLS, description = "A WebSocket"), (status = FORBIDDEN, body = Problem, content_type = "application/problem+json"),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json"),
    (status = UPGRADE_REQUIRED, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn connect(
    State(state): State<AppState>,
    visitor: Visitor,
    PathId(id): PathId,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    if !origin.is_some_and(|origin| state.settings.terminals.origins.iter().any(|own| own == origin)) {
        let detail = "Only this site's own page may connect to a terminal.";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "cross_site", detail));
    }
    let terminal = read(&state, TerminalId(id), owner(visitor)?).await?;
    let upgrade = upgrade.map_err(|_| not_a_socket())?.max_message_size(MAX_FROM_BROWSER);
    let session = match terminal.end {
        None => state.relay.live(terminal.id),
        Some(end) => Arc::new(Session::ended(end)),
    };
    // It may have ended between the two looks, before anybody here would have heard of it.
    if let Some(end) = state.store.terminal_end(terminal.id).await? {
        state.relay.end(terminal.id, end);
    }
    Ok(upgrade.on_upgrade(move |socket| show(socket, session.view(), state)))
}

fn not_a_socket() -> ApiError {
    ApiError::new(StatusCode::UPGRADE_REQUIRED, "not_a_websocket", "Connect with a WebSocket.")
}

async fn show(mut socket: WebSocket, mut view: View, state: AppState) {
    let mut heard = Instant::now();
    let mut ping = interval(PING);
    loop {
        while let Some(next) = view.next() {
            let message = match next {
                Next::Bytes(bytes) => Message::Binary(bytes.into()),
                Next::Told(told) => Message::text(serde_json::to_string(&told).unwrap_or_default()),
            };
            if !send(&mut socket, message).await {
                return;
            }
        }
        if view.is_over() {
            return part(socket).await;
        }
        let lives = tokio::select! {
            () = view.changed() => true,
            message = socket.recv() => {
                heard = Instant::now();
                matches!(message, Some(Ok(message)) if take(&mut view, &message))
            }
            _ = ping.tick() => heard.elapsed() < SILENCE && send(&mut socket, Message::Ping(Bytes::new())).await,
            () = state.stop.cancelled() => false,
        };
        if !lives {
            return part(socket).await;
        }
    }
}

/// Closes in good order: a connection that is dropped while the browser still sends takes the last words with it.
async fn part(mut socket: WebSocket) {
    let close = async {
        socket.send(Message::Close(None)).await?;
        while let Some(message) = socket.recv().await {
            if matches!(message?, Message::Close(_)) {
                break;
            }
        }
        Ok::<_, axum::Error>(())
    };
    // Whoever does not close is dropped.
    let _gone = timeout(PARTS, close).await;
}

/// Takes what a browser sends; false when it keeps to no rule.
fn take(view: &mut View, message: &Message) -> bool {
    match message {
        Message::Binary(bytes) => return view.typed(bytes),
        Message::Text(text) => match serde_json::from_str(text.as_str()) {
            Ok(FromBrowser::Resize { cols, rows }) => view.resize(cols, rows),
            Ok(FromBrowser::Read { bytes }) => view.read(bytes),
            Err(_) => return false,
        },
        Message::Close(_) => return false,
        Message::Ping(_) | Message::Pong(_) => {}
    }
    true
}

async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(timeout(SEND, socket.send(message)).await, Ok(Ok(())))
}

/// For workers alone, and not part of the API.
pub(crate) fn routes() -> Router<AppState> {
    Router::new().route(ROUTE, any(line))
}

async fn line(
    State(state): State<AppState>,
    PathId(id): PathId,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let id = TerminalId(id);
    let upgrade =
        upgrade.map_err(|_| not_a_socket())?.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    let secret = bearer(&headers).ok_or_else(|| ApiError::not_found("terminal"))?;
    if !state.store.take_line(id, secret).await? {
        return Err(ApiError::not_found("terminal"));
    }
    let line = state.relay.live(id).line().ok_or_else(|| ApiError::not_found("terminal"))?;
    Ok(upgrade.on_upgrade(async move |socket| {
        let end = serve(socket, line).await;
        // Without a line there is no terminal. Where the worker still could, it has written why.
        if let Err(error) = state.store.lose_terminal(id, Utc::now()).await {
            tracing::error!(%error, terminal = %id, "cannot write that a line was lost; its lease will lapse");
        }
        state.relay.end(id, end);
    }))
}

/// Serves a worker until its last word, or until it is lost.
async fn serve(mut socket: WebSocket, mut line: Line) -> TerminalEnd {
    let mut heard = Instant::now();
    let mut ping = interval(PING);
    loop {
        while let Some(next) = line.next() {
            let message = match next {
                ForWorker::Bytes(bytes) => Message::Binary(bytes.into()),
                ForWorker::Told(told) => Message::text(serde_json::to_string(&told).unwrap_or_default()),
            };
            if !send(&mut socket, message).await {
                return TerminalEnd::Lost;
            }
        }
        if line.is_over() {
            return TerminalEnd::Closed;
        }
        tokio::select! {
            () = line.changed() => {}
            message = socket.recv() => {
                heard = Instant::now();
                match message {
                    Some(Ok(Message::Binary(bytes))) => line.shows(&bytes),
                    Some(Ok(Message::Text(text))) => match serde_json::from_str(text.as_str()) {
                        Ok(told) => if let Some(end) = line.told(told) { return end },
                        Err(_) => return TerminalEnd::Lost,
                    },
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return TerminalEnd::Lost,
                }
            }
            _ = ping.tick() => {
                if heard.elapsed() >= SILENCE || !send(&mut socket, Message::Ping(Bytes::new())).await {
                    return TerminalEnd::Lost;
                }
            }
        }
    }
}

/// Tells browsers of ends that the store knows of: nobody took the terminal, or its worker is silent.
pub(crate) async fn watch(state: AppState) {
    let mut changes = state.store.changes().subscribe();
    let mut lapses = interval(LAPSES);
    loop {
        let ids = tokio::select! {
            () = state.stop.cancelled() => return,
            change = changes.next() => match change {
                Some(Change::Terminal(id)) => vec![id],
                Some(Change::Attempt { .. } | Change::Output(_)) => continue,
                Some(Change::Resync) => state.relay.ids(),
                None => return,
            },
            _ = lapses.tick() => {
                if let Err(error) = state.store.end_lapsed_terminals(Utc::now()).await {
                    tracing::warn!(%error, "cannot look for lapsed terminals");
                }
                continue;
            }
        };
        for id in ids.into_iter().filter(|id| state.relay.get(*id).is_some()) {
            if let Ok(Some(end)) = state.store.terminal_end(id).await {
                state.relay.end(id, end);
            }
        }
    }
}
