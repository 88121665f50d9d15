//! One run, from its files to what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use bollard::container::LogOutput;
use futures_util::StreamExt;
use guest::{Entry, Report, Seal, Start, WORK, path_fault};
use lab::{Outcome, Run, RunSpec, Tracer, Usage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::capture::Capture;
use crate::container::Shape;
use crate::leftovers::Leftovers;
use crate::outcome::Facts;
use crate::parked::Parked;
use crate::pool::PARKED_LIFE;
use crate::scan::Scan;
use crate::seal::Sealed;
use crate::{Error, Sandbox};

/// What processes left behind by the main tracee get before they are killed.
const GRACE: Duration = Duration::from_millis(300);
/// What the guest gets to end a run by itself, past its limit or our request.
const ORDERLY_END: Duration = Duration::from_secs(8);
/// What the guest gets to take the start and the files.
const HAND_OVER: Duration = Duration::from_secs(20);
/// What the last output gets to arrive once the container has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(10);

/// What to run.
pub struct RunRequest<'a> {
    /// How: image, entry, limits.
    pub spec: &'a RunSpec,
    /// The work folder's content by relative path.
    pub files: &'a BTreeMap<String, Vec<u8>>,
    /// Takes what the program writes, as it comes and in its order, up to the limit on output.
    pub output: Option<OutputSender>,
    /// Ends the run early: [`Sandbox::run`] answers [`Error::Cancelled`].
    pub cancel: CancellationToken,
}

impl Sandbox {
    /// Runs a program in a container of its own, which is gone (or in the lane of removals) when
    /// this returns or its future is dropped.
    pub async fn run(&self, request: RunRequest<'_>) -> Result<Run, Error> {
        let RunRequest { spec, files, output, cancel } = request;
        check(spec, files)?;
        tokio::select! {
            run = self.run_in_time(spec, files, output.as_ref()) => run,
            () = cancel.cancelled() => Err(Error::Cancelled),
        }
    }

    async fn run_in_time(
        &self,
        spec: &RunSpec,
        files: &BTreeMap<String, Vec<u8>>,
        output: Option<&OutputSender>,
    ) -> Result<Run, Error> {
        let _under_way = self.inner.pool.under_way();
        let shape = Shape::of(&spec.image, &spec.limits);
        if let Some(parked) = self.inner.pool.take(&shape) {
            let mut live = Live::new(parked, spec, output);
            match self.live(&mut live, files).await {
                // One that waited may have died unseen, with its engine: nothing has run yet.
                Err(error) if error.is_transient() && !live.has_started => {
                    tracing::info!(%error, "a sandbox made ahead is of no use; another is made");
                }
                Err(error) => return Err(error),
                Ok(()) => return live.into_run(),
            }
        }
        let mut live = Live::new(self.park(&shape, PARKED_LIFE).await?, spec, output);
        self.live(&mut live, files).await?;
        live.into_run()
    }

    async fn live(&self, live: &mut Live<'_>, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
        live.hand_over(files).await?;
        live.watch().await?;
        live.last_output().await?;
        if live.facts.ended.is_none() {
            live.facts.engine_oom = self.inner.engine.was_oom_killed(live.parked.guard.name()).await?;
        }
        Ok(())
    }
}

/// The tracee's command line. The entry is an absolute path, or its name could be taken for an option.
fn command(spec: &RunSpec) -> Vec<String> {
    let fixed = ["node", "--require", "/opt/todoku/preload.cjs"].map(String::from);
    let entry = format!("{WORK}/{}", spec.entry);
    fixed.into_iter().chain([entry]).chain(spec.args.iter().cloned()).collect()
}

