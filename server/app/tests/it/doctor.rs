//! `todoku doctor` on the real engine, and on broken surroundings, each of which it must name.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::Home;

const ROWS: [&str; 14] = [
    "database", "schema", "clock", "user", "memory", "engine", "runtime", "disk", "image", "fifos",
    "selftest", "ptrace", "seccomp", "cgroups",
];

fn todoku(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_todoku"));
    command
        .args(arguments)
        .envs(&home.settings)
        .env("DATABASE_URL", &home.database)
        .env("TODOKU_FIFO_DIR", home.path("fifos"))
        .env("TODOKU_LOG", "info");
    command
}

struct Findings(Value);

impl Findings {
    fn read(output: &Output) -> Self {
        let said = String::from_utf8_lossy(&output.stderr);
        let findings: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
        assert_eq!(output.status.code(), Some(i32::from(findings["ok"] != true)), "{findings:#}");
        for row in findings["rows"].as_array().unwrap() {
            let wants_fix = ["warning", "failed"].contains(&row["state"].as_str().unwrap());
            assert_eq!(wants_fix, row["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{row}");
        }
        Self(findings)
    }

    fn of(home: &Home) -> Self {
        Self::read(&todoku(home, &["doctor", "--json"]).output().unwrap())
    }

    fn in_state(&self, state: &str) -> Vec<&str> {
        let rows = self.0["rows"].as_array().unwrap().iter();
        rows.filter(|row| row["state"] == state).map(|row| row["name"].as_str().unwrap()).collect()
    }

    /// The only row that failed, with all it says.
    fn failure(&self) -> (String, String) {
        let [name] = self.in_state("failed")[..] else { panic!("{:#}", self.0) };
        let row = self.0["rows"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
        (name.to_owned(), format!("{} -> {}", row["detail"].as_str().unwrap(), row["fix"].as_str().unwrap()))
    }
}

#[test]
fn where_all_is_well_each_row_says_so_and_nothing_is_left() {
    let home = Home::new();
    assert!(todoku(&home, &["migrate"]).status().unwrap().success());
    let findings = Findings::of(&home);
    let names: Vec<_> =
        findings.0["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ROWS);
    // How full the machine is, is not this test's.
    let small = ["memory", "disk"];
    let unwell: Vec<_> =
        ["warning", "failed", "skipped"].iter().flat_map(|state| findings.in_state(state)).collect();
    assert!(unwell.iter().all(|name| small.contains(name)), "{:#}", findings.0);
    assert_eq!(home.containers(), 0);

    let table = todoku(&home, &["doctor"]).output().unwrap();
    assert!(table.status.success());
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(ROWS.iter().all(|name| table.contains(&format!(" {name} "))), "{table}");
}

#[test]
fn a_database_that_is_down_or_of_another_version_is_named() {
    let mut home = Home::new().with("TODOKU_WORKERS", "0");
    let fresh = Findings::of(&home);
    assert_eq!(
        (fresh.in_state("warning"), fresh.in_state("ok")),
        (vec!["schema"], vec!["database", "clock"])
    );

    assert!(todoku(&home, &["migrate"]).status().unwrap().success());
    let newer = "insert into _sqlx_migrations values (99999, 'later', now(), true, '', 0)";
    assert!(Command::new("psql").args(["-X", "-q", &home.database, "-c", newer]).status().unwrap().success());
    let (name, what) = Findings::of(&home).failure();
    assert!(name == "schema" && what.contains("newer program"), "{what}");

    let there =
        std::mem::replace(&mut home.database, "postgres://todoku@localhost/todoku?host=/nowhere".into());
    let down = Findings::of(&home);
    assert_eq!(down.in_state("skipped"), ["schema", "clock"]);
    let (name, what) = down.failure();
    assert!(name == "database" && what.contains("start PostgreSQL"), "{what}");
    home.database = String::new();
    let (name, what) = Findings::of(&home).failure();
    assert!(name == "database" && what.contains("DATABASE_URL is not set"), "{what}");
    home.database = there;
}

#[test]
fn an_engine_that_is_not_there_not_here_or_without_the_runtime_is_named() {
    let mut home = Home::new();
    let mut failure = |name: &'static str, value: &str| {
        home.settings.insert(name, value.to_owned());
        let findings = Findings::of(&home);
        home.settings.remove(name);
        findings.failure()
    };
    let (name, what) = failure("DOCKER_HOST", "unix:///nowhere/docker.sock");
    assert!(name == "engine" && what.contains("systemctl start docker"), "{what}");
    let (name, what) = failure("DOCKER_HOST", "tcp://192.0.2.1:2375");
    assert!(name == "engine" && what.contains("must be on this machine"), "{what}");
    let (name, what) = failure("SANDBOX_RUNTIME", "nosuch");
    assert!(name == "runtime" && what.contains("it has ") && what.contains("runc"), "{what}");
    let (name, what) = failure("TODOKU_LAB_IMAGES", "nosuch");
    assert!(name == "image" && what.ends_with("-> run lab-images/build nosuch"), "{what}");
}

#[test]
fn an_image_of_another_version_is_named_with_what_builds_it() {
    let name = format!("doctor-{}", std::process::id());
    let tag = format!("todoku/{name}:local");
    let mut build = Command::new("docker")
        .args(["build", "--quiet", "--tag", &tag, "-"])
        .env("DOCKER_BUILDKIT", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let file = b"FROM todoku/node24:local\nLABEL todoku.contract=0\n";
    build.stdin.take().unwrap().write_all(file).unwrap();
    assert!(build.wait().unwrap().success());
    let home = Home::new().with("TODOKU_LAB_IMAGES", format!("node24,{name}"));
    let findings = Findings::of(&home);
    assert!(Command::new("docker").args(["rmi", &tag]).stdout(Stdio::null()).status().unwrap().success());
    let (row, what) = findings.failure();
    assert!(row == "image" && what.contains(&format!("{tag} is of another version")), "{what}");
    assert!(what.ends_with(&format!("-> run lab-images/build {name}")), "{what}");
}

/// As where we are in a container, and the folder is not mounted there from the host.
#[test]
fn a_folder_that_the_engine_does_not_see_is_named() {
    let home = Home::new();
    let folder = home.path("fifos");
    std::fs::create_dir(&folder).unwrap();
    let doctor = todoku(&home, &["doctor", "--json"]);
    let mut hidden = Command::new("unshare");
    hidden
        .args(["--mount", "sh", "-c", "mount -t tmpfs none \"$1\" && exec \"$2\" doctor --json", "sh"])
        .arg(&folder)
        .arg(doctor.get_program())
        .envs(doctor.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (name, what) = Findings::read(&hidden.output().unwrap()).failure();
    assert!(name == "fifos" && what.contains("mount it there under the same path"), "{what}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "the engine made nothing there");
}

#[test]
fn a_worker_says_at_its_start_what_is_wrong_and_goes_on() {
    let home = Home::new().with("DOCKER_HOST", "unix:///nowhere/docker.sock").with("TODOKU_DOCTOR", "on");
    let mut worker = todoku(&home, &["work"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(worker.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = log.find(|line| line.contains("engine is not well")).expect("it says what is wrong");
    assert!(line.contains("ERROR") && line.contains("systemctl start docker"), "{line}");
    assert!(log.any(|line| line.contains("no attempt can run")), "it keeps looking");
    assert!(worker.try_wait().unwrap().is_none(), "it stays");
    assert!(Command::new("kill").args(["-TERM", &worker.id().to_string()]).status().unwrap().success());
    // To its end: a log that nobody reads could stop its writer.
    log.for_each(drop);
    assert!(worker.wait().unwrap().success());
}
