//! An attempt's changes as server-sent events
//! ([HTML, 9.2](https://html.spec.whatwg.org/multipage/server-sent-events.html)).

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::{Stream, stream};
use lab::Lang;
use store::{AttemptId, Change, Subscription, Viewer};

use super::AppState;
use super::attempt_view::State as Stage;
use super::attempts::read;
use super::error::{ApiError, Problem};
use super::lang::{LangParam, Language};
use super::path::PathId;
use super::visitor::Visitor;

/// Proxies drop connections that are silent for a minute.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The attempt now, then at each change, as events called `attempt`; ends with the attempt.
#[utoipa::path(get, path = "/attempts/{id}/events", operation_id = "stream_attempt", params(("id" = uuid::Uuid, Path), LangParam),
    responses((status = OK, content_type = "text/event-stream", body = String),
    (status = NOT_FOUND, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn stream(
    State(state): State<AppState>,
    Language(lang): Language,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let (id, viewer) = (AttemptId(id), visitor.viewer("attempt")?);
    // Subscribed before the first reading: nothing falls between.
    let changes = state.store.changes().subscribe();
    let first = current(&state, id, viewer, lang).await?;
    let watch = Watch { state, id, viewer, lang, changes, last: first.clone() };
    let rest = stream::unfold((Some(first), watch), |(first, mut watch)| async move {
        let shown = match first {
            Some(first) => first,
            None => watch.next().await?,
        };
        let event = Event::default().event("attempt").data(&shown.json);
        Some((Ok(event), (None, watch)))
    });
    Ok(Sse::new(rest).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// What was last sent.
#[derive(Clone)]
struct Shown {
    json: String,
    ended: bool,
    queued: bool,
}

struct Watch {
    state: AppState,
    id: AttemptId,
    viewer: Viewer,
    lang: Lang,
    changes: Subscription,
    last: Shown,
}

impl Watch {
    /// The next state that differs from the last; `None` at the end.
    async fn next(&mut self) -> Option<Shown> {
        while !self.last.ended {
            let change = tokio::select! {
                () = self.state.stop.cancelled() => return None,
                change = self.changes.next() => change?,
            };
            // Another attempt's change may move this one's place in the queue.
            let concerns = match change {
                Change::Resync => true,
                Change::Attempt { id, .. } => id == self.id || self.last.queued,
                Change::Terminal(_) => false,
            };
            if !concerns {
                continue;
            }
            let now = current(&self.state, self.id, self.viewer, self.lang).await.ok()?;
            if now.json != self.last.json {
                self.last = now.clone();
                return Some(now);
            }
        }
        None
    }
}

async fn current(state: &AppState, id: AttemptId, viewer: Viewer, lang: Lang) -> Result<Shown, ApiError> {
    let attempt = read(state, id, viewer, lang).await?;
    let at = attempt.state();
    Ok(Shown {
        json: serde_json::to_string(&attempt)?,
        ended: matches!(at, Stage::Graded | Stage::Errored | Stage::Cancelled),
        queued: at == Stage::Queued,
    })
}
