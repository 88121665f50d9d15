//! The first process of a terminal: holds the master of a pseudo-terminal, and the learner's shell
//! has the other end.
//!
//! Three threads beside the one that reaps: one takes what the host sends and must never wait for the
//! shell, one writes input, one reads output. When this process leaves, the kernel kills the rest.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use guest::WORK;
use guest::frames::{FromGuest, INPUT_WINDOW, OUTPUT_WINDOW, Open, SHELL, Size, ToGuest};
use rustix::fs::{Mode, chmod};
use rustix::process::{Pid, WaitOptions, ioctl_tiocsctty, setsid, wait};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::learner::Learner;
use crate::{Host, limit, take_back, unpack};

/// Output in one frame.
const CHUNK: usize = 16 * 1024;
/// Bytes of input that may wait for the shell; a host keeps to [`INPUT_WINDOW`], but for a browser that came back.
const MAX_WAITING: usize = 2 * INPUT_WINDOW as usize;
/// Where pseudo-terminals are opened.
const PTMX: &str = "/dev/pts/ptmx";
/// What the last output gets to be read once the shell has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if Output::new().and_then(|out| out.send(&FromGuest::Failed(error.to_string()))).is_err() {
                eprintln!("guest: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let mut host = BufReader::new(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let open = match Open::read(&mut host) {
        // The worker let go of a container that it had not used.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
        open => open?,
    };
    let learner = Learner(open.learner);
    learner.act_as(|| unpack(&mut host, open.files))??;
    limit(open.open_files)?;
    // Opened as the learner, to whom the pseudo-terminal then belongs.
    let (master, slave) = learner.act_as(|| pseudo_terminal(open.size))??;
    // The only one: the kernel has some thousands for all containers of a host together (`pts(4)`).
    chmod(PTMX, Mode::RUSR | Mode::WUSR)?;
    let shell = spawn(&slave, open.learner)?;
    drop(slave);

    let out = Arc::new(Output::new()?);
    let window = Arc::new(Window::default());
    let (typed, inputs) = channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let (to_shell, of_shell) = (master.try_clone()?, master.try_clone()?);
    let (answers, credit) = (Arc::clone(&out), Arc::clone(&window));
    let listener = Listener { open, typed, waiting: Arc::clone(&waiting), answers, credit };
    thread::Builder::new().spawn(move || {
        // Whoever reaps waits for a shell that nobody talks to any more.
        let _gone = listener.listen(host, &master);
        std::process::exit(0);
    })?;
    let taken = Arc::clone(&out);
    thread::Builder::new().spawn(move || write_inputs(to_shell, &inputs, &waiting, &taken))?;
    let shown = Arc::clone(&out);
    let (all_shown, last_output) = channel::<()>();
    thread::Builder::new().spawn(move || {
        read_output(of_shell, &window, &shown);
        drop(all_shown);
    })?;

    reap(shell);
    // The shell led the session: its end hangs the terminal up, and then its last output is read.
    let _late = last_output.recv_timeout(LAST_OUTPUT);
    out.send(&FromGuest::Ended)
}

fn pseudo_terminal(size: Size) -> io::Result<(File, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    resize(&master, size)?;
    Ok((File::from(master), slave))
}

fn resize(master: impl AsFd, size: Size) -> io::Result<()> {
    let Size { cols, rows } = size;
    Ok(tcsetwinsize(master, Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 })?)
}

/// This program again, as the learner: a session and its terminal are taken by a process for itself.
fn spawn(slave: &OwnedFd, learner: u32) -> io::Result<Pid> {
    let own = std::env::current_exe()?;
    let end = || slave.try_clone().map(Stdio::from);
    let shell = Command::new(own)
        .arg(SHELL)
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", WORK),
            ("USER", "learner"),
            ("LOGNAME", "learner"),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
            ("PS1", r"learner@lab:\w\$ "),
        ])
        .current_dir(WORK)
        .stdin(end()?)
        .stdout(end()?)
        .stderr(end()?)
        // Also drops the supplementary groups.
        .uid(learner)
        .gid(learner)
        .spawn()?;
    Ok(Pid::from_child(&shell))
}

