//! What `todoku` can be told to do.

pub(crate) mod doctor;
pub(crate) mod migrate;
pub(crate) mod openapi;
pub(crate) mod query;
pub(crate) mod serve;
pub(crate) mod trace;
pub(crate) mod verify;
pub(crate) mod work;

use std::time::Duration;

use anyhow::Context;
use sandbox::Sandbox;
use store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::doctor::{Patient, at_start};
use crate::terminals::Terminals;
use crate::worker::{EngineState, Worker};

/// How often an engine that was never reached is looked for.
const CONNECT_EVERY: Duration = Duration::from_secs(2);

/// What closing the connections to the database may take.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

async fn open_store(database: &config::Database) -> anyhow::Result<Store> {
    let store = Store::connect(&database.database_url, database.database_connections)
        .await
        .context("cannot connect to the database that DATABASE_URL names")?;
    store.migrate().await?;
    Ok(store)
}

/// Lets go of the database; one that has fallen silent is left as it is.
async fn close_store(store: Store) {
    if timeout(CLOSE_PATIENCE, store.close()).await.is_err() {
        tracing::warn!("the database does not take its leave");
    }
}

async fn open_sandbox(config: sandbox::Config) -> anyhow::Result<Sandbox> {
    Sandbox::connect(config).await.context("cannot reach a Docker engine")
}

/// Has the doctor look around until `stop`, where it is wanted.
fn examine(
    start: config::Start,
    database: &config::Database,
    sandbox: Option<(sandbox::Config, usize)>,
    stop: &CancellationToken,
) -> Option<JoinHandle<()>> {
    let workers = sandbox.as_ref().map_or(0, |(_, workers)| *workers);
    let patient = Patient {
        database_url: database.database_url.clone(),
        sandbox: sandbox.map(|(config, _)| config),
        workers,
    };
    start.doctor().then(|| tokio::spawn(at_start(patient, stop.clone())))
}

/// What a worker's process does.
struct Work {
    /// Attempts at one time.
    parallel: usize,
    timing: config::Timing,
    terminals: config::Terminals,
}

/// Runs attempts and opens terminals until `stop`, as soon as and whenever the engine answers; says in `engine` whether it does.
async fn work(
    store: Store,
    config: sandbox::Config,
    Work { parallel, timing, terminals: settings }: Work,
    engine: watch::Sender<EngineState>,
    stop: CancellationToken,
) {
    let sandbox = loop {
        match open_sandbox(config.clone()).await {
            Ok(sandbox) => break sandbox,
            Err(error) => {
                let why = format!("{error:#}");
                tracing::error!(%why, "no attempt can run");
                drop(engine.send_replace(Err(why)));
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(CONNECT_EVERY) => {}
        }
    };
    let name = format!("{}:{}", host_name(), std::process::id());
    tracing::info!(name, parallel, "working");
    if let Some(image) = config.images.first() {
        sandbox.warm(image, &lab::Limits::default());
    }
    let terminals = Terminals {
        store: store.clone(),
        sandbox: sandbox.clone(),
        name: name.clone(),
        settings,
        lease: timing.lease(),
        engine: engine.subscribe(),
        stop: stop.clone(),
    };
    let worker = Worker { store, sandbox, name, parallel, timing, engine, stop };
    tokio::join!(worker.run(), terminals.run());
}

/// What is said of the engine before it was asked.
fn unknown_engine() -> watch::Sender<EngineState> {
    watch::Sender::new(Err("the engine was not asked yet".to_owned()))
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "unknown".into(), |name| name.trim().into())
}

/// Cancels the token at the first SIGTERM or SIGINT.
fn stop_on_signal() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let token = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::info!("stopping; running attempts may finish");
        token.cancel();
    });
    Ok(stop)
}
