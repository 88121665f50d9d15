//! Telling what a run left in its work folder.
//!
//! It is done as the learner, inside, when no process of theirs is left: by descriptors from the folder down, no link followed,
//! nothing opened but folders and regular files. So no path of a learner's choice is ever opened by anybody who may
//! more than they, and a FIFO or a device is looked at from outside alone.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use guest::{CONTENT_FRAME, Cut, Left, LeftKind, MAX_PATH, Report, WORK};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};

/// Most things that are told of.
const MAX_ENTRIES: usize = 2000;
/// Most bytes of all paths together.
const MAX_PATHS: usize = 256 * 1024;
/// Folders inside folders; each open at one time.
const MAX_DEPTH: usize = 32;
/// Most bytes of content that are read.
const MAX_CONTENT: u64 = 64 << 20;
/// Holes that a file may have and still be read: reading a hole costs as much as reading bytes.
const MAX_HOLES: u64 = 1 << 20;
const MAX_TIME: Duration = Duration::from_secs(2);

/// Flags of everything that is opened: no link followed, no terminal taken, no waiting.
const CAREFULLY: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Reports what lies in the work folder, and whether that is everything. Call it as the learner.
pub(crate) fn work_folder(out: &mut impl Write) -> io::Result<()> {
    let mut walk =
        Walk { out, entries: 0, paths: 0, content: MAX_CONTENT, until: Instant::now() + MAX_TIME, cut: None };
    match openat(CWD, WORK, CAREFULLY | OFlags::DIRECTORY, Mode::empty()) {
        Ok(folder) => walk.folder(folder, &[], 0)?,
        // The learner may have closed their own folder to themselves.
        Err(_) => walk.cut = Some(Cut::Unreadable),
    }
    let cut = walk.cut;
    Report::LeftAll(cut).write(out)
}

struct Walk<'a, W> {
    out: &'a mut W,
    entries: usize,
    paths: usize,
    /// Bytes of content that may still be read.
    content: u64,
    until: Instant,
    /// The first reason for which something is left out.
    cut: Option<Cut>,
}

impl<W: Write> Walk<'_, W> {
    fn folder(&mut self, folder: OwnedFd, path: &[u8], depth: usize) -> io::Result<()> {
        let Ok(entries) = Dir::read_from(&folder) else { return self.leave_out(Cut::Unreadable) };
        for entry in entries {
            let Ok(entry) = entry else { return self.leave_out(Cut::Unreadable) };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if self.is_over() {
                return Ok(());
            }
            let path = [path, if path.is_empty() { b"" } else { b"/" }, name.to_bytes()].concat();
            self.entry(folder.as_fd(), name, path, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, folder: BorrowedFd<'_>, name: &CStr, path: Vec<u8>, depth: usize) -> io::Result<()> {
        if path.len() > MAX_PATH {
            return self.leave_out(Cut::TooDeep);
        }
        self.entries += 1;
        self.paths += path.len();
        if self.entries > MAX_ENTRIES || self.paths > MAX_PATHS {
            return self.leave_out(Cut::TooMany);
        }
        let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return self.leave_out(Cut::Unreadable);
        };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => LeftKind::File,
            FileType::Directory => LeftKind::Dir,
            FileType::Symlink => LeftKind::Link,
            _ => LeftKind::Other,
        };
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let left = Left { path, kind, size, mode: stat.st_mode & 0o7777, content: false };
        match kind {
            LeftKind::File => self.file(folder, name, left, &stat),
            LeftKind::Dir => {
                let path = left.path.clone();
                Report::Left(left).write(self.out)?;
                if depth == MAX_DEPTH {
                    return self.leave_out(Cut::TooDeep);
                }
                match openat(folder, name, CAREFULLY | OFlags::DIRECTORY, Mode::empty()) {
                    Ok(inner) => self.folder(inner, &path, depth + 1),
                    Err(_) => self.leave_out(Cut::Unreadable),
                }
            }
            LeftKind::Link => match readlinkat(folder, name, Vec::new()) {
                Ok(to) => {
                    Report::Left(Left { content: true, ..left }).write(self.out)?;
                    Report::Content(to.into_bytes()).write(self.out)
                }
                Err(_) => Report::Left(left).write(self.out),
            },
            LeftKind::Other => Report::Left(left).write(self.out),
        }
    }

    /// A regular file, with its content where that is not too much.
    fn file(&mut self, folder: BorrowedFd<'_>, name: &CStr, left: Left, stat: &Stat) -> io::Result<()> {
        // Blocks are of 512 bytes, whatever the file system's are: stat(3type).
        let stored = u64::try_from(stat.st_blocks).unwrap_or_default().saturating_mul(512);
        if left.size > self.content || left.size > stored.saturating_add(MAX_HOLES) {
            return Report::Left(left).write(self.out);
        }
        let Ok(file) = openat(folder, name, CAREFULLY, Mode::empty()) else {
            return Report::Left(left).write(self.out);
        };
        let size = left.size;
        self.content -= size;
        Report::Left(Left { content: true, ..left }).write(self.out)?;
        let mut file = File::from(file).take(size);
        let mut buffer = vec![0; CONTENT_FRAME];
        while !self.is_over() {
            // What cannot be read arrives short, and the host then knows no digest of it.
            let Ok(count @ 1..) = file.read(&mut buffer) else { break };
            Report::Content(buffer[..count].to_vec()).write(self.out)?;
        }
        Ok(())
    }

    fn is_over(&mut self) -> bool {
        if Instant::now() > self.until {
            self.cut.get_or_insert(Cut::TooSlow);
        }
        matches!(self.cut, Some(Cut::TooSlow | Cut::TooMany))
    }

    fn leave_out(&mut self, why: Cut) -> io::Result<()> {
        // Too much of it is the reason to stop; a folder that cannot be read is not.
        if self.cut.is_none() || matches!(why, Cut::TooMany | Cut::TooSlow) {
            self.cut = Some(why);
        }
        Ok(())
    }
}
