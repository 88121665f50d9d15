use crate::config;

pub(crate) async fn run(config: config::Work) -> anyhow::Result<()> {
    let stop = super::stop_on_signal()?;
    let store = super::open_store(&config.database).await?;
    super::work(store.clone(), config.sandbox, config.workers, config.timing, super::unknown_engine(), stop)
        .await;
    store.close().await;
    Ok(())
}
