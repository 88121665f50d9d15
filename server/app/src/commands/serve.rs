use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
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
        let work = super::work(
            store.clone(),
            sandbox,
            super::Work { parallel: config.workers, timing: config.timing, terminals: config.terminals },
            state,
            stop.clone(),
        );
        working = Some(tokio::spawn(work));
    }
    let listener = listen(config.listen).await?;
    let address = listener.local_addr()?;
    let own = reachable(address);
    let public_url = config.public_url.unwrap_or_else(|| own.clone());
    let terminals = http::Offer {
        any: config.terminals.terminals > 0,
        guests: config.guest_terminals == config::Switch::On,
        internal_url: config.internal_url.unwrap_or(own),
        origins: origins(&public_url),
    };
    let settings = http::Settings {
        guests: config.guests == config::Switch::On,
        admin_token: (token_chars > 0).then_some(config.admin_token),
        secure_cookies: public_url.starts_with("https://"),
        web_dir: config.web_dir,
        evidence_cache_bytes: usize::from(config.evidence_cache_mib) << 20,
        terminals,
    };
    let state = http::AppState::new(store.clone(), labs, engine, settings, stop.clone());
    let watch = tokio::spawn(http::watch_terminals(state.clone()));
    let app = http::router(state);
    let forget = tokio::spawn(forget_sessions(store.clone()));
    println!("Todoku is served at http://{address}");
    let serving = axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned());
    let served = tokio::select! {
        served = serving.into_future() => served,
        // A client that neither ends its request nor takes its answer would hold us for ever.
        () = drained(&stop, config.timing.drain()) => Ok(()),
    };
    forget.abort();
    watch.abort();
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

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let why = || format!("cannot listen on {address}: set TODOKU_LISTEN to a free address");
    TcpListener::bind(address).await.with_context(why)
}

/// Waits until what was under way at the request to stop has had its time.
async fn drained(stop: &CancellationToken, time: Duration) {
    stop.cancelled().await;
    tokio::time::sleep(time).await;
}

/// An address of this process for a client on this machine.
fn reachable(mut address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{address}")
}

/// Origins ([RFC 6454](https://www.rfc-editor.org/rfc/rfc6454)) of the page: a loopback address has a name too.
fn origins(public_url: &str) -> Vec<String> {
    let end = public_url.find("://").and_then(|scheme| {
        let host = scheme + 3;
        public_url[host..].find('/').map(|slash| host + slash)
    });
    let origin = public_url[..end.unwrap_or(public_url.len())].to_ascii_lowercase();
    let named = origin.replacen("://127.0.0.1", "://localhost", 1);
    if named == origin { vec![origin] } else { vec![origin, named] }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_comes_from_its_own_origin() {
        assert_eq!(origins("https://Labs.example/app/"), ["https://labs.example"]);
        assert_eq!(origins("http://127.0.0.1:8080"), ["http://127.0.0.1:8080", "http://localhost:8080"]);
        assert_eq!(origins("http://127.0.0.1:8080/"), ["http://127.0.0.1:8080", "http://localhost:8080"]);
    }

    #[test]
    fn an_address_of_everywhere_is_reached_at_home() {
        for (listening, reached) in [
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:8080", "http://[::1]:8080"),
            ("10.0.0.7:8080", "http://10.0.0.7:8080"),
        ] {
            assert_eq!(reachable(listening.parse().unwrap_or_else(|_| ([0, 0, 0, 0], 0).into())), reached);
        }
    }
}
