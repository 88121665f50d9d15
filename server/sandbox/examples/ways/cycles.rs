//! How many a minute: what the engine gives, and what becomes of it.

use std::time::{Duration, Instant};

use bollard::Docker;
use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, RemoveContainerOptionsBuilder, WaitContainerOptionsBuilder,
};
use futures_util::StreamExt;
use futures_util::future::join_all;

use crate::{Bench, IMAGE, PARKED, run};

const AT_ONCE: usize = 3;

pub(crate) async fn print(bench: &Bench) {
    let docker = Docker::connect_with_defaults().unwrap().negotiate_version().await.unwrap();
    println!(
        "\nA minute, over {} s each\n\n| what | at once | a minute |\n|---|---:|---:|",
        bench.seconds.as_secs()
    );
    let own = cycles(bench, &docker, None).await;
    println!("| create, start, wait, remove; a network namespace each | {AT_ONCE} | {own:.0} |");
    let holders: Vec<String> =
        (0..AT_ONCE).map(|n| format!("ways-holder-{n}-{}", std::process::id())).collect();
    for holder in &holders {
        start(&docker, holder, "none", &["sleep", "600"]).await;
    }
    let joined = cycles(bench, &docker, Some(&holders)).await;
    for holder in &holders {
        remove(&docker, holder).await;
    }
    println!("| the same, joined to a holder's | {AT_ONCE} | {joined:.0} |");
    for at_once in 1..=AT_ONCE {
        let runs = runs(bench, at_once).await;
        println!("| runs in sandboxes | {at_once} | {runs:.0} |");
    }
}

/// Lanes that do `one` again and again; how many they did a minute.
async fn rate<F: Future<Output = ()>>(
    time: Duration,
    at_once: usize,
    one: impl Fn(usize, usize) -> F,
) -> f64 {
    let from = Instant::now();
    let lanes = (0..at_once).map(|lane| {
        let one = &one;
        async move {
            let mut done = 0;
            while from.elapsed() < time {
                one(lane, done).await;
                done += 1;
            }
            done
        }
    });
    let done: usize = join_all(lanes).await.into_iter().sum();
    60.0 * done as f64 / from.elapsed().as_secs_f64()
}

async fn cycles(bench: &Bench, docker: &Docker, holders: Option<&[String]>) -> f64 {
    rate(bench.seconds, AT_ONCE, |lane, n| async move {
        let network = holders.map_or("none".to_owned(), |holders| format!("container:{}", holders[lane]));
        let name = format!("ways-{}-{lane}-{n}-{}", std::process::id(), holders.is_some());
        start(docker, &name, &network, &["true"]).await;
        let options = WaitContainerOptionsBuilder::default().condition("not-running").build();
        docker.wait_container(&name, Some(options)).next().await.unwrap().unwrap();
        remove(docker, &name).await;
    })
    .await
}

async fn start(docker: &Docker, name: &str, network: &str, command: &[&str]) {
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        entrypoint: Some(command.iter().map(|word| (*word).to_owned()).collect()),
        host_config: Some(HostConfig { network_mode: Some(network.to_owned()), ..HostConfig::default() }),
        ..ContainerCreateBody::default()
    };
    let options = CreateContainerOptionsBuilder::default().name(name).build();
    docker.create_container(Some(options), body).await.unwrap();
    docker.start_container(name, None).await.unwrap();
}

async fn remove(docker: &Docker, name: &str) {
    let options = RemoveContainerOptionsBuilder::default().force(true).build();
    docker.remove_container(name, Some(options)).await.unwrap();
}

async fn runs(bench: &Bench, at_once: usize) -> f64 {
    let sandbox = bench.sandbox(PARKED).await;
    let rate = rate(bench.seconds, at_once, |_, _| {
        let (sandbox, script) = (sandbox.clone(), bench.script.clone());
        async move {
            let run = run(&sandbox, "read.js", &script).await;
            assert_eq!(run.exit_code, Some(0));
        }
    })
    .await;
    sandbox.close().await;
    rate
}
