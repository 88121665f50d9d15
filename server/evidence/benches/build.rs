//! How long it takes to make evidence of a trace, on one core: `cargo bench -p evidence`.
//!
//! The small trace is a lab's, as recorded; the large one is a recorded trace's middle, repeated.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use evidence::{Evidence, QueryLimits, RunInput};

const CHECK: &str =
    "select id from events where run = 'a' and name = 'openat' and role = 'libuv-worker' and ok";

fn main() {
    small(200);
    large(200_000);
}

fn small(times: usize) {
    let text = fixture("read-default.strace");
    let mut spent: Vec<[Duration; 3]> = (0..times)
        .map(|_| {
            let start = Instant::now();
            let trace = strace::parse(&text, &strace::Options::default());
            let parsed = start.elapsed();
            let evidence = build(&trace);
            let built = start.elapsed();
            for _ in 0..10 {
                evidence.query(CHECK, &[], &QueryLimits::default()).unwrap();
            }
            [parsed, built - parsed, start.elapsed() - built]
        })
        .collect();
    let median = |part: usize, spent: &mut Vec<[Duration; 3]>| {
        spent.sort_by_key(|parts| parts[part]);
        spent[spent.len() / 2][part]
    };
    let [parse, build, checks] = [0, 1, 2].map(|part| median(part, &mut spent));
    println!(
        "{} bytes, median of {times}: parse {parse:?}, build {build:?}, ten checks {checks:?}",
        text.len()
    );
}

fn large(least: usize) {
    let text = fixture("open-mix.strace");
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let (first, last) = (lines.len() / 4, lines.len() * 3 / 4);
    let mut long = lines[..first].concat();
    let middle = lines[first..last].concat();
    for _ in 0..least.div_ceil(last - first) {
        long.extend_from_slice(&middle);
    }
    long.extend(lines[last..].concat());

    let start = Instant::now();
    let trace = strace::parse(&long, &strace::Options::default());
    let parsed = start.elapsed();
    let evidence = build(&trace);
    let built = start.elapsed() - parsed;
    evidence.query(CHECK, &[], &QueryLimits::exploring()).unwrap();
    let checked = start.elapsed() - parsed - built;
    let events = u32::try_from(trace.events.len()).unwrap();
    let rate = f64::from(events) / (parsed + built).as_secs_f64();
    println!(
        "{} bytes, {events} events: parse {parsed:?}, build {built:?}, one check {checked:?}; parse and build {rate:.0} events/s",
        long.len()
    );
}

fn build(trace: &strace::Trace) -> Evidence {
    let run =
        RunInput { label: "a", try_no: 1, outcome: "exited", trace: Some(trace), ..RunInput::default() };
    Evidence::build(&[run], &[], &BTreeMap::new(), &[]).unwrap()
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../strace/tests/fixtures").join(name)).unwrap()
}
