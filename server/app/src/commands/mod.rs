//! What `todoku` can be told to do.

pub(crate) mod migrate;
pub(crate) mod openapi;
pub(crate) mod serve;
pub(crate) mod verify;
pub(crate) mod work;

use anyhow::Context;
use sandbox::Sandbox;
use store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::worker::{EngineState, Worker};

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

/// A worker, and what it says of the engine.
fn worker(
    store: &Store,
    sandbox: Sandbox,
    parallel: usize,
    timing: config::Timing,
    stop: &CancellationToken,
) -> (Worker, watch::Receiver<EngineState>) {
    let (engine, state) = watch::channel(Err("the engine was not asked yet".to_owned()));
    let worker = Worker {
        store: store.clone(),
        sandbox,
        name: format!("{}:{}", host_name(), std::process::id()),
        parallel,
        timing,
        engine,
        stop: stop.clone(),
    };
    (worker, state)
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
