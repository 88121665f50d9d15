//! `migrations/schema.sql` is what the migrations lead to, for reading. It must not lie.

use std::path::{Path, PathBuf};
use std::process::Command;

use sqlx::PgPool;
use store::Store;

const HOW_TO_UPDATE: &str = "to write it anew: UPDATE_SCHEMA=1 cargo test -p store --test postgres schema";

#[sqlx::test(migrations = "../../migrations")]
async fn the_schema_file_is_what_the_migrations_make(pool: PgPool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations/schema.sql");
    let made = normalised(&dump(&pool));
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    for (n, (kept, made)) in kept.lines().zip(made.lines()).enumerate() {
        assert_eq!(kept, made, "migrations/schema.sql, line {}; {HOW_TO_UPDATE}", n + 1);
    }
    assert_eq!(kept, made, "migrations/schema.sql; {HOW_TO_UPDATE}");
}

#[sqlx::test(migrations = false)]
async fn migrating_twice_at_once_is_migrating_once(pool: PgPool) {
    let store = Store::from_pool(pool);
    let (a, b) = tokio::join!(store.migrate(), store.migrate());
    a.unwrap();
    b.unwrap();
    store.migrate().await.unwrap();
    store.ping().await.unwrap();
    assert_eq!(store.backlog().await.unwrap().queued, 0);
}

fn dump(pool: &PgPool) -> String {
    let options = pool.connect_options();
    let host = options
        .get_socket()
        .map_or_else(|| options.get_host().to_owned(), |socket| socket.display().to_string());
    let output = Command::new(pg_dump())
        .args(["--schema-only", "--no-owner", "--no-privileges", "--exclude-table=_sqlx_migrations"])
        .args(["--host", &host, "--port", &options.get_port().to_string()])
        .args(["--username", options.get_username()])
        .args(["--dbname", options.get_database().unwrap()])
        .output()
        .expect("pg_dump runs");
    assert!(output.status.success(), "pg_dump: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Debian keeps each version's own in a folder that is not on the path; the newest can read all older servers.
fn pg_dump() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin/pg_dump")))
        .filter(|path| path.exists())
        .max();
    newest.unwrap_or_else(|| "pg_dump".into())
}

/// Without what is the tool's: its comments, settings, psql commands and empty lines; a blank line before each statement.
fn normalised(dump: &str) -> String {
    let mut out = String::from(
        "-- The schema after all migrations, for reading. Written by a test; see server/store/tests.\n",
    );
    let mut fresh = true;
    for line in dump.lines() {
        if line.is_empty() {
            fresh = true;
        }
        let of_the_tool = ["--", "SET ", "SELECT pg_catalog.set_config", "\\"];
        if line.is_empty() || of_the_tool.iter().any(|start| line.starts_with(start)) {
            continue;
        }
        if fresh {
            out.push('\n');
            fresh = false;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}
