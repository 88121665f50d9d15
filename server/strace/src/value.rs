//! Arguments, strings and descriptors, decoded when they are asked for.

use std::borrow::Cow;

use memchr::memchr;

use crate::event::Event;
use crate::names::{Call, Effect, Shape};
use crate::scan::{annotation_end, comma, find, is_socket, skip, string_end};
use crate::trace::{Details, Trace};

/// The arguments of a call: those of its first half and, where it has one, of its second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) tail: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// The argument at `position`, from 0, without the name that `--arg-names` puts before it.
    pub(crate) fn get(self, position: u8) -> Option<Cow<'a, [u8]>> {
        let (mut text, mut at, mut left) = (self.head, 0, position);
        let mut in_tail = self.tail.is_empty();
        loop {
            let end = comma(text, at);
            if end == text.len() && !in_tail {
                let begun = text[at..].trim_ascii_start();
                let rest = self.tail.trim_ascii_start();
                // Where the first half ends between two arguments the second half begins with the next one,
                // or with the comma before it (since strace 6.16).
                let (start, behind) = match (begun.is_empty(), rest.first()) {
                    (true, _) => (0, false),
                    (false, Some(b',')) => (self.tail.len() - rest.len() + 1, true),
                    (false, _) => {
                        // An argument that both halves share: `{flags=... => {parent_tid=[7]}`.
                        let joined = [begun, self.tail].concat();
                        let found = Arguments { head: &joined, tail: &[] }.get(left)?;
                        return Some(Cow::Owned(found.into_owned()));
                    }
                };
                if behind {
                    if left == 0 {
                        return Some(Cow::Borrowed(unnamed(begun.trim_ascii_end())));
                    }
                    left -= 1;
                }
                (text, at, in_tail) = (self.tail, start, true);
                continue;
            }
            if left == 0 {
                let argument = text[at..end].trim_ascii();
                let exists = !argument.is_empty() || end < text.len();
                return exists.then_some(Cow::Borrowed(unnamed(argument)));
            }
            if end == text.len() {
                return None;
            }
            left -= 1;
            at = end + 1;
        }
    }

    /// Whether a flag of this name stands in the arguments, outside strings.
    pub(crate) fn has_flag(self, flag: &str) -> bool {
        self.after(flag.as_bytes()).is_some_and(|rest| {
            !rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        })
    }

    /// Whether a word that ends like this stands in the arguments, outside strings.
    pub(crate) fn holds(self, end: &[u8]) -> bool {
        self.after(end).is_some()
    }

    /// The text behind `needle`, which is looked for outside strings and `fd<...>`.
    fn after(self, needle: &[u8]) -> Option<&'a [u8]> {
        [self.head, self.tail]
            .into_iter()
            .find_map(|text| find(text, needle).map(|at| &text[at + needle.len()..]))
    }

    /// The first string literal, from its opening quote on.
    fn first_string(self) -> Option<&'a [u8]> {
        [self.head, self.tail].into_iter().find_map(|text| {
            let mut at = 0;
            // Most texts without a quote are known at once.
            memchr(b'"', text)?;
            while at < text.len() {
                if text[at] == b'"' {
                    return Some(&text[at..]);
                }
                at = skip(text, at);
            }
            None
        })
    }
}

/// An argument without the `name=` of `--arg-names`.
fn unnamed(argument: &[u8]) -> &[u8] {
    if !argument.first().is_some_and(u8::is_ascii_lowercase) {
        return argument;
    }
    let name =
        argument.iter().take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || **b == b'_').count();
    if argument.get(name) == Some(&b'=') { &argument[name + 1..] } else { argument }
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
        let (fd, digits) = crate::scan::number(argument, 0);
        let fd = i32::try_from(fd?).ok()?;
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

/// The descriptor that a call acts on: it stands in the first half, which strace prints at the
/// call's entry.
pub(crate) fn fd_argument<'a>(shape: &Shape, arguments: Arguments<'a>) -> Option<FdArg<'a>> {
    let position = match shape.path {
        Some(path) if shape.empty_path => (arguments.get(path)?.as_ref() == b"\"\"").then_some(0),
        _ => shape.fd,
    }?;
    if position == 0 {
        return FdArg::parse(unnamed(arguments.head));
    }
    match arguments.get(position)? {
        Cow::Borrowed(argument) => FdArg::parse(argument),
        Cow::Owned(_) => None,
    }
}

