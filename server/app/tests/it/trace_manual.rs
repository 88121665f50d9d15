//! Every command of `docs/trace.md` prints what the page says. `UPDATE_DOCS=1` writes the page anew.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn page() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/trace.md")
}

/// What a shell prints for a command of the page, where the traces are.
fn printed(command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_todoku"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../strace/tests/fixtures");
    let output =
        Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(traces).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>().trim_end().to_owned()
}

/// A block's command: from `$ ` to the line on which its quotes are in pairs.
fn command(block: &str) -> String {
    let mut lines = Vec::new();
    for line in block.lines() {
        lines.push(line);
        if lines.join("\n").matches('"').count() % 2 == 0 {
            break;
        }
    }
    lines.join("\n")
}

#[test]
fn commands_print_what_the_page_says() {
    const FENCE: &str = "```console\n";
    let text = std::fs::read_to_string(page()).unwrap();
    let (mut renewed, mut rest, mut queries) = (String::new(), text.as_str(), 0);
    while let Some((before, after)) = rest.split_once(FENCE) {
        let (block, behind) = after.split_once("\n```").unwrap();
        let command = command(block);
        queries += usize::from(command.contains("--sql"));
        let printed = printed(command.strip_prefix("$ ").unwrap());
        renewed += &format!("{before}{FENCE}{command}\n{printed}\n```");
        rest = behind;
    }
    renewed += rest;
    assert!(queries >= 10, "ten worked questions");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page(), &renewed).unwrap();
    } else {
        assert_eq!(renewed, text, "run with UPDATE_DOCS=1 and read what changed");
    }
}

#[test]
fn the_page_has_every_option_and_no_other() {
    let help = Command::new(env!("CARGO_BIN_EXE_todoku")).args(["trace", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let options = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '-');
        words.filter(|word| word.starts_with("--") && word.len() > 3).map(str::to_owned).collect()
    };
    let table = std::fs::read_to_string(page()).unwrap();
    let table: String = table
        .lines()
        .filter(|line| line.starts_with("| `--"))
        .map(|line| line.split('|').nth(1).unwrap())
        .collect();
    // Of every command.
    let common = ["--log", "--log-format", "--help", "--version"].map(str::to_owned);
    let of_trace: BTreeSet<String> =
        options(&help).into_iter().filter(|option| !common.contains(option)).collect();
    assert_eq!(options(&table), of_trace);
}
