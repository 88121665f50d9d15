//! The protocol of a terminal: frames on the standard input and output of a container's first process.
//!
//! Host to guest: one [`Open`], its files, then [`ToGuest`] frames; a closed stdin ends the terminal.
//! Guest to host: [`FromGuest`] frames. A frame is its kind, its length in four bytes, its content.
//!
//! Both directions keep to a window, so that no buffer on the way grows: the guest reads no more output
//! of the shell than it has credit for, and says how much input the shell has taken.

use std::io::{self, Read, Write};

use crate::{
    bad, is_learner, read_count, read_text, read_u8, read_u32, read_u64, write_text, write_u32, write_u64,
};

/// Argument of the guest that makes it the first process of a terminal.
pub const TERMINAL: &str = "terminal";
/// Argument of the guest that makes it the learner's shell, on the terminal that is its stdin.
pub const SHELL: &str = "shell";

/// Bytes of output that may be under way; [`ToGuest::Credit`] makes room again.
pub const OUTPUT_WINDOW: u32 = 256 * 1024;
/// Bytes of input that may be under way; [`FromGuest::Taken`] makes room again.
pub const INPUT_WINDOW: u32 = 64 * 1024;

/// First bytes; the last one is the protocol's version (label `todoku.contract`).
const MAGIC: &[u8; 4] = b"TDT1";
/// Longest content of a frame.
const MAX_FRAME: u32 = 4 * 1024 * 1024;
/// Kind and length.
const HEADER: usize = 5;

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Characters in a row.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

/// How to open the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// Uid and gid of the learner's shell.
    pub learner: u32,
    /// Its size at first.
    pub size: Size,
    /// `RLIMIT_NOFILE`, soft and hard.
    pub open_files: u64,
    /// Most files that are taken back at one time.
    pub back_files: u32,
    /// Most bytes of them, names and contents together.
    pub back_bytes: u64,
    /// How many [`crate::Entry`]s follow.
    pub files: u32,
}

/// What the host sends once the terminal is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToGuest {
    /// What the learner typed.
    Input(Vec<u8>),
    /// The terminal has another size.
    Resize(Size),
    /// So many bytes of output have been read.
    Credit(u32),
    /// Asks for the work folder's files: answered with [`FromGuest::Files`].
    Files,
}

/// What the guest sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromGuest {
    /// What the shell and its programs wrote.
    Output(Vec<u8>),
    /// So many bytes of input have been taken.
    Taken(u32),
    /// The work folder's files, up to the bounds of [`Open`].
    Files(Folder),
    /// The shell ended. The terminal is about to end.
    Ended,
    /// The guest could not do what it was asked.
    Failed(String),
}

/// Files of the work folder by relative path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// Regular files alone.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files that were over a bound, had no name in UTF-8, or could not be read.
    pub left_out: u32,
}

impl Open {
    /// Writes the header.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        write_u32(out, self.learner)?;
        self.size.write(out)?;
        write_u64(out, self.open_files)?;
        write_u32(out, self.back_files)?;
        write_u64(out, self.back_bytes)?;
        write_u32(out, self.files)
    }

    /// Reads a header that [`Open::write`] wrote.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut magic = [0; 4];
        from.read_exact(&mut magic)?;
        if &magic != MAGIC {
            return Err(bad("the sandbox speaks another protocol of terminals than this image"));
        }
        let learner = read_u32(from)?;
        if !is_learner(learner) {
            return Err(bad("the user to run as is none of the learners"));
        }
        Ok(Self {
            learner,
            size: Size::read(from)?,
            open_files: read_u64(from)?,
            back_files: read_u32(from)?,
            back_bytes: read_u64(from)?,
            files: read_u32(from)?,
        })
    }
}

impl Size {
    fn write(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.cols.to_le_bytes())?;
        out.write_all(&self.rows.to_le_bytes())
    }

    fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; 4];
        from.read_exact(&mut bytes)?;
        let [a, b, c, d] = bytes;
        Ok(Self { cols: u16::from_le_bytes([a, b]), rows: u16::from_le_bytes([c, d]) })
    }
}

impl ToGuest {
    /// The frame's bytes.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Input(bytes) => frame(b'I', bytes),
            Self::Resize(size) => {
                let mut content = Vec::with_capacity(4);
                size.write(&mut content)?;
                frame(b'R', &content)
            }
            Self::Credit(bytes) => frame(b'C', &bytes.to_le_bytes()),
            Self::Files => frame(b'F', &[]),
        }
    }

    /// Reads one frame.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let (kind, content) = read_frame(from)?;
        let mut content = content.as_slice();
        match kind {
            b'I' => Ok(Self::Input(content.to_vec())),
            b'R' => Ok(Self::Resize(Size::read(&mut content)?)),
            b'C' => Ok(Self::Credit(read_u32(&mut content)?)),
            b'F' => Ok(Self::Files),
            _ => Err(bad("a frame of an unknown kind")),
        }
    }
}

