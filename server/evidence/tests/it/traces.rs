//! Whole recorded traces, asked as a check would ask.

use evidence::{Evidence, RunInput};
use serde_json::json;

use crate::support::{build, fixture, rows, run, trace, value};

fn read() -> Evidence {
    let (default, pool8) = (trace("read-default.strace"), trace("read-pool8.strace"));
    build(&[run("default", Some(&default), b""), run("pool8", Some(&pool8), b"")])
}

#[test]
fn who_opened_which_file() {
    let evidence = read();
    let opened = |run: &str, path: &str| {
        let sql = format!(
            "select role, phase, real, ok from events where run = '{run}' and name = 'openat' and path = '{path}'"
        );
        rows(&evidence, &sql)
    };
    assert_eq!(opened("default", "/etc/hostname"), json!([["main", "user", "/etc/hostname", 1]]));
    assert_eq!(
        opened("default", "/etc/os-release"),
        json!([["libuv-worker", "user", "/usr/lib/os-release", 1]])
    );
    // Recorded without -y: the kernel's path is not known, and all else is.
    assert_eq!(opened("pool8", "/etc/hostname"), json!([["main", "user", null, 1]]));
    assert_eq!(opened("pool8", "/etc/os-release"), json!([["libuv-worker", "user", null, 1]]));
}

#[test]
fn the_pool_has_its_size_and_is_born_between() {
    let evidence = read();
    assert_eq!(
        rows(&evidence, "select run, count(*) from threads where role = 'libuv-worker' group by run"),
        json!([["default", 4], ["pool8", 8]])
    );
    let between = "select count(*) from threads t
        join events made on made.id = t.created_id
        join events sync on sync.run = t.run and sync.name = 'openat' and sync.path = '/etc/hostname'
        join events async on async.run = t.run and async.name = 'openat' and async.path = '/etc/os-release'
        where t.role = 'libuv-worker' and sync.id < made.id and made.id < async.id
          and made.args like '%CLONE_VM|CLONE_FS|CLONE_FILES|%CLONE_THREAD%'";
    assert_eq!(value(&evidence, between), json!(12));
}

#[test]
fn ids_are_dense_and_name_their_lines() {
    let evidence = read();
    for (table, id) in [("events", "id"), ("fds", "serial")] {
        let sql = format!("select min({id}), max({id}) = count(*), max(run) = 'pool8' from {table}");
        assert_eq!(rows(&evidence, &sql), json!([[1, 1, 1]]), "{table}");
    }
    let text = fixture("read-pool8.strace");
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let sql = "select id, line, end_line from events where run = 'pool8'";
    let events = rows(&evidence, sql);
    let events = events.as_array().unwrap();
    assert!(events.len() > 200);
    let mut split = 0;
    for event in events {
        let [id, line, end_line] = [0, 1, 2].map(|column| event[column].as_i64().unwrap());
        let found = evidence.event_line(id).unwrap();
        let place = (found.run.as_str(), i64::from(found.line), found.text.as_bytes());
        assert_eq!(place, ("pool8", line, lines[usize::try_from(line).unwrap() - 1]));
        assert_eq!(found.tail.is_some(), end_line != line);
        if let Some((tail, text)) = found.tail {
            assert_eq!(text.as_bytes(), lines[tail as usize - 1]);
            split += 1;
        }
    }
    assert!(split > 0, "the trace has split calls");
    assert_eq!(evidence.event_line(0), None);
    assert_eq!(evidence.event_line(1_000_000), None);
}

#[test]
fn ids_of_every_table_lead_to_what_they_say() {
    let evidence = read();
    // Each of these joins by an id of the second run's tables, where a wrong base would show.
    for (sql, least) in [
        (
            "from fds f join events e on e.id = f.opened_id where e.serial = f.serial and e.run = f.run and e.ret = f.fd",
            20,
        ),
        (
            "from fds f join events e on e.id = f.closed_id where e.serial = f.serial and e.run = f.run and e.name = 'close'",
            10,
        ),
        (
            "from threads t join events e on e.id = t.created_id where e.ret = t.tid and e.run = t.run and e.tid = t.parent_tid",
            10,
        ),
        (
            "from waits w join events e using (id) where e.name like 'epoll%' and e.run = w.run and e.tid = w.tid and e.t_ns = w.t_ns",
            2,
        ),
    ] {
        for run in ["default", "pool8"] {
            let found =
                value(&evidence, &format!("select count(*) {sql} and e.run = '{run}'")).as_i64().unwrap();
            assert!(found >= least, "{run}: {found} {sql}");
        }
    }
}

#[test]
fn waits_are_those_that_could_sleep() {
    let evidence = read();
    let sql = "select line, timeout_ms, ready from waits join events using (id)
        where waits.run = 'default' and waits.role = 'main'";
    assert_eq!(rows(&evidence, sql), json!([[130, -1, 1], [144, -1, 1]]));
}

