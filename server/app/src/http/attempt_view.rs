//! An attempt as its maker sees it: texts in one language, nothing of what is hidden.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use lab::{Captured, CheckGrade, Grade, Lab, Lang, Outcome, Reason, Status};
use serde::Serialize;
use store::{Attempt, AttemptState, FailureCode, StoredGrade, StoredRun};
use utoipa::ToSchema;
use uuid::Uuid;

use super::limit_view::{self, LimitView};

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttemptView {
    id: Uuid,
    /// The lab's slug.
    lab: String,
    lab_title: String,
    /// The exact content of the lab that this attempt is about.
    lab_digest: String,
    state: State,
    /// How many are to be run before it; null unless queued.
    queue_position: Option<u32>,
    created_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    files: BTreeMap<String, String>,
    answers: AnswersView,
    runs: Vec<RunView>,
    /// The latest version; null before there is one.
    grade: Option<GradeView>,
    /// Our fault, where the attempt is errored; null otherwise.
    error: Option<ErrorView>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AttemptState)]
pub(crate) enum State {
    Queued,
    Running,
    Graded,
    Errored,
    Cancelled,
}

impl AttemptView {
    pub(crate) const fn state(&self) -> State {
        self.state
    }
}

impl From<AttemptState> for State {
    fn from(state: AttemptState) -> Self {
        match state {
            AttemptState::Queued => Self::Queued,
            AttemptState::Running => Self::Running,
            AttemptState::Graded => Self::Graded,
            AttemptState::Errored => Self::Errored,
            AttemptState::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnswersView {
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    before: lab::Answers,
    /// Null until they are given.
    #[schema(value_type = Option<BTreeMap<String, serde_json::Value>>)]
    after: Option<lab::Answers>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttemptRun)]
pub(crate) struct RunView {
    id: Uuid,
    label: String,
    /// Command line of the traced program.
    command: Vec<String>,
    #[schema(value_type = RunOutcome)]
    outcome: Outcome,
    exit_code: Option<i32>,
    signal: Option<String>,
    wall_ms: u64,
    cpu_ms: Option<u64>,
    max_memory_bytes: Option<u64>,
    trace_lines: u64,
    trace_bytes: u64,
    /// Whether the trace can be trusted whole; null for an untraced run.
    complete: Option<bool>,
    incomplete_why: Option<String>,
    stdout: OutputView,
    stderr: OutputView,
    /// What is known of the limit that struck; null where none did.
    limit: Option<LimitView>,
}

/// How a run ended.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "stands in for the lab's own type in the document")]
pub(crate) enum RunOutcome {
    Exited,
    Signalled,
    WallLimit,
    MemoryLimit,
    ProcessLimit,
    OutputLimit,
    DiskLimit,
    TraceLimit,
}

/// What a program wrote: all of it, or both ends where it was over the limit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OutputView {
    /// Bytes that are not UTF-8 are replaced.
    text: String,
    /// Bytes behind the text that were not kept.
    dropped_bytes: u64,
    /// What came behind those; empty where nothing was left out.
    tail: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GradeView {
    points: u32,
    max_points: u32,
    /// Whether some check is not judged (yet).
    incomplete: bool,
    version: u32,
    created_at: DateTime<Utc>,
    /// The checks that the caller may know of.
    checks: Vec<CheckGradeView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckGradeView {
    id: String,
    title: String,
    #[schema(value_type = CheckStatus)]
    status: Status,
    /// Why it is not judged, or why it failed before its query was asked.
    #[schema(value_type = Option<CheckReason>)]
    reason: Option<Reason>,
    points: u32,
    max_points: u32,
    /// What the evidence says, in the language asked for.
    message: String,
    /// Where to look next; null unless the check failed and its author wrote one.
    hint: Option<String>,
    evidence: Vec<EvidenceView>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "stands in for the lab's own type in the document")]
pub(crate) enum CheckStatus {
    Passed,
    Failed,
    NotJudged,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "stands in for the lab's own type in the document")]
pub(crate) enum CheckReason {
    EvidenceIncomplete,
    CheckError,
    AwaitingAnswer,
    MarkMissing,
}

/// A row of proof.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EvidenceView {
    /// Label of the run.
    run: Option<String>,
    /// Id of the event in the evidence tables.
    event: Option<i64>,
    /// Line of the run's trace, from 1.
    line: Option<u32>,
    /// That line, or values where the row is no event.
    text: String,
}

