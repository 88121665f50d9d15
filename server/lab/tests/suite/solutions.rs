//! What an author is told of a lab's proof.

use crate::support::Draft;

const ANSWERS: &str = "[before]\nguess = \"a\"\n[after]\ntid = { sql = \"select tid from events\" }\n";

/// A lab whose proof is whole.
fn proven() -> Draft {
    Draft::new()
        .put("solutions/reference/main.js", "// right")
        .put("solutions/reference/answers.toml", ANSWERS)
        .put("solutions/bad/main.js", "// wrong")
        .put(
            "solutions/bad/expect.toml",
            "about = \"wrong\"\nfails = [\"opens\"]\nnot_judged = [\"knows\"]\n",
        )
        .put("solutions/worse/main.js", "// worse")
        .put("solutions/worse/answers.toml", "[after]\ntid = 8\n")
        .put("solutions/worse/expect.toml", "about = \"worse\"\nfails = [\"opens\", \"knows\"]\n")
}

fn check(draft: &Draft, faults: &[&str]) {
    let dir = draft.write();
    let lab = lab::load(&dir).unwrap();
    let errors = lab::load_solutions(&dir, &lab).unwrap_err();
    let got: Vec<_> =
        errors.0.iter().map(|e| e.to_string().replace(&format!("{}/", dir.display()), "")).collect();
    assert_eq!(got.len(), faults.len(), "{got:#?}");
    for (got, fault) in got.iter().zip(faults) {
        assert!(got.starts_with(fault), "{got:?}, expected {fault:?}");
    }
}

#[test]
fn a_whole_proof_loads_with_the_reference_first() {
    let draft = proven();
    let dir = draft.write();
    let lab = lab::load(&dir).unwrap();
    let solutions = lab::load_solutions(&dir, &lab).unwrap();
    let names: Vec<_> = solutions.iter().map(|solution| solution.name.as_str()).collect();
    assert_eq!(names, ["reference", "bad", "worse"]);
    assert_eq!(solutions[0].files.keys().collect::<Vec<_>>(), ["main.js"]);
    assert_eq!(solutions[0].before["guess"], "a");
    assert!(solutions[1].expected.fails.contains("opens"));
}

#[test]
fn faults_of_a_proof() {
    let bad = "solutions/bad/expect.toml";
    let cases: [(Draft, &[&str]); 9] = [
        (proven().remove("solutions/reference/main.js"), &["solutions/reference: files: main.js is missing"]),
        (
            proven().put("solutions/reference/expect.toml", "about = \"x\""),
            &["solutions/reference/expect.toml: the reference passes every check"],
        ),
        (proven().put(bad, "about = \"x\""), &["solutions/bad/expect.toml: names no check"]),
        (proven().put(bad, "fails = [\"opens\"]"), &["solutions/bad/expect.toml:1: missing field `about`"]),
        (
            proven().put(bad, "about = \"x\"\nfails = [\"open\"]"),
            &["solutions/bad/expect.toml: no check is called \"open\""],
        ),
        (
            proven().put(bad, "about = \"x\"\nfails = [\"opens\"]\nnot_judged = [\"opens\"]"),
            &["solutions/bad/expect.toml: \"opens\" cannot fail and have no verdict"],
        ),
        (
            proven().put("solutions/worse/expect.toml", "about = \"x\"\nfails = [\"opens\"]"),
            &["solutions: no solution fails the check \"knows\""],
        ),
        (
            proven().put(
                "solutions/worse/answers.toml",
                "[after]\ntid = \"8\"\nguess = \"a\"\nx = { sql = \"select 1\" }",
            ),
            &[
                "solutions/worse/answers.toml: after: answers.guess: is a prediction",
                "solutions/worse/answers.toml: after: answers.tid: wants a number",
                "solutions/worse/answers.toml: after: no question after the run is called \"x\"",
            ],
        ),
        (
            proven().put("solutions/worse/answers.toml", "[before]\nguess = \"c\""),
            &["solutions/worse: answers.guess: choose from: a, b"],
        ),
    ];
    for (draft, faults) in cases {
        check(&draft, faults);
    }
    check(
        &Draft::new().put("solutions/bad/main.js", ""),
        &[
            "solutions: no solution fails the check \"opens\"",
            "solutions: no solution fails the check \"knows\"",
            "solutions/bad/expect.toml: names no check",
            "solutions/reference: is missing",
        ],
    );
}

#[test]
fn the_example_of_the_documentation_loads() {
    let page = include_str!("../../../../docs/lab-format.md");
    let (_, example) = page.rsplit_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let lab = Draft::new().put("lab.toml", example).load().unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(lab.max_points(), 3);
}
