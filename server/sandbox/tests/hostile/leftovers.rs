//! What is left in the work folder is told of, and none of it is ever followed, opened or waited for.

use lab::{FileKind, FileLeft, FilesLeft, Outcome, Run, Tracer};

use crate::case::program;
use crate::support::{Bench, spec, stderr, stdout};

/// The files that a run left, without what was put in.
fn left(run: &Run) -> (Vec<&FileLeft>, Option<&str>) {
    let FilesLeft { rows, cut } = run.files.as_ref().expect("they were collected");
    let own = |row: &&FileLeft| !row.path.starts_with("main.js") && !row.path.ends_with(".pl");
    (rows.iter().filter(own).collect(), cut.as_deref())
}

#[tokio::test]
async fn ordinary_files_are_told_with_digest_and_text() {
    let bench = Bench::new().await;
    let script = "const fs = require('node:fs'); const { execFileSync } = require('node:child_process');
        fs.mkdirSync('out/deep', { recursive: true }); fs.writeFileSync('out/deep/a.txt', '届く\\n'); fs.chmodSync('out/deep/a.txt', 0o640);
        fs.writeFileSync('big', Buffer.alloc(3 << 20, 7)); fs.symlinkSync('out/deep', 'to');
        console.log(String(execFileSync('sha256sum', ['big'])).slice(0, 64))";
    for tracer in [Tracer::Trace, Tracer::None] {
        let mut spec = spec();
        (spec.collect, spec.tracer) = (true, tracer);
        let run = bench.run(&spec, script).await;
        let (rows, cut) = left(&run);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.path.as_str(), row.kind, row.size_bytes, row.mode, row.text.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("big", FileKind::File, 3 << 20, 0o644, None),
                ("out", FileKind::Dir, rows[1].size_bytes, 0o755, None),
                ("out/deep", FileKind::Dir, rows[2].size_bytes, 0o755, None),
                ("out/deep/a.txt", FileKind::File, 7, 0o640, Some("届く\n")),
                ("to", FileKind::Link, 8, 0o777, Some("out/deep")),
            ],
            "{tracer:?}: {}",
            stderr(&run)
        );
        assert_eq!(rows[0].sha256.as_deref(), Some(stdout(&run).trim()));
        assert_eq!(cut, None);
    }
}

#[tokio::test]
async fn links_fifos_sockets_and_what_is_closed_to_all_are_told_and_not_opened() {
    let run = program("odd-files.pl").collect().comes_to(Outcome::Exited).await;
    let (rows, cut) = left(&run);
    let told: Vec<_> = rows.iter().map(|row| (row.path.as_str(), row.kind, row.text.as_deref())).collect();
    assert_eq!(
        told,
        [
            ("fifo", FileKind::Other, None),
            ("link", FileKind::Link, Some("/etc/shadow")),
            ("loop", FileKind::Link, Some("loop")),
            ("root", FileKind::Link, Some("/proc/self/root")),
            ("secret", FileKind::File, None),
            ("socket", FileKind::Other, None),
            ("unreadable", FileKind::Dir, None),
        ]
    );
    assert!(rows.iter().all(|row| row.sha256.is_none()));
    assert!(cut.is_some_and(|why| why.contains("may not read")), "{cut:?}");
}

#[tokio::test]
async fn giants_made_of_holes_are_told_and_not_read() {
    let run = program("sparse-giant.pl").collect().comes_to(Outcome::Exited).await;
    let (rows, cut) = left(&run);
    assert_eq!((rows.len(), rows[0].size_bytes, rows[0].sha256.as_deref(), cut), (1, 1 << 42, None, None));
}

#[tokio::test]
async fn of_a_million_files_so_many_are_told() {
    let run = program("million-files.pl").arg("/lab").collect().comes_to(Outcome::DiskLimit).await;
    let (rows, cut) = left(&run);
    assert!((1000..=2000).contains(&rows.len()), "{}", rows.len());
    assert!(cut.is_some_and(|why| why.contains("more files")), "{cut:?}");
}

#[tokio::test]
async fn of_folders_without_end_so_many_are_told() {
    let run = program("deep-folders.pl").collect().comes_to(Outcome::Exited).await;
    let (rows, cut) = left(&run);
    // As deep as a path may be long.
    assert_eq!(rows.iter().map(|row| row.path.len()).max(), Some(16 * 251 - 1));
    assert!(cut.is_some_and(|why| why.contains("deeper")), "{cut:?}");
}

#[tokio::test]
async fn names_are_told_as_they_are() {
    let run = program("hostile-names.pl").collect().comes_to(Outcome::Exited).await;
    let (rows, cut) = left(&run);
    let names: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    for name in [
        "a\n12    1796076416.5 +++ exited with 0 +++",
        "\u{1b}[2J\u{1b}[31mred",
        "\u{fffd}\u{fffd}\u{fffd}",
        "-rf",
    ] {
        assert!(names.contains(&name), "{name:?} is not in {names:?}");
    }
    assert_eq!(cut, None);
}

/// A run that a limit ended is collected too, and what changes the files until its end is gone by then.
#[tokio::test]
async fn a_folder_that_is_changed_to_the_last_is_told_once_nobody_is_left() {
    let run = program("never-still.pl").collect().comes_to(Outcome::WallLimit).await;
    let (rows, cut) = left(&run);
    assert_eq!(cut, None);
    assert!((1..=2).contains(&rows.len()), "{rows:?}");
    for row in rows {
        let text = row.text.as_deref();
        match row.kind {
            FileKind::File => assert_eq!((text, row.size_bytes), (Some(""), 0), "another file's content"),
            kind => assert_eq!((kind, text), (FileKind::Link, Some("/etc/passwd"))),
        }
    }
}
