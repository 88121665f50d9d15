//! Judging: a pure function of a lab and the evidence of one attempt.

use evidence::{Evidence, QueryError, QueryLimits, Rows};
use serde_json::{Map, Value};

use crate::grade::{CheckGrade, EvidenceRow, Grade, Reason, Status};
use crate::lab::Lab;
use crate::lang::{Lang, bounded, plain, render};
use crate::manifest::{Check, QuestionStage, Window};
use crate::run::{RunSpec, Tracer};

/// Most rows of proof that a grade keeps of one check.
const MAX_EVIDENCE_ROWS: usize = 20;

/// Most characters kept of a row of proof, or of one value of a first row: a line of a trace may
/// be a megabyte.
const MAX_KEPT_CHARS: usize = 500;

/// Judges an attempt. Total: whatever the evidence holds there is a grade, and the same evidence
/// has the same one.
#[must_use]
pub fn grade(lab: &Lab, evidence: &Evidence) -> Grade {
    let checks: Vec<_> = lab.checks.iter().map(|check| judge(lab, check, evidence)).collect();
    Grade {
        points: checks.iter().map(|check| check.points).sum(),
        max_points: lab.max_points(),
        incomplete: checks.iter().any(|check| check.status == Status::NotJudged),
        checks,
    }
}

/// Runs a query of a lab within the bounds that hold for authors.
pub(crate) fn query(evidence: &Evidence, sql: &str) -> Result<Rows, QueryError> {
    evidence.query(sql, &[], &QueryLimits::default())
}

fn judge(lab: &Lab, check: &Check, evidence: &Evidence) -> CheckGrade {
    if let Some(detail) = incomplete_run(lab, check, evidence) {
        return not_judged(check, Reason::EvidenceIncomplete, Some(detail));
    }
    if awaits_answer(lab, check, evidence) {
        return not_judged(check, Reason::AwaitingAnswer, None);
    }
    if let Some(detail) = unopened_window(lab, check, evidence) {
        return CheckGrade { status: Status::Failed, ..not_judged(check, Reason::MarkMissing, Some(detail)) };
    }
    let judged = query(evidence, &check.sql)
        .map_err(|error| error.to_string())
        .and_then(|rows| Ok((check.expect.is_met(&rows.rows)?, rows)));
    match judged {
        Ok((true, rows)) => passed(check, &rows, evidence),
        Ok((false, rows)) => failed(check, &rows, evidence),
        Err(detail) => not_judged(check, Reason::CheckError, Some(detail)),
    }
}

/// Why a run that the check reads cannot be trusted whole. An untraced run has no trace to miss.
fn incomplete_run(lab: &Lab, check: &Check, evidence: &Evidence) -> Option<String> {
    let reads = |label: &String| check.runs.as_ref().is_none_or(|runs| runs.contains(label));
    lab.runs.iter().map(|run| &run.label).filter(|label| reads(label)).find_map(|label| {
        let mut tries = evidence.runs().iter().filter(|run| run.label == *label);
        let Some(first) = tries.next() else {
            return Some(format!("{label}: was not executed"));
        };
        let mut all = std::iter::once(first).chain(tries);
        if let Some(lacking) = all.clone().find(|run| run.complete == Some(false)) {
            let why = lacking.incomplete_why.as_deref().unwrap_or("unknown");
            return Some(format!("{label}: {why}"));
        }
        let files =
            evidence::mentions(&check.sql, "files") && all.any(|run| run.files_complete == Some(false));
        files.then(|| format!("{label}: not all files that it left are in the evidence"))
    })
}

/// What would have opened a window that the check needs and that some traced run lacks.
fn unopened_window(lab: &Lab, check: &Check, evidence: &Evidence) -> Option<String> {
    let reads = |label: &String| check.runs.as_ref().is_none_or(|runs| runs.contains(label));
    let traced = |run: &&RunSpec| run.tracer == Tracer::Trace && reads(&run.label);
    lab.runs.iter().filter(traced).find_map(|run| {
        let name = check.windows.iter().find(|name| !evidence.opened(&run.label, name))?;
        let opener = lab.window(name).map_or_else(|| name.clone(), Window::opener);
        Some(format!("{}: {opener}", run.label))
    })
}

/// Whether an answer is still to come. A prediction is not: left out, it stays so.
fn awaits_answer(lab: &Lab, check: &Check, evidence: &Evidence) -> bool {
    lab.questions(QuestionStage::After)
        .any(|question| check.answers.contains(&question.id) && !evidence.answered(&question.id))
}

fn not_judged(check: &Check, reason: Reason, detail: Option<String>) -> CheckGrade {
    CheckGrade {
        id: check.id.clone(),
        status: Status::NotJudged,
        reason: Some(reason),
        detail,
        points: 0,
        max_points: check.points,
        evidence: Vec::new(),
        row: None,
        near: None,
    }
}

fn passed(check: &Check, rows: &Rows, evidence: &Evidence) -> CheckGrade {
    CheckGrade {
        status: Status::Passed,
        reason: None,
        points: check.points,
        evidence: evidence_rows(rows, evidence),
        row: first_row(rows),
        ..not_judged(check, Reason::CheckError, None)
    }
}

