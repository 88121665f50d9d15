//! `todoku`: one binary, several roles.

mod catalogue;
mod commands;
mod config;
mod http;
mod judge;
mod worker;

use std::process::ExitCode;

use clap::Parser;
use config::{Cli, Command};

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    cli.log.init();
    match cli.command {
        Command::Serve(config) => block_on(commands::serve::run(config))?,
        Command::Work(config) => block_on(commands::work::run(config))?,
        Command::Verify(config) => block_on(commands::verify::run(config))?,
        Command::Migrate(config) => block_on(commands::migrate::run(config))?,
        Command::Openapi => commands::openapi::run()?,
        Command::Trace(config) => return Ok(commands::trace::run(&config)),
    }
    Ok(ExitCode::SUCCESS)
}

fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}
