//! What a running attempt writes, as text for a page.

use std::collections::HashMap;

use serde::Serialize;
use store::{AttemptId, LiveOutput, Store};
use utoipa::ToSchema;

/// Rows read at one time.
const ROWS: i64 = 64;

/// What a run has written since the last of these.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Written {
    /// Label of the run.
    run: String,
    /// `stdout` or `stderr`.
    stream: String,
    /// Bytes that are no UTF-8 are shown as U+FFFD.
    text: String,
}

/// How far an attempt's output has been read.
#[derive(Default)]
pub(crate) struct Reader {
    next: i64,
    /// Bytes at the end of a stream that begin a character.
    begun: HashMap<(String, String), Vec<u8>>,
}

impl Reader {
    /// What came since; empty when nothing did.
    pub(crate) async fn read(
        &mut self,
        store: &Store,
        attempt: AttemptId,
    ) -> Result<Vec<Written>, store::Error> {
        loop {
            let rows = store.live_output(attempt, self.next, ROWS).await?;
            let Some(last) = rows.last() else { return Ok(Vec::new()) };
            self.next = last.seq + 1;
            let written = rows.into_iter().map(|row| self.written(row));
            let written: Vec<_> = written.filter(|written| !written.text.is_empty()).collect();
            if !written.is_empty() {
                return Ok(written);
            }
        }
    }

    fn written(&mut self, LiveOutput { run, stream, bytes, .. }: LiveOutput) -> Written {
        let begun = self.begun.entry((run.clone(), stream.clone())).or_default();
        let mut all = std::mem::take(begun);
        all.extend_from_slice(&bytes);
        let cut = all.len() - unfinished(&all);
        *begun = all.split_off(cut);
        Written { run, stream, text: String::from_utf8_lossy(&all).into_owned() }
    }
}

/// How many bytes at the end are the beginning of a character whose rest is missing.
fn unfinished(bytes: &[u8]) -> usize {
    let Some(last) = bytes.utf8_chunks().last() else { return 0 };
    let invalid = last.invalid();
    // A sequence that is wrong as it stands is not waited for.
    let is_open =
        |n: usize| std::str::from_utf8(&bytes[bytes.len() - n..]).is_err_and(|e| e.error_len().is_none());
    if invalid.is_empty() || !is_open(invalid.len()) { 0 } else { invalid.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stream: &str, bytes: &[u8]) -> LiveOutput {
        LiveOutput { seq: 0, run: "default".to_owned(), stream: stream.to_owned(), bytes: bytes.to_vec() }
    }

    #[test]
    fn a_character_in_two_pieces_is_one() {
        let mut reader = Reader::default();
        let word = "届く".as_bytes();
        let first = reader.written(row("stdout", &word[..4]));
        let between = reader.written(row("stderr", b"e"));
        let second = reader.written(row("stdout", &word[4..]));
        assert_eq!((first.text.as_str(), between.text.as_str(), second.text.as_str()), ("届", "e", "く"));
        assert_eq!(
            reader.written(row("stdout", b"\xff\n")).text,
            "\u{fffd}\n",
            "what is wrong is not waited for"
        );
    }
}
