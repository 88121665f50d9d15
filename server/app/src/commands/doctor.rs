use std::io::{self, Write};
use std::process::ExitCode;

use crate::catalogue::Catalogue;
use crate::config;
use crate::doctor::{self, Patient};

pub(crate) async fn run(config: config::Doctor) -> anyhow::Result<ExitCode> {
    // Labs with faults, or no labs at all, are not this command's to judge.
    let images = Catalogue::load(&config.labs.labs_dir).map(|labs| labs.images()).unwrap_or_default();
    let patient = Patient {
        database_url: config.database_url,
        sandbox: (config.workers > 0).then(|| config.sandbox.settings(images)),
        workers: config.workers,
    };
    let stop = super::stop_on_signal()?;
    let findings = doctor::examine(&patient, &stop).await;
    let mut out = io::stdout().lock();
    if config.json {
        findings.write_json(&mut out)?;
    } else {
        findings.write_table(&mut out)?;
    }
    out.flush()?;
    Ok(if findings.ok() && !stop.is_cancelled() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
