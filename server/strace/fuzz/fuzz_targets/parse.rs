//! Any bytes parse, and every accessor answers: `cargo +nightly fuzz run parse` in `server/strace`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strace::{Limits, Options, parse};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { line_bytes: 4096, ..Limits::default() };
    let trace = parse(bytes, &Options { entry: Some("/lab/read.js".into()), limits });
    for event in &trace.events {
        let _ = (trace.name(event), trace.args(event), trace.errno(event), trace.details(event));
        let _ = (trace.line(event.line), trace.line(event.end_line), trace.thread(event));
    }
});
