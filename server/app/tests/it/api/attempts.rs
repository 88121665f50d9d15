use serde_json::{Value, json};

use crate::support::{Home, Visitor, solution};

fn check<'a>(attempt: &'a Value, id: &str) -> &'a Value {
    let checks = attempt["grade"]["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no check {id}"))
}

#[test]
fn from_a_submission_to_a_full_grade() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit(&solution("reference"));
    let states = visitor.follow(&attempt, |_| false);
    let last = states.last().unwrap();
    assert_eq!(last["state"], "graded", "{last}");
    let known = ["queued", "running", "graded"];
    let order: Vec<_> = states.iter().map(|s| known.iter().position(|k| s["state"] == *k).unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");

    let opened = check(last, "async-on-pool");
    assert_eq!(opened["status"], "passed");
    let proof = &opened["evidence"][0];
    let run = last["runs"].as_array().unwrap().iter().find(|run| run["label"] == proof["run"]).unwrap();
    let trace = visitor.get(&format!("/api/v1/runs/{}/trace", run["id"].as_str().unwrap()));
    assert!(trace.header("content-disposition").contains(".strace"));
    let line = usize::try_from(proof["line"].as_u64().unwrap()).unwrap();
    let text = String::from_utf8(trace.body).unwrap();
    assert_eq!(text.lines().nth(line - 1).unwrap(), proof["text"], "the proof is a line of the trace");
    assert!(run["stdout"]["text"].as_str().unwrap().contains("os-release"));
    assert_eq!(check(last, "knows-sync-tid")["reason"], "awaiting_answer");

    let answered = answer(&mut visitor, &attempt, last, &text);
    assert_eq!(answered["grade"]["version"], 2);
    assert_eq!(answered["grade"]["points"], answered["grade"]["max_points"], "{answered}");
    let again =
        visitor.post(&format!("{attempt}/answers"), &json!({ "answers": answered["answers"]["after"] }));
    assert_eq!(again.problem(), (409, "answers_already_given".into()));
    let list = visitor.get("/api/v1/attempts").json();
    assert_eq!(list["items"][0]["points"], answered["grade"]["points"]);
}

/// Answers as a learner does, who reads the trace.
fn answer(visitor: &mut Visitor, attempt: &str, graded: &Value, trace: &str) -> Value {
    let tid = |path: &str| -> u64 {
        let opens = |line: &&str| line.contains("openat(") && line.contains(path);
        let line = trace.lines().find(opens).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let answers = json!({
        "sync-tid": tid("\"/etc/hostname\""),
        "async-tid": tid("\"/etc/os-release\""),
        "pool-born": "first-async",
        "clone-flags": ["shares-memory", "shares-fds", "shares-cwd", "same-process"],
    });
    assert_eq!(graded["answers"]["after"], Value::Null);
    let answer = visitor.post(&format!("{attempt}/answers"), &json!({ "answers": answers }));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[test]
fn a_failed_check_says_what_happened_instead() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit(&solution("everything-sync"));
    visitor.ended(&attempt);
    for (lang, word) in [("en", "main"), ("ja", "main")] {
        let shown = visitor.get(&format!("{attempt}?lang={lang}")).json();
        let failed = check(&shown, "async-on-pool");
        assert_eq!((&failed["status"], &failed["points"]), (&json!("failed"), &json!(0)));
        assert!(failed["message"].as_str().unwrap().contains(word), "{failed}");
        assert!(!failed["hint"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_script_that_does_not_parse_is_graded() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit("const fs = require('node:fs'\n");
    let graded = visitor.ended(&attempt);
    assert_eq!((&graded["state"], &graded["grade"]["points"]), (&json!("graded"), &json!(0)));
    assert!(graded["runs"][0]["stderr"]["text"].as_str().unwrap().contains("SyntaxError"));
    assert_eq!(graded["runs"][0]["exit_code"], 1);
}

#[test]
fn nobody_sees_what_is_somebody_elses() {
    let home = Home::new().with("TODOKU_ADMIN_TOKEN", "a-token-of-more-than-thirty-two-characters");
    let server = home.start();
    let mut owner = server.visitor();
    let attempt = owner.submit(&solution("reference"));
    let run = owner.ended(&attempt)["runs"][0]["id"].as_str().unwrap().to_owned();
    let mut other = server.visitor();
    other.submit(&solution("reference"));
    let mut nobody = server.visitor();
    for stranger in [&mut other, &mut nobody] {
        for (method, path, body) in [
            ("GET", attempt.clone(), None),
            ("GET", format!("{attempt}/events"), None),
            ("DELETE", attempt.clone(), None),
            ("POST", format!("{attempt}/answers"), Some(&b"{\"answers\":{}}"[..])),
            ("GET", format!("/api/v1/runs/{run}/trace"), None),
        ] {
            assert_eq!(
                stranger.send(method, &path, body).problem(),
                (404, "not_found".into()),
                "{method} {path}"
            );
        }
    }
    assert_eq!(nobody.get("/api/v1/attempts").json()["items"], json!([]));
    let mut admin = server.visitor();
    admin.headers.push(("authorization", "Bearer a-token-of-more-than-thirty-two-characters".into()));
    assert_eq!(admin.get(&attempt).status, 200);
    admin.headers = vec![("authorization", "Bearer not-the-token".into())];
    assert_eq!(admin.get(&attempt).problem(), (401, "bad_token".into()));
}

#[test]
fn the_list_pages_newest_first() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let made: Vec<String> = (0..3).map(|_| visitor.submit("")).collect();
    let page = visitor.get("/api/v1/attempts?limit=2");
    let first = page.json();
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| format!("/api/v1/attempts/{}", item["id"].as_str().unwrap())).collect()
    };
    assert_eq!(ids(&first), [made[2].clone(), made[1].clone()]);
    let next = page.header("link").split(['<', '>']).nth(1).unwrap().to_owned();
    let second = visitor.get(&next).json();
    assert_eq!((ids(&second), &second["next_cursor"]), (vec![made[0].clone()], &Value::Null));
}

#[test]
fn a_key_sent_twice_makes_one_attempt() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    visitor.submit("");
    visitor.headers.push(("idempotency-key", "one".into()));
    let body = |script: &str| json!({ "lab": "read-sync-async", "files": { "read.js": script } });
    let first = visitor.post("/api/v1/attempts", &body("1"));
    let again = visitor.post("/api/v1/attempts", &body("1"));
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.header("location"), again.header("location"));
    let other = visitor.post("/api/v1/attempts", &body("2"));
    assert_eq!(other.problem(), (422, "idempotency_key_reused".into()));
    assert_eq!(visitor.get("/api/v1/attempts").json()["items"].as_array().unwrap().len(), 2);
}
