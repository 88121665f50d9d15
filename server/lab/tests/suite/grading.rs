//! Verdicts: what makes a check pass, fail or stay without one.

use lab::{Answers, CheckGrade, FileKind, FileLeft, FilesLeft, Given, Lang, Reason, Run, Status, grade};
use serde_json::json;

use crate::support::{Draft, answers, run};

/// Line 3 opens the entry, line 4 the file; the process ends.
const TRACE: &[u8] = br#"7 1.000000 execve("/usr/local/bin/node", ["node"], 0x7f /* 3 vars */) = 0 <0.000100>
7 1.100000 openat(AT_FDCWD</lab>, "/etc/passwd", O_RDONLY) = 3</etc/passwd> <0.000010>
7 1.200000 openat(AT_FDCWD</lab>, "/lab/main.js", O_RDONLY) = 4</lab/main.js> <0.000010>
7 1.300000 openat(AT_FDCWD</lab>, "/etc/hostname", O_RDONLY) = 5</etc/hostname> <0.000010>
7 1.400000 exit_group(0) = ?
7 1.500000 +++ exited with 0 +++
"#;

fn runs(trace: &[u8]) -> Vec<Run> {
    vec![run("one", Some(trace)), run("plain", None)]
}

fn without(line: usize) -> Vec<u8> {
    let lines = TRACE.split_inclusive(|&byte| byte == b'\n').enumerate();
    lines.filter(|(n, _)| *n != line - 1).flat_map(|(_, line)| line.to_vec()).collect()
}

/// The grade of one check of a lab.
fn check(draft: &Draft, runs: &[Run], after: &Answers, id: &str) -> (lab::Lab, CheckGrade) {
    let lab = draft.load().unwrap();
    let evidence = lab.gather(runs, Given { after, ..Given::default() }).unwrap();
    let first = grade(&lab, &evidence);
    assert_eq!(first, grade(&lab, &evidence), "the same evidence has the same grade");
    let json = serde_json::to_string(&first).unwrap();
    assert_eq!(serde_json::from_str::<lab::Grade>(&json).unwrap(), first);
    let of_check = first.checks.into_iter().find(|check| check.id == id).unwrap();
    (lab, of_check)
}

#[test]
fn a_pass_shows_the_line() {
    let (lab, got) = check(&Draft::new(), &runs(TRACE), &Answers::new(), "opens");
    assert_eq!((got.status, got.reason, got.points, got.max_points), (Status::Passed, None, 2, 2));
    assert_eq!(got.evidence.len(), 1);
    let row = &got.evidence[0];
    assert_eq!((row.run.as_deref(), row.line), (Some("one"), Some(4)));
    assert!(row.event.is_some() && row.text.contains("\"/etc/hostname\""), "{row:?}");
    let texts = lab.check("opens").unwrap();
    assert_eq!(texts.message(&got, Lang::Ja), "/etc/hostname を開いた");
    assert_eq!(texts.message(&got, Lang::En), "Opened /etc/hostname");
}

#[test]
fn a_failure_shows_what_happened_instead() {
    let (lab, got) = check(&Draft::new(), &runs(&without(4)), &Answers::new(), "opens");
    assert_eq!((got.status, got.points), (Status::Failed, 0));
    let lines: Vec<_> = got.evidence.iter().map(|row| row.line).collect();
    assert_eq!(lines, [Some(2), Some(3)]);
    assert_eq!(lab.check("opens").unwrap().message(&got, Lang::En), "Opened /etc/passwd instead");
}

#[test]
fn a_failure_without_near_shows_the_rows_themselves() {
    let draft = Draft::new()
        .edit("near = \"select id, name, path from events where name = 'openat' order by id\"\n", "")
        .edit("expect = \"rows\"", "expect = \"none\"")
        .edit("{near.path} だけ", "x")
        .edit("Opened {near.path} instead", "Saw {row.path}");
    let (lab, got) = check(&draft, &runs(TRACE), &Answers::new(), "opens");
    assert_eq!((got.status, got.evidence.len()), (Status::Failed, 1));
    assert_eq!(lab.check("opens").unwrap().message(&got, Lang::En), "Saw /etc/hostname");
}

#[test]
fn no_verdict_on_files_of_which_some_are_missing() {
    let draft = Draft::new().edit("label = \"one\"\n", "label = \"one\"\ncollect = true\n").edit(
        "from events where path = '/etc/hostname'",
        "from events where exists (select * from files where path = 'out')",
    );
    let row = FileLeft {
        path: "out".to_owned(),
        kind: FileKind::File,
        size_bytes: 1,
        mode: 0o644,
        sha256: None,
        text: None,
    };
    for (cut, status, points) in
        [(None, Status::Passed, 2), (Some("too many".to_owned()), Status::NotJudged, 0)]
    {
        let mut runs = runs(TRACE);
        runs[0].files = Some(FilesLeft { rows: vec![row.clone()], cut: cut.clone() });
        let (_, got) = check(&draft, &runs, &Answers::new(), "opens");
        let reason = cut.is_some().then_some(Reason::EvidenceIncomplete);
        assert_eq!((got.status, got.reason, got.points), (status, reason, points), "{cut:?}");
    }
}

