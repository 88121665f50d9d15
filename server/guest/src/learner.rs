//! Acting with the learner's rights, for a moment, in this thread.

use std::io;

use rustix::io::Errno;
use rustix::process::{Gid, Pid, Signal, Uid, kill_process_group, test_kill_process_group};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

/// The user that the learner's program runs as: uid and gid.
#[derive(Clone, Copy)]
pub(crate) struct Learner(pub(crate) u32);

impl Learner {
    /// Runs `f` as the learner. The saved ids stay root's: they bring this thread back, and they keep
    /// the learner from tracing it meanwhile (`ptrace(2)` compares all three).
    pub(crate) fn act_as<T>(self, f: impl FnOnce() -> T) -> io::Result<T> {
        let (uid, gid) = (Uid::from_raw(self.0), Gid::from_raw(self.0));
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
    pub(crate) fn kill_all(self) -> io::Result<()> {
        // The "group" of process 1 is how rustix spells kill(-1).
        match self.act_as(|| kill_process_group(Pid::INIT, Signal::KILL))? {
            // Nobody left, or nobody but root's.
            Ok(()) | Err(Errno::SRCH | Errno::PERM) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether any process of the learner is left.
    pub(crate) fn any_left(self) -> io::Result<bool> {
        Ok(self.act_as(|| test_kill_process_group(Pid::INIT))?.is_ok())
    }
}
