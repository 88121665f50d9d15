use std::time::Duration;

use anyhow::{Context, ensure};
use chrono::Utc;
use store::Store;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::catalogue::Catalogue;
use crate::{config, http};

/// A shorter token could be guessed.
const MIN_TOKEN_CHARS: usize = 32;

pub(crate) async fn run(config: config::Serve) -> anyhow::Result<()> {
    let token_chars = config.admin_token.chars().count();
    ensure!(
        token_chars == 0 || token_chars >= MIN_TOKEN_CHARS,
        "TODOKU_ADMIN_TOKEN has {token_chars} characters; use at least {MIN_TOKEN_CHARS}, or leave it empty"
    );
    let stop = super::stop_on_signal()?;
    let labs = Catalogue::load(&config.labs.labs_dir)?;
    let store = super::open_store(&config.database).await?;
    let sandbox = (config.workers > 0).then(|| config.sandbox.settings(labs.images()));
    let examined = super::examine(
        config.start,
        &config.database,
        sandbox.clone().map(|sandbox| (sandbox, config.workers)),
        &stop,
    );
    let mut engine = None;
    let mut working = None;
    if let Some(sandbox) = sandbox {
        let state = super::unknown_engine();
        engine = Some(state.subscribe());
        let work = super::work(store.clone(), sandbox, config.workers, config.timing, state, stop.clone());
        working = Some(tokio::spawn(work));
    }
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        format!("cannot listen on {}: set TODOKU_LISTEN to a free address", config.listen)
    })?;
    let address = listener.local_addr()?;
    let settings = http::Settings {
        guests: config.guests == config::Switch::On,
        admin_token: (token_chars > 0).then_some(config.admin_token),
        secure_cookies: config.public_url.starts_with("https://"),
        web_dir: config.web_dir,
        evidence_cache_bytes: usize::from(config.evidence_cache_mib) << 20,
    };
    let app = http::router(http::AppState::new(store.clone(), labs, engine, settings, stop.clone()));
    let forget = tokio::spawn(forget_sessions(store.clone()));
    println!("Todoku is served at http://{address}");
    let serving = axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned());
    let served = tokio::select! {
        served = serving.into_future() => served,
        // A client that neither ends its request nor takes its answer would hold us for ever.
        () = drained(&stop, config.timing.drain()) => Ok(()),
    };
    forget.abort();
    // Whatever ended the server, the worker gives back what it has.
    stop.cancel();
    if let Some(working) = working {
        working.await?;
    }
    if let Some(examined) = examined {
        examined.await?;
    }
    super::close_store(store).await;
    Ok(served?)
}

/// Waits until what was under way at the request to stop has had its time.
async fn drained(stop: &CancellationToken, time: Duration) {
    stop.cancelled().await;
    tokio::time::sleep(time).await;
}

/// Ended sessions are of no use to anybody.
async fn forget_sessions(store: Store) {
    let mut hourly = tokio::time::interval(Duration::from_secs(3600));
    loop {
        hourly.tick().await;
        if let Err(error) = store.delete_ended_sessions(Utc::now()).await {
            tracing::warn!(%error, "cannot delete ended sessions");
        }
    }
}
