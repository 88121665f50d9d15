use std::collections::BTreeSet;

use crate::config;

pub(crate) async fn run(config: config::Work) -> anyhow::Result<()> {
    let stop = super::stop_on_signal()?;
    let store = super::open_store(&config.database).await?;
    let sandbox = config.sandbox.settings(BTreeSet::new());
    let examined =
        super::examine(config.start, &config.database, Some((sandbox.clone(), config.workers)), &stop);
    let work = super::Work { parallel: config.workers, timing: config.timing, terminals: config.terminals };
    super::work(store.clone(), sandbox, work, super::unknown_engine(), stop).await;
    if let Some(examined) = examined {
        examined.await?;
    }
    super::close_store(store).await;
    Ok(())
}
