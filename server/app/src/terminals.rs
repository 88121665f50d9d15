//! The worker's side of terminals: takes one that waits, opens it in the sandbox, and calls the server that a learner's
//! browser talks to.
//!
//! A terminal lives as long as its line, its lease and its shell do. When any of them ends, dropping what is here removes
//! the container.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use lab::{Lab, Lang};
use metrics::{counter, gauge};
use sandbox::{Sandbox, Size, TerminalEvent, TerminalRequest};
use store::{Change, Store, TerminalClaim, TerminalEnd};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::line::{Folder, FromWorker, ToWorker};
use crate::{announce, catalogue, config, dial, worker};

/// How often the table is looked at although nothing was announced.
const POLL: Duration = Duration::from_secs(5);
/// A server that says nothing for so long is gone; it asks every few seconds.
const SILENCE: Duration = Duration::from_secs(30);
/// What a message gets to leave.
const SEND: Duration = Duration::from_secs(10);
/// Until the browser tells its own.
const FIRST_SIZE: Size = Size { cols: 80, rows: 24 };

/// Opens up to `at_once` terminals at a time until `stop`.
pub(crate) struct Terminals {
    pub(crate) store: Store,
    pub(crate) sandbox: Sandbox,
    pub(crate) name: String,
    pub(crate) settings: config::Terminals,
    pub(crate) lease: Duration,
    pub(crate) engine: watch::Receiver<worker::EngineState>,
    pub(crate) stop: CancellationToken,
}

impl Terminals {
    pub(crate) async fn run(self) {
        let all = Arc::new(self);
        let mut open = JoinSet::new();
        Arc::clone(&all).claim_until_stopped(&mut open).await;
        // Each of them sees `stop` too, says so to its learner, and ends.
        while open.join_next().await.is_some() {}
        all.sandbox.drain().await;
    }

    async fn claim_until_stopped(self: Arc<Self>, open: &mut JoinSet<()>) {
        let permits = Arc::new(Semaphore::new(self.settings.terminals));
        let mut changes = self.store.changes().subscribe();
        let mut engine = self.engine.clone();
        loop {
            let ready = async {
                engine.wait_for(Result::is_ok).await.ok()?;
                Arc::clone(&permits).acquire_owned().await.ok()
            };
            let permit = tokio::select! {
                () = self.stop.cancelled() => return,
                Some(permit) = ready => permit,
            };
            while open.try_join_next().is_some() {}
            let secret = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
            match self.store.claim_terminal(&self.name, &secret, Utc::now(), self.lease).await {
                Ok(Some(claim)) => {
                    let all = Arc::clone(&self);
                    open.spawn(async move {
                        all.terminal(claim, &secret).await;
                        drop(permit);
                    });
                    continue;
                }
                Ok(None) => {}
                Err(error) => tracing::error!(%error, "cannot claim a terminal"),
            }
            drop(permit);
            let announced = async {
                while let Some(change) = changes.next().await {
                    if matches!(change, Change::Resync | Change::Terminal(_)) {
                        return;
                    }
                }
            };
            tokio::select! {
                () = self.stop.cancelled() => return,
                _ = timeout(POLL, announced) => {}
            }
        }
    }

    /// One terminal, from its claim to its last word.
    async fn terminal(&self, claim: TerminalClaim, secret: &str) {
        gauge!("todoku_terminals_open").increment(1);
        let id = claim.id;
        let end = tokio::select! {
            end = self.serve(&claim, secret) => end.unwrap_or_else(|error| {
                tracing::error!(error = format!("{error:#}"), terminal = %id, "a terminal failed on our side");
                TerminalEnd::Failed
            }),
            // Ended by its learner, or lapsed: whoever ended it has written that.
            () = self.keep(&claim, secret) => TerminalEnd::Closed,
        };
        gauge!("todoku_terminals_open").decrement(1);
        counter!("todoku_terminals_total", "end" => end.as_str()).increment(1);
        if let Err(error) = self.store.end_terminal(id, secret, end, Utc::now()).await {
            tracing::error!(%error, terminal = %id, "cannot write a terminal's end; its lease will lapse");
        }
    }

