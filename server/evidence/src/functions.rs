//! Functions beside SQLite's own. All are pure: the same arguments give the same value.

use regex_lite::{Regex, RegexBuilder};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use crate::guard::VALUE_BYTES;

/// Most values that one aggregate keeps.
const KEPT: usize = 1_000_000;
/// Longest pattern of `regexp`, in bytes, and largest program it may become. Matching takes time in
/// proportion to program times text, so these two bound it.
const PATTERN_BYTES: usize = 1_000;
const PROGRAM_BYTES: usize = 32 * 1024;

const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// Makes the functions known to a connection.
pub(crate) fn register(db: &Connection) -> Result<()> {
    db.create_scalar_function("regexp", 2, PURE, regexp)?;
    db.create_scalar_function("overlap", 4, PURE, overlap)?;
    db.create_aggregate_function("nearest_rank", 2, PURE, NearestRank)?;
    db.create_aggregate_function("stddev", 1, PURE, StdDev)?;
    db.create_aggregate_function("shape", 1, PURE, Shape)?;
    db.create_aggregate_function("peak", 2, PURE, Peak)
}

fn fault(text: impl Into<String>) -> Error {
    Error::UserFunctionError(text.into().into())
}

/// An integer argument, or null.
fn integer(ctx: &Context<'_>, index: usize, what: &str) -> Result<Option<i64>> {
    match ctx.get_raw(index) {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(value) => Ok(Some(value)),
        other => Err(fault(format!("{what} takes integers, not {}", kind(other)))),
    }
}

/// A numeric argument, or null.
fn number(ctx: &Context<'_>, index: usize, what: &str) -> Result<Option<f64>> {
    match ctx.get_raw(index) {
        ValueRef::Null => Ok(None),
        #[allow(clippy::cast_precision_loss)] // as SQLite itself compares
        ValueRef::Integer(value) => Ok(Some(value as f64)),
        ValueRef::Real(value) => Ok(Some(value)),
        other => Err(fault(format!("{what} takes numbers, not {}", kind(other)))),
    }
}

fn kind(value: ValueRef<'_>) -> &'static str {
    match value {
        ValueRef::Null => "null",
        ValueRef::Integer(_) => "an integer",
        ValueRef::Real(_) => "a real number",
        ValueRef::Text(_) => "text",
        ValueRef::Blob(_) => "a blob",
    }
}

/// `text regexp pattern`, which SQLite calls as `regexp(pattern, text)`: whether the pattern occurs in
/// the text. <https://sqlite.org/lang_expr.html#the_like_glob_regexp_match_and_extract_operators>
fn regexp(ctx: &Context<'_>) -> Result<Option<bool>> {
    if ctx.get_raw(0) == ValueRef::Null {
        return Ok(None);
    }
    let text = match ctx.get_raw(1) {
        ValueRef::Null => return Ok(None),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes),
        ValueRef::Integer(value) => value.to_string().into(),
        ValueRef::Real(value) => value.to_string().into(),
    };
    // Compiled once for a constant pattern.
    let regex =
        ctx.get_or_create_aux(0, |pattern| -> Result<Regex, Box<dyn std::error::Error + Send + Sync>> {
            let pattern = pattern.as_str()?;
            if pattern.len() > PATTERN_BYTES {
                return Err(format!("a pattern of regexp may have {PATTERN_BYTES} bytes at most").into());
            }
            Ok(RegexBuilder::new(pattern)
                .size_limit(PROGRAM_BYTES)
                .build()
                .map_err(|error| format!("the pattern of regexp cannot be used: {error}"))?)
        })?;
    Ok(Some(regex.is_match(&text)))
}

/// `overlap(a0, a1, b0, b1)`: how long the spans a0..a1 and b0..b1 have in common, 0 where they do not
/// meet or one of them is empty.
fn overlap(ctx: &Context<'_>) -> Result<Option<i64>> {
    let mut bounds = [0; 4];
    for (index, bound) in bounds.iter_mut().enumerate() {
        match integer(ctx, index, "overlap(a0, a1, b0, b1)")? {
            Some(value) => *bound = value,
            None => return Ok(None),
        }
    }
    let [a0, a1, b0, b1] = bounds;
    Ok(Some(a1.min(b1).saturating_sub(a0.max(b0)).max(0)))
}

/// `nearest_rank(x, p)`: the smallest x with at least p % of all x at or below it. Nulls do not count.
struct NearestRank;

#[derive(Default)]
struct Ranked {
    values: Vec<(f64, Value)>,
    percent: Option<f64>,
}

impl Aggregate<Ranked, Option<Value>> for NearestRank {
    fn init(&self, _: &mut Context<'_>) -> Result<Ranked> {
        Ok(Ranked::default())
    }

    fn step(&self, ctx: &mut Context<'_>, acc: &mut Ranked) -> Result<()> {
        const WHAT: &str = "nearest_rank(x, p)";
        let percent = number(ctx, 1, WHAT)?
            .filter(|p| (0.0..=100.0).contains(p))
            .ok_or_else(|| fault("nearest_rank(x, p) takes p from 0 to 100"))?;
        #[allow(clippy::float_cmp)] // the same constant or not
        if acc.percent.is_some_and(|p| p != percent) {
            return Err(fault("nearest_rank(x, p) takes one p for all rows"));
        }
        acc.percent = Some(percent);
        let Some(key) = number(ctx, 0, WHAT)? else { return Ok(()) };
        keep(&mut acc.values, (key, ctx.get_raw(0).try_into()?), WHAT)
    }

