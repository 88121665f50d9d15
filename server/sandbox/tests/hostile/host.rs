//! What a run leaves on the host, seen from the host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The namespaces that a run's program was seen in, by name. They are kept open, or the kernel would give their numbers
/// to those of the next container.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pid_namespaces: BTreeMap<String, File>,
    network_namespaces: BTreeMap<String, File>,
    uids: BTreeSet<String>,
}

/// Looks for a run's program until told to end.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

impl Watch {
    /// Looks for processes that have `variable` in their environment.
    pub(crate) fn start(variable: String) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut seen = Seen::default();
            while !told.load(Ordering::Relaxed) {
                seen.look(&variable);
                std::thread::sleep(Duration::from_millis(20));
            }
            seen
        });
        Self { over, thread }
    }

    pub(crate) fn end(self) -> Seen {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

impl Seen {
    fn look(&mut self, variable: &str) {
        for pid in pids() {
            let own = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if !own.split(|byte| *byte == 0).any(|other| other == variable.as_bytes()) {
                continue;
            }
            keep(&mut self.pid_namespaces, &pid, "pid");
            keep(&mut self.network_namespaces, &pid, "net");
            self.uids.extend(uid(&pid));
        }
    }

    /// Whether no process of the run lives.
    pub(crate) fn is_gone(&self) -> bool {
        let lives =
            |pid: &String| namespace(pid, "pid").is_some_and(|own| self.pid_namespaces.contains_key(&own));
        !pids().iter().any(lives)
    }

    /// No process of the run lives, none of its network namespace is kept but by the engine's own, and none of its
    /// user's is in it.
    pub(crate) fn assert_gone(&self) {
        assert!(
            !self.pid_namespaces.is_empty(),
            "the program was never seen: it ended too soon to be watched"
        );
        for pid in pids() {
            if namespace(&pid, "pid").is_some_and(|own| self.pid_namespaces.contains_key(&own)) {
                panic!(
                    "process {pid} outlived its run: {:?}",
                    fs::read_to_string(format!("/proc/{pid}/cmdline"))
                );
            }
            if namespace(&pid, "net").is_some_and(|own| self.network_namespaces.contains_key(&own)) {
                assert!(
                    !uid(&pid).is_some_and(|uid| self.uids.contains(&uid)),
                    "process {pid} is of the learner's uid"
                );
                assert_silent(&pid);
            }
        }
        let holds = |own: &String| pids().iter().any(|pid| namespace(pid, "net").as_ref() == Some(own));
        // The engine keeps a network namespace by a mount of it.
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        for own in self.network_namespaces.keys().filter(|own| !holds(own)) {
            assert!(!mounts.contains(own.as_str()), "the network namespace {own} is left mounted");
        }
    }
}

/// Where a network namespace lives on, nothing in it listens.
fn assert_silent(pid: &str) {
    for (table, listens) in
        [("tcp", " 0A "), ("tcp6", " 0A "), ("udp", " 07 "), ("udp6", " 07 "), ("unix", " @")]
    {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        let left: Vec<&str> = text.lines().skip(1).filter(|line| line.contains(listens)).collect();
        assert!(left.is_empty(), "{table}: {left:?}");
    }
}

fn pids() -> Vec<String> {
    let names = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

fn keep(kept: &mut BTreeMap<String, File>, pid: &str, kind: &str) {
    let Ok(file) = File::open(format!("/proc/{pid}/ns/{kind}")) else { return };
    // By what was opened: the process may be another by now.
    let Ok(name) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) else { return };
    kept.entry(name.to_string_lossy().into_owned()).or_insert(file);
}

/// `pid:[4026531836]`; none for a process that is gone or a zombie.
fn namespace(pid: &str, kind: &str) -> Option<String> {
    fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()?.into_os_string().into_string().ok()
}

fn uid(pid: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?.to_owned())
}
