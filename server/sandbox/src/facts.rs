//! What the engine says of itself, as far as it matters here.

use std::path::PathBuf;

use bollard::models::{SystemInfo, SystemInfoCgroupVersionEnum};

use crate::{Error, Sandbox};

/// Less free disk than this in the engine's folder, and no container is started: the engine would fail
/// in the middle of one.
const LEAST_DISK: u64 = 64 << 20;

/// An engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its version.
    pub version: String,
    /// The API version that it and this program agreed on.
    pub api: String,
    /// Operating system and kernel.
    pub system: String,
    /// Version of the control groups, 1 or 2; 0 where it does not say.
    pub cgroup_version: u8,
    /// Who makes the control groups: `cgroupfs`, `systemd`, `none`.
    pub cgroup_driver: String,
    /// It runs without root.
    pub rootless: bool,
    /// Its containers' users have other numbers on the host.
    pub remapped: bool,
    /// It can filter system calls.
    pub seccomp: bool,
    /// Limits that it says it cannot keep.
    pub lacking: Vec<&'static str>,
    /// The runtime that it uses when none is asked for.
    pub default_runtime: String,
    /// All of its runtimes, in order.
    pub runtimes: Vec<String>,
    /// Where it keeps images and containers, as it sees the path.
    pub data_root: PathBuf,
}

impl Facts {
    pub(crate) fn read(info: SystemInfo, api: String) -> Self {
        let options = info.security_options.unwrap_or_default();
        // Entries look like `name=seccomp,profile=default`.
        let has = |name: &str| {
            options.iter().any(|option| option.split(',').any(|part| part == format!("name={name}")))
        };
        let mut runtimes: Vec<String> = info.runtimes.unwrap_or_default().into_keys().collect();
        runtimes.sort();
        let lacking = [
            ("memory", info.memory_limit),
            ("swap", info.swap_limit),
            ("CPU", info.cpu_cfs_quota),
            ("processes", info.pids_limit),
        ];
        Self {
            version: info.server_version.unwrap_or_default(),
            api,
            system: [info.operating_system, info.kernel_version]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", kernel "),
            cgroup_version: match info.cgroup_version {
                Some(SystemInfoCgroupVersionEnum::_1) => 1,
                Some(SystemInfoCgroupVersionEnum::_2) => 2,
                _ => 0,
            },
            cgroup_driver: info.cgroup_driver.map(|driver| driver.to_string()).unwrap_or_default(),
            rootless: has("rootless"),
            remapped: has("userns"),
            seccomp: has("seccomp"),
            lacking: lacking.iter().filter(|(_, can)| *can == Some(false)).map(|(name, _)| *name).collect(),
            default_runtime: info.default_runtime.unwrap_or_default(),
            runtimes,
            data_root: info.docker_root_dir.unwrap_or_default().into(),
        }
    }

    /// Why containers cannot run under `wanted`; `None` where they can.
    #[must_use]
    pub fn runtime_fault(&self, wanted: &str) -> Option<String> {
        if self.runtimes.iter().any(|runtime| runtime == wanted) {
            return None;
        }
        Some(format!(
            "the engine has no runtime {wanted:?}; it has {}: set SANDBOX_RUNTIME to one of them, or add the runtime to \
             the engine's daemon.json",
            self.runtimes.join(", ")
        ))
    }

    /// Free bytes where the engine keeps its things; `None` where that folder is not seen from here.
    #[must_use]
    pub fn free_disk(&self) -> Option<u64> {
        let there = rustix::fs::statvfs(&self.data_root).ok()?;
        Some(there.f_bavail.saturating_mul(there.f_frsize))
    }

    /// What the operator is told when the disk is (nearly) full.
    #[must_use]
    pub fn disk_fault(&self) -> Option<String> {
        let free = self.free_disk().filter(|free| *free < LEAST_DISK)?;
        Some(format!(
            "the engine's folder {} has only {} MiB free, {} MiB are needed: free some, as by docker system prune",
            self.data_root.display(),
            free >> 20,
            LEAST_DISK >> 20
        ))
    }
}

impl Sandbox {
    /// What the engine says of itself; asked once, and again after it was away.
    pub async fn facts(&self) -> Result<Facts, Error> {
        let mut known = self.inner.facts.lock().await;
        if let Some(facts) = &*known {
            return Ok(facts.clone());
        }
        let facts = self.inner.engine.facts().await?;
        Ok(known.insert(facts).clone())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn info() -> SystemInfo {
        SystemInfo {
            server_version: Some("29.0.1".into()),
            cgroup_version: Some(SystemInfoCgroupVersionEnum::_2),
            security_options: Some(vec![
                "name=seccomp,profile=builtin".into(),
                "name=rootless".into(),
                "name=cgroupns".into(),
            ]),
            memory_limit: Some(true),
            cpu_cfs_quota: Some(false),
            pids_limit: Some(false),
            runtimes: Some(["runc", "crun"].map(|name| (name.into(), Default::default())).into()),
            ..SystemInfo::default()
        }
    }

    #[test]
    fn a_rootless_engine_says_so_and_what_it_lacks() {
        let facts = Facts::read(info(), "1.52".into());
        assert_eq!((facts.rootless, facts.remapped, facts.seccomp), (true, false, true));
        assert_eq!((facts.cgroup_version, &facts.lacking[..]), (2, &["CPU", "processes"][..]));
    }

    #[test]
    fn an_engine_that_says_nothing_has_nothing() {
        let facts = Facts::read(SystemInfo::default(), "1.41".into());
        assert_eq!(facts, Facts { api: "1.41".into(), ..Facts::default() });
        let remapped = vec!["name=userns".to_owned()];
        let facts = Facts::read(SystemInfo { security_options: Some(remapped), ..info() }, "1.41".into());
        assert!(facts.remapped && !facts.rootless && !facts.seccomp);
    }

    #[test]
    fn a_runtime_that_is_not_there_is_named_with_those_that_are() {
        let facts = Facts::read(info(), "1.52".into());
        assert_eq!(facts.runtime_fault("crun"), None);
        let fault = facts.runtime_fault("runsc").unwrap_or_default();
        assert!(fault.starts_with("the engine has no runtime \"runsc\"; it has crun, runc: set"), "{fault}");
        let none = Facts::read(SystemInfo { runtimes: Some(HashMap::new()), ..info() }, "1.52".into());
        assert!(none.runtime_fault("runc").is_some());
    }
}
