//! What the container's control group counted, in either version of the file system.
//!
//! The engine mounts the container's own group at `/sys/fs/cgroup`, read-only: v1 one folder a
//! controller, v2 all in one (`cgroups(7)`).

use std::fs::read_to_string;

use guest::Counters;

const ROOT: &str = "/sys/fs/cgroup";

pub(crate) fn read() -> Counters {
    Counters {
        cpu_ns: number("cpuacct/cpuacct.usage")
            .or_else(|| keyed("cpu.stat", "usage_usec").map(|us| us * 1000)),
        max_memory: number("memory/memory.max_usage_in_bytes").or_else(|| number("memory.peak")),
        oom_kills: keyed("memory/memory.oom_control", "oom_kill")
            .or_else(|| keyed("memory.events", "oom_kill")),
        forks_refused: keyed("pids/pids.events", "max").or_else(|| keyed("pids.events", "max")),
    }
}

/// What was counted from `before` to `now`; a peak stays a peak.
pub(crate) fn between(before: Counters, now: Counters) -> Counters {
    let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
    Counters {
        cpu_ns: less(now.cpu_ns, before.cpu_ns),
        max_memory: now.max_memory,
        oom_kills: less(now.oom_kills, before.oom_kills),
        forks_refused: less(now.forks_refused, before.forks_refused),
    }
}

fn number(file: &str) -> Option<u64> {
    read_to_string(format!("{ROOT}/{file}")).ok()?.trim().parse().ok()
}

/// The number after `key` in a file of `key number` lines.
fn keyed(file: &str, key: &str) -> Option<u64> {
    read_to_string(format!("{ROOT}/{file}"))
        .ok()?
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok())
}
