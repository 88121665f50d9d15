//! What `lab.toml` declares. The reference for authors is `docs/lab-format.md`.
//!
//! These types are read from TOML by `load.rs` and kept as JSON in a lab's stored snapshot.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::{Edges, WindowSpec};
use serde::{Deserialize, Serialize};

use crate::expect::Expect;
use crate::lang::Lang;
use crate::run::{Bytes, Limits, RunSpec, Tracer};

/// Version of the `lab.toml` format that this code reads.
pub const FORMAT: u32 = 1;

/// The top of `lab.toml`, without its lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub(crate) format: u32,
    pub(crate) evidence: i32,
    pub(crate) image: String,
    pub(crate) entry: String,
    pub(crate) minutes: u32,
    pub(crate) ja: Heading,
    pub(crate) en: Heading,
}

/// What a list of labs shows of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heading {
    /// The lab's name.
    pub title: String,
    /// One or two sentences: what the learner will have seen.
    pub summary: String,
}

/// A `[[run]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunEntry {
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    #[serde(default = "traced")]
    pub(crate) tracer: Tracer,
    #[serde(default)]
    pub(crate) collect: bool,
    #[serde(default)]
    pub(crate) limits: LimitsEntry,
}

const fn traced() -> Tracer {
    Tracer::Trace
}

/// `[run.limits]`: what differs from the defaults of [`Limits`]. Units are in the names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsEntry {
    wall_ms: Option<u64>,
    memory_mib: Option<u64>,
    processes: Option<u32>,
    milli_cpus: Option<u32>,
    open_files: Option<u32>,
    output_kib: Option<u64>,
    trace_mib: Option<u64>,
    disk_mib: Option<u64>,
}

/// A bound of `[run.limits]`: key, value given, least, most.
pub(crate) type LimitBound = (&'static str, Option<u64>, u64, u64);

impl LimitsEntry {
    /// Every limit with what is allowed: less and node does not start, more and one lab starves
    /// the host.
    pub(crate) fn bounds(&self) -> [LimitBound; 8] {
        [
            ("wall_ms", self.wall_ms, 500, 120_000),
            ("memory_mib", self.memory_mib, 64, 2048),
            ("processes", self.processes.map(u64::from), 32, 1024),
            ("milli_cpus", self.milli_cpus.map(u64::from), 100, 4000),
            ("open_files", self.open_files.map(u64::from), 64, 65_536),
            ("output_kib", self.output_kib, 1, 4096),
            ("trace_mib", self.trace_mib, 1, 256),
            ("disk_mib", self.disk_mib, 1, 1024),
        ]
    }

    fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits {
            wall: self.wall_ms.map_or(default.wall, Duration::from_millis),
            memory: self.memory_mib.map_or(default.memory, Bytes::mib),
            processes: self.processes.unwrap_or(default.processes),
            milli_cpus: self.milli_cpus.unwrap_or(default.milli_cpus),
            open_files: self.open_files.unwrap_or(default.open_files),
            output: self.output_kib.map_or(default.output, Bytes::kib),
            trace: self.trace_mib.map_or(default.trace, Bytes::mib),
            disk: self.disk_mib.map_or(default.disk, Bytes::mib),
        }
    }
}

impl RunEntry {
    /// The run as the sandbox executes it.
    pub(crate) fn into_spec(self, image: &str, entry: &str) -> RunSpec {
        RunSpec {
            limits: self.limits.limits(),
            label: self.label,
            image: image.to_owned(),
            entry: entry.to_owned(),
            args: self.args,
            env: self.env,
            tracer: self.tracer,
            collect: self.collect,
        }
    }
}

/// When a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionStage {
    /// A prediction: sent with the attempt, locked from then on, may be left out.
    Before,
    /// A conclusion from the own trace: given once, after the attempt is graded.
    After,
}

/// What kind of value answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// One of the options, or several where `multiple` says so.
    Choice,
    /// A finite number.
    Number,
    /// Free text of at most [`MAX_TEXT_CHARS`](crate::MAX_TEXT_CHARS) characters.
    Text,
}

/// A `[[question]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Unique in the lab; `id` of the `answers` table.
    pub id: String,
    /// Before or after the run.
    pub stage: QuestionStage,
    /// What answers it.
    #[serde(rename = "type")]
    pub kind: QuestionKind,
    /// Whether a choice takes a set of options.
    #[serde(default)]
    pub multiple: bool,
    /// What a choice chooses from.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// The Japanese wording.
    pub ja: QuestionText,
    /// The English wording.
    pub en: QuestionText,
}

/// The wording of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionText {
    /// The question, Markdown.
    pub prompt: String,
}

