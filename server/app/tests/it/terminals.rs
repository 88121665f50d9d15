//! Terminals as a browser meets them: over a WebSocket, with a real engine behind it.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

use crate::support::{Home, PATIENCE, Visitor, until};

const PROMPT: &str = "learner@lab:~$ ";
const WINDOW: usize = 256 * 1024;

fn home() -> Home {
    Home::new().with("TODOKU_GUEST_TERMINALS", "on")
}

fn body() -> Value {
    json!({ "lab": "read-sync-async", "files": { "read.js": "console.log('読む')\n", "lib/a.js": "a" } })
}

/// Asks for a terminal; its address.
fn asked(visitor: &mut Visitor) -> String {
    let answer = visitor.post("/api/v1/terminals", &body());
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.header("location").to_owned()
}

/// A browser's tab that shows a terminal.
struct Tab {
    socket: WebSocket<TcpStream>,
    shown: Vec<u8>,
    /// What it was told, in order.
    told: Vec<Value>,
    /// Whether it says what it has shown, as a browser does.
    reads: bool,
}

fn handshake(visitor: &Visitor, path: &str, origin: Option<&str>) -> Result<WebSocket<TcpStream>, u16> {
    let host = visitor.address().trim_start_matches("http://");
    let mut request = format!("ws://{host}{path}").into_client_request().unwrap();
    let mut header = |name: &'static str, value: &str| {
        request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    };
    if let Some(origin) = origin {
        header("origin", origin);
    }
    if let Some(cookie) = &visitor.cookie {
        header("cookie", cookie);
    }
    let stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(tokio_tungstenite::tungstenite::HandshakeError::Failure(Error::Http(answer))) => {
            Err(answer.status().as_u16())
        }
        Err(error) => panic!("{error}"),
    }
}

impl Tab {
    fn connect(visitor: &Visitor, terminal: &str) -> Self {
        let socket = handshake(visitor, &format!("{terminal}/socket"), Some(visitor.address())).unwrap();
        Self { socket, shown: Vec::new(), told: Vec::new(), reads: true }
    }

    /// A tab whose shell waits for a command.
    fn open(visitor: &Visitor, terminal: &str) -> Self {
        let mut tab = Self::connect(visitor, terminal);
        tab.wait_for(PROMPT);
        tab
    }

    fn say(&mut self, told: &Value) {
        self.socket.send(Message::text(told.to_string())).unwrap();
    }

    fn typed(&mut self, bytes: &[u8]) {
        self.socket.send(Message::binary(bytes.to_vec())).unwrap();
    }

    /// Takes one message; false at the end.
    fn step(&mut self) -> bool {
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => {
                self.shown.extend_from_slice(&bytes);
                if self.reads {
                    self.say(&json!({ "type": "read", "bytes": bytes.len() }));
                }
            }
            Ok(Message::Text(text)) => self.told.push(serde_json::from_str(&text).unwrap()),
            Ok(Message::Close(_)) | Err(Error::ConnectionClosed) => return false,
            Ok(_) => {}
            Err(error) => {
                panic!("{error}; told {:?}, shown {:?}", self.told, String::from_utf8_lossy(&self.shown))
            }
        }
        true
    }

    /// What is shown until `text`, after what was waited for before.
    fn wait_for(&mut self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let shown = String::from_utf8_lossy(&self.shown).into_owned();
            if let Some(at) = shown.find(text) {
                let (before, rest) = shown.split_at(at + text.len());
                self.shown = rest.as_bytes().to_vec();
                return before.to_owned();
            }
            assert!(start.elapsed() < PATIENCE, "{text:?} is not in {shown:?}");
            assert!(self.step(), "ended: {:?}, shown {shown:?}", self.told);
        }
    }

    /// Types a command; what it shows until the next prompt.
    fn run(&mut self, command: &str) -> String {
        self.typed(format!("{command}\r").as_bytes());
        self.wait_for("\n");
        let shown = self.wait_for(PROMPT);
        let shown =
            shown.trim_end_matches(PROMPT).replace("\u{1b}[?2004l\r", "").replace("\u{1b}[?2004h", "");
        shown.replace("\r\n", "\n")
    }

    /// The last thing that it is told.
    fn last(&mut self) -> Value {
        while self.step() {}
        self.told.last().cloned().unwrap()
    }
}

