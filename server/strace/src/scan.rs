//! Scanning over arguments, left to right.
//!
//! Nothing searches for ` = ` or a bracket across a line: file names, buffers and descriptors hold
//! whatever the tracee likes, so a bracket counts only outside strings, comments and `fd<...>`.

use memchr::{memchr2, memmem};

/// What strace writes where another thread's line interrupts a call. Only strace writes a raw `<`
/// behind a blank: descriptors and thread names stand right behind their number.
pub(crate) const UNFINISHED: &[u8] = b"<unfinished ...>";

/// Where a scan over arguments stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At the bracket that closes the call.
    Closed(usize),
    /// At an `<unfinished ...>`, `depth` brackets deep.
    Unfinished { at: usize, depth: u32 },
    /// At the end of the text, `depth` brackets deep.
    End { depth: u32 },
}

const PLAIN: u8 = 0;
const QUOTE: u8 = 1;
const CHAR: u8 = 2;
const ANGLE: u8 = 3;
const SLASH: u8 = 4;
const OPEN: u8 = 5;
const CLOSE: u8 = 6;

/// What each byte means to a scan. Most mean nothing, and the scan runs over them.
const CLASS: [u8; 256] = {
    let mut class = [PLAIN; 256];
    class[b'"' as usize] = QUOTE;
    class[b'\'' as usize] = CHAR;
    class[b'<' as usize] = ANGLE;
    class[b'/' as usize] = SLASH;
    class[b'(' as usize] = OPEN;
    class[b'[' as usize] = OPEN;
    class[b'{' as usize] = OPEN;
    class[b')' as usize] = CLOSE;
    class[b']' as usize] = CLOSE;
    class[b'}' as usize] = CLOSE;
    class
};

/// Finds the bracket that closes a call, from `at` on, `depth` brackets deep.
pub(crate) fn scan(line: &[u8], mut at: usize, mut depth: u32) -> Stop {
    while let Some(ahead) =
        line.get(at..).and_then(|rest| rest.iter().position(|b| CLASS[*b as usize] != PLAIN))
    {
        at += ahead;
        match CLASS[line[at] as usize] {
            QUOTE => at = string_end(line, at),
            CHAR => at = char_end(line, at),
            ANGLE => {
                if line[at..].starts_with(UNFINISHED) && line[..at].ends_with(b" ") {
                    return Stop::Unfinished { at, depth };
                }
                at = annotation_end(line, at);
            }
            SLASH if line.get(at + 1) == Some(&b'*') => at = comment_end(line, at),
            OPEN => {
                depth += 1;
                at += 1;
            }
            CLOSE => {
                if depth <= 1 {
                    return Stop::Closed(at);
                }
                depth -= 1;
                at += 1;
            }
            _ => at += 1,
        }
    }
    Stop::End { depth }
}

/// Offset of the first comma between arguments from `at` on, or the end.
pub(crate) fn comma(text: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = text.get(at) {
        at = match CLASS[byte as usize] {
            PLAIN if byte == b',' => return at,
            OPEN => match scan(text, at + 1, 1) {
                Stop::Closed(close) => close + 1,
                Stop::Unfinished { .. } | Stop::End { .. } => text.len(),
            },
            PLAIN | CLOSE => at + 1,
            _ => skip(text, at),
        };
    }
    text.len()
}

/// Offset behind whatever stands at `at`: a string, a `<...>`, a comment, or one byte.
pub(crate) fn skip(text: &[u8], at: usize) -> usize {
    match CLASS[text[at] as usize] {
        QUOTE => string_end(text, at),
        CHAR => char_end(text, at),
        ANGLE => annotation_end(text, at),
        SLASH if text.get(at + 1) == Some(&b'*') => comment_end(text, at),
        _ => at + 1,
    }
}

/// Offset of `needle` in `text`, looked for outside strings, comments and `fd<...>`.
pub(crate) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    // Most arguments do not hold it at all: one quick look decides those.
    memmem::find(text, needle)?;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(needle) {
            return Some(at);
        }
        at = skip(text, at);
    }
    None
}

