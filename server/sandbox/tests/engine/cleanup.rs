//! Nothing is left, however a run ends: cancelled, dropped, or its worker killed.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{ContainerCreateBody, ContainerSummaryStateEnum};
use bollard::query_parameters::CreateContainerOptionsBuilder;
use sandbox::{Config, Error, RunRequest, Sandbox};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, config, is_holder, labelled, spec, until, within};

const LOOP: &str = "for (;;);";

async fn running(bench: &Bench) -> bool {
    let found = bench.containers().await;
    found.iter().any(|container| container.state == Some(ContainerSummaryStateEnum::RUNNING))
}

#[tokio::test]
async fn a_cancelled_run_ends_at_once_and_leaves_nothing() {
    let bench = Bench::new().await;
    let (spec, files) = (spec(), BTreeMap::from([("main.js".to_owned(), LOOP.into())]));
    let cancel = CancellationToken::new();
    let run =
        bench.sandbox.run(RunRequest { spec: &spec, files: &files, output: None, cancel: cancel.clone() });
    let cancelled = async {
        until(20, || running(&bench)).await;
        cancel.cancel();
    };
    let (run, ()) = within(25, async { tokio::join!(run, cancelled) }).await;
    assert!(matches!(run, Err(Error::Cancelled)), "{run:?}");
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn a_run_whose_future_is_dropped_leaves_nothing() {
    let bench = Bench::new().await;
    let (spec, files) = (spec(), BTreeMap::from([("main.js".to_owned(), LOOP.into())]));
    let run = bench.sandbox.run(RunRequest {
        spec: &spec,
        files: &files,
        output: None,
        cancel: CancellationToken::new(),
    });
    tokio::select! {
        run = run => panic!("it ended: {run:?}"),
        () = until(20, || running(&bench)) => {}
    }
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn runs_at_one_time_do_not_meet() {
    let bench = Bench::new().await;
    let spec = spec();
    let runs = (0..4).map(|n| {
        let script = format!("require('node:fs').writeFileSync('/tmp/{n}', ''); console.log({n}, require('node:fs').readdirSync('/tmp').join())");
        let (bench, spec) = (&bench, &spec);
        async move { bench.try_run(spec, &[("main.js", &script)]).await }
    });
    let runs = futures_util::future::join_all(runs).await;
    for (n, run) in runs.into_iter().enumerate() {
        assert_eq!(run.unwrap().stdout.bytes, format!("{n} {n}\n").into_bytes());
    }
    bench.assert_nothing_left().await;
}

/// The worker is killed in the middle of a run: the container ends by itself, since its stdin
/// closes, and the next worker removes what is left.
#[tokio::test]
async fn a_killed_worker_takes_its_run_with_it() {
    let bench = Bench::new().await;
    let fifos = bench.dir.path().join("fifos");
    let script = bench.dir.path().join("loop.js");
    std::fs::write(&script, LOOP).unwrap();
    let mut worker = Command::new(example())
        .arg(&script)
        .arg("1")
        .arg(&fifos)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();

    let own = bench.sandbox.instance().to_string();
    let worker_instance = || {
        let names =
            std::fs::read_dir(&fifos).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.into_iter().find(|name| *name != own && name != "slots")
    };
    until(20, || async { worker_instance().is_some() }).await;
    let label = format!("todoku.sandbox={}", worker_instance().unwrap());
    let state = || async {
        let found = labelled(&bench.docker, &label).await;
        found.iter().find(|found| !is_holder(found)).and_then(|container| container.state)
    };
    until(20, || async { state().await == Some(ContainerSummaryStateEnum::RUNNING) }).await;
    // A living neighbour is left alone, whatever else a sweep finds on this engine.
    assert_eq!(bench.sandbox.sweep().await.unwrap().folders, 0);
    assert_eq!(state().await, Some(ContainerSummaryStateEnum::RUNNING));

    worker.kill().unwrap();
    worker.wait().unwrap();
    let holders =
        || async { labelled(&bench.docker, &label).await.iter().filter(|found| is_holder(found)).count() };
    until(6, || async { holders().await == 0 }).await;
    until(6, || async { state().await == Some(ContainerSummaryStateEnum::EXITED) }).await;
    let swept = bench.sandbox.sweep().await.unwrap();
    assert!(swept.containers >= 1 && swept.folders == 1, "{swept:?}");
    assert_eq!(state().await, None);
    assert_eq!(worker_instance(), None);
}

/// Cargo puts examples beside the folder of test binaries.
fn example() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples/run");
    assert!(path.exists(), "{} is missing: build with 'cargo test -p sandbox --examples'", path.display());
    path
}

#[tokio::test]
async fn a_sweep_removes_what_has_expired_and_no_more() {
    let bench = Bench::new().await;
    let stranger = uuid::Uuid::now_v7().to_string();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for (name, instance, expires) in [
        ("old", &stranger, (now - 5).to_string()),
        ("new", &stranger, (now + 600).to_string()),
        ("odd", &stranger, "soon".to_owned()),
        ("forgotten", &bench.sandbox.instance().to_string(), (now + 600).to_string()),
    ] {
        let labels = HashMap::from([
            ("todoku.sandbox".to_owned(), instance.clone()),
            ("todoku.expires".to_owned(), expires),
        ]);
        let body = ContainerCreateBody {
            image: Some("todoku/node24:local".to_owned()),
            labels: Some(labels),
            ..ContainerCreateBody::default()
        };
        let options =
            CreateContainerOptionsBuilder::default().name(&format!("todoku-test-{stranger}-{name}")).build();
        bench.docker.create_container(Some(options), body).await.unwrap();
    }
    // Another test's sweep may have taken those that had expired; the forgotten one is this process's own.
    let swept = bench.sandbox.sweep().await.unwrap();
    assert!(swept.containers >= 1 && swept.folders == 0, "{swept:?}");
    let left = labelled(&bench.docker, &format!("todoku.sandbox={stranger}")).await;
    let names: Vec<_> = left.iter().flat_map(|container| container.names.clone().unwrap()).collect();
    assert_eq!(names, [format!("/todoku-test-{stranger}-new")]);
    bench.docker.remove_container(names[0].trim_start_matches('/'), None).await.unwrap();
}

#[tokio::test]
async fn a_missing_engine_or_image_is_said_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let gone = Config { docker_host: Some("unix:///nonexistent/docker.sock".to_owned()), ..config(&dir) };
    let error = Sandbox::connect(gone).await.err().unwrap();
    assert!(error.is_transient() && error.to_string().contains("could not be reached"), "{error}");
    let far = Config { docker_host: Some("tcp://127.0.0.1:1".to_owned()), ..config(&dir) };
    let error = Sandbox::connect(far).await.err().unwrap();
    assert!(matches!(&error, Error::Refused(why) if why.contains("is no unix:// socket")), "{error}");

    let without = Config { images: vec!["nosuch".to_owned()], ..config(&dir) };
    let error = Sandbox::connect(without).await.unwrap().check().await.unwrap_err();
    assert!(!error.is_transient());
    let what = "the image todoku/nosuch:local is missing at the engine, or has no label todoku.contract: run lab-images/build nosuch";
    assert_eq!(error.to_string(), what);

    let other = Config { runtime: Some("nosuch".to_owned()), ..config(&dir) };
    let error = Sandbox::connect(other).await.unwrap().check().await.unwrap_err();
    assert!(error.to_string().starts_with("the engine has no runtime \"nosuch\"; it has "), "{error}");
    assert!(error.to_string().contains("runc"), "{error}");
}

#[tokio::test]
async fn the_engine_is_known_and_sees_the_folder_of_fifos() {
    let bench = Bench::new().await;
    let facts = bench.sandbox.facts().await.unwrap();
    assert!([1, 2].contains(&facts.cgroup_version) && facts.seccomp, "{facts:?}");
    assert!(facts.runtimes.contains(&facts.default_runtime), "{facts:?}");
    assert!(facts.free_disk().is_some_and(|free| free > 0), "{facts:?}");
    bench.sandbox.probe_folder("node24").await.unwrap();
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn a_run_has_an_end_even_where_the_program_never_answers() {
    let bench = Bench::new().await;
    let mut spec = spec();
    spec.limits.wall = Duration::from_secs(1);
    // Every thread of the learner's stopped, one child ignoring all it can.
    let script = "require('node:child_process').spawn('sh', ['-c', 'trap \"\" TERM INT HUP; kill -STOP $$'], { detached: true, stdio: 'ignore' });
        process.on('SIGTERM', () => {}); process.kill(0, 'SIGSTOP'); process.kill(process.pid, 'SIGSTOP')";
    let run = within(15, bench.run(&spec, script)).await;
    assert_eq!(run.outcome, lab::Outcome::WallLimit);
}