#[test]
fn no_verdict_on_evidence_that_is_not_whole() {
    let crashed = without(6);
    let cases: [(&str, Vec<Run>, &str); 3] = [
        ("the end is missing", runs(&crashed), "one: the end of the main process"),
        ("nothing was traced", vec![run("one", Some(b"")), run("plain", None)], "one: "),
        ("the run did not take place", vec![run("plain", None)], "one: was not executed"),
    ];
    for (name, runs, detail) in cases {
        let (_, got) = check(&Draft::new(), &runs, &Answers::new(), "opens");
        let reason = Some(Reason::EvidenceIncomplete);
        assert_eq!((got.status, got.reason, got.points), (Status::NotJudged, reason, 0), "{name}");
        assert!(got.detail.as_ref().unwrap().contains(detail), "{name}: {got:?}");
    }
}

/// A check that nothing is opened between two marks.
fn between_marks() -> Draft {
    let draft = Draft::new()
        .edit("[[check]]", "[[window]]\nname = \"quiet\"\nfrom = \"a\"\nto = \"b\"\n\n[[check]]")
        .edit("where path = '/etc/hostname'", "where win = 'quiet' and name = 'openat'")
        .edit("expect = \"rows\"", "expect = \"none\"\nwindows = [\"quiet\"]");
    // All its runs: the untraced one has no windows and none is asked of it.
    draft.edit("runs = [\"one\"]\n", "")
}

/// The trace with a mark at each of these times.
fn marked(marks: &[(&str, &str)]) -> Vec<u8> {
    let mut lines: Vec<String> =
        TRACE.split(|&byte| byte == b'\n').map(|l| String::from_utf8_lossy(l).into_owned()).collect();
    lines.retain(|line| !line.is_empty());
    for (time, mark) in marks {
        lines.push(format!(
            "7 {time} access(\"/__mark__/{mark}\", F_OK) = -1 ENOENT (No such file or directory) <0.000010>"
        ));
    }
    lines.sort();
    (lines.join("\n") + "\n").into_bytes()
}

#[test]
fn a_window_that_was_never_opened_fails_its_check() {
    for (marks, status, reason) in [
        (&[("1.310000", "a"), ("1.390000", "b")][..], Status::Passed, None),
        (&[("1.210000", "a"), ("1.390000", "b")], Status::Failed, None),
        // Never closed: everything to the end lies in it.
        (&[("1.210000", "a")], Status::Failed, None),
        (&[("1.310000", "a")], Status::Passed, None),
        (&[], Status::Failed, Some(Reason::MarkMissing)),
        (&[("1.390000", "b")], Status::Failed, Some(Reason::MarkMissing)),
    ] {
        let (_, got) = check(&between_marks(), &runs(&marked(marks)), &Answers::new(), "opens");
        assert_eq!((got.status, got.reason), (status, reason), "{marks:?}");
    }
    let (lab, got) = check(&between_marks(), &runs(&marked(&[])), &Answers::new(), "opens");
    assert_eq!((got.points, got.detail.as_deref()), (0, Some("one: mark('a')")));
    let texts = lab.check("opens").unwrap();
    assert!(
        texts
            .message(&got, Lang::En)
            .contains("does not show the beginning of the span that this check looks into (one: mark('a'))")
    );
    assert!(texts.message(&got, Lang::Ja).contains("見つかりませんでした(one: mark('a'))"));
    assert_eq!(texts.hint(&got, Lang::En), None);
    assert_eq!(serde_json::to_value(got.reason).unwrap(), json!("mark_missing"));
}

#[test]
fn the_files_put_in_are_inputs_of_every_run() {
    let lab = Draft::new().load().unwrap();
    // The learner's file of the same name is not what was put in.
    let files = lab::Files::from([("a.js".into(), "1".into()), ("data.txt".into(), "forged".into())]);
    let evidence = lab.gather(&runs(TRACE), Given { files: &files, ..Given::default() }).unwrap();
    let sql = "select run, try, path, size_bytes, sha256 from inputs where path <> 'a.js'";
    let learners = "select run, size_bytes from inputs where path = 'a.js'";
    let rows = evidence.query(learners, &[], &evidence::QueryLimits::default()).unwrap().rows;
    assert_eq!(json!(rows), json!([["one", 1], ["plain", 1]]));
    let rows = evidence.query(sql, &[], &evidence::QueryLimits::default()).unwrap().rows;
    // printf 'data\n' | sha256sum
    let sha256 = "6667b2d1aab6a00caa5aee5af8ad9f1465e567abf1c209d15727d57b3e8f6e5f";
    assert_eq!(json!(rows), json!([["one", 1, "data.txt", 5, sha256], ["plain", 1, "data.txt", 5, sha256]]));
}

