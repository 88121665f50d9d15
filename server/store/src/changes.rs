//! What happens to attempts and terminals, as it happens: one listening connection a process, any number of subscribers.
//!
//! An announcement is a hint to read again, never the truth itself. What was announced while nobody listened is lost;
//! therefore each (re)connection and each subscriber that fell behind gets a [`Change::Resync`].

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::broadcast;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::attempts::AttemptState;
use crate::ids::{AttemptId, TerminalId};
use crate::text::from_word;

/// The channels of `0004_changes.sql`, `0010_terminals.sql` and `0011_live_output.sql` in `migrations/`.
const ATTEMPTS: &str = "attempt_changed";
const TERMINALS: &str = "terminal_changed";
const LIVE_OUTPUT: &str = "live_output";

/// Changes a subscriber may lag behind before it is told to read again instead.
const BUFFERED: usize = 1024;

/// Waits between attempts to reconnect: doubled from the first to the last.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LAST_WAIT: Duration = Duration::from_secs(5);

/// A server that takes longer to be connected to is tried again.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// A connection that was silent this long is asked whether it still lives, and must answer within [`ANSWER_WITHIN`].
const SILENCE: Duration = Duration::from_secs(30);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Something to read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The attempt was made, came into this state, or has a new grade in it. Each such change may move the places of others
    /// in the queue.
    Attempt {
        /// Which one.
        id: AttemptId,
        /// Its state as announced; it may have moved on since.
        state: AttemptState,
    },
    /// The terminal was asked for, or came into another state.
    Terminal(TerminalId),
    /// The running attempt has written more.
    Output(AttemptId),
    /// Anything may have changed: announcements may have been missed.
    Resync,
}

/// Where changes come from. Listening ends when it is dropped.
#[derive(Debug)]
pub struct Changes {
    sender: broadcast::Sender<Change>,
    listener: AbortHandle,
}

impl Changes {
    pub(crate) fn listen(options: PgConnectOptions) -> Self {
        let (sender, _) = broadcast::channel(BUFFERED);
        let listener = tokio::spawn(listen_for_ever(options, sender.clone())).abort_handle();
        Self { sender, listener }
    }

    /// All changes from now on. Subscribe first, then read the state: nothing falls between.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        Subscription(self.sender.subscribe())
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// One subscriber's view of the changes.
#[derive(Debug)]
pub struct Subscription(broadcast::Receiver<Change>);

impl Subscription {
    /// Waits for the next change; `None` once the store is gone. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Option<Change> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Change::Resync),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

async fn listen_for_ever(options: PgConnectOptions, sender: broadcast::Sender<Change>) {
    let mut wait = FIRST_WAIT;
    loop {
        let connected = timeout(CONNECT_WITHIN, connect(&options)).await;
        match connected.unwrap_or_else(|_late| Err(sqlx::Error::PoolTimedOut)) {
            Ok(listener) => {
                wait = FIRST_WAIT;
                let error = forward(listener, &sender).await;
                tracing::warn!(%error, "lost the connection that listens for changes");
                sleep(FIRST_WAIT).await;
            }
            Err(error) => {
                tracing::warn!(%error, wait_ms = wait.as_millis(), "cannot listen for changes");
                sleep(wait).await;
                wait = (wait * 2).min(LAST_WAIT);
            }
        }
    }
}

/// A connection of its own: one borrowed from the pool would be missing there for good.
async fn connect(options: &PgConnectOptions) -> Result<PgListener, sqlx::Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_with(options.clone())
        .await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    // Reconnecting is done above, where subscribers are told of it.
    listener.eager_reconnect(false);
    listener.listen_all([ATTEMPTS, TERMINALS, LIVE_OUTPUT]).await?;
    Ok(listener)
}

/// Hands on what is announced until the connection fails.
async fn forward(mut listener: PgListener, sender: &broadcast::Sender<Change>) -> sqlx::Error {
    // Sending fails when nobody subscribes at the moment, which is fine.
    let _ = sender.send(Change::Resync);
    loop {
        let announced = match timeout(SILENCE, listener.try_recv()).await {
            Ok(Ok(Some(announced))) => announced,
            Ok(Ok(None)) => return sqlx::Error::Io(std::io::ErrorKind::ConnectionAborted.into()),
            Ok(Err(error)) => return error,
            Err(_silent) => match still_there(&mut listener).await {
                Ok(()) => continue,
                Err(error) => return error,
            },
        };
        match parse(announced.channel(), announced.payload()) {
            Some(change) => {
                let _ = sender.send(change);
            }
            None => tracing::warn!(payload = announced.payload(), "an announcement of no known form"),
        }
    }
}

async fn still_there(listener: &mut PgListener) -> Result<(), sqlx::Error> {
    let answer = timeout(ANSWER_WITHIN, sqlx::query("SELECT 1").execute(listener)).await;
    answer.map_err(|_late| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))??;
    Ok(())
}

/// Reads "<attempt id> <state>", "<terminal id>" or "<attempt id>".
fn parse(channel: &str, payload: &str) -> Option<Change> {
    if channel == TERMINALS {
        return Some(Change::Terminal(TerminalId(payload.parse().ok()?)));
    }
    if channel == LIVE_OUTPUT {
        return Some(Change::Output(AttemptId(payload.parse().ok()?)));
    }
    let (id, state) = payload.split_once(' ')?;
    Some(Change::Attempt { id: AttemptId(id.parse().ok()?), state: from_word(state).ok()? })
}
