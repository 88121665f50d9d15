//! The picture for Perfetto's viewer, by the structure that its format prescribes.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, PerfettoError};
use serde_json::{Value, json};

use crate::support::{build, rows, run, trace, value};

/// Fixtures of every kind: whole lines, halves, children, kills, forged names, no `-y`.
const FIXTURES: &[&str] = &[
    "read-default",
    "read-pool8",
    "613-killed-in-loop",
    "613-killed-in-poll",
    "613-throw",
    "613-worker-named-libuv",
    "await-fetch-localhost-dns",
    "bigfile-async",
    "child",
    "copy3",
    "hostile-names",
    "marks",
    "nested-names",
    "nuxt-all",
    "open-mix",
    "order-io.cjs",
    "preload-pool",
];

fn picture(evidence: &Evidence, run: Option<(&str, u32)>) -> Value {
    let mut out = Vec::new();
    evidence.write_perfetto(run, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn events(picture: &Value) -> &[Value] {
    picture["traceEvents"].as_array().unwrap()
}

fn of_phase<'a>(picture: &'a Value, ph: &str) -> Vec<&'a Value> {
    events(picture).iter().filter(|event| event["ph"] == ph).collect()
}

/// Microseconds with a fraction, as whole nanoseconds.
fn ns(micros: &Value) -> i64 {
    let text = micros.to_string();
    let (whole, fraction) = text.split_once('.').unwrap();
    format!("{whole}{fraction:0<3}").parse().unwrap()
}

fn start(event: &Value) -> i64 {
    ns(&event["ts"])
}

fn track(event: &Value) -> (u64, u64) {
    (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())
}

fn count(evidence: &Evidence, what: &str) -> usize {
    usize::try_from(value(evidence, &format!("select count(*) from {what}")).as_i64().unwrap()).unwrap()
}

