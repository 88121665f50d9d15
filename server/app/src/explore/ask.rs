//! The server's side of a query's process.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use axum::body::Bytes;
use evidence::{Bound, QueryError, QueryLimits};
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::child::{Order, Verdict};
use super::{Fault, Query, Turn};

/// Our own program, also where its file was replaced or deleted since it was started.
const PROGRAM: &str = "/proc/self/exe";
/// When a process is killed. The query in it has 2 s ([`QueryLimits`]) and says so itself where it can; what is left is
/// for its start and for reading the evidence.
const DEADLINE: Duration = Duration::from_millis(2300);
/// Most bytes of an answer: 1 MiB of text, six times as long where all of it must be escaped, and what is between.
const ANSWER_BYTES: u64 = 8 * 1024 * 1024;
/// Most bytes that are read of what a process complains of.
const COMPLAINT_BYTES: u64 = 4096;
/// The largest pipe that Linux makes for everybody; the usual one (64 KiB) costs 16 times as many turns.
const PIPE_BYTES: usize = 1024 * 1024;

/// What a query's process said.
#[derive(Debug)]
pub(crate) enum Answer {
    /// [`QueryRows`](super::child::QueryRows) as JSON.
    Rows { json: Bytes, truncated: bool },
    /// The query's own fault.
    Fault(Fault),
}

/// Puts a query to evidence, in a process of its own. Where nobody waits for the answer any longer, the process is ended.
/// The turn lasts until there is no process left.
///
/// # Errors
/// When the process cannot be started, or fails in a way that no query explains.
pub(crate) async fn ask(turn: Turn, query: Query, evidence: Bytes) -> io::Result<Answer> {
    let gone = CancellationToken::new();
    let _asker = gone.clone().drop_guard();
    // A task of its own: one that is dropped with its asker would leave a dead process that nobody waited for.
    let asked = tokio::spawn(async move {
        let _turn = turn;
        converse(&query, evidence, gone).await
    });
    asked.await?
}

async fn converse(query: &Query, evidence: Bytes, gone: CancellationToken) -> io::Result<Answer> {
    let mut child = Command::new(PROGRAM)
        .arg0("todoku")
        .arg("query")
        // Nothing of ours, such as the database's password, is there to be found.
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Should the runtime end before this does.
        .kill_on_drop(true)
        .spawn()?;
    let (Some(input), Some(output), Some(complaints)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("a process without pipes"));
    };
    let talk = async {
        tokio::join!(
            send(input, query, evidence),
            read(output, ANSWER_BYTES),
            read(complaints, COMPLAINT_BYTES),
            child.wait()
        )
    };
    let talked = tokio::select! {
        talked = talk => Some(talked),
        () = tokio::time::sleep(DEADLINE) => None,
        () = gone.cancelled() => None,
    };
    let Some((sent, answer, complaint, status)) = talked else {
        child.kill().await?;
        return Ok(Answer::Fault(over(Bound::Time(QueryLimits::exploring().wall))));
    };
    let status = status?;
    if let Some(answer) = understand(status, answer?)? {
        return Ok(answer);
    }
    let complaint = String::from_utf8_lossy(&complaint?).into_owned();
    Err(io::Error::other(format!("the process of a query ended with {status}: {complaint} (sent: {sent:?})")))
}

/// A process that ends early does not read to the end: that is no error of its own.
async fn send(mut input: ChildStdin, query: &Query, evidence: Bytes) -> io::Result<()> {
    // A smaller pipe is slower, no more.
    let _ = rustix::pipe::fcntl_setpipe_size(&input, PIPE_BYTES);
    let order = Order { query, evidence_bytes: evidence.len() as u64 };
    let mut line = serde_json::to_vec(&order)?;
    line.push(b'\n');
    input.write_all(&line).await?;
    input.write_all(&evidence).await?;
    input.shutdown().await
}

/// At most one byte more than `most`; the pipe is closed then, and writing more to it fails.
async fn read(pipe: impl AsyncRead + Unpin, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.take(most + 1).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// What the end of a process and its output mean; `None` where no query explains it.
fn understand(status: ExitStatus, output: Vec<u8>) -> io::Result<Option<Answer>> {
    if output.len() as u64 > ANSWER_BYTES {
        let bytes = usize::try_from(ANSWER_BYTES).unwrap_or(usize::MAX);
        return Ok(Some(Answer::Fault(over(Bound::TextOut(bytes)))));
    }
    if status.success() {
        let output = Bytes::from(output);
        let end = output.iter().position(|byte| *byte == b'\n').unwrap_or(output.len());
        return Ok(Some(match serde_json::from_slice(&output[..end])? {
            Verdict::Rows { truncated } => Answer::Rows { json: output.slice(end + 1..), truncated },
            Verdict::Fault(fault) => Answer::Fault(fault),
        }));
    }
    // An allocation that fails aborts; a stack that cannot grow and the kernel's own killer look as here.
    let memory = [Signal::ABORT, Signal::KILL, Signal::SEGV, Signal::BUS];
    Ok(match status.signal() {
        Some(signal) if signal == Signal::XCPU.as_raw() => {
            Some(Answer::Fault(over(Bound::Time(QueryLimits::exploring().wall))))
        }
        Some(signal) if memory.iter().any(|known| known.as_raw() == signal) => {
            Some(Answer::Fault(over(Bound::Memory)))
        }
        _ => None,
    })
}

fn over(bound: Bound) -> Fault {
    QueryError::Limit(bound).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{FaultKind, Limit};
    use super::*;

    fn limit(raw_status: i32, output: &[u8]) -> Option<Limit> {
        match understand(ExitStatus::from_raw(raw_status), output.to_vec()).unwrap()? {
            Answer::Fault(Fault { kind: FaultKind::Limit(limit), .. }) => Some(limit),
            other => panic!("{other:?}"),
        }
    }

    /// Low 7 bits of a wait status: the signal (wait(2)); above 8: the exit status.
    #[test]
    fn a_death_is_a_bound_and_a_failure_is_ours() {
        assert_eq!(limit(Signal::ABORT.as_raw(), b""), Some(Limit::Memory));
        assert_eq!(limit(Signal::KILL.as_raw(), b"half an ans"), Some(Limit::Memory));
        assert_eq!(limit(Signal::XCPU.as_raw(), b""), Some(Limit::Time));
        assert_eq!(limit(0, &vec![b' '; 9 << 20]), Some(Limit::Text));
        assert_eq!(limit(1 << 8, b""), None);
        assert_eq!(limit(Signal::TERM.as_raw(), b""), None);
        assert!(understand(ExitStatus::from_raw(0), Vec::new()).is_err(), "a success without an answer");
    }
}
