//! SQL text before SQLite sees it: bounds that SQLite does not have.
//!
//! SQLite prepares one statement at a time and copies a `with` name's query wherever the name stands,
//! copies within copies included; neither is interrupted by a deadline. So the tokens are
//! looked at first. They need not be understood, only never be understood as less than SQLite does.

use std::borrow::Cow;
use std::collections::HashMap;

/// Deepest nesting of parentheses: each may be a query in a query, and a level of SQLite's recursion.
pub(crate) const DEPTH: usize = 50;
/// Most copies of `with` queries in all.
pub(crate) const COPIES: u64 = 200;

/// What is wrong with a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A second statement begins at this offset.
    SecondStatement(usize),
    /// Parentheses are nested deeper than [`DEPTH`].
    Depth,
    /// More than [`COPIES`] copies.
    Copies,
    /// Named queries that seem to use each other.
    Circle,
}

#[derive(Debug)]
struct Token<'a> {
    at: usize,
    kind: Kind,
    /// A word, or what stands between quotes.
    text: Cow<'a, str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Quoted,
    Sign(u8),
}

/// Looks for faults.
pub(crate) fn check(sql: &str) -> Result<(), Fault> {
    let tokens = tokens(sql);
    let begin = tokens.iter().position(|token| token.kind != Kind::Sign(b';')).unwrap_or(tokens.len());
    let tokens = &tokens[begin..];
    let mut depth = 0_usize;
    let mut ended = false;
    for token in tokens {
        match token.kind {
            Kind::Sign(b';') => ended = true,
            _ if ended => return Err(Fault::SecondStatement(token.at)),
            Kind::Sign(b'(') if depth == DEPTH => return Err(Fault::Depth),
            Kind::Sign(b'(') => depth += 1,
            Kind::Sign(b')') => depth = depth.saturating_sub(1),
            Kind::Sign(_) | Kind::Word | Kind::Quoted => {}
        }
    }
    if copies(tokens)? > COPIES { Err(Fault::Copies) } else { Ok(()) }
}

/// Whether a word stands in a query as a name, in any quotes; not in a string or a comment.
#[must_use]
pub fn mentions(sql: &str, word: &str) -> bool {
    let is_string = |token: &Token<'_>| sql.as_bytes()[token.at] == b'\'';
    tokens(sql).iter().any(|token| {
        matches!(token.kind, Kind::Word | Kind::Quoted)
            && !is_string(token)
            && token.text.eq_ignore_ascii_case(word)
    })
}

/// <https://sqlite.org/lang_keywords.html> for the quotes; comments and spaces are no tokens.
fn tokens(sql: &str) -> Vec<Token<'_>> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            b'-' if rest.starts_with(b"--") => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => {
                memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |length| length + 4)
            }
            b'\'' | b'"' | b'`' => {
                let (text, length) = quoted(&sql[at..], char::from(byte));
                found.push(Token { at, kind: Kind::Quoted, text });
                length
            }
            b'[' => {
                let length = memchr::memchr(b']', rest).map_or(rest.len(), |end| end + 1);
                let text = sql[at + 1..at + length].trim_end_matches(']').into();
                found.push(Token { at, kind: Kind::Quoted, text });
                length
            }
            _ if is_word(byte) => {
                let length = rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len());
                found.push(Token { at, kind: Kind::Word, text: sql[at..at + length].into() });
                length
            }
            _ => {
                if !byte.is_ascii_whitespace() && byte != b'\x0b' {
                    found.push(Token { at, kind: Kind::Sign(byte), text: "".into() });
                }
                1
            }
        };
        at += length;
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

