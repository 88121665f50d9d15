//! Any bytes parse, in one piece or in many, every accessor answers, and no line is lost:
//! `cargo +nightly fuzz run parse` in `server/strace`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strace::{Limits, Options, Parser, Summarizer, merge, parse};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { line_bytes: 4096, ..Limits::default() };
    let options = Options { entry: Some("/lab/read.js".into()), limits };
    let trace = parse(bytes, &options);
    let mut told = vec![false; trace.lines() as usize + 1];
    for event in &trace.events {
        let _ = (trace.name(event), trace.args(event), trace.errno(event), trace.details(event));
        let _ = trace.thread(event);
        assert!(event.serial().is_none_or(|serial| (serial as usize) < trace.fds.len()));
        told[event.line as usize] = true;
        told[event.end_line as usize] = true;
    }
    trace.notes.iter().for_each(|note| told[note.line as usize] = true);
    trace.summary.iter().for_each(|row| told[row.line as usize] = true);
    for line in 1..=trace.lines() {
        assert!(told[line as usize] || trace.line(line).trim().is_empty(), "line {line} is lost");
    }
    for life in &trace.fds {
        let _ = trace.fd_path(life);
    }

    let mut chunks = Parser::new(options);
    let mut summarizer = Summarizer::new(None);
    for chunk in bytes.chunks(7) {
        chunks.push(chunk);
        summarizer.push(chunk);
    }
    let chunked = chunks.finish();
    assert_eq!(format!("{:?}", chunked.events), format!("{:?}", trace.events));
    assert_eq!(chunked.notes, trace.notes);
    let _ = summarizer.finish();

    let (left, right) = bytes.split_at(bytes.len() / 2);
    let _ = merge(&[(1, left), (2, right)]);
});