#[test]
fn every_row_is_drawn_once() {
    for name in FIXTURES {
        let trace = trace(&format!("{name}.strace"));
        let evidence = build(&[run(name, Some(&trace), b"")]);
        let picture = picture(&evidence, None);
        assert_eq!(picture["displayTimeUnit"], "ns");
        let slices = of_phase(&picture, "X");
        assert_eq!(
            slices.len(),
            count(&evidence, "events where kind = 'syscall' and t_ns is not null"),
            "{name}"
        );
        let ids: BTreeSet<u64> = slices.iter().map(|slice| slice["args"]["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), slices.len(), "{name}: each id once");
        let instants = of_phase(&picture, "i");
        let of = |category: &str| instants.iter().filter(|instant| instant["cat"] == category).count();
        assert_eq!(of("signal"), count(&evidence, "events where kind = 'signal'"), "{name}");
        assert_eq!(of("exit"), count(&evidence, "events where kind = 'exit'"), "{name}");
        assert_eq!(of("mark"), count(&evidence, "marks"), "{name}");
        let undrawn = count(&evidence, "events where t_ns is null");
        assert_eq!(picture["otherData"]["events_without_time"], json!(undrawn), "{name}");
    }
}

#[test]
fn slices_say_what_the_tables_say() {
    let trace = trace("read-default.strace");
    let evidence = build(&[run("default", Some(&trace), b"")]);
    let picture = picture(&evidence, None);
    let sql = "select id, pid, tid, name, args, t_ns, dur_ns, ret, errno, path, fd, line from events
               where kind = 'syscall' and dur_ns is not null order by t_ns, id";
    let rows = rows(&evidence, sql);
    let slices = of_phase(&picture, "X");
    let slices = slices.iter().filter(|slice| slice["args"]["shown_until"].is_null());
    let drawn: Vec<Value> = slices
        .map(|slice| {
            let args = &slice["args"];
            json!([
                args["id"],
                slice["pid"],
                slice["tid"],
                slice["name"],
                args["args"],
                start(slice),
                ns(&slice["dur"]),
                args["ret"],
                args["errno"],
                args["path"],
                args["fd"],
                args["line"]
            ])
        })
        .collect();
    assert!(drawn.len() > 150);
    assert_eq!(rows, Value::Array(drawn));
}

#[test]
fn times_rise_and_slices_of_a_thread_never_overlap() {
    for name in FIXTURES {
        let trace = trace(&format!("{name}.strace"));
        let picture = picture(&build(&[run(name, Some(&trace), b"")]), None);
        let mut last = i64::MIN;
        let mut ends: BTreeMap<(u64, u64), i64> = BTreeMap::new();
        for event in events(&picture).iter().filter(|event| event["ph"] != "M") {
            assert!(start(event) >= last, "{name}: {event} before {last}");
            last = start(event);
            if event["ph"] == "X" {
                let duration = ns(&event["dur"]);
                let end = ends.insert(track(event), last + duration).unwrap_or(i64::MIN);
                assert!(duration >= 0 && last >= end, "{name}: {event} begins before {end}");
            }
        }
    }
}

#[test]
fn every_track_has_a_name() {
    for name in FIXTURES {
        let trace = trace(&format!("{name}.strace"));
        let evidence = build(&[run(name, Some(&trace), b"")]);
        let picture = picture(&evidence, None);
        let named = |what: &str| -> Vec<&Value> {
            events(&picture).iter().filter(|event| event["ph"] == "M" && event["name"] == what).collect()
        };
        let threads: BTreeSet<_> = named("thread_name").into_iter().map(track).collect();
        let processes: BTreeSet<_> = named("process_name").into_iter().map(|event| track(event).0).collect();
        assert_eq!(threads.len(), named("thread_name").len(), "{name}: one name for each");
        assert_eq!(threads.len(), named("thread_sort_index").len(), "{name}");
        assert_eq!(threads.len(), count(&evidence, "(select distinct pid, tid from threads)"), "{name}");
        assert_eq!(processes.len(), count(&evidence, "(select distinct pid from threads)"), "{name}");
        for event in events(&picture) {
            assert!(
                threads.contains(&track(event)) && processes.contains(&track(event).0),
                "{name}: {event}"
            );
        }
    }
    let trace = trace("read-default.strace");
    let picture = picture(&build(&[run("default", Some(&trace), b"")]), None);
    let name = |what: &str, tid: u64| {
        let of = |event: &&Value| event["name"] == what && event["tid"] == tid;
        events(&picture).iter().find(of).unwrap()["args"]["name"].clone()
    };
    assert_eq!(name("process_name", 34), "default");
    assert_eq!(name("thread_name", 34), "main 34 MainThread");
}

#[test]
fn the_counter_of_descriptors_is_the_tables() {
    for name in FIXTURES {
        let trace = trace(&format!("{name}.strace"));
        let evidence = build(&[run(name, Some(&trace), b"")]);
        let picture = picture(&evidence, None);
        let counters = of_phase(&picture, "C");
        let open = counters.iter().filter(|event| event["name"] == "open descriptors");
        let open: Vec<i64> = open.map(|event| event["args"]["open"].as_i64().unwrap()).collect();
        assert!(open.iter().all(|open| *open >= 0), "{name}");
        let peak = value(&evidence, "select peak(opened_ns, closed_ns) from fds");
        assert_eq!(json!(open.iter().max().unwrap()), peak, "{name}");
        let still_open = "fds where closed_ns is null and opened_ns is not null";
        assert_eq!(*open.last().unwrap(), i64::try_from(count(&evidence, still_open)).unwrap(), "{name}");
    }
}

#[test]
fn the_counter_of_bytes_rises_and_falls_to_nothing() {
    for name in FIXTURES {
        let trace = trace(&format!("{name}.strace"));
        let evidence = build(&[run(name, Some(&trace), b"")]);
        let picture = picture(&evidence, None);
        let counters = of_phase(&picture, "C");
        let bytes = counters.iter().filter(|event| event["name"] == "bytes in flight");
        let bytes: Vec<i64> = bytes.map(|event| event["args"]["bytes"].as_i64().unwrap()).collect();
        assert!(bytes.iter().all(|bytes| *bytes >= 0), "{name}");
        assert_eq!(bytes.last(), Some(&0), "{name}");
        let moves = "events where bytes > 0 and t_ns < end_ns";
        assert_eq!(bytes.len(), 2 * count(&evidence, moves), "{name}");
        let largest = value(&evidence, &format!("select max(bytes) from {moves}")).as_i64().unwrap();
        assert!(*bytes.iter().max().unwrap() >= largest, "{name}");
        let risen: i64 =
            bytes.iter().zip(std::iter::once(&0).chain(&bytes)).map(|(b, a)| (b - a).max(0)).sum();
        assert_eq!(json!(risen), value(&evidence, &format!("select sum(bytes) from {moves}")), "{name}");
    }
}

#[test]
fn arrows_lead_from_a_clone_to_the_thread_it_made() {
    let trace = trace("child.strace");
    let evidence = build(&[run("child", Some(&trace), b"")]);
    let picture = picture(&evidence, None);
    let sql = "select t.created_id, t.pid, t.tid, min(e.t_ns) from threads t join events e on e.tid = t.tid
               where t.created_id is not null and e.kind = 'syscall' group by t.tid order by t.created_id";
    let births = rows(&evidence, sql);
    assert!(births.as_array().unwrap().len() > 10, "{births}");
    let arrow = |ph: &str, id: &Value| {
        let found: Vec<_> = of_phase(&picture, ph).into_iter().filter(|event| event["id"] == *id).collect();
        assert_eq!(found.len(), 1, "{ph} {id}");
        found[0]
    };
    for birth in births.as_array().unwrap() {
        let (from, to) = (arrow("s", &birth[0]), arrow("f", &birth[0]));
        assert_eq!((from["name"].as_str(), from["cat"].as_str()), (to["name"].as_str(), to["cat"].as_str()));
        assert_eq!(json!([to["pid"], to["tid"], start(to)]), json!([birth[1], birth[2], birth[3]]));
        assert_eq!(to["bp"], "e");
        let slice =
            of_phase(&picture, "X").into_iter().find(|slice| slice["args"]["id"] == birth[0]).unwrap();
        assert_eq!((track(slice), start(slice)), (track(from), start(from)));
    }
    for name in FIXTURES {
        let trace = crate::support::trace(&format!("{name}.strace"));
        let picture = self::picture(&build(&[run(name, Some(&trace), b"")]), None);
        assert_eq!(of_phase(&picture, "s").len(), of_phase(&picture, "f").len(), "{name}");
    }
}

#[test]
fn runs_have_processes_of_their_own() {
    let (default, again) = (trace("read-default.strace"), trace("read-default.strace"));
    let second = evidence::RunInput { try_no: 2, ..run("default", Some(&again), b"") };
    let evidence = build(&[run("default", Some(&default), b""), second]);
    let both = picture(&evidence, None);
    let names = events(&both).iter().filter(|event| event["name"] == "process_name");
    let names: Vec<_> = names.map(|event| json!([event["pid"], event["args"]["name"]])).collect();
    assert_eq!(names, [json!([34, "default"]), json!([5_000_034, "default, try 2"])]);
    let of_second = picture(&evidence, Some(("default", 2)));
    assert_eq!(2 * events(&of_second).len(), events(&both).len());
    let mut times: Vec<i64> = events(&both).iter().filter(|event| event["ph"] != "M").map(start).collect();
    assert!(times.is_sorted());
    times.dedup();
    assert!(times.len() > 200);
    let error = evidence.write_perfetto(Some(("default", 3)), Vec::new()).unwrap_err();
    assert!(
        matches!(&error, PerfettoError::UnknownRun { label, try_no: 3 } if label == "default"),
        "{error}"
    );
}

#[test]
fn a_call_without_an_end_stops_where_it_must() {
    let text = b"7 1796000000.000000000 execve(\"/a\", [\"a\"], 0x1 /* 0 vars */) = 0 <0.000001000>\n\
        7 1796000000.000010000 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD) = 8 <0.000002000>\n\
        8 1796000000.000020000 read(3, <unfinished ...>\n\
        8 1796000000.000025000 +++ exited with 0 +++\n\
        7 1796000000.000030000 epoll_wait(4, <unfinished ...>\n\
        7 1796000000.000040000 write(1, \"x\", 1) = 1 <0.000005000>\n\
        7 1796000000.000050000 exit_group(0) = ?\n\
        7 1796000000.000060000 poll([{fd=3}], 1, -1 <unfinished ...>\n";
    let trace = strace::parse(text, &strace::Options::default());
    let picture = picture(&build(&[run("r", Some(&trace), b"")]), None);
    let drawn: Vec<_> = of_phase(&picture, "X")
        .into_iter()
        .map(|slice| json!([slice["name"], start(slice), ns(&slice["dur"]), slice["args"]["shown_until"]]))
        .collect();
    assert_eq!(
        drawn,
        [
            json!(["execve", 0, 1000, null]),
            json!(["clone", 10_000, 2000, null]),
            json!(["read", 20_000, 5000, "the end of its thread"]),
            json!(["epoll_wait", 30_000, 10_000, "the next call of its thread"]),
            json!(["write", 40_000, 5000, null]),
            json!(["exit_group", 50_000, 10_000, "the end of the run"]),
            json!(["poll", 60_000, 0, "the end of the run"]),
        ]
    );
}

#[test]
fn without_times_there_is_no_picture_and_without_durations_no_length() {
    let untimed = strace::parse(b"7 getpid() = 7\n7 +++ exited with 0 +++\n", &strace::Options::default());
    let error = build(&[run("r", Some(&untimed), b"")]).write_perfetto(None, Vec::new()).unwrap_err();
    assert!(matches!(error, PerfettoError::NoTimes), "{error}");
    let starts = strace::parse(
        b"1796000000.000001 getpid() = 7\n1796000000.000002 getuid() = 0\n",
        &strace::Options::default(),
    );
    let picture = picture(&build(&[run("r", Some(&starts), b"")]), None);
    let slices = of_phase(&picture, "X");
    assert_eq!(slices.len(), 2);
    for slice in slices {
        assert_eq!(ns(&slice["dur"]), 0);
        assert_eq!(slice["args"]["shown_until"], "its start: the trace has no durations");
        assert_ne!(track(slice), (0, 0), "0 is the idle thread");
    }
    assert_eq!(events(&self::picture(&build(&[]), None)), [] as [Value; 0]);
}
