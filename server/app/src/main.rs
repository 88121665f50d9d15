//! `todoku`: one binary, several roles.

mod catalogue;
mod commands;
mod config;
mod explore;
mod http;
mod judge;
mod worker;

use clap::Parser;
use config::{Cli, Command};

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    // Bounds its own memory, which has no room for a runtime's threads; and logs nothing.
    if matches!(cli.command, Command::Query) {
        return commands::query::run();
    }
    cli.log.init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match cli.command {
            Command::Serve(config) => commands::serve::run(config).await,
            Command::Work(config) => commands::work::run(config).await,
            Command::Verify(config) => commands::verify::run(config).await,
            Command::Migrate(config) => commands::migrate::run(config).await,
            Command::Openapi => commands::openapi::run(),
            Command::Query => commands::query::run(),
        }
    })
}
