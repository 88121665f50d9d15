//! A server of its own for each test: a database of its own, a folder of its own, a free port.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// No wait in these tests is longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

static SERVERS: AtomicU32 = AtomicU32::new(0);

/// Where a server's things are, so that another one can take over.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    pub(crate) database: String,
    pub(crate) settings: BTreeMap<&'static str, String>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let admin = std::env::var("DATABASE_URL")
            .expect("DATABASE_URL names a PostgreSQL for tests: ./dev test starts one");
        Self::on(&admin)
    }

    /// On another PostgreSQL than that of all tests.
    pub(crate) fn on(admin: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("todoku_it_{}_{number}", std::process::id());
        sql(admin, &format!("create database {name}"));
        let database = admin.replacen("/todoku?", &format!("/{name}?"), 1);
        assert_ne!(database, admin, "DATABASE_URL ends in /todoku?host=...");
        let settings = BTreeMap::from([
            ("TODOKU_GUESTS", "on".to_owned()),
            ("TODOKU_LABS_DIR", root().join("labs").display().to_string()),
            ("TODOKU_LEASE_SECONDS", "2".to_owned()),
            ("TODOKU_DRAIN_SECONDS", "1".to_owned()),
            ("TODOKU_DOCTOR", "off".to_owned()),
            ("TODOKU_PARKED", "0".to_owned()),
        ]);
        Self { folder, database, settings }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.settings.insert(name, value.into());
        self
    }

    /// A path in the folder of this test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn start(&self) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_todoku"))
            .arg("serve")
            .envs(&self.settings)
            .env("DATABASE_URL", &self.database)
            .env("TODOKU_LISTEN", "127.0.0.1:0")
            .env("TODOKU_FIFO_DIR", self.path("fifos"))
            .env("TODOKU_WEB_DIR", self.path("web"))
            .env("TODOKU_LOG", "warn")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("Todoku is served at ").expect("the server says where it is").to_owned();
        Server { child, address }
    }

    /// Containers of this test that exist, by the folder that they mount.
    pub(crate) fn containers(&self) -> usize {
        let docker = || {
            let mut docker = Command::new("docker");
            docker.envs(self.settings.get_key_value("DOCKER_HOST"));
            docker
        };
        let ids = docker().args(["ps", "--all", "--quiet", "--no-trunc"]).output().unwrap();
        let ids = String::from_utf8(ids.stdout).unwrap();
        if ids.trim().is_empty() {
            return 0;
        }
        let mounts = docker()
            .args(["inspect", "--format", "{{json .HostConfig}}"])
            .args(ids.lines())
            .output()
            .unwrap();
        let fifos = self.path("fifos").display().to_string();
        String::from_utf8(mounts.stdout).unwrap().lines().filter(|line| line.contains(&fifos)).count()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let (rest, query) = self.database.split_once('?').unwrap();
        let (server, name) = rest.rsplit_once('/').unwrap();
        sql(&format!("{server}/todoku?{query}"), &format!("drop database {name} with (force)"));
    }
}

pub(crate) fn sql(database: &str, statement: &str) {
    let status = Command::new("psql").args(["-X", "-q", database, "-c", statement]).status().unwrap();
    assert!(status.success(), "{statement}");
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The socket of the engine that tests use.
pub(crate) fn engine_socket() -> PathBuf {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    host.strip_prefix("unix://").unwrap_or("/var/run/docker.sock").into()
}

/// A solution of the first lab.
pub(crate) fn solution(name: &str) -> String {
    let path = root().join("labs/read-sync-async/solutions").join(name).join("read.js");
    std::fs::read_to_string(path).unwrap()
}

/// Repeats until the answer is there, with a deadline: for what nobody announces.
pub(crate) fn until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// As a crash would: nothing is cleaned up.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// As an operator would.
    pub(crate) fn stop(mut self) {
        assert!(self.end().success());
    }

    /// Most memory that the server had at one time, in bytes.
    /// [proc_pid_status(5)](https://man7.org/linux/man-pages/man5/proc_pid_status.5.html)
    pub(crate) fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        most.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
    }

    /// Processes that the server started and has not seen the end of.
    pub(crate) fn children(&self) -> Vec<String> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let of = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children"));
        let children = threads.filter_map(|thread| of(thread.unwrap()).ok()).collect::<String>();
        children.split_whitespace().map(Into::into).collect()
    }

    fn end(&mut self) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap()
    }

    pub(crate) fn visitor(&self) -> Visitor {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .new_agent();
        Visitor { agent, address: self.address.clone(), cookie: None, headers: Vec::new() }
    }
}