    /// Prolongs the lease; returns when the terminal is no longer ours.
    async fn keep(&self, claim: &TerminalClaim, secret: &str) {
        let mut changes = self.store.changes().subscribe();
        let mut beat = tokio::time::interval(self.lease / 3);
        loop {
            tokio::select! {
                change = changes.next() => match change {
                    Some(Change::Terminal(id)) if id == claim.id => {}
                    Some(_) => continue,
                    None => return,
                },
                _ = beat.tick() => {}
            }
            match self.store.keep_terminal(claim.id, secret, Utc::now(), self.lease).await {
                Ok(true) => {}
                Ok(false) => return,
                // It may still be ours: the next beat will tell.
                Err(error) => tracing::warn!(%error, terminal = %claim.id, "no heartbeat"),
            }
        }
    }

    async fn serve(&self, claim: &TerminalClaim, secret: &str) -> anyhow::Result<TerminalEnd> {
        let lab: Lab = catalogue::restore(&claim.lab)?;
        let Some(run) = lab.runs.first() else { anyhow::bail!("the lab has no run") };
        let line = dial::call(&claim.server, claim.id, secret).await?;
        let files = lab.inputs(&claim.files).into_iter();
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).collect();
        let request = TerminalRequest {
            image: &run.image,
            limits: &run.limits,
            lifetime: self.settings.max(),
            files: &files,
            size: FIRST_SIZE,
        };
        let terminal = tokio::select! {
            terminal = self.sandbox.open_terminal(request) => terminal?,
            () = self.stop.cancelled() => return Ok(TerminalEnd::Lost),
        };
        let limits = Limits::new(self.settings, claim.lang);
        let mut open = Open { terminal, line, lab: &lab, limits, heard: Instant::now() };
        let end = open.until_end(&self.stop).await?;
        // A line that is lost hears nothing any more.
        if open.tell(&FromWorker::Ended { reason: end }).await.is_ok() {
            let _closed = timeout(SEND, open.line.close(None)).await;
        }
        Ok(end)
    }
}

/// A terminal and its line, both open.
struct Open<'a> {
    terminal: sandbox::Terminal,
    line: dial::Line,
    lab: &'a Lab,
    limits: Limits,
    /// When the server was last heard of.
    heard: Instant,
}

