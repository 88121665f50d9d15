//! What holds of every answer: who may ask, headers, health.

use serde_json::json;

use crate::support::{Home, solution};

#[test]
fn pages_of_other_sites_may_not_write() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let body = json!({ "lab": "read-sync-async", "files": { "read.js": "" } });
    visitor.headers.push(("sec-fetch-site", "cross-site".into()));
    assert_eq!(visitor.post("/api/v1/attempts", &body).problem(), (403, "cross_site".into()));
    visitor.headers = vec![("sec-fetch-site", "same-origin".into())];
    assert_eq!(visitor.post("/api/v1/attempts", &body).status, 201);
}

#[test]
fn where_guests_are_off_nobody_makes_attempts() {
    let home = Home::new().with("TODOKU_GUESTS", "off");
    let server = home.start();
    let mut visitor = server.visitor();
    let body = json!({ "lab": "read-sync-async", "files": { "read.js": "" } });
    let answer = visitor.post("/api/v1/attempts", &body);
    assert_eq!(answer.problem(), (401, "sign_in_needed".into()));
    assert_eq!((visitor.cookie, visitor_labs(&server)), (None, 200));
}

fn visitor_labs(server: &crate::support::Server) -> u16 {
    server.visitor().get("/api/v1/labs").status
}

#[test]
fn cookies_keep_to_themselves() {
    for (url, secure) in [("http://127.0.0.1:8080", false), ("https://labs.example", true)] {
        let home = Home::new().with("TODOKU_PUBLIC_URL", url);
        let server = home.start();
        let body = json!({ "lab": "read-sync-async", "files": { "read.js": "" } });
        let answer = server.visitor().post("/api/v1/attempts", &body);
        let cookie = answer.header("set-cookie");
        for attribute in ["HttpOnly", "SameSite=Lax", "Path=/"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        assert_eq!(cookie.contains("Secure"), secure, "{cookie}");
    }
}

#[test]
fn every_answer_carries_the_headers_and_every_page_the_page() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("web/assets")).unwrap();
    std::fs::write(home.path("web/index.html"), "<!doctype html><title>page</title>").unwrap();
    std::fs::write(home.path("web/assets/a-1.js"), "1").unwrap();
    let server = home.start();
    let mut visitor = server.visitor();
    for path in ["/", "/labs/read-sync-async", "/assets/a-1.js", "/api/v1/labs", "/api/v1/none", "/healthz"] {
        let answer = visitor.get(path);
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert!(!answer.header("x-request-id").is_empty(), "{path}");
    }
    let document = visitor.get("/api/v1/openapi.json").json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{document}");
    let page = visitor.get("/labs/anything");
    assert_eq!((page.status, page.header("cache-control")), (200, "no-cache"));
    assert!(page.body.starts_with(b"<!doctype html>"));
    assert!(visitor.get("/assets/a-1.js").header("cache-control").contains("immutable"));
    let none = visitor.get("/assets/none.js");
    assert_eq!((none.status, none.header("cache-control")), (404, "no-store"));
    assert_eq!(
        visitor.get("/../../Cargo.toml").status,
        200,
        "a path out of the folder is the page's to refuse"
    );
    assert!(!String::from_utf8_lossy(&visitor.get("/..%2f..%2fCargo.toml").body).contains("workspace"));
}

#[test]
fn metrics_count_requests_and_attempts() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit(&solution("reference"));
    visitor.ended(&attempt);
    let odd = visitor.raw("BREW /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert!(odd.starts_with("HTTP/1.1 405"), "{odd}");
    let text = String::from_utf8(visitor.get("/metrics").body).unwrap();
    assert!(text.contains("todoku_attempts_total{end=\"graded\"} 1"), "{text}");
    assert!(text.contains("route=\"/api/v1/attempts\""), "{text}");
    assert!(text.contains("todoku_attempts_queued 0"), "{text}");
    assert!(text.contains("method=\"other\"") && !text.contains("BREW"), "{text}");
}
