//! What a container is allowed: the wall around the learner's program.

use std::collections::HashMap;
use std::path::Path;

use bollard::models::{ContainerCreateBody, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig};
use guest::{FIFO_DIR, WORK};
use lab::Limits;

use crate::Error;

/// Label of an image: the version of what the image and this crate agree on.
pub(crate) const CONTRACT: &str = "todoku.contract";
/// The version that this crate speaks to.
pub(crate) const CONTRACT_VERSION: &str = "2";
/// Label of a container: the instance (process) that made it.
pub(crate) const INSTANCE: &str = "todoku.sandbox";
/// Label of a container: unix seconds after which anyone may remove it.
pub(crate) const EXPIRES: &str = "todoku.expires";

/// Label of a container that keeps a network namespace.
const HOLDER: &str = "todoku.holder";
/// Memory of such a one.
const HOLDER_BYTES: u64 = 32 << 20;

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

/// Hidden from everybody inside. The engines' own lists differ; to these is added `/dev/pts`: whoever may open terminals there takes
/// them from the whole host, which has some thousands.
const MASKED: [&str; 14] = [
    "/dev/pts",
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
    "/sys/kernel",
];

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

/// What of a run must be settled before its container is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) image: String,
    memory: u64,
    processes: u32,
    milli_cpus: u32,
    disk: u64,
}

impl Shape {
    pub(crate) fn of(image: &str, limits: &Limits) -> Self {
        Self {
            image: image.to_owned(),
            memory: limits.memory.0,
            processes: limits.processes,
            milli_cpus: limits.milli_cpus,
            disk: limits.disk.0,
        }
    }
}

/// Whose a container is.
pub(crate) struct Identity<'a> {
    pub(crate) instance: &'a str,
    pub(crate) expires_unix: u64,
    pub(crate) runtime: Option<&'a str>,
    /// See [`crate::Config::has_own_kernel`].
    pub(crate) own_kernel: bool,
}

/// What one container has for itself.
pub(crate) struct Place<'a> {
    /// Mounted where the guest looks for them.
    pub(crate) fifos: Option<&'a Path>,
    /// Uid and gid of the learner's program.
    pub(crate) learner: u32,
    /// The container whose network namespace it joins, alone.
    pub(crate) holder: &'a str,
}

/// A container that waits for a run.
pub(crate) fn body(tag: String, shape: &Shape, who: &Identity<'_>, place: &Place<'_>) -> ContainerCreateBody {
    let disk = shape.disk;
    let folder = |rest: &str| format!("rw,nosuid,nodev,size={disk},nr_inodes={INODES},{rest}");
    let owner = format!("exec,mode=0755,uid={0},gid={0}", place.learner);
    let host = HostConfig {
        cap_add: Some(CAPABILITIES.map(String::from).to_vec()),
        // The host's name and its resolver's files are those of the holder.
        network_mode: Some(format!("container:{}", place.holder)),
        tmpfs: Some(HashMap::from([
            (WORK.to_owned(), folder(&owner)),
            ("/tmp".to_owned(), folder("noexec,mode=1777")),
        ])),
        // Read-only does not keep a FIFO from being written: not on Linux.
        binds: place.fifos.map(|fifos| {
            let mode = if who.own_kernel { "rw" } else { "ro" };
            vec![format!("{}:{FIFO_DIR}:{mode}", fifos.display())]
        }),
        nano_cpus: Some(i64::from(shape.milli_cpus) * 1_000_000),
        ..walled(shape.memory, shape.processes.saturating_add(OWN_TASKS), who)
    };
    ContainerCreateBody { host_config: Some(host), ..attached(tag, who) }
}

/// A container that keeps an empty network namespace, and does nothing.
pub(crate) fn holder(tag: String, who: &Identity<'_>) -> ContainerCreateBody {
    let host = HostConfig {
        network_mode: Some("none".to_owned()),
        // It ends with its process, whose stdin it reads: then nobody else need come to remove it.
        auto_remove: Some(true),
        // Or the engine copies the host's resolver and search domains into the container.
        dns: Some(vec!["127.0.0.1".to_owned()]),
        dns_search: Some(vec![".".to_owned()]),
        ..walled(HOLDER_BYTES, OWN_TASKS, who)
    };
    let mut body = attached(tag, who);
    body.labels.get_or_insert_default().insert(HOLDER.to_owned(), String::new());
    ContainerCreateBody { hostname: Some("lab".to_owned()), host_config: Some(host), ..body }
}

/// What every container has around it.
fn walled(memory: u64, tasks: u32, who: &Identity<'_>) -> HostConfig {
    let memory = i64::try_from(memory).ok();
    HostConfig {
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(vec!["no-new-privileges".to_owned(), format!("seccomp={SECCOMP}")]),
        privileged: Some(false),
        ipc_mode: Some("private".to_owned()),
        cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
        // The guest is the reaper.
        init: Some(false),
        readonly_rootfs: Some(true),
        shm_size: Some(SHM_BYTES),
        memory,
        // The same figure for memory and swap together: no swap.
        memory_swap: memory,
        masked_paths: Some(MASKED.map(String::from).to_vec()),
        pids_limit: Some(i64::from(tasks)),
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        auto_remove: Some(false),
        runtime: who.runtime.map(String::from),
        ..HostConfig::default()
    }
}

fn attached(tag: String, who: &Identity<'_>) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(tag),
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
        ..ContainerCreateBody::default()
    }
}
