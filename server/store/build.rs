//! Decides how the text of our queries is checked while compiling.
//!
//! Normally against the descriptions in `.sqlx/` at the workspace root, so that no database is needed to build.
//! `sqlx-prepare` sets `SQLX_OFFLINE=false`, and then the database at `DATABASE_URL` is asked and the descriptions are written.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
    println!("cargo::rerun-if-env-changed=SQLX_OFFLINE");
    println!("cargo::rerun-if-env-changed=SQLX_OFFLINE_DIR");
    if std::env::var_os("SQLX_OFFLINE").is_none() {
        println!("cargo::rustc-env=SQLX_OFFLINE=true");
    }
}
