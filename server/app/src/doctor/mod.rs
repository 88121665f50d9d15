//! Whether everything around the program is as it must be, and what to do where it is not.

mod database;
mod machine;
mod selftest;

use std::io::{self, Write};
use std::time::Duration;

use evidence::printable;
use sandbox::Sandbox;
use serde::Serialize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// What the removal of the doctor's own containers may take.
const REMOVALS: Duration = Duration::from_secs(15);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    /// Worth a look; attempts run all the same.
    Warning,
    Failed,
    /// Could not be looked at, because of a failure above.
    Skipped,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    state: State,
    detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Row {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Ok, detail: detail.into(), fix: None }
    }

    fn warning(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, state: State::Warning, detail: detail.into(), fix: Some(fix.into()) }
    }

    fn failed(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, state: State::Failed, detail: detail.into(), fix: Some(fix.into()) }
    }

    /// Of an error that says by itself, after its last colon, what to do.
    fn failed_by(name: &'static str, error: &str) -> Self {
        let (detail, fix) = error.rsplit_once(": ").unwrap_or((error, "see docs/deploy.md"));
        Self::failed(name, detail, fix)
    }

    fn skipped(name: &'static str) -> Self {
        Self { name, state: State::Skipped, detail: "not looked at".to_owned(), fix: None }
    }
}

/// What the doctor needs to be told.
pub(crate) struct Patient {
    pub(crate) database_url: String,
    /// `None` where this process runs no attempts.
    pub(crate) sandbox: Option<sandbox::Config>,
    /// Attempts run at one time.
    pub(crate) workers: usize,
}

/// All that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Findings {
    ok: bool,
    rows: Vec<Row>,
}

impl Findings {
    /// Whether nothing has failed.
    pub(crate) const fn ok(&self) -> bool {
        self.ok
    }

    pub(crate) fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        for Row { name, state, detail, fix } in &self.rows {
            let state = match state {
                State::Ok => "ok",
                State::Warning => "warning",
                State::Failed => "FAILED",
                State::Skipped => "-",
            };
            writeln!(out, "{state:<8} {name:<9} {}", printable(detail))?;
            if let Some(fix) = fix {
                writeln!(out, "{:<18} what to do: {}", "", printable(fix))?;
            }
        }
        Ok(())
    }

    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    fn log(&self) {
        for Row { name, state, detail, fix } in &self.rows {
            let fix = fix.as_deref().unwrap_or_default();
            match state {
                State::Ok => tracing::debug!(detail, "{name} is well"),
                State::Skipped => tracing::debug!("{name} was not looked at"),
                State::Warning => tracing::warn!(detail, what_to_do = fix, "{name} is worth a look"),
                State::Failed => tracing::error!(detail, what_to_do = fix, "{name} is not well"),
            }
        }
        if self.ok {
            tracing::info!(looked_at = self.rows.len(), "all is well, says the doctor");
        }
    }
}

/// Looks at everything, until `stop`; leaves nothing behind.
pub(crate) async fn examine(patient: &Patient, stop: &CancellationToken) -> Findings {
    let mut rows = database::examine(&patient.database_url).await;
    if let Some(config) = &patient.sandbox {
        rows.extend(machine::own(patient.workers));
        match Sandbox::connect(sandbox::Config { parked: 0, ..config.clone() }).await {
            Ok(sandbox) => {
                let found = async {
                    let mut found = machine::engine(&sandbox, config).await;
                    let well = found.iter().all(|row| !matches!(row.state, State::Failed | State::Skipped));
                    found.extend(selftest::examine(&sandbox, config, well).await);
                    found
                };
                tokio::select! {
                    found = found => rows.extend(found),
                    () = stop.cancelled() => {}
                }
                if timeout(REMOVALS, sandbox.close()).await.is_err() {
                    tracing::warn!("the doctor's containers are left to the sweep");
                }
            }
            Err(error) => rows.extend(machine::unreached(&error)),
        }
    }
    Findings { ok: rows.iter().all(|row| row.state != State::Failed), rows }
}

/// What `serve` and `work` do at their start, beside their work.
pub(crate) async fn at_start(patient: Patient, stop: CancellationToken) {
    let findings = examine(&patient, &stop).await;
    if !stop.is_cancelled() {
        findings.log();
    }
}
