//! The checked-in document is the one that the code makes.

use std::process::Command;

#[test]
fn the_document_in_docs_is_up_to_date() {
    let made = Command::new(env!("CARGO_BIN_EXE_todoku")).arg("openapi").output().unwrap();
    assert!(made.status.success());
    let kept =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json")).unwrap();
    assert!(String::from_utf8(made.stdout).unwrap() == kept, "docs/openapi.json is old: run ./dev generate");
}
