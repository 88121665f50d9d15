//! A folder of small text files, read into memory. The only I/O of this crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::fault::Faults;
use crate::lab::Files;
use crate::names::check_file_name;

/// Largest file of a lab, in bytes. A run that needs more makes it.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// What a folder holds, by name relative to it.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) files: Files,
}

impl Folder {
    /// Reads every file below `path` but those in its folder `skip`.
    pub(crate) fn read(path: &Path, skip: Option<&str>, faults: &mut Faults) -> Self {
        let mut files = Files::new();
        read_below(path, path, skip, &mut files, faults);
        Self { path: path.to_owned(), files }
    }

    /// Removes and returns the files of a folder, by name relative to that.
    pub(crate) fn take_below(&mut self, folder: &str) -> Files {
        let prefix = format!("{folder}/");
        self.files
            .extract_if(.., |name, _| name.starts_with(&prefix))
            .map(|(name, text)| (name[prefix.len()..].to_owned(), text))
            .collect()
    }

    /// SHA-256 in hex over one line a file, in the order of their names: hash, length, name. Names
    /// hold no line ends, so no other folder has the same listing.
    pub(crate) fn digest(&self) -> String {
        let mut listing = Sha256::new();
        for (name, text) in &self.files {
            let hash = hex::encode(Sha256::digest(text));
            listing.update(format!("{hash} {} {name}\n", text.len()));
        }
        hex::encode(listing.finalize())
    }
}

fn read_below(root: &Path, folder: &Path, skip: Option<&str>, files: &mut Files, faults: &mut Faults) {
    for path in entries(folder, faults) {
        let relative = path.strip_prefix(root).unwrap_or(&path);
        let Some(name) = relative.to_str().map(str::to_owned) else {
            faults.add(&path, None, "the file name is not UTF-8", "rename it");
            continue;
        };
        if skip == Some(name.as_str()) {
            continue;
        }
        if let Err((_, rule)) = check_file_name(&name) {
            faults.add(&path, None, rule, "rename it");
            continue;
        }
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => read_below(root, &path, skip, files, faults),
            Ok(meta) if !meta.is_file() => {
                let hint = "a lab holds files and folders only: no links";
                faults.add(&path, None, "not a regular file", hint);
            }
            Ok(meta) if meta.len() > MAX_FILE_BYTES => {
                let message = format!("{} bytes; at most {MAX_FILE_BYTES} are allowed", meta.len());
                faults.add(&path, None, message, "let the run make large files itself");
            }
            Ok(_) => read_text(&path, name, files, faults),
            Err(error) => faults.add(&path, None, error.to_string(), ""),
        }
    }
}

/// The entries of a folder in the order of their names: faults come in the same order everywhere.
fn entries(folder: &Path, faults: &mut Faults) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>());
    let mut paths = listed.unwrap_or_else(|error| {
        faults.add(folder, None, error.to_string(), "");
        Vec::new()
    });
    paths.sort();
    paths
}

fn read_text(path: &Path, name: String, files: &mut Files, faults: &mut Faults) {
    match fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => {
            files.insert(name, text);
        }
        Ok(Err(error)) => {
            let at = error.utf8_error().valid_up_to();
            let line = line_of(error.as_bytes(), at);
            faults.add(path, Some(line), "not UTF-8 text", "save it as UTF-8");
        }
        Err(error) => faults.add(path, None, error.to_string(), ""),
    }
}

/// The folders directly below `path`, by name.
pub(crate) fn folders(path: &Path, faults: &mut Faults) -> BTreeMap<String, PathBuf> {
    entries(path, faults)
        .into_iter()
        .filter(|entry| entry.is_dir())
        .filter_map(|entry| Some((entry.file_name()?.to_str()?.to_owned(), entry)))
        .collect()
}

/// The line, from 1, of the byte at `offset`.
pub(crate) fn line_of(text: &[u8], offset: usize) -> u32 {
    let before = &text[..offset.min(text.len())];
    let ends = before.iter().filter(|&&byte| byte == b'\n').count();
    u32::try_from(ends + 1).unwrap_or(u32::MAX)
}
