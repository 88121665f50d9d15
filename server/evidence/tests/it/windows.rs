//! Windows by marks and by requests.

use std::collections::BTreeMap;

use evidence::{Edges, Evidence, WindowSpec};
use serde_json::json;

use crate::support::{rows, run, trace, value};

fn marks(name: &str, from: &str, to: &str) -> WindowSpec {
    WindowSpec { name: name.to_owned(), edges: Edges::Marks { from: from.to_owned(), to: to.to_owned() } }
}

fn request(name: &str, path: &str, nth: u32) -> WindowSpec {
    WindowSpec { name: name.to_owned(), edges: Edges::Request { path: path.to_owned(), nth } }
}

fn build(fixtures: &[(&str, &str)], windows: &[WindowSpec]) -> Evidence {
    let traces: Vec<_> = fixtures.iter().map(|(_, name)| trace(&format!("{name}.strace"))).collect();
    let runs: Vec<_> =
        fixtures.iter().zip(&traces).map(|((label, _), trace)| run(label, Some(trace), b"")).collect();
    Evidence::build(&runs, &[], &BTreeMap::new(), windows).unwrap()
}

#[test]
fn from_one_mark_to_another() {
    let specs = [
        marks("lookup", "N0/b", "N0/c"),
        marks("file", "N0/a", "N0/b"),
        marks("backwards", "N0/c", "N0/a"),
        marks("never", "N0/z", "N0/c"),
    ];
    let evidence = build(&[("before", "read-default"), ("a", "marks")], &specs);
    let found = rows(
        &evidence,
        "select w.run, w.name, o.path, c.path, opened_ns = o.t_ns, closed_ns = c.end_ns
         from windows w join events o on o.id = from_id left join events c on c.id = to_id",
    );
    assert_eq!(
        found,
        json!([
            ["a", "lookup", "/__mark__/N0/b", "/__mark__/N0/c", 1, 1],
            ["a", "file", "/__mark__/N0/a", "/__mark__/N0/b", 1, 1],
            ["a", "backwards", "/__mark__/N0/c", null, 1, null]
        ])
    );
    // All threads' events between; where two windows meet, the later one has the mark.
    let spans = "select win, min(line), max(line), count(distinct role) > 1 from events where win is not null
        group by win order by min(id)";
    let last = value(&evidence, "select max(line) from events where run = 'a'");
    assert_eq!(
        rows(&evidence, spans),
        json!([["file", 147, 193, 1], ["lookup", 194, 262, 1], ["backwards", 263, last, 1]])
    );
    let opened = |run, name| evidence.opened(run, name);
    assert!(opened("a", "file") && opened("a", "backwards"));
    assert!(!opened("a", "never") && !opened("before", "file") && !opened("nobody", "file"));
    // Steps and gaps know their window, and so does what was read from bytes.
    assert!(value(&evidence, "select count(*) from gaps where win = 'file'").as_i64().unwrap() > 10);
    let read = Evidence::from_bytes(&evidence.to_bytes().unwrap()).unwrap();
    assert!(read.opened("a", "file") && !read.opened("before", "file"));
}

#[test]
fn one_request() {
    let specs = [
        request("first", "/all", 1),
        request("second", "/all", 2),
        request("third", "/all", 3),
        request("zeroth", "/all", 0),
        request("page", "/", 1),
    ];
    let evidence = build(&[("all", "nuxt-all"), ("serial", "nuxt-serial")], &specs);
    assert_eq!(
        rows(
            &evidence,
            "select name, n, from_id = read_id, to_id = write_id, opened_ns = read_ns, closed_ns = write_ns
             from windows w join served s on s.run = w.run and s.read_id = w.from_id where w.run = 'all'"
        ),
        json!([["first", 2, 1, 1, 1, 1], ["second", 3, 1, 1, 1, 1], ["page", 1, 1, 1, 1, 1]])
    );
    // The word of each window: the first request opens its connections, the second finds them open.
    let shapes = "select run, win, shape(step order by id) from steps where role = 'main' and win in ('first', 'second')
        group by run, win order by run, win";
    assert_eq!(rows(&evidence, shapes), json!([["all", "first", "CCWW~RR"], ["all", "second", "WW~RR"]]));
    assert!(evidence.opened("all", "first") && !evidence.opened("serial", "first"));
    assert!(!evidence.opened("all", "third") && !evidence.opened("all", "zeroth"));
}

#[test]
fn an_event_lies_in_the_window_opened_last() {
    let specs = [request("inner", "/block", 1), request("outer", "/offload", 1), request("ping", "/ping", 3)];
    let evidence = build(&[("a", "block-offload")], &specs);
    // A ping is answered while the offloaded work goes on.
    assert_eq!(
        rows(
            &evidence,
            "select w.name, count(*) = w.to_id - w.from_id + 1, count(distinct e.win), min(e.win), max(e.win)
             from windows w join events e on e.id between w.from_id and w.to_id group by w.name order by w.from_id"
        ),
        json!([["inner", 1, 1, "inner", "inner"], ["outer", 1, 2, "outer", "ping"], ["ping", 1, 1, "ping", "ping"]])
    );
}
