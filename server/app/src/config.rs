//! Every setting, from flags and the environment. Nothing else reads the environment.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Lab sandboxes for Node.js, graded by what reached the operating system.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: Log,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves the web page and the API; runs attempts too unless --workers is 0.
    Serve(Serve),
    /// Runs attempts, and serves nothing.
    Work(Work),
    /// Runs every solution of the labs in the sandbox and checks what each of them earns.
    Verify(Verify),
    /// Brings the database's schema up to date.
    Migrate(Database),
    /// Looks at database, machine and engine, runs a script in a sandbox, and says what to do where something is wrong.
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Doctor),
    /// Prints the OpenAPI document of the API.
    Openapi,
    /// Asks traces of strace: an overview, a summary, a picture, SQL. See docs/trace.md.
    Trace(Trace),
    /// Answers one question to evidence, both from standard input: how `serve` asks it.
    #[command(hide = true)]
    Query,
}

/// How logs are written: to standard error.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// What is logged: a level, or `target=level` pairs separated by commas.
    #[arg(long, env = "TODOKU_LOG", default_value = "info", global = true)]
    log: String,
    /// Form of a log line.
    #[arg(long, env = "TODOKU_LOG_FORMAT", default_value = "text", global = true)]
    log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl Log {
    pub(crate) fn init(&self) {
        let filter = tracing_subscriber::EnvFilter::new(&self.log);
        let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        match self.log_format {
            LogFormat::Text => logs.init(),
            LogFormat::Json => logs.json().init(),
        }
    }
}

/// `todoku serve`
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address and port to listen on.
    #[arg(long, env = "TODOKU_LISTEN", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Folder of the built web page.
    #[arg(long, env = "TODOKU_WEB_DIR", default_value = "web/dist")]
    pub(crate) web_dir: PathBuf,
    /// The address that browsers use; the listening one when not given. With https, cookies are sent over https alone.
    #[arg(long, env = "TODOKU_PUBLIC_URL")]
    pub(crate) public_url: Option<String>,
    /// Where workers on other hosts reach this process, for terminals; the listening address when not given.
    #[arg(long, env = "TODOKU_INTERNAL_URL")]
    pub(crate) internal_url: Option<String>,
    /// Whether a visitor without an account may try the labs.
    #[arg(long, env = "TODOKU_GUESTS", default_value = "off")]
    pub(crate) guests: Switch,
    /// Whether a visitor without an account may open a terminal.
    #[arg(long, env = "TODOKU_GUEST_TERMINALS", default_value = "off")]
    pub(crate) guest_terminals: Switch,
    /// A bearer token that may do everything, at least 32 characters; none when empty.
    #[arg(long, env = "TODOKU_ADMIN_TOKEN", default_value = "", hide_env_values = true)]
    pub(crate) admin_token: String,
    /// Attempts run at one time in this process; 0 where `todoku work` runs them.
    #[arg(long, env = "TODOKU_WORKERS", default_value_t = 1)]
    pub(crate) workers: usize,
    /// Evidence kept in memory for learners' queries, in MiB.
    #[arg(long, env = "TODOKU_EVIDENCE_CACHE_MIB", default_value_t = 64)]
    pub(crate) evidence_cache_mib: u16,
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) labs: Labs,
    #[command(flatten)]
    pub(crate) sandbox: Sandbox,
    #[command(flatten)]
    pub(crate) timing: Timing,
    #[command(flatten)]
    pub(crate) start: Start,
    #[command(flatten)]
    pub(crate) terminals: Terminals,
}

/// `todoku work`
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// Attempts run at one time.
    #[arg(long, env = "TODOKU_WORKERS", default_value_t = 1)]
    pub(crate) workers: usize,
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) sandbox: Sandbox,
    #[command(flatten)]
    pub(crate) timing: Timing,
    #[command(flatten)]
    pub(crate) start: Start,
    #[command(flatten)]
    pub(crate) terminals: Terminals,
}

