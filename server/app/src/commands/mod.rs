//! What `todoku` can be told to do.

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
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::terminals::Terminals;
use crate::worker::{EngineState, Worker};

/// How often an engine that was never reached is looked for.
const CONNECT_EVERY: Duration = Duration::from_secs(2);

async fn open_store(database: &config::Database) -> anyhow::Result<Store> {
    let store = Store::connect(&database.database_url, database.database_connections)
        .await
        .context("cannot connect to the database that DATABASE_URL names")?;
    store.migrate().await?;
    Ok(store)
}

async fn open_sandbox(config: &config::Sandbox, images: Vec<String>) -> anyhow::Result<Sandbox> {
    let config = sandbox::Config {
        docker_host: config.docker_host.clone(),
        fifo_dir: config.fifo_dir.clone(),
        images,
        ..sandbox::Config::default()
    };
    Sandbox::connect(config).await.context("cannot reach a Docker engine")
}

/// Images that a worker must be able to run.
fn images() -> Vec<String> {
    vec!["node24".into()]
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
    config: config::Sandbox,
    Work { parallel, timing, terminals: settings }: Work,
    engine: watch::Sender<EngineState>,
    stop: CancellationToken,
) {
    let sandbox = loop {
        match open_sandbox(&config, images()).await {
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