#[test]
fn a_check_of_answers_needs_no_run() {
    let (_, got) = check(&Draft::new(), &[], &answers([("tid", json!(7))]), "knows");
    assert_eq!((got.status, got.points), (Status::Passed, 1));
    assert_eq!(got.evidence[0].text, "value = 7");
}

#[test]
fn answers_are_awaited_then_judged() {
    let cases = [
        (answers([]), Status::NotJudged, Some(Reason::AwaitingAnswer)),
        (answers([("tid", json!(7))]), Status::Passed, None),
        (answers([("tid", json!(7.0))]), Status::Passed, None),
        (answers([("tid", json!(8))]), Status::Failed, None),
    ];
    for (after, status, reason) in cases {
        let (_, got) = check(&Draft::new(), &runs(TRACE), &after, "knows");
        assert_eq!((got.status, got.reason), (status, reason), "{after:?}");
    }
}

#[test]
fn a_prediction_that_was_left_out_is_not_awaited() {
    let draft = Draft::new().edit("answers = [\"tid\"]", "answers = [\"guess\"]");
    let (_, got) = check(&draft, &runs(TRACE), &Answers::new(), "knows");
    assert_eq!(got.status, Status::Failed);
}

#[test]
fn an_error_in_a_check_is_the_authors() {
    // Each is right on an empty database, which is all that loading can try.
    let two_rows = "select id from events limit 2\"\nexpect = { value = \"> 0\" } #";
    let too_many = "select a.id from events a, events b, events c, events d, events e, events f\" #";
    for (sql, detail) in [(two_rows, "2 rows"), (too_many, "rows: it may return 10000")] {
        let draft = Draft::new().edit("select id, path from events where path = '/etc/hostname'\"", sql);
        let draft = if sql == two_rows { draft.edit("\nexpect = \"rows\"", "") } else { draft };
        let draft = draft.edit("{row.path} を開いた", "x").edit("Opened {row.path}", "x");
        let (lab, got) = check(&draft, &runs(TRACE), &Answers::new(), "opens");
        assert_eq!((got.status, got.reason), (Status::NotJudged, Some(Reason::CheckError)));
        assert!(got.detail.as_ref().unwrap().contains(detail), "{got:?}");
        assert!(lab.check("opens").unwrap().message(&got, Lang::En).contains("not to blame"));
    }
}

#[test]
fn a_broken_near_leaves_the_verdict() {
    let draft = Draft::new().edit(
        "select id, name, path from events where name = 'openat' order by id",
        "select a.id, a.path from events a, events b, events c, events d, events e, events f",
    );
    let (_, got) = check(&draft, &runs(&without(4)), &Answers::new(), "opens");
    assert_eq!((got.status, got.reason), (Status::Failed, None));
    assert!(got.detail.unwrap().starts_with("near: "));
}

#[test]
fn proof_is_bounded() {
    let mut trace = String::from_utf8(without(4)).unwrap();
    let path = "x".repeat(2000);
    let end = trace.find("7 1.400000").unwrap();
    for n in 0..30 {
        let line = format!(
            "7 1.3000{n:02} openat(AT_FDCWD</lab>, \"/etc/hostname\", O_RDONLY) = 5</{path}> <0.000001>\n"
        );
        trace.insert_str(end, &line);
    }
    let (_, got) = check(&Draft::new(), &runs(trace.as_bytes()), &Answers::new(), "opens");
    assert_eq!((got.status, got.evidence.len()), (Status::Passed, 20));
    assert!(got.evidence.iter().all(|row| row.text.chars().count() == 501 && row.text.ends_with('…')));
}

#[test]
fn points_add_up() {
    let lab = Draft::new().load().unwrap();
    for (runs, after, points, incomplete) in [
        (runs(TRACE), answers([("tid", json!(7))]), 3, false),
        (runs(TRACE), answers([]), 2, true),
        (runs(&without(4)), answers([("tid", json!(8))]), 0, false),
        (Vec::new(), answers([]), 0, true),
    ] {
        let evidence = lab.gather(&runs, Given { after: &after, ..Given::default() }).unwrap();
        let got = grade(&lab, &evidence);
        assert_eq!((got.points, got.max_points, got.incomplete), (points, 3, incomplete));
    }
}
