//! Programs that no limit ends: what they do must come to nothing.

use lab::Outcome;

use crate::case::program;
use crate::support::{main_end, stderr, stdout, trace};

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
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "3000\n"), "{}", stderr(&run));
}

#[tokio::test]
async fn what_a_grader_hopes_to_see_is_output_and_no_more() {
    let run = program("prints-hopes.js").comes_to(Outcome::Exited).await;
    assert_eq!(run.exit_code, Some(5));
    assert_eq!(main_end(&run), "+++ exited with 5 +++");
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
