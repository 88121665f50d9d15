//! The walls between the rooms, where Cargo cannot see them: see ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Direct dependencies of each room of ours, test ones left out.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let normal = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap();
        let normal = all.iter().filter(|dependency| dependency["kind"].is_null());
        normal.map(|dependency| dependency["name"].as_str().unwrap().to_owned()).collect()
    };
    packages.iter().map(|package| (package["name"].as_str().unwrap().to_owned(), normal(package))).collect()
}

#[test]
fn each_door_has_one_keeper() {
    let rooms = dependencies();
    let users = |library: &str| -> Vec<&str> {
        let using = rooms.iter().filter(|(_, uses)| uses.iter().any(|name| name == library));
        using.map(|(room, _)| room.as_str()).collect()
    };
    assert_eq!(users("bollard"), ["sandbox"], "the only door to the engine");
    assert_eq!(users("sqlx"), ["store"], "the only door to PostgreSQL");
    assert_eq!(users("rusqlite"), ["evidence"], "the only user of SQLite");
    assert_eq!(users("axum"), ["todoku"], "the only room that speaks HTTP");
}

#[test]
fn rooms_depend_downwards_only() {
    let rooms = dependencies();
    for (room, below) in [
        ("strace", &[][..]),
        ("guest", &[]),
        ("evidence", &["strace"]),
        ("lab", &["strace", "evidence"]),
        ("sandbox", &["strace", "evidence", "lab", "guest"]),
        ("store", &["strace", "evidence", "lab"]),
        ("todoku", &["strace", "evidence", "lab", "sandbox", "store"]),
    ] {
        let ours = rooms[room].iter().filter(|name| rooms.contains_key(*name));
        let wrong: Vec<_> = ours.filter(|name| !below.contains(&name.as_str())).collect();
        assert!(wrong.is_empty(), "{room} must not know {wrong:?}");
    }
    for pure in ["strace", "evidence", "lab", "guest"] {
        let worldly = rooms[pure].iter().find(|name| ["tokio", "reqwest", "chrono"].contains(&name.as_str()));
        assert_eq!(worldly, None, "{pure} is pure");
    }
}

#[test]
fn inside_the_server_http_and_worker_never_meet() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (place, text) in sources(&src) {
        let within = |folder: &str| place.starts_with(folder);
        if within("http") {
            assert!(!text.contains("sandbox::"), "{}: HTTP knows no container", place.display());
            let used = text.matches("worker::").count() - text.matches("worker::EngineState").count();
            assert_eq!(used, 0, "{}: of the worker, HTTP knows the engine's state alone", place.display());
        }
        if within("worker.rs") || within("judge.rs") {
            assert!(!text.contains("http::"), "{}: a worker knows no HTTP", place.display());
        }
        if !within("config.rs") {
            assert!(
                !text.contains("std::env::"),
                "{}: only config.rs reads the environment",
                place.display()
            );
        }
    }
}

/// Files stay short enough to be read in one go. Raise a bound only with a reason beside it.
#[test]
fn no_file_grows_out_of_hand() {
    const MOST_LINES: usize = 520;
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (place, text) in sources(&server) {
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines: split it", place.display());
    }
}

/// Rust files below `dir`, by their path in it.
fn sources(dir: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(dir).unwrap().to_owned(), text));
            }
        }
    }
    assert!(!found.is_empty());
    found
}