/// The two descriptors of `[3<pipe:[1]>, 4<pipe:[1]>]`.
pub(crate) fn fd_pair(argument: &[u8]) -> impl Iterator<Item = FdArg<'_>> {
    let inner = argument.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or_default();
    let middle = comma(inner, 0);
    [&inner[..middle], inner.get(middle + 1..).unwrap_or_default()]
        .into_iter()
        .filter_map(|text| FdArg::parse(text.trim_ascii()))
}

/// A path as `-y` prints it, or `None` for a socket, pipe or other object without one.
pub(crate) fn note_path(note: &[u8]) -> Option<Cow<'_, str>> {
    if !note.starts_with(b"/") {
        return None;
    }
    // Devices: `/dev/null<char 1:3>`. A raw `<` comes from strace alone.
    let end = memchr(b'<', note).unwrap_or(note.len());
    Some(unescape(&note[..end]))
}

/// What a descriptor is: a path or `TCP:[...]` as strace says it, or an opener's path argument.
pub(crate) fn label(label: &[u8]) -> Option<Cow<'_, str>> {
    if label.first() == Some(&b'"') {
        return string(label);
    }
    (!label.is_empty()).then(|| note_path(label).unwrap_or_else(|| String::from_utf8_lossy(label)))
}

/// The content of a string literal that starts with its opening quote.
pub(crate) fn string(argument: &[u8]) -> Option<Cow<'_, str>> {
    let end = string_end(argument, 0);
    let inner = argument.get(..end)?.strip_prefix(b"\"")?;
    Some(unescape(inner.strip_suffix(b"\"").unwrap_or(inner)))
}

/// Decodes strace's escapes (C's, octal or `\x` hex). Bytes that are not UTF-8 are replaced.
pub(crate) fn unescape(text: &[u8]) -> Cow<'_, str> {
    let Some(first) = memchr(b'\\', text) else { return String::from_utf8_lossy(text) };
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..first]);
    let mut at = first;
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
    Cow::Owned(match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
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
    let path = path_argument(shape, arguments);
    let fd = fd_argument(shape, arguments);
    let real = match shape.effect {
        Effect::Opens | Effect::Replaces | Effect::Copies => note_path(trace.bytes(event.ret_note)),
        _ => fd.and_then(|fd| note_path(fd.note)),
    };
    let data = if shape.path.is_none() { arguments.first_string().and_then(string) } else { None };
    let address = if shape.address { sockaddr(arguments) } else { None };
    let remote = address.or_else(|| peer(fd?.note));
    let bytes = event.ret().filter(|ret| shape.moves_bytes && *ret >= 0);
    Details { path, real, data, bytes, family: family(shape, arguments), remote }
}

/// The path among a call's arguments.
pub(crate) fn path_argument<'a>(shape: &Shape, arguments: Arguments<'a>) -> Option<Cow<'a, str>> {
    match arguments.get(shape.path?)? {
        Cow::Borrowed(argument) => string(argument),
        Cow::Owned(argument) => string(&argument).map(|text| Cow::Owned(text.into_owned())),
    }
}

/// `AF_INET` and the like, in a socket address or as the first argument of `socket`.
fn family(shape: &Shape, arguments: Arguments<'_>) -> Option<&'static str> {
    const FAMILIES: [&str; 6] = ["AF_INET6", "AF_INET", "AF_UNIX", "AF_NETLINK", "AF_VSOCK", "AF_PACKET"];
    let pair = matches!(shape.effect, Effect::OpensPair(3));
    let text = if shape.call == Call::Socket || pair {
        unnamed(arguments.head)
    } else if shape.address {
        arguments.after(b"sa_family=")?
    } else {
        return None;
    };
    FAMILIES.into_iter().find(|family| text.starts_with(family.as_bytes()))
}

/// The address in a `{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.1")}`.
fn sockaddr(arguments: Arguments<'_>) -> Option<String> {
    if let Some(path) = arguments.after(b"sun_path=") {
        return Some(string(path.strip_prefix(b"@").unwrap_or(path))?.into_owned());
    }
    let port = |key: &[u8]| {
        let (port, _) = crate::scan::number(arguments.after(key)?, 0);
        u16::try_from(port?).ok()
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
