//! The first process of a sandbox's container: waits for a run, starts it, watches it end.
//!
//! It runs as root with four capabilities and is the reaper of the container. It is out of the
//! learner's reach: another uid, and the kernel drops what its own namespace signals at process 1.
//! When it leaves, the kernel kills whatever is left in the namespace (`pid_namespaces(7)`).

mod cgroup;
mod collect;
mod learner;
mod supervise;
mod take_back;
mod terminal;

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use guest::{CONTROL, Cut, Entry, Report, Seal, Start, WORK};
use learner::Learner;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Standard input as it is attached: the start, the files, later [`guest::KILL`].
type Host = BufReader<File>;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(guest::frames::TERMINAL) => terminal::main(),
        Some(guest::frames::SHELL) => terminal::shell(),
        _ => main_of_run(),
    }
}

fn main_of_run() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let told = control().and_then(|mut file| Report::Failed(error.to_string()).write(&mut file));
            if told.is_err() {
                eprintln!("guest: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Opened without waiting: where nobody reads, the worker is gone, and waiting for it would keep
/// the container for ever (`fifo(7)`).
fn control() -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(CONTROL)
}

fn run() -> io::Result<()> {
    let mut host = BufReader::new(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let start = match Start::read(&mut host) {
        // The worker let go of a container that it had not used.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
        start => start?,
    };
    let mut control = control()?;
    let learner = Learner(start.learner);
    learner.act_as(|| unpack(&mut host, start.files))??;
    limit(start.open_files)?;

    let before = cgroup::read();
    let child = spawn(&start)?;
    Report::Started.write(&mut control)?;
    let mut ended = supervise::until_end(host, child, &start)?;
    ended.counters = cgroup::between(before, cgroup::read());
    seal(&start.seal)?;
    if start.collect {
        collect(learner, &mut control)?;
    }
    Report::Ended(ended).write(&mut control)
}

/// Marks the end of both outputs. All that could write there has ended; where the host does not read
/// any more, the pipe's other end is the engine's, which reads on.
fn seal(seal: &Seal) -> io::Result<()> {
    // The learner's program had the same open files, and may have told them not to wait (`fcntl(2)`).
    wait_for_room(io::stdout())?;
    wait_for_room(io::stderr())?;
    io::stdout().write_all(seal)?;
    io::stdout().flush()?;
    io::stderr().write_all(seal)
}

fn wait_for_room(pipe: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&pipe)?;
    Ok(fcntl_setfl(&pipe, flags - OFlags::NONBLOCK)?)
}

/// What a process that was killed gets to be gone.
const GONE: Duration = Duration::from_secs(1);

/// Tells the host what lies in the work folder, which nobody may change meanwhile.
fn collect(learner: Learner, control: &mut File) -> io::Result<()> {
    // The host reads all of it: wait for it where the pipe is full. With the worker's end the pipe breaks.
    wait_for_room(&*control)?;
    let until = Instant::now() + GONE;
    while learner.any_left()? {
        if Instant::now() > until {
            return Report::LeftAll(Some(Cut::StillRunning)).write(control);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    learner.act_as(|| collect::work_folder(control))?
}

/// Lays the files into the work folder, which nobody has touched yet. Runs as the learner, so the
/// files are theirs and no path can reach what they may not write.
fn unpack(host: &mut Host, files: u32) -> io::Result<()> {
    let work = std::path::Path::new(WORK);
    for _ in 0..files {
        let entry = Entry::read(host)?;
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("file {:?}: {error}", entry.path));
        let path = work.join(&entry.path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(named)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(named)?;
        let copied = io::copy(&mut host.by_ref().take(entry.len), &mut file).map_err(named)?;
        if copied < entry.len {
            return Err(named(ErrorKind::UnexpectedEof.into()));
        }
        rustix::fs::fchmod(&file, (entry.mode & 0o777).into())?;
    }
    Ok(())
}

/// Limits that a process hands to its children: set here, kept by strace and the tracee, or the shell.
fn limit(open_files: u64) -> io::Result<()> {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let files = Some(open_files.min(most));
    setrlimit(Resource::Nofile, Rlimit { current: files, maximum: files })?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}

fn spawn(start: &Start) -> io::Result<Child> {
    let (program, args) = start.argv.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .current_dir(WORK)
        .stdin(Stdio::null());
    if start.as_learner {
        // Also drops the supplementary groups.
        command.uid(start.learner).gid(start.learner);
    }
    command.spawn().map_err(|error| io::Error::new(error.kind(), format!("cannot start {program}: {error}")))
}
