//! Hands what a run writes to the store while it runs, for whoever watches.
//!
//! Nobody's grade hangs on it: where the database is slow or away, output is shown late or not at all, and the report
//! has it whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sandbox::{OutputSender, Stream};
use store::{LIVE_BYTES, Lease, LeaseState, LiveOutput, Store};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, timeout_at};

/// What comes within this time goes in one statement: as often as an eye can follow.
const GATHER: Duration = Duration::from_millis(100);
/// What is gathered at most before it goes.
const MOST_BYTES: usize = 512 * 1024;

/// The output of one attempt, run after run.
pub(crate) struct Live {
    store: Store,
    lease: Lease,
    seq: Arc<AtomicI64>,
}

impl Live {
    pub(crate) fn new(store: Store, lease: Lease) -> Self {
        Self { store, lease, seq: Arc::default() }
    }

    /// Where the output of the run `label` goes.
    pub(crate) fn of(&self, label: &str) -> OutputSender {
        let (sender, chunks) = unbounded_channel();
        let (store, lease) = (self.store.clone(), self.lease);
        let (seq, run) = (Arc::clone(&self.seq), label.to_owned());
        tokio::spawn(async move {
            match show(&store, lease, &run, &seq, chunks).await {
                Ok(()) => {}
                Err(error) => tracing::info!(%error, attempt = %lease.attempt, "output is not shown live"),
            }
        });
        sender
    }
}

/// Writes what comes until the run ends, or the attempt is no longer ours.
async fn show(
    store: &Store,
    lease: Lease,
    run: &str,
    seq: &AtomicI64,
    mut chunks: UnboundedReceiver<(Stream, Vec<u8>)>,
) -> Result<(), store::Error> {
    while let Some(first) = chunks.recv().await {
        let until = Instant::now() + GATHER;
        let mut size = first.1.len();
        let mut gathered = vec![first];
        while size < MOST_BYTES
            && let Ok(Some(next)) = timeout_at(until, chunks.recv()).await
        {
            size += next.1.len();
            gathered.push(next);
        }
        let rows: Vec<_> = pieces(gathered)
            .into_iter()
            .map(|(stream, bytes)| LiveOutput {
                seq: seq.fetch_add(1, Ordering::Relaxed),
                run: run.to_owned(),
                stream: name(stream).to_owned(),
                bytes,
            })
            .collect();
        if store.add_live_output(lease, &rows).await? != LeaseState::Held {
            return Ok(());
        }
    }
    Ok(())
}

const fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// Neighbours of one stream put together, and none longer than a row may be.
fn pieces(chunks: Vec<(Stream, Vec<u8>)>) -> Vec<(Stream, Vec<u8>)> {
    let mut pieces: Vec<(Stream, Vec<u8>)> = Vec::new();
    for (stream, bytes) in chunks {
        for part in bytes.chunks(LIVE_BYTES) {
            match pieces.last_mut() {
                Some((last, piece)) if *last == stream && piece.len() + part.len() <= LIVE_BYTES => {
                    piece.extend_from_slice(part);
                }
                _ => pieces.push((stream, part.to_vec())),
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_joined_and_order_is_kept() {
        let chunks = vec![
            (Stream::Stdout, b"a".to_vec()),
            (Stream::Stdout, b"b".to_vec()),
            (Stream::Stderr, b"c".to_vec()),
            (Stream::Stdout, vec![b'd'; LIVE_BYTES + 1]),
            (Stream::Stdout, Vec::new()),
        ];
        let pieces = pieces(chunks);
        let shape: Vec<_> = pieces.iter().map(|(stream, bytes)| (*stream, bytes.len())).collect();
        assert_eq!(
            shape,
            [(Stream::Stdout, 2), (Stream::Stderr, 1), (Stream::Stdout, LIVE_BYTES), (Stream::Stdout, 1)]
        );
        assert_eq!(pieces[0].1, b"ab");
    }
}