fn check(spec: &RunSpec, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
    check_files(spec, files)?;
    if let Some((name, _)) = spec
        .env
        .iter()
        .find(|(name, value)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0'))
    {
        return Err(Error::Refused(format!("variable {name:?}: no '=' or NUL in a name, no NUL in a value")));
    }
    Ok(())
}

fn start(spec: &RunSpec, files: usize, learner: u32, seal: Seal, filter: bool) -> Start {
    let command = command(spec);
    let path = ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
    let own = [path.clone(), ("HOME".to_owned(), WORK.to_owned()), ("LANG".to_owned(), "C.UTF-8".to_owned())];
    let mut tracee: BTreeMap<_, _> = own.into();
    tracee.extend(spec.env.clone());
    let tracee: Vec<(String, String)> = tracee.into_iter().collect();
    let (argv, env) = match spec.tracer {
        Tracer::None => (command, tracee),
        Tracer::Trace => (
            strace::argv(
                filter,
                guest::TRACE,
                &format!("{learner}:{learner}"),
                &["LC_ALL"],
                &tracee,
                &command,
            ),
            // LC_ALL keeps strace's own words in English whatever the image's language.
            vec![path, ("LC_ALL".to_owned(), "C".to_owned())],
        ),
    };
    Start {
        argv,
        env,
        learner,
        seal,
        as_learner: spec.tracer == Tracer::None,
        open_files: u64::from(spec.limits.open_files),
        wall: spec.limits.wall,
        grace: GRACE,
        collect: spec.collect,
        files: u32::try_from(files).unwrap_or(u32::MAX),
    }
}

fn check_files(spec: &RunSpec, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
    for path in files.keys().chain([&spec.entry]) {
        if let Some(fault) = path_fault(path) {
            return Err(Error::Refused(format!("file {path:?}: {fault}")));
        }
        let mut folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        if let Some(folder) = folders.find(|folder| files.contains_key(*folder)) {
            return Err(Error::Refused(format!("file {path:?}: {folder:?} is a file, not a folder")));
        }
    }
    let total: u64 = files.values().map(|content| content.len() as u64).sum();
    if total > spec.limits.disk.0 {
        return Err(Error::Refused(format!(
            "the files have {total} bytes, the work folder {}: raise the run's limit on disk",
            spec.limits.disk.0
        )));
    }
    Ok(())
}

/// Where a run's output goes while it runs; a receiver that is gone is nobody's loss.
pub type OutputSender = mpsc::UnboundedSender<(Stream, Vec<u8>)>;

/// Which of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A run under way.
struct Live<'a> {
    spec: &'a RunSpec,
    shown: Option<&'a OutputSender>,
    parked: Parked,
    /// Whether the guest has said that the program runs.
    has_started: bool,
    seal: Seal,
    /// Standard output and standard error on their way.
    sealed: [Sealed; 2],
    stdout: Capture,
    stderr: Capture,
    trace: Capture,
    scan: Scan,
    control: Vec<u8>,
    leftovers: Leftovers,
    output_open: bool,
    facts: Facts,
}

impl<'a> Live<'a> {
    fn new(parked: Parked, spec: &'a RunSpec, shown: Option<&'a OutputSender>) -> Self {
        let seal = Uuid::new_v4().into_bytes();
        Self {
            spec,
            shown,
            parked,
            has_started: false,
            seal,
            sealed: [Sealed::new(seal), Sealed::new(seal)],
            stdout: Capture::both_ends(spec.limits.output),
            stderr: Capture::both_ends(spec.limits.output),
            trace: Capture::head(spec.limits.trace),
            scan: Scan::default(),
            control: Vec::new(),
            leftovers: Leftovers::default(),
            output_open: true,
            facts: Facts { traced: spec.tracer == Tracer::Trace, ..Facts::default() },
        }
    }

