//! From text to answers, on one core, beside finding the text's lines alone: `./dev bench trace`.
//!
//! Rounds are interleaved, so that noise strikes all alike, and the best of each counts. Memory is
//! that of a process of its own for each way, which reads the file in chunks.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use evidence::{Evidence, QueryLimits, RunInput};
use strace::{Limits, Options, Parser, Summarizer, Trace};

const CHUNK: usize = 256 << 10;
const CHECK: &str =
    "select id from events where run = 'a' and name = 'openat' and role = 'libuv-worker' and ok";

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["memory", way, file] => println!("{}", memory(way, file)),
        [] => println!("usage: ./dev bench trace, or: cargo bench -p evidence -- FILE..."),
        files => {
            files.iter().for_each(|file| throughput(file));
            lab_sized(400);
        }
    }
}

fn options(bytes: usize) -> Options {
    Options { limits: Limits { bytes, events: usize::MAX, ..Limits::default() }, ..Options::default() }
}

/// The best of some rounds.
struct Best(Duration);

impl Best {
    fn of(&mut self, work: impl FnOnce()) {
        let start = Instant::now();
        work();
        self.0 = self.0.min(start.elapsed());
    }
}

fn throughput(file: &str) {
    let text = std::fs::read(file).unwrap();
    let options = options(text.len());
    let megabytes = text.len() as f64 / 1e6;
    let mut best: [Best; 6] = std::array::from_fn(|_| Best(Duration::MAX));
    for _ in 0..if megabytes < 50.0 { 30 } else { 5 } {
        best[0].of(|| {
            black_box(memchr::memchr_iter(b'\n', &text).fold(0, |last, at| at ^ last));
        });
        best[1].of(|| {
            black_box(strace::tally(&text));
        });
        best[2].of(|| drop(black_box(strace::parse(&text, &options))));
        best[3].of(|| {
            let mut parser = Parser::new(options.clone());
            parser.expect(text.len());
            text.chunks(CHUNK).for_each(|chunk| parser.push(chunk));
            drop(black_box(parser.finish()));
        });
        best[4].of(|| {
            let mut summarizer = Summarizer::new(None);
            text.chunks(CHUNK).for_each(|chunk| summarizer.push(chunk));
            drop(black_box(summarizer.finish()));
        });
        best[5].of(|| drop(black_box(build(&strace::parse(&text, &options)))));
    }
    let tally = strace::tally(&text);
    let events = (tally.calls + tally.others) as f64;
    let slicing = best[0].0.as_secs_f64();
    println!("{megabytes:.1} MB, {} lines, {events} events\n", tally.lines);
    println!("| way | MB/s | of slicing | M lines/s | M events/s | peak memory |");
    println!("|---|---:|---:|---:|---:|---:|");
    let ways = [
        ("find the lines (memchr)", None),
        ("read and pair", None),
        ("the whole model", Some("model")),
        ("the same from 256 KiB chunks", None),
        ("a summary", Some("summary")),
        ("parse and build the evidence", Some("evidence")),
    ];
    for ((name, way), best) in ways.into_iter().zip(&best) {
        let seconds = best.0.as_secs_f64();
        let peak = way.map_or(String::new(), |way| {
            let bytes = in_own_process(way, file);
            format!("{:.1} MB ({:.2} of the text)", bytes / 1e6, bytes / 1e6 / megabytes)
        });
        println!(
            "| {name} | {:.0} | {:.3} | {:.2} | {:.2} | {peak} |",
            megabytes / seconds,
            slicing / seconds,
            tally.lines as f64 / 1e6 / seconds,
            events / 1e6 / seconds,
        );
    }
    println!();
}

/// Peak memory of a process that does nothing else, in bytes.
fn in_own_process(way: &str, file: &str) -> f64 {
    let output = Command::new(std::env::current_exe().unwrap()).args(["memory", way, file]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn memory(way: &str, file: &str) -> u64 {
    let mut file = std::fs::File::open(file).unwrap();
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    let mut parser = Parser::new(options(length));
    let mut summarizer = Summarizer::new(None);
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = file.read(&mut chunk).unwrap();
        match (read, way) {
            (0, _) => break,
            (_, "summary") => summarizer.push(&chunk[..read]),
            _ => parser.push(&chunk[..read]),
        }
    }
    match way {
        "summary" => drop(black_box(summarizer.finish())),
        "model" => drop(black_box(parser.finish())),
        _ => drop(black_box(build(&parser.finish()))),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// What grading a lab's run takes beside the sandbox: a recorded trace, its evidence, ten checks.
fn lab_sized(times: usize) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../strace/tests/fixtures/613-read-default.strace");
    let text = std::fs::read(file).unwrap();
    let mut spent: Vec<[Duration; 3]> = (0..times)
        .map(|_| {
            let start = Instant::now();
            let trace = strace::parse(&text, &Options::default());
            let parsed = start.elapsed();
            let evidence = build(&trace);
            let built = start.elapsed();
            for _ in 0..10 {
                evidence.query(CHECK, &[], &QueryLimits::default()).unwrap();
            }
            [parsed, built - parsed, start.elapsed() - built]
        })
        .collect();
    let mut median = |part: usize| {
        spent.sort_by_key(|parts| parts[part]);
        spent[spent.len() / 2][part].as_secs_f64() * 1e3
    };
    let [parse, build, checks] = [0, 1, 2].map(&mut median);
    let lines = memchr::memchr_iter(b'\n', &text).count();
    println!("A lab's trace of {lines} lines, median of {times}\n");
    println!("| parse | build the evidence | ten checks | together |\n|---:|---:|---:|---:|");
    println!("| {parse:.2} ms | {build:.2} ms | {checks:.2} ms | {:.2} ms |", parse + build + checks);
}

fn build(trace: &Trace) -> Evidence {
    let run =
        RunInput { label: "a", try_no: 1, outcome: "exited", trace: Some(trace), ..RunInput::default() };
    Evidence::build(&[run], &[], &BTreeMap::new(), &[]).unwrap()
}
