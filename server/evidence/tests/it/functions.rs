//! Each function by a table of cases.

use evidence::Evidence;
use serde_json::{Value, json};

use crate::support::{query, value};

/// `expression` over the rows of `values`, whose columns are a and b.
fn check(expression: &str, values: &str, expected: Value) {
    let sql = format!("with t(a, b) as (values {values}) select {expression} from t");
    assert_eq!(value(&Evidence::empty().unwrap(), &sql), expected, "{sql}");
}

fn check_scalar(expression: &str, expected: Value) {
    assert_eq!(value(&Evidence::empty().unwrap(), &format!("select {expression}")), expected, "{expression}");
}

fn check_error(sql: &str, expected: &str) {
    let error = query(&Evidence::empty().unwrap(), sql).unwrap_err().to_string();
    assert!(error.contains(expected), "{sql}: {error}");
}

const TEN: &str = "(10,0),(20,0),(30,0),(40,0),(50,0),(60,0),(70,0),(80,0),(90,0),(100,0)";

#[test]
fn nearest_rank() {
    check("nearest_rank(a, 50)", TEN, json!(50));
    check("nearest_rank(a, 51)", TEN, json!(60));
    check("nearest_rank(a, 90)", TEN, json!(90));
    check("nearest_rank(a, 91)", TEN, json!(100));
    check("nearest_rank(a, 99)", TEN, json!(100));
    check("nearest_rank(a, 100)", TEN, json!(100));
    check("nearest_rank(a, 10)", TEN, json!(10));
    check("nearest_rank(a, 0)", TEN, json!(10));
    // 30 % of 10 is 3 exactly; the products of binary fractions are a hair above.
    check("nearest_rank(a, 30)", TEN, json!(30));
    check("nearest_rank(a, 70)", TEN, json!(70));
    check("nearest_rank(a, 50)", "(3,0),(1,0),(2,0)", json!(2));
    check("nearest_rank(a, 50)", "(2,0),(1,0)", json!(1));
    check("nearest_rank(a, 50)", "(1.5,0),(null,0),(2,0),(0.5,0)", json!(1.5));
    check("nearest_rank(a, 50)", "(null,0)", Value::Null);
    check("nearest_rank(a, 50)", "(-5,0)", json!(-5));
    check("nearest_rank(a, 50) filter (where a > 1000)", TEN, Value::Null);
    // Of 1000: the 999th and the 1000th.
    let thousand = "with recursive t(a) as (values (1) union all select a + 1 from t where a < 1000)";
    let evidence = Evidence::empty().unwrap();
    for (percent, expected) in
        [("99.9", 999), ("99.91", 1000), ("99.8", 998), ("0.1", 1), ("0.11", 2), ("95", 950)]
    {
        let sql = format!("{thousand} select nearest_rank(a, {percent}) from t");
        assert_eq!(value(&evidence, &sql), json!(expected), "{percent}");
    }
    check_error("select nearest_rank(1, 101)", "p from 0 to 100");
    check_error("select nearest_rank(1, null)", "p from 0 to 100");
    check_error("select nearest_rank('x', 50)", "takes numbers, not text");
    check_error("with t(a) as (values (1), (2)) select nearest_rank(a, a) from t", "one p for all rows");
}

#[test]
fn stddev_is_of_the_population() {
    check("stddev(a)", "(2,0),(4,0),(4,0),(4,0),(5,0),(5,0),(7,0),(9,0)", json!(2.0));
    check("stddev(a)", "(7,0)", json!(0.0));
    check("stddev(a)", "(1,0),(null,0),(3,0)", json!(1.0));
    check("stddev(a)", "(null,0)", Value::Null);
    // Large and close together, as times are.
    check("stddev(a)", "(1000000000000001,0),(1000000000000003,0)", json!(1.0));
    check_error("select stddev('x')", "takes numbers, not text");
}

#[test]
fn regexp() {
    check_scalar("'/etc/hostname' regexp '^/etc/'", json!(1));
    check_scalar("'/tmp/etc' regexp '^/etc/'", json!(0));
    check_scalar("'abc' regexp 'b'", json!(1));
    check_scalar("'届く' regexp '^.く$'", json!(1));
    check_scalar("regexp('^[0-9]+$', 1234)", json!(1));
    check_scalar("null regexp 'b'", Value::Null);
    check_scalar("'b' regexp null", Value::Null);
    check("group_concat(a regexp b)", "('aa','^a+$'),('ab','^a+$'),('ab','^ab$')", json!("1,0,1"));
    check_error("select 'a' regexp '('", "the pattern of regexp cannot be used");
    check_error("select 'a' regexp printf('%.*c', 1001, 'a')", "1000 bytes at most");
    check_error("select 'a' regexp '((a{1,99}){1,99}){1,99}'", "the pattern of regexp cannot be used");
}

#[test]
fn overlap() {
    check_scalar("overlap(0, 10, 5, 20)", json!(5));
    check_scalar("overlap(5, 20, 0, 10)", json!(5));
    check_scalar("overlap(0, 10, 2, 4)", json!(2));
    check_scalar("overlap(0, 10, 0, 10)", json!(10));
    check_scalar("overlap(0, 10, 10, 20)", json!(0));
    check_scalar("overlap(0, 10, 30, 40)", json!(0));
    check_scalar("overlap(0, 10, 8, 3)", json!(0));
    check_scalar("overlap(10, 0, 0, 10)", json!(0));
    check_scalar("overlap(0, null, 0, 10)", Value::Null);
    check_scalar(
        "overlap(-9223372036854775808, 9223372036854775807, -9223372036854775808, 9223372036854775807)",
        json!(i64::MAX),
    );
    check_error("select overlap(0, 1.5, 0, 1)", "takes integers, not a real number");
}

#[test]
fn peak() {
    check("peak(a, b)", "(0,10),(5,15),(12,20)", json!(2));
    check("peak(a, b)", "(0,10),(1,10),(2,10),(3,4),(5,6)", json!(4));
    check("peak(a, b)", "(0,10),(10,20)", json!(1));
    check("peak(a, b)", "(10,20),(0,10)", json!(1));
    check("peak(a, b)", "(0,null),(5,null),(7,8)", json!(3));
    check("peak(a, b)", "(null,3),(1,2),(4,5)", json!(2));
    check("peak(a, b)", "(null,null),(1,2)", json!(1));
    check("peak(a, b)", "(5,5),(5,1)", json!(0));
    check("peak(a, b) filter (where a > 1000)", "(0,10)", json!(0));
    check_error("select peak('x', 1)", "takes integers, not text");
}

#[test]
fn shape() {
    check("shape(a order by b)", "('W',2),('C',1),('~',3),('~',4),('R',6),(null,5),('~',7)", json!("CW~R~"));
    check("shape(a order by b)", "('~',1),('R',2),('~',3),('R',4)", json!("~R~R"));
    check("shape(a)", "(null,1)", Value::Null);
    check("shape(a) filter (where b > 9)", "('C',1)", Value::Null);
    check_error("select shape(1)", "takes text, not an integer");
    let long = "with recursive t(a) as (values (1) union all select a + 1 from t where a < 65537) select shape('C') from t";
    check_error(long, "a word of 65536 bytes at most");
}
