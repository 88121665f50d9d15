//! What an author is told of a lab's folder.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Draft, MANIFEST};

/// The only fault, which begins with `place` and holds `part`.
fn check(draft: &Draft, place: &str, part: &str) {
    let faults = draft.faults();
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert!(faults[0].starts_with(&format!("{place}: ")) && faults[0].contains(part), "{faults:#?}");
}

/// `lab.toml:N`, N being the line of the n-th occurrence of `text`.
fn line(text: &str, n: usize) -> String {
    let (at, _) = MANIFEST.match_indices(text).nth(n).unwrap();
    format!("lab.toml:{}", MANIFEST[..at].matches('\n').count() + 1)
}

#[test]
fn a_right_lab_loads_and_survives_its_snapshot() {
    let draft = Draft::new();
    let lab = draft.load().unwrap();
    assert_eq!((lab.slug.as_str(), lab.max_points(), lab.runs.len()), ("small", 3, 2));
    assert_eq!(lab.files["data.txt"], "data\n");
    let snapshot = serde_json::to_string(&lab).unwrap();
    assert_eq!(serde_json::from_str::<lab::Lab>(&snapshot).unwrap(), lab);
    assert_eq!(lab::load_all(draft.dir().parent().unwrap()).unwrap(), [lab]);
}

#[test]
fn the_digest_covers_everything_but_solutions() {
    let digest = |draft: Draft| draft.load().unwrap().digest;
    let first = digest(Draft::new());
    assert_eq!(first.len(), 64);
    assert_eq!(first, digest(Draft::new()));
    assert_eq!(first, digest(Draft::new().put("solutions/reference/main.js", "1")));
    for (name, text) in
        [("ja.md", "別"), ("starter/more.js", ""), ("files/data.txt", "data"), ("en.notes.md", "H")]
    {
        assert_ne!(first, digest(Draft::new().put(name, text)), "{name}");
    }
}

#[test]
fn faults_of_the_manifest() {
    let check_opens = line("[[check]]", 0);
    let cases = [
        ("format = 1", "format = 2", line("format", 0), "format 2 is not known"),
        ("evidence = 1", "evidence = 9", line("evidence", 0), "hint: evidence = 1"),
        ("\"node24\"", "\"../node\"", line("image", 0), "not the name of an image"),
        ("\"main.js\"", "\"other.js\"", line("entry", 0), "starter/other.js does not exist"),
        ("minutes = 5", "minutes = 0", line("minutes", 0), "1 to 600"),
        ("minutes = 5", "minuts = 5", line("minutes", 0), "unknown field `minuts`"),
        ("summary = \"概要\"", "summary = \" \"", line("[ja]", 0), "a text of ja is empty"),
        ("\"plain\"", "\"Plain\"", line("\"plain\"", 0), "not a name"),
        ("\"plain\"", "\"one\"", line("\"plain\"", 0), "label \"one\" is taken"),
        ("tracer = \"none\"", "limits = { wall_ms = 1 }", line("tracer", 0), "hint: 500 to 120000"),
        ("tracer = \"none\"", "limits = { wall = 1 }", line("tracer", 0), "unknown field `wall`"),
        ("tracer = \"none\"", "env = { \"1\" = \"x\" }", line("tracer", 0), "env \"1\""),
        ("tracer = \"none\"", "args = [\"\\u0000\"]", line("tracer", 0), "NUL"),
        ("value = \"b\"", "value = \"a\"", line("options", 0), "option \"a\" is there twice"),
        ("type = \"number\"", "type = \"number\"\nmultiple = true", line("type", 1), "only a choice"),
        ("prompt = \"どれ\"", "prompt = \"\"", line("ja = {", 0), "a text of ja is empty"),
        ("id = \"knows\"", "id = \"opens\"", line("id = \"knows\"", 0), "id \"opens\" is taken"),
        ("points = 2", "points = 1001", line("points", 0), "0 to 1000"),
        ("where path", "where pth", line("sql", 0), "sql is not a query: no such column: pth"),
        ("select id, path", "delete", line("sql", 0), "sql is not a query"),
        ("select value", "select :port", line("sql", 1), ":port has no value"),
        ("near = \"select id,", "near = \"select idd,", line("near", 0), "near is not a query"),
        ("expect = \"rows\"", "expect = \"row\"", line("expect", 0), "not \"row\""),
        ("expect = \"rows\"", "expect = { row = 1 }", line("expect", 0), "expect is \"rows\""),
        ("expect = \"rows\"", "expect = { value = \"> 1\" }", line("sql", 0), "select one column"),
        ("runs = [\"one\"]", "runs = [\"two\"]", line("runs", 0), "hint: the lab runs: one, plain"),
        ("answers = [\"tid\"]", "answers = [\"pid\"]", line("answers = ", 0), "the lab asks: guess, tid"),
        ("{near.path} だけ", "{near.file} だけ", line("[check.ja]", 0), "ja.fail: {near.file} is none of"),
        (
            "Opened {row.path}",
            "Opened {near.path}",
            line("[check.en]", 0),
            "en.pass: {near.path} has no query",
        ),
        ("Opened {row.path}", "Opened {rwo.path}", line("[check.en]", 0), "{rwo.path}"),
        ("fail = \"No\"", "fail = \"No {near.path}\"", line("en = {", 2), "has no query to fill it"),
        ("fail = \"No\"", "fail = \"No\", hint = \"Look\"", line("ja = {", 2), "hint is in one language"),
        ("fail = \"No\"", "fail = \"\"", line("en = {", 2), "a text of en is empty"),
        ("points = 2", "windows = [\"w\"]\npoints = 2", line("points", 0), "hint: declare a [[window]]"),
        ("where path", "where win is null and path", line("sql", 0), "declares no windows"),
        ("where path", "where exists (select * from files) and path", line("sql", 0), "no run collects them"),
        ("where path", "where `Win` is null and path", line("sql", 0), "declares no windows"),
        ("title = \"Opens\"\n", "", line("[check.en]", 0), "missing field `title`"),
        ("id = \"opens\"\n", "", check_opens, "missing field `id`"),
    ];
    for (from, to, place, part) in cases {
        check(&Draft::new().edit(from, to), &place, part);
    }
}

