//! Takes attempts from the queue, runs them and writes what came of them.
//!
//! A worker knows HTTP no more than HTTP knows it: they meet in the store. What it holds of an
//! attempt is a lease; if this process dies, the lease lapses and another worker takes over.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use lab::{Given, Lab, Run};
use metrics::{counter, gauge, histogram};
use sandbox::Sandbox;
use store::{AttemptState, Change, Claim, FailureCode, Lease, LeaseState, Store, Subscription};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::live::Live;
use crate::{catalogue, config, judge};

/// How often the queue is looked at although nothing was announced.
const POLL: Duration = Duration::from_secs(5);
/// How often the engine is asked whether it is there, and left-overs are swept.
const ENGINE_EVERY: Duration = Duration::from_secs(5);
/// The same while it cannot be used.
const LOST_ENGINE_EVERY: Duration = Duration::from_secs(1);
const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// What the engine gets to remove what this process made, when it stops.
const LET_GO: Duration = Duration::from_secs(15);
/// What an attempt waits after a failure of ours before it is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(3);

/// What a database that answers at all needs at most for one call of ours.
const DATABASE_PATIENCE: Duration = Duration::from_secs(20);
/// How long a finished attempt is kept while the database is away.
const FINISH_PATIENCE: Duration = Duration::from_secs(60);
const FINISH_EVERY: Duration = Duration::from_secs(1);

/// Whether the engine can run attempts: `Err` says why not.
pub(crate) type EngineState = Result<(), String>;

/// Runs up to `parallel` attempts at a time until `stop`, then lets them finish for a while.
pub(crate) struct Worker {
    pub(crate) store: Store,
    pub(crate) sandbox: Sandbox,
    pub(crate) name: String,
    pub(crate) parallel: usize,
    pub(crate) timing: config::Timing,
    pub(crate) engine: watch::Sender<EngineState>,
    pub(crate) stop: CancellationToken,
}

impl Worker {
    pub(crate) async fn run(self) {
        let worker = Arc::new(self);
        let watch = tokio::spawn(Arc::clone(&worker).watch_engine());
        // Ends running attempts when the time to drain is over.
        let abort = CancellationToken::new();
        let mut attempts = JoinSet::new();
        Arc::clone(&worker).claim_until_stopped(&mut attempts, &abort).await;
        let drained = async { while attempts.join_next().await.is_some() {} };
        if timeout(worker.timing.drain(), drained).await.is_err() {
            abort.cancel();
            while attempts.join_next().await.is_some() {}
        }
        watch.abort();
        if timeout(LET_GO, worker.sandbox.close()).await.is_err() {
            tracing::warn!(
                "the engine is slow to remove sandboxes; what is left is for another process's sweep"
            );
        }
    }

    async fn claim_until_stopped(self: Arc<Self>, attempts: &mut JoinSet<()>, abort: &CancellationToken) {
        let permits = Arc::new(Semaphore::new(self.parallel));
        let mut changes = self.store.changes().subscribe();
        let mut engine = self.engine.subscribe();
        loop {
            let ready = async {
                engine.wait_for(Result::is_ok).await.ok()?;
                Arc::clone(&permits).acquire_owned().await.ok()
            };
            let permit = tokio::select! {
                () = self.stop.cancelled() => return,
                Some(permit) = ready => permit,
            };
            while attempts.try_join_next().is_some() {}
            match in_time(self.store.claim(&self.name, Utc::now(), self.timing.lease())).await {
                Ok(Some(claim)) => {
                    let (worker, abort) = (Arc::clone(&self), abort.child_token());
                    attempts.spawn(async move {
                        worker.attempt(claim, abort).await;
                        drop(permit);
                    });
                    continue;
                }
                Ok(None) => {}
                Err(error) => tracing::error!(error = format!("{error:#}"), "cannot claim an attempt"),
            }
            drop(permit);
            tokio::select! {
                () = self.stop.cancelled() => return,
                _ = timeout(POLL, queued(&mut changes)) => {}
            }
        }
    }

