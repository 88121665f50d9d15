//! Reading a learner's files with a learner's rights: no link is followed, nothing but a regular file is read.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use guest::WORK;
use guest::frames::Folder;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};
use rustix::path::Arg;

/// Folders inside folders.
const DEEPEST: usize = 16;
/// Entries looked at: a folder may have as many as the disk has room for.
const MAX_ENTRIES: u32 = 10_000;

/// The work folder's files, at most `files` and `bytes` of them. Hidden ones are the programs' own.
pub(crate) fn read(files: u32, bytes: u64) -> Folder {
    let mut reader = Reader { folder: Folder::default(), files, bytes, entries: MAX_ENTRIES };
    if let Ok(work) = open(CWD, WORK, OFlags::DIRECTORY) {
        reader.walk(&work, "", DEEPEST);
    }
    reader.folder
}

struct Reader {
    folder: Folder,
    files: u32,
    bytes: u64,
    entries: u32,
}

impl Reader {
    fn walk(&mut self, dir: &OwnedFd, prefix: &str, deeper: usize) {
        for name in self.names(dir) {
            let Some(text) = name.to_str().ok().filter(|text| !text.contains('\0')) else {
                self.folder.left_out += 1;
                continue;
            };
            let path = format!("{prefix}{text}");
            // Non-blocking, so that a FIFO that took a file's place is opened without waiting, and left.
            match open(dir, name.as_c_str(), OFlags::NONBLOCK) {
                Ok(found) => self.take(&found, path, deeper),
                // A link, a socket, or not the learner's to read.
                Err(_) => self.folder.left_out += 1,
            }
        }
    }

    /// Names in `dir` that are not hidden, in order.
    fn names(&mut self, dir: &OwnedFd) -> Vec<CString> {
        let Ok(entries) = Dir::read_from(dir) else { return Vec::new() };
        let mut names = Vec::new();
        for entry in
            entries.filter_map(Result::ok).filter(|entry| !entry.file_name().to_bytes().starts_with(b"."))
        {
            if self.entries == 0 {
                self.folder.left_out += 1;
                break;
            }
            self.entries -= 1;
            names.push(entry.file_name().to_owned());
        }
        names.sort();
        names
    }

    fn take(&mut self, found: &OwnedFd, path: String, deeper: usize) {
        let Ok(stat) = fstat(found) else { return };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory if deeper > 0 => self.walk(found, &format!("{path}/"), deeper - 1),
            FileType::RegularFile => match self.content(found, &path, stat.st_size) {
                Ok(Some(content)) => {
                    self.files -= 1;
                    self.bytes -= (path.len() + content.len()) as u64;
                    self.folder.files.push((path, content));
                }
                Ok(None) | Err(_) => self.folder.left_out += 1,
            },
            _ => self.folder.left_out += 1,
        }
    }

    /// `None` when it is over a bound, whatever size it said it had: it may grow while it is read.
    fn content(&self, found: &OwnedFd, path: &str, size: i64) -> io::Result<Option<Vec<u8>>> {
        let room = self.bytes.saturating_sub(path.len() as u64);
        if self.files == 0 || room == 0 || size.cast_unsigned() > room {
            return Ok(None);
        }
        let mut content = Vec::new();
        File::from(found.try_clone()?).take(room + 1).read_to_end(&mut content)?;
        Ok((content.len() as u64 <= room).then_some(content))
    }
}

fn open(dir: impl AsFd, name: impl Arg, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(openat(dir, name, flags, Mode::empty())?)
}
