//! The bound on SQLite's memory holds for the whole process: a process of its own for its test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use evidence::{Bound, BuildError, Evidence, QueryError, QueryLimits};

#[test]
fn a_query_cannot_take_more_memory_than_the_process_may() {
    evidence::limit_heap(64 << 20).unwrap();
    let evidence = Evidence::build(&[], &[], &BTreeMap::new(), &[]).unwrap();
    let ask = |sql: &str| evidence.query(sql, &[], &QueryLimits::default());
    for sql in [
        // A queue that doubles, of rows of 32 kB.
        "with recursive c(x) as (select printf('%.*c', 32000, 'x') union all select x from c, (values (1), (2))) select count(*) from c",
        // A sort of more than fits.
        "with recursive c(x) as (select 1 union all select x + 1 from c) select x from c order by printf('%9999d', x)",
        "with recursive c(x) as (select 1 union select x + 1 from c) select count(distinct printf('%9999d', x)) from c",
    ] {
        assert_eq!(ask(sql), Err(QueryError::Limit(Bound::Memory)), "{sql}");
        assert_eq!(ask("select 1").unwrap().rows.len(), 1, "after {sql}");
    }
    assert!(matches!(evidence::limit_heap(128 << 20), Err(BuildError::HeapLimit { .. })));
}
