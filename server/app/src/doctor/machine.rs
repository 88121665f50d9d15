//! This machine and its engine.

use sandbox::{Facts, Sandbox};

use super::{Row, State};

/// What one attempt may use at most, unless its lab says otherwise.
const ATTEMPT_MIB: u64 = 512;
/// The oldest API that knows all we ask for: Docker 20.10.
const OLDEST_API: (u32, u32) = (1, 41);
/// Free disk that the operator should hear about.
const LOW_DISK_MIB: u64 = 1024;

const START_ENGINE: &str =
    "start it (systemctl start docker), or set DOCKER_HOST to its socket, unix:///path";

/// What needs no engine.
pub(super) fn own(workers: usize) -> [Row; 2] {
    let uid = rustix::process::geteuid();
    let user = if uid.is_root() {
        Row::ok("user", "root")
    } else {
        Row::failed("user", format!("uid {}", uid.as_raw()), "run it as root: FIFOs must be root's alone")
    };
    [user, memory(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default(), workers)]
}

/// `meminfo` is the text of
/// [`/proc/meminfo`](https://man7.org/linux/man-pages/man5/proc_meminfo.5.html).
fn memory(meminfo: &str, workers: usize) -> Row {
    let available = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let Some(mib) = available.map(|kib| kib >> 10) else {
        return Row::warning("memory", "/proc/meminfo does not say what is free", "mount /proc");
    };
    let wanted = ATTEMPT_MIB * workers.max(1) as u64;
    let detail = format!("{mib} MiB available, {workers} attempts at one time may use {wanted} MiB");
    if mib < wanted {
        return Row::warning("memory", detail, "lower TODOKU_WORKERS, or give the machine more memory");
    }
    Row::ok("memory", detail)
}

const OF_ENGINE: [&str; 5] = ["engine", "runtime", "disk", "image", "fifos"];
pub(super) const OF_SELFTEST: [&str; 4] = ["selftest", "ptrace", "seccomp", "cgroups"];

/// What is said when there is no sandbox.
pub(super) fn unreached(error: &sandbox::Error) -> Vec<Row> {
    let (bad, row) = match error {
        sandbox::Error::Folder { .. } => {
            let fix = "set TODOKU_FIFO_DIR to a folder that can be made and written";
            ("fifos", Row::failed("fifos", error.to_string(), fix))
        }
        sandbox::Error::Refused(why) => ("engine", Row::failed_by("engine", why)),
        other => ("engine", Row::failed("engine", other.to_string(), START_ENGINE)),
    };
    let mut row = Some(row);
    let all = OF_ENGINE.into_iter().chain(OF_SELFTEST);
    all.map(|name| if name == bad { row.take() } else { None }.unwrap_or_else(|| Row::skipped(name)))
        .collect()
}

pub(super) async fn engine(sandbox: &Sandbox, config: &sandbox::Config) -> Vec<Row> {
    let facts = match sandbox.facts().await {
        Ok(facts) => facts,
        Err(error) => {
            let mut rows = vec![Row::failed("engine", error.to_string(), START_ENGINE)];
            rows.extend(OF_ENGINE.into_iter().skip(1).map(Row::skipped));
            return rows;
        }
    };
    let mut rows = vec![kind(&facts), runtime(&facts, config.runtime.as_deref()), disk(&facts)];
    rows.push(image(sandbox, config).await);
    let startable = rows.iter().all(|row| row.state != State::Failed);
    rows.push(match config.images.first() {
        Some(name) if startable => fifos(sandbox, name).await,
        _ => Row::skipped("fifos"),
    });
    rows
}

