//! Traces from files and standard input, compressed or not, as one reads them.

use std::fs::File;
use std::io::{self, IsTerminal, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use evidence::{RunInput, printable};
use strace::{EventKind, Limits, Options, Parser, Trace};

use super::units;
use crate::config;

/// Bytes handed to the parser at a time.
const CHUNK: usize = 256 << 10;
/// A smaller file is read before anybody could follow a bar.
const WORTH_A_BAR: u64 = 16 << 20;

/// What is to be read.
pub(super) struct Source {
    /// `None` for standard input.
    path: Option<PathBuf>,
    /// The run's label in the tables.
    label: String,
}

/// A trace that was read, and what it says of its run.
pub(super) struct Read {
    /// The run's label in the tables.
    pub(super) label: String,
    /// The file as it was named to us.
    pub(super) name: String,
    pub(super) trace: Trace,
    /// Argument list of the program, as far as the trace shows it.
    pub(super) command: Vec<String>,
    outcome: &'static str,
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<String>,
    /// End of the last event.
    pub(super) wall_ns: i64,
}

impl Read {
    fn new(name: String, label: String, trace: Trace) -> Self {
        let main = trace.threads.first().map_or(0, |thread| thread.tid);
        let last = trace.events.iter().rev().find(|event| event.kind == EventKind::Exit && event.tid == main);
        let exit_code = last.and_then(|end| end.ret).and_then(|code| i32::try_from(code).ok());
        let signal = last.and_then(|end| trace.signal(end)).map(str::to_owned);
        let outcome = match (exit_code, &signal) {
            (Some(_), _) => "exited",
            (None, Some(_)) => "signalled",
            (None, None) => "unknown",
        };
        let ends = trace.events.iter().filter_map(|event| event.end_ns().or(event.t_ns));
        let wall_ns = ends.max().unwrap_or(0);
        let command = command(&trace);
        Self { label, name, command, outcome, exit_code, signal, wall_ns, trace }
    }

    /// The run as the tables take it. Without a trace's own word for it, a value is left out.
    pub(super) fn run(&self) -> RunInput<'_> {
        RunInput {
            label: &self.label,
            try_no: 1,
            command: &self.command,
            outcome: self.outcome,
            exit_code: self.exit_code,
            signal: self.signal.as_deref(),
            wall_ns: self.wall_ns,
            cpu_ns: None,
            max_rss_bytes: None,
            oom: false,
            milli_cpus: 0,
            trace: Some(&self.trace),
            trace_bytes: self.trace.text().len() as u64,
            stdout: b"",
            stdout_dropped: 0,
            stderr: b"",
            stderr_dropped: 0,
        }
    }
}

/// The list that the first `execve` was given: strace writes it as JSON does, but where it cut it.
fn command(trace: &Trace) -> Vec<String> {
    let Some(first) = trace.events.first().filter(|event| trace.name(event) == "execve") else {
        return Vec::new();
    };
    let args = trace.args(first);
    let list = args.find('[').zip(args.rfind(']')).and_then(|(from, to)| args.get(from..=to));
    list.and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default()
}

/// The traces that the arguments name. One that does not exist may be what `strace -ff -o NAME` was
/// given: then NAME.1, NAME.2, ... are meant.
pub(super) fn sources(files: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let mut paths = Vec::new();
    for file in files {
        match parts(file) {
            Some(parts) => paths.extend(parts),
            None => paths.push(file.clone()),
        }
    }
    for (index, path) in paths.iter().enumerate() {
        ensure!(!paths[..index].contains(path), "{} is given twice", path.display());
    }
    let short: Vec<String> = paths.iter().map(|path| label(path)).collect();
    let source = |(path, label): (PathBuf, &String)| {
        let unique = short.iter().filter(|other| *other == label).count() == 1;
        let label = if unique { label.clone() } else { path.to_string_lossy().into_owned() };
        Source { path: (path.as_os_str() != "-").then_some(path), label }
    };
    Ok(paths.into_iter().zip(&short).map(source).collect())
}

/// The files of `strace -ff`, by number; `None` where there are none, or where `prefix` is a file itself.
fn parts(prefix: &Path) -> Option<Vec<PathBuf>> {
    if prefix.as_os_str() == "-" || prefix.exists() {
        return None;
    }
    let name = format!("{}.", prefix.file_name()?.to_str()?);
    let folder = prefix.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder).ok()?.filter_map(Result::ok) {
        let number = entry.file_name().to_str().and_then(|file| file.strip_prefix(&name)?.parse().ok());
        found.extend(number.map(|number| (number, prefix.with_file_name(entry.file_name()))));
    }
    found.sort_unstable();
    (!found.is_empty()).then(|| found.into_iter().map(|(_, path)| path).collect())
}

/// A file's name without what says how it is written.
fn label(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.strip_suffix(".strace").filter(|stem| !stem.is_empty()).unwrap_or(name).to_owned()
}

