//! Every limit, struck.

use lab::{Bytes, Outcome};

use crate::case::program;
use crate::support::{main_end, stdout, trace};

#[tokio::test]
async fn an_endless_loop_runs_out_of_time() {
    let run = program("endless-loop.js").comes_to(Outcome::WallLimit).await;
    assert_eq!(run.signal.as_deref(), Some("SIGKILL"));
    assert_eq!(main_end(&run), "+++ killed by SIGKILL +++");
}

#[tokio::test]
async fn an_endless_chain_of_promises_runs_out_of_time() {
    program("promise-loop.js").comes_to(Outcome::WallLimit).await;
}

#[tokio::test]
async fn ignoring_signals_gains_no_time() {
    program("ignores-signals.js").comes_to(Outcome::WallLimit).await;
}

#[tokio::test]
async fn stopping_everybody_gains_no_time() {
    program("stops-everybody.js").comes_to(Outcome::WallLimit).await;
}

#[tokio::test]
async fn becoming_another_program_gains_no_time() {
    let run = program("becomes-another.js").comes_to(Outcome::WallLimit).await;
    assert_eq!(main_end(&run), "+++ killed by SIGKILL +++");
}

#[tokio::test]
async fn children_that_come_and_go_run_out_of_time() {
    program("short-lives.sh").comes_to(Outcome::WallLimit).await;
}

#[tokio::test]
async fn a_fork_bomb_of_node_meets_the_process_limit() {
    program("fork-bomb.js").limits(|limits| limits.processes = 48).comes_to(Outcome::ProcessLimit).await;
}

#[tokio::test]
async fn a_fork_bomb_of_the_shell_meets_the_process_limit() {
    program("fork-bomb.sh").comes_to(Outcome::ProcessLimit).await;
}

#[tokio::test]
async fn a_fork_bomb_that_outlives_main_meets_the_process_limit() {
    program("late-fork-bomb.js").comes_to(Outcome::ProcessLimit).await;
}

#[tokio::test]
async fn three_thousand_threads_meet_the_process_limit() {
    program("threads.js").limits(|limits| limits.processes = 32).comes_to(Outcome::ProcessLimit).await;
}

#[tokio::test]
async fn memory_taken_by_node_meets_the_memory_limit() {
    let run = program("memory-bomb.js").limits(small).comes_to(Outcome::MemoryLimit).await;
    assert!(run.usage.oom);
}

#[tokio::test]
async fn memory_taken_by_a_child_meets_the_memory_limit() {
    let run = program("memory-of-a-child.js").limits(small).comes_to(Outcome::MemoryLimit).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "SIGKILL\n"));
}

#[tokio::test]
async fn memory_taken_by_files_meets_the_memory_limit() {
    program("memory-in-files.js").limits(small).comes_to(Outcome::MemoryLimit).await;
}

#[tokio::test]
async fn memory_taken_by_nameless_files_meets_the_memory_limit() {
    program("memory-in-memfd.pl").limits(small).comes_to(Outcome::MemoryLimit).await;
}

#[tokio::test]
async fn a_full_heap_is_nodes_own_abort() {
    let run =
        program("heap.js").env("NODE_OPTIONS", "--max-old-space-size=24").comes_to(Outcome::Signalled).await;
    assert_eq!(run.signal.as_deref(), Some("SIGABRT"));
}

#[tokio::test]
async fn a_flood_of_stdout_is_ended_with_both_ends_kept() {
    let run = program("flood.js")
        .arg("1")
        .limits(|limits| limits.output = Bytes::kib(64))
        .comes_to(Outcome::OutputLimit)
        .await;
    assert!(
        run.stdout.bytes.starts_with(b"line 0\n") && run.stdout.dropped > 0 && !run.stdout.tail.is_empty()
    );
    assert!(run.stderr.bytes.is_empty());
}

#[tokio::test]
async fn a_flood_of_stderr_is_ended_with_both_ends_kept() {
    let run = program("flood.js")
        .arg("2")
        .limits(|limits| limits.output = Bytes::kib(64))
        .comes_to(Outcome::OutputLimit)
        .await;
    assert!(
        run.stderr.bytes.starts_with(b"line 0\n") && run.stderr.dropped > 0 && !run.stderr.tail.is_empty()
    );
}

