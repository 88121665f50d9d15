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

#[test]
fn every_operation_has_a_name_of_its_own_and_its_parameters_in_their_places() {
    let made = Command::new(env!("CARGO_BIN_EXE_todoku")).arg("openapi").output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    let mut names = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values().filter(|operation| operation.is_object()) {
            names.push(operation["operationId"].as_str().unwrap());
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let in_path = path.contains(&format!("{{{}}}", parameter["name"].as_str().unwrap()));
                assert_eq!(parameter["in"] == "path", in_path, "{path}: {parameter}");
            }
        }
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(count >= 9 && names.len() == count, "{names:?}");
}
