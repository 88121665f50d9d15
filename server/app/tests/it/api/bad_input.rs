use serde_json::{Value, json};

use crate::support::Home;

/// What is wrong is named: the status, the code, and of a submission the field and its rule.
#[test]
fn what_is_wrong_is_named() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let many: Value =
        (0..101).map(|n| (format!("f{n}.js"), json!(""))).collect::<serde_json::Map<_, _>>().into();
    let answers =
        |answers: Value| json!({ "lab": "read-sync-async", "files": { "read.js": "" }, "answers": answers });
    let files = |files: Value| json!({ "lab": "read-sync-async", "files": files });
    for (body, field, rule) in [
        (files(json!({ "read.js": "", "../x.js": "" })), "files.../x.js", "file_name_parent"),
        (files(json!({ "read.js": "", "/etc/x": "" })), "files./etc/x", "file_name_absolute"),
        (files(json!({ "read.js": "", "a\u{0}b": "" })), "files.a\\0b", "file_name_nul"),
        (files(json!({ "other.js": "" })), "files", "entry_missing"),
        (files(many), "files", "too_many_files"),
        (files(json!({ "read.js": "x".repeat(1024 * 1024 + 1) })), "files", "files_too_large"),
        (answers(json!({ "predict-threads": "many" })), "answers.predict-threads", "answer_wrong_type"),
        (answers(json!({ "no-such": 1 })), "answers.no-such", "answer_unknown"),
    ] {
        let answer = visitor.post("/api/v1/attempts", &body);
        assert_eq!(answer.problem(), (422, "invalid_submission".into()));
        let errors = answer.json()["errors"].clone();
        let named = errors.as_array().unwrap().iter().any(|e| e["field"] == field && e["code"] == rule);
        assert!(named, "{field} {rule}: {errors}");
    }
    assert_eq!(visitor.get("/api/v1/attempts").json()["items"], json!([]), "nothing was made");
}

#[test]
fn bodies_that_are_no_submission() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let huge = format!("{{\"lab\":\"{}\"}}", "x".repeat(3 << 20));
    for (body, status, code) in [
        (&b"{\"lab\": "[..], 400, "malformed_json"),
        (b"{\"lab\":\"read-sync-async\",\"files\":{\"read.js\":7}}", 422, "invalid_body"),
        (b"{\"lab\":\"read-sync-async\",\"files\":{\"read.js\":\"\xff\"}}", 422, "invalid_submission"),
        (b"{\"lab\":\"read-sync-async\",\"files\":{},\"extra\":1}", 422, "invalid_body"),
        (b"\xff\xfe", 400, "malformed_json"),
        (huge.as_bytes(), 413, "body_too_large"),
        (b"{\"lab\":\"no-such\",\"files\":{}}", 404, "not_found"),
    ] {
        let answer = visitor.send("POST", "/api/v1/attempts", Some(body));
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        assert_eq!(answer.problem(), (status, code.into()), "{shown}");
    }
    let head = "POST /api/v1/attempts HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
    let form = visitor.raw(&format!("{head}content-type: text/plain\r\ncontent-length: 2\r\n\r\n{{}}"));
    assert!(form.starts_with("HTTP/1.1 415") && form.contains("not_json"), "{form}");
}

#[test]
fn addresses_that_name_nothing() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    visitor.submit("");
    for path in [
        "/api/v1/labs/no-such",
        "/api/v1/attempts/no-uuid",
        "/api/v1/attempts/01900000-0000-7000-8000-000000000000",
        "/api/v1/attempts/no-uuid/events",
        "/api/v1/runs/no-uuid/trace",
        "/api/v1/no-such-call",
        "/api/v1/attempts/%ff",
        "/api/v1/",
    ] {
        assert_eq!(visitor.get(path).problem(), (404, "not_found".into()), "{path}");
    }
    assert_eq!(visitor.send("PUT", "/api/v1/labs", None).problem(), (405, "method_not_allowed".into()));
    assert_eq!(visitor.get("/api/v1/attempts?cursor=x").problem(), (400, "bad_query".into()));
    assert_eq!(visitor.get("/api/v1/attempts?lab=a%00b").json()["items"], json!([]));
    visitor.headers.push(("idempotency-key", "x".repeat(201)));
    let answer =
        visitor.post("/api/v1/attempts", &json!({ "lab": "read-sync-async", "files": { "read.js": "" } }));
    assert_eq!(answer.problem(), (400, "bad_idempotency_key".into()));
}
