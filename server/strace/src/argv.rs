//! The command line given to strace, the other half of what its parser reads.

/// Calls that are traced: files, file descriptors, network, polls, processes and sleeps.
///
/// Left out on purpose: `futex` (a fetch's trace would be four times longer), memory and signal
/// calls, and `kill`: with it (or a class that holds it) strace 6.13 dies at its start under
/// `--seccomp-bpf`. `?` marks what not every architecture has.
const CALLS: &str = "\
    execve,execveat,clone,?clone3,?fork,?vfork,exit,exit_group,wait4,waitid,prctl,unshare,setns,pidfd_open,\
    ?open,openat,openat2,?creat,close,close_range,read,write,pread64,pwrite64,readv,writev,preadv,pwritev,\
    preadv2,pwritev2,lseek,sendfile,copy_file_range,splice,tee,vmsplice,ftruncate,truncate,fallocate,\
    fsync,fdatasync,sync_file_range,syncfs,flock,fcntl,ioctl,dup,?dup2,dup3,?pipe,pipe2,?eventfd,eventfd2,\
    memfd_create,timerfd_create,timerfd_settime,?signalfd,signalfd4,?inotify_init,inotify_init1,\
    inotify_add_watch,inotify_rm_watch,?access,faccessat,faccessat2,?stat,?lstat,fstat,?newfstatat,statx,\
    statfs,fstatfs,?getdents,getdents64,?readlink,readlinkat,?rename,?renameat,renameat2,?unlink,unlinkat,\
    ?link,linkat,?symlink,symlinkat,?mkdir,mkdirat,?rmdir,?mknod,mknodat,?chmod,fchmod,fchmodat,?fchmodat2,\
    ?chown,fchown,?lchown,fchownat,?utime,?utimes,?futimesat,utimensat,getcwd,chdir,fchdir,chroot,\
    ?getxattr,?setxattr,?listxattr,mount,umount2,\
    ?epoll_create,epoll_create1,epoll_ctl,?epoll_wait,epoll_pwait,?epoll_pwait2,?poll,ppoll,?select,pselect6,\
    io_uring_setup,io_uring_enter,io_uring_register,\
    socket,socketpair,bind,listen,accept,accept4,connect,getsockname,getpeername,sendto,recvfrom,sendmsg,\
    recvmsg,sendmmsg,recvmmsg,setsockopt,getsockopt,shutdown,\
    nanosleep,clock_nanosleep,?pause";

/// `strace` and its arguments, for `tracee` run as `learner` with exactly the environment `env`.
/// `inherited` names what strace's own environment holds, to keep it from the tracee. `filter` has the
/// kernel stop the tracee at the traced calls alone, which is much faster; not every kernel can.
///
/// `status=!detached` hides nothing a tracee can do; it makes strace stage its output, so that a
/// call is one whole line instead of two halves.
#[must_use]
pub fn argv(
    filter: bool,
    fifo: &str,
    learner: &str,
    inherited: &[&str],
    env: &[(String, String)],
    tracee: &[String],
) -> Vec<String> {
    let flags = [
        "strace",
        "-u",
        learner,
        "-f",
        "--kill-on-exit",
        "--absolute-timestamps=unix,ns",
        "--syscall-times=ns",
        "-yy",
        "-s",
        "64",
        "-a1",
        "-q",
        "-e",
        "status=!detached",
        "-e",
    ];
    let mut argv: Vec<String> = flags.map(String::from).to_vec();
    argv.push(format!("trace={CALLS}"));
    if filter {
        argv.push("--seccomp-bpf".to_owned());
    }
    argv.extend(["-o".to_owned(), fifo.to_owned()]);
    for name in inherited {
        argv.extend(["-E".to_owned(), (*name).to_owned()]);
    }
    for (name, value) in env {
        argv.extend(["-E".to_owned(), format!("{name}={value}")]);
    }
    argv.push("--".to_owned());
    argv.extend(tracee.iter().cloned());
    argv
}
