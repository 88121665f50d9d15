//! What the guest reports on the control FIFO.

use std::io::{self, Read, Write};
use std::time::Duration;

use crate::left::{Cut, Left, read_content, read_cut, write_content, write_cut};
use crate::{
    bad, read_duration, read_text, read_u8, read_u32, read_u64, write_duration, write_text, write_u32,
    write_u64,
};

/// One frame on the control FIFO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The files are laid out and the program runs.
    Started,
    /// The run is over and the container is about to end.
    Ended(Ended),
    /// Something that lies in the work folder, where [`crate::Start::collect`] asks for it.
    Left(Left),
    /// A part of the content of the last [`Report::Left`].
    Content(Vec<u8>),
    /// Nothing more of that comes; why there is more than was told, where there is.
    LeftAll(Option<Cut>),
    /// The guest could not do what it was asked: a fault of the machine or the caller.
    Failed(String),
}

/// How the run ended, as the guest saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// What brought the end.
    pub ending: Ending,
    /// Exit status of the program that the guest started (strace mimics its tracee's).
    pub exit_code: Option<i32>,
    /// Signal that ended that program.
    pub signal: Option<i32>,
    /// From the program's start to its end.
    pub wall: Duration,
    /// What the container's control group counted.
    pub counters: Counters,
}

/// What brought the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The program ended by itself.
    Itself,
    /// [`crate::Start::wall`] passed.
    Wall,
    /// The host sent [`crate::KILL`] or went away.
    Told,
}

/// Counters of the container's control group; `None` where the kernel does not show one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// CPU time of the run, in ns.
    pub cpu_ns: Option<u64>,
    /// Peak memory in bytes.
    pub max_memory: Option<u64>,
    /// Processes that the OOM killer ended.
    pub oom_kills: Option<u64>,
    /// Forks and threads that the limit on processes refused.
    pub forks_refused: Option<u64>,
}

impl Report {
    /// Writes one frame.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        // One write: what is below PIPE_BUF arrives whole.
        let mut frame = Vec::with_capacity(128);
        match self {
            Self::Started => frame.push(b'S'),
            Self::Failed(why) => {
                frame.push(b'F');
                write_text(&mut frame, why)?;
            }
            Self::Left(left) => {
                frame.push(b'L');
                left.write(&mut frame)?;
            }
            Self::Content(bytes) => {
                frame.push(b'C');
                write_content(&mut frame, bytes)?;
            }
            Self::LeftAll(cut) => {
                frame.push(b'A');
                write_cut(&mut frame, *cut)?;
            }
            Self::Ended(ended) => {
                frame.push(b'E');
                ended.write(&mut frame)?;
            }
        }
        out.write_all(&frame)
    }

    /// Reads one frame.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        match read_u8(from)? {
            b'S' => Ok(Self::Started),
            b'F' => Ok(Self::Failed(read_text(from)?)),
            b'L' => Ok(Self::Left(Left::read(from)?)),
            b'C' => Ok(Self::Content(read_content(from)?)),
            b'A' => Ok(Self::LeftAll(read_cut(from)?)),
            b'E' => Ok(Self::Ended(Ended::read(from)?)),
            _ => Err(bad("a report of an unknown kind")),
        }
    }
}

impl Ended {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let ending = match self.ending {
            Ending::Itself => 0,
            Ending::Wall => 1,
            Ending::Told => 2,
        };
        write_u32(out, ending)?;
        // Neither an exit status nor a signal is negative: -1 stands for "none".
        write_u32(out, self.exit_code.unwrap_or(-1).cast_unsigned())?;
        write_u32(out, self.signal.unwrap_or(-1).cast_unsigned())?;
        write_duration(out, self.wall)?;
        let c = &self.counters;
        for counter in [c.cpu_ns, c.max_memory, c.oom_kills, c.forks_refused] {
            write_u64(out, counter.unwrap_or(u64::MAX))?;
        }
        Ok(())
    }

    fn read(from: &mut impl Read) -> io::Result<Self> {
        let ending = match read_u32(from)? {
            0 => Ending::Itself,
            1 => Ending::Wall,
            2 => Ending::Told,
            _ => return Err(bad("an ending of an unknown kind")),
        };
        let status = |n: u32| Some(n.cast_signed()).filter(|n| *n >= 0);
        let exit_code = status(read_u32(from)?);
        let signal = status(read_u32(from)?);
        let wall = read_duration(from)?;
        let mut counter = || Ok::<_, io::Error>(Some(read_u64(from)?).filter(|n| *n != u64::MAX));
        let counters = Counters {
            cpu_ns: counter()?,
            max_memory: counter()?,
            oom_kills: counter()?,
            forks_refused: counter()?,
        };
        Ok(Self { ending, exit_code, signal, wall, counters })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::LeftKind;

    #[test]
    fn reports_are_read_as_they_were_written() {
        let ended = Ended {
            ending: Ending::Wall,
            exit_code: None,
            signal: Some(9),
            wall: Duration::from_nanos(1_234_567_890),
            counters: Counters { cpu_ns: Some(7), max_memory: None, oom_kills: Some(0), forks_refused: None },
        };
        let path = b"a\n\xff/\x1b".to_vec();
        let left = Left { path, kind: LeftKind::Link, size: u64::MAX, mode: 0o7777, content: true };
        let reports = [
            Report::Started,
            Report::Failed("なぜ".into()),
            Report::Left(left),
            Report::Content(vec![0; crate::CONTENT_FRAME]),
            Report::LeftAll(None),
            Report::LeftAll(Some(Cut::StillRunning)),
            Report::Ended(ended),
        ];
        let mut bytes = Vec::new();
        for report in &reports {
            report.write(&mut bytes).unwrap();
        }
        let mut from = bytes.as_slice();
        for report in reports {
            assert_eq!(Report::read(&mut from).unwrap(), report);
        }
        assert!(from.is_empty());
    }

    #[test]
    fn a_shortened_or_unknown_report_is_refused() {
        assert!(Report::read(&mut b"E\0\0".as_slice()).is_err());
        assert!(Report::read(&mut b"?".as_slice()).is_err());
    }
}
