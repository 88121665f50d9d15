//! One script in a real sandbox, and what it sees there.

use std::collections::BTreeMap;

use lab::{Limits, Outcome, Run, RunSpec, Tracer};
use sandbox::{RunRequest, Sandbox};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::Row;
use super::machine::OF_SELFTEST;

const SCRIPT: &str = include_str!("selftest.js");
const ENTRY: &str = "selftest.js";
/// Processes that the sandbox may add to the learner's.
const OWN_PROCESSES: u64 = 16;

/// What the script prints.
#[derive(Debug, Default, Deserialize)]
struct Seen {
    /// [`/proc/self/status`](https://man7.org/linux/man-pages/man5/proc_pid_status.5.html)
    status: BTreeMap<String, String>,
    /// Files of its control group, in either version; `None` for what is not there.
    groups: BTreeMap<String, Option<String>>,
}

pub(super) async fn examine(sandbox: &Sandbox, config: &sandbox::Config, well: bool) -> Vec<Row> {
    let all_skipped =
        |rows: &mut Vec<Row>| rows.extend(OF_SELFTEST.into_iter().skip(rows.len()).map(Row::skipped));
    let mut rows = Vec::new();
    let Some(image) = config.images.first().filter(|_| well) else {
        all_skipped(&mut rows);
        return rows;
    };
    let spec = RunSpec {
        label: "selftest".to_owned(),
        image: image.clone(),
        entry: ENTRY.to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        tracer: Tracer::Trace,
        collect: false,
        limits: Limits::default(),
    };
    let files = BTreeMap::from([(ENTRY.to_owned(), SCRIPT.as_bytes().to_vec())]);
    let request = RunRequest { spec: &spec, files: &files, output: None, cancel: CancellationToken::new() };
    match sandbox.run(request).await {
        Ok(run) => {
            let (row, seen) = selftest(&run);
            rows.push(row);
            rows.push(ptrace(&run));
            if let Some(seen) = seen {
                let own_kernel = config.has_own_kernel();
                rows.push(lenient(own_kernel, seccomp(&seen)));
                rows.push(lenient(own_kernel, groups(&seen, &spec.limits, &run)));
            }
        }
        Err(error) => rows.push(Row::failed("selftest", error.to_string(), "see the engine's log")),
    }
    all_skipped(&mut rows);
    rows
}

/// A runtime with a kernel of its own need not show these as Linux does.
fn lenient(own_kernel: bool, row: Row) -> Row {
    match row.fix {
        Some(_) if own_kernel => Row::warning(
            row.name,
            row.detail,
            "nothing: this runtime has a kernel of its own, which is the wall",
        ),
        _ => row,
    }
}

fn selftest(run: &Run) -> (Row, Option<Seen>) {
    let seen = serde_json::from_slice::<Seen>(&run.stdout.bytes).ok();
    if run.outcome == Outcome::Exited && run.exit_code == Some(0) && seen.is_some() {
        return (Row::ok("selftest", format!("a script ran for {} ms", run.usage.wall.as_millis())), seen);
    }
    let said = String::from_utf8_lossy(&run.stderr.bytes);
    let detail = format!(
        "a script that should end well ended as {} ({:?}): {}",
        run.outcome.as_str(),
        run.exit_code,
        said.lines().next().unwrap_or("it said nothing")
    );
    (Row::failed("selftest", detail, "build the image again: lab-images/build, or ./dev images"), seen)
}

fn ptrace(run: &Run) -> Row {
    let options =
        strace::Options { entry: Some(format!("{}/{ENTRY}", lab::WORK_FOLDER)), ..Default::default() };
    let trace = strace::parse(&run.trace.bytes, &options);
    let fix =
        "let the host allow tracing (sysctl kernel.yama.ptrace_scope below 3), and build the image again";
    if let Some(why) = trace.incomplete.first() {
        return Row::failed("ptrace", why.as_str(), fix);
    }
    if !trace.marks.iter().any(|mark| mark.name == "selftest") {
        return Row::failed("ptrace", "the script's mark is not in its trace", fix);
    }
    Row::ok("ptrace", format!("the trace is complete: {} calls", trace.events.len()))
}

fn seccomp(seen: &Seen) -> Row {
    let value = |name: &str| seen.status.get(name).map_or("missing", String::as_str);
    let mut wrong: Vec<String> = [("Seccomp", "2"), ("NoNewPrivs", "1")]
        .iter()
        .filter(|(name, wanted)| value(name) != *wanted)
        .map(|(name, wanted)| format!("{name} is {}, not {wanted}", value(name)))
        .collect();
    let capabilities = ["CapInh", "CapPrm", "CapEff", "CapAmb"];
    let none = |name: &&str| !value(name).is_empty() && value(name).bytes().all(|digit| digit == b'0');
    wrong.extend(
        capabilities.iter().filter(|name| !none(name)).map(|name| format!("{name} is {}", value(name))),
    );
    if wrong.is_empty() {
        return Row::ok("seccomp", "calls are filtered, no privilege can be gained, no capability is left");
    }
    Row::failed(
        "seccomp",
        wrong.join(", "),
        "use an engine and a runtime that keep a container's security options",
    )
}

