//! What the host sends: how to start, and the files.

use std::io::{self, Read, Write};
use std::time::Duration;

use crate::{
    Seal, bad, is_learner, read_count, read_duration, read_text, read_u32, read_u64, write_duration,
    write_text, write_u32, write_u64,
};

/// First bytes on stdin; the last one is the protocol's version (label `todoku.contract`).
const MAGIC: &[u8; 4] = b"TDK2";
/// Largest file.
const MAX_FILE: u64 = 1 << 30;

/// How to start the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Program and arguments: strace and the tracee's, or the tracee's alone.
    pub argv: Vec<String>,
    /// The program's whole environment.
    pub env: Vec<(String, String)>,
    /// Uid and gid of the learner's program.
    pub learner: u32,
    /// Start the program as the learner. False for strace, which changes the uid itself.
    pub as_learner: bool,
    /// What marks the end of both outputs.
    pub seal: Seal,
    /// `RLIMIT_NOFILE`, soft and hard.
    pub open_files: u64,
    /// Time from the program's start until the guest ends it.
    pub wall: Duration,
    /// What processes left behind by the main one get before they are killed.
    pub grace: Duration,
    /// Report what lies in the work folder afterwards.
    pub collect: bool,
    /// How many [`Entry`]s follow.
    pub files: u32,
}

/// Header of one file; `len` bytes of content follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the work folder; folders on the way are made.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Bytes of content.
    pub len: u64,
}

impl Start {
    /// Writes the header.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        write_u32(out, u32::try_from(self.argv.len()).unwrap_or(u32::MAX))?;
        for arg in &self.argv {
            write_text(out, arg)?;
        }
        write_u32(out, u32::try_from(self.env.len()).unwrap_or(u32::MAX))?;
        for (name, value) in &self.env {
            write_text(out, name)?;
            write_text(out, value)?;
        }
        write_u32(out, self.learner)?;
        write_u32(out, u32::from(self.as_learner))?;
        out.write_all(&self.seal)?;
        write_u64(out, self.open_files)?;
        write_duration(out, self.wall)?;
        write_duration(out, self.grace)?;
        write_u32(out, u32::from(self.collect))?;
        write_u32(out, self.files)
    }

    /// Reads a header that [`Start::write`] wrote.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut magic = [0; 4];
        from.read_exact(&mut magic)?;
        if &magic != MAGIC {
            return Err(bad("the sandbox speaks another protocol than this image"));
        }
        let argv = (0..read_count(from)?).map(|_| read_text(from)).collect::<io::Result<Vec<_>>>()?;
        if argv.is_empty() {
            return Err(bad("no program to start"));
        }
        let env = (0..read_count(from)?)
            .map(|_| Ok((read_text(from)?, read_text(from)?)))
            .collect::<io::Result<Vec<_>>>()?;
        let learner = read_u32(from)?;
        if !is_learner(learner) {
            return Err(bad("the user to run as is none of the learners"));
        }
        let as_learner = read_u32(from)? != 0;
        let mut seal = Seal::default();
        from.read_exact(&mut seal)?;
        Ok(Self {
            argv,
            env,
            learner,
            as_learner,
            seal,
            open_files: read_u64(from)?,
            wall: read_duration(from)?,
            grace: read_duration(from)?,
            collect: read_u32(from)? != 0,
            files: read_u32(from)?,
        })
    }
}

impl Entry {
    /// Writes the entry's header; the caller writes `len` bytes after it.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write_text(out, &self.path)?;
        write_u32(out, self.mode)?;
        write_u64(out, self.len)
    }

    /// Reads an entry's header and refuses a path that could leave the work folder.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let entry = Self { path: read_text(from)?, mode: read_u32(from)?, len: read_u64(from)? };
        if let Some(fault) = path_fault(&entry.path) {
            return Err(bad(&format!("file {:?}: {fault}", entry.path)));
        }
        if entry.len > MAX_FILE {
            return Err(bad(&format!("file {:?} is over 1 GiB", entry.path)));
        }
        Ok(entry)
    }
}

/// What is wrong with a file's path, if anything: it must be relative and stay below the folder.
#[must_use]
pub fn path_fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("the name is empty");
    }
    if path.contains('\0') {
        return Some("the name has a NUL byte");
    }
    if path.starts_with('/') {
        return Some("the name is absolute: give it relative to the work folder");
    }
    for part in path.split('/') {
        match part {
            "" => return Some("the name has an empty part ('//' or a '/' at its end)"),
            "." | ".." => return Some("the name has a part '.' or '..'"),
            _ if part.len() > 255 => return Some("a part of the name is over 255 bytes"),
            _ => {}
        }
    }
    (path.len() > 1024).then_some("the name is over 1024 bytes")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn start() -> Start {
        Start {
            argv: vec!["node".into(), "日本.js".into()],
            env: vec![("A".into(), "1=2".into())],
            learner: 20_003,
            as_learner: true,
            seal: *b"0123456789abcdef",
            open_files: 1024,
            wall: Duration::from_millis(1500),
            grace: Duration::from_millis(300),
            collect: true,
            files: 2,
        }
    }

    #[test]
    fn a_start_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        start().write(&mut bytes).unwrap();
        assert_eq!(Start::read(&mut bytes.as_slice()).unwrap(), start());
    }

    #[test]
    fn every_shortened_start_is_refused() {
        let mut bytes = Vec::new();
        start().write(&mut bytes).unwrap();
        for end in 0..bytes.len() {
            assert!(Start::read(&mut &bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn a_length_from_nowhere_is_refused_before_memory_is_taken() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(u32::MAX.to_le_bytes());
        let error = Start::read(&mut bytes.as_slice()).unwrap_err();
        assert!(error.to_string().contains("64 KiB"), "{error}");
    }

    #[test]
    fn a_run_as_anybody_else_is_refused() {
        for learner in [0, 1001, 20_000, 20_257, u32::MAX] {
            let mut bytes = Vec::new();
            Start { learner, ..start() }.write(&mut bytes).unwrap();
            assert!(Start::read(&mut bytes.as_slice()).is_err(), "{learner}");
        }
    }

    #[test]
    fn another_protocol_is_named() {
        let error = Start::read(&mut b"TDK9....".as_slice()).unwrap_err();
        assert!(error.to_string().contains("another protocol"), "{error}");
    }

    #[test]
    fn a_path_that_could_leave_the_folder_is_refused() {
        for path in ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a\0b"] {
            let mut bytes = Vec::new();
            let entry = Entry { path: path.into(), mode: 0o644, len: 0 };
            entry.write(&mut bytes).unwrap();
            assert!(Entry::read(&mut bytes.as_slice()).is_err(), "{path:?}");
        }
        for path in ["a", "a/b.js", "..a", "日本/語.js", "a b\n", "-x"] {
            assert_eq!(path_fault(path), None, "{path:?}");
        }
    }
}
