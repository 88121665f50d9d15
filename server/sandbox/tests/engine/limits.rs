//! Every limit strikes, is named, and what was seen until then is kept.

use std::time::{Duration, Instant};

use lab::{Bytes, Outcome};

use crate::support::{Bench, limited, main_end, spec, stderr, stdout, trace};

#[tokio::test]
async fn an_endless_loop_meets_the_wall_limit_and_its_trace_is_kept() {
    let bench = Bench::new().await;
    let wall = Duration::from_secs(3);
    let run = bench.run(&limited(|limits| limits.wall = wall), "mark('in'); for (;;);").await;
    assert_eq!(
        (run.outcome, run.exit_code, run.signal.as_deref()),
        (Outcome::WallLimit, None, Some("SIGKILL"))
    );
    assert!(trace(&run).contains("/__mark__/in"));
    assert_eq!(main_end(&run), "+++ killed by SIGKILL +++");
    // The tracee starts a moment after the limit's clock.
    assert!(run.usage.wall >= wall * 9 / 10, "{:?}", run.usage);
}

#[tokio::test]
async fn the_call_that_main_was_in_when_time_ran_out_is_in_the_trace() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.wall = Duration::from_secs(3));
    for (script, call) in [
        ("require('node:net').createServer().listen(0)", "epoll_pwait("),
        (
            "require('node:fs').readFileSync(require('node:child_process').execFileSync('mkfifo', ['/tmp/f']) && '/tmp/f')",
            "openat(",
        ),
    ] {
        let run = bench.run(&spec, script).await;
        assert_eq!(run.outcome, Outcome::WallLimit, "{}", stderr(&run));
        let trace = trace(&run);
        let main = trace.split(' ').next().unwrap();
        let mut last = trace.lines().filter(|line| line.split(' ').next() == Some(main)).rev();
        assert!(last.next().unwrap().ends_with("+++ killed by SIGKILL +++"));
        let flying = last.next().unwrap();
        assert!(flying.contains(call) && flying.ends_with(") = ?"), "{flying}");
    }
}

#[tokio::test]
async fn a_stopped_script_meets_the_wall_limit() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.wall = Duration::from_secs(3));
    let run = bench.run(&spec, "process.kill(process.pid, 'SIGSTOP'); console.log('on')").await;
    assert_eq!((run.outcome, stdout(&run).as_str()), (Outcome::WallLimit, ""));
    assert_eq!(main_end(&run), "+++ killed by SIGKILL +++");
}

#[tokio::test]
async fn a_flood_of_output_is_cut_counted_and_ended() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.output = Bytes::kib(64));
    for (fd, stream) in [(1, "stdout"), (2, "stderr")] {
        // By number: node's own `process.stdout` tells a pipe not to wait, and a full one is then an exception.
        let script = format!("for (let n = 0; ; n++) require('node:fs').writeSync({fd}, `line ${{n}}\\n`)");
        let run = bench.run(&spec, &script).await;
        assert_eq!(run.outcome, Outcome::OutputLimit, "{stream}");
        let (flood, other) =
            if stream == "stdout" { (&run.stdout, &run.stderr) } else { (&run.stderr, &run.stdout) };
        assert_eq!((flood.bytes.len(), flood.tail.len()), (32 * 1024, 32 * 1024));
        assert!(flood.dropped > 0 && flood.bytes.starts_with(b"line 0\nline 1\n"));
        let tail = String::from_utf8_lossy(&flood.tail);
        let numbers: Vec<u64> =
            tail.lines().filter_map(|line| line.strip_prefix("line ")?.parse().ok()).collect();
        assert!(numbers.len() > 1000 && numbers.windows(2).all(|two| two[1] == two[0] + 1), "{tail}");
        assert_eq!((other.bytes.len(), other.dropped), (0, 0));
        assert!(run.usage.wall < spec.limits.wall, "{:?}", run.usage);
    }
}

#[tokio::test]
async fn a_flood_of_calls_is_cut_counted_and_ended() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.trace = Bytes::kib(512));
    let run = bench.run(&spec, "for (;;) require('node:fs').existsSync('/' + 'x'.repeat(1000))").await;
    assert_eq!(run.outcome, Outcome::TraceLimit);
    assert_eq!(run.trace.bytes.len(), 512 * 1024);
    assert!(run.trace.dropped > 0);
    assert!(run.usage.wall < spec.limits.wall, "{:?}", run.usage);
}

