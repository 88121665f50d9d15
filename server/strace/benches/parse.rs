//! How fast text becomes calls and calls become a trace, on one core, beside finding its lines alone:
//! `cargo bench -p strace -- FILE...`
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use strace::{Limits, Options, Parser};

fn main() {
    for file in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        let text = std::fs::read(&file).unwrap();
        let options = Options {
            limits: Limits { bytes: text.len(), events: usize::MAX, ..Limits::default() },
            ..Options::default()
        };
        let megabytes = text.len() as f64 / 1e6;
        let rounds = if megabytes < 50.0 { 20 } else { 3 };
        let mut best = [f64::MAX; 4];
        for _ in 0..rounds {
            let time = |best: &mut f64, work: &mut dyn FnMut()| {
                let start = Instant::now();
                work();
                *best = best.min(start.elapsed().as_secs_f64());
            };
            time(&mut best[0], &mut || {
                black_box(memchr::memchr_iter(b'\n', &text).fold(0, |last, at| at ^ last));
            });
            time(&mut best[1], &mut || {
                black_box(strace::tally(&text));
            });
            time(&mut best[2], &mut || drop(black_box(strace::parse(&text, &options))));
            time(&mut best[3], &mut || {
                let mut parser = Parser::new(options.clone());
                text.chunks(64 << 10).for_each(|chunk| parser.push(chunk));
                drop(black_box(parser.finish()));
            });
        }
        println!("{file}: {megabytes:.1} MB, {:?}", strace::tally(&text));
        for (name, seconds) in
            ["lines by memchr", "read and pair", "full model", "the same in chunks"].iter().zip(best)
        {
            println!("{name:<20} {:>8.0} MB/s {:>6.3} of slicing", megabytes / seconds, best[0] / seconds);
        }
    }
}
