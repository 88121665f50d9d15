//! Whether the windows of a lab can be opened, and its example queries asked.

use std::collections::BTreeSet;

use evidence::Evidence;

use crate::document::{Entry, Lines, List};
use crate::lint::Lint;
use crate::lint_check::known;
use crate::manifest::{Check, ExampleQuery, Window};
use crate::run::Tracer;

/// Most windows of a lab, and most example queries: more than anybody reads.
const MAX_WINDOWS: usize = 32;
const MAX_QUERIES: usize = 32;

impl Lint<'_> {
    pub(crate) fn windows(&mut self, windows: &List<Window>) {
        if windows.entries.len() > MAX_WINDOWS {
            let message = format!("{} windows", windows.entries.len());
            self.fault(None, message, &format!("a lab has at most {MAX_WINDOWS} [[window]]"));
        }
        let mut names = BTreeSet::new();
        for Entry { value: window, lines } in &windows.entries {
            self.id(lines, "name", &window.name, &mut names);
            if window.spec().is_none() {
                let hint =
                    "from = \"mark\" and to = \"mark\"; or request = \"/path\", and nth = 1 where it matters";
                self.fault(lines.of("name"), "a window is between two marks, or one request", hint);
            }
            let marks = [("from", &window.from), ("to", &window.to)];
            for (key, _) in marks.iter().filter(|(_, mark)| mark.as_deref() == Some("")) {
                self.fault(lines.of(key), format!("{key} is empty"), "the name given to mark()");
            }
            if window.from.is_some() && window.from == window.to {
                let hint = "only the first call of mark() with a name counts";
                self.fault(lines.of("to"), "opens and closes with the same mark", hint);
            }
            let request = window.request.as_deref();
            if request.is_some_and(|path| !path.starts_with('/') || path.contains(['?', ' '])) {
                let hint = "the path of the request, without its query: \"/all\"";
                self.fault(lines.of("request"), "not a path", hint);
            }
            if window.nth == Some(0) {
                self.fault(lines.of("nth"), "nth is out of bounds", "requests are counted from 1");
            }
        }
    }

    /// The windows that a check needs. One that asks for what lies in a window and finds nothing
    /// must know whether there was a window.
    pub(crate) fn needed_windows(&mut self, check: &Check, lines: &Lines) {
        let windows = &self.draft.windows;
        let names = known(windows, |window| &window.name);
        for name in &check.windows {
            if windows.whole && !names.contains(name) {
                let hint = if names.is_empty() {
                    "declare a [[window]]".to_owned()
                } else {
                    format!("the lab has: {}", names.join(", "))
                };
                self.fault(lines.of("windows"), format!("no window is called \"{name}\""), &hint);
            }
        }
        if check.windows.is_empty() && evidence::mentions(&check.sql, "win") {
            let hint =
                "windows = [\"name\"]: without it, a window that was never opened looks like an empty one";
            self.fault(lines.of("sql"), "asks for win and declares no windows", hint);
        }
        self.collected(check, lines);
        let runs = &self.draft.runs;
        let reads = |label: &String| check.runs.as_ref().is_none_or(|runs| runs.contains(label));
        let traced =
            runs.entries.iter().any(|run| run.value.tracer == Tracer::Trace && reads(&run.value.label));
        if !check.windows.is_empty() && runs.whole && !traced {
            let hint = "name a traced run in runs, or remove windows";
            self.fault(lines.of("windows"), "none of its runs is traced", hint);
        }
    }

    /// A check of files that no run collects would find none and say so.
    fn collected(&mut self, check: &Check, lines: &Lines) {
        let runs = &self.draft.runs;
        let reads = |label: &String| check.runs.as_ref().is_none_or(|runs| runs.contains(label));
        let collects = runs.entries.iter().any(|run| run.value.collect && reads(&run.value.label));
        if runs.whole && !collects && evidence::mentions(&check.sql, "files") {
            let hint = "collect = true in a [[run]] that it reads";
            self.fault(lines.of("sql"), "asks for files and no run collects them", hint);
        }
    }

    pub(crate) fn queries(&mut self, queries: &List<ExampleQuery>, empty: &Evidence) {
        if queries.entries.len() > MAX_QUERIES {
            let message = format!("{} example queries", queries.entries.len());
            self.fault(None, message, &format!("a lab has at most {MAX_QUERIES} [[query]]"));
        }
        for Entry { value: query, lines } in &queries.entries {
            self.words(lines, "ja", &[&query.ja.title]);
            self.words(lines, "en", &[&query.en.title]);
            if let Err(error) = empty.check_sql(&query.sql) {
                let message = format!("sql is not a query: {error}");
                self.fault(lines.of("sql"), message, "docs/evidence.md lists tables and columns");
            }
        }
    }
}
