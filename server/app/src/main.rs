//! `todoku`: one binary, several roles.

mod announce;
mod catalogue;
mod commands;
mod config;
mod dial;
mod doctor;
mod explore;
mod http;
mod judge;
mod line;
mod live;
mod relay;
mod terminals;
mod worker;

use std::process::ExitCode;

use clap::Parser;
use config::{Cli, Command};

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    // Bounds its own memory, which has no room for a runtime's threads; and logs nothing.
    if matches!(cli.command, Command::Query) {
        commands::query::run()?;
        return Ok(ExitCode::SUCCESS);
    }
    cli.log.init();
    match cli.command {
        Command::Serve(config) => block_on(commands::serve::run(config))?,
        Command::Work(config) => block_on(commands::work::run(config))?,
        Command::Verify(config) => block_on(commands::verify::run(config))?,
        Command::Migrate(config) => block_on(commands::migrate::run(config))?,
        Command::Doctor(config) => return block_on(commands::doctor::run(config)),
        Command::Openapi => commands::openapi::run()?,
        Command::Query => commands::query::run()?,
        Command::Trace(config) => return Ok(commands::trace::run(&config)),
    }
    Ok(ExitCode::SUCCESS)
}

fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}
