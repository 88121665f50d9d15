//! What a script that measures time sees of others that compute beside it.

use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::{Bench, PARKED, at, run, try_run};

const ROUNDS: usize = 12;
/// A fixed number of short loops, after as many as the compiler needs; then half a second of an event loop's turns.
/// Milliseconds of the loops together, and of the longest turn.
const MEASURES: &str = "
    const { performance } = require('node:perf_hooks');
    const loop = () => { let n = 0; for (let i = 0; i < 1e6; i++) n = (n + i) | 0; return n };
    for (let n = 0; n < 50; n++) loop();
    const from = performance.now();
    for (let n = 0; n < 150; n++) loop();
    const took = performance.now() - from;
    const until = performance.now() + 500;
    let last = performance.now(), longest = 0;
    (function turn() {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
      if (now < until) setTimeout(turn, 1);
      else console.log(JSON.stringify([took, longest]));
    })();";
const COMPUTES: &[u8] = b"for (;;);";

pub(crate) async fn print(bench: &Bench) {
    let sandbox = bench.sandbox(PARKED).await;
    println!("\nTiming beside neighbours that compute, {ROUNDS} runs each\n");
    println!("| neighbours | a fixed loop: median | p95 | longest turn of a 1 ms timer: median | p95 |");
    println!("|---:|---:|---:|---:|---:|");
    let mut measured: [[Vec<Duration>; 2]; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (neighbours, times) in measured.iter_mut().enumerate() {
            let cancel = CancellationToken::new();
            let others = (0..neighbours).map(|_| try_run(&sandbox, "main.js", COMPUTES, cancel.clone()));
            let own = async {
                // Until they compute.
                tokio::time::sleep(Duration::from_millis(600)).await;
                let run = run(&sandbox, "main.js", MEASURES.as_bytes()).await;
                cancel.cancel();
                serde_json::from_slice::<[f64; 2]>(&run.stdout.bytes).unwrap()
            };
            let (own, _cancelled) = tokio::join!(own, join_all(others));
            times.iter_mut().zip(own).for_each(|(all, ms)| all.push(Duration::from_secs_f64(ms / 1000.0)));
            bench.filled(&sandbox, PARKED).await;
        }
    }
    sandbox.close().await;
    for (neighbours, [took, longest]) in measured.iter_mut().enumerate() {
        let ms = |times: &mut [Duration], percent| at(times, percent).as_secs_f64() * 1000.0;
        println!(
            "| {neighbours} | {:.1} ms | {:.1} ms | {:.1} ms | {:.1} ms |",
            ms(took, 50),
            ms(took, 95),
            ms(longest, 50),
            ms(longest, 95)
        );
    }
}
