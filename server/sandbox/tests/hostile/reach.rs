//! Programs that reach for what is not theirs.

use std::time::{Duration, Instant};

use lab::Outcome;

use crate::support::{Bench, limited, main_end, spec, stderr, stdout, trace};

#[tokio::test]
async fn the_tracer_the_trace_and_the_first_process_are_out_of_reach() {
    let bench = Bench::new().await;
    let script = r"
        const fs = require('node:fs');
        const strace = fs.readdirSync('/proc').filter(Number).find(pid => fs.readFileSync(`/proc/${pid}/comm`, 'utf8') === 'strace\n');
        const attempts = {
          stop1: () => process.kill(1, 'SIGSTOP'), kill1: () => process.kill(1, 'SIGKILL'),
          stop: () => process.kill(+strace, 'SIGSTOP'), kill: () => process.kill(+strace, 'SIGKILL'),
          fds: () => fs.readdirSync(`/proc/${strace}/fd`), fd: () => fs.openSync(`/proc/${strace}/fd/3`, 'w'),
          mem: () => fs.openSync(`/proc/${strace}/mem`, 'r+'), root: () => fs.readdirSync(`/proc/${strace}/root/`),
          environ: () => fs.readFileSync('/proc/1/environ'), out: () => fs.openSync('/proc/self/fd/1', 'r'), fd1: () => fs.openSync('/proc/1/fd/0', 'r'),
          folder: () => fs.readdirSync('/run/todoku'), trace: () => fs.openSync('/run/todoku/trace', 'w'),
          control: () => fs.openSync('/run/todoku/control', 'w'), unlink: () => fs.unlinkSync('/run/todoku/trace'),
          preload: () => fs.openSync('/opt/todoku/preload.cjs', 'r+'), guest: () => fs.openSync('/opt/todoku/guest', 'r+'),
          etc: () => fs.openSync('/etc/new', 'w'), dev: () => fs.openSync('/dev/new', 'w'), shadow: () => fs.readFileSync('/etc/shadow'),
          sysctl: () => fs.writeFileSync('/proc/sys/kernel/hostname', 'x'),
        };
        for (const [name, attempt] of Object.entries(attempts)) {
          try { attempt(); console.log(name, 'worked'); } catch (error) { console.log(name, error.code); }
        }
        const ptrace = `print syscall(101, 16, ${strace}, 0, 0) == -1 ? $! + 0 : 'attached'`;
        console.log('ptrace', String(require('node:child_process').execFileSync('perl', ['-e', ptrace])));";
    let run = bench.run(&spec(), script).await;
    let expected = "stop1 EPERM\nkill1 EPERM\nstop EPERM\nkill EPERM\nfds EACCES\nfd EACCES\nmem EACCES\nroot EACCES\n\
        environ EACCES\nout EACCES\nfd1 EACCES\nfolder EACCES\ntrace EACCES\ncontrol EACCES\nunlink EACCES\npreload EACCES\nguest EACCES\n\
        etc EROFS\ndev EACCES\nshadow EACCES\nsysctl EROFS\nptrace 1\n";
    assert_eq!(stdout(&run), expected, "{}", stderr(&run));
    assert_eq!(main_end(&run), "+++ exited with 0 +++");
}

#[tokio::test]
async fn a_signal_to_everybody_reaches_the_learners_own_alone() {
    let bench = Bench::new().await;
    let run = bench
        .run(
            &spec(),
            "const child = require('node:child_process').spawn('sleep', ['60']);
             child.on('exit', (code, signal) => console.log('child', signal));
             child.on('spawn', () => process.kill(-1, 'SIGKILL'));",
        )
        .await;
    assert_eq!(
        (run.outcome, stdout(&run).as_str()),
        (Outcome::Exited, "child SIGKILL\n"),
        "{}",
        stderr(&run)
    );
    assert_eq!(main_end(&run), "+++ exited with 0 +++");
}

#[tokio::test]
async fn what_a_script_leaves_behind_does_not_outlive_it() {
    let bench = Bench::new().await;
    let daemons = "const { spawn, execSync } = require('node:child_process');
        spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }).unref();
        execSync('(setsid sleep 61 >/dev/null 2>&1 &) ; (trap \"\" TERM HUP; sleep 62) >/dev/null 2>&1 &');
        console.log('left');";
    let from = Instant::now();
    let run = bench.run(&spec(), daemons).await;
    assert_eq!((run.outcome, run.exit_code, stdout(&run).as_str()), (Outcome::Exited, Some(0), "left\n"));
    assert!(from.elapsed() < Duration::from_secs(40), "{:?}", from.elapsed());
    let trace = trace(&run);
    assert!(trace.lines().filter(|line| line.ends_with("+++ killed by SIGKILL +++")).count() >= 3, "{trace}");
}

#[tokio::test]
async fn a_daemon_that_bombs_after_the_end_is_ended_with_it() {
    let bench = Bench::new().await;
    let spec = limited(|limits| limits.processes = 64);
    let bomb = "require('node:child_process').spawn('sh', ['-c', 'f() { f | f & }; f'], { detached: true, stdio: 'ignore' }).unref();
        setTimeout(() => {}, 300)";
    let from = Instant::now();
    let run = bench.run(&spec, bomb).await;
    assert_eq!((run.outcome, run.exit_code), (Outcome::ProcessLimit, Some(0)));
    assert!(from.elapsed() < Duration::from_secs(40), "{:?}", from.elapsed());
}

#[tokio::test]
async fn nothing_of_the_host_is_seen_inside() {
    let bench = Bench::new().await;
    let script = "const fs = require('node:fs'); const os = require('node:os');
        const read = path => fs.readFileSync(path, 'utf8');
        console.log(read('/etc/resolv.conf').split('\\n').filter(line => line && !line.startsWith('#')).join());
        console.log(read('/etc/hosts').includes(process.argv[2]), os.hostname(), Object.keys(os.networkInterfaces()).join());
        console.log(fs.readdirSync('/proc').filter(Number).length);
        require('node:dns').lookup('example.invalid', error => console.log(error.code !== undefined));";
    let mut spec = spec();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    spec.args = vec![host.trim().to_owned()];
    let run = bench.run(&spec, script).await;
    assert_eq!(stdout(&run), "nameserver 127.0.0.1\nfalse lab lo\n3\ntrue\n", "{}", stderr(&run));
}

#[tokio::test]
async fn what_is_printed_changes_nothing_of_what_is_seen() {
    let bench = Bench::new().await;
    let forged = "12    1796076416.5 +++ exited with 0 +++\\n= -1 ENOSPC (No space left on device)\\n";
    let script = format!(
        "const fs = require('node:fs');
         fs.writeSync(1, '{forged}'); fs.writeSync(2, '{forged}');
         try {{ fs.openSync('x\\n12    1796076416.5 +++ exited with 0 +++\\n') }} catch {{}}
         try {{ fs.openSync('= -1 ENOSPC (No space left on device)') }} catch {{}}
         process.exit(5);"
    );
    let run = bench.run(&spec(), &script).await;
    assert_eq!((run.outcome, run.exit_code), (Outcome::Exited, Some(5)));
    assert_eq!(main_end(&run), "+++ exited with 5 +++");
}
