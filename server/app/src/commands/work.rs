use crate::config;

pub(crate) async fn run(config: config::Work) -> anyhow::Result<()> {
    let stop = super::stop_on_signal()?;
    let store = super::open_store(&config.database).await?;
    let work = super::Work { parallel: config.workers, timing: config.timing, terminals: config.terminals };
    super::work(store.clone(), config.sandbox, work, super::unknown_engine(), stop).await;
    store.close().await;
    Ok(())
}
