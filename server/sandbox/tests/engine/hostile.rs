//! Programs that reach for what is not theirs.

use std::time::{Duration, Instant};

use lab::{Outcome, Tracer};

use crate::support::{Bench, limited, main_end, spec, stderr, stdout, trace};

/// `name number,argument,...` of x86-64 calls, made by perl's syscall(), and the errno they must get.
#[cfg(target_arch = "x86_64")]
const DENIED: &[(&str, &str, i32)] = &[
    ("clone(CLONE_UNTRACED|SIGCHLD)", "56,8388625,0,0,0,0", 1),
    ("clone(CLONE_NEWUSER|SIGCHLD)", "56,268435473,0,0,0,0", 1),
    ("clone3", "435,0,0", 38),
    ("io_uring_setup", "425,8,0", 38),
    ("io_uring_enter", "426,0,0,0,0,0", 38),
    ("io_uring_register", "427,0,0,0,0", 38),
    ("unshare(CLONE_NEWUSER)", "272,268435456", 1),
    ("setns", "308,0,0", 1),
    ("mount", "165,0,0,0,0,0", 1),
    ("umount2", "166,0,0", 1),
    ("pivot_root", "155,0,0", 1),
    ("chroot", "161,0", 1),
    ("open_tree", "428,0,0,0", 1),
    ("move_mount", "429,0,0,0,0,0", 1),
    ("fsopen", "430,0,0", 1),
    ("bpf", "321,0,0,0", 1),
    ("perf_event_open", "298,0,0,0,0,0", 1),
    ("keyctl", "250,0,0,0,0,0", 1),
    ("add_key", "248,0,0,0,0,0", 1),
    ("request_key", "249,0,0,0,0", 1),
    ("process_vm_readv", "310,0,0,0,0,0,0", 1),
    ("process_vm_writev", "311,0,0,0,0,0,0", 1),
    ("userfaultfd", "323,0", 1),
    // With SECCOMP_FILTER_FLAG_NEW_LISTENER another process could answer a call.
    ("seccomp", "317,1,8,0", 1),
    ("pidfd_getfd", "438,0,0,0", 1),
    ("kcmp", "312,0,0,0,0,0", 1),
    ("personality(ADDR_NO_RANDOMIZE)", "135,262144", 1),
    ("shmget", "29,0,4096,512", 1),
    ("mq_open", "240,0,0,0,0", 1),
    ("open_by_handle_at", "304,0,0,0", 1),
    ("init_module", "175,0,0,0", 1),
    ("kexec_load", "246,0,0,0,0", 1),
    ("syslog", "103,3,0,0", 1),
    ("sethostname", "170,0,0", 1),
    ("socket(AF_VSOCK)", "41,40,1,0", 1),
    ("socket(AF_PACKET)", "41,17,3,0", 1),
    ("socket(AF_ALG)", "41,38,5,0", 1),
    ("socket(AF_INET, SOCK_RAW)", "41,2,3,1", 1),
    ("socket(AF_NETLINK, NETLINK_NETFILTER)", "41,16,3,12", 1),
    ("setuid(0)", "105,0", 1),
    ("setgroups", "116,0,0", 1),
];

/// Calls of the same kind that must work, or the test above would prove nothing.
#[cfg(target_arch = "x86_64")]
const ALLOWED: &[(&str, &str)] = &[
    ("getpid", "39"),
    ("personality(query)", "135,4294967295"),
    ("socket(AF_INET)", "41,2,1,0"),
    ("socket(AF_UNIX)", "41,1,1,0"),
    ("socket(AF_NETLINK, NETLINK_ROUTE)", "41,16,3,0"),
];

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn calls_that_could_reach_out_are_denied_one_by_one() {
    let bench = Bench::new().await;
    let calls: Vec<&str> =
        DENIED.iter().map(|(_, call, _)| *call).chain(ALLOWED.iter().map(|(_, call)| *call)).collect();
    let perl = r#"for (@ARGV) { my ($n, @a) = map { 0 + $_ } split /,/; $! = 0;
        my $r = syscall($n, @a); print $r == -1 ? $! + 0 : 0, "\n"; }"#;
    let script = format!(
        "const perl = {}; const calls = {};
         process.stdout.write(require('node:child_process').execFileSync('perl', ['-e', perl, ...calls]))",
        serde_json::json!(perl),
        serde_json::json!(calls)
    );
    for tracer in [Tracer::Trace, Tracer::None] {
        let mut spec = spec();
        spec.tracer = tracer;
        let run = bench.run(&spec, &script).await;
        let got: Vec<i32> = stdout(&run).lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(got.len(), calls.len(), "{}", stderr(&run));
        let wrong: Vec<_> = DENIED.iter().zip(&got).filter(|((_, _, errno), got)| errno != *got).collect();
        assert!(wrong.is_empty(), "{tracer:?}: {wrong:?}");
        let refused: Vec<_> =
            ALLOWED.iter().zip(&got[DENIED.len()..]).filter(|(_, got)| **got != 0).collect();
        assert!(refused.is_empty(), "{tracer:?}: {refused:?}");
    }
}

/// A program of a few bytes: `int 0x80` speaks the 32-bit ABI, whose numbers a filter for the
/// 64-bit one would misread, and strace's own filter as well.
#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn the_32_bit_and_x32_abis_are_closed() {
    let bench = Bench::new().await;
    let script = r"
        const { spawnSync } = require('node:child_process');
        const fs = require('node:fs');
        function elf(code) {
          const b = Buffer.alloc(120 + code.length);
          b.write('\x7fELF\x02\x01\x01', 0, 'latin1');
          b.writeUInt16LE(2, 16); b.writeUInt16LE(62, 18); b.writeUInt32LE(1, 20);
          b.writeBigUInt64LE(0x400078n, 24); b.writeBigUInt64LE(64n, 32);
          b.writeUInt16LE(64, 52); b.writeUInt16LE(56, 54); b.writeUInt16LE(1, 56);
          b.writeUInt32LE(1, 64); b.writeUInt32LE(5, 68);
          b.writeBigUInt64LE(0x400000n, 80); b.writeBigUInt64LE(0x400000n, 88);
          b.writeBigUInt64LE(BigInt(b.length), 96); b.writeBigUInt64LE(BigInt(b.length), 104); b.writeBigUInt64LE(4096n, 112);
          Buffer.from(code).copy(b, 120);
          return b;
        }
        const exit0 = [0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];
        const int80 = [0xb8, 20, 0, 0, 0, 0xcd, 0x80];
        const x32 = [0xb8, 39, 0, 0, 0x40, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x79, 0x02, 0x0f, 0x0b];
        for (const [name, code] of [['plain', exit0], ['int80', [...int80, ...exit0]], ['x32', [...x32, ...exit0]]]) {
          fs.writeFileSync(name, elf(code), { mode: 0o755 });
          const { status, signal } = spawnSync('./' + name);
          console.log(name, status, signal !== null);
        }";
    let run = bench.run(&spec(), script).await;
    assert_eq!(stdout(&run), "plain 0 false\nint80 null true\nx32 null true\n", "{}", stderr(&run));
}

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
          environ: () => fs.readFileSync('/proc/1/environ'), fd1: () => fs.openSync('/proc/1/fd/0', 'r'),
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
        environ EACCES\nfd1 EACCES\nfolder EACCES\ntrace EACCES\ncontrol EACCES\nunlink EACCES\npreload EACCES\nguest EACCES\n\
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
