use crate::explore;

pub(crate) fn run() -> anyhow::Result<()> {
    explore::child::run()
}