fn groups(seen: &Seen, limits: &Limits, run: &Run) -> Row {
    let text = |name: &str| seen.groups.get(name).and_then(Option::as_deref);
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    let memory = number("memory/memory.limit_in_bytes").or_else(|| number("memory.max"));
    let processes = number("pids/pids.max").or_else(|| number("pids.max"));
    let share = number("cpu/cpu.cfs_quota_us").zip(number("cpu/cpu.cfs_period_us")).or_else(|| {
        let (quota, period) = text("cpu.max")?.split_once(' ')?;
        quota.parse().ok().zip(period.parse().ok())
    });
    let milli_cpus = share.filter(|(_, period)| *period > 0).map(|(quota, period)| quota * 1000 / period);
    let most = u64::from(limits.processes);
    let mut wrong = Vec::new();
    if memory != Some(limits.memory.0) {
        wrong.push("memory");
    }
    if processes.is_none_or(|count| !(most..=most + OWN_PROCESSES).contains(&count)) {
        wrong.push("processes");
    }
    if milli_cpus != Some(u64::from(limits.milli_cpus)) {
        wrong.push("CPU");
    }
    if !wrong.is_empty() {
        let detail = format!("these limits are not seen inside: {}", wrong.join(", "));
        let fix = "give the engine those controllers of control groups: docker info warns of what it lacks";
        return Row::failed("cgroups", detail, fix);
    }
    if run.usage.cpu.is_none() || run.usage.max_memory.is_none() {
        let fix = "nothing, or a kernel of 5.19 or newer: usage is shown without what is not counted";
        return Row::warning("cgroups", "limits hold, but use of CPU or memory is not counted", fix);
    }
    Row::ok("cgroups", "limits on memory, processes and CPU are seen inside")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    fn seen(status: &[(&str, &str)], groups: &[(&str, &str)]) -> Seen {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Seen {
            status: status.iter().map(owned).collect(),
            groups: groups.iter().map(owned).map(|(name, value)| (name, Some(value))).collect(),
        }
    }

    const WALLED: [(&str, &str); 6] = [
        ("Seccomp", "2"),
        ("NoNewPrivs", "1"),
        ("CapInh", "0000"),
        ("CapPrm", "0000"),
        ("CapEff", "0000"),
        ("CapAmb", "0000"),
    ];

    #[test]
    fn each_missing_wall_is_named() {
        assert_eq!(seccomp(&seen(&WALLED, &[])).state, State::Ok);
        for (at, (name, _)) in WALLED.iter().enumerate() {
            let mut status = WALLED;
            status[at].1 = "0020";
            let row = seccomp(&seen(&status, &[]));
            assert!(row.state == State::Failed && row.detail.starts_with(name), "{row:?}");
            assert_eq!(lenient(true, row).state, State::Warning);
        }
        assert_eq!(seccomp(&seen(&[], &[])).state, State::Failed);
    }

    #[test]
    fn limits_are_read_in_both_versions_of_control_groups() {
        let limits = Limits::default();
        let run = |counted: bool| Run {
            label: String::new(),
            try_no: 1,
            command: Vec::new(),
            outcome: Outcome::Exited,
            exit_code: Some(0),
            signal: None,
            stdout: lab::Captured::default(),
            stderr: lab::Captured::default(),
            usage: lab::Usage {
                cpu: counted.then_some(std::time::Duration::ZERO),
                max_memory: counted.then_some(lab::Bytes(1)),
                ..lab::Usage::default()
            },
            milli_cpus: 1000,
            tracer: Tracer::Trace,
            trace: lab::Captured::default(),
            files: None,
        };
        let first = [
            ("memory/memory.limit_in_bytes", "536870912"),
            ("pids/pids.max", "132"),
            ("cpu/cpu.cfs_quota_us", "100000"),
            ("cpu/cpu.cfs_period_us", "100000"),
        ];
        let second = [("memory.max", "536870912"), ("pids.max", "132"), ("cpu.max", "100000 100000")];
        let none = [("memory.max", "max"), ("pids.max", "max"), ("cpu.max", "max 100000")];
        assert_eq!(groups(&seen(&[], &first), &limits, &run(true)).state, State::Ok);
        assert_eq!(groups(&seen(&[], &second), &limits, &run(true)).state, State::Ok);
        assert_eq!(groups(&seen(&[], &second), &limits, &run(false)).state, State::Warning);
        for unlimited in [&none[..], &[]] {
            let row = groups(&seen(&[], unlimited), &limits, &run(true));
            assert_eq!(row.detail, "these limits are not seen inside: memory, processes, CPU");
        }
    }
}
