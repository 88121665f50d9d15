//! The protocol between the sandbox (on the host) and the guest (first process of a container).
//!
//! Host to guest, on the container's stdin: one [`Start`], its files, and later [`KILL`]. A closed
//! stdin means the same as `KILL`, so a container ends with the worker that made it.
//! Guest to host, on the FIFO [`CONTROL`]: [`Report`] frames. Strace writes to the FIFO [`TRACE`].
//!
//! Integers are little-endian; text is preceded by its length in four bytes.

use std::io::{self, Read, Write};
use std::time::Duration;

mod left;
mod protocol;
mod report;

pub use left::{CONTENT_FRAME, Cut, Left, LeftKind, MAX_PATH};
pub use protocol::{Entry, Start, path_fault};
pub use report::{Counters, Ended, Ending, Report};

/// Folder inside the container where the host mounts the run's FIFOs: root's alone.
pub const FIFO_DIR: &str = "/run/todoku";
/// FIFO that strace writes.
pub const TRACE: &str = "/run/todoku/trace";
/// FIFO of the guest's reports.
pub const CONTROL: &str = "/run/todoku/control";
/// The learner's work folder.
pub const WORK: &str = "/lab";
/// First of the ids that a learner's program may run as, uid and gid alike: the image names each of
/// them `learner`. Every live sandbox of a host has one for itself, since the kernel counts some
/// things by user (`inotify(7)`, `mq_overview(7)`, pending signals).
pub const LEARNER_FIRST: u32 = 20_001;
/// How many such ids there are.
pub const LEARNERS: u32 = 256;

/// Whether `id` is one of a learner.
#[must_use]
pub const fn is_learner(id: u32) -> bool {
    id >= LEARNER_FIRST && id - LEARNER_FIRST < LEARNERS
}

/// What the guest writes to standard output and standard error, each, when nothing more will come:
/// drawn by the host for one run, and never in the reach of the learner's program.
pub type Seal = [u8; 16];

/// The byte on stdin that asks for the run's end.
pub const KILL: u8 = b'K';

/// Longest text (one path, argument or variable) in a header.
const MAX_TEXT: u32 = 64 * 1024;
/// Most texts in one list.
const MAX_ITEMS: u32 = 4096;

fn write_u32(out: &mut impl Write, n: u32) -> io::Result<()> {
    out.write_all(&n.to_le_bytes())
}

fn write_u64(out: &mut impl Write, n: u64) -> io::Result<()> {
    out.write_all(&n.to_le_bytes())
}

fn write_text(out: &mut impl Write, text: &str) -> io::Result<()> {
    let len = u32::try_from(text.len()).ok().filter(|len| *len <= MAX_TEXT);
    write_u32(out, len.ok_or_else(|| bad("a text is longer than 64 KiB"))?)?;
    out.write_all(text.as_bytes())
}

fn read_u8(from: &mut impl Read) -> io::Result<u8> {
    let mut b = [0];
    from.read_exact(&mut b)?;
    Ok(b[0])
}

fn read_u32(from: &mut impl Read) -> io::Result<u32> {
    let mut b = [0; 4];
    from.read_exact(&mut b)?;
    Ok(u32::from_le_bytes(b))
}

fn read_u64(from: &mut impl Read) -> io::Result<u64> {
    let mut b = [0; 8];
    from.read_exact(&mut b)?;
    Ok(u64::from_le_bytes(b))
}

fn read_text(from: &mut impl Read) -> io::Result<String> {
    let len = read_u32(from)?;
    if len > MAX_TEXT {
        return Err(bad("a text is longer than 64 KiB"));
    }
    let mut bytes = vec![0; len as usize];
    from.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| bad("a text is not UTF-8"))
}

fn read_count(from: &mut impl Read) -> io::Result<u32> {
    let n = read_u32(from)?;
    if n > MAX_ITEMS {
        return Err(bad("a list has more than 4096 items"));
    }
    Ok(n)
}

fn write_duration(out: &mut impl Write, d: Duration) -> io::Result<()> {
    write_u64(out, u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

fn read_duration(from: &mut impl Read) -> io::Result<Duration> {
    Ok(Duration::from_nanos(read_u64(from)?))
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
