//! Arguments, strings and descriptors, decoded when they are asked for.

use std::borrow::Cow;

use crate::line::{Stop, annotation_end, is_socket, scan, string_end};
use crate::names::{Effect, Shape};
use crate::trace::{Details, Event, Trace};

/// The arguments of a call, both halves joined.
#[derive(Debug)]
pub(crate) struct Arguments<'a>(Cow<'a, [u8]>);

impl<'a> Arguments<'a> {
    pub(crate) fn new(head: &'a [u8], tail: &'a [u8]) -> Self {
        Self(if tail.is_empty() { head.into() } else { [head, tail].concat().into() })
    }

    /// The argument at `position`, from 0.
    pub(crate) fn get(&self, position: u8) -> Option<&[u8]> {
        self.iter().nth(position.into())
    }

    /// The arguments in order: commas count only outside strings, brackets and `fd<...>`.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = Some(self.0.as_ref());
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let end = comma(text);
            rest = text.get(end + 1..);
            let argument = text[..end].trim_ascii();
            (!argument.is_empty() || rest.is_some()).then_some(argument)
        })
    }

    /// Whether a flag of this name stands in the arguments, outside strings.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.after(flag.as_bytes()).is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
    }

    /// The text behind `needle`, which is looked for outside strings and `fd<...>`.
    fn after(&self, needle: &[u8]) -> Option<&[u8]> {
        let mut at = 0;
        while at < self.0.len() {
            if self.0[at..].starts_with(needle) {
                return Some(&self.0[at + needle.len()..]);
            }
            at = skip(&self.0, at);
        }
        None
    }

    /// The first string literal, from its opening quote on.
    fn first_string(&self) -> Option<&[u8]> {
        let mut at = 0;
        while at < self.0.len() {
            if self.0[at] == b'"' {
                return Some(&self.0[at..]);
            }
            at = skip(&self.0, at);
        }
        None
    }
}

/// Offset behind whatever stands at `at`: a string, a `<...>`, or one byte.
fn skip(text: &[u8], at: usize) -> usize {
    match text[at] {
        b'"' => string_end(text, at),
        b'<' => annotation_end(text, at),
        _ => at + 1,
    }
}

/// Offset of the first comma between arguments, or the end.
fn comma(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        at = match text[at] {
            b',' => return at,
            b'(' | b'[' | b'{' => match scan(text, at + 1, 1) {
                Stop::Closed(close) => close + 1,
                Stop::End { .. } => text.len(),
            },
            _ => skip(text, at),
        };
    }
    text.len()
}

/// A descriptor argument: `3</etc/hosts>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FdArg<'a> {
    pub(crate) fd: i32,
    /// What strace says it is, still escaped; empty without `-y`.
    pub(crate) note: &'a [u8],
}

impl<'a> FdArg<'a> {
    pub(crate) fn parse(argument: &'a [u8]) -> Option<Self> {
        let digits = argument.iter().take_while(|b| b.is_ascii_digit()).count();
        let fd = std::str::from_utf8(&argument[..digits]).ok()?.parse().ok()?;
        let note = match argument.get(digits) {
            Some(b'<') => {
                let end = annotation_end(argument, digits);
                &argument[digits + 1..end.saturating_sub(1).max(digits + 1)]
            }
            _ => &[],
        };
        Some(Self { fd, note })
    }
}

/// The descriptor that a call acts on.
pub(crate) fn fd_argument<'a>(shape: Shape, arguments: &'a Arguments<'_>) -> Option<FdArg<'a>> {
    let position = match shape.path {
        Some(path) if shape.empty_path && arguments.get(path) == Some(b"\"\"") => Some(0),
        _ => shape.fd,
    };
    position.and_then(|position| arguments.get(position)).and_then(FdArg::parse)
}

/// The two descriptors of `[3<pipe:[1]>, 4<pipe:[1]>]`.
pub(crate) fn fd_pair(argument: &[u8]) -> impl Iterator<Item = FdArg<'_>> {
    let inner = argument.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or_default();
    let middle = comma(inner);
    [&inner[..middle], inner.get(middle + 1..).unwrap_or_default()]
        .into_iter()
        .filter_map(|text| FdArg::parse(text.trim_ascii()))
}

/// A path as `-y` prints it, or `None` for a socket, pipe or other object without one.
pub(crate) fn note_path(note: &[u8]) -> Option<Cow<'_, str>> {
    if !note.starts_with(b"/") || is_socket(note) {
        return None;
    }
    // Devices: `/dev/null<char 1:3>`. A raw `<` comes from strace alone.
    let end = memchr::memchr(b'<', note).unwrap_or(note.len());
    Some(unescape(&note[..end]))
}

