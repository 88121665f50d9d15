//! What every test here needs: a sandbox, and the proof that nothing of it is left.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use bollard::Docker;
use bollard::models::ContainerSummary;
use bollard::query_parameters::ListContainersOptionsBuilder;
use lab::{Limits, Run, RunSpec, Tracer};
use sandbox::{Config, Error, RunRequest, Sandbox};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Bench {
    pub(crate) sandbox: Sandbox,
    pub(crate) docker: Docker,
    pub(crate) dir: TempDir,
}

pub(crate) fn config(dir: &TempDir) -> Config {
    Config { fifo_dir: dir.path().join("fifos"), ..Config::default() }
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::connect(config(&dir))
            .await
            .expect("these tests need a Docker engine (./dev test starts one)");
        sandbox.check().await.expect("these tests need the lab images");
        let docker = Docker::connect_with_unix_defaults().unwrap().negotiate_version().await.unwrap();
        Self { sandbox, docker, dir }
    }

    pub(crate) async fn try_run(&self, spec: &RunSpec, files: &[(&str, &str)]) -> Result<Run, Error> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        self.sandbox
            .run(RunRequest { spec, files: &files, output: None, cancel: CancellationToken::new() })
            .await
    }

    /// Runs `script` as `main.js`, and asserts that nothing is left of it.
    pub(crate) async fn run(&self, spec: &RunSpec, script: &str) -> Run {
        let run = self.try_run(spec, &[("main.js", script)]).await.unwrap();
        self.assert_nothing_left().await;
        run
    }

    /// Those of runs. What keeps their network namespaces stays for the next run.
    pub(crate) async fn containers(&self) -> Vec<ContainerSummary> {
        let mut all = self.all_containers().await;
        all.retain(|found| !is_holder(found));
        all
    }

    pub(crate) async fn all_containers(&self) -> Vec<ContainerSummary> {
        labelled(&self.docker, &format!("todoku.sandbox={}", self.sandbox.instance())).await
    }

    pub(crate) async fn assert_nothing_left(&self) {
        within(10, self.sandbox.drain()).await;
        assert_eq!(self.containers().await, [], "containers are left");
        let home = self.dir.path().join("fifos").join(self.sandbox.instance().to_string());
        let left: Vec<_> = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"], "folders of FIFOs are left");
    }
}

pub(crate) fn is_holder(found: &ContainerSummary) -> bool {
    found.labels.as_ref().is_some_and(|labels| labels.contains_key("todoku.holder"))
}

pub(crate) async fn labelled(docker: &Docker, label: &str) -> Vec<ContainerSummary> {
    let filters = HashMap::from([("label", vec![label])]);
    let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
    docker.list_containers(Some(options)).await.unwrap()
}

pub(crate) async fn within<T>(seconds: u64, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), future).await.expect("not done in time")
}

/// Asks again until `ready` answers yes: the engine tells of no change by itself here.
pub(crate) async fn until<F: Future<Output = bool>>(seconds: u64, ready: impl Fn() -> F) {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !ready().await {
        assert!(Instant::now() < deadline, "not so within {seconds} s");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn spec() -> RunSpec {
    RunSpec {
        label: "default".to_owned(),
        image: "node24".to_owned(),
        entry: "main.js".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        tracer: Tracer::Trace,
        collect: false,
        limits: Limits::default(),
    }
}

pub(crate) fn limited(change: impl FnOnce(&mut Limits)) -> RunSpec {
    let mut spec = spec();
    change(&mut spec.limits);
    spec
}

pub(crate) fn stdout(run: &Run) -> String {
    String::from_utf8_lossy(&run.stdout.bytes).into_owned()
}

pub(crate) fn stderr(run: &Run) -> String {
    String::from_utf8_lossy(&run.stderr.bytes).into_owned()
}

pub(crate) fn trace(run: &Run) -> String {
    String::from_utf8_lossy(&run.trace.bytes).into_owned()
}

/// The main tracee's last line of trace, without pid and time.
pub(crate) fn main_end(run: &Run) -> String {
    let trace = trace(run);
    let main = trace.split(' ').next().unwrap().to_owned();
    let last = trace.lines().rfind(|line| line.split(' ').next() == Some(&main)).unwrap();
    last.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")
}
