//! What a learner may send.

use lab::{Answers, Files, InputFault, MAX_FILE_NAME_BYTES};
use serde_json::{Value, json};

use crate::support::{Draft, answers};

fn codes(checked: Result<(), Vec<InputFault>>) -> Vec<(String, &'static str)> {
    let faults = checked.err().unwrap_or_default();
    assert!(faults.iter().all(|fault| !fault.message.is_empty()));
    faults.into_iter().map(|fault| (fault.field, fault.code)).collect()
}

fn files(names: &[&str]) -> Files {
    names.iter().map(|name| ((*name).to_owned(), "text".to_owned())).collect()
}

#[test]
fn names_of_files() {
    let lab = Draft::new().load().unwrap();
    let long = "x".repeat(MAX_FILE_NAME_BYTES + 1);
    let cases = [
        ("lib/日本語.mjs", None),
        (".npmrc", None),
        ("a..b", None),
        ("", Some("file_name_empty")),
        (&long, Some("file_name_long")),
        ("a\0b", Some("file_name_nul")),
        ("a\nb", Some("file_name_control")),
        ("a\u{85}b", Some("file_name_control")),
        ("a\\b", Some("file_name_backslash")),
        ("/etc/passwd", Some("file_name_absolute")),
        ("../x", Some("file_name_parent")),
        ("a/../b", Some("file_name_parent")),
        ("..", Some("file_name_parent")),
        ("a//b", Some("file_name_segment")),
        ("a/", Some("file_name_segment")),
        ("./a", Some("file_name_segment")),
        ("data.txt", Some("file_reserved")),
        ("data.txt/x", Some("file_is_folder")),
    ];
    for (name, code) in cases {
        let got = codes(lab.validate_submission(&files(&["main.js", name]), &Answers::new()));
        let expected: Vec<_> = code.into_iter().collect();
        assert_eq!(got.iter().map(|(_, code)| *code).collect::<Vec<_>>(), expected, "{name:?}");
    }
    let both = codes(lab.validate_submission(&files(&["main.js", "a", "a/b"]), &Answers::new()));
    assert_eq!(both, [("files.a".to_owned(), "file_is_folder")]);
}

#[test]
fn sizes_of_submissions() {
    let lab = Draft::new().load().unwrap();
    let check = |files: &Files| codes(lab.validate_submission(files, &Answers::new()));
    let fault = |code| vec![("files".to_owned(), code)];
    assert_eq!(check(&Files::new()), fault("entry_missing"));
    let mut many: Files = (0..99).map(|n| (format!("f{n}"), String::new())).collect();
    many.insert("main.js".to_owned(), String::new());
    assert_eq!(check(&many), []);
    many.insert("one-more".to_owned(), String::new());
    assert_eq!(check(&many), fault("too_many_files"));
    let mut large = files(&["main.js"]);
    large.insert("main.js".to_owned(), "x".repeat(1024 * 1024 - "main.js".len()));
    assert_eq!(check(&large), []);
    large.insert("a".to_owned(), String::new());
    assert_eq!(check(&large), fault("files_too_large"));
}

#[test]
fn answers_of_both_stages() {
    let several =
        Draft::new().edit("type = \"choice\"", "type = \"choice\"\nmultiple = true").load().unwrap();
    let text = Draft::new().edit("type = \"number\"", "type = \"text\"").load().unwrap();
    let lab = Draft::new().load().unwrap();
    let before = |lab: &lab::Lab, id, value| {
        codes(lab.validate_submission(&files(&["main.js"]), &answers([(id, value)])))
    };
    let after = |lab: &lab::Lab, value| codes(lab.validate_after_answers(&answers([("tid", value)])));
    let cases: [(Vec<(String, &str)>, &str); 19] = [
        (before(&lab, "guess", json!("a")), ""),
        (before(&lab, "guess", json!("c")), "answers.guess answer_not_an_option"),
        (before(&lab, "guess", json!(1)), "answers.guess answer_wrong_type"),
        (before(&lab, "guess", json!(["a"])), "answers.guess answer_wrong_type"),
        (before(&lab, "guess", Value::Null), "answers.guess answer_wrong_type"),
        (before(&lab, "gues", json!("a")), "answers.gues answer_unknown"),
        (before(&lab, "tid", json!(1)), "answers.tid answer_wrong_stage"),
        (before(&several, "guess", json!([])), ""),
        (before(&several, "guess", json!(["b", "a"])), ""),
        (before(&several, "guess", json!(["a", "a"])), "answers.guess answer_repeated"),
        (before(&several, "guess", json!(["a", 1])), "answers.guess answer_wrong_type"),
        (before(&several, "guess", json!(["a", "c"])), "answers.guess answer_not_an_option"),
        (before(&several, "guess", json!("a")), "answers.guess answer_wrong_type"),
        (after(&lab, json!(-1.5)), ""),
        (after(&lab, json!("7")), "answers.tid answer_wrong_type"),
        (after(&text, json!("あ".repeat(2000))), ""),
        (after(&text, json!("あ".repeat(2001))), "answers.tid answer_too_long"),
        (codes(lab.validate_after_answers(&Answers::new())), "answers.tid answer_missing"),
        (codes(lab.validate_submission(&files(&["main.js"]), &Answers::new())), ""),
    ];
    for (n, (got, expected)) in cases.into_iter().enumerate() {
        let got: Vec<_> = got.iter().map(|(field, code)| format!("{field} {code}")).collect();
        assert_eq!(got.join(" "), expected, "case {n}");
    }
}

#[test]
fn all_faults_at_once() {
    let lab = Draft::new().load().unwrap();
    let sent = files(&["../a", "b//c"]);
    let got = codes(lab.validate_submission(&sent, &answers([("guess", json!("c")), ("x", json!(1))])));
    let fields: Vec<_> = got.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["files", "files.../a", "files.b//c", "answers.guess", "answers.x"]);
}
