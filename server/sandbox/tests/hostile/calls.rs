//! The seccomp profile, call by call, from inside.

use lab::Tracer;

use crate::support::{Bench, spec, stderr, stdout};

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
    ("socket(AF_BLUETOOTH)", "41,31,3,0", 1),
    ("socket(AF_XDP)", "41,44,3,0", 1),
    ("socket(AF_CAN)", "41,29,3,1", 1),
    ("socket(AF_TIPC)", "41,30,5,0", 1),
    ("socket(AF_KEY)", "41,15,3,2", 1),
    ("socket(AF_INET, SOCK_RAW)", "41,2,3,1", 1),
    ("socket(AF_INET, SOCK_RAW, usual protocol)", "41,2,3,0", 93),
    ("socket(AF_INET, SOCK_DGRAM, ICMP)", "41,2,2,1", 1),
    ("socket(AF_INET, SOCK_STREAM, SCTP)", "41,2,1,132", 1),
    ("socket(AF_INET, SOCK_STREAM, MPTCP)", "41,2,1,262", 1),
    ("socket(AF_INET6, SOCK_RAW, ICMPv6)", "41,10,3,58", 1),
    ("socket(AF_INET, high bits)", "41,4294967298,1,0", 1),
    ("socketpair(AF_TIPC)", "53,30,5,0,0", 1),
    ("socket(AF_NETLINK, NETLINK_NETFILTER)", "41,16,3,12", 1),
    ("setuid(0)", "105,0", 1),
    ("setresuid(0, 0, 0)", "117,0,0,0", 1),
    ("setgroups", "116,0,0", 1),
    ("clone(CLONE_NEWNS|SIGCHLD)", "56,131089,0,0,0,0", 1),
    ("clone(CLONE_NEWPID|SIGCHLD)", "56,536870929,0,0,0,0", 1),
    ("clone(CLONE_NEWNET|SIGCHLD)", "56,1073741841,0,0,0,0", 1),
    ("unshare(CLONE_NEWNS)", "272,131072", 1),
    ("unshare(CLONE_FS)", "272,512", 1),
    ("name_to_handle_at", "303,0,0,0,0,0", 1),
    ("fsmount", "432,0,0,0", 1),
    ("fspick", "433,0,0,0", 1),
    ("mount_setattr", "442,0,0,0,0,0", 1),
    ("process_madvise", "440,0,0,0,0,0", 1),
    ("swapon", "167,0,0", 1),
    ("reboot", "169,0,0,0,0", 1),
    ("acct", "163,0", 1),
    ("settimeofday", "164,0,0", 1),
    ("clock_settime", "227,0,0", 1),
    ("adjtimex", "159,0", 1),
    ("setdomainname", "171,0,0", 1),
    ("vhangup", "153", 1),
    ("iopl", "172,3", 1),
    ("ioperm", "173,0,1,1", 1),
    ("delete_module", "176,0,0", 1),
    ("finit_module", "313,0,0,0", 1),
    ("kexec_file_load", "320,0,0,0,0,0", 1),
    ("quotactl", "179,0,0,0,0", 1),
    ("lookup_dcookie", "212,0,0,0", 1),
    ("fanotify_init", "300,0,0", 1),
    ("landlock_create_ruleset", "444,0,0,0", 1),
    ("modify_ldt", "154,0,0,0", 1),
    ("remap_file_pages", "216,0,0,0,0,0", 1),
    ("memfd_secret", "447,0", 1),
    ("vmsplice", "278,0,0,0,0", 1),
    ("io_setup", "206,1,0", 1),
    ("mbind", "237,0,0,0,0,0,0", 1),
    ("set_mempolicy", "238,0,0,0", 1),
    ("migrate_pages", "256,0,0,0,0", 1),
    ("move_pages", "279,0,0,0,0,0,0", 1),
    ("semget", "64,0,1,512", 1),
    ("msgget", "68,0,512", 1),
    ("prctl(PR_SET_MM)", "157,35,1,0,0,0", 1),
    ("prctl(PR_CAPBSET_DROP)", "157,24,0,0,0,0", 1),
    ("sched_setscheduler(SCHED_FIFO)", "144,0,1,0", 22),
    ("setpriority(-20)", "141,0,0,-20", 13),
];

/// Calls of the same kind that must work, or the test above would prove nothing.
#[cfg(target_arch = "x86_64")]
const ALLOWED: &[(&str, &str)] = &[
    ("getpid", "39"),
    ("personality(query)", "135,4294967295"),
    ("socket(AF_INET)", "41,2,1,0"),
    ("socket(AF_INET, TCP)", "41,2,1,6"),
    ("socket(AF_INET6, UDP)", "41,10,2,17"),
    // Answered, and not made.
    ("sync", "162"),
    ("syncfs(no descriptor)", "306,-1"),
    ("socket(AF_UNIX)", "41,1,1,0"),
    ("socket(AF_NETLINK, NETLINK_ROUTE)", "41,16,3,0"),
];

/// Denied to a traced program alone: it has a tracer already.
#[cfg(target_arch = "x86_64")]
const DENIED_WHEN_TRACED: &[(&str, &str, i32)] = &[
    ("ptrace(PTRACE_TRACEME)", "101,0,0,0,0", 1),
    ("ptrace(PTRACE_SEIZE, parent)", "101,16902,PARENT,0,0", 1),
];

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn calls_that_could_reach_out_are_denied_one_by_one() {
    let bench = Bench::new().await;
    let perl = r#"for (@ARGV) { my ($n, @a) = map { $_ eq 'PARENT' ? getppid : 0 + $_ } split /,/; $! = 0;
        my $r = syscall($n, @a); print $r == -1 ? $! + 0 : 0, "\n"; }"#;
    for (tracer, traced) in [(Tracer::Trace, DENIED_WHEN_TRACED), (Tracer::None, &[][..])] {
        let allowed = ALLOWED.iter().map(|(name, call)| (*name, *call, 0));
        let expected: Vec<(&str, &str, i32)> = DENIED.iter().chain(traced).copied().chain(allowed).collect();
        let calls: Vec<&str> = expected.iter().map(|(_, call, _)| *call).collect();
        let script = format!(
            "const perl = {}; const calls = {};
             process.stdout.write(require('node:child_process').execFileSync('perl', ['-e', perl, ...calls]))",
            serde_json::json!(perl),
            serde_json::json!(calls)
        );
        let mut spec = spec();
        spec.tracer = tracer;
        let run = bench.run(&spec, &script).await;
        let got: Vec<i32> = stdout(&run).lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(got.len(), calls.len(), "{}", stderr(&run));
        let wrong: Vec<_> = expected.iter().zip(&got).filter(|((_, _, errno), got)| errno != *got).collect();
        assert!(wrong.is_empty(), "{tracer:?}, expected and got: {wrong:?}");
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
