//! Containers made ahead, and the slots that they and all others live in.

use std::collections::{BTreeMap, BTreeSet};

use bollard::models::ContainerSummaryStateEnum;
use bollard::query_parameters::RemoveContainerOptionsBuilder;
use lab::Outcome;
use sandbox::{Config, Sandbox};

use crate::support::{Bench, config, limited, spec, stdout, until, within};

async fn with_parked(count: usize) -> Bench {
    let mut bench = Bench::new().await;
    bench.sandbox = Sandbox::connect(Config { parked: count, ..config(&bench.dir) }).await.unwrap();
    bench.sandbox.warm("node24", &lab::Limits::default());
    until(30, || async { bench.sandbox.parked() == count }).await;
    bench
}

async fn names(bench: &Bench) -> BTreeSet<String> {
    bench.containers().await.into_iter().flat_map(|found| found.names.unwrap()).collect()
}

#[tokio::test]
async fn a_run_uses_what_was_made_ahead_and_its_place_is_filled() {
    let bench = with_parked(2).await;
    let before = names(&bench).await;
    assert_eq!(before.len(), 2);
    let script = "console.log(require('node:fs').readdirSync('/lab').join())";
    let run = bench.try_run(&spec(), &[("main.js", script)]).await.unwrap();
    assert_eq!((run.outcome, stdout(&run).as_str()), (Outcome::Exited, "main.js\n"));
    until(30, || async { bench.sandbox.parked() == 2 }).await;
    within(10, bench.sandbox.drain()).await;
    let after = names(&bench).await;
    assert_eq!((after.len(), before.intersection(&after).count()), (2, 1), "one was used, one is new");

    within(20, bench.sandbox.close()).await;
    assert_eq!(bench.all_containers().await, [], "holders and all are gone");
}

#[tokio::test]
async fn a_run_of_another_shape_gets_a_container_of_its_own() {
    let bench = with_parked(1).await;
    let spec = limited(|limits| limits.memory = lab::Bytes::mib(200));
    let script = "const fs = require('node:fs');
        const file = ['/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/fs/cgroup/memory.max'].find(fs.existsSync);
        console.log(fs.readFileSync(file, 'utf8').trim())";
    for _ in 0..2 {
        let run = bench.try_run(&spec, &[("main.js", script)]).await.unwrap();
        assert_eq!(stdout(&run), format!("{}\n", 200 << 20));
        // The pool follows: what waits now has the new shape.
        until(30, || async { bench.sandbox.parked() == 1 }).await;
    }
    within(20, bench.sandbox.close()).await;
}

#[tokio::test]
async fn what_died_while_it_waited_is_not_used() {
    let bench = with_parked(2).await;
    // Holders too: as after a restart of the engine.
    for found in bench.all_containers().await {
        let options = RemoveContainerOptionsBuilder::default().force(true).build();
        bench.docker.remove_container(&found.id.unwrap(), Some(options)).await.unwrap();
    }
    let run = bench.try_run(&spec(), &[("main.js", "console.log('still')")]).await.unwrap();
    assert_eq!(stdout(&run), "still\n");
    until(30, || async { bench.sandbox.parked() == 2 }).await;
    let run = bench.try_run(&spec(), &[("main.js", "console.log('again')")]).await.unwrap();
    assert_eq!(stdout(&run), "again\n");
    within(20, bench.sandbox.close()).await;
}

/// One listens on a port and an abstract socket of its loopback until it is killed; a neighbour at the
/// same time cannot reach it, and the next run in its place finds nothing of it.
#[tokio::test]
async fn nobody_meets_anybody_on_the_loopback() {
    let bench = Bench::new().await;
    let listen = "const net = require('node:net');
        net.createServer(socket => socket.end()).listen(4000, '127.0.0.1');
        net.createServer(socket => socket.end()).listen('\\0todoku');
        require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: 'inherit' });";
    let look = "const net = require('node:net'), fs = require('node:fs');
        const tried = to => new Promise(done => {
          const socket = net.connect(to, () => { done('reached'); socket.destroy(); });
          socket.on('error', error => done(error.code));
        });
        Promise.all([tried(4000), tried('\\0todoku')]).then(said => console.log(said.join(' '),
          Object.keys(require('node:os').networkInterfaces()).join(), fs.readFileSync('/proc/net/unix', 'utf8').split('\\n').length,
          fs.readFileSync('/proc/net/tcp', 'utf8').split('\\n').filter(line => / 0A /.test(line)).length))";
    let nothing = "ECONNREFUSED ECONNREFUSED lo 2 0\n";
    let short = limited(|limits| limits.wall = std::time::Duration::from_secs(3));
    let files = [("main.js", listen)];
    let listener = bench.try_run(&short, &files);
    let neighbour = async {
        until(20, || async {
            let found = bench.containers().await;
            found.iter().any(|found| found.state == Some(ContainerSummaryStateEnum::RUNNING))
        })
        .await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        bench.try_run(&spec(), &[("main.js", look)]).await
    };
    let (listener, neighbour) = tokio::join!(listener, neighbour);
    assert_eq!(listener.unwrap().outcome, Outcome::WallLimit);
    assert_eq!(stdout(&neighbour.unwrap()), nothing, "beside it");
    within(10, bench.sandbox.drain()).await;
    for _ in 0..2 {
        let next = bench.try_run(&spec(), &[("main.js", look)]).await.unwrap();
        assert_eq!(stdout(&next), nothing, "after it");
        within(10, bench.sandbox.drain()).await;
    }
    let holders = bench.all_containers().await.len();
    assert_eq!(holders, 2, "two at one time had a network namespace each, and those after used them again");
    within(20, bench.sandbox.close()).await;
}

#[tokio::test]
async fn runs_at_one_time_have_ids_of_their_own() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.wall = std::time::Duration::from_secs(8));
    let files = BTreeMap::from([(
        "main.js".to_owned(),
        b"setTimeout(() => console.log(process.getuid()), 1500)".to_vec(),
    )]);
    let runs = (0..3).map(|_| {
        let cancel = tokio_util::sync::CancellationToken::new();
        bench.sandbox.run(sandbox::RunRequest { spec: &spec, files: &files, output: None, cancel })
    });
    let runs = futures_util::future::join_all(runs).await;
    let ids: BTreeSet<String> = runs.into_iter().map(|run| stdout(&run.unwrap())).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    within(20, bench.sandbox.close()).await;
}