/// A failure on our side.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorView {
    code: OurFailure,
    message: &'static str,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OurFailure {
    EngineUnavailable,
    Internal,
}

impl From<FailureCode> for OurFailure {
    fn from(code: FailureCode) -> Self {
        match code {
            FailureCode::EngineUnavailable => Self::EngineUnavailable,
            FailureCode::WorkerLost | FailureCode::Internal => Self::Internal,
        }
    }
}

/// The attempt in `lang`; `lab` is the content that it is about.
pub(crate) fn view(attempt: Attempt, lab: &Lab, lang: Lang) -> AttemptView {
    AttemptView {
        id: attempt.id.0,
        lab: attempt.lab_slug,
        lab_title: lab.heading.get(lang).title.clone(),
        lab_digest: attempt.lab_digest,
        state: attempt.state.into(),
        queue_position: attempt.queue_position,
        created_at: attempt.created_at,
        started_at: attempt.started_at,
        finished_at: attempt.finished_at,
        files: attempt.files,
        answers: AnswersView { before: attempt.answers_before, after: attempt.answers_after },
        runs: attempt
            .runs
            .into_iter()
            .filter(|stored| !lab.hides_run(&stored.run.label, true))
            .map(|stored| run(stored, lab))
            .collect(),
        grade: attempt.grade.map(|grade| self::grade(grade, lab, lang)),
        error: attempt
            .failure
            .filter(|_| attempt.state == AttemptState::Errored)
            .map(|failure| ErrorView { code: failure.code.into(), message: errored(lang) }),
    }
}

fn run(stored: StoredRun, lab: &Lab) -> RunView {
    let limit = limit_view::view(&stored, lab);
    let StoredRun { id, run, trace_bytes, trace_lines, complete, incomplete_why, .. } = stored;
    let ms = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    RunView {
        id: id.0,
        label: run.label,
        command: run.command,
        outcome: run.outcome,
        exit_code: run.exit_code,
        signal: run.signal,
        wall_ms: ms(run.usage.wall),
        cpu_ms: run.usage.cpu.map(ms),
        max_memory_bytes: run.usage.max_memory.map(|bytes| bytes.0),
        trace_lines,
        trace_bytes,
        complete,
        incomplete_why,
        stdout: output(&run.stdout),
        stderr: output(&run.stderr),
        limit,
    }
}

fn output(captured: &Captured) -> OutputView {
    OutputView {
        text: String::from_utf8_lossy(&captured.bytes).into_owned(),
        dropped_bytes: captured.dropped,
        tail: String::from_utf8_lossy(&captured.tail).into_owned(),
    }
}

/// Points are those of the checks that are shown, or a sum would tell what a hidden check gave.
fn grade(stored: StoredGrade, lab: &Lab, lang: Lang) -> GradeView {
    let Grade { checks, .. } = stored.grade;
    let checks: Vec<_> = checks.iter().filter_map(|grade| check(grade, lab, lang)).collect();
    GradeView {
        points: checks.iter().map(|check| check.points).sum(),
        max_points: checks.iter().map(|check| check.max_points).sum(),
        incomplete: checks.iter().any(|check| check.status == Status::NotJudged),
        version: stored.version,
        created_at: stored.created_at,
        checks,
    }
}

fn check(grade: &CheckGrade, lab: &Lab, lang: Lang) -> Option<CheckGradeView> {
    let check = lab.check(&grade.id).filter(|check| check.stage.is_seen(true))?;
    let evidence = grade.evidence.iter().map(|row| EvidenceView {
        run: row.run.clone(),
        event: row.event,
        line: row.line,
        text: row.text.clone(),
    });
    Some(CheckGradeView {
        id: grade.id.clone(),
        title: check.text(lang).title.clone(),
        status: grade.status,
        reason: grade.reason,
        points: grade.points,
        max_points: grade.max_points,
        message: check.message(grade, lang),
        hint: check.hint(grade, lang),
        evidence: evidence.collect(),
    })
}

const fn errored(lang: Lang) -> &'static str {
    match lang {
        Lang::Ja => {
            "こちらの不具合で採点できませんでした。この提出は回数に数えません。もう一度実行してみてください。"
        }
        Lang::En => {
            "We could not grade this, through a fault on our side. It does not count as an attempt; please run it again."
        }
    }
}
