//! What a script writes is seen while it runs.

use serde_json::{Value, json};

use crate::support::{Home, sql};

/// Writes for two seconds: both streams in turn, a character in two writes, and more than one row may hold.
const SCRIPT: &str = "
    const fs = require('node:fs');
    fs.writeSync(1, 'first\\n');
    fs.writeSync(2, 'wrong\\n');
    const word = Buffer.from('届く\\n');
    setTimeout(() => fs.writeSync(1, word.subarray(0, 4)), 600);
    setTimeout(() => fs.writeSync(1, word.subarray(4)), 1200);
    setTimeout(() => fs.writeSync(1, 'x'.repeat(100_000)), 1500);
    setTimeout(() => fs.writeSync(1, 'last\\n'), 2000);";

#[test]
fn output_comes_while_the_script_runs_in_its_order_and_is_gone_after() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit(SCRIPT);
    let heard = visitor.hear(&attempt, |_| false);
    let parts: Vec<&Value> = heard.iter().filter_map(Value::as_array).flatten().collect();
    let text = |stream: &str| -> String {
        let own = parts.iter().filter(|part| part["stream"] == stream && part["run"] == "default");
        own.map(|part| part["text"].as_str().unwrap()).collect()
    };
    assert_eq!(text("stdout"), format!("first\n届く\n{}last\n", "x".repeat(100_000)));
    assert_eq!(text("stderr"), "wrong\n");
    // Before the end, and not all at once.
    let of_output = |news: &&Value| news.is_array();
    assert!(heard.iter().filter(of_output).count() >= 3, "{}", heard.len());
    let last = heard.last().unwrap();
    assert_eq!(last["state"], json!("graded"));
    assert!(heard[..heard.len() - 1].iter().all(|news| news["state"] != "graded"));

    // Who comes late hears the end alone, and nothing is kept twice.
    assert_eq!(visitor.hear(&attempt, |_| false), std::slice::from_ref(last));
    sql(&home.database, "do $$ begin assert (select count(*) from live_output) = 0; end $$");
}

#[test]
fn a_second_listener_hears_all_from_the_beginning_and_a_stranger_nothing() {
    let home = Home::new();
    let server = home.start();
    let mut visitor = server.visitor();
    let attempt = visitor.submit("console.log('one'); setTimeout(() => {}, 2500)");
    let first = |news: &Value| news.is_array();
    let one = json!([{ "run": "default", "stream": "stdout", "text": "one\n" }]);
    assert_eq!(visitor.hear(&attempt, first).last(), Some(&one));
    assert_eq!(visitor.hear(&attempt, first).last(), Some(&one), "from the beginning again");
    let mut stranger = server.visitor();
    assert_eq!(stranger.get(&format!("{attempt}/events")).status, 404);
    visitor.ended(&attempt);
}
