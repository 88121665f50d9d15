use std::time::Instant;
fn main() {
    let text = std::fs::read("server/strace/tests/fixtures/open-mix.strace").unwrap();
    let lines: Vec<&[u8]> = text.split_inclusive(|&b| b == b'\n').collect();
    let (first, last) = (lines.len() / 4, lines.len() * 3 / 4);
    let mut long = lines[..first].concat();
    let middle = lines[first..last].concat();
    for _ in 0..std::env::var("N").map_or(200_000usize, |n| n.parse().unwrap()).div_ceil(last - first) { long.extend_from_slice(&middle); }
    long.extend(lines[last..].concat());
    let trace = strace::parse(&long, &strace::Options::default());
    let n = trace.events.len() as f64;
    let t = Instant::now();
    let mut s = 0;
    for e in &trace.events { s += trace.args(e).len(); }
    println!("args {:.0} ns/event", t.elapsed().as_nanos() as f64 / n);
    let t = Instant::now();
    for e in &trace.events { let d = trace.details(e); s += d.path.map_or(0, |p| p.len()); }
    println!("details {:.0} ns/event", t.elapsed().as_nanos() as f64 / n);
    println!("{s}");
    for _ in 0..std::env::var("R").map_or(8, |n| n.parse().unwrap()) {
    let t = Instant::now();
    let run = evidence::RunInput { label: "a", try_no: 1, trace: Some(&trace), ..Default::default() };
    let ev = evidence::Evidence::build(&[run], &[], &Default::default(), &[]).unwrap();
    println!("build {:.0} ns/event", t.elapsed().as_nanos() as f64 / n);
    let t = Instant::now();
    drop(ev);
    println!("drop {:.0} ns/event", t.elapsed().as_nanos() as f64 / n);
    }
}
