//! A learner's shell: what works in it, what it is kept from, and that nothing of it is left.

use std::collections::BTreeMap;
use std::time::Duration;

use lab::{Bytes, Limits};
use sandbox::{Error, Folder, OUTPUT_WINDOW, Size, Terminal, TerminalEvent, TerminalRequest};

use crate::support::{Bench, within};

const PROMPT: &str = "learner@lab:~$ ";

/// A terminal, and all that it has shown.
struct Screen {
    terminal: Terminal,
    shown: Vec<u8>,
    taken: u64,
}

async fn open_with(bench: &Bench, limits: &Limits, files: &[(&str, &str)]) -> Screen {
    let files: BTreeMap<_, _> =
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    let request = TerminalRequest {
        image: "node24",
        limits,
        lifetime: Duration::from_secs(60),
        files: &files,
        size: Size { cols: 80, rows: 24 },
    };
    let terminal = bench.sandbox.open_terminal(request).await.unwrap();
    Screen { terminal, shown: Vec::new(), taken: 0 }
}

async fn open(bench: &Bench, files: &[(&str, &str)]) -> Screen {
    let mut screen = open_with(bench, &Limits::default(), files).await;
    screen.wait_for(PROMPT).await;
    screen
}

impl Screen {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// Reads until `text` is shown after what was waited for before; what was shown until then.
    async fn wait_for(&mut self, text: &str) -> String {
        let found = async {
            loop {
                let shown = self.text();
                if let Some(at) = shown.find(text) {
                    let (before, rest) = shown.split_at(at + text.len());
                    self.shown = rest.as_bytes().to_vec();
                    return before.to_owned();
                }
                self.step().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), found).await;
        waited.unwrap_or_else(|_| panic!("{text:?} was not shown"))
    }

    async fn step(&mut self) -> Result<TerminalEvent, Error> {
        let event = self.terminal.next().await?;
        match &event {
            TerminalEvent::Output(bytes) => {
                self.shown.extend_from_slice(bytes);
                self.terminal.credit(bytes.len().try_into().unwrap()).await?;
            }
            TerminalEvent::Taken(bytes) => self.taken += u64::from(*bytes),
            TerminalEvent::Files(_) | TerminalEvent::Ended => {}
        }
        Ok(event)
    }

    async fn typed(&mut self, text: &str) {
        self.terminal.input(text.as_bytes().to_vec()).await.unwrap();
    }

    /// Types a command; what it shows until the next prompt.
    async fn run(&mut self, command: &str) -> String {
        self.typed(&format!("{command}\r")).await;
        self.wait_for("\n").await;
        let shown = self.wait_for(PROMPT).await;
        shown
            .trim_end_matches(PROMPT)
            .replace("\r\n", "\n")
            .replace("\u{1b}[?2004l\r", "")
            .replace("\u{1b}[?2004h", "")
    }

    async fn files(&mut self) -> Folder {
        self.terminal.ask_files().await.unwrap();
        within(20, async {
            loop {
                if let TerminalEvent::Files(folder) = self.step().await.unwrap() {
                    return folder;
                }
            }
        })
        .await
    }
}