/// Reads a trace. What is wrong with it names the file and, where there is one, the line.
pub(super) fn read(source: Source, config: &config::Trace) -> anyhow::Result<Read> {
    let name = source.path.as_deref().map_or("standard input".to_owned(), |path| path.display().to_string());
    let (bytes, total): (Box<dyn io::Read>, u64) = match &source.path {
        None => (Box::new(io::stdin().lock()), 0),
        Some(path) => {
            let file = File::open(path).with_context(|| name.clone())?;
            let about = file.metadata().with_context(|| name.clone())?;
            ensure!(!about.is_dir(), "{name}: it is a folder");
            (Box::new(file), about.len())
        }
    };
    let limits = Limits { bytes: config.max_bytes, events: config.max_events, ..Limits::default() };
    let parser = Parser::new(Options { entry: config.entry.clone(), limits });
    let trace = parse(Counted { bytes, bar: Bar::new(&name, total) }, parser, &name)?;
    check(&trace).with_context(|| name.clone())?;
    Ok(Read::new(name, source.label, trace))
}

fn parse(mut bytes: Counted, mut parser: Parser, name: &str) -> anyhow::Result<Trace> {
    let mut magic = Vec::new();
    bytes.by_ref().take(6).read_to_end(&mut magic).with_context(|| name.to_owned())?;
    let bytes = io::Cursor::new(magic.clone()).chain(bytes);
    let mut text: Box<dyn io::Read> = match magic.as_slice() {
        [] => bail!("{name}: it is empty"),
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::new(bytes).with_context(|| name.to_owned())?),
        b"\xfd7zXZ\0" | [b'B', b'Z', b'h', ..] | [b'P', b'K', 3, 4, ..] => {
            bail!("{name}: it is compressed in a way that is not known here; .gz and .zst are")
        }
        b"SQLite" => bail!("{name}: it is a database already: open it with sqlite3"),
        _ => Box::new(bytes),
    };
    let mut chunk = vec![0; CHUNK];
    let mut lines = 1;
    loop {
        let length = match text.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).with_context(|| format!("{name}, line {lines}")),
        };
        lines += chunk[..length].iter().filter(|&&byte| byte == b'\n').count();
        parser.push(&chunk[..length]);
        if parser.is_full() {
            break;
        }
    }
    drop(text);
    Ok(parser.finish())
}

/// A text without any event is no trace: says what its first odd line holds.
fn check(trace: &Trace) -> anyhow::Result<()> {
    if !trace.events.is_empty() {
        return Ok(());
    }
    let Some(note) = trace.notes.iter().find(|note| note.line > 0) else {
        bail!("no line of it is an event of strace");
    };
    let line: String = trace.line(note.line).chars().take(60).collect();
    bail!("line {}: not the text of strace: {}", note.line, printable(&line))
}

/// Bytes that are counted as they are read.
struct Counted {
    bytes: Box<dyn io::Read>,
    bar: Option<Bar>,
}

impl io::Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.bytes.read(buffer)?;
        if let Some(bar) = &mut self.bar {
            bar.more(length as u64);
        }
        Ok(length)
    }
}

/// How far a large file is read, on a terminal's last line.
struct Bar {
    name: String,
    read: u64,
    total: u64,
    drawn: Instant,
}

impl Bar {
    fn new(name: &str, total: u64) -> Option<Self> {
        let wanted = total >= WORTH_A_BAR && io::stderr().is_terminal();
        wanted.then(|| Self { name: printable(name).into_owned(), read: 0, total, drawn: Instant::now() })
    }

    fn more(&mut self, length: u64) {
        const WIDTH: u64 = 30;
        self.read += length;
        if self.drawn.elapsed() < Duration::from_millis(100) {
            return;
        }
        self.drawn = Instant::now();
        let read = self.read.min(self.total);
        let filled = usize::try_from(read * WIDTH / self.total).unwrap_or(0);
        let (done, left) = ("#".repeat(filled), ".".repeat(30 - filled));
        let percent = read * 100 / self.total;
        let (read, total) = (units::size(read), units::size(self.total));
        let _ = write!(io::stderr(), "\r\x1b[K{} [{done}{left}] {percent} % of {total} ({read})", self.name);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn labels_are_names_of_files_and_differ() {
        let labels = |files: &[&str]| -> Vec<String> {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            sources(&files).unwrap().into_iter().map(|source| source.label).collect()
        };
        assert_eq!(labels(&["x/read.strace", "b.strace.gz", "c.zst", "-"]), ["read", "b", "c", "stdin"]);
        assert_eq!(labels(&["x/a.strace", "y/a.strace", "b"]), ["x/a.strace", "y/a.strace", "b"]);
        assert_eq!(labels(&[".strace"]), [".strace"]);
        let twice = sources(&["a".into(), "a".into()]).err().unwrap();
        assert_eq!(twice.to_string(), "a is given twice");
    }

    #[test]
    fn the_command_is_the_first_execve() {
        let of = |text: &str| command(&strace::parse(text.as_bytes(), &Options::default()));
        assert_eq!(of("1 execve(\"/n\", [\"node\", \"a \\\"b\\\".js\"], 0x7 /* 3 vars */) = 0\n"), ["node", "a \"b\".js"]);
        assert_eq!(of("1 execve(\"/n\", [\"node\", \"x\"...], 0x7 /* 3 vars */) = 0\n"), [] as [&str; 0]);
        assert_eq!(of("1 getpid() = 1\n"), [] as [&str; 0]);
    }
}
