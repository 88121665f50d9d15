//! A graded attempt without an engine: what a sandbox would have brought back was recorded.

use std::time::Duration;

use chrono::Utc;
use lab::{Captured, Given, Lab, Outcome, Run, Tracer, Usage};
use store::{FinishedRun, LeaseState, Store};

use crate::support::{Home, Server, Visitor, root};

/// A server that runs nothing itself, and a visitor with an attempt that was graded.
pub(crate) struct Graded {
    pub(crate) server: Server,
    pub(crate) visitor: Visitor,
    /// The attempt's address.
    pub(crate) attempt: String,
    /// Goes after its server.
    _home: Home,
}

impl Graded {
    pub(crate) fn new() -> Self {
        let home = Home::new().with("TODOKU_WORKERS", "0");
        let server = home.start();
        let mut visitor = server.visitor();
        let attempt = visitor.submit("the traces are recorded");
        work(&home);
        Self { server, visitor, attempt, _home: home }
    }

    /// What the server says to a query.
    pub(crate) fn ask(&mut self, sql: &str) -> crate::support::Answer {
        self.visitor.post(&format!("{}/query", self.attempt), &serde_json::json!({ "sql": sql }))
    }

    /// The rows of a query that has some.
    pub(crate) fn rows(&mut self, sql: &str) -> serde_json::Value {
        let answer = self.ask(sql);
        assert_eq!(answer.status, 200, "{sql}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()["rows"].take()
    }
}

/// Does the next attempt in the queue, as a worker does.
pub(crate) fn work(home: &Home) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::connect(&home.database, 1).await.unwrap();
        let claim =
            store.claim("test", Utc::now(), Duration::from_secs(60)).await.unwrap().expect("one waits");
        let lab: Lab = serde_json::from_str(&claim.lab.snapshot).unwrap();
        let runs: Vec<Run> = lab.runs.iter().map(|spec| run(&spec.label)).collect();
        let evidence = lab
            .gather(&runs, Given { files: &claim.files, before: &claim.answers, ..Given::default() })
            .unwrap();
        let grade = lab::grade(&lab, &evidence);
        let finished = |run: Run| FinishedRun {
            trace_lines: run.trace.bytes.split(|byte| *byte == b'\n').count() as u64,
            incomplete_why: None,
            explanation: None,
            run,
        };
        let runs = runs.into_iter().map(finished).collect();
        let state = store.finish(claim.lease, Utc::now(), runs, &grade).await.unwrap();
        assert_eq!(state, LeaseState::Held);
        store.close().await;
    });
}

/// A run of the first lab's reference: `pool8` with eight threads, any other with four.
fn run(label: &str) -> Run {
    Run {
        label: label.to_owned(),
        try_no: 1,
        command: vec!["node".into(), "read.js".into()],
        outcome: Outcome::Exited,
        exit_code: Some(0),
        signal: None,
        stdout: Captured::whole(format!("written by {label}\n").into_bytes()),
        stderr: Captured::default(),
        usage: Usage { wall: Duration::from_millis(60), ..Usage::default() },
        milli_cpus: 1000,
        tracer: Tracer::Trace,
        trace: Captured::whole(trace(label)),
        files: None,
    }
}

/// The recorded trace of a run.
pub(crate) fn trace(label: &str) -> Vec<u8> {
    let name = if label == "pool8" { "reference-pool8" } else { "reference-default" };
    std::fs::read(root().join("server/lab/tests/traces").join(format!("{name}.strace"))).unwrap()
}