/// A failure shows what was found instead: the rows of `near`, else those of the query itself.
fn failed(check: &Check, rows: &Rows, evidence: &Evidence) -> CheckGrade {
    let near = check.near.as_ref().map(|near| query(evidence, near));
    let (near, detail) = match near {
        Some(Ok(near)) => (Some(near), None),
        // The verdict stands: it was the search for an explanation that failed.
        Some(Err(error)) => (None, Some(format!("near: {error}"))),
        None => (None, None),
    };
    CheckGrade {
        status: Status::Failed,
        reason: None,
        detail,
        evidence: evidence_rows(near.as_ref().unwrap_or(rows), evidence),
        row: first_row(rows),
        near: near.as_ref().and_then(first_row),
        ..not_judged(check, Reason::CheckError, None)
    }
}

fn first_row(rows: &Rows) -> Option<Map<String, Value>> {
    let row = rows.rows.first()?;
    let values = row.iter().map(|value| match value {
        Value::String(text) => Value::String(bounded(text, MAX_KEPT_CHARS)),
        other => other.clone(),
    });
    Some(rows.columns.iter().cloned().zip(values).collect())
}

fn evidence_rows(rows: &Rows, evidence: &Evidence) -> Vec<EvidenceRow> {
    rows.rows.iter().take(MAX_EVIDENCE_ROWS).map(|row| evidence_row(&rows.columns, row, evidence)).collect()
}

/// A row with an event's id is that line of the trace; any other row is its columns.
fn evidence_row(columns: &[String], row: &[Value], evidence: &Evidence) -> EvidenceRow {
    let value = |name: &str| {
        let at = columns.iter().position(|column| column == name)?;
        row.get(at)
    };
    let event = ["id", "event"].iter().find_map(|name| value(name)?.as_i64());
    if let Some(line) = event.and_then(|id| evidence.event_line(id)) {
        return EvidenceRow {
            run: Some(line.run),
            event,
            line: Some(line.line),
            text: bounded(&line.text, MAX_KEPT_CHARS),
        };
    }
    let named: Vec<_> = columns
        .iter()
        .zip(row)
        .filter(|(column, _)| *column != "run")
        .map(|(column, value)| format!("{column} = {}", plain(value)))
        .collect();
    EvidenceRow {
        run: value("run").and_then(Value::as_str).map(str::to_owned),
        event: None,
        line: None,
        text: bounded(&named.join(", "), MAX_KEPT_CHARS),
    }
}

impl Check {
    /// What the learner is told of the verdict: plain text, with placeholders filled.
    #[must_use]
    pub fn message(&self, grade: &CheckGrade, lang: Lang) -> String {
        let text = self.text(lang);
        let text = match (grade.status, grade.reason) {
            (Status::Passed, _) => &text.pass,
            (Status::Failed, Some(Reason::MarkMissing)) => {
                return missing_message(grade.detail.as_deref().unwrap_or_default(), lang);
            }
            (Status::Failed, _) => &text.fail,
            (Status::NotJudged, reason) => return not_judged_message(reason, lang).to_owned(),
        };
        render(text, grade.row.as_ref(), grade.near.as_ref())
    }

    /// Where to look next, after a failure: plain text, with placeholders filled.
    #[must_use]
    pub fn hint(&self, grade: &CheckGrade, lang: Lang) -> Option<String> {
        let hint = self.text(lang).hint.as_ref()?;
        // A failure for want of a mark says itself what to do.
        (grade.status == Status::Failed && grade.reason.is_none())
            .then(|| render(hint, grade.row.as_ref(), grade.near.as_ref()))
    }
}

/// `what` names the run and the call or request that was looked for.
fn missing_message(what: &str, lang: Lang) -> String {
    match lang {
        Lang::Ja => format!(
            "この項目が調べる区間の始まりが、トレースに見つかりませんでした({what})。スクリプトがそこまで進んでいるか、確かめてください。"
        ),
        Lang::En => format!(
            "The trace does not show the beginning of the span that this check looks into ({what}). Make sure that the script gets that far."
        ),
    }
}

const fn not_judged_message(reason: Option<Reason>, lang: Lang) -> &'static str {
    match (reason, lang) {
        (Some(Reason::EvidenceIncomplete), Lang::Ja) => {
            "この項目が調べる実行のトレースが最後まで揃っていないため、判定していません。"
        }
        (Some(Reason::EvidenceIncomplete), Lang::En) => {
            "A run that this check reads left no complete trace, so there is no verdict."
        }
        (Some(Reason::AwaitingAnswer), Lang::Ja) => "実行後の問いに答えると判定します。",
        (Some(Reason::AwaitingAnswer), Lang::En) => {
            "Judged once you have answered the questions after the run."
        }
        // A missing mark is a failure and has its own message.
        (Some(Reason::CheckError | Reason::MarkMissing) | None, Lang::Ja) => {
            "採点する側の不具合で判定できませんでした。あなたのコードのせいではありません。"
        }
        (Some(Reason::CheckError | Reason::MarkMissing) | None, Lang::En) => {
            "This check is broken and gave no verdict. Your code is not to blame."
        }
    }
}
