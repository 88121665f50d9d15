//! Acting with the learner's rights, for a moment, in this thread.

use std::io;

use guest::LEARNER_ID;
use rustix::io::Errno;
use rustix::process::{Gid, Pid, Signal, Uid, kill_process_group, test_kill_process_group};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

/// Runs `f` as the learner. The saved ids stay root's: they bring this thread back, and they keep
/// the learner from tracing it meanwhile (`ptrace(2)` compares all three).
pub(crate) fn act_as<T>(f: impl FnOnce() -> T) -> io::Result<T> {
    let (uid, gid) = (Uid::from_raw(LEARNER_ID), Gid::from_raw(LEARNER_ID));
    set_thread_res_gid(gid, gid, Gid::ROOT)?;
    set_thread_res_uid(uid, uid, Uid::ROOT)?;
    let value = f();
    set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)?;
    set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT)?;
    Ok(value)
}

/// Kills every process of the learner at once, and nothing else: `kill(-1)` reaches what the
/// caller may signal, which with the learner's uid is neither strace nor this process. The kernel
/// does it in one step, so a fork bomb cannot outrun it, and it needs no fork of ours.
pub(crate) fn kill_all() -> io::Result<()> {
    // The "group" of process 1 is how rustix spells kill(-1).
    match act_as(|| kill_process_group(Pid::INIT, Signal::KILL))? {
        // Nobody left, or nobody but root's.
        Ok(()) | Err(Errno::SRCH | Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether any process of the learner is left.
pub(crate) fn any_left() -> io::Result<bool> {
    Ok(act_as(|| test_kill_process_group(Pid::INIT))?.is_ok())
}
