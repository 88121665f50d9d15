//! Connections asked for, taken and listened for.

use serde_json::{Value, json};

use crate::support::{build, rows, run, trace};

/// Rows of `sockets` of a recorded trace.
fn sockets(fixture: &str, sql: &str) -> Value {
    let trace = trace(&format!("{fixture}.strace"));
    rows(&build(&[run("a", Some(&trace), b"")]), sql)
}

/// Rows of `sockets` of a few lines; the process is 7.
fn of_lines(lines: &[&str], sql: &str) -> Value {
    let line = |(n, line): (usize, &&str)| format!("7 17000000{:02}.000000 {line} <0.000500>\n", n);
    let text: String = lines.iter().enumerate().map(line).collect();
    let trace = strace::parse(text.as_bytes(), &strace::Options::default());
    rows(&build(&[run("a", Some(&trace), b"")]), sql)
}

#[test]
fn two_connections_at_once() {
    assert_eq!(
        sockets("await-all", "select * from sockets"),
        json!([
            [
                29,
                "a",
                1,
                18,
                "AF_INET",
                "stream",
                "connect",
                null,
                "127.0.0.1:58356",
                "127.0.0.1:8099",
                111,
                81_590_000,
                395_288_000,
                "ok"
            ],
            [
                30,
                "a",
                1,
                19,
                "AF_INET",
                "stream",
                "connect",
                null,
                "127.0.0.1:58360",
                "127.0.0.1:8099",
                113,
                82_433_000,
                395_447_000,
                "ok"
            ]
        ])
    );
}

#[test]
fn ids_and_times_lead_to_what_they_say() {
    let sql = "select e.name, e.line, f.fd = s.fd, s.closed_ns = f.closed_ns, first.name, first.line
        from sockets s join fds f using (serial) join events e on e.id = s.connect_id
        join events first on first.serial = s.serial and first.t_ns = s.connected_ns";
    assert_eq!(
        sockets("await-fetch", sql),
        json!([["connect", 115, 1, 1, "write", 121], ["connect", 129, 1, 1, "write", 132]])
    );
}

#[test]
fn a_name_lookup_is_told_apart() {
    let sql = "select family, type, local, remote, connected_ns is not null, outcome from sockets";
    assert_eq!(
        sockets("await-fetch-localhost-dns", sql),
        json!([
            ["AF_UNIX", "stream", null, "/var/run/nscd/socket", 0, "ENOENT"],
            ["AF_UNIX", "stream", null, "/var/run/nscd/socket", 0, "ENOENT"],
            ["AF_INET", "dgram", null, "127.0.0.1:0", 1, "ok"],
            ["AF_INET6", "dgram", null, "[::1]:0", 0, "EADDRNOTAVAIL"],
            ["AF_INET", "stream", "127.0.0.1:39550", "127.0.0.1:8099", 1, "ok"]
        ])
    );
}

#[test]
fn a_server_listens_and_accepts() {
    let sql = "select direction, type, s.family, local, s.remote, e.name, e.ret = s.fd, connected_ns = e.end_ns, outcome
        from sockets s left join events e on e.id = accept_id where direction <> 'connect'";
    assert_eq!(
        sockets("nuxt-all", sql),
        json!([
            ["listen", "stream", "AF_INET", "127.0.0.1:3000", null, null, null, null, "ok"],
            ["accept", "stream", "AF_INET", "127.0.0.1:3000", "127.0.0.1:38748", "accept4", 1, 1, "ok"],
            ["accept", "stream", "AF_INET", "127.0.0.1:3000", "127.0.0.1:38758", "accept4", 1, 1, "ok"],
            ["accept", "stream", "AF_INET", "127.0.0.1:3000", "127.0.0.1:38772", "accept4", 1, 1, "ok"]
        ])
    );
}

#[test]
fn a_unix_socket_has_its_path_as_it_is() {
    assert_eq!(
        sockets("hostile-names", "select direction, family, type, local, remote from sockets"),
        json!([
            ["listen", "AF_UNIX", "stream", "/tmp/so\nck <x>", null],
            ["connect", "AF_UNIX", "stream", null, "/tmp/so\nck <x>"],
            ["accept", "AF_UNIX", "stream", "/tmp/so\nck <x>", null]
        ])
    );
}