    async fn hand_over(&mut self, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
        let unwritable = |error: std::io::Error| Error::Refused(error.to_string());
        let mut bytes = Vec::new();
        let start = start(self.spec, files.len(), self.parked.learner, self.seal, self.parked.filter);
        start.write(&mut bytes).map_err(unwritable)?;
        for (path, content) in files {
            let entry = Entry { path: path.clone(), mode: 0o644, len: content.len() as u64 };
            entry.write(&mut bytes).map_err(unwritable)?;
            bytes.extend_from_slice(content);
        }
        let write = async {
            self.parked.input.write_all(&bytes).await?;
            self.parked.input.flush().await
        };
        match timeout(HAND_OVER, write).await {
            // A guest that could not go on has said why on its FIFO: read it there.
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Timeout { doing: "hand the files over", after: HAND_OVER }),
        }
    }

    /// Reads everything that comes until the guest reports the end, and asks for the end when a cap
    /// is passed. The guest keeps the wall limit itself; this side has a deadline behind it.
    async fn watch(&mut self) -> Result<(), Error> {
        let patience = self.spec.limits.wall + ORDERLY_END;
        let mut deadline = Instant::now() + patience;
        let mut grace: Option<Instant> = None;
        let mut buffer = vec![0; 64 * 1024];
        let mut reports = vec![0; 64 * 1024];
        while self.facts.ended.is_none() && self.output_open {
            let survivors_until = grace.unwrap_or(deadline);
            let mut end = false;
            tokio::select! {
                read = self.parked.trace.read(&mut buffer) => {
                    let count = read.map_err(lost)?;
                    end = self.take_trace(&buffer[..count]);
                    if self.scan.main_end().is_some() && grace.is_none() {
                        grace = Some(Instant::now() + GRACE);
                    }
                }
                read = self.parked.control.read(&mut reports) => {
                    let count = read.map_err(lost)?;
                    self.take_reports(&reports[..count])?;
                }
                output = self.parked.output.next(), if self.output_open => end = self.take_output(output)?,
                () = sleep_until(survivors_until), if grace.is_some() => {
                    // The main tracee has ended; strace would wait for what it left behind for ever.
                    grace = None;
                    end = true;
                }
                () = sleep_until(deadline) => {
                    return Err(Error::Timeout { doing: "hear the run's end", after: patience });
                }
            }
            if end {
                deadline = deadline.min(Instant::now() + ORDERLY_END);
                self.ask_for_end().await;
            }
        }
        self.drain_fifos()
    }

    async fn ask_for_end(&mut self) {
        let ask = async {
            self.parked.input.write_all(&[guest::KILL]).await?;
            self.parked.input.flush().await
        };
        // Where it does not arrive the container is gone already, or the deadline strikes.
        if !matches!(timeout(Duration::from_secs(1), ask).await, Ok(Ok(()))) {
            tracing::debug!(
                container = self.parked.guard.name(),
                "the guest did not take the request to end"
            );
        }
    }

    /// Returns whether the run must end now.
    fn strike(&mut self, outcome: Outcome) -> bool {
        let first = self.facts.told.is_none();
        self.facts.told.get_or_insert(outcome);
        first
    }

    fn take_trace(&mut self, bytes: &[u8]) -> bool {
        self.scan.push(bytes);
        self.trace.push(bytes) && self.strike(Outcome::TraceLimit)
    }

    /// Output that was lost on its way is the machine's fault: a run must not be graded without it.
    fn take_output(
        &mut self,
        output: Option<Result<LogOutput, bollard::errors::Error>>,
    ) -> Result<bool, Error> {
        let output =
            output.transpose().map_err(|source| Error::Engine { doing: "hand over the output", source })?;
        let over = match output {
            Some(LogOutput::StdOut { message } | LogOutput::Console { message }) => {
                let bytes = self.sealed[0].push(&message);
                self.keep(Stream::Stdout, bytes)
            }
            Some(LogOutput::StdErr { message }) => {
                let bytes = self.sealed[1].push(&message);
                self.keep(Stream::Stderr, bytes)
            }
            Some(LogOutput::StdIn { .. }) => false,
            None => {
                self.output_open = false;
                let [out, err] = self.sealed.each_mut().map(Sealed::rest);
                let over_out = self.keep(Stream::Stdout, out);
                self.keep(Stream::Stderr, err) || over_out
            }
        };
        Ok(over && self.strike(Outcome::OutputLimit))
    }

    /// Keeps what fits, shows what came before the limit, and returns whether that is passed.
    fn keep(&mut self, stream: Stream, bytes: Vec<u8>) -> bool {
        let capture = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let is_over = capture.push(&bytes);
        if let Some(shown) = self.shown
            && !is_over
            && !bytes.is_empty()
        {
            let _nobody_looks = shown.send((stream, bytes));
        }
        is_over
    }

    fn take_reports(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.control.extend_from_slice(bytes);
        loop {
            let mut rest = self.control.as_slice();
            match Report::read(&mut rest) {
                Ok(Report::Started) => self.has_started = true,
                Ok(Report::Left(left)) => self.leftovers.left(left),
                Ok(Report::Content(bytes)) => self.leftovers.content(&bytes),
                Ok(Report::LeftAll(cut)) => self.leftovers.all(cut),
                Ok(Report::Ended(ended)) => self.facts.ended = Some(ended),
                Ok(Report::Failed(why)) => return Err(Error::Guest(why)),
                // The rest of the frame is on its way.
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(Error::Guest(format!("an unreadable report: {error}"))),
            }
            let read = self.control.len() - rest.len();
            self.control.drain(..read);
        }
    }

    /// What is left in the FIFOs when their writers are gone.
    fn drain_fifos(&mut self) -> Result<(), Error> {
        let mut buffer = vec![0; 64 * 1024];
        while let Some(count) = waiting(self.parked.control.try_read(&mut buffer))? {
            self.take_reports(&buffer[..count])?;
        }
        while let Some(count) = waiting(self.parked.trace.try_read(&mut buffer))? {
            let _over = self.take_trace(&buffer[..count]);
        }
        Ok(())
    }

    /// Output that is still on its way through the engine; it ends with its seal, or the container.
    async fn last_output(&mut self) -> Result<(), Error> {
        let until = Instant::now() + LAST_OUTPUT;
        while self.output_open && !self.sealed.iter().all(Sealed::is_whole) {
            tokio::select! {
                output = self.parked.output.next() => {
                    let _over = self.take_output(output)?;
                }
                () = sleep_until(until) => {
                    return Err(Error::Timeout { doing: "read the last output", after: LAST_OUTPUT });
                }
            }
        }
        // The guest sealed both before it reported: what is missing was lost with the engine.
        if self.facts.ended.is_some() && !self.sealed.iter().all(Sealed::is_whole) {
            return Err(Error::Guest("its output ended before its seal".to_owned()));
        }
        Ok(())
    }

    fn into_run(mut self) -> Result<Run, Error> {
        let spec = self.spec;
        self.facts.main_end = self.scan.main_end().cloned();
        self.facts.disk_full = self.scan.disk_full();
        if self.facts.ended.is_none() && !self.facts.oom() {
            let said: String = String::from_utf8_lossy(self.stderr.bytes()).chars().take(200).collect();
            return Err(Error::Guest(format!(
                "its first process ended without a report; on stderr: {said:?}"
            )));
        }
        if self.facts.traced && !self.scan.started() && !self.facts.oom() {
            let said = String::from_utf8_lossy(self.stderr.bytes()).into_owned();
            return Err(Error::Guest(format!("strace started nothing: {}", said.trim_end())));
        }
        let verdict = self.facts.verdict();
        let counters = self.facts.counters();
        let by_guest = self.facts.ended.map(|ended| ended.wall);
        let usage = Usage {
            wall: self.scan.wall().or(by_guest).unwrap_or(spec.limits.wall),
            cpu: counters.cpu_ns.map(Duration::from_nanos),
            max_memory: counters.max_memory.map(lab::Bytes),
            oom: self.facts.oom(),
        };
        Ok(Run {
            label: spec.label.clone(),
            try_no: 1,
            command: command(spec),
            outcome: verdict.outcome,
            exit_code: verdict.exit_code,
            signal: verdict.signal,
            stdout: self.stdout.into_captured(),
            stderr: self.stderr.into_captured(),
            usage,
            milli_cpus: spec.limits.milli_cpus,
            tracer: spec.tracer,
            trace: self.trace.into_captured(),
            files: spec.collect.then(|| self.leftovers.into_files()),
        })
    }
}

/// `None` when nothing waits in the FIFO.
fn waiting(read: std::io::Result<usize>) -> Result<Option<usize>, Error> {
    match read {
        Ok(0) => Ok(None),
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(lost(error)),
    }
}

fn lost(error: std::io::Error) -> Error {
    Error::Guest(format!("its FIFO cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    /// Neither of the two rooms that name the folder may know the other.
    #[test]
    fn grading_looks_for_the_entry_where_the_guest_puts_it() {
        assert_eq!(guest::WORK, lab::WORK_FOLDER);
    }
}
