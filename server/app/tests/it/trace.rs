//! `todoku trace` as its users meet it: the binary, on recorded traces.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../strace/tests/fixtures").join(name)
}

fn todoku(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_todoku"))
        .arg("trace")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A child that refuses its input closes it early.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a call prints that ends well and has nothing to complain of.
fn prints(arguments: &[&str], input: &[u8]) -> String {
    let output = todoku(arguments, input);
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    assert!(output.status.success());
    text(&output.stdout)
}

/// Exit status and complaint of a call.
fn fails(arguments: &[&str], input: &[u8]) -> (i32, String) {
    let output = todoku(arguments, input);
    (output.status.code().unwrap(), text(&output.stderr))
}

const COUNT: &str = "select count(*) as events, count(distinct tid) as threads from events";

#[test]
fn sql_in_every_form() {
    let file = fixture("read-default.strace");
    let ask = |form: &str| prints(&[file.to_str().unwrap(), "--sql", COUNT, "--format", form], b"");
    assert_eq!(ask("csv"), "events,threads\r\n217,11\r\n");
    assert_eq!(ask("markdown").lines().last(), Some("| 217 | 11 |"));
    assert_eq!(ask("table"), "events  threads\n------  -------\n   217       11\n");
    let json: Json = serde_json::from_str(&ask("json")).unwrap();
    assert_eq!(
        json,
        serde_json::json!({ "columns": ["events", "threads"], "rows": [[217, 11]], "truncated": false })
    );
}

#[test]
fn packed_texts_and_standard_input_say_the_same() {
    let file = fixture("read-default.strace");
    let plain = std::fs::read(&file).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&plain).unwrap();
    let expected = prints(&[file.to_str().unwrap(), "--sql", COUNT], b"");
    for input in [plain.clone(), gz.finish().unwrap(), zstd::encode_all(plain.as_slice(), 1).unwrap()] {
        assert_eq!(prints(&["-", "--sql", COUNT], &input), expected);
    }
}