/// Processes of this test that have or had an engine, and the containers that are theirs.
struct Engines(Vec<String>);

impl Engines {
    fn of(home: &Home) -> Self {
        let names = std::fs::read_dir(home.path("fifos")).unwrap();
        Self(names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
    }

    /// Of terminals alone: what keeps their network namespaces may stay for the next.
    fn terminals(&self) -> usize {
        self.names().iter().filter(|name| !name.starts_with("todoku-holder-")).count()
    }

    fn names(&self) -> Vec<String> {
        let of = |instance: &String| {
            let label = format!("label=todoku.sandbox={instance}");
            let out = Command::new("docker")
                .args(["ps", "--all", "--format", "{{.Names}}", "--filter", &label])
                .output()
                .unwrap();
            String::from_utf8(out.stdout).unwrap().lines().map(String::from).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    fn none_left(&self) {
        until("no terminal is left", || (self.terminals() == 0).then_some(()));
    }
}

fn ended(reason: &str) -> Value {
    json!({ "type": "ended", "reason": reason })
}

#[test]
fn a_learner_works_in_a_terminal_and_takes_the_files_back() {
    let home = home();
    let server = home.start();
    let mut visitor = server.visitor();
    let offer = visitor.get("/api/v1/terminals/current").json();
    assert_eq!(offer, json!({ "refused": null, "terminal": null }));
    let terminal = asked(&mut visitor);
    let mut tab = Tab::open(&visitor, &terminal);
    assert_eq!(tab.told.last().unwrap(), &json!({ "type": "open", "room": 65536 }));
    let engines = Engines::of(&home);
    assert_eq!(engines.terminals(), 1);

    tab.say(&json!({ "type": "resize", "cols": 123, "rows": 45 }));
    assert_eq!(tab.run("stty size"), "45 123\n");
    assert_eq!(tab.run("node read.js"), "読む\n");
    // A character whose bytes come one by one, each in a message of its own.
    for byte in "echo 届く > new.js\r".as_bytes() {
        tab.typed(&[*byte]);
    }
    tab.wait_for("new.js");
    tab.wait_for(PROMPT);
    assert!(tab.run("strace -e trace=openat cat new.js 2>&1 | grep -c new.js").contains('1'));
    tab.run("rm -r lib; printf '\\xff' > bytes; ln -s /etc/passwd link");
    let back = visitor.get(&format!("{terminal}/files"));
    assert_eq!(back.status, 200, "{back:?}");
    assert_eq!(
        back.json(),
        json!({ "files": { "new.js": "届く\n", "read.js": "console.log('読む')\n" }, "left_out": 2 })
    );

    let again = visitor.post("/api/v1/terminals", &body());
    assert_eq!(again.problem(), (409, "terminal_open".into()));
    let id = terminal.rsplit('/').next().unwrap();
    assert!(again.json()["detail"].as_str().unwrap().contains(id));
    assert_eq!(visitor.get("/api/v1/terminals/current").json()["terminal"]["id"], id);

    assert_eq!(visitor.send("DELETE", &terminal, None).json()["end_reason"], "closed");
    assert_eq!(tab.last(), ended("closed"));
    engines.none_left();
    assert_eq!(visitor.get(&format!("{terminal}/files")).problem(), (409, "terminal_not_open".into()));
    // Who comes back late hears why.
    assert_eq!(Tab::connect(&visitor, &terminal).last(), ended("closed"));
    assert_eq!(visitor.get("/api/v1/terminals/current").json()["terminal"], json!(null));
}

#[test]
fn only_its_owner_gets_in_and_only_from_the_sites_own_page() {
    let home = home();
    let server = home.start();
    let mut visitor = server.visitor();
    let terminal = asked(&mut visitor);
    let socket = format!("{terminal}/socket");
    let own = visitor.address().to_owned();
    for origin in [
        None,
        Some("https://evil.example"),
        Some("null"),
        Some("http://127.0.0.1"),
        Some("http://127.0.0.1:1"),
    ] {
        assert_eq!(handshake(&visitor, &socket, origin).err(), Some(403), "{origin:?}");
    }
    assert_eq!(handshake(&server.visitor(), &socket, Some(&own)).err(), Some(404), "nobody");
    let mut other = server.visitor();
    other.submit("");
    assert_eq!(handshake(&other, &socket, Some(&own)).err(), Some(404), "somebody else");
    for (method, path) in [("GET", ""), ("DELETE", ""), ("GET", "/files")] {
        assert_eq!(other.send(method, &format!("{terminal}{path}"), None).problem().0, 404);
    }
    visitor.headers.push(("origin", own.clone()));
    assert_eq!(visitor.get(&socket).problem(), (426, "not_a_websocket".into()));
    // The worker's line is nobody else's either.
    let id = terminal.rsplit('/').next().unwrap();
    let line = format!("/internal/terminals/{id}/line");
    assert_eq!(handshake(&visitor, &line, Some(&own)).err(), Some(404));
    let mut tab = Tab::open(&visitor, &terminal);
    // Whoever speaks another language is shown out, and the terminal stays.
    tab.say(&json!({ "type": "root" }));
    while tab.step() {}
    let mut tab = Tab::open(&visitor, &terminal);
    tab.typed(b"exit\r");
    assert_eq!(tab.last(), ended("exited"));
}

#[test]
fn guests_get_a_terminal_only_where_they_may() {
    for (settings, code) in [
        (&[][..], "account_needed"),
        (&[("TODOKU_GUEST_TERMINALS", "on"), ("TODOKU_TERMINALS", "0")], "terminals_off"),
    ] {
        let home = settings
            .iter()
            .fold(Home::new().with("TODOKU_WORKERS", "0"), |home, (name, value)| home.with(name, *value));
        let server = home.start();
        let mut visitor = server.visitor();
        assert_eq!(visitor.post("/api/v1/terminals", &body()).problem(), (403, code.into()));
        assert_eq!(visitor.cookie, None);
        visitor.submit("");
        assert_eq!(visitor.post("/api/v1/terminals", &body()).problem(), (403, code.into()));
        assert_eq!(visitor.get("/api/v1/terminals/current").json()["refused"], code);
    }
}

#[test]
fn a_flood_waits_for_a_slow_reader() {
    let home = home();
    let server = home.start();
    let mut visitor = server.visitor();
    let terminal = asked(&mut visitor);
    let mut tab = Tab::open(&visitor, &terminal);
    tab.reads = false;
    tab.shown.clear();
    tab.typed(b"yes | head -c 1000000; echo e''nd\r");
    while tab.shown.len() < WINDOW {
        assert!(tab.step());
    }
    // The files' answer comes past a flood that nobody reads.
    assert_eq!(visitor.get(&format!("{terminal}/files")).status, 200);
    tab.socket.get_mut().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let silent = loop {
        match tab.socket.read() {
            Ok(Message::Binary(more)) => tab.shown.extend_from_slice(&more),
            Ok(_) => {}
            Err(Error::Io(error)) => break error.kind(),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(matches!(silent, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{silent}");
    assert_eq!(tab.shown.len(), WINDOW, "no more than the window");
    tab.socket.get_mut().set_read_timeout(Some(PATIENCE)).unwrap();
    tab.reads = true;
    tab.say(&json!({ "type": "read", "bytes": WINDOW }));
    let rest = tab.wait_for("end\r\n");
    assert_eq!(rest.matches("y\r\n").count(), 500_000, "nothing of it was lost");
}

#[test]
fn who_comes_back_finds_what_was_shown_and_a_second_tab_takes_over() {
    let home = home();
    let server = home.start();
    let mut visitor = server.visitor();
    let terminal = asked(&mut visitor);
    let mut tab = Tab::open(&visitor, &terminal);
    assert_eq!(tab.run("echo first; cd /tmp; PS1='learner@lab:~$ '"), "first\n");
    drop(tab);
    let mut tab = Tab::connect(&visitor, &terminal);
    let again = tab.wait_for("first\r\n");
    assert!(again.contains("echo first"), "{again}");
    tab.wait_for(PROMPT);
    assert_eq!(tab.run("pwd"), "/tmp\n", "it is the same shell");

    let mut second = Tab::connect(&visitor, &terminal);
    assert_eq!(tab.last(), json!({ "type": "elsewhere" }));
    second.wait_for("/tmp\r\n");
    second.wait_for(PROMPT);
    // More than is kept: what is shown again begins with a whole line.
    second.run("for i in $(seq 60000); do echo line $i; done");
    drop(second);
    let mut late = Tab::connect(&visitor, &terminal);
    let kept = late.wait_for("line 60000\r\n");
    assert!(kept.starts_with("line ") && kept.len() <= WINDOW + 8192, "{} {:?}", kept.len(), &kept[..20]);
}

#[test]
fn an_idle_terminal_is_told_and_ends() {
    let home = home().with("TODOKU_TERMINAL_IDLE_SECONDS", "6");
    let server = home.start();
    let mut visitor = server.visitor();
    visitor.headers.push(("accept-language", "ja".into()));
    let terminal = asked(&mut visitor);
    let mut tab = Tab::connect(&visitor, &terminal);
    tab.wait_for("あと 3 秒でこのターミナルを終了します");
    tab.typed(b"\r");
    tab.wait_for("あと 3 秒でこのターミナルを終了します");
    tab.wait_for("6 秒間入力がなかったため");
    assert_eq!(tab.last(), ended("idle"));
    Engines::of(&home).none_left();
}

#[test]
fn no_terminal_lives_longer_than_it_may() {
    let home = home().with("TODOKU_TERMINAL_MAX_SECONDS", "3");
    let server = home.start();
    let mut visitor = server.visitor();
    let terminal = asked(&mut visitor);
    let mut tab = Tab::connect(&visitor, &terminal);
    tab.wait_for("time is up in 1 s");
    tab.wait_for("was open for 3 s");
    assert_eq!(tab.last(), ended("time_up"));
    Engines::of(&home).none_left();
}

/// `todoku work` beside a server that has no engine.
struct Worker(Child);

impl Worker {
    fn start(home: &Home) -> Self {
        let worker = Command::new(env!("CARGO_BIN_EXE_todoku"))
            .arg("work")
            .envs(&home.settings)
            .env("TODOKU_WORKERS", "1")
            .env("DATABASE_URL", &home.database)
            .env("TODOKU_FIFO_DIR", home.path("fifos"))
            .env("TODOKU_LOG", "warn")
            .stdout(Stdio::null())
            .spawn();
        Self(worker.unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_worker_elsewhere_serves_terminals_and_takes_them_with_it() {
    let home = home().with("TODOKU_WORKERS", "0").with("TODOKU_TERMINALS", "1");
    let server = home.start();
    let (mut visitor, mut next) = (server.visitor(), server.visitor());
    let terminal = asked(&mut visitor);
    let mut tab = Tab::connect(&visitor, &terminal);
    assert!(tab.step());
    assert_eq!(tab.told, [json!({ "type": "waiting" })]);
    let worker = Worker::start(&home);
    tab.wait_for(PROMPT);
    // There is room for one: the next waits until it ends.
    let waiting = asked(&mut next);
    let mut later = Tab::connect(&next, &waiting);
    assert!(later.step());
    assert_eq!(later.told, [json!({ "type": "waiting" })]);
    tab.typed(b"exit\r");
    assert_eq!(tab.last(), ended("exited"));
    later.wait_for(PROMPT);

    let engines = Engines::of(&home);
    assert_eq!(engines.terminals(), 1);
    drop(worker);
    assert_eq!(later.last(), ended("lost"));
    assert_eq!(next.get(&waiting).json()["end_reason"], "lost");
    // Its next terminal is not kept from it by the lost one; and the next worker removes what was left.
    let again = asked(&mut next);
    let _worker = Worker::start(&home);
    let mut tab = Tab::open(&next, &again);
    until("only the new one's container is left", || engines.names().is_empty().then_some(()));
    // A server that stops takes its terminals with it: their worker hears that the line is lost.
    let engines = Engines::of(&home);
    server.stop();
    while matches!(tab.socket.read(), Ok(message) if !message.is_close()) {}
    engines.none_left();
}
