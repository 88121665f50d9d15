//! Watching a run until it ends, or ending it.

use std::io::{self, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use guest::{Counters, Ended, Ending, KILL, Start};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

use crate::Host;
use crate::learner::Learner;

/// What strace gets to write its last lines after its tracees were killed. Past it strace is
/// killed too, and the trace has no end: incomplete, as it must be.
const LAST_LINES: Duration = Duration::from_secs(2);

enum Event {
    /// A child of ours ended: the program, or an orphan that fell to us.
    Reaped(Pid, WaitStatus),
    /// The host asked for the end, or went away.
    Told,
}

/// Waits for the program's end and brings it about when the wall time has passed or the host asks.
pub(crate) fn until_end(host: Host, program: Child, start: &Start) -> io::Result<Ended> {
    let started = Instant::now();
    let learner = Learner(start.learner);
    let program = Pid::from_child(&program);
    let (sender, events) = channel();
    let told = sender.clone();
    thread::Builder::new().spawn(move || listen(host, &told))?;
    thread::Builder::new().spawn(move || reap(&sender))?;

    let mut ending = Ending::Itself;
    let mut deadline = started + start.wall;
    let status = loop {
        match next(&events, deadline)? {
            Some(Event::Reaped(pid, status)) if pid == program => break status,
            Some(Event::Reaped(..)) => continue,
            Some(Event::Told) if ending != Ending::Itself => continue,
            Some(Event::Told) => ending = Ending::Told,
            None if ending == Ending::Itself => ending = Ending::Wall,
            None => {
                // Already killed the learner's: what does not end is strace itself.
                let _gone_meanwhile = kill_process(program, Signal::KILL);
                deadline += LAST_LINES;
                continue;
            }
        }
        // The tracees before the tracer: strace then writes the calls they were in.
        learner.kill_all()?;
        deadline = Instant::now() + LAST_LINES;
    };
    let wall = started.elapsed();
    end_survivors(learner, &events, start.grace)?;
    Ok(Ended {
        ending,
        exit_code: status.exit_status(),
        signal: status.terminating_signal(),
        wall,
        counters: Counters::default(),
    })
}

/// Processes that the program left behind get `grace`, then are killed. Under strace there are
/// none: it waits for them, and it is the host that reads the main tracee's end from the trace.
fn end_survivors(learner: Learner, events: &Receiver<Event>, grace: Duration) -> io::Result<()> {
    let until = Instant::now() + grace;
    while learner.any_left()? {
        if next(events, until)?.is_none() {
            return learner.kill_all();
        }
    }
    Ok(())
}

/// The next event, or `None` at the deadline.
fn next(events: &Receiver<Event>, deadline: Instant) -> io::Result<Option<Event>> {
    match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(event) => Ok(Some(event)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("both watchers ended")),
    }
}

fn listen(mut host: Host, events: &Sender<Event>) {
    let mut byte = [0];
    loop {
        match host.read(&mut byte) {
            Ok(1) if byte[0] != KILL => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            _ => break,
        }
    }
    // The receiver is gone when the run is over.
    let _over = events.send(Event::Told);
}

/// Collects every child until there is none.
fn reap(events: &Sender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                if events.send(Event::Reaped(pid, status)).is_err() {
                    return;
                }
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_no_children) => return,
        }
    }
}
