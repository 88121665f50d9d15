//! Ordinary programs: what they print, how they end, what is seen of them.

use lab::{Outcome, Tracer};
use sandbox::Error;

use crate::support::{Bench, limited, main_end, spec, stderr, stdout, trace};

#[tokio::test]
async fn the_image_has_the_pinned_node_and_strace() {
    let versions = include_str!("../../../../lab-images/node24/versions");
    let pinned = |key: &str| {
        let line = versions.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap().to_owned()
    };
    let bench = Bench::new().await;
    let run = bench
        .run(
            &spec(),
            "const out = require('node:child_process').execFileSync;
             console.log(process.version);
             console.log(String(out('dpkg-query', ['-W', '-f', '${Version}', 'strace'])));
             console.log(String(out('strace', ['-V'])).split('\\n')[0]);",
        )
        .await;
    let strace = pinned("STRACE");
    let said =
        format!("v{}\n{strace}\nstrace -- version {}\n", pinned("NODE"), strace.split('+').next().unwrap());
    assert_eq!(stdout(&run), said, "{}", stderr(&run));
}

#[tokio::test]
async fn the_tracee_is_the_learner_and_has_no_capability() {
    let bench = Bench::new().await;
    let run = bench
        .run(
            &spec(),
            "const status = require('node:fs').readFileSync('/proc/self/status', 'utf8');
             const shown = /^(Uid|Gid|Groups|CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):/;
             console.log(status.split('\\n').filter(line => shown.test(line)).join('\\n').replace(/[\\t ]+/g, ' '));
             console.log(process.cwd(), require('node:os').hostname());",
        )
        .await;
    let none = "0000000000000000";
    let id = stdout(&run).split(' ').nth(1).unwrap().to_owned();
    assert!(guest::is_learner(id.parse().unwrap()), "{id}");
    let expected = format!(
        "Uid: {id} {id} {id} {id}\nGid: {id} {id} {id} {id}\nGroups: \nCapInh: {none}\nCapPrm: {none}\n\
         CapEff: {none}\nCapAmb: {none}\nNoNewPrivs: 1\nSeccomp: 2\n/lab lab\n"
    );
    assert_eq!(stdout(&run), expected);
}

#[tokio::test]
async fn a_script_is_seen_from_its_first_call_to_its_exit() {
    let bench = Bench::new().await;
    let run = bench
        .run(
            &spec(),
            "const fs = require('node:fs');
             mark('start');
             fs.readFileSync('/etc/os-release');
             fs.readFile('/etc/passwd', 'utf8', (error, text) => {
               console.log(text.includes('learner')); console.error('届く');
             });",
        )
        .await;
    assert_eq!((run.outcome, run.exit_code, run.signal.as_deref()), (Outcome::Exited, Some(0), None));
    assert_eq!((stdout(&run), stderr(&run)), ("true\n".to_owned(), "届く\n".to_owned()));
    let trace = trace(&run);
    assert!(trace.lines().next().unwrap().contains("execve(\"/usr/local/bin/node\""), "{trace}");
    assert_eq!(main_end(&run), "+++ exited with 0 +++");
    for seen in ["access(\"/__mark__/start\"", "\"/etc/os-release\"", "\"/etc/passwd\"", "</lab/main.js>"] {
        assert!(trace.contains(seen), "{seen} is not in the trace");
    }
    assert!(!trace.contains(" resumed>"), "strace 6.13 writes whole lines here");
    assert!(!trace.contains("io_uring"), "calls would be hidden in a ring");
    assert_eq!(run.trace.dropped, 0);
    assert!(run.usage.cpu.unwrap().as_millis() > 5, "{:?}", run.usage);
    assert!(run.usage.max_memory.unwrap().0 > 10 << 20, "{:?}", run.usage);
    assert!(run.usage.wall.as_millis() > 5 && run.usage.wall < spec().limits.wall, "{:?}", run.usage);
    assert!(!run.usage.oom);
}

#[tokio::test]
async fn what_a_script_throws_is_its_own_end() {
    let bench = Bench::new().await;
    let run = bench.run(&spec(), "throw new Error('as asked')").await;
    assert_eq!((run.outcome, run.exit_code), (Outcome::Exited, Some(1)));
    assert!(stderr(&run).contains("Error: as asked"), "{}", stderr(&run));
    assert_eq!(main_end(&run), "+++ exited with 1 +++");

    let run = bench.run(&spec(), "const = 1").await;
    assert_eq!((run.outcome, run.exit_code), (Outcome::Exited, Some(1)));
    assert!(stderr(&run).contains("SyntaxError"), "{}", stderr(&run));
}

#[tokio::test]
async fn exit_status_and_signal_are_reported() {
    let bench = Bench::new().await;
    let run = bench.run(&spec(), "process.exit(7)").await;
    assert_eq!((run.outcome, run.exit_code, run.signal), (Outcome::Exited, Some(7), None));
    let run = bench.run(&spec(), "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)").await;
    assert_eq!(
        (run.outcome, run.exit_code, run.signal.as_deref()),
        (Outcome::Signalled, None, Some("SIGTERM"))
    );
    let run = bench.run(&spec(), "process.abort()").await;
    assert_eq!((run.outcome, run.signal.as_deref()), (Outcome::Signalled, Some("SIGABRT")));
}