fn kind(facts: &Facts) -> Row {
    let Facts { version, api, system, cgroup_version, cgroup_driver, .. } = facts;
    let detail = format!(
        "version {version}, API {api}, {system}, control groups version {cgroup_version} by {cgroup_driver}"
    );
    if numbers(api) < OLDEST_API {
        return Row::failed("engine", detail, "use Docker 20.10 or newer");
    }
    if facts.remapped {
        let fix = "use an engine without userns-remap: its root may not open the FIFOs";
        return Row::failed("engine", format!("{detail}; it maps users"), fix);
    }
    if !facts.seccomp {
        let fix = "use a kernel and an engine with seccomp: without it a script can do what is not traced";
        return Row::failed("engine", format!("{detail}; it cannot filter system calls"), fix);
    }
    if !facts.lacking.is_empty() {
        let lacking = facts.lacking.join(", ");
        let fix = "give the engine those controllers of control groups (kernel parameters cgroup_enable=memory \
                   swapaccount=1; where it is rootless, delegate them by systemd)";
        return Row::warning("engine", format!("{detail}; it cannot limit: {lacking}"), fix);
    }
    if facts.rootless {
        let fix = "prefer an engine that runs as root: this way was not tried";
        return Row::warning("engine", format!("{detail}; it is rootless"), fix);
    }
    Row::ok("engine", detail)
}

/// `1.41` as numbers: as text, 1.9 would come after it.
fn numbers(version: &str) -> (u32, u32) {
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

fn runtime(facts: &Facts, wanted: Option<&str>) -> Row {
    match wanted.and_then(|wanted| facts.runtime_fault(wanted)) {
        Some(fault) => Row::failed_by("runtime", &fault),
        None => Row::ok("runtime", wanted.unwrap_or(&facts.default_runtime)),
    }
}

fn disk(facts: &Facts) -> Row {
    if let Some(fault) = facts.disk_fault() {
        return Row::failed_by("disk", &fault);
    }
    let folder = facts.data_root.display();
    match facts.free_disk().map(|free| free >> 20) {
        // Where we are in a container ourselves: nothing to do about it.
        None => Row::ok("disk", format!("the engine's folder {folder} is not seen from here")),
        Some(free) if free < LOW_DISK_MIB => {
            let fix = "free some, as by docker system prune";
            Row::warning("disk", format!("{free} MiB free in {folder}"), fix)
        }
        Some(free) => Row::ok("disk", format!("{free} MiB free in {folder}")),
    }
}

async fn image(sandbox: &Sandbox, config: &sandbox::Config) -> Row {
    match sandbox.check_images().await {
        Ok(()) => Row::ok("image", config.images.join(", ")),
        Err(error) => Row::failed_by("image", &error.to_string()),
    }
}

async fn fifos(sandbox: &Sandbox, image: &str) -> Row {
    match sandbox.probe_folder(image).await {
        Ok(()) => Row::ok("fifos", "the engine sees our folder under the same path"),
        Err(sandbox::Error::Refused(why)) => Row::failed_by("fifos", &why),
        Err(error) => {
            let fix = "see the engine's log, and whether another SANDBOX_RUNTIME is of use";
            Row::failed("fifos", error.to_string(), fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Facts {
        Facts { api: "1.41".into(), seccomp: true, cgroup_version: 2, ..Facts::default() }
    }

    #[test]
    fn engines_that_cannot_be_used_are_told_from_those_that_can() {
        let state = |change: fn(&mut Facts)| {
            let mut facts = engine();
            change(&mut facts);
            let row = kind(&facts);
            assert_eq!(row.fix.is_some(), row.state != State::Ok, "{row:?}");
            row.state
        };
        assert_eq!(state(|_| {}), State::Ok);
        assert_eq!(state(|facts| facts.api = "1.9".into()), State::Failed);
        assert_eq!(state(|facts| facts.remapped = true), State::Failed);
        assert_eq!(state(|facts| facts.seccomp = false), State::Failed);
        assert_eq!(state(|facts| facts.rootless = true), State::Warning);
        assert_eq!(state(|facts| facts.lacking = vec!["memory"]), State::Warning);
    }

    #[test]
    fn memory_is_that_of_all_attempts_at_one_time() {
        let meminfo = "MemTotal: 4194304 kB\nMemAvailable:    1048576 kB\n";
        assert_eq!(
            [1, 2, 3].map(|workers| memory(meminfo, workers).state),
            [State::Ok, State::Ok, State::Warning]
        );
        assert_eq!(memory("", 1).state, State::Warning);
    }
}