impl Drop for Server {
    /// Lets it remove its containers, where it still lives.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

/// An answer of the server.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(1000)]);
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .field("body", &text)
            .finish()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and code of a problem, as RFC 9457 has them.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        (self.status, problem["code"].as_str().unwrap().to_owned())
    }
}

/// Somebody with a browser: keeps the cookie that the server sets.
pub(crate) struct Visitor {
    agent: ureq::Agent,
    address: String,
    pub(crate) cookie: Option<String>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Visitor {
    /// Where the server is, as `http://host:port`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        let mut response = self.open(method, path, body);
        let bytes = response.body_mut().read_to_vec().unwrap();
        Answer { status: response.status().as_u16(), headers: response.headers().clone(), body: bytes }
    }

    fn open(&mut self, method: &str, path: &str, body: Option<&[u8]>) -> ureq::http::Response<ureq::Body> {
        let mut request =
            ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.address));
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let response = self.agent.run(request.body(body.unwrap_or_default()).unwrap()).unwrap();
        if let Some(cookie) = response.headers().get("set-cookie") {
            self.cookie = cookie.to_str().unwrap().split(';').next().map(Into::into);
        }
        response
    }

    /// Sends bytes; the connection, on which the answer will come.
    pub(crate) fn connect(&self, request: &str) -> std::net::TcpStream {
        let mut stream = std::net::TcpStream::connect(self.address.trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Sends bytes that no client would; what comes back.
    pub(crate) fn raw(&self, request: &str) -> String {
        let mut stream = self.connect(request);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body.to_string().as_bytes()))
    }

    /// Submits a script for the first lab; the attempt's address.
    pub(crate) fn submit(&mut self, script: &str) -> String {
        let body = json!({ "lab": "read-sync-async", "files": { "read.js": script } });
        let answer = self.post("/api/v1/attempts", &body);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.header("location").to_owned()
    }

    /// The attempt each time it changes, until `done`.
    pub(crate) fn follow(&mut self, attempt: &str, mut done: impl FnMut(&Value) -> bool) -> Vec<Value> {
        let mut heard = self.hear(attempt, |news| news.is_object() && done(news));
        heard.retain(Value::is_object);
        heard
    }

    /// All that comes over the attempt's stream until its end, or until `done`: states are objects, output is lists.
    pub(crate) fn hear(&mut self, attempt: &str, mut done: impl FnMut(&Value) -> bool) -> Vec<Value> {
        let response = self.open("GET", &format!("{attempt}/events"), None);
        assert_eq!(response.status().as_u16(), 200);
        let (_, body) = response.into_parts();
        let lines = BufReader::new(body.into_reader().take(64 << 20)).lines().map(Result::unwrap);
        let mut heard = Vec::new();
        for line in lines {
            let Some(data) = line.strip_prefix("data: ") else { continue };
            heard.push(serde_json::from_str(data).unwrap());
            if done(heard.last().unwrap()) {
                break;
            }
        }
        heard
    }

    /// The attempt once it has ended.
    pub(crate) fn ended(&mut self, attempt: &str) -> Value {
        let last = self.follow(attempt, |_| false).pop().expect("the current state comes first");
        assert!(["graded", "errored", "cancelled"].contains(&last["state"].as_str().unwrap()), "{last}");
        last
    }
}