#[tokio::test]
async fn a_learner_traces_a_script_by_hand() {
    let bench = Bench::new().await;
    let script = "require('node:fs').readFileSync('/etc/hostname'); console.log('読んだ')";
    let mut screen = open(&bench, &[("read.js", script)]).await;
    assert_eq!(screen.run("node read.js").await, "読んだ\n");
    let trace = screen.run("strace -f -e trace=openat node read.js 2>&1 | grep -c etc/hostname").await;
    assert_eq!(trace, "1\n", "strace sees what node opens");
    let trace =
        screen.run("strace -f --seccomp-bpf -e trace=openat -o t node read.js; grep -c etc/hostname t").await;
    assert_eq!(trace, "読んだ\n1\n");
    assert_eq!(
        screen.run("tty; id -un; umask; pwd; echo $TERM $LANG").await,
        "/dev/pts/0\nlearner\n0022\n/lab\nxterm-256color C.UTF-8\n"
    );
    // Job control: a program that runs for ever is stopped by the terminal's own key.
    // It says that it runs: a key that comes before the shell has given it the terminal is the shell's.
    screen.typed("node -e 'console.log(`run${`ning`}`); for (;;);'\r").await;
    screen.wait_for("running\r\n").await;
    screen.typed("\u{3}").await;
    screen.wait_for(PROMPT).await;
    assert_eq!(screen.run("echo $?").await, "130\n");
    drop(screen);
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn a_terminal_has_the_size_it_is_told_and_takes_long_pastes_in_utf_8() {
    let bench = Bench::new().await;
    let mut screen = open(&bench, &[]).await;
    assert_eq!(screen.run("stty size").await, "24 80\n");
    screen.terminal.resize(Size { cols: 200, rows: 40 }).await.unwrap();
    assert_eq!(screen.run("stty size").await, "40 200\n");

    // 48 kB in lines, cut in the middle of characters, into a program that reads slowly at first.
    screen.run("stty -echo").await;
    screen.typed("sleep 0.3; wc -cm; echo done\r").await;
    let text = "貼り付け\n".repeat(48_000 / 13);
    for chunk in text.as_bytes().chunks(1000) {
        screen.terminal.input(chunk.to_vec()).await.unwrap();
    }
    screen.typed("\u{4}").await;
    let counted = screen.wait_for("done\r\n").await;
    let expected = format!("{} {}", text.chars().count(), text.len());
    assert_eq!(
        counted
            .split_whitespace()
            .skip_while(|word| word.parse::<u64>().is_err())
            .take(2)
            .collect::<Vec<_>>()
            .join(" "),
        expected,
        "{counted:?}"
    );
    drop(screen);
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn a_flood_waits_for_its_reader_and_is_ended_by_a_key() {
    let bench = Bench::new().await;
    let mut screen = open(&bench, &[]).await;
    screen.typed("yes >/dev/tty\r").await;
    let mut unread = 0;
    let flood = async {
        while unread < OUTPUT_WINDOW {
            if let TerminalEvent::Output(bytes) = screen.terminal.next().await.unwrap() {
                unread += u32::try_from(bytes.len()).unwrap();
            }
        }
    };
    within(30, flood).await;
    // Nothing more comes while nobody says that it was read, and other frames still do.
    assert_eq!(unread, OUTPUT_WINDOW);
    screen.terminal.ask_files().await.unwrap();
    let next = within(20, screen.terminal.next()).await.unwrap();
    assert!(matches!(next, TerminalEvent::Files(_) | TerminalEvent::Taken(_)), "{next:?}");
    screen.typed("\u{3}").await;
    screen.terminal.credit(unread).await.unwrap();
    screen.wait_for("^C").await;
    screen.wait_for(PROMPT).await;
    assert_eq!(screen.run("echo on").await, "on\n");
}

#[tokio::test]
async fn files_come_back_and_nothing_but_files() {
    let bench = Bench::new().await;
    let mut screen = open(&bench, &[("read.js", "old"), ("lib/a.js", "a")]).await;
    screen
        .run("echo new > read.js; ln -s /etc/passwd link; mkfifo pipe; ln -s /etc folder; ln -s /proc/self/fd fds; \
              truncate -s 60M big; echo hidden > .hidden; printf '\\xff' > bytes; mkdir none; chmod 0 none; \
              : > $'\\xff'; touch locked; chmod 0 locked; ln read.js hard")
        .await;
    let folder = screen.files().await;
    let seen: Vec<_> = folder.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    assert_eq!(
        seen,
        [("bytes", b"\xff".as_slice()), ("hard", b"new\n"), ("lib/a.js", b"a"), ("read.js", b"new\n")]
    );
    assert_eq!(folder.left_out, 8, "link, pipe, folder, fds, big, none, locked, and a name that is no text");

    screen.run("rm -rf none locked ?[!i]*; for n in $(seq 300); do echo $n > $n.js; done").await;
    let many = screen.files().await;
    assert_eq!(many.files.len(), 100, "as many as a submission may have");
    assert!(many.left_out >= 200, "{}", many.left_out);
    drop(screen);
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn the_first_process_and_the_world_are_out_of_reach() {
    let bench = Bench::new().await;
    let mut screen = open(&bench, &[]).await;
    let reach = "kill -9 1; strace -p 1; ls /proc/1/fd; echo x > /etc/x; cat /proc/1/environ; mknod z b 8 0; ls /run/todoku; \
                 unshare -U true; echo end";
    let said = screen.run(reach).await;
    for refused in [
        "(1) - Operation not permitted",
        "ptrace(PTRACE_SEIZE, 1): Operation not permitted",
        "'/proc/1/fd': Permission denied",
        "/etc/x: Read-only file system",
        "/proc/1/environ: Permission denied",
        "mknod: z: Operation not permitted",
        "unshare failed: Operation not permitted",
    ] {
        assert!(said.contains(refused), "{refused:?} in {said}");
    }
    assert_eq!(
        screen.run("grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\\t'").await,
        "CapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:00000000000000c0\nNoNewPrivs:1\nSeccomp:2\n"
    );
    let ptmx = "for at in /dev/ptmx /dev/pts/ptmx; do (: <>$at) 2>&1 | grep -o 'Permission denied'; done; chmod 666 /dev/pts/ptmx";
    let more = screen.run(ptmx).await;
    assert!(more.starts_with("Permission denied\nPermission denied\n"), "the host has few of them: {more}");
    assert!(more.contains("Operation not permitted"), "{more}");
    assert_eq!(screen.run("tail -n +3 /proc/net/dev | cut -d: -f1 | xargs").await, "lo\n");
    drop(screen);
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn limits_strike_the_program_and_not_the_terminal() {
    let bench = Bench::new().await;
    let limits = Limits { memory: Bytes::mib(160), disk: Bytes::mib(4), open_files: 64, ..Limits::default() };
    let mut screen = open_with(&bench, &limits, &[]).await;
    screen.wait_for(PROMPT).await;
    let bomb = "node -e 'for (const a = [];;) a.push(Buffer.alloc(1 << 24, 1))'; echo $?";
    assert!(screen.run(bomb).await.contains("137"), "the kernel ends what takes the memory");
    let full =
        screen.run("head -c 5M /dev/zero > big; head -c 5M /dev/zero > /tmp/big; rm big /tmp/big").await;
    assert_eq!(full.matches("No space left on device").count(), 2, "{full}");
    assert_eq!(screen.run("ulimit -n; ulimit -Hn; ulimit -c").await, "64\n64\n0\n");
    assert_eq!(
        screen.run("cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null").await,
        "132\n"
    );
    drop(screen);
    bench.assert_nothing_left().await;
}

#[tokio::test]
async fn a_fork_bomb_and_an_exit_end_with_everything_gone() {
    let bench = Bench::new().await;
    let limits = Limits { processes: 40, ..Limits::default() };
    let mut bombed = open_with(&bench, &limits, &[]).await;
    bombed.wait_for(PROMPT).await;
    bombed.typed("f() { f | f & }; f\r").await;
    bombed.wait_for("Resource temporarily unavailable").await;
    // Under the bomb the files still come back, and letting go of the terminal ends it.
    assert_eq!(bombed.files().await, Folder::default());
    drop(bombed);
    bench.assert_nothing_left().await;

    let mut screen = open(&bench, &[]).await;
    screen.run("(setsid sleep 60 &)").await;
    screen.typed("echo last; exit\r").await;
    screen.wait_for("exit\r\n").await;
    screen.wait_for("last").await;
    let end = async { while screen.step().await.unwrap() != TerminalEvent::Ended {} };
    within(20, end).await;
    drop(screen);
    bench.assert_nothing_left().await;
}
