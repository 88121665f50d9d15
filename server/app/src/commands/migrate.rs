use crate::config;

pub(crate) async fn run(database: config::Database) -> anyhow::Result<()> {
    super::open_store(&database).await?.close().await;
    println!("The database's schema is up to date.");
    Ok(())
}
