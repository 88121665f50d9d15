//! No text makes a query crash, run past its bounds, or change the evidence:
//! `cargo +nightly fuzz run query` in `server/evidence`.
#![no_main]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use evidence::{Evidence, QueryLimits, RunInput};
use libfuzzer_sys::fuzz_target;

const TRACE: &str = "1 1796068214.1 openat(AT_FDCWD</lab>, \"/etc/hosts\", O_RDONLY) = 3</etc/hosts> <0.000010>\n\
                     1 1796068214.2 epoll_wait(4<anon_inode:[eventpoll]>, [], 8, 10) = 0 <0.010000>\n\
                     1 1796068214.3 +++ exited with 0 +++\n";

thread_local! {
    static EVIDENCE: Evidence = {
        // As in the process that answers a learner: memory is bounded from outside of the query.
        evidence::limit_heap(96 << 20).expect("a fresh process has no bound");
        let trace = strace::parse(TRACE.as_bytes(), &strace::Options::default());
        let run = RunInput { label: "a", try_no: 1, trace: Some(&trace), ..RunInput::default() };
        Evidence::build(&[run], &[], &BTreeMap::new(), &[]).expect("the trace is sound")
    };
}

fuzz_target!(|sql: &str| {
    EVIDENCE.with(|evidence| {
        let limits = QueryLimits { wall: Duration::from_millis(200), ..QueryLimits::exploring() };
        let begun = Instant::now();
        let _ = (evidence.query(sql, &[], &limits), evidence.parameters(sql));
        assert!(begun.elapsed() < Duration::from_secs(5), "the bound on time was not kept");
        let count = evidence.query("select count(*) from events", &[], &QueryLimits::default());
        assert_eq!(count.expect("the evidence is whole").rows, [[3]]);
    });
});
