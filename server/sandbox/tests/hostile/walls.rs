//! Programs that no limit ends: what they do must come to nothing.

use std::time::Duration;

use lab::Outcome;

use crate::case::program;
use crate::support::{Bench, limited, main_end, spec, stderr, stdout, trace, until};

#[tokio::test]
async fn a_signal_to_everybody_reaches_the_learners_own_alone() {
    let run = program("kills-everybody.js").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "child SIGKILL\n"));
    assert_eq!(main_end(&run), "+++ exited with 0 +++");
}

#[tokio::test]
async fn a_daemon_does_not_outlive_its_script() {
    let run = program("daemon.js").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "left\n"));
}

#[tokio::test]
async fn a_port_and_a_socket_left_behind_are_not_there_for_the_next() {
    let run = program("leaves-sockets.js").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "left\n"));
}

#[tokio::test]
async fn connections_that_linger_are_not_there_for_the_next() {
    let run = program("leaves-connections.js").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "left\n"), "{}", stderr(&run));
}

#[tokio::test]
async fn deleting_ones_own_folder_harms_nobody() {
    let run = program("deletes-its-folder.js").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "0 EROFS\n"), "{}", stderr(&run));
}

#[tokio::test]
async fn what_is_no_ordinary_file_may_be_left_behind() {
    let run = program("odd-files.pl").comes_to(Outcome::Exited).await;
    assert_eq!(
        (run.exit_code, stdout(&run).as_str()),
        (Some(0), "device: Operation not permitted\nleft\n"),
        "{}",
        stderr(&run)
    );
}

#[tokio::test]
async fn names_that_look_like_a_trace_change_nothing_of_it() {
    let run = program("hostile-names.pl").comes_to(Outcome::Exited).await;
    assert_eq!(run.exit_code, Some(0), "{}", stderr(&run));
    assert_eq!(main_end(&run), "+++ exited with 0 +++");
    let whole = strace::parse(
        &run.trace.bytes,
        &strace::Options { entry: Some("/lab/main.js".to_owned()), ..Default::default() },
    );
    assert!(whole.is_complete(), "{:?}", whole.incomplete);
    assert!(!trace(&run).contains('\u{1b}'), "an escape sequence came through");
}

#[tokio::test]
async fn folders_deeper_than_any_path_may_be_left_behind() {
    let run = program("deep-folders.pl").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "300\n"), "{}", stderr(&run));
}

#[tokio::test]
async fn what_a_grader_hopes_to_see_is_output_and_no_more() {
    let run = program("prints-hopes.js").comes_to(Outcome::Exited).await;
    assert_eq!(run.exit_code, Some(5));
    assert_eq!(main_end(&run), "+++ exited with 5 +++");
}

/// A program may refuse itself calls. It cannot make one unseen, nor make one seen that was not made.
#[tokio::test]
async fn filters_of_ones_own_hide_no_call_and_forge_none() {
    let run = program("hides-from-its-tracer.pl").comes_to(Outcome::Exited).await;
    assert_eq!(stdout(&run), "parent known\nopenat 0\n", "{}", stderr(&run));
    let trace = trace(&run);
    assert!(trace.contains("</etc/hostname>, "), "the tracer lost sight of descriptors");
    let opened = trace.lines().find(|line| line.contains("openat(") && line.contains("\"/etc/passwd\""));
    assert_eq!(opened, None, "an open that was never made");
    assert!(!trace.contains("getppid"), "a call that is not shown was");
}

#[tokio::test]
async fn no_terminal_is_taken_from_the_host() {
    let run = program("terminals.pl").comes_to(Outcome::Exited).await;
    assert_eq!(stdout(&run), "0 No such file or directory\n");
}

#[tokio::test]
async fn streams_made_not_to_wait_stop_nobody_else_who_writes_there() {
    let run = program("unblocks-its-streams.pl").comes_to(Outcome::OutputLimit).await;
    assert!(run.stdout.dropped + run.stderr.dropped > 0);
}

#[tokio::test]
async fn children_of_other_parents_are_traced_to_their_end() {
    let run = program("siblings.pl").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "made\n"), "{}", stderr(&run));
    let trace = trace(&run);
    assert_eq!(trace.matches("\"/etc/hostname\"").count(), 2);
    assert_eq!(trace.matches("+++ exited with 7 +++").count(), 2);
}

#[tokio::test]
async fn an_abort_leaves_no_core() {
    let run = program("aborts.js").comes_to(Outcome::Signalled).await;
    assert_eq!(run.signal.as_deref(), Some("SIGABRT"));
    assert!(!trace(&run).contains("core dumped"));
}

#[tokio::test]
async fn closing_every_stream_hides_nothing() {
    let run = program("closes-streams.js").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(3), "before\n"));
    assert!(trace(&run).contains("\"/etc/hostname\""));
}

/// Files and processes of another attempt, the worker's environment, the host's name, what the lab keeps to itself (its solutions): words
/// of all these are looked for in every place that can be read.
#[tokio::test]
async fn nothing_of_the_worker_the_host_or_another_attempt_is_found() {
    let bench = Bench::new().await;
    let secret = uuid::Uuid::now_v7().to_string();
    let other =
        "require('node:child_process').spawn('sleep', ['30'], { env: { SECRET: process.env.SECRET } });
        require('node:fs').writeFileSync('/tmp/own', process.env.SECRET); console.log('up')";
    let mut others = limited(|limits| limits.wall = Duration::from_secs(4));
    others.env.insert("SECRET".to_owned(), secret.clone());
    let looks = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/hostile/programs/looks-around.js"
    ));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let mut ours = spec();
    ours.args = vec!["its own words".to_owned(), secret.clone(), "lists-another-process".to_owned()];
    // A short name may stand in any text.
    ours.args.extend(Some(host.trim().to_owned()).filter(|name| name.len() > 6));
    // What is in the worker's environment and could be nobody else's.
    let own = std::env::vars()
        .map(|(_, value)| value)
        .filter(|value| value.len() > 24 && !value.starts_with("/usr"));
    ours.args.extend(own);

    let other = [("main.js", other), ("secret.txt", secret.as_str())];
    let meanwhile = bench.try_run(&others, &other);
    let looks = [("main.js", looks.unwrap()), ("own.txt", "its own words".to_owned())];
    let looking = async {
        until(20, || async { secret_is_about(&secret) }).await;
        bench.try_run(&ours, &looks.each_ref().map(|(name, text)| (*name, text.as_str()))).await
    };
    let (_other, run) = tokio::join!(meanwhile, looking);
    let run = run.unwrap();
    assert_eq!(
        (run.outcome, stdout(&run).as_str()),
        (Outcome::Exited, "[\"0 in /lab/own.txt\"]\n"),
        "{}",
        stderr(&run)
    );
    bench.assert_nothing_left().await;
}

/// Whether the other attempt's program runs, seen from the host.
fn secret_is_about(secret: &str) -> bool {
    let variable = format!("SECRET={secret}");
    std::fs::read_dir("/proc").unwrap().any(|entry| {
        let environ = std::fs::read(entry.unwrap().path().join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|own| own == variable.as_bytes())
    })
}
