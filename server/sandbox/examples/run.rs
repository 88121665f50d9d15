//! Runs one script in a sandbox and prints what came of it:
//! `cargo run -p sandbox --example run -- read.js [count] [folder for FIFOs]`.
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use lab::{Limits, RunSpec, Tracer};
use sandbox::{Config, RunRequest, Sandbox};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let script = args.next().ok_or("give the path of a script")?;
    let count: u32 = args.next().map_or(Ok(1), |n| n.parse())?;
    let fifo_dir = args.next().map_or(Config::default().fifo_dir, PathBuf::from);
    let files = BTreeMap::from([("main.js".to_owned(), std::fs::read(&script)?)]);
    let spec = RunSpec {
        label: "default".to_owned(),
        image: "node24".to_owned(),
        entry: "main.js".to_owned(),
        args: Vec::new(),
        env: std::env::var("UV_THREADPOOL_SIZE")
            .map(|n| ("UV_THREADPOOL_SIZE".to_owned(), n))
            .into_iter()
            .collect(),
        tracer: Tracer::Trace,
        collect: false,
        limits: Limits::default(),
    };
    let sandbox = Sandbox::connect(Config { fifo_dir, ..Config::default() }).await?;
    sandbox.check().await?;
    let mut times = Vec::new();
    for n in 0..count {
        let from = Instant::now();
        let request =
            RunRequest { spec: &spec, files: &files, output: None, cancel: CancellationToken::new() };
        let run = sandbox.run(request).await?;
        times.push(from.elapsed());
        if n == 0 {
            std::io::stdout().write_all(&run.trace.bytes)?;
            eprintln!(
                "{}{}",
                String::from_utf8_lossy(&run.stdout.bytes),
                String::from_utf8_lossy(&run.stderr.bytes)
            );
            eprintln!("{:?} exit {:?} signal {:?} {:?}", run.outcome, run.exit_code, run.signal, run.usage);
        }
    }
    sandbox.drain().await;
    times.sort();
    eprintln!("median {:?}, slowest {:?}", times[times.len() / 2], times[times.len() - 1]);
    Ok(())
}
