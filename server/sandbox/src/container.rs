//! What a container is allowed: the wall around the learner's program.

use std::collections::HashMap;
use std::path::Path;

use bollard::models::{ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig};
use guest::{FIFO_DIR, LEARNER_ID, WORK};
use lab::Limits;

use crate::Error;

/// Label of an image: the version of what the image and this crate agree on.
pub(crate) const CONTRACT: &str = "todoku.contract";
/// The version that this crate speaks to.
pub(crate) const CONTRACT_VERSION: &str = "1";
/// Label of a container: the instance (process) that made it.
pub(crate) const INSTANCE: &str = "todoku.sandbox";
/// Label of a container: unix seconds after which anyone may remove it.
pub(crate) const EXPIRES: &str = "todoku.expires";

/// The calls that the kernel lets through; line by line in `docs/security.md`.
const SECCOMP: &str = include_str!("seccomp.json");

/// Tracing across users needs the first three; without the last, strace finds no path of an fd.
/// The tracee has none of them.
const CAPABILITIES: [&str; 4] = ["SYS_PTRACE", "SETUID", "SETGID", "DAC_READ_SEARCH"];

/// Tasks that are not the learner's: guest's three threads, and strace.
const OWN_TASKS: u32 = 4;
/// Files and folders in each writable place. Each costs about 1 kB of the kernel's memory.
const INODES: u32 = 65_536;
/// Of `/dev/shm`, the third writable place, which nothing here needs.
const SHM_BYTES: i64 = 1 << 20;

/// The tag of the image in `lab-images/NAME`.
pub(crate) fn image_tag(name: &str) -> Result<String, Error> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(Error::Refused(format!(
            "image {name:?}: a name has lower-case letters, digits and '-' only"
        )));
    }
    Ok(format!("todoku/{name}:local"))
}

/// What tells one container from another.
pub(crate) struct Identity<'a> {
    pub(crate) instance: &'a str,
    pub(crate) expires_unix: u64,
    pub(crate) fifos: &'a Path,
    pub(crate) runtime: Option<&'a str>,
    /// See [`crate::Config::has_own_kernel`].
    pub(crate) own_kernel: bool,
}

pub(crate) fn body(tag: String, limits: &Limits, who: &Identity<'_>) -> ContainerCreateBody {
    let memory = i64::try_from(limits.memory.0).ok();
    let disk = limits.disk.0;
    let place = |rest: &str| format!("rw,nosuid,nodev,size={disk},nr_inodes={INODES},{rest}");
    let owner = format!("exec,mode=0755,uid={LEARNER_ID},gid={LEARNER_ID}");
    let host = HostConfig {
        cap_drop: Some(vec!["ALL".to_owned()]),
        cap_add: Some(CAPABILITIES.map(String::from).to_vec()),
        security_opt: Some(vec!["no-new-privileges".to_owned(), format!("seccomp={SECCOMP}")]),
        privileged: Some(false),
        network_mode: Some("none".to_owned()),
        // Or the engine copies the host's resolver and search domains into the container.
        dns: Some(vec!["127.0.0.1".to_owned()]),
        dns_search: Some(vec![".".to_owned()]),
        ipc_mode: Some("private".to_owned()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        // The guest is the reaper.
        init: Some(false),
        readonly_rootfs: Some(true),
        tmpfs: Some(HashMap::from([
            (WORK.to_owned(), place(&owner)),
            ("/tmp".to_owned(), place("noexec,mode=1777")),
        ])),
        // Read-only does not keep a FIFO from being written: not on Linux.
        binds: Some(vec![format!(
            "{}:{FIFO_DIR}:{}",
            who.fifos.display(),
            if who.own_kernel { "rw" } else { "ro" }
        )]),
        shm_size: Some(SHM_BYTES),
        memory,
        // The same figure for memory and swap together: no swap.
        memory_swap: memory,
        pids_limit: Some(i64::from(limits.processes.saturating_add(OWN_TASKS))),
        nano_cpus: Some(i64::from(limits.milli_cpus) * 1_000_000),
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        auto_remove: Some(false),
        runtime: who.runtime.map(String::from),
        ..HostConfig::default()
    };
    ContainerCreateBody {
        image: Some(tag),
        hostname: Some("lab".to_owned()),
        labels: Some(HashMap::from([
            (INSTANCE.to_owned(), who.instance.to_owned()),
            (EXPIRES.to_owned(), who.expires_unix.to_string()),
        ])),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        open_stdin: Some(true),
        // stdin closes with our connection, and the guest ends the run: no run outlives its worker.
        stdin_once: Some(true),
        tty: Some(false),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    }
}