#[tokio::test]
async fn a_flood_by_many_children_is_ended() {
    program("flood-of-children.sh")
        .limits(|limits| limits.output = Bytes::kib(64))
        .comes_to(Outcome::OutputLimit)
        .await;
}

#[tokio::test]
async fn a_flood_of_calls_meets_the_trace_limit() {
    let run = program("trace-flood.js")
        .limits(|limits| limits.trace = Bytes::kib(512))
        .comes_to(Outcome::TraceLimit)
        .await;
    assert_eq!(run.trace.bytes.len(), 512 * 1024);
    assert!(run.trace.tail.is_empty() && run.trace.dropped > 0);
}

#[tokio::test]
async fn a_flood_of_signals_is_ended() {
    program("signal-flood.pl")
        .limits(|limits| limits.trace = Bytes::kib(256))
        .comes_to(Outcome::TraceLimit)
        .await;
}

#[tokio::test]
async fn a_line_of_trace_without_end_meets_the_trace_limit() {
    program("long-line.pl").limits(|limits| limits.trace = Bytes::mib(4)).comes_to(Outcome::TraceLimit).await;
}

/// The kernel ends whoever is largest. Where that is the tracer, the trace has no end, and whoever reads it must know.
#[tokio::test]
async fn a_tracer_killed_for_want_of_memory_leaves_a_trace_that_is_not_complete() {
    let run = program("smaller-than-its-tracer.js")
        .limits(small)
        .limits(|limits| limits.disk = Bytes::mib(256))
        .comes_to(Outcome::MemoryLimit)
        .await;
    let told = strace::parse(
        &run.trace.bytes,
        &strace::Options { entry: Some("/lab/main.js".to_owned()), ..Default::default() },
    );
    assert!(told.incomplete.contains(&strace::Incomplete::EndMissing), "{:?}", told.incomplete);
    assert_eq!((run.exit_code, run.signal.as_deref()), (None, Some("SIGKILL")));
}

/// Untraced, the first process may be the largest that the kernel finds.
#[tokio::test]
async fn memory_taken_by_programs_smaller_than_the_guest_is_the_memory_limit() {
    program("smaller-than-the-guest.js")
        .untraced()
        .limits(small)
        .limits(|limits| limits.disk = Bytes::mib(256))
        .comes_to(Outcome::MemoryLimit)
        .await;
}

#[tokio::test]
async fn a_full_work_folder_is_the_disk_limit() {
    fills("/lab").await;
}

#[tokio::test]
async fn a_full_tmp_is_the_disk_limit() {
    fills("/tmp").await;
}

#[tokio::test]
async fn a_full_shared_memory_is_the_disk_limit() {
    fills("/dev/shm").await;
}

async fn fills(place: &str) {
    let run = program("fill.js")
        .arg(place)
        .limits(|limits| limits.disk = Bytes::mib(4))
        .comes_to(Outcome::DiskLimit)
        .await;
    assert_eq!(stdout(&run), "ENOSPC\n");
}

#[tokio::test]
async fn a_million_files_are_the_disk_limit() {
    let run = program("million-files.pl").arg("/tmp").comes_to(Outcome::DiskLimit).await;
    assert!(stdout(&run).starts_with("No space left on device after 6"), "{}", stdout(&run));
}

#[tokio::test]
async fn a_file_with_holes_takes_no_room() {
    let run = program("sparse-giant.pl").comes_to(Outcome::Exited).await;
    assert_eq!((run.exit_code, stdout(&run).as_str()), (Some(0), "made\n"));
}

#[tokio::test]
async fn a_hundred_thousand_descriptors_are_refused() {
    let run = program("descriptors.js").comes_to(Outcome::Exited).await;
    assert_eq!(stdout(&run), "EMFILE true\n");
    assert!(trace(&run).contains("EMFILE"));
}

fn small(limits: &mut lab::Limits) {
    limits.memory = Bytes::mib(96);
}
