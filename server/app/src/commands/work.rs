use crate::config;

pub(crate) async fn run(config: config::Work) -> anyhow::Result<()> {
    let stop = super::stop_on_signal()?;
    let store = super::open_store(&config.database).await?;
    let sandbox = super::open_sandbox(&config.sandbox, super::images()).await?;
    let (worker, _) = super::worker(&store, sandbox, config.workers, config.timing, &stop);
    tracing::info!(name = worker.name, parallel = worker.parallel, "working");
    worker.run().await;
    store.close().await;
    Ok(())
}
