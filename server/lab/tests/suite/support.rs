//! A small lab to change one thing of, and runs to grade with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use lab::{Answers, Captured, Lab, LoadErrors, Outcome, Run, Tracer, Usage};
use tempfile::TempDir;

pub(crate) const MANIFEST: &str = r#"format = 1
evidence = 1
image = "node24"
entry = "main.js"
minutes = 5

[ja]
title = "題"
summary = "概要"

[en]
title = "Title"
summary = "Summary"

[[run]]
label = "one"

[[run]]
label = "plain"
tracer = "none"

[[question]]
id = "guess"
stage = "before"
type = "choice"
options = [
  { value = "a", ja = "あ", en = "A" },
  { value = "b", ja = "い", en = "B" },
]
ja = { prompt = "どれ" }
en = { prompt = "Which" }

[[question]]
id = "tid"
stage = "after"
type = "number"
ja = { prompt = "番号" }
en = { prompt = "Number" }

[[check]]
id = "opens"
points = 2
sql = "select id, path from events where path = '/etc/hostname'"
expect = "rows"
near = "select id, name, path from events where name = 'openat' order by id"
runs = ["one"]
[check.ja]
title = "開く"
pass = "{row.path} を開いた"
fail = "{near.path} だけ"
[check.en]
title = "Opens"
pass = "Opened {row.path}"
fail = "Opened {near.path} instead"

[[check]]
id = "knows"
points = 1
sql = "select value from answers where id = 'tid' and value = 7"
expect = "rows"
runs = []
answers = ["tid"]
ja = { title = "知る", pass = "はい", fail = "いいえ" }
en = { title = "Knows", pass = "Yes", fail = "No" }
"#;

/// A lab's folder, right until a test changes it.
pub(crate) struct Draft {
    root: TempDir,
    files: BTreeMap<String, Vec<u8>>,
}

impl Draft {
    pub(crate) fn new() -> Self {
        let files = [
            ("lab.toml", MANIFEST),
            ("ja.md", "課題"),
            ("en.md", "To do"),
            ("ja.notes.md", "しくみ"),
            ("en.notes.md", "How"),
            ("starter/main.js", "// start\n"),
            ("files/data.txt", "data\n"),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.into()));
        Self { root: TempDir::new().unwrap(), files: files.into() }
    }

    /// `from` must be there: a test that changes nothing tests nothing.
    pub(crate) fn edit(mut self, from: &str, to: &str) -> Self {
        let manifest = String::from_utf8(self.files["lab.toml"].clone()).unwrap();
        assert!(manifest.contains(from), "no {from:?} in lab.toml");
        self.files.insert("lab.toml".to_owned(), manifest.replacen(from, to, 1).into());
        self
    }

    pub(crate) fn put(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert(name.to_owned(), bytes.into());
        self
    }

    pub(crate) fn remove(mut self, name: &str) -> Self {
        self.files.remove(name).unwrap();
        self
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.root.path().join("small")
    }

    pub(crate) fn write(&self) -> PathBuf {
        let dir = self.dir();
        if dir.exists() {
            fs::remove_dir_all(&dir).unwrap();
        }
        for (name, bytes) in &self.files {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        dir
    }

    pub(crate) fn load(&self) -> Result<Lab, LoadErrors> {
        lab::load(&self.write())
    }

    /// Each fault as one line, paths relative to the lab's folder.
    pub(crate) fn faults(&self) -> Vec<String> {
        let LoadErrors(errors) = self.load().unwrap_err();
        let root = format!("{}/", self.dir().display());
        errors
            .iter()
            .map(|error| error.to_string().replace(&root, "").replace("\n    hint", " | hint"))
            .collect()
    }
}

/// A run that ended well.
pub(crate) fn run(label: &str, trace: Option<&[u8]>) -> Run {
    Run {
        label: label.to_owned(),
        try_no: 1,
        command: vec!["node".to_owned()],
        outcome: Outcome::Exited,
        exit_code: Some(0),
        signal: None,
        stdout: Captured::default(),
        stderr: Captured::default(),
        usage: Usage::default(),
        milli_cpus: 1000,
        tracer: if trace.is_some() { Tracer::Trace } else { Tracer::None },
        trace: Captured::whole(trace.unwrap_or_default().to_vec()),
        files: None,
    }
}

pub(crate) fn answers<const N: usize>(answers: [(&str, serde_json::Value); N]) -> Answers {
    answers.map(|(id, value)| (id.to_owned(), value)).into()
}
