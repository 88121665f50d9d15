//! A run that only hidden checks read is nowhere to be found.

use serde_json::json;

use crate::graded::work;
use crate::support::Home;

const MANIFEST: &str = r#"format = 1
evidence = 1
image = "node24"
entry = "read.js"
minutes = 5
ja = { title = "題", summary = "概要" }
en = { title = "Title", summary = "Summary" }

[[run]]
label = "secret"
args = ["a-secret-argument"]

[[run]]
label = "shown"

[[check]]
id = "reads"
points = 1
sql = "select id from events where run = 'shown' and path = '/etc/hostname'"
expect = "rows"
runs = ["shown"]
ja = { title = "題", pass = "はい", fail = "いいえ" }
en = { title = "Title", pass = "Yes", fail = "No" }

[[check]]
id = "reads-in-secret"
points = 1
stage = "hidden"
sql = "select id from events where run = 'secret' and path = '/etc/hostname'"
expect = "rows"
runs = ["secret"]
ja = { title = "題", pass = "はい", fail = "いいえ" }
en = { title = "Title", pass = "Yes", fail = "No" }
"#;

/// A server with this lab alone.
fn home() -> Home {
    let home = Home::new().with("TODOKU_WORKERS", "0");
    let labs = home.path("labs");
    let read = "require('node:fs').readFileSync('/etc/hostname')";
    for (file, text) in [
        ("lab.toml", MANIFEST),
        ("ja.md", "本文"),
        ("en.md", "Text"),
        ("ja.notes.md", "解説"),
        ("en.notes.md", "Notes"),
        ("starter/read.js", ""),
        ("solutions/reference/read.js", read),
        ("solutions/reference/expect.toml", "about = \"Reads.\"\n"),
        ("solutions/nothing/read.js", ""),
        (
            "solutions/nothing/expect.toml",
            "about = \"Does nothing.\"\nfails = [\"reads\", \"reads-in-secret\"]\n",
        ),
    ] {
        let path = labs.join("hides").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    home.with("TODOKU_LABS_DIR", labs.display().to_string())
}

#[test]
fn a_run_of_hidden_checks_is_nowhere() {
    let home = home();
    let server = home.start();
    let mut visitor = server.visitor();
    let body = json!({ "lab": "hides", "files": { "read.js": "" } });
    let attempt = visitor.post("/api/v1/attempts", &body).header("location").to_owned();
    work(&home);
    let shown = visitor.get(&attempt).json();
    assert_eq!(shown["runs"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown["runs"][0]["label"], "shown");
    for path in [&attempt, "/api/v1/labs/hides", &format!("{attempt}/evidence.sqlite")] {
        let answer = visitor.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.body.windows(6).any(|part| part == b"secret"), "{path}");
    }
    let ask = json!({ "sql": "select run, min(id) from events group by run" });
    let asked = visitor.post(&format!("{attempt}/query"), &ask).json();
    assert_eq!(asked["rows"], json!([["shown", 1]]));
    // The proof of the grade names the same events, though the lab lists the hidden run first.
    let proof = &shown["grade"]["checks"][0]["evidence"][0];
    let ask = json!({ "sql": "select line from events where id = :id", "params": { "id": proof["event"] } });
    let asked = visitor.post(&format!("{attempt}/query"), &ask).json();
    assert_eq!(asked["rows"], json!([[proof["line"]]]), "{proof}");

    let secret = sql(&home, "select id from runs where label = 'secret'");
    assert_eq!(visitor.get(&format!("/api/v1/runs/{secret}/trace")).problem(), (404, "not_found".into()));
    let picture = visitor.get(&format!("/api/v1/runs/{secret}/trace.json"));
    assert_eq!(picture.problem(), (404, "not_found".into()));
    let seen = shown["runs"][0]["id"].as_str().unwrap();
    assert_eq!(visitor.get(&format!("/api/v1/runs/{seen}/trace")).status, 200);
}

/// One value from the server's database.
fn sql(home: &Home, query: &str) -> String {
    let out = std::process::Command::new("psql")
        .args(["-X", "-A", "-t", &home.database, "-c", query])
        .output()
        .unwrap();
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}