#[test]
fn an_overview_says_what_the_trace_is_and_what_to_type() {
    let file = fixture("613-read-default.strace");
    let shown = prints(&[file.to_str().unwrap(), "--entry", "/lab/read.js"], b"");
    for line in
        ["events, complete", "exited with 0", "4 libuv-worker", "--summary", "--timeline", "--perfetto"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn a_summary_tells_roles_calls_paths_and_sockets_apart() {
    let file = fixture("await-fetch.strace");
    let shown = prints(&[file.to_str().unwrap(), "--entry", "/lab/F_fetch.mjs", "--summary"], b"");
    for words in
        ["Calls, by", "Roles: how", "waiting_ms", "Paths, by", "/lab/F_fetch.mjs", "Sockets, by", "TCP:["]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn a_timeline_has_a_lane_for_each_thread_and_fits() {
    let file = fixture("marks.strace");
    let file = file.to_str().unwrap();
    let shown = prints(&[file, "--entry", "/lab/p16.js", "--timeline", "--width", "72"], b"");
    let threads = prints(&[file, "--sql", "select count(*) from threads", "--format", "csv"], b"");
    let threads: usize = threads.lines().last().unwrap().parse().unwrap();
    let lanes = shown.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())).count();
    let marks = shown.lines().filter(|line| line.starts_with("marks")).count();
    assert_eq!(lanes, threads + marks, "{shown}");
    assert!(shown.contains("boot") && shown.contains("mark "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 72), "{shown}");
    let boot = prints(&[file, "--entry", "/lab/p16.js", "--timeline", "--boot"], b"");
    assert!(!boot.contains("left out"));
    let untimed = prints(&["-", "--timeline"], b"1 close(3) = 0\n1 +++ exited with 0 +++\n");
    assert!(untimed.contains("strace -ttt -T"));
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = fixture("block-offload.strace");
    let (database, picture) = (folder.path().join("x.sqlite"), folder.path().join("x.json"));
    std::fs::write(&database, "an older file").unwrap();
    let (out, perfetto) = (database.to_str().unwrap(), picture.to_str().unwrap());
    let shown = todoku(&[file.to_str().unwrap(), "--out", out, "--perfetto", perfetto], b"");
    assert!(shown.status.success() && shown.stdout.is_empty());
    assert!(std::fs::read(&database).unwrap().starts_with(b"SQLite format 3\0"));
    let picture: Json = serde_json::from_slice(&std::fs::read(&picture).unwrap()).unwrap();
    assert!(picture["traceEvents"].as_array().unwrap().len() > 100);

    let (code, why) = fails(&["-", "--out", out], b"not a trace\n");
    assert_eq!((code, why.contains("line 1")), (1, true), "{why}");
    assert!(std::fs::read(&database).unwrap().starts_with(b"SQLite"), "the older file stays");
    let nowhere = folder.path().join("no/x.sqlite");
    let (code, why) = fails(&[file.to_str().unwrap(), "--out", nowhere.to_str().unwrap()], b"");
    assert!(code == 1 && why.contains("there is no folder"), "{why}");
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no half is left: {names:?}");
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = fixture("read-default.strace");
    let file = file.to_str().unwrap();
    let packed = zstd::encode_all(std::fs::read(file).unwrap().as_slice(), 1).unwrap();
    let run = b"1 close(3) = 0\n1 +++ exited with 0 +++\n";
    let slow = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n";
    let cases: [(&[&str], &[u8], i32, &str); 12] = [
        (&["/no/such/file"], b"", 1, "/no/such/file: No such file"),
        (&[folder.path().to_str().unwrap()], b"", 1, "it is a folder"),
        (&["-"], b"", 1, "standard input: it is empty"),
        (&["-"], b"dear diary\n", 1, "line 1: not the text of strace"),
        (&["-", "--summary"], b"\x7fELF\x02\x01\n", 1, "line 1: not the text of strace"),
        (&["-"], &packed[..packed.len() / 2], 1, "standard input, line "),
        (&["-"], b"BZh91AY", 1, ".gz and .zst are"),
        (&[file, file], b"", 2, "is given twice"),
        (&[file, "--sql", "select 1 +"], b"", 3, "incomplete input"),
        (&[file, "--sql", "drop table events"], b"", 3, "writing is not allowed"),
        (&["-", "--sql", slow, "--timeout", "1"], run, 3, "time: it may run for 1000 ms"),
        (&[file, "--sql", "@/no/such.sql"], b"", 1, "cannot read the query in /no/such.sql"),
    ];
    for (arguments, input, code, words) in cases {
        let (got, why) = fails(arguments, input);
        assert_eq!(got, code, "{arguments:?}: {why}");
        assert!(why.contains(words), "{arguments:?}: {why}");
    }
    assert_eq!(fails(&[], b"").0, 2);
    assert_eq!(fails(&[file, "--format", "csv"], b"").0, 2, "a form of nothing");
}

#[test]
fn oddities_are_told_and_the_rest_is_read() {
    let output =
        todoku(&["-", "--sql", "select name from events", "--format", "csv"], b"1 close(3) = 0\n?!\n");
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), "name\r\nclose\r\n");
    let told = text(&output.stderr);
    assert!(told.contains("standard input, line 2") && told.contains("not complete"), "{told}");
}

#[test]
fn files_of_single_threads_are_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "run.7",
        "1796068214.000100 clone(flags=CLONE_VM|CLONE_THREAD) = 8 <0.000010>\n1796068214.000400 +++ exited with 0 +++\n",
    );
    write("run.8", "1796068214.000200 close(3) = 0 <0.000010>\n1796068214.000300 +++ exited with 0 +++\n");
    let prefix = folder.path().join("run");
    let prefix = prefix.to_str().unwrap();
    let (first, second) = (format!("{prefix}.7"), format!("{prefix}.8"));
    let sql = "select run, pid, tid, name from events order by id";
    for files in [vec![prefix], vec![&first, &second]] {
        let shown = prints(&[&files[..], &["--sql", sql, "--format", "csv"]].concat(), b"");
        let expected =
            "run,pid,tid,name\r\nrun,7,7,clone\r\nrun,7,8,close\r\nrun,7,8,exited\r\nrun,7,7,exited\r\n";
        assert_eq!(shown, expected);
    }
}

/// Whoever reads the first line only, as head(1) does, is no fault.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_todoku"))
        .args(["trace", fixture("open-mix.strace").to_str().unwrap(), "--sql", "select * from events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

/// The summary of a long text takes no more memory than that of a short one.
#[test]
fn a_summary_takes_constant_memory() {
    let peak = |lines: usize| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_todoku"))
            .args(["trace", "-", "--summary"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let thousand: String = (0..1000)
            .map(|n| format!("{} 1796068214.{n:06} read(3</tmp/file>, \"some text that was read\", 65536) = 23 <0.000010>\n", 10 + n % 7))
            .collect();
        for _ in 0..lines / 1000 {
            stdin.write_all(thousand.as_bytes()).unwrap();
        }
        // All but what the pipe holds has been read.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success());
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap()
    };
    let (short, long) = (peak(20_000), peak(400_000));
    assert!(long < short + 4096, "{short} kB, then {long} kB");
}
