use serde_json::json;

use crate::support::{Home, solution};

#[test]
fn a_lab_reads_in_both_languages() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let list = visitor.get("/api/v1/labs?lang=ja").json();
    assert_eq!(list["items"][0]["slug"], "read-sync-async");
    let ja = visitor.get("/api/v1/labs/read-sync-async?lang=ja").json();
    visitor.headers.push(("accept-language", "fr, en;q=0.5".into()));
    let en = visitor.get("/api/v1/labs/read-sync-async").json();
    assert_ne!(ja["title"], en["title"]);
    assert!(ja["text_html"].as_str().unwrap().contains("。"));
    assert!(en["text_html"].as_str().unwrap().contains("<p>"));
    assert_eq!(en["runs"][1]["command"], "UV_THREADPOOL_SIZE=8 node read.js");
    assert_eq!(en["starter"].as_object().unwrap().keys().collect::<Vec<_>>(), ["read.js"]);
}

#[test]
fn notes_and_best_points_come_with_the_first_grade() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let lab = "/api/v1/labs/read-sync-async";
    let before = visitor.get(lab).json();
    assert_eq!(
        (&before["notes_html"], &before["best_points"], &before["attempts"]),
        (&json!(null), &json!(null), &json!(0))
    );
    let attempt = visitor.submit(&solution("reference"));
    let points = visitor.ended(&attempt)["grade"]["points"].clone();
    let after = visitor.get(lab).json();
    assert!(after["notes_html"].as_str().unwrap().len() > 100);
    assert_eq!((&after["best_points"], &after["attempts"]), (&points, &json!(1)));
    // Somebody else has not earned them.
    assert_eq!(server.visitor().get(lab).json()["best_points"], json!(null));
}