#[test]
fn what_became_of_a_connect_that_did_not_wait() {
    const SOCKET: &str = "socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_IP) = 3<TCP:[1]>";
    const CONNECT: &str = "connect(3<TCP:[1]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"192.0.2.1\")}, 16) = -1 EINPROGRESS (Operation now in progress)";
    for (next, expected) in [
        (
            "getsockopt(3<TCP:[192.0.2.9:5->192.0.2.1:80]>, SOL_SOCKET, SO_ERROR, [0], [4]) = 0",
            json!(["ok", 2_000_000_000, "192.0.2.9:5"]),
        ),
        (
            "getsockopt(3<TCP:[1]>, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0",
            json!(["ECONNREFUSED", null, null]),
        ),
        ("getsockopt(3<TCP:[1]>, SOL_TCP, TCP_NODELAY, [1], [4]) = 0", json!(["pending", null, null])),
        (
            "write(3<TCP:[192.0.2.9:5->192.0.2.1:80]>, \"GET\", 3) = 3",
            json!(["ok", 2_000_000_000, "192.0.2.9:5"]),
        ),
        (
            "write(3<TCP:[1]>, \"GET\", 3) = -1 EAGAIN (Resource temporarily unavailable)",
            json!(["pending", null, null]),
        ),
        (
            "read(3<TCP:[1]>, \"\", 3) = -1 ECONNRESET (Connection reset by peer)",
            json!(["ECONNRESET", null, null]),
        ),
        (
            "connect(3<TCP:[1]>, {sa_family=AF_INET}, 16) = -1 EALREADY (Operation already in progress)",
            json!(["pending", null, null]),
        ),
        (
            "connect(3<TCP:[1]>, {sa_family=AF_INET}, 16) = -1 EISCONN (Transport endpoint is already connected)",
            json!(["ok", 2_000_000_000, null]),
        ),
        ("close(3<TCP:[1]>) = 0", json!(["pending", null, null])),
    ] {
        let sql = "select outcome, connected_ns, local from sockets";
        assert_eq!(of_lines(&[SOCKET, CONNECT, next], sql), json!([expected]), "{next}");
    }
}

#[test]
fn one_descriptor_may_connect_twice_and_taking_an_address_away_is_no_connection() {
    let lines = [
        "socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = 3<UDP:[1]>",
        "connect(3<UDP:[1]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr(\"192.0.2.1\")}, 16) = 0",
        "connect(3<UDP:[192.0.2.9:5->192.0.2.1:53]>, {sa_family=AF_UNSPEC, sa_data=\"\"}, 16) = 0",
        "connect(3<UDP:[1]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr(\"192.0.2.2\")}, 16) = -1 ENETUNREACH (Network is unreachable)",
    ];
    assert_eq!(
        of_lines(&lines, "select serial, type, remote, outcome, connected_ns from sockets"),
        json!([
            [1, "dgram", "192.0.2.1:53", "ok", 1_000_500_000],
            [1, "dgram", "192.0.2.2:53", "ENETUNREACH", null]
        ])
    );
}

#[test]
fn without_annotations_addresses_come_from_the_calls() {
    let lines = [
        "socket(AF_INET6, SOCK_STREAM, IPPROTO_IP) = 3",
        "bind(3, {sa_family=AF_INET6, sin6_port=htons(80), inet_pton(AF_INET6, \"::1\", &sin6_addr)}, 28) = 0",
        "listen(3, 511) = 0",
        "accept4(3, {sa_family=AF_INET6, sin6_port=htons(9), inet_pton(AF_INET6, \"::1\", &sin6_addr)}, [28], SOCK_CLOEXEC) = 4",
        "accept4(3, NULL, NULL, SOCK_CLOEXEC) = -1 EAGAIN (Resource temporarily unavailable)",
    ];
    assert_eq!(
        of_lines(&lines, "select fd, family, type, direction, local, remote, outcome from sockets"),
        json!([
            [3, "AF_INET6", "stream", "listen", "[::1]:80", null, "ok"],
            [4, "AF_INET6", "stream", "accept", "[::1]:80", "[::1]:9", "ok"]
        ])
    );
}