    /// One attempt, from its claim to its last write.
    async fn attempt(&self, claim: Claim, cancel: CancellationToken) {
        let lease = claim.lease;
        let started = Instant::now();
        gauge!("todoku_attempts_running").increment(1);
        let outcome = tokio::select! {
            outcome = self.judge(claim, cancel.child_token()) => outcome,
            // Dropping the other branch drops the sandbox's future, and with it the container.
            () = self.keep(lease, &cancel) => Err(Failed::Stopped),
        };
        gauge!("todoku_attempts_running").decrement(1);
        histogram!("todoku_attempt_seconds").record(started.elapsed().as_secs_f64());
        match outcome {
            Ok((finished, grade)) => {
                counter!("todoku_attempts_total", "end" => "graded").increment(1);
                report(lease, "finish", self.finish(lease, &finished, &grade).await);
            }
            Err(Failed::Stopped) => {
                counter!("todoku_attempts_total", "end" => "stopped").increment(1);
                report(lease, "release", in_time(self.store.release(lease, None)).await);
            }
            Err(failed) => self.failed(lease, failed).await,
        }
    }

    /// Writes what came of an attempt, again and again while the database is away: a minute of a
    /// learner's waiting is better than the same attempt once more.
    async fn finish(
        &self,
        lease: Lease,
        runs: &[store::FinishedRun],
        grade: &lab::Grade,
    ) -> anyhow::Result<LeaseState> {
        let until = Instant::now() + FINISH_PATIENCE;
        loop {
            let written = in_time(self.store.finish(lease, Utc::now(), runs.to_vec(), grade)).await;
            match written {
                Err(error) if Instant::now() < until && !self.stop.is_cancelled() => {
                    tracing::warn!(error = format!("{error:#}"), attempt = %lease.attempt, "not written yet");
                }
                end => return end,
            }
            tokio::time::sleep(FINISH_EVERY).await;
        }
    }

    async fn judge(
        &self,
        claim: Claim,
        cancel: CancellationToken,
    ) -> Result<(Vec<store::FinishedRun>, lab::Grade), Failed> {
        let lab: Lab = catalogue::restore(&claim.lab).map_err(|error| Failed::Ours(error.into()))?;
        let live = Live::new(self.store.clone(), claim.lease);
        let runs: Vec<Run> = judge::run_all(&self.sandbox, &lab, &claim.files, Some(&live), &cancel).await?;
        let weigh = move || {
            let given = Given { files: &claim.files, before: &claim.answers, ..Given::default() };
            let weighed = judge::weigh(&lab, &runs, given)?;
            Ok((judge::finished(runs, &weighed.evidence), weighed.grade))
        };
        let weighed = tokio::task::spawn_blocking(weigh).await.map_err(|error| Failed::Ours(error.into()))?;
        weighed.map_err(|error: evidence::BuildError| Failed::Ours(error.into()))
    }

