//! Reads a lab's folder: every fault at once, or the lab.

use std::path::Path;

use crate::document::{Document, Entry, List};
use crate::fault::{Faults, LoadErrors};
use crate::folder::{Folder, folders};
use crate::lab::Lab;
use crate::lang::{Lang, Localized};
use crate::lint::lint;
use crate::manifest::{Check, ExampleQuery, Head, Question, RunEntry, Window};
use crate::names::is_id;

/// The folder of a lab that no learner and no grade depends on.
pub(crate) const SOLUTIONS: &str = "solutions";

/// Everything a lab's folder says, before it is known to be right.
pub(crate) struct Draft {
    pub(crate) head: Option<Entry<Head>>,
    pub(crate) runs: List<RunEntry>,
    pub(crate) questions: List<Question>,
    pub(crate) windows: List<Window>,
    pub(crate) queries: List<ExampleQuery>,
    pub(crate) checks: List<Check>,
    pub(crate) starter: crate::Files,
    pub(crate) files: crate::Files,
}

/// Reads the lab in `dir`, whose name is its slug.
///
/// # Errors
/// All faults of the lab, each with its file, line and a hint. Within one entry of `lab.toml` (a
/// `[[check]]`, say) a missing or misspelt key hides the faults of that entry alone.
pub fn load(dir: &Path) -> Result<Lab, LoadErrors> {
    let mut faults = Faults::default();
    let slug = slug(dir, &mut faults);
    let mut folder = Folder::read(dir, Some(SOLUTIONS), &mut faults);
    let digest = folder.digest();
    let (text, notes) = texts(&mut folder, &mut faults);
    let starter = folder.take_below("starter");
    let files = folder.take_below("files");
    let manifest = folder.files.remove("lab.toml");
    for name in folder.files.keys() {
        let hint =
            "a lab is lab.toml, ja.md, en.md, ja.notes.md, en.notes.md, starter/, files/ and solutions/";
        faults.add(&dir.join(name), None, "does not belong here", hint);
    }
    let path = dir.join("lab.toml");
    let Some(manifest) = manifest else {
        faults.add(&path, None, "is missing", "docs/lab-format.md has an example");
        return faults.or(None);
    };
    let Some(mut document) = Document::parse(&path, &manifest, &mut faults) else {
        return faults.or(None);
    };
    let draft = Draft {
        runs: document.take_list("run", &mut faults),
        questions: document.take_list("question", &mut faults),
        windows: document.take_list("window", &mut faults),
        queries: document.take_list("query", &mut faults),
        checks: document.take_list("check", &mut faults),
        head: document.rest(&mut faults),
        starter,
        files,
    };
    lint(dir, &draft, &mut faults);
    let lab = draft.into_lab(slug, digest, text, notes);
    faults.or(lab)
}

/// Reads every folder in `dir` as a lab, in the order of their names.
///
/// # Errors
/// All faults of all labs.
pub fn load_all(dir: &Path) -> Result<Vec<Lab>, LoadErrors> {
    let mut faults = Faults::default();
    let folders = folders(dir, &mut faults);
    let mut errors = faults.or(Some(())).err().map_or_else(Vec::new, |e| e.0);
    let mut labs = Vec::new();
    for path in folders.values() {
        match load(path) {
            Ok(lab) => labs.push(lab),
            Err(LoadErrors(more)) => errors.extend(more),
        }
    }
    if errors.is_empty() { Ok(labs) } else { Err(LoadErrors(errors)) }
}

fn slug(dir: &Path, faults: &mut Faults) -> String {
    let name = dir.file_name().map(|name| name.to_string_lossy());
    let slug = name.unwrap_or_default().into_owned();
    if !is_id(&slug) {
        let hint = "it is part of the lab's address: a to z, 0 to 9 and -, a letter first";
        faults.add(dir, None, "the folder's name cannot name a lab", hint);
    }
    slug
}

/// What to do and the notes, in both languages.
fn texts(folder: &mut Folder, faults: &mut Faults) -> (Localized<String>, Localized<String>) {
    let mut text = Localized::default();
    let mut notes = Localized::default();
    for lang in Lang::ALL {
        let code = lang.as_str();
        *text.get_mut(lang) = prose(folder, &format!("{code}.md"), faults);
        *notes.get_mut(lang) = prose(folder, &format!("{code}.notes.md"), faults);
    }
    (text, notes)
}

fn prose(folder: &mut Folder, name: &str, faults: &mut Faults) -> String {
    let text = folder.files.remove(name).unwrap_or_default();
    if text.trim().is_empty() {
        let hint = "every text exists in Japanese and English; notes say how it works";
        faults.add(&folder.path.join(name), None, "is missing or empty", hint);
    }
    text
}

impl Draft {
    fn into_lab(
        self,
        slug: String,
        digest: String,
        text: Localized<String>,
        notes: Localized<String>,
    ) -> Option<Lab> {
        let head = self.head?.value;
        let spec = |run: Entry<RunEntry>| run.value.into_spec(&head.image, &head.entry);
        Some(Lab {
            slug,
            digest,
            format: head.format,
            evidence: head.evidence,
            minutes: head.minutes,
            text,
            notes,
            starter: self.starter,
            files: self.files,
            runs: self.runs.entries.into_iter().map(spec).collect(),
            questions: values(self.questions),
            windows: values(self.windows),
            queries: values(self.queries),
            checks: values(self.checks),
            heading: Localized { ja: head.ja, en: head.en },
            image: head.image,
            entry: head.entry,
        })
    }
}

fn values<T>(list: List<T>) -> Vec<T> {
    list.entries.into_iter().map(|entry| entry.value).collect()
}
