//! Views of recorded traces, and the functions made for them.

use evidence::{CallCount, FileLeft, InputFile, RequestSeen, RunInput};
use serde_json::json;

use crate::support::{build, query, rows, run, trace, value};

#[test]
fn served_requests() {
    let (nuxt, block) = (trace("nuxt-all.strace"), trace("block-offload.strace"));
    let evidence = build(&[run("nuxt", Some(&nuxt), b""), run("block", Some(&block), b"")]);
    assert_eq!(
        rows(&evidence, "select * from served where run = 'nuxt' order by n"),
        json!([
            ["nuxt", 1, 1, 35, 39, "main", "GET", "/", 147, 968, 259_626_000, 432_638_000],
            ["nuxt", 1, 2, 123, 39, "main", "GET", "/all", 980, 1084, 493_209_000, 893_451_000],
            ["nuxt", 1, 3, 131, 39, "main", "GET", "/all", 1095, 1106, 950_605_000, 1_290_419_000]
        ])
    );
    // Two connections take turns, and numbers begin anew in each run.
    assert_eq!(
        rows(
            &evidence,
            "select path, count(*), count(distinct serial), min(n), max(n), max(write_ns - read_ns) / 1000000
             from served where run = 'block' group by path order by path"
        ),
        json!([
            ["/block", 3, 3, 5, 27, 332],
            ["/eld", 18, 6, 2, 33, 0],
            ["/offload", 3, 3, 9, 31, 470],
            ["/ping", 9, 6, 1, 32, 2]
        ])
    );
    let ends = "select count(*) from served s join events r on r.id = s.read_id join events w on w.id = s.write_id
        where r.data like s.method || ' ' || s.path || ' %' and w.data like 'HTTP/1.1 %'
          and r.serial = s.serial and w.serial = s.serial and r.t_ns = s.read_ns and w.end_ns = s.write_ns and s.run = r.run";
    assert_eq!(value(&evidence, ends), json!(36));
}

#[test]
fn an_answer_ends_with_its_last_write() {
    let text = r#"7 1700000001.000000 socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3<TCP:[1]> <0.000001>
7 1700000002.000000 listen(3<TCP:[127.0.0.1:80]>, 511) = 0 <0.000001>
7 1700000003.000000 accept4(3<TCP:[127.0.0.1:80]>, NULL, NULL, 0) = 4<TCP:[127.0.0.1:80->127.0.0.1:9]> <0.000001>
7 1700000004.000000 read(4<TCP:[127.0.0.1:80->127.0.0.1:9]>, "POST /a?b=1 HTTP/1.1\r\n", 99) = 22 <0.000001>
7 1700000005.000000 read(4<TCP:[127.0.0.1:80->127.0.0.1:9]>, "GETTING", 99) = 7 <0.000001>
7 1700000006.000000 write(4<TCP:[127.0.0.1:80->127.0.0.1:9]>, "HTTP/1.1 200 OK\r\n", 17) = 17 <0.000001>
7 1700000007.000000 writev(4<TCP:[127.0.0.1:80->127.0.0.1:9]>, [{iov_base="0\r\n", iov_len=3}], 1) = 3 <0.000001>
7 1700000008.000000 read(4<TCP:[127.0.0.1:80->127.0.0.1:9]>, "GET /b HTTP/1.1\r\n", 99) = 17 <0.000001>
7 1700000009.000000 +++ exited with 0 +++
"#;
    let trace = strace::parse(text.as_bytes(), &strace::Options::default());
    let evidence = build(&[run("a", Some(&trace), b"")]);
    assert_eq!(
        rows(&evidence, "select n, method, path, read_id, write_id, read_ns, write_ns from served"),
        json!([
            [1, "POST", "/a?b=1", 4, 7, 3_000_000_000_u64, 6_000_001_000_u64],
            [2, "GET", "/b", 8, null, 7_000_000_000_u64, null]
        ])
    );
}

#[test]
fn gaps_are_where_main_made_no_call() {
    let block = trace("block-offload.strace");
    let evidence = build(&[run("a", Some(&block), b"")]);
    // Three times the handler of /block computes; offloaded work leaves no gap.
    let sql = "select s.path, g.dur_ns / 1000000, g.phase, g.win, g.t_ns = r.end_ns
        from gaps g join served s on s.read_id = g.after_id and s.write_id = g.before_id
        join events r on r.id = g.after_id where g.dur_ns > 100000000";
    assert_eq!(
        rows(&evidence, sql),
        json!([
            ["/block", 314, "user", null, 1],
            ["/block", 315, "user", null, 1],
            ["/block", 332, "user", null, 1]
        ])
    );
    assert_eq!(value(&evidence, "select count(*) from gaps where dur_ns > 100000000"), json!(3));
    // Calls and gaps fill the main thread's time from its first call to its last.
    let sums = "select (select sum(dur_ns) from gaps), (select sum(dur_ns) from events where role = 'main'),
        (select max(t_ns) - min(t_ns) from events where role = 'main' and kind = 'syscall')";
    let found = rows(&evidence, sums);
    let [gaps, calls, span] = [0, 1, 2].map(|column| found[0][column].as_i64().unwrap());
    assert!((gaps + calls - span).abs() < 2_000_000, "{gaps} + {calls} is not {span}");
}