    /// Prolongs the lease; returns when the attempt is no longer ours, was cancelled, or must stop.
    async fn keep(&self, lease: Lease, cancel: &CancellationToken) {
        let mut changes = self.store.changes().subscribe();
        let mut beat = tokio::time::interval(self.timing.lease() / 3);
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                change = changes.next() => match change {
                    Some(Change::Attempt { id, state: AttemptState::Cancelled }) if id == lease.attempt => return,
                    Some(_) => {}
                    None => return,
                },
                _ = beat.tick() => match in_time(self.store.heartbeat(lease, Utc::now(), self.timing.lease())).await {
                    Ok(LeaseState::Held) => {}
                    Ok(LeaseState::Cancelled | LeaseState::Lost) => return,
                    // The lease may still be good: the next beat will tell.
                    Err(error) => {
                        tracing::warn!(error = format!("{error:#}"), attempt = %lease.attempt, "no heartbeat");
                    }
                },
            }
        }
    }

    /// Our failure: an engine that cannot be used costs the attempt nothing, anything else one of its tries.
    async fn failed(&self, lease: Lease, failed: Failed) {
        let error = match failed {
            Failed::Stopped => return,
            Failed::Sandbox(error) => {
                // A silent engine takes its time to be known as gone; the attempt stays ours meanwhile.
                let gone = tokio::select! {
                    state = self.sandbox.check() => state.err(),
                    () = self.keep(lease, &self.stop) => Some(sandbox::Error::Cancelled),
                };
                if let Some(gone) = gone {
                    tracing::error!(%error, %gone, attempt = %lease.attempt, "no engine; the attempt waits");
                    if !matches!(gone, sandbox::Error::Cancelled) {
                        drop(self.engine.send_replace(Err(gone.to_string())));
                    }
                    counter!("todoku_attempts_total", "end" => "waits").increment(1);
                    let retry_at = Utc::now() + RETRY_AFTER;
                    return report(
                        lease,
                        "release",
                        in_time(self.store.release(lease, Some(retry_at))).await,
                    );
                }
                error.into()
            }
            Failed::Ours(error) => error,
        };
        tracing::error!(error = format!("{error:#}"), attempt = %lease.attempt, "an attempt failed on our side");
        counter!("todoku_attempts_total", "end" => "failed").increment(1);
        let (detail, now) = (format!("{error:#}"), Utc::now());
        let written = self.store.fail(lease, FailureCode::Internal, &detail, now, now + RETRY_AFTER);
        if let Err(error) = in_time(written).await {
            let error = format!("{error:#}");
            tracing::error!(error, attempt = %lease.attempt, "cannot write the failure; the lease will lapse");
        }
    }

    /// Keeps `engine` true, and sweeps what dead processes left behind.
    async fn watch_engine(self: Arc<Self>) {
        let mut known = self.engine.subscribe();
        let mut last_sweep: Option<Instant> = None;
        loop {
            let state = self.sandbox.check().await.map_err(|error| error.to_string());
            if state.is_err() || known.borrow().is_err() {
                // What could not be removed meanwhile goes as soon as the engine is back.
                last_sweep = None;
            }
            let sweep_due = last_sweep.is_none_or(|at| at.elapsed() >= SWEEP_EVERY);
            if state.is_ok() && sweep_due {
                match self.sandbox.sweep().await {
                    Ok(swept) if swept.containers + swept.folders > 0 => tracing::info!(?swept, "swept"),
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "cannot sweep"),
                }
                last_sweep = Some(Instant::now());
            }
            let usable = state.is_ok();
            self.engine.send_if_modified(|known| {
                if *known == state {
                    return false;
                }
                match &state {
                    Ok(()) => tracing::info!("the engine is ready"),
                    Err(why) => tracing::error!(%why, "no attempt can run"),
                }
                *known = state;
                true
            });
            if usable {
                // An attempt may find out first that the engine is gone.
                let _lost = timeout(ENGINE_EVERY, known.wait_for(Result::is_err)).await;
            } else {
                tokio::time::sleep(LOST_ENGINE_EVERY).await;
            }
        }
    }
}

/// Why an attempt has no grade.
enum Failed {
    /// Not ours any more, cancelled, or told to stop.
    Stopped,
    Sandbox(sandbox::Error),
    Ours(anyhow::Error),
}

impl From<sandbox::Error> for Failed {
    fn from(error: sandbox::Error) -> Self {
        match error {
            sandbox::Error::Cancelled => Self::Stopped,
            error => Self::Sandbox(error),
        }
    }
}

/// Waits until an attempt is announced as queued, or announcements may have been missed.
async fn queued(changes: &mut Subscription) {
    while let Some(change) = changes.next().await {
        if matches!(change, Change::Resync | Change::Attempt { state: AttemptState::Queued, .. }) {
            return;
        }
    }
}

/// A call of the database, with an end.
async fn in_time<T>(call: impl Future<Output = Result<T, store::Error>>) -> anyhow::Result<T> {
    let answer = timeout(DATABASE_PATIENCE, call).await;
    answer.map_err(|_late| anyhow::anyhow!("the database did not answer in time"))?.map_err(Into::into)
}

fn report(lease: Lease, what: &str, written: anyhow::Result<LeaseState>) {
    match written {
        Ok(LeaseState::Held) => {}
        Ok(state) => {
            tracing::info!(attempt = %lease.attempt, ?state, "{what}: the attempt is no longer ours")
        }
        Err(error) => {
            let error = format!("{error:#}");
            tracing::error!(error, attempt = %lease.attempt, "{what} failed; the lease will lapse")
        }
    }
}