/// One option of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What is stored and compared.
    pub value: String,
    /// What a Japanese reader sees.
    pub ja: String,
    /// What an English reader sees.
    pub en: String,
}

impl Question {
    /// The question in `lang`, Markdown.
    #[must_use]
    pub fn prompt(&self, lang: Lang) -> &str {
        match lang {
            Lang::Ja => &self.ja.prompt,
            Lang::En => &self.en.prompt,
        }
    }
}

impl Choice {
    /// The option in `lang`.
    #[must_use]
    pub fn text(&self, lang: Lang) -> &str {
        match lang {
            Lang::Ja => &self.ja,
            Lang::En => &self.en,
        }
    }
}

/// A `[[window]]`: a span of a run, named so that a query can ask for what lies in it. Either
/// `from` and `to` are given, or `request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Unique in the lab; `events.win` and `windows.name`.
    pub name: String,
    /// The mark that opens it.
    #[serde(default)]
    pub from: Option<String>,
    /// The mark that closes it.
    #[serde(default)]
    pub to: Option<String>,
    /// Path of the inbound HTTP request that it is, without a query.
    #[serde(default)]
    pub request: Option<String>,
    /// Which request for that path, from 1; the first where not given.
    #[serde(default)]
    pub nth: Option<u32>,
}

impl Window {
    /// The window as evidence knows it; `None` where its keys do not fit together.
    pub(crate) fn spec(&self) -> Option<WindowSpec> {
        let edges = match (&self.from, &self.to, &self.request, self.nth) {
            (Some(from), Some(to), None, None) => Edges::Marks { from: from.clone(), to: to.clone() },
            (None, None, Some(path), nth) => Edges::Request { path: path.clone(), nth: nth.unwrap_or(1) },
            _ => return None,
        };
        Some(WindowSpec { name: self.name.clone(), edges })
    }

    /// What opens it, as a program says it.
    pub(crate) fn opener(&self) -> String {
        match (&self.from, &self.request) {
            (Some(from), _) => format!("mark('{from}')"),
            (None, request) => {
                format!("HTTP {} #{}", request.as_deref().unwrap_or_default(), self.nth.unwrap_or(1))
            }
        }
    }
}

/// A `[[query]]`: an example for whoever explores an attempt's evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleQuery {
    /// One `select`.
    pub sql: String,
    /// The Japanese wording.
    pub ja: QueryText,
    /// The English wording.
    pub en: QueryText,
}

/// The wording of an example query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryText {
    /// What it answers, in a few words.
    pub title: String,
}

impl ExampleQuery {
    /// What it answers, in `lang`.
    #[must_use]
    pub fn title(&self, lang: Lang) -> &str {
        match lang {
            Lang::Ja => &self.ja.title,
            Lang::En => &self.en.title,
        }
    }
}

/// When a learner sees a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Always.
    #[default]
    Visible,
    /// Never.
    Hidden,
    /// Once the assignment is due.
    AfterDue,
    /// Once the attempt is graded.
    AfterGraded,
}

/// A `[[check]]`: a query over the evidence, and what it must return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Unique in the lab, stable over its versions.
    pub id: String,
    /// Points for a pass; there is no part of them.
    pub points: u32,
    /// The query. Rows with a column `id` (an event's) are shown as lines of the trace.
    pub sql: String,
    /// What the rows must be.
    pub expect: Expect,
    /// Run when the check fails: what happened instead.
    #[serde(default)]
    pub near: Option<String>,
    /// Labels of the runs whose trace it reads; all where not given.
    #[serde(default)]
    pub runs: Option<Vec<String>>,
    /// Windows that must have been opened in each traced run it reads: else it fails.
    #[serde(default)]
    pub windows: Vec<String>,
    /// Questions whose answers it judges.
    #[serde(default)]
    pub answers: Vec<String>,
    /// When the learner sees it.
    #[serde(default)]
    pub stage: Stage,
    /// The Japanese texts.
    pub ja: CheckText,
    /// The English texts.
    pub en: CheckText,
}

/// The texts of a check in one language. All but the title may hold `{row.column}`, and those of
/// a failure `{near.column}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckText {
    /// What is asked, in a few words.
    pub title: String,
    /// What a pass proves.
    pub pass: String,
    /// What was seen instead.
    pub fail: String,
    /// Where to look next; never the answer itself.
    #[serde(default)]
    pub hint: Option<String>,
}

impl Check {
    /// The texts in `lang`.
    #[must_use]
    pub const fn text(&self, lang: Lang) -> &CheckText {
        match lang {
            Lang::Ja => &self.ja,
            Lang::En => &self.en,
        }
    }
}