/// Becomes the learner's shell on the terminal that is its standard input.
pub(crate) fn shell() -> ExitCode {
    let ready = || {
        setsid()?;
        ioctl_tiocsctty(io::stdin())
    };
    let failed = match ready() {
        Err(error) => error.into(),
        Ok(()) => {
            rustix::process::umask(Mode::from_raw_mode(0o022));
            let bash = Command::new("/bin/bash").args(["--noprofile", "--norc"]).exec();
            if bash.kind() == ErrorKind::NotFound {
                Command::new("/bin/sh").env("PS1", "$ ").exec()
            } else {
                bash
            }
        }
    };
    eprintln!("no shell: {failed}");
    ExitCode::FAILURE
}

/// Collects children until the shell is among them, or until none is left.
fn reap(shell: Pid) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, _))) if pid == shell => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_no_children) => return,
        }
    }
}

struct Listener {
    open: Open,
    typed: Sender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    answers: Arc<Output>,
    credit: Arc<Window>,
}

impl Listener {
    /// Takes what the host sends until it goes away.
    fn listen(&self, mut host: Host, master: &File) -> io::Result<()> {
        loop {
            match ToGuest::read(&mut host)? {
                ToGuest::Input(bytes) => self.input(bytes),
                ToGuest::Resize(size) => resize(master, size)?,
                ToGuest::Credit(bytes) => self.credit.give(bytes),
                ToGuest::Files => {
                    let (files, bytes) = (self.open.back_files, self.open.back_bytes);
                    let folder = Learner(self.open.learner).act_as(|| take_back::read(files, bytes))?;
                    self.answers.send(&FromGuest::Files(folder))?;
                }
            }
        }
    }

    /// A host that sends more than the window allows loses it: waiting would keep its other frames.
    fn input(&self, bytes: Vec<u8>) {
        if self.waiting.load(Ordering::Relaxed) + bytes.len() <= MAX_WAITING {
            self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
            // The other end is gone when the shell has hung up.
            let _hung_up = self.typed.send(bytes);
        }
    }
}

fn write_inputs(mut shell: File, inputs: &Receiver<Vec<u8>>, waiting: &AtomicUsize, out: &Output) {
    while let Ok(bytes) = inputs.recv() {
        waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
        // A line over 4 KiB may be dropped by the terminal itself, as everywhere (`termios(3)`).
        if shell.write_all(&bytes).is_err() {
            return;
        }
        let taken = u32::try_from(bytes.len()).unwrap_or(INPUT_WINDOW);
        if out.send(&FromGuest::Taken(taken)).is_err() {
            return;
        }
    }
}

fn read_output(mut shell: File, window: &Window, out: &Output) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let room = window.room().min(CHUNK);
        match shell.read(&mut buffer[..room]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // EIO: nobody has the other end any more.
            Ok(0) | Err(_) => return,
            Ok(count) => {
                window.use_up(count);
                if out.send(&FromGuest::Output(buffer[..count].to_vec())).is_err() {
                    return;
                }
            }
        }
    }
}

/// How much output the host has not read yet.
#[derive(Default)]
struct Window {
    unread: Mutex<usize>,
    less: Condvar,
}

impl Window {
    /// Waits until there is room, and says how much.
    fn room(&self) -> usize {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |unread: &mut usize| *unread >= OUTPUT_WINDOW as usize;
        let unread = self.less.wait_while(unread, full).unwrap_or_else(PoisonError::into_inner);
        OUTPUT_WINDOW as usize - *unread
    }

    fn use_up(&self, bytes: usize) {
        *self.unread.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
    }

    fn give(&self, bytes: u32) {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        *unread = unread.saturating_sub(bytes as usize);
        self.less.notify_all();
    }
}

/// Standard output, one whole frame at a time.
struct Output(Mutex<File>);

impl Output {
    fn new() -> io::Result<Self> {
        Ok(Self(Mutex::new(File::from(io::stdout().as_fd().try_clone_to_owned()?))))
    }

    fn send(&self, frame: &FromGuest) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame.bytes()?)
    }
}
