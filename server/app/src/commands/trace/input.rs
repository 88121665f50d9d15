//! Traces from files and standard input, compressed or not, as one reads them.

use std::fs::File;
use std::io::{self, IsTerminal, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use evidence::{RunInput, printable};
use strace::{EventKind, Limits, Options, Parser, Summarizer, Summary, Trace};

use super::units;
use crate::config;

/// Bytes handed to the parser at a time.
const CHUNK: usize = 256 << 10;
/// A smaller file is read before anybody could follow a bar.
const WORTH_A_BAR: u64 = 16 << 20;

/// What is to be read: one file, or the files of `strace -ff`, one for each thread.
pub(super) struct Source {
    /// `-` for standard input.
    path: PathBuf,
    /// Number and file of each thread.
    threads: Vec<(u32, PathBuf)>,
    /// The run's label in the tables.
    label: String,
}

impl Source {
    /// As it is named to people.
    fn name(&self) -> String {
        if is_stdin(&self.path) { "standard input".to_owned() } else { self.path.display().to_string() }
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What a source is read for.
#[derive(Clone, Copy)]
pub(super) struct Want {
    pub(super) trace: bool,
    pub(super) summary: bool,
}

/// What was read of a source.
pub(super) struct Reading {
    pub(super) label: String,
    /// The file as it was named to us.
    pub(super) name: String,
    pub(super) read: Option<Read>,
    pub(super) summary: Option<Summary>,
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
        let exit_code = last.and_then(strace::Event::ret).and_then(|code| i32::try_from(code).ok());
        let signal = last.and_then(|end| trace.signal(end)).map(str::to_owned);
        let outcome = match (exit_code, &signal) {
            (Some(_), _) => "exited",
            (None, Some(_)) => "signalled",
            (None, None) => "unknown",
        };
        let ends = trace.events.iter().filter_map(|event| event.end_ns().or(event.t_ns()));
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
            trace: Some(&self.trace),
            trace_bytes: self.trace.text().len() as u64,
            ..RunInput::default()
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
/// given: then NAME.1, NAME.2, ... are meant. Two or more of those named one by one are one trace too.
pub(super) fn sources(files: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    for (index, file) in files.iter().enumerate() {
        ensure!(!files[..index].contains(file), "{} is given twice", file.display());
    }
    let mut sources: Vec<Source> = Vec::new();
    for file in files {
        let siblings: Vec<_> = match numbered(file) {
            Some((prefix, _)) => {
                files.iter().filter(|other| numbered(other).is_some_and(|o| o.0 == prefix)).collect()
            }
            None => Vec::new(),
        };
        let (path, threads) = match numbered(file).filter(|_| siblings.len() > 1) {
            Some((prefix, number)) => {
                if let Some(source) = sources.iter_mut().find(|source| source.path == prefix) {
                    source.threads.push((number, file.clone()));
                    continue;
                }
                (prefix, vec![(number, file.clone())])
            }
            None => (file.clone(), parts(file)),
        };
        sources.push(Source { label: label(&path), path, threads });
    }
    // Two files of one name in two folders are told apart by their paths.
    let short: Vec<String> = sources.iter().map(|source| source.label.clone()).collect();
    for source in &mut sources {
        if short.iter().filter(|other| **other == source.label).count() > 1 {
            source.label = source.path.to_string_lossy().into_owned();
        }
    }
    Ok(sources)
}

/// `run.17` as `run` and 17.
fn numbered(path: &Path) -> Option<(PathBuf, u32)> {
    let number = path.extension()?.to_str()?.parse().ok()?;
    Some((path.with_extension(""), number))
}

/// The files of `strace -ff -o PREFIX`, by number; none where `prefix` is a file itself.
fn parts(prefix: &Path) -> Vec<(u32, PathBuf)> {
    if is_stdin(prefix) || prefix.exists() {
        return Vec::new();
    }
    let folder = prefix.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.filter_map(Result::ok).map(|entry| prefix.with_file_name(entry.file_name()));
    let parts = files
        .filter_map(|file| numbered(&file).filter(|(of, _)| of == prefix).map(|(_, number)| (number, file)));
    let mut parts: Vec<_> = parts.collect();
    parts.sort_unstable();
    parts
}

/// A file's name without what says how it is written.
fn label(path: &Path) -> String {
    if is_stdin(path) {
        return "stdin".to_owned();
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.strip_suffix(".strace").filter(|stem| !stem.is_empty()).unwrap_or(name).to_owned()
}

/// Reads a trace. What is wrong with it names the file and, where there is one, the line.
pub(super) fn read(source: &Source, config: &config::Trace, want: Want) -> anyhow::Result<Reading> {
    let name = source.name();
    let limits = Limits { bytes: config.max_bytes, events: config.max_events, ..Limits::default() };
    let options = Options { entry: config.entry.clone(), limits };
    let mut parser = want.trace.then(|| Parser::new(options));
    if let (Some(parser), Ok(about)) = (&mut parser, std::fs::metadata(&source.path)) {
        parser.expect(usize::try_from(about.len()).unwrap_or(0));
    }
    let mut summarizer = want.summary.then(|| Summarizer::new(config.entry.clone()));
    let mut take = |chunk: &[u8]| {
        if let Some(summarizer) = &mut summarizer {
            summarizer.push(chunk);
        }
        match &mut parser {
            Some(parser) => {
                parser.push(chunk);
                !parser.is_full()
            }
            None => true,
        }
    };
    if source.threads.is_empty() {
        pour(&source.path, &name, &mut take)?;
    } else {
        merged(&source.threads)?.chunks(CHUNK).all(&mut take);
    }
    let read = parser.map(|parser| Read::new(name.clone(), source.label.clone(), parser.finish()));
    if let Some(read) = &read {
        check(&read.trace).with_context(|| name.clone())?;
    }
    let summary = summarizer.map(Summarizer::finish);
    if let Some(Summary { events: 0, first_unread, .. }) = &summary {
        match first_unread {
            Some((line, why)) => bail!("{name}: line {line}: not the text of strace: {why}"),
            None => bail!("{name}: no line of it is an event of strace"),
        }
    }
    Ok(Reading { label: source.label.clone(), name, read, summary })
}

/// The files of single threads as one text.
fn merged(threads: &[(u32, PathBuf)]) -> anyhow::Result<Vec<u8>> {
    let mut texts = Vec::with_capacity(threads.len());
    for (number, path) in threads {
        let mut text = Vec::new();
        pour(path, &path.display().to_string(), &mut |chunk| {
            text.extend_from_slice(chunk);
            true
        })?;
        texts.push((*number, text));
    }
    let texts: Vec<_> = texts.iter().map(|(number, text)| (*number, text.as_slice())).collect();
    Ok(strace::merge(&texts))
}

/// Gives the text of a file, unpacked, to `take` until that has enough.
fn pour(path: &Path, name: &str, take: &mut dyn FnMut(&[u8]) -> bool) -> anyhow::Result<()> {
    let (bytes, total): (Box<dyn io::Read>, u64) = if is_stdin(path) {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(path).with_context(|| name.to_owned())?;
        let about = file.metadata().with_context(|| name.to_owned())?;
        ensure!(!about.is_dir(), "{name}: it is a folder");
        (Box::new(file), about.len())
    };
    let mut text = unpacked(Counted { bytes, bar: Bar::new(name, total) }, name)?;
    let mut chunk = vec![0; CHUNK];
    let mut lines = 1;
    loop {
        let length = match text.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).with_context(|| format!("{name}, line {lines}")),
        };
        lines += memchr::memchr_iter(b'\n', &chunk[..length]).count();
        if !take(&chunk[..length]) {
            return Ok(());
        }
    }
}

/// The text of a file, by what its first bytes say it is.
fn unpacked(mut bytes: Counted, name: &str) -> anyhow::Result<Box<dyn io::Read>> {
    let mut magic = Vec::new();
    bytes.by_ref().take(6).read_to_end(&mut magic).with_context(|| name.to_owned())?;
    let bytes = io::Cursor::new(magic.clone()).chain(bytes);
    Ok(match magic.as_slice() {
        [] => bail!("{name}: it is empty"),
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::new(bytes).with_context(|| name.to_owned())?),
        b"\xfd7zXZ\0" | [b'B', b'Z', b'h', ..] | [b'P', b'K', 3, 4, ..] => {
            bail!("{name}: it is compressed in a way that is not known here; .gz and .zst are")
        }
        b"SQLite" => bail!("{name}: it is a database already: open it with sqlite3"),
        _ => Box::new(bytes),
    })
}

/// A text without any event is no trace: says what its first odd line holds.
fn check(trace: &Trace) -> anyhow::Result<()> {
    if !trace.events.is_empty() {
        return Ok(());
    }
    // A table of `strace -c` alone is something.
    let odd = trace.notes.iter().find(|note| note.line > 0).filter(|_| trace.summary.is_empty());
    let Some(note) = odd else {
        ensure!(!trace.summary.is_empty(), "no line of it is an event of strace");
        return Ok(());
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
        assert_eq!(labels(&["x/run.17", "x/run.18", "y.1"]), ["run", "y.1"]);
        let twice = sources(&["a".into(), "a".into()]).err().unwrap();
        assert_eq!(twice.to_string(), "a is given twice");
    }

    #[test]
    fn the_command_is_the_first_execve() {
        let of = |text: &str| command(&strace::parse(text.as_bytes(), &Options::default()));
        assert_eq!(
            of("1 execve(\"/n\", [\"node\", \"a \\\"b\\\".js\"], 0x7 /* 3 vars */) = 0\n"),
            ["node", "a \"b\".js"]
        );
        assert_eq!(of("1 execve(\"/n\", [\"node\", \"x\"...], 0x7 /* 3 vars */) = 0\n"), [] as [&str; 0]);
        assert_eq!(of("1 getpid() = 1\n"), [] as [&str; 0]);
    }
}
