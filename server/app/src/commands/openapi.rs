use crate::http;

pub(crate) fn run() -> anyhow::Result<()> {
    println!("{}", http::document().to_pretty_json()?);
    Ok(())
}
