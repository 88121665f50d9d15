//! Whether the checks of a lab can be judged: queries that prepare, texts that resolve.

use std::collections::BTreeSet;

use evidence::Evidence;

use crate::check::query;
use crate::document::{Entry, Lines, List};
use crate::lang::{Lang, Piece, pieces};
use crate::lint::Lint;
use crate::manifest::{Check, CheckText};

/// Most points of one check: sums stay far from overflow.
const MAX_POINTS: u32 = 1000;

/// The queries of a check, as sources of `{row.column}` and `{near.column}`.
struct Sources {
    row: Source,
    near: Source,
}

enum Source {
    /// The check has no such query.
    Absent,
    /// It has one that is at fault, which is said elsewhere.
    Faulty,
    Columns(Vec<String>),
}

impl Source {
    fn fault(&self, column: &str) -> Option<String> {
        match self {
            Self::Absent => Some("has no query to fill it".to_owned()),
            Self::Columns(columns) if !columns.iter().any(|known| known == column) => {
                Some(format!("is none of the columns {}", columns.join(", ")))
            }
            Self::Faulty | Self::Columns(_) => None,
        }
    }
}

pub(crate) fn lint_checks(lint: &mut Lint<'_>) {
    let checks = &lint.draft.checks;
    let empty = match Evidence::empty() {
        Ok(empty) => empty,
        Err(error) => return lint.fault(None, format!("queries cannot be checked: {error}"), ""),
    };
    lint.queries(&lint.draft.queries, &empty);
    let mut ids = BTreeSet::new();
    for Entry { value: check, lines } in &checks.entries {
        lint.id(lines, "id", &check.id, &mut ids);
        if check.points > MAX_POINTS {
            let hint = format!("0 to {MAX_POINTS}");
            lint.fault(lines.of("points"), "points out of bounds", &hint);
        }
        lint.references(check, lines);
        lint.needed_windows(check, lines);
        let sources = lint.sources(check, lines, &empty);
        for lang in Lang::ALL {
            lint.texts(check.text(lang), lang, lines, &sources);
        }
        if check.ja.hint.is_some() != check.en.hint.is_some() {
            lint.fault(lines.of("ja"), "the hint is in one language only", "translate it");
        }
    }
    if checks.whole && checks.entries.iter().all(|check| check.value.points == 0) {
        lint.fault(None, "no check has points", "a lab needs a [[check]] with points = 1 or more");
    }
}

impl Lint<'_> {
    fn references(&mut self, check: &Check, lines: &Lines) {
        let runs = &self.draft.runs;
        let labels = known(runs, |run| &run.label);
        for run in check.runs.iter().flatten() {
            if runs.whole && !labels.contains(run) {
                let hint = format!("the lab runs: {}", labels.join(", "));
                self.fault(lines.of("runs"), format!("no run is called \"{run}\""), &hint);
            }
        }
        let questions = &self.draft.questions;
        let ids = known(questions, |question| &question.id);
        for id in &check.answers {
            if questions.whole && !ids.contains(id) {
                let hint = format!("the lab asks: {}", ids.join(", "));
                self.fault(lines.of("answers"), format!("no question is called \"{id}\""), &hint);
            }
        }
    }

    fn sources(&mut self, check: &Check, lines: &Lines, empty: &Evidence) -> Sources {
        let row = self.columns("sql", &check.sql, lines, empty);
        if let Source::Columns(columns) = &row
            && check.expect.reads_value()
            && columns.len() != 1
        {
            let hint = "select one column when expect compares a value";
            self.fault(lines.of("sql"), "returns more than one column", hint);
        }
        let near = match &check.near {
            Some(near) => self.columns("near", near, lines, empty),
            None => Source::Absent,
        };
        Sources { row, near }
    }

    /// The columns that a query returns, found by running it on evidence without any run.
    fn columns(&mut self, key: &str, sql: &str, lines: &Lines, empty: &Evidence) -> Source {
        match query(empty, sql) {
            Ok(rows) => Source::Columns(rows.columns),
            Err(error) => {
                let message = format!("{key} is not a query: {error}");
                self.fault(lines.of(key), message, "docs/evidence.md lists tables and columns");
                Source::Faulty
            }
        }
    }

    fn texts(&mut self, text: &CheckText, lang: Lang, lines: &Lines, sources: &Sources) {
        let code = lang.as_str();
        let hint = text.hint.as_deref();
        let required = [&text.title, &text.pass, &text.fail].map(String::as_str);
        self.words(lines, code, &required);
        if hint.is_some_and(|hint| hint.trim().is_empty()) {
            self.fault(lines.of(code), format!("{code}.hint is empty"), "write or remove it");
        }
        let Sources { row, near } = sources;
        let absent = &Source::Absent;
        let texts = [
            ("title", Some(text.title.as_str()), absent, absent),
            ("pass", Some(&text.pass), row, absent),
            ("fail", Some(&text.fail), row, near),
            ("hint", hint, row, near),
        ];
        for (key, text, row, near) in texts {
            for piece in pieces(text.unwrap_or_default()) {
                let Piece::Value { source, column } = piece else {
                    continue;
                };
                let fault = match source {
                    "row" => row.fault(column),
                    "near" => near.fault(column),
                    _ => absent.fault(column),
                };
                if let Some(fault) = fault {
                    let message = format!("{code}.{key}: {{{source}.{column}}} {fault}");
                    self.fault(lines.of(code), message, PLACEHOLDER_HINT);
                }
            }
        }
    }
}

const PLACEHOLDER_HINT: &str =
    "{row.column} of sql in pass, fail and hint; {near.column} of near in fail and hint";

pub(crate) fn known<'a, T>(list: &'a List<T>, name: impl Fn(&'a T) -> &'a String) -> Vec<String> {
    list.entries.iter().map(|entry| name(&entry.value).clone()).collect()
}
