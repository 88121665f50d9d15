//! The FIFOs between host and container, and the folders they lie in.
//!
//! `<fifo_dir>/<instance>/<container>/{trace,control}`, all of it root's alone. A locked file beside
//! them tells other processes that this instance lives; the kernel lets go of it with the process.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::pipe::fcntl_setpipe_size;
use tokio::net::unix::pipe;
use uuid::Uuid;

use crate::Error;

const LOCK: &str = "lock";
/// Of the trace's pipe: room for a tracer that is faster than we read. The kernel's usual 64 KiB
/// do where it allows no more.
const PIPE_BYTES: usize = 1 << 20;

/// This process's folder.
pub(crate) struct Home {
    path: PathBuf,
    _lock: File,
}

impl Home {
    pub(crate) fn make(root: &Path, instance: Uuid) -> Result<Self, Error> {
        let failed = |source| Error::folder("cannot make the folder for FIFOs", root, source);
        DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(failed)?;
        // The engine mounts by absolute path.
        let path = root.canonicalize().map_err(failed)?.join(instance.to_string());
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let lock = lock_file(&path).map_err(failed)?;
        lock.try_lock().map_err(|error| failed(error.into()))?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn run_dir(&self, name: &str) -> Result<RunDir, Error> {
        RunDir::make(self.path.join(name))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes the folders of instances that are gone, and names them.
pub(crate) fn sweep(root: &Path) -> io::Result<Vec<String>> {
    let mut dead = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(String::from) else { continue };
        if Uuid::parse_str(&name).is_err() {
            continue;
        }
        if !lives(&entry.path())? {
            remove(&entry.path());
            dead.push(name);
        }
    }
    Ok(dead)
}

fn lives(home: &Path) -> io::Result<bool> {
    match File::open(home.join(LOCK)) {
        // No lock yet: made this instant, or half removed. Its next sweep tells.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(is_young(home)),
        Err(error) => Err(error),
        Ok(lock) => match lock.try_lock() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        },
    }
}

fn is_young(home: &Path) -> bool {
    let age = std::fs::metadata(home).and_then(|meta| meta.modified()).map(|at| at.elapsed());
    matches!(age, Ok(Ok(age)) if age.as_secs() < 60)
}

fn lock_file(home: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(home.join(LOCK))
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_dir_all(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot remove a folder of FIFOs");
    }
}

/// One container's FIFOs; the folder goes with the value.
pub(crate) struct RunDir {
    path: PathBuf,
}

impl RunDir {
    fn make(path: PathBuf) -> Result<Self, Error> {
        let failed = |source| Error::folder("cannot make", &path, source);
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let dir = Self { path: path.clone() };
        for name in ["trace", "control"] {
            mkfifoat(CWD, path.join(name), Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.into()))?;
        }
        Ok(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn open_trace(&self) -> Result<pipe::Receiver, Error> {
        let receiver = self.open("trace")?;
        if let Err(error) = fcntl_setpipe_size(&receiver, PIPE_BYTES) {
            tracing::debug!(%error, "the trace's pipe keeps its usual size");
        }
        Ok(receiver)
    }

    pub(crate) fn open_control(&self) -> Result<pipe::Receiver, Error> {
        self.open("control")
    }

    /// Opened for both directions: a reader that never sees an end while no writer is there yet.
    fn open(&self, name: &str) -> Result<pipe::Receiver, Error> {
        pipe::OpenOptions::new()
            .read_write(true)
            .open_receiver(self.path.join(name))
            .map_err(|source| Error::folder("cannot open a FIFO in", &self.path, source))
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        remove(&self.path);
    }
}
