//! Whether what a lab's folder says makes sense: references, rules, bounds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use evidence::schema;

use crate::document::{Entry, Lines, List};
use crate::fault::Faults;
use crate::lint_check::lint_checks;
use crate::load::Draft;
use crate::manifest::{FORMAT, Head, Heading, Question, QuestionKind, RunEntry};
use crate::names::is_id;
use crate::submission::{MAX_FILES, MAX_SUBMISSION_BYTES};

/// Most runs of a lab: each is a sandbox for every attempt.
const MAX_RUNS: usize = 16;

/// Notes faults of `lab.toml`.
pub(crate) struct Lint<'a> {
    pub(crate) manifest: PathBuf,
    pub(crate) draft: &'a Draft,
    pub(crate) faults: &'a mut Faults,
}

/// Notes everything in the draft that breaks a rule.
pub(crate) fn lint(dir: &Path, draft: &Draft, faults: &mut Faults) {
    lint_files(dir, draft, faults);
    let mut lint = Lint { manifest: dir.join("lab.toml"), draft, faults };
    if let Some(head) = &draft.head {
        lint.head(head);
    }
    lint.runs(&draft.runs);
    lint.questions(&draft.questions);
    lint.windows(&draft.windows);
    lint_checks(&mut lint);
}

/// The starter must be a submission that a learner could send.
fn lint_files(dir: &Path, draft: &Draft, faults: &mut Faults) {
    let starter = dir.join("starter");
    let bytes: usize = draft.starter.iter().map(|(name, text)| name.len() + text.len()).sum();
    if draft.starter.len() > MAX_FILES || bytes > MAX_SUBMISSION_BYTES {
        let message = format!("{} files of {bytes} bytes in all", draft.starter.len());
        let hint = format!("a submission has at most {MAX_FILES} files of {MAX_SUBMISSION_BYTES} bytes");
        faults.add(&starter, None, message, &hint);
    }
    for name in draft.starter.keys().filter(|name| draft.files.contains_key(*name)) {
        let hint = "starter/ is what a learner edits, files/ what stays as it is";
        faults.add(&starter.join(name), None, "is in files/ as well", hint);
    }
}

impl Lint<'_> {
    pub(crate) fn fault(&mut self, line: Option<u32>, message: impl Into<String>, hint: &str) {
        self.faults.add(&self.manifest, line, message, hint);
    }

    fn head(&mut self, entry: &Entry<Head>) {
        let (head, lines) = (&entry.value, &entry.lines);
        if head.format != FORMAT {
            let message = format!("format {} is not known", head.format);
            self.fault(lines.of("format"), message, &format!("format = {FORMAT}"));
        }
        if head.evidence != schema::VERSION {
            let message = format!("evidence version {} is not known", head.evidence);
            let hint = format!("evidence = {}", schema::VERSION);
            self.fault(lines.of("evidence"), message, &hint);
        }
        if !is_id(&head.image) {
            let hint = "the name of a folder of lab-images/";
            self.fault(lines.of("image"), "not the name of an image", hint);
        }
        if !(1..=600).contains(&head.minutes) {
            let hint = "how long a learner takes, 1 to 600";
            self.fault(lines.of("minutes"), "out of bounds", hint);
        }
        if !self.draft.starter.contains_key(&head.entry) {
            let message = format!("starter/{} does not exist", head.entry);
            let hint = "the entry is the learner's file that node executes";
            self.fault(lines.of("entry"), message, hint);
        }
        for (lang, Heading { title, summary }) in [("ja", &head.ja), ("en", &head.en)] {
            self.words(lines, lang, &[title, summary]);
        }
    }

    /// Texts that may not be blank.
    pub(crate) fn words(&mut self, lines: &Lines, key: &str, texts: &[&str]) {
        if texts.iter().any(|text| text.trim().is_empty()) {
            self.fault(lines.of(key), format!("a text of {key} is empty"), "");
        }
    }

    /// Ids of a list: well-formed and unique.
    pub(crate) fn id<'i>(&mut self, lines: &Lines, key: &str, id: &'i str, seen: &mut BTreeSet<&'i str>) {
        if !is_id(id) {
            let hint = "a to z, 0 to 9, - and _, a letter first, at most 60";
            self.fault(lines.of(key), format!("{key} {id:?} is not a name"), hint);
        }
        if !seen.insert(id) {
            self.fault(lines.of(key), format!("{key} \"{id}\" is taken"), "rename one of them");
        }
    }

    fn runs(&mut self, runs: &List<RunEntry>) {
        if runs.whole && !(1..=MAX_RUNS).contains(&runs.entries.len()) {
            let message = format!("{} runs", runs.entries.len());
            self.fault(None, message, &format!("a lab has 1 to {MAX_RUNS} [[run]]"));
        }
        let mut labels = BTreeSet::new();
        for Entry { value: run, lines } in &runs.entries {
            self.id(lines, "label", &run.label, &mut labels);
            for (key, given, least, most) in run.limits.bounds() {
                if given.is_some_and(|given| !(least..=most).contains(&given)) {
                    let hint = format!("{least} to {most}");
                    self.fault(lines.of("limits"), format!("limits.{key} is out of bounds"), &hint);
                }
            }
            for (name, value) in &run.env {
                if !is_env_name(name) || value.contains('\0') {
                    let hint = "letters, digits and _, no digit first; no NUL in the value";
                    let message = format!("env {name:?} cannot be a variable");
                    self.fault(lines.of("env"), message, hint);
                }
            }
            if run.args.iter().any(|arg| arg.contains('\0')) {
                self.fault(lines.of("args"), "an argument holds a NUL", "remove it");
            }
        }
    }

    fn questions(&mut self, questions: &List<Question>) {
        let mut ids = BTreeSet::new();
        for Entry { value: question, lines } in &questions.entries {
            self.id(lines, "id", &question.id, &mut ids);
            self.words(lines, "ja", &[&question.ja.prompt]);
            self.words(lines, "en", &[&question.en.prompt]);
            if question.kind == QuestionKind::Choice {
                self.options(lines, question);
            } else if question.multiple || !question.options.is_empty() {
                let hint = "type = \"choice\", or remove options and multiple";
                self.fault(lines.of("type"), "only a choice has options", hint);
            }
        }
    }

    fn options(&mut self, lines: &Lines, question: &Question) {
        if question.options.len() < 2 {
            self.fault(lines.of("options"), "a choice needs two options or more", "");
        }
        let mut values = BTreeSet::new();
        for option in &question.options {
            if !values.insert(&option.value) {
                let message = format!("option \"{}\" is there twice", option.value);
                self.fault(lines.of("options"), message, "rename one of them");
            }
            self.words(lines, "options", &[&option.value, &option.ja, &option.en]);
        }
    }
}

fn is_env_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