/// What a descriptor without a path is, as strace says it: `TCP:[...]`, `pipe:[7]`.
pub(crate) fn note_text(note: &[u8]) -> Option<Cow<'_, str>> {
    (!note.is_empty()).then(|| note_path(note).unwrap_or_else(|| String::from_utf8_lossy(note)))
}

/// The content of a string literal that starts with its opening quote.
pub(crate) fn string(argument: &[u8]) -> Option<Cow<'_, str>> {
    let end = string_end(argument, 0);
    let inner = argument.get(..end)?.strip_prefix(b"\"")?;
    Some(unescape(inner.strip_suffix(b"\"").unwrap_or(inner)))
}

/// Decodes strace's escapes (C's, octal or `\x` hex). Bytes that are not UTF-8 are replaced.
pub(crate) fn unescape(text: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', text).is_none() {
        return String::from_utf8_lossy(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(&kind) = text.get(at) else { break };
        at += 1;
        match kind {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'v' => out.push(0x0b),
            b'f' => out.push(0x0c),
            b'x' => out.push(digits(text, &mut at, 16, 2)),
            b'0'..=b'7' => {
                at -= 1;
                out.push(digits(text, &mut at, 8, 3));
            }
            other => out.push(other),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Up to `most` digits at `at`, as one byte.
fn digits(text: &[u8], at: &mut usize, radix: u32, most: usize) -> u8 {
    let mut value = 0u32;
    for _ in 0..most {
        let Some(digit) = text.get(*at).and_then(|b| char::from(*b).to_digit(radix)) else { break };
        value = value * radix + digit;
        *at += 1;
    }
    u8::try_from(value & 0xff).unwrap_or(0)
}

/// Decodes what the evidence tables show of a call.
pub(crate) fn details<'a>(trace: &'a Trace, event: &Event) -> Details<'a> {
    let shape = trace.names.shape(event.name);
    let arguments = trace.arguments(event);
    let path = shape.path.and_then(|position| arguments.get(position)).and_then(string).map(own);
    let fd_note = fd_argument(shape, &arguments);
    let real = match shape.effect {
        Effect::Opens | Effect::Replaces => note_path(trace.bytes(event.ret_note)),
        _ => fd_note.and_then(|fd| note_path(fd.note)).map(own),
    };
    let data = if shape.path.is_none() { arguments.first_string().and_then(string).map(own) } else { None };
    let remote = sockaddr(&arguments).or_else(|| peer(fd_note?.note));
    let bytes = event.ret.filter(|ret| shape.moves_bytes && *ret >= 0);
    Details { path, real, data, bytes, family: family(trace, event, &arguments), remote }
}

fn own<'a>(text: Cow<'_, str>) -> Cow<'a, str> {
    Cow::Owned(text.into_owned())
}

/// `AF_INET` and the like, in a socket address or as the first argument of `socket`.
fn family(trace: &Trace, event: &Event, arguments: &Arguments<'_>) -> Option<&'static str> {
    const FAMILIES: [&str; 6] = ["AF_INET6", "AF_INET", "AF_UNIX", "AF_NETLINK", "AF_VSOCK", "AF_PACKET"];
    let text = match trace.name(event) {
        "socket" | "socketpair" => arguments.get(0),
        _ => arguments.after(b"sa_family="),
    }?;
    FAMILIES.into_iter().find(|family| text.starts_with(family.as_bytes()))
}

/// The address in a `{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.1")}`.
fn sockaddr(arguments: &Arguments<'_>) -> Option<String> {
    if let Some(path) = arguments.after(b"sun_path=") {
        return Some(string(path.strip_prefix(b"@").unwrap_or(path))?.into_owned());
    }
    let port = |key: &[u8]| {
        let text = arguments.after(key)?;
        let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
        std::str::from_utf8(&text[..digits]).ok()?.parse::<u16>().ok()
    };
    if let Some(port) = port(b"sin_port=htons(") {
        return Some(format!("{}:{port}", string(arguments.after(b"inet_addr(")?)?));
    }
    let port = port(b"sin6_port=htons(")?;
    Some(format!("[{}]:{port}", string(arguments.after(b"inet_pton(AF_INET6, ")?)?))
}

/// The far end in a descriptor's `TCP:[127.0.0.1:1->127.0.0.1:2]`.
fn peer(note: &[u8]) -> Option<String> {
    if !is_socket(note) {
        return None;
    }
    let inner = note.strip_suffix(b"]")?;
    let arrow = memchr::memmem::find(inner, b"->")?;
    let far = &inner[arrow + 2..];
    let is_address = far.contains(&b':') && !far.contains(&b'"');
    is_address.then(|| String::from_utf8_lossy(far).into_owned())
}
