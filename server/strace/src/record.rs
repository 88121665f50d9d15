//! Records of lines, with names interned and offsets into the whole text.

use crate::event::NO_TIME;
use crate::line::{Body, HeadEnd, Remark, Ret};
use crate::names::{ExitName, Name, Names};
use crate::trace::Span;

/// A record with names interned and offsets into the whole text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Record {
    Call { name: Name, args: Span, ret: OwnRet },
    Head { name: Name, args: Span, depth: u32, why: HeadEnd },
    Tail { name: Name, args: Span, ret: OwnRet },
    Signal { name: Name, info: Span },
    End { how: ExitName, status: Option<i64>, signal: Span },
    Remark(Remark),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnRet {
    pub(crate) value: Option<i64>,
    pub(crate) errno: Name,
    pub(crate) note: Span,
    pub(crate) dur_ns: i64,
}

impl Record {
    pub(crate) fn new(body: Body<'_>, start: usize, names: &mut Names) -> Self {
        let none = Span::default();
        match body {
            Body::Call { name, args, ret } => {
                Self::Call { name: names.intern(name), args: span(start, args), ret: own(ret, start, names) }
            }
            Body::Head { name, args, depth, why } => {
                Self::Head { name: names.intern(name), args: span(start, args), depth, why }
            }
            Body::Signal { name, info } => Self::Signal { name: names.intern(name), info: span(start, info) },
            Body::Exited(status) => Self::End { how: ExitName::Exited, status: Some(status), signal: none },
            Body::Killed { signal } => {
                Self::End { how: ExitName::Killed, status: None, signal: span(start, signal) }
            }
            Body::Superseded => Self::End { how: ExitName::Superseded, status: None, signal: none },
            Body::Remark(remark) => Self::Remark(remark),
            Body::Tail { .. } | Body::Unread(_) => Self::Remark(Remark::Blank),
        }
    }
}

pub(crate) fn own(ret: Ret<'_>, start: usize, names: &mut Names) -> OwnRet {
    OwnRet {
        value: ret.value,
        errno: ret.errno.map_or(Name::NONE, |errno| names.intern(errno)),
        note: span(start, ret.note),
        dur_ns: ret.dur_ns.unwrap_or(NO_TIME),
    }
}

pub(crate) fn span(start: usize, range: (usize, usize)) -> Span {
    Span { start: offset(start + range.0), end: offset(start + range.1) }
}

/// Offsets fit: the text is capped below 4 GiB.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
