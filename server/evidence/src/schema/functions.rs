//! The functions beside SQLite's own; `functions.rs` of the crate computes them.

use super::Function;

/// Every function.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "nearest_rank",
        signature: "nearest_rank(x, p)",
        about: "aggregate: the smallest x with at least p % of all x at or below it; p from 0 to 100, one p for all rows. It is always one of the x. Nulls do not count; null for no rows",
    },
    Function {
        name: "stddev",
        signature: "stddev(x)",
        about: "aggregate: standard deviation of the population (divided by n, as Node's histograms do). Nulls do not count; null for no rows",
    },
    Function {
        name: "peak",
        signature: "peak(open, close)",
        about: "aggregate over integers: the most spans open at one time. A span that closes where another opens does not meet it. Without `open` it was open from the start, without `close` to the end, without both it does not count; 0 for no rows",
    },
    Function {
        name: "shape",
        signature: "shape(step order by id)",
        about: "aggregate: the steps (view `steps`) as one word, with `~` once where several follow each other. Nulls do not count; null for no rows. Without `order by` the order is not certain",
    },
    Function {
        name: "overlap",
        signature: "overlap(a0, a1, b0, b1)",
        about: "how long the spans a0..a1 and b0..b1 have in common, in their unit; 0 where they do not meet; null if any is null",
    },
    Function {
        name: "regexp",
        signature: "x regexp pattern",
        about: "whether the pattern occurs in x ([syntax](https://docs.rs/regex-lite/latest/regex_lite/#syntax); `^` and `$` are the ends of the text, `\\d` and `\\w` are ASCII). A pattern has 1,000 bytes at most",
    },
];