impl Open<'_> {
    async fn until_end(&mut self, stop: &CancellationToken) -> anyhow::Result<TerminalEnd> {
        loop {
            let end = tokio::select! {
                event = self.terminal.next() => self.pass_on(event?).await?,
                message = dial::next(&mut self.line) => match message {
                    Some(message) => { self.take(message).await?; None }
                    None => Some(TerminalEnd::Lost),
                },
                () = sleep_until(self.limits.next()) => {
                    let (said, end) = self.limits.strike(Instant::now());
                    self.say(&said).await?;
                    end
                }
                () = sleep_until(self.heard + SILENCE) => Some(TerminalEnd::Lost),
                () = stop.cancelled() => {
                    self.say(announce::stopping(self.limits.lang)).await?;
                    Some(TerminalEnd::Lost)
                }
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    async fn pass_on(&mut self, event: TerminalEvent) -> anyhow::Result<Option<TerminalEnd>> {
        match event {
            TerminalEvent::Output(bytes) => self.send(Message::binary(bytes)).await?,
            TerminalEvent::Taken(bytes) => self.tell(&FromWorker::Taken { bytes }).await?,
            TerminalEvent::Files(folder) => self.tell(&FromWorker::Files(texts(self.lab, folder))).await?,
            TerminalEvent::Ended => return Ok(Some(TerminalEnd::Exited)),
        }
        Ok(None)
    }

    async fn take(&mut self, message: Message) -> anyhow::Result<()> {
        self.heard = Instant::now();
        match message {
            Message::Binary(bytes) => {
                self.limits.typed(self.heard);
                self.terminal.input(bytes.to_vec()).await?;
            }
            Message::Text(text) => match serde_json::from_str(text.as_str())? {
                ToWorker::Resize { cols, rows } => self.terminal.resize(Size { cols, rows }).await?,
                ToWorker::Credit { bytes } => self.terminal.credit(bytes).await?,
                ToWorker::Files => self.terminal.ask_files().await?,
            },
            // Its questions whether we live are answered by the library when it reads on.
            _ => {}
        }
        Ok(())
    }

    async fn say(&mut self, words: &str) -> anyhow::Result<()> {
        self.send(Message::binary(announce::framed(words).into_bytes())).await
    }

    async fn tell(&mut self, told: &FromWorker) -> anyhow::Result<()> {
        self.send(Message::text(serde_json::to_string(told)?)).await
    }

    async fn send(&mut self, message: Message) -> anyhow::Result<()> {
        Ok(timeout(SEND, dial::send(&mut self.line, message)).await??)
    }
}

/// What of a work folder a submission may have.
fn texts(lab: &Lab, folder: sandbox::Folder) -> Folder {
    let mut texts = Folder { left_out: folder.left_out, ..Folder::default() };
    for (name, bytes) in folder.files {
        // The lab puts its own files there itself.
        if lab.files.contains_key(&name) {
            continue;
        }
        match String::from_utf8(bytes) {
            Ok(text) if lab.takes_file(&name) && !text.contains('\0') => drop(texts.files.insert(name, text)),
            _ => texts.left_out += 1,
        }
    }
    texts
}

/// When a terminal ends although nobody asked for it, and what is announced before.
struct Limits {
    settings: config::Terminals,
    lang: Lang,
    opened: Instant,
    typed: Instant,
    warned_idle: bool,
    warned_max: bool,
}

impl Limits {
    fn new(settings: config::Terminals, lang: Lang) -> Self {
        let now = Instant::now();
        Self { settings, lang, opened: now, typed: now, warned_idle: false, warned_max: false }
    }

    fn typed(&mut self, now: Instant) {
        self.typed = now;
        self.warned_idle = false;
    }

    fn idle_at(&self) -> Instant {
        self.typed + self.settings.idle()
    }

    fn max_at(&self) -> Instant {
        self.opened + self.settings.max()
    }

    /// When there is something to announce or to end.
    fn next(&self) -> Instant {
        let idle =
            if self.warned_idle { self.idle_at() } else { self.idle_at() - warning(self.settings.idle()) };
        let max = if self.warned_max { self.max_at() } else { self.max_at() - warning(self.settings.max()) };
        idle.min(max)
    }

    /// What is due at `now`: words, and the end.
    fn strike(&mut self, now: Instant) -> (String, Option<TerminalEnd>) {
        let (idle, max) = (self.settings.idle(), self.settings.max());
        if now >= self.max_at() {
            (announce::time_up(self.lang, max), Some(TerminalEnd::TimeUp))
        } else if now >= self.idle_at() {
            (announce::idle(self.lang, idle), Some(TerminalEnd::Idle))
        } else if !self.warned_max && now >= self.max_at() - warning(max) {
            self.warned_max = true;
            (announce::time_runs_out(self.lang, warning(max)), None)
        } else {
            self.warned_idle = true;
            (announce::will_idle(self.lang, warning(idle)), None)
        }
    }
}

/// How long before the end it is announced.
fn warning(limit: Duration) -> Duration {
    Duration::from_secs(60).min(limit / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_ends_are_announced_a_minute_before() {
        let settings = config::Terminals { terminals: 1, idle_seconds: 600, max_seconds: 3600 };
        let mut limits = Limits::new(settings, Lang::En);
        let start = limits.opened;
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(limits.next(), at(540));
        let (said, end) = limits.strike(at(540));
        assert!(said.contains("60 s") && end.is_none(), "{said}");
        assert_eq!(limits.next(), at(600));
        limits.typed(at(599));
        assert_eq!(limits.next(), at(599 + 540), "a key keeps it");
        limits.strike(at(599 + 540));
        assert_eq!(limits.strike(at(599 + 600)).1, Some(TerminalEnd::Idle));

        limits.typed(at(3500));
        assert_eq!(limits.next(), at(3540));
        assert_eq!(limits.strike(at(3540)).1, None);
        assert_eq!(limits.next(), at(3600));
        assert_eq!(limits.strike(at(3600)).1, Some(TerminalEnd::TimeUp));
    }
}
