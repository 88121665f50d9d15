//! What the ways to run one script cost, beside each other: called by `./dev bench sandbox`.
//!
//! `ways ROOTFS COUNT SECONDS FIFO-DIR`, where ROOTFS is the unpacked lab image with `argv` (the command line of
//! the bare run) and `lab/read.js`. Prints Markdown; docs/performance.md says what the rows mean.
#![allow(clippy::unwrap_used)]

#[path = "ways/cycles.rs"]
mod cycles;
#[path = "ways/neighbours.rs"]
mod neighbours;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::{Limits, Run, RunSpec, Tracer};
use sandbox::{Config, RunRequest, Sandbox};
use tokio_util::sync::CancellationToken;

const IMAGE: &str = "todoku/node24:local";
const PARKED: usize = 3;
const WARM_UP: usize = 2;

pub(crate) struct Bench {
    rootfs: PathBuf,
    fifos: PathBuf,
    argv: Vec<String>,
    pub(crate) script: Vec<u8>,
    pub(crate) seconds: Duration,
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [rootfs, count, seconds, fifos] = args.as_slice() else {
        eprintln!("usage: ways ROOTFS COUNT SECONDS FIFO-DIR");
        std::process::exit(2);
    };
    let rootfs = PathBuf::from(rootfs);
    let argv = std::fs::read_to_string(rootfs.join("argv")).unwrap();
    let bench = Bench {
        argv: argv.lines().map(String::from).collect(),
        script: std::fs::read(rootfs.join("lab/read.js")).unwrap(),
        fifos: fifos.into(),
        rootfs,
        seconds: Duration::from_secs(seconds.parse().unwrap()),
    };
    bench.one_at_a_time(count.parse().unwrap()).await;
    cycles::print(&bench).await;
    neighbours::print(&bench).await;
}

impl Bench {
    pub(crate) async fn sandbox(&self, parked: usize) -> Sandbox {
        let config = Config { fifo_dir: self.fifos.clone(), parked, ..Config::default() };
        let sandbox = Sandbox::connect(config).await.unwrap();
        sandbox.check().await.unwrap();
        sandbox.warm("node24", &Limits::default());
        self.filled(&sandbox, parked).await;
        sandbox
    }

    async fn filled(&self, sandbox: &Sandbox, parked: usize) {
        while sandbox.parked() < parked {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        sandbox.drain().await;
    }

    /// Each way in turn, so that noise hits all alike.
    async fn one_at_a_time(&self, count: usize) {
        let (cold, warm) = (self.sandbox(0).await, self.sandbox(PARKED).await);
        let mut times: [Vec<Duration>; 4] = Default::default();
        for round in 0..WARM_UP + count {
            let taken = [
                self.bare(),
                self.docker_run(),
                timed(run(&cold, "read.js", &self.script)).await,
                timed(run(&warm, "read.js", &self.script)).await,
            ];
            self.filled(&warm, PARKED).await;
            cold.drain().await;
            if round >= WARM_UP {
                times.iter_mut().zip(taken).for_each(|(all, one)| all.push(one));
            }
        }
        cold.close().await;
        warm.close().await;
        println!("{count} of each, in turn\n");
        println!("| way | median | p95 | beside bare |\n|---|---:|---:|---:|");
        let bare = at(&mut times[0], 50);
        let names =
            ["bare strace node", "`docker run`", "a sandbox made for the run", "a sandbox made ahead"];
        for (name, times) in names.iter().zip(&mut times) {
            let (median, p95) = (at(times, 50), at(times, 95));
            let ratio = median.as_secs_f64() / bare.as_secs_f64();
            println!("| {name} | {} ms | {} ms | {ratio:.2} |", median.as_millis(), p95.as_millis());
        }
    }

    fn bare(&self) -> Duration {
        let mut command = Command::new("chroot");
        command.arg(&self.rootfs).args(&self.argv).env_clear();
        command.envs([("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/bin"), ("LC_ALL", "C")]);
        finish(&mut command)
    }

    /// Without our filter on system calls and our limits: what one would type.
    fn docker_run(&self) -> Duration {
        let folder = format!("{}:/lab:ro", self.rootfs.join("lab").display());
        let mut command = Command::new("docker");
        command
            .args(["run", "--rm", "--network", "none", "--cap-add", "SYS_PTRACE"])
            .args([
                "--security-opt",
                "seccomp=unconfined",
                "--volume",
                &folder,
                "--entrypoint",
                &self.argv[0],
                IMAGE,
            ])
            .args(&self.argv[1..]);
        finish(&mut command)
    }
}

fn finish(command: &mut Command) -> Duration {
    let from = Instant::now();
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?} ended with {status}");
    from.elapsed()
}

async fn timed(run: impl Future<Output = Run>) -> Duration {
    let from = Instant::now();
    let run = run.await;
    assert_eq!(run.exit_code, Some(0), "{:?}", String::from_utf8_lossy(&run.stderr.bytes));
    from.elapsed()
}

pub(crate) async fn run(sandbox: &Sandbox, entry: &str, script: &[u8]) -> Run {
    try_run(sandbox, entry, script, CancellationToken::new()).await.unwrap()
}

pub(crate) async fn try_run(
    sandbox: &Sandbox,
    entry: &str,
    script: &[u8],
    cancel: CancellationToken,
) -> Result<Run, sandbox::Error> {
    let files = BTreeMap::from([(entry.to_owned(), script.to_vec())]);
    let spec = RunSpec {
        label: "default".to_owned(),
        image: "node24".to_owned(),
        entry: entry.to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        tracer: Tracer::Trace,
        collect: false,
        limits: Limits::default(),
    };
    sandbox.run(RunRequest { spec: &spec, files: &files, output: None, cancel }).await
}

/// A percentile.
pub(crate) fn at(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    times[(percent * times.len()).div_ceil(100).max(1) - 1]
}