/// What stands between the quotes, a doubled quote being one, and the token's length with them.
fn quoted(rest: &str, quote: char) -> (Cow<'_, str>, usize) {
    let mut from = 1;
    let mut doubled = false;
    loop {
        let Some(length) = rest[from..].find(quote) else { return (rest[1..].into(), rest.len()) };
        let end = from + length;
        if !rest[end + 1..].starts_with(quote) {
            let inner = &rest[1..end];
            let text = if doubled {
                inner.replace(&[quote; 2].iter().collect::<String>(), &quote.to_string()).into()
            } else {
                inner.into()
            };
            return (text, end + 1);
        }
        doubled = true;
        from = end + 2;
    }
}

/// A query with a name: `name as (...)`, `name (columns) as materialized (...)`. A named window looks
/// the same and does no harm here.
struct Named {
    name: String,
    /// Indices of the tokens of its query.
    body: std::ops::Range<usize>,
}

/// Counts the copies of named queries that SQLite makes, at most: every token that may be a use of a
/// name is one, and each use has a copy of all that the query itself uses.
struct Copies<'t> {
    tokens: &'t [Token<'t>],
    named: Vec<Named>,
    by_name: HashMap<String, Vec<usize>>,
    known: Vec<Known>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    No,
    /// Being counted: whoever meets it now is a part of it.
    Begun,
    Copies(u64),
}

/// Copies of named queries in all.
fn copies(tokens: &[Token<'_>]) -> Result<u64, Fault> {
    let named = named(tokens);
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, query) in named.iter().enumerate() {
        by_name.entry(query.name.clone()).or_default().push(index);
    }
    let known = vec![Known::No; named.len()];
    let mut count = Copies { tokens, named, by_name, known };
    (0..count.named.len()).try_fold(0, |total: u64, index| Ok(total.saturating_add(count.of(index, 0)?)))
}

impl Copies<'_> {
    /// Copies that one use of a named query makes.
    fn of(&mut self, index: usize, depth: usize) -> Result<u64, Fault> {
        match self.known[index] {
            Known::Copies(copies) => return Ok(copies),
            Known::Begun => return Err(Fault::Circle),
            Known::No if depth > DEPTH => return Err(Fault::Copies),
            Known::No => self.known[index] = Known::Begun,
        }
        let mut total = 1_u64;
        for at in self.named[index].body.clone().filter(|&at| may_use(self.tokens, at)) {
            let uses = self.by_name.get(&self.tokens[at].text.to_ascii_lowercase()).cloned();
            for used in uses.into_iter().flatten() {
                // A query that names itself is recursive, which copies nothing.
                let copies = if used == index { 1 } else { self.of(used, depth + 1)? };
                total = total.saturating_add(copies);
            }
        }
        self.known[index] = Known::Copies(total);
        Ok(total)
    }
}