/// Offset behind the string that opens at `at`.
pub(crate) fn string_end(line: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = line.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if line[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    line.len()
}

/// Offset behind the character literal at `at` (`'x'`, `'\n'`, `'\x41'`), or behind a lone quote.
fn char_end(line: &[u8], at: usize) -> usize {
    let escaped = line.get(at + 1) == Some(&b'\\');
    let longest = if escaped { 5 } else { 2 };
    let shortest = if escaped { 3 } else { 2 };
    let close = (shortest..=longest).find(|i| line.get(at + i) == Some(&b'\''));
    close.map_or(at + 1, |i| at + i + 1)
}

/// Offset behind the comment at `at`. strace nests comments and never quotes inside them.
fn comment_end(line: &[u8], at: usize) -> usize {
    let (mut at, mut open) = (at + 2, 1);
    while at < line.len() {
        match &line[at..(at + 2).min(line.len())] {
            b"*/" => {
                open -= 1;
                at += 2;
                if open == 0 {
                    return at;
                }
            }
            b"/*" => {
                open += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    line.len()
}

/// Offset behind the `<...>` at `at`: what strace says of a descriptor, or a shift (`1<<CAP`).
pub(crate) fn annotation_end(line: &[u8], at: usize) -> usize {
    match line.get(at + 1) {
        Some(b'<') => return at + 2,
        Some(byte) if byte.is_ascii_uppercase() && is_socket(&line[at + 1..]) => {
            return socket_end(line, at + 1);
        }
        _ => {}
    }
    // strace escapes `<` and `>` of names as `\74` and `\76`: raw ones are its own, and nest.
    let (mut at, mut open) = (at + 1, 1);
    while let Some(found) = line.get(at..).and_then(|rest| memchr2(b'<', b'>', rest)) {
        at += found + 1;
        if line[at - 1] == b'<' {
            open += 1;
            continue;
        }
        open -= 1;
        if open == 0 {
            return at;
        }
    }
    line.len()
}

/// Whether `text` starts a socket's description: `TCP:[`, `UNIX-STREAM:[`.
pub(crate) fn is_socket(text: &[u8]) -> bool {
    let proto =
        text.iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b'-').count();
    let proto = if text[proto..].starts_with(b"v6") { proto + 2 } else { proto };
    proto >= 3 && text[0].is_ascii_uppercase() && text[proto..].starts_with(b":[")
}

/// A socket's description ends with `]>`; a Unix path inside is quoted and may hold anything.
fn socket_end(line: &[u8], mut at: usize) -> usize {
    while let Some(found) = line.get(at..).and_then(|rest| memchr2(b'"', b']', rest)) {
        at += found;
        if line[at] == b'"' {
            at = string_end(line, at);
        } else if line.get(at + 1) == Some(&b'>') {
            return at + 2;
        } else {
            at += 1;
        }
    }
    line.len()
}

/// Reads digits at `at`: their value, unless it is beyond 64 bits, and the offset behind them.
#[inline]
pub(crate) fn number(line: &[u8], at: usize) -> (Option<u64>, usize) {
    let (value, digits) = eight(line, at);
    if digits < 8 {
        return ((digits > 0).then_some(value), at + digits);
    }
    more(line, at + 8, value)
}

/// The rest of a number that has more than eight digits.
#[inline]
fn more(line: &[u8], at: usize, value: u64) -> (Option<u64>, usize) {
    let (mut value, mut end) = (Some(value), at);
    loop {
        let (next, digits) = eight(line, end);
        end += digits;
        value = value.and_then(|value| value.checked_mul(POWERS[digits])?.checked_add(next));
        if digits < 8 {
            return (value, end);
        }
    }
}

/// Powers of ten, to move a number left by as many digits.
pub(crate) const POWERS: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Up to eight digits at `at`: their value and how many there are. All eight are looked at in one word.
#[inline]
pub(crate) fn eight(line: &[u8], at: usize) -> (u64, usize) {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let Some(word) = line.get(at..).and_then(|rest| rest.first_chunk::<8>()) else { return few(line, at) };
    let values = u64::from_le_bytes(*word) ^ ZEROS;
    // A byte above nine has, or gets by adding six, a bit in its upper half. What carries over reaches
    // only bytes behind the first that is no digit.
    let others = (values | values.wrapping_add(0x0606_0606_0606_0606)) & 0xf0f0_f0f0_f0f0_f0f0;
    let digits = (others.trailing_zeros() / 8) as usize;
    if digits == 0 {
        return (0, 0);
    }
    // The last digit goes to the highest byte, zeros come before the first; then neighbours are joined.
    let values = values << (64 - 8 * digits);
    let pairs = (values.wrapping_mul(10) + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let all = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
    (all, digits)
}

/// The same near the end of a line.
#[cold]
fn few(line: &[u8], at: usize) -> (u64, usize) {
    let rest = line.get(at..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (rest[..digits].iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')), digits)
}

/// Offset behind the blanks at `at`.
pub(crate) fn spaces(line: &[u8], mut at: usize) -> usize {
    while line.get(at) == Some(&b' ') {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length() {
        for text in
            ["", "x", "0", "7x", "12345678", "123456789", "1234567", "18446744073709551615", "98765432 1"]
        {
            for behind in ["", ")", " 123456789", "/:;<@~\u{ff}"] {
                let line = format!("{text}{behind}");
                let digits = line.bytes().take_while(u8::is_ascii_digit).count();
                let expected = (line[..digits].parse().ok(), digits);
                assert_eq!(number(line.as_bytes(), 0), expected, "{line}");
            }
        }
        assert_eq!(number(b"18446744073709551616 ", 0), (None, 20));
    }
}