#[tokio::test]
async fn arguments_and_environment_are_those_of_the_run_and_no_others() {
    let bench = Bench::new().await;
    let mut spec = spec();
    spec.args = ["a b", "", "-x", "日本"].map(String::from).to_vec();
    spec.env =
        [("UV_THREADPOOL_SIZE", "8"), ("HOME", "/tmp")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let script = "console.log(JSON.stringify([process.argv.slice(2), process.env]))";
    let seen = r#"[["a b","","-x","日本"],{"HOME":"/tmp","LANG":"C.UTF-8","PATH":"/usr/local/bin:/usr/bin:/bin","UV_THREADPOOL_SIZE":"8"}]"#;
    for tracer in [Tracer::Trace, Tracer::None] {
        spec.tracer = tracer;
        let run = bench.run(&spec, script).await;
        let sorted: serde_json::Value = serde_json::from_str(&stdout(&run)).unwrap();
        assert_eq!(sorted, serde_json::from_str::<serde_json::Value>(seen).unwrap(), "{tracer:?}");
    }
}

#[tokio::test]
async fn an_untraced_run_is_the_same_program_without_a_trace() {
    let bench = Bench::new().await;
    let mut spec = limited(|limits| limits.wall = std::time::Duration::from_secs(6));
    spec.tracer = Tracer::None;
    let run = bench
        .run(
            &spec,
            "const { spawn } = require('node:child_process');
             spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }).unref();
             console.log(process.getuid(), require('node:fs').readFileSync('/proc/self/status', 'utf8').match(/TracerPid:\\s*(\\d+)/)[1]);
             process.exitCode = 3;",
        )
        .await;
    let said = stdout(&run);
    let (uid, tracer) = said.trim_end().split_once(' ').unwrap();
    assert!(guest::is_learner(uid.parse().unwrap()) && tracer == "0", "{said}");
    assert_eq!((run.outcome, run.exit_code), (Outcome::Exited, Some(3)));
    assert!(run.trace.bytes.is_empty());
    assert!(run.usage.wall.as_secs() < 5);

    let run = bench.run(&spec, "process.abort()").await;
    assert_eq!((run.outcome, run.signal.as_deref()), (Outcome::Signalled, Some("SIGABRT")));
}

#[tokio::test]
async fn files_arrive_whole_under_any_name_that_stays_inside() {
    let bench = Bench::new().await;
    let name = "x\n12    1796076416.5 +++ exited with 0 +++\u{1b}[31m) = 0 <0.1>";
    let big = "届く".repeat(100_000);
    let files = [
        ("main.js", "const fs = require('node:fs');
            console.log(JSON.stringify([fs.readdirSync('.').sort(), fs.readFileSync('a/b/c.txt', 'utf8').length,
                fs.statSync('a').uid === process.getuid(), fs.statSync('main.js').mode & 0o777]));
            fs.writeFileSync('a/b/new', 'mine'); process.exit(4);"),
        ("a/b/c.txt", big.as_str()),
        ("--inspect.js", ""),
        (name, "hostile"),
    ];
    let run = bench.try_run(&spec(), &files).await.unwrap();
    let listed = serde_json::json!([["--inspect.js", "a", "main.js", name], 200_000, true, 0o644]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&stdout(&run)).unwrap(), listed, "{}", stderr(&run));
    assert_eq!((run.outcome, run.exit_code), (Outcome::Exited, Some(4)));
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn a_request_that_cannot_be_run_is_refused_by_name() {
    let bench = Bench::new().await;
    for path in ["../out.js", "/etc/passwd", "a//b", ""] {
        let error = bench.try_run(&spec(), &[("main.js", ""), (path, "")]).await.unwrap_err();
        assert!(matches!(error, Error::Refused(_)) && !error.is_transient(), "{path:?}: {error}");
        assert!(error.to_string().contains(&format!("{path:?}")), "{error}");
    }
    let mut other = spec();
    other.image = "Node:24".to_owned();
    let error = bench.try_run(&other, &[("main.js", "")]).await.unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    other.image = "nosuch".to_owned();
    let error = bench.try_run(&other, &[("main.js", "")]).await.unwrap_err();
    assert!(
        matches!(error, Error::Image(_)) && error.to_string().contains("lab-images/build nosuch"),
        "{error}"
    );
    let error = bench.try_run(&spec(), &[("a", "x"), ("a/b", "y")]).await.unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("\"a/b\"")), "{error}");
    let error = bench
        .try_run(&limited(|limits| limits.disk = lab::Bytes(2)), &[("main.js", "abc")])
        .await
        .unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("3 bytes")), "{error}");
    // The longest name that a file system takes.
    let long = format!("{}.js", "あ".repeat(84));
    bench.try_run(&spec(), &[("main.js", ""), (&long, "")]).await.unwrap();
    bench.assert_nothing_left().await;
}