#[tokio::test]
async fn a_memory_bomb_meets_the_memory_limit() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.memory = Bytes::mib(128));
    let run = bench.run(&spec, "const kept = []; for (;;) kept.push(Buffer.alloc(8 << 20, 1))").await;
    assert_eq!(
        (run.outcome, run.signal.as_deref()),
        (Outcome::MemoryLimit, Some("SIGKILL")),
        "{}",
        stderr(&run)
    );
    assert!(run.usage.oom);
    assert!(run.usage.max_memory.unwrap().0 > 100 << 20, "{:?}", run.usage);

    // A child's death of it counts too, though the script itself ends well.
    let child = "const { spawnSync } = require('node:child_process');
        const bomb = 'const kept = []; for (;;) kept.push(Buffer.alloc(8 << 20, 1))';
        console.log(spawnSync(process.execPath, ['-e', bomb]).signal)";
    let run = bench.run(&spec, child).await;
    assert_eq!(
        (run.outcome, run.exit_code, stdout(&run).as_str()),
        (Outcome::MemoryLimit, Some(0), "SIGKILL\n")
    );
}

#[tokio::test]
async fn a_full_heap_is_a_signal_not_the_memory_limit() {
    let bench = Bench::new().await;
    let mut spec = spec();
    spec.env = [("NODE_OPTIONS".to_owned(), "--max-old-space-size=32".to_owned())].into();
    let run = bench.run(&spec, "const kept = []; for (;;) kept.push({ n: kept.length })").await;
    assert_eq!(
        (run.outcome, run.signal.as_deref()),
        (Outcome::Signalled, Some("SIGABRT")),
        "{}",
        stderr(&run)
    );
    assert!(!run.usage.oom);
}

#[tokio::test]
async fn a_fork_bomb_meets_the_process_limit() {
    let bench = Bench::new().await;
    let spec = limited(|limits| {
        limits.wall = Duration::from_secs(3);
        limits.processes = 64;
    });
    let from = Instant::now();
    let run =
        bench.run(&spec, "require('node:child_process').execSync('f() { f | f & }; f; sleep 60')").await;
    assert_eq!(run.outcome, Outcome::ProcessLimit, "{}", stderr(&run));
    assert!(from.elapsed() < Duration::from_secs(40), "{:?}", from.elapsed());

    let threads = "const { Worker } = require('node:worker_threads');
        for (let n = 0; n < 30; n++) new Worker('setInterval(() => {}, 1000)', { eval: true }).on('error', () => {});";
    let spec = limited(|limits| limits.processes = 20);
    let run = bench.run(&spec, threads).await;
    assert_eq!(run.outcome, Outcome::ProcessLimit, "{}", stderr(&run));
}

#[tokio::test]
async fn the_process_limit_is_the_learners_alone() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.processes = 12);
    // Node starts 7 threads; a pool of 4 makes 11, and one is left.
    let run = bench.run(&spec, "require('node:fs').readFile('/etc/passwd', () => console.log('read'))").await;
    assert_eq!((run.outcome, stdout(&run).as_str()), (Outcome::Exited, "read\n"), "{}", stderr(&run));
}

#[tokio::test]
async fn a_full_place_is_the_disk_limit() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.disk = Bytes::mib(4));
    for place in ["/lab", "/tmp", "/dev/shm"] {
        let script = format!("const fs = require('node:fs'); const fd = fs.openSync('{place}/full', 'w');
            try {{ for (;;) fs.writeSync(fd, Buffer.alloc(1 << 20)) }} catch (error) {{ console.log(error.code) }}");
        let run = bench.run(&spec, &script).await;
        assert_eq!((run.outcome, stdout(&run).as_str()), (Outcome::DiskLimit, "ENOSPC\n"), "{place}");
    }
}

#[tokio::test]
async fn open_files_are_limited_and_no_core_is_written() {
    let bench = Bench::new().await;
    let script = "const fs = require('node:fs'); let n = 0;
        try { for (;; n++) fs.openSync('/etc/passwd') } catch (error) { console.log(error.code, n < 64) }
        console.log(process.report.getReport().userLimits.core_file_size_blocks.hard);";
    let run = bench.run(&limited(|limits| limits.open_files = 64), script).await;
    assert_eq!(stdout(&run), "EMFILE true\n0\n", "{}", stderr(&run));
}
