//! Files that are there whole or not at all.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Writes a file beside its place and moves it there when it is whole: an older one of that name stays
/// as it is until then, and for good where writing fails.
pub(super) fn atomically(
    path: &Path,
    write: impl FnOnce(&mut File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let doing = || format!("cannot write {}", path.display());
    match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => bail!("{}: it is a folder", doing()),
        // A pipe or a device is written to, never replaced.
        Ok(there) if !there.is_file() => {
            let mut file = OpenOptions::new().write(true).open(path).with_context(doing)?;
            return write(&mut file).with_context(doing);
        }
        _ => {}
    }
    // What a link leads to is replaced, not the link.
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut draft = Draft::beside(&place).with_context(doing)?;
    write(&mut draft.file).with_context(doing)?;
    draft.file.sync_all().with_context(doing)?;
    std::fs::rename(&draft.path, &place).with_context(doing)?;
    draft.path = PathBuf::new();
    Ok(())
}

/// A file that is deleted unless it was moved away.
struct Draft {
    file: File,
    path: PathBuf,
}

impl Draft {
    fn beside(place: &Path) -> anyhow::Result<Self> {
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            bail!("there is no folder {}", folder.display());
        }
        let Some(name) = place.file_name() else { bail!("a file name is missing") };
        let name = format!(".{}.{}.part", name.to_string_lossy(), std::process::id());
        let path = folder.join(name);
        // One of this name is left from a process of our number that was killed.
        let _ = std::fs::remove_file(&path);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok(Self { file, path })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
