//! What a run left in its work folder, as the guest reports it.

use std::io::{self, Read, Write};

use crate::{bad, read_u32, read_u64, write_u32, write_u64};

/// Longest path that is reported, in bytes.
pub const MAX_PATH: usize = 4096;
/// Most bytes of content in one frame.
pub const CONTENT_FRAME: usize = 32 * 1024;

/// One thing that lies in the work folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Relative to the work folder; any bytes but NUL.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: LeftKind,
    /// Its size; of a link, the length of where it leads.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Whether its content follows, in as many frames as it takes.
    pub content: bool,
}

/// What something in the work folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link; its content is where it leads.
    Link,
    /// A FIFO, a socket or a device.
    Other,
}

/// Why not everything was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// There was more than is reported of one run.
    TooMany,
    /// A folder lay too deep.
    TooDeep,
    /// It took too long.
    TooSlow,
    /// A folder could not be read.
    Unreadable,
    /// A process of the learner's would not end.
    StillRunning,
}

const CUTS: [Cut; 5] = [Cut::TooMany, Cut::TooDeep, Cut::TooSlow, Cut::Unreadable, Cut::StillRunning];
const KINDS: [LeftKind; 4] = [LeftKind::File, LeftKind::Dir, LeftKind::Link, LeftKind::Other];

impl Left {
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write_bytes(out, &self.path, MAX_PATH)?;
        write_u32(out, place(&KINDS, &self.kind))?;
        write_u64(out, self.size)?;
        write_u32(out, self.mode)?;
        write_u32(out, u32::from(self.content))
    }

    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        Ok(Self {
            path: read_bytes(from, MAX_PATH)?,
            kind: *KINDS.get(read_u32(from)? as usize).ok_or_else(|| bad("something of an unknown kind"))?,
            size: read_u64(from)?,
            mode: read_u32(from)?,
            content: read_u32(from)? != 0,
        })
    }
}

pub(crate) fn write_content(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    write_bytes(out, bytes, CONTENT_FRAME)
}

pub(crate) fn read_content(from: &mut impl Read) -> io::Result<Vec<u8>> {
    read_bytes(from, CONTENT_FRAME)
}

pub(crate) fn write_cut(out: &mut impl Write, cut: Option<Cut>) -> io::Result<()> {
    write_u32(out, cut.map_or(0, |cut| place(&CUTS, &cut) + 1))
}

pub(crate) fn read_cut(from: &mut impl Read) -> io::Result<Option<Cut>> {
    match read_u32(from)? {
        0 => Ok(None),
        n => Ok(Some(*CUTS.get(n as usize - 1).ok_or_else(|| bad("a cut of an unknown kind"))?)),
    }
}

fn place<T: PartialEq>(all: &[T], one: &T) -> u32 {
    all.iter().zip(0..).find_map(|(other, at)| (other == one).then_some(at)).unwrap_or_default()
}

fn write_bytes(out: &mut impl Write, bytes: &[u8], most: usize) -> io::Result<()> {
    let len = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= most);
    write_u32(out, len.ok_or_else(|| bad("bytes are too long for a frame"))?)?;
    out.write_all(bytes)
}

fn read_bytes(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let len = read_u32(from)? as usize;
    if len > most {
        return Err(bad("a frame is longer than it may be"));
    }
    let mut bytes = vec![0; len];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}