/// The small lab with more tables before its checks, and the line of the first of them.
fn with(tables: &str) -> (Draft, usize) {
    let at = MANIFEST.find("[[check]]").unwrap();
    let before = MANIFEST[..at].matches('\n').count() + 1;
    (Draft::new().edit("[[check]]", &format!("{tables}\n[[check]]")), before)
}

#[test]
fn faults_of_windows_and_queries() {
    for (tables, offset, part) in [
        ("[[window]]\nname = \"w\"", 1, "between two marks, or one request"),
        ("[[window]]\nname = \"w\"\nfrom = \"a\"", 1, "between two marks, or one request"),
        ("[[window]]\nname = \"w\"\nfrom = \"a\"\nto = \"b\"\nrequest = \"/\"", 1, "between two marks"),
        ("[[window]]\nname = \"w\"\nfrom = \"a\"\nto = \"b\"\nnth = 1", 1, "between two marks"),
        ("[[window]]\nname = \"W w\"\nfrom = \"a\"\nto = \"b\"", 1, "is not a name"),
        ("[[window]]\nname = \"w\"\nfrom = \"a\"\nto = \"a\"", 3, "opens and closes with the same mark"),
        ("[[window]]\nname = \"w\"\nfrom = \"\"\nto = \"a\"", 2, "from is empty"),
        ("[[window]]\nname = \"w\"\nrequest = \"all\"", 2, "not a path"),
        ("[[window]]\nname = \"w\"\nrequest = \"/all?n=1\"", 2, "without its query"),
        ("[[window]]\nname = \"w\"\nrequest = \"/all\"\nnth = 0", 3, "counted from 1"),
        ("[[window]]\nname = \"w\"\nform = \"a\"", 2, "unknown field `form`"),
        (
            "[[query]]\nsql = \"select nope from events\"\nja = { title = \"題\" }\nen = { title = \"T\" }",
            1,
            "no such column: nope",
        ),
        (
            "[[query]]\nsql = \"delete from events\"\nja = { title = \"題\" }\nen = { title = \"T\" }",
            1,
            "sql is not a query",
        ),
        (
            "[[query]]\nsql = \"select 1\"\nja = { title = \"題\" }\nen = { title = \" \" }",
            3,
            "a text of en is empty",
        ),
        ("[[query]]\nsql = \"select 1\"\nja = { title = \"題\" }", 0, "missing field `en`"),
    ] {
        let (draft, first) = with(tables);
        check(&draft, &format!("lab.toml:{}", first + offset), part);
    }
    let twice = "[[window]]\nname = \"w\"\nrequest = \"/\"\n[[window]]\nname = \"w\"\nrequest = \"/b\"";
    let (draft, first) = with(twice);
    check(&draft, &format!("lab.toml:{}", first + 4), "name \"w\" is taken");
    let (draft, _) = with("[[window]]\nname = \"w\"\nrequest = \"/\"");
    let untraced = draft.edit("runs = [\"one\"]", "runs = [\"plain\"]\nwindows = [\"w\"]");
    let faults = untraced.faults();
    assert!(faults.len() == 1 && faults[0].contains("none of its runs is traced"), "{faults:#?}");
}