#[test]
fn no_gap_reaches_from_one_run_into_the_next() {
    let (all, serial) = (trace("await-all.strace"), trace("await-serial.strace"));
    let (a, b, c) = (run("a", Some(&all), b""), run("b", Some(&serial), b""), run("a", Some(&all), b""));
    let evidence = build(&[a, b, RunInput { try_no: 2, ..c }]);
    let alone = |trace| value(&build(&[run("x", Some(trace), b"")]), "select count(*) from gaps");
    assert_eq!(
        rows(&evidence, "select run, try, count(*) from gaps group by run, try"),
        json!([["a", 1, alone(&all)], ["a", 2, alone(&all)], ["b", 1, alone(&serial)]])
    );
}

#[test]
fn shapes_tell_serial_from_parallel() {
    for (fixture, shape) in [
        ("await-serial", "CW~RCW~R"),
        ("await-all", "CCWW~RR"),
        ("nuxt-serial", "~CW~RCW~R~W~RW~R"),
        ("nuxt-all", "~CCWW~RR~WW~RR"),
    ] {
        let trace = trace(&format!("{fixture}.strace"));
        let evidence = build(&[run("a", Some(&trace), b"")]);
        let sql = "select shape(step order by id) from steps where role = 'main'";
        assert_eq!(value(&evidence, sql), json!(shape), "{fixture}");
    }
    let all = trace("await-all.strace");
    let evidence = build(&[run("a", Some(&all), b"")]);
    assert_eq!(
        rows(&evidence, "select id, serial, step from steps where role = 'main' order by id"),
        json!([
            [111, 29, "C"],
            [113, 30, "C"],
            [120, 29, "W"],
            [121, 30, "W"],
            [127, null, "~"],
            [128, 29, "R"],
            [130, 30, "R"]
        ])
    );
}

#[test]
fn a_name_lookup_takes_no_step() {
    let dns = trace("await-fetch-localhost-dns.strace");
    let evidence = build(&[run("a", Some(&dns), b"")]);
    let sql = "select shape(step order by id) from steps where step <> '~'";
    assert_eq!(value(&evidence, sql), json!("CWR"));
}

#[test]
fn views_may_be_counted_joined_and_named_by_others() {
    let all = trace("await-all.strace");
    let evidence = build(&[run("a", Some(&all), b"")]);
    assert_eq!(rows(&evidence, "select count(*) from steps where role = 'main'"), json!([[7]]));
    assert_eq!(rows(&evidence, "select count(*) from served"), json!([[0]]));
    assert_eq!(rows(&evidence, "with calls as (select 5 as x) select x from calls"), json!([[5]]));
    let error = query(&evidence, "delete from gaps").unwrap_err().to_string();
    assert!(error.starts_with("writing is not allowed"), "{error}");
}

#[test]
fn what_the_host_saw() {
    let summary = [CallCount { name: "futex", calls: 9, errors: 2, seconds: 0.25 }];
    let files = [FileLeft {
        path: "out.txt",
        kind: "file",
        size_bytes: 2,
        mode: 0o644,
        sha256: Some("ab"),
        text: Some("hi"),
    }];
    let requests = [
        RequestSeen {
            conn: 1,
            method: "GET",
            path: "/?n=1",
            status: Some(200),
            received_ns: 5,
            responded_ns: Some(9),
        },
        RequestSeen {
            conn: 2,
            method: "GET",
            path: "/?n=2",
            status: None,
            received_ns: 6,
            responded_ns: None,
        },
    ];
    let inputs = [InputFile { path: "data.txt", sha256: "cd", size_bytes: 5 }];
    let evidence = build(&[RunInput {
        summary: &summary,
        files: &files,
        requests: &requests,
        inputs: &inputs,
        ..run("a", None, b"")
    }]);
    for (table, expected) in [
        ("syscall_summary", json!([["a", 1, "futex", 9, 2, 0.25]])),
        ("files", json!([["a", 1, "out.txt", "file", 2, 420, "ab", "hi"]])),
        (
            "requests",
            json!([["a", 1, 1, 1, "GET", "/?n=1", 200, 5, 9], ["a", 1, 2, 2, "GET", "/?n=2", null, 6, null]]),
        ),
        ("inputs", json!([["a", 1, "data.txt", "cd", 5]])),
    ] {
        assert_eq!(rows(&evidence, &format!("select * from {table}")), expected, "{table}");
    }
    assert_eq!(rows(&evidence, "select tracer, complete from runs"), json!([["summary", null]]));
}