impl FromGuest {
    /// The frame's bytes.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Output(bytes) => frame(b'O', bytes),
            Self::Taken(bytes) => frame(b'T', &bytes.to_le_bytes()),
            Self::Files(folder) => frame(b'F', &folder.bytes()?),
            Self::Ended => frame(b'E', &[]),
            Self::Failed(why) => frame(b'X', why.as_bytes()),
        }
    }

    /// The first frame of `bytes` and its length; `None` while it is not whole.
    pub fn parse(bytes: &[u8]) -> io::Result<Option<(Self, usize)>> {
        let Some((_, length)) = bytes.get(..HEADER).and_then(|header| header.split_first()) else {
            return Ok(None);
        };
        let whole = HEADER + read_u32(&mut &*length)? as usize;
        if whole > HEADER + MAX_FRAME as usize {
            return Err(bad("a frame is over 4 MiB"));
        }
        match bytes.get(..whole) {
            None => Ok(None),
            Some(mut frame) => Ok(Some((Self::read(&mut frame)?, whole))),
        }
    }

    fn read(from: &mut impl Read) -> io::Result<Self> {
        let (kind, content) = read_frame(from)?;
        match kind {
            b'O' => Ok(Self::Output(content)),
            b'T' => Ok(Self::Taken(read_u32(&mut content.as_slice())?)),
            b'F' => Ok(Self::Files(Folder::read(&mut content.as_slice())?)),
            b'E' => Ok(Self::Ended),
            b'X' => Ok(Self::Failed(String::from_utf8_lossy(&content).into_owned())),
            _ => Err(bad("a frame of an unknown kind")),
        }
    }
}

impl Folder {
    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        write_u32(&mut out, self.left_out)?;
        write_u32(&mut out, u32::try_from(self.files.len()).unwrap_or(u32::MAX))?;
        for (name, content) in &self.files {
            write_text(&mut out, name)?;
            write_u32(&mut out, u32::try_from(content.len()).map_err(|_| bad("a file is over 4 GiB"))?)?;
            out.extend_from_slice(content);
        }
        Ok(out)
    }

    fn read(from: &mut impl Read) -> io::Result<Self> {
        let left_out = read_u32(from)?;
        let mut files = Vec::new();
        for _ in 0..read_count(from)? {
            let name = read_text(from)?;
            files.push((name, read_content(from)?));
        }
        Ok(Self { files, left_out })
    }
}

fn frame(kind: u8, content: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(content.len()).ok().filter(|length| *length <= MAX_FRAME);
    let mut bytes = Vec::with_capacity(HEADER + content.len());
    bytes.push(kind);
    write_u32(&mut bytes, length.ok_or_else(|| bad("a frame is over 4 MiB"))?)?;
    bytes.extend_from_slice(content);
    Ok(bytes)
}

fn read_frame(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    Ok((read_u8(from)?, read_content(from)?))
}

fn read_content(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = read_u32(from)?;
    if length > MAX_FRAME {
        return Err(bad("a frame is over 4 MiB"));
    }
    let mut content = vec![0; length as usize];
    from.read_exact(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_the_host_sends_is_read_as_it_was_written() {
        let size = Size { cols: 80, rows: 24 };
        let open =
            Open { learner: 20_009, size, open_files: 1024, back_files: 100, back_bytes: 1 << 20, files: 2 };
        let mut bytes = Vec::new();
        open.write(&mut bytes).unwrap();
        assert_eq!(Open::read(&mut bytes.as_slice()).unwrap(), open);
        for end in 0..bytes.len() {
            assert!(Open::read(&mut &bytes[..end]).is_err(), "cut at {end}");
        }
        for frame in
            [ToGuest::Input("日本\r".into()), ToGuest::Resize(size), ToGuest::Credit(7), ToGuest::Files]
        {
            assert_eq!(ToGuest::read(&mut frame.bytes().unwrap().as_slice()).unwrap(), frame);
        }
    }

    #[test]
    fn what_the_guest_sends_is_found_in_a_stream_cut_anywhere() {
        let files = vec![("a.js".to_owned(), vec![0xff]), ("日本/語.js".to_owned(), Vec::new())];
        let frames = [
            FromGuest::Output(b"$ ".to_vec()),
            FromGuest::Taken(3),
            FromGuest::Files(Folder { files, left_out: 2 }),
            FromGuest::Failed("なぜ".into()),
            FromGuest::Ended,
        ];
        let stream: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes().unwrap()).collect();
        let mut seen = Vec::new();
        let mut waiting = Vec::new();
        for byte in stream {
            waiting.push(byte);
            if let Some((frame, length)) = FromGuest::parse(&waiting).unwrap() {
                assert_eq!(length, waiting.len());
                waiting.clear();
                seen.push(frame);
            }
        }
        assert_eq!(seen, frames);
    }

    #[test]
    fn a_length_from_nowhere_is_refused_before_memory_is_taken() {
        for bytes in [b"O\xff\xff\xff\xff".as_slice(), b"I\xff\xff\xff\xff"] {
            assert!(FromGuest::parse(bytes).is_err());
            assert!(ToGuest::read(&mut &*bytes).unwrap_err().to_string().contains("4 MiB"));
        }
        assert!(FromGuest::parse(b"?\0\0\0\0").is_err());
    }
}