#[test]
fn windows_and_queries_are_part_of_the_lab() {
    let query = "[[query]]\nsql = \"select id from events where path = :path\"\nja = { title = \"題\" }\nen = { title = \"T\" }";
    let window = "[[window]]\nname = \"w\"\nfrom = \"a\"\nto = \"b\"";
    let (draft, _) = with(&format!("{window}\n{query}"));
    let lab = draft.load().unwrap();
    assert_eq!((lab.windows.len(), lab.windows[0].name.as_str()), (1, "w"));
    assert_eq!((lab.queries.len(), lab.queries[0].title(lab::Lang::Ja)), (1, "題"));
    let snapshot = serde_json::to_value(&lab).unwrap();
    assert_eq!(serde_json::from_value::<lab::Lab>(snapshot.clone()).unwrap(), lab);
    // An older snapshot knows neither.
    let mut older = snapshot;
    for key in ["windows", "queries"] {
        older.as_object_mut().unwrap().remove(key).unwrap();
    }
    for check in older["checks"].as_array_mut().unwrap() {
        check.as_object_mut().unwrap().remove("windows").unwrap();
    }
    let older: lab::Lab = serde_json::from_value(older).unwrap();
    assert!(older.windows.is_empty() && older.queries.is_empty() && older.checks == lab.checks);
}

#[test]
fn a_text_of_one_language_is_missing() {
    let knows = "en = { title = \"Knows\", pass = \"Yes\", fail = \"No\" }\n";
    check(&Draft::new().edit(knows, ""), &line("[[check]]", 1), "missing field `en`");
    check(&Draft::new().remove("ja.md"), "ja.md", "is missing or empty");
    check(&Draft::new().put("en.notes.md", " \n"), "en.notes.md", "is missing or empty");
}

#[test]
fn faults_of_files() {
    check(&Draft::new().remove("lab.toml"), "lab.toml", "is missing");
    check(&Draft::new().put("en.note.md", "x"), "en.note.md", "does not belong here");
    check(&Draft::new().put("starter/data.txt", "x"), "starter/data.txt", "is in files/ as well");
    check(&Draft::new().put("starter/latin.js", b"ok\n\xff".to_vec()), "starter/latin.js:2", "not UTF-8");
    check(&Draft::new().put("files/big", vec![b'x'; 1024 * 1024 + 1]), "files/big", "at most 1048576");
    let heavy = vec![b'x'; 1024 * 1024];
    check(&Draft::new().put("starter/heavy.js", heavy), "starter", "2 files of 1048600 bytes in all");
    check(&Draft::new().edit("minutes = 5", "minutes = "), "lab.toml:5", "");
}

#[test]
fn links_are_refused() {
    let draft = Draft::new();
    let dir = draft.write();
    symlink("/etc/passwd", dir.join("files/link")).unwrap();
    let faults = lab::load(&dir).unwrap_err().to_string();
    assert!(faults.contains("files/link: not a regular file"), "{faults}");
    fs::rename(&dir, dir.with_file_name("Small_Lab")).unwrap();
    let faults = lab::load(&dir.with_file_name("Small_Lab")).unwrap_err();
    assert!(faults.to_string().contains("cannot name a lab"), "{faults}");
}

#[test]
fn all_faults_come_at_once_in_order() {
    let draft = Draft::new()
        .edit("minutes = 5", "minutes = 0")
        .edit("label = \"one\"", "lable = \"one\"")
        .edit("where path", "where pth")
        .edit("runs = [\"one\"]", "runs = [\"two\"]")
        .edit("value = 7", "value = ")
        .remove("en.md");
    let places: Vec<_> =
        draft.faults().iter().map(|fault| fault.split(' ').next().unwrap().to_owned()).collect();
    // No word about run "two": which runs there are is not known while one of them cannot be read.
    let of = |text, n| format!("{}:", line(text, n));
    let expected = ["en.md:".to_owned(), of("minutes", 0), of("label", 0), of("sql", 0), of("sql", 1)];
    assert_eq!(places, expected);
}

#[test]
fn no_points_at_all() {
    let draft = Draft::new().edit("points = 2", "points = 0").edit("points = 1", "points = 0");
    check(&draft, "lab.toml", "no check has points");
}
