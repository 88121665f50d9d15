//! Calling the server of a terminal: a WebSocket within the operator's own network, without TLS.

use std::time::Duration;

use anyhow::{Context, ensure};
use futures_util::{SinkExt, StreamExt};
use store::TerminalId;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderValue, header};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::line;

/// What the server gets to answer.
const ANSWERS: Duration = Duration::from_secs(10);
/// From a server comes nothing longer: input and short words.
const MAX_MESSAGE: usize = 256 * 1024;

pub(crate) type Line = WebSocketStream<TcpStream>;

/// Calls the server at `server` about a terminal that `secret` proves to be ours.
pub(crate) async fn call(server: &str, id: TerminalId, secret: &str) -> anyhow::Result<Line> {
    let authority = authority(server)?;
    let mut request = format!("ws://{authority}{}", line::path(id)).into_client_request()?;
    let proof = HeaderValue::try_from(format!("Bearer {secret}"))?;
    request.headers_mut().insert(header::AUTHORIZATION, proof);
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
    let calling = async {
        let stream = TcpStream::connect(&authority).await?;
        stream.set_nodelay(true)?;
        Ok::<_, anyhow::Error>(client_async_with_config(request, stream, Some(config)).await?.0)
    };
    let line = timeout(ANSWERS, calling).await.context("no answer in time").and_then(|line| line);
    line.with_context(|| format!("cannot call the server of a terminal at {server}: see TODOKU_INTERNAL_URL"))
}

/// Host and port of `http://host:port`.
fn authority(server: &str) -> anyhow::Result<String> {
    let rest = server.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let authority = rest.filter(|rest| !rest.is_empty() && !rest.contains(['/', '?', '#', '@']));
    let Some(authority) = authority else {
        anyhow::bail!("TODOKU_INTERNAL_URL {server:?} is not of the form http://host:port");
    };
    let port = authority.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    ensure!(
        port.is_none_or(|port| port.parse::<u16>().is_ok()),
        "TODOKU_INTERNAL_URL {server:?} has no good port"
    );
    Ok(if port.is_some() { authority.to_owned() } else { format!("{authority}:80") })
}

/// The next message; `None` when the line is lost.
pub(crate) async fn next(line: &mut Line) -> Option<Message> {
    line.next().await?.ok().filter(|message| !message.is_close())
}

pub(crate) async fn send(line: &mut Line, message: Message) -> Result<(), Error> {
    line.send(message).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_host_and_port() {
        for (server, found) in [
            ("http://127.0.0.1:8080", Some("127.0.0.1:8080")),
            ("http://server:8080/", Some("server:8080")),
            ("http://server", Some("server:80")),
            ("http://[::1]:8080", Some("[::1]:8080")),
            ("http://[::1]", Some("[::1]:80")),
            ("https://server", None),
            ("http://", None),
            ("http://user@server", None),
            ("http://server:99999", None),
            ("http://server/path", None),
        ] {
            assert_eq!(authority(server).ok().as_deref(), found, "{server}");
        }
    }
}