/// Whether a token may use a named query. Not what belongs to a name with a dot, not a name being given
/// by `as`, not a function's name.
fn may_use(tokens: &[Token<'_>], at: usize) -> bool {
    let sign = |at: Option<usize>| match at.and_then(|at| tokens.get(at)).map(|token| token.kind) {
        Some(Kind::Sign(sign)) => sign,
        _ => b' ',
    };
    let given = at.checked_sub(1).is_some_and(|at| is_as(&tokens[at]));
    !matches!(tokens[at].kind, Kind::Sign(_))
        && !given
        && sign(at.checked_sub(1)) != b'.'
        && !matches!(sign(Some(at + 1)), b'.' | b'(')
}

fn is_as(token: &Token<'_>) -> bool {
    token.kind == Kind::Word && token.text.eq_ignore_ascii_case("as")
}

fn named(tokens: &[Token<'_>]) -> Vec<Named> {
    let word = |index: usize, word: &str| {
        tokens
            .get(index)
            .is_some_and(|token| token.kind == Kind::Word && token.text.eq_ignore_ascii_case(word))
    };
    let mut found = Vec::new();
    for at in (1..tokens.len()).filter(|&at| word(at, "as")) {
        let mut open = at + 1;
        open += usize::from(word(open, "not"));
        open += usize::from(word(open, "materialized"));
        if tokens.get(open).is_none_or(|token| token.kind != Kind::Sign(b'(')) {
            continue;
        }
        let Some(name) = before_columns(tokens, at - 1) else { continue };
        let name = tokens[name].text.to_ascii_lowercase();
        found.push(Named { name, body: open + 1..closing(tokens, open) });
    }
    found
}

/// The token that names the query whose head ends at a token: that one, or the one before its list
/// of columns.
fn before_columns(tokens: &[Token<'_>], end: usize) -> Option<usize> {
    if tokens[end].kind != Kind::Sign(b')') {
        return Some(end);
    }
    let open = tokens[..end].iter().rposition(|token| token.kind == Kind::Sign(b'('))?;
    open.checked_sub(1)
}

/// Index of the parenthesis that closes one, or the end.
fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Sign(b'(') => depth += 1,
            Kind::Sign(b')') if depth == 1 => return index,
            Kind::Sign(b')') => depth -= 1,
            Kind::Sign(_) | Kind::Word | Kind::Quoted => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_statement_is_found_where_it_begins() {
        for (sql, expected) in [
            ("select 1", None),
            ("select 1;", None),
            (" ; select 1 ; -- and no more; \n /* ; select 2 */ ;", None),
            ("select ';' , \";\", [;], `;`", None),
            ("select 'it''s; fine'", None),
            ("select 1 /* ; */ ; -- ;\n", None),
            ("select 1; select 2", Some(10)),
            ("select 1;'x'", Some(9)),
            ("select 1 -- ; \n; é", Some(17)),
            ("select 'open ; select 2", None),
            ("", None),
        ] {
            assert_eq!(check(sql).err(), expected.map(Fault::SecondStatement), "{sql:?}");
        }
    }

    #[test]
    fn copies_are_counted() {
        for (sql, expected) in [
            ("select 1", 0),
            ("with a as (select 1) select * from a", 1),
            ("with a as (select 1), b as (select * from a, a) select * from b", 1 + 3),
            (
                "with a as (select 1), b as (select * from a, a), c as (select * from b, b) select 1",
                1 + 3 + 7,
            ),
            // Names in any spelling, definitions in any order and form.
            (
                "with B(x) as not materialized (select * from \"a\", [A]), 'a' as materialized (select 1) select 1",
                3 + 1,
            ),
            ("with \"a\"\"b\" as (select 1), c as (select * from [a\"b]) select 1", 1 + 2),
            ("with recursive c(x) as (select 1 union all select x + 1 from c) select * from c", 2),
            // Columns may have a query's name where it is plain that they are columns.
            ("with a as (select 1 as b), b as (select max(a.b) as a, a(1) from a) select 1", 1 + 2),
        ] {
            assert_eq!(copies(&tokens(sql)), Ok(expected), "{sql}");
        }
    }

    #[test]
    fn a_word_is_mentioned_as_a_name_alone() {
        for (sql, expected) in [
            ("select win from events", true),
            ("select 1 from events e where e.WIN = 'a'", true),
            ("select \"win\", `x` from events", true),
            ("select [win] from events", true),
            ("select 'win' from events", false),
            ("select winner, w_in from events -- win", false),
            ("select 1 /* win */", false),
            ("", false),
        ] {
            assert_eq!(mentions(sql, "win"), expected, "{sql}");
        }
    }

    #[test]
    fn a_circle_is_no_way_around_the_count() {
        for sql in [
            "with a as (select * from b), b as (select * from a) select 1",
            // The same name within itself: each is another query.
            "with t as (with t as (with t as (select 1) select * from t, t) select * from t, t) select * from t, t",
            // A column named like a later query.
            "with a as (select b from events order by 1, b), b as (select * from a, a, a) select 1",
        ] {
            assert_eq!(copies(&tokens(sql)), Err(Fault::Circle), "{sql}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(check(&nested(DEPTH)), Ok(()));
        assert_eq!(check(&nested(DEPTH + 1)), Err(Fault::Depth));
        assert_eq!(check(&nested(DEPTH).repeat(3)), Ok(()));
    }
}
