//! Files that a run left, as the guest tells of them.

use guest::{Cut, Left, LeftKind};
use lab::{FileKind, FileLeft, FilesLeft};
use sha2::{Digest, Sha256};

/// Most bytes of one file that are kept as text.
const MAX_TEXT: usize = 8 * 1024;
/// Most bytes of text of all files together.
const MAX_TEXTS: usize = 64 * 1024;

/// Rows that came, and the one whose content is on its way.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    rows: Vec<FileLeft>,
    content: Option<Content>,
    texts: usize,
    /// What the guest said at the end.
    whole: Option<Option<Cut>>,
}

#[derive(Debug, Default)]
struct Content {
    digest: Sha256,
    size: u64,
    /// The beginning.
    head: Vec<u8>,
}

impl Leftovers {
    pub(crate) fn left(&mut self, left: Left) {
        self.finish();
        self.content = left.content.then(Content::default);
        self.rows.push(FileLeft {
            // As in the evidence of a trace: what is no UTF-8 is shown so.
            path: String::from_utf8_lossy(&left.path).into_owned(),
            kind: match left.kind {
                LeftKind::File => FileKind::File,
                LeftKind::Dir => FileKind::Dir,
                LeftKind::Link => FileKind::Link,
                LeftKind::Other => FileKind::Other,
            },
            size_bytes: left.size,
            mode: left.mode,
            sha256: None,
            text: None,
        });
    }

    pub(crate) fn content(&mut self, bytes: &[u8]) {
        let Some(content) = &mut self.content else { return };
        content.digest.update(bytes);
        content.size += bytes.len() as u64;
        let room = (MAX_TEXT + 1).saturating_sub(content.head.len());
        content.head.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    pub(crate) fn all(&mut self, cut: Option<Cut>) {
        self.finish();
        self.whole = Some(cut);
    }

    /// The rows by path, which the order of a folder does not matter to.
    pub(crate) fn into_files(mut self) -> FilesLeft {
        self.finish();
        self.rows.sort_by(|one, other| one.path.cmp(&other.path));
        let cut = match self.whole {
            Some(None) => None,
            Some(Some(cut)) => Some(why(cut)),
            None => Some("the files were not told of to their end"),
        };
        FilesLeft { rows: self.rows, cut: cut.map(String::from) }
    }

    fn finish(&mut self) {
        let (Some(content), Some(row)) = (self.content.take(), self.rows.last_mut()) else { return };
        let whole = content.size == row.size_bytes || row.kind == FileKind::Link;
        if whole && row.kind == FileKind::File {
            row.sha256 = Some(hex::encode(content.digest.finalize()));
        }
        let small = content.head.len() <= MAX_TEXT && self.texts + content.head.len() <= MAX_TEXTS;
        if whole
            && small
            && let Ok(text) = String::from_utf8(content.head)
        {
            self.texts += text.len();
            row.text = Some(text);
        }
    }
}

const fn why(cut: Cut) -> &'static str {
    match cut {
        Cut::TooMany => "the run left more files than are collected",
        Cut::TooDeep => "the run left folders deeper than are collected",
        Cut::TooSlow => "collecting the files took too long",
        Cut::Unreadable => "the run left a folder that its own user may not read",
        Cut::StillRunning => "a process of the run did not end, so its files were not collected",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn left(path: &str, kind: LeftKind, size: u64, content: bool) -> Left {
        Left { path: path.into(), kind, size, mode: 0o644, content }
    }

    #[test]
    fn rows_come_by_path_with_digest_and_text_where_their_content_came_whole() {
        let mut leftovers = Leftovers::default();
        leftovers.left(left("b", LeftKind::File, 6, true));
        leftovers.content(b"abc");
        leftovers.content(b"def");
        leftovers.left(left("short", LeftKind::File, 9, true));
        leftovers.content(b"abc");
        leftovers.left(left("a", LeftKind::Link, 4, true));
        leftovers.content(b"/etc");
        leftovers.left(left("binary", LeftKind::File, 1, true));
        leftovers.content(b"\xff");
        leftovers.left(left("empty", LeftKind::File, 0, true));
        leftovers.left(left("giant", LeftKind::File, 1 << 42, false));
        leftovers.all(None);
        let FilesLeft { rows, cut } = leftovers.into_files();
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.path.as_str(), row.sha256.as_ref().map(|hex| &hex[..8]), row.text.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("a", None, Some("/etc")),
                ("b", Some("bef57ec7"), Some("abcdef")),
                ("binary", Some("a8100ae6"), None),
                ("empty", Some("e3b0c442"), Some("")),
                ("giant", None, None),
                ("short", None, None),
            ]
        );
        assert_eq!(cut, None);
    }

    #[test]
    fn text_is_bounded_and_a_missing_end_is_told() {
        let mut leftovers = Leftovers::default();
        for n in 0..20 {
            leftovers.left(left(&format!("{n:02}"), LeftKind::File, 8000, true));
            leftovers.content(&[b'x'; 8000]);
        }
        leftovers.left(left("99", LeftKind::File, 9000, true));
        leftovers.content(&[b'x'; 9000]);
        let FilesLeft { rows, cut } = leftovers.into_files();
        assert_eq!(rows.iter().filter(|row| row.text.is_some()).count(), 8);
        assert!(rows.iter().all(|row| row.sha256.is_some()));
        assert!(cut.unwrap().contains("to their end"));
    }
}