/// `todoku verify`
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Labs to verify, by slug; all when none is named.
    pub(crate) slugs: Vec<String>,
    /// Only solutions whose name holds this text.
    #[arg(long)]
    pub(crate) solution: Option<String>,
    /// How often each solution is run.
    #[arg(long, default_value_t = 1)]
    pub(crate) repeat: u32,
    /// Solutions run at one time.
    #[arg(long, default_value_t = 2)]
    pub(crate) parallel: usize,
    #[command(flatten)]
    pub(crate) labs: Labs,
    #[command(flatten)]
    pub(crate) sandbox: Sandbox,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Database {
    /// PostgreSQL's address, as `postgres://user@host/name`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub(crate) database_url: String,
    /// Connections kept at most.
    #[arg(long, env = "TODOKU_DATABASE_CONNECTIONS", default_value_t = 10)]
    pub(crate) database_connections: u32,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Labs {
    /// Folder of the labs.
    #[arg(long, env = "TODOKU_LABS_DIR", default_value = "labs")]
    pub(crate) labs_dir: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Sandbox {
    /// Socket of the Docker engine, `unix:///path`; its usual one when empty.
    #[arg(long, env = "DOCKER_HOST", default_value = "")]
    docker_host: String,
    /// Runtime that the engine starts sandboxes with (runc, crun, runsc); the engine's default when empty.
    #[arg(long, env = "SANDBOX_RUNTIME", default_value = "")]
    sandbox_runtime: String,
    /// Lab images that must be there, by the names of their folders; when empty those that the labs use, or node24.
    #[arg(long, env = "TODOKU_LAB_IMAGES", default_value = "", value_delimiter = ',')]
    lab_images: Vec<String>,
    /// Folder for the pipes between sandboxes and worker: the same path for the engine and for us.
    #[arg(long, env = "TODOKU_FIFO_DIR", default_value = "/run/todoku")]
    fifo_dir: PathBuf,
    /// Sandboxes made ahead, so that a run need not wait for the engine; fewer where memory is short.
    #[arg(long, env = "TODOKU_PARKED", default_value_t = 3)]
    parked: usize,
}

impl Sandbox {
    /// What the sandbox is told, where the labs use these images.
    pub(crate) fn settings(&self, of_labs: BTreeSet<String>) -> sandbox::Config {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut images: Vec<String> = self.lab_images.iter().filter_map(|name| given(name)).collect();
        if images.is_empty() {
            images.extend(of_labs);
        }
        let usual = sandbox::Config::default();
        sandbox::Config {
            docker_host: given(&self.docker_host),
            runtime: given(&self.sandbox_runtime),
            fifo_dir: self.fifo_dir.clone(),
            parked: self.parked,
            images: if images.is_empty() { usual.images.clone() } else { images },
            ..usual
        }
    }
}

/// `todoku doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Prints the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// PostgreSQL's address, as `postgres://user@host/name`.
    #[arg(long, env = "DATABASE_URL", default_value = "", hide_env_values = true)]
    pub(crate) database_url: String,
    /// Attempts run at one time; with 0 the engine is not looked at.
    #[arg(long, env = "TODOKU_WORKERS", default_value_t = 1)]
    pub(crate) workers: usize,
    #[command(flatten)]
    pub(crate) labs: Labs,
    #[command(flatten)]
    pub(crate) sandbox: Sandbox,
}

const DOCTOR_HELP: &str = "Exit status: 0 nothing has failed, 1 something has, 2 the command line is wrong.";

/// What is done when the program starts.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Start {
    /// Whether the doctor looks around at the start, beside the work, and logs what it finds.
    #[arg(long, env = "TODOKU_DOCTOR", default_value = "on")]
    doctor: Switch,
}

impl Start {
    pub(crate) fn doctor(self) -> bool {
        self.doctor == Switch::On
    }
}

