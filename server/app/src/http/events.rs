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
use super::live_view;
use super::path::PathId;
use super::visitor::Visitor;

/// Proxies drop connections that are silent for a minute.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The attempt now, then at each change, as events called `attempt`; ends with the attempt. While it runs, what the runs write
/// comes in between, as events called `output` that hold a list of `Written`: from the beginning at each connection.
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
    let last = first.clone();
    let watch =
        Watch { state, id, viewer, lang, changes, last, written: live_view::Reader::default(), more: true };
    let rest = stream::unfold((Some(first), watch), |(first, mut watch)| async move {
        let event = match first {
            Some(first) => News::Attempt(first).event(),
            None => watch.next().await?.event(),
        };
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
    written: live_view::Reader,
    /// Whether there may be output that was not read yet.
    more: bool,
}

enum News {
    Attempt(Shown),
    /// JSON.
    Output(String),
}

impl News {
    fn event(self) -> Event {
        match self {
            Self::Attempt(shown) => Event::default().event("attempt").data(shown.json),
            Self::Output(json) => Event::default().event("output").data(json),
        }
    }
}

impl Watch {
    /// What was written, or the next state that differs from the last; `None` at the end.
    async fn next(&mut self) -> Option<News> {
        while !self.last.ended {
            if self.more {
                let written = self.written.read(&self.state.store, self.id).await.ok()?;
                self.more = !written.is_empty();
                if self.more {
                    return Some(News::Output(serde_json::to_string(&written).ok()?));
                }
            }
            let change = tokio::select! {
                () = self.state.stop.cancelled() => return None,
                change = self.changes.next() => change?,
            };
            // Another attempt's change may move this one's place in the queue.
            let concerns = match change {
                Change::Resync => {
                    self.more = true;
                    true
                }
                Change::Attempt { id, .. } => id == self.id || self.last.queued,
                Change::Output(id) => {
                    self.more |= id == self.id;
                    false
                }
                Change::Terminal(_) => false,
            };
            if !concerns {
                continue;
            }
            let now = current(&self.state, self.id, self.viewer, self.lang).await.ok()?;
            if now.queued {
                // Given back: the next try writes from the beginning.
                self.written = live_view::Reader::default();
            }
            if now.json != self.last.json {
                self.last = now.clone();
                return Some(News::Attempt(now));
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