#[test]
fn a_run_says_whether_it_can_be_trusted() {
    let whole = trace("read-default.strace");
    let text = fixture("read-default.strace");
    let cut = strace::parse(&text[..text.len() / 2], &strace::Options::default());
    let input = RunInput { trace_bytes: text.len() as u64, ..run("whole", Some(&whole), b"") };
    let evidence = build(&[input, run("cut", Some(&cut), b"")]);
    assert_eq!(
        rows(
            &evidence,
            "select tracer, complete, incomplete_why is null, trace_bytes > 20000, trace_lines from runs limit 1"
        ),
        json!([["trace", 1, 1, 1, 249]])
    );
    let [first, second] = evidence.runs() else { panic!("two runs") };
    assert_eq!((first.complete, first.incomplete_why.as_deref()), (Some(true), None));
    assert_eq!(second.complete, Some(false));
    let why = second.incomplete_why.clone().unwrap();
    assert!(why.contains("the end of the main process is not in the trace"), "{why}");
    assert_eq!(value(&evidence, "select incomplete_why from runs where not complete"), json!(why));
}

#[test]
fn output_is_tied_to_its_writes() {
    let order = trace("order-order.cjs.strace");
    let evidence = build(&[run("a", Some(&order), b"sync\nnextTick\npromise\ntimeout\nimmediate\n")]);
    assert_eq!(
        rows(
            &evidence,
            "select o.n, o.text, e.line, o.t_ns = e.t_ns, e.role from output o join events e on e.id = o.event_id"
        ),
        json!([
            [1, "sync", 102, 1, "main"],
            [2, "nextTick", 103, 1, "main"],
            [3, "promise", 104, 1, "main"],
            [4, "timeout", 105, 1, "main"],
            [5, "immediate", 109, 1, "main"]
        ])
    );
}

#[test]
fn one_write_may_make_two_lines() {
    let names = trace("hostile-names.strace");
    let stdout = b"255 ok\n256 ENAMETOOLONG\n5000 ENAMETOOLONG\nline1\nline2 \x1b[1m\nok\n";
    let evidence = build(&[run("a", Some(&names), stdout)]);
    assert_eq!(
        rows(&evidence, "select e.line from output o join events e on e.id = o.event_id order by n"),
        json!([[142], [144], [146], [148], [148], [149]])
    );
}

#[test]
fn a_childs_own_descriptor_1_is_not_the_runs() {
    // The child writes to its pipe under the number 1; the run itself writes nothing.
    let child = trace("child.strace");
    let evidence = build(&[run("a", Some(&child), b"5a9427f57552\n")]);
    assert_eq!(rows(&evidence, "select text, event_id from output"), json!([["5a9427f57552", null]]));
    assert_eq!(
        value(
            &evidence,
            "select count(*) from events where name = 'write' and fd = 1 and data = '5a9427f57552' || char(10)"
        ),
        json!(1)
    );
}

#[test]
fn output_that_disagrees_with_the_trace_is_not_tied() {
    let order = trace("order-order.cjs.strace");
    let evidence = build(&[run("a", Some(&order), b"sync\nNEXTTICK\npromise\n")]);
    assert_eq!(
        rows(&evidence, "select text, event_id is not null from output"),
        json!([["sync", 1], ["NEXTTICK", 0], ["promise", 0]])
    );
}

#[test]
fn marks_have_a_place_and_a_time() {
    let marks = trace("marks.strace");
    let evidence = build(&[run("a", Some(&trace("read-default.strace")), b""), run("b", Some(&marks), b"")]);
    assert!(!marks.marks.is_empty());
    let sql = "select m.name from marks m join events e using (id)
        where e.path = '/__mark__/' || m.name and e.t_ns = m.t_ns and m.run = 'b' and e.role = 'main' order by id";
    let names: Vec<_> = marks.marks.iter().map(|mark| json!([mark.name])).collect();
    assert_eq!(rows(&evidence, sql), json!(names));
}

#[test]
fn every_recorded_trace_becomes_evidence() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../strace/tests/fixtures");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".strace") {
            continue;
        }
        let trace = trace(&name);
        let evidence = build(&[run("a", Some(&trace), b"")]);
        let counts = "select (select count(*) from events), (select count(*) from threads), (select count(*) from fds),
            (select count(*) from notes), (select count(*) from marks)";
        let expected =
            [trace.events.len(), trace.threads.len(), trace.fds.len(), trace.notes.len(), trace.marks.len()];
        assert_eq!(rows(&evidence, counts), json!([expected]), "{name}");
        seen += 1;
    }
    assert!(seen >= 20, "{seen} fixtures");
}