/// Times of the worker.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Timing {
    /// How long an attempt stays claimed without a sign of life, in seconds.
    #[arg(long, env = "TODOKU_LEASE_SECONDS", default_value_t = 15)]
    lease_seconds: u64,
    /// How long running attempts may go on after a request to stop, in seconds.
    #[arg(long, env = "TODOKU_DRAIN_SECONDS", default_value_t = 20)]
    drain_seconds: u64,
}

impl Timing {
    pub(crate) const fn lease(self) -> Duration {
        Duration::from_secs(self.lease_seconds)
    }

    pub(crate) const fn drain(self) -> Duration {
        Duration::from_secs(self.drain_seconds)
    }
}

/// Terminals: live sandboxes.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Terminals {
    /// Terminals open at one time in a worker's process; 0 for none at all.
    #[arg(long, env = "TODOKU_TERMINALS", default_value_t = 2)]
    pub(crate) terminals: usize,
    /// Without a key typed for so long a terminal ends, in seconds.
    #[arg(long, env = "TODOKU_TERMINAL_IDLE_SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(2..=86_400))]
    pub(crate) idle_seconds: u32,
    /// No terminal lives longer, in seconds.
    #[arg(long, env = "TODOKU_TERMINAL_MAX_SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(2..=86_400))]
    pub(crate) max_seconds: u32,
}

impl Terminals {
    pub(crate) fn idle(self) -> Duration {
        Duration::from_secs(self.idle_seconds.into())
    }

    pub(crate) fn max(self) -> Duration {
        Duration::from_secs(self.max_seconds.into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// `todoku trace`
#[derive(Debug, Args)]
#[command(after_help = TRACE_HELP)]
pub(crate) struct Trace {
    /// Text that strace wrote, as it is or as .gz or .zst; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Asks the evidence of the traces a query; @FILE reads it from a file.
    #[arg(long, value_name = "QUERY")]
    pub(crate) sql: Option<String>,
    /// Form of the answer to --sql.
    #[arg(long, value_enum, default_value = "table", requires = "sql")]
    pub(crate) format: Format,
    /// Sums up calls, roles, paths and sockets.
    #[arg(long)]
    pub(crate) summary: bool,
    /// Draws the threads along the time.
    #[arg(long)]
    pub(crate) timeline: bool,
    /// Draws the start of the runtime too.
    #[arg(long, requires = "timeline")]
    pub(crate) boot: bool,
    /// Columns of the picture; those of the terminal, or 100, when not given.
    #[arg(long, requires = "timeline", value_parser = clap::value_parser!(u16).range(40..=1000))]
    pub(crate) width: Option<u16>,
    /// Writes the evidence as a SQLite database.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Writes a picture for https://ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Absolute path of the script that was run: what comes before its opening is phase boot.
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) entry: Option<String>,
    /// Longest time of the query, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) timeout: u32,
    /// Bytes of text read of a trace; K, M and G are powers of 1024.
    #[arg(long, value_name = "BYTES", default_value = "4095M", value_parser = bytes)]
    pub(crate) max_bytes: usize,
    /// Events read of a trace.
    #[arg(long, value_name = "COUNT", default_value_t = 20_000_000)]
    pub(crate) max_events: usize,
}

const TRACE_HELP: &str = "Exit status: 0 done, 1 a file could not be read or written, 2 the command line is wrong, \
3 the query is wrong or over a bound.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Csv,
    Json,
    Markdown,
}

/// A number of bytes, up to what a trace can hold.
fn bytes(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.to_ascii_uppercase().chars().last() {
        Some('K') => (&text[..text.len() - 1], 1 << 10),
        Some('M') => (&text[..text.len() - 1], 1 << 20),
        Some('G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let count: usize =
        digits.parse().map_err(|_| "a number, with K, M or G behind it if wanted".to_owned())?;
    count
        .checked_mul(unit)
        .filter(|bytes| (1..=u32::MAX as usize).contains(bytes))
        .ok_or_else(|| "from 1 to 4294967295 bytes".to_owned())
}