    fn finalize(&self, _: &mut Context<'_>, acc: Option<Ranked>) -> Result<Option<Value>> {
        let Some(mut acc) = acc else { return Ok(None) };
        let count = acc.values.len();
        if count == 0 {
            return Ok(None);
        }
        let rank = rank(acc.percent.unwrap_or(0.0), count);
        let (_, (_, value), _) = acc.values.select_nth_unstable_by(rank - 1, |a, b| a.0.total_cmp(&b.0));
        Ok(Some(value.clone()))
    }
}

/// The smallest rank, from 1, of at least `percent` % of `count`.
fn rank(percent: f64, count: usize) -> usize {
    // 99.9 and the like are not exact in binary: without the slack, a product a hair above a whole
    // number would be rounded to the next. Counts stop at KEPT, where a true step is 1e-3 or more.
    const SLACK: f64 = 1e-7;
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let rank = (percent * count as f64 / 100.0 - SLACK).ceil() as usize;
    rank.clamp(1, count)
}

/// `stddev(x)`: the standard deviation of the population (divided by n). Nulls do not count.
struct StdDev;

/// Welford's running mean and sum of squared distances: stable where squares of ns would not be.
#[derive(Default)]
struct Spread {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Aggregate<Spread, Option<f64>> for StdDev {
    fn init(&self, _: &mut Context<'_>) -> Result<Spread> {
        Ok(Spread::default())
    }

    fn step(&self, ctx: &mut Context<'_>, acc: &mut Spread) -> Result<()> {
        let Some(value) = number(ctx, 0, "stddev(x)")? else { return Ok(()) };
        acc.count += 1.0;
        let distance = value - acc.mean;
        acc.mean += distance / acc.count;
        acc.squares += distance * (value - acc.mean);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, acc: Option<Spread>) -> Result<Option<f64>> {
        Ok(acc.filter(|acc| acc.count > 0.0).map(|acc| (acc.squares / acc.count).sqrt()))
    }
}

/// `peak(open, close)`: the most spans open at one time. A span holds its opening and not its close,
/// so one that closes where another opens does not meet it. Without an opening it was open from the
/// start, without a close to the end; without both it does not count.
struct Peak;

impl Aggregate<Vec<(i64, i64)>, i64> for Peak {
    fn init(&self, _: &mut Context<'_>) -> Result<Vec<(i64, i64)>> {
        Ok(Vec::new())
    }

    fn step(&self, ctx: &mut Context<'_>, acc: &mut Vec<(i64, i64)>) -> Result<()> {
        const WHAT: &str = "peak(open_ns, close_ns)";
        let (open, close) = (integer(ctx, 0, WHAT)?, integer(ctx, 1, WHAT)?);
        if open.is_none() && close.is_none() {
            return Ok(());
        }
        let (open, close) = (open.unwrap_or(i64::MIN), close.unwrap_or(i64::MAX));
        if open < close { keep(acc, (open, close), WHAT) } else { Ok(()) }
    }

    fn finalize(&self, _: &mut Context<'_>, acc: Option<Vec<(i64, i64)>>) -> Result<i64> {
        let mut steps: Vec<(i64, i64)> =
            acc.unwrap_or_default().into_iter().flat_map(|(open, close)| [(open, 1), (close, -1)]).collect();
        steps.sort_unstable(); // closes (-1) first where times are equal
        let (mut open, mut most) = (0, 0);
        for (_, step) in steps {
            open += step;
            most = most.max(open);
        }
        Ok(most)
    }
}

/// `shape(step)`: the steps as one word, `~` once where several follow each other. Nulls do not count.
struct Shape;

impl Aggregate<String, Option<String>> for Shape {
    fn init(&self, _: &mut Context<'_>) -> Result<String> {
        Ok(String::new())
    }

    fn step(&self, ctx: &mut Context<'_>, acc: &mut String) -> Result<()> {
        let step = match ctx.get_raw(0) {
            ValueRef::Null => return Ok(()),
            ValueRef::Text(bytes) => String::from_utf8_lossy(bytes),
            other => return Err(fault(format!("shape(step) takes text, not {}", kind(other)))),
        };
        if acc.len() + step.len() > VALUE_BYTES {
            return Err(fault(format!("shape(step) makes a word of {VALUE_BYTES} bytes at most")));
        }
        if step != "~" || !acc.ends_with('~') {
            acc.push_str(&step);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, acc: Option<String>) -> Result<Option<String>> {
        Ok(acc.filter(|word| !word.is_empty()))
    }
}

/// Keeps a value of an aggregate, up to the bound.
fn keep<T>(values: &mut Vec<T>, value: T, what: &str) -> Result<()> {
    if values.len() == KEPT {
        return Err(fault(format!("{what} takes {KEPT} rows at most")));
    }
    values.push(value);
    Ok(())
}
