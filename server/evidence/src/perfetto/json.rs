//! Trace events as JSON.

use std::fmt;
use std::io::{self, BufWriter, Write};

use serde_json::Value as Json;

pub(super) fn text(text: Option<String>) -> Json {
    text.map_or(Json::Null, Json::String)
}

/// A number that JavaScript can hold; a longer one as text.
pub(super) fn number(number: Option<i64>) -> Json {
    const SAFE: i64 = (1 << 53) - 1;
    match number {
        Some(number) if (-SAFE..=SAFE).contains(&number) => number.into(),
        Some(number) => number.to_string().into(),
        None => Json::Null,
    }
}

/// A track and a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) pid: i64,
    pub(super) tid: i64,
    pub(super) t_ns: i64,
}

/// Nanoseconds as the format's microseconds, exactly.
pub(super) struct Micros(pub(super) i64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", ns / 1000, ns % 1000)
    }
}

/// The list of trace events as it is written.
pub(super) struct File<W: Write> {
    pub(super) out: BufWriter<W>,
    first: bool,
}

impl<W: Write> File<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out: BufWriter::new(out), first: true }
    }

    /// One trace event. `more` are members as JSON, each with a comma behind it; arguments that are
    /// null are left out.
    pub(super) fn event(
        &mut self,
        ph: &str,
        category: &str,
        name: &str,
        at: Place,
        more: &str,
        args: &[(&str, Json)],
    ) -> io::Result<()> {
        self.out.write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        write!(self.out, "{{\"ph\":\"{ph}\",\"cat\":\"{category}\",\"name\":")?;
        serde_json::to_writer(&mut self.out, name)?;
        write!(
            self.out,
            ",\"pid\":{},\"tid\":{},\"ts\":{},{more}\"args\":{{",
            at.pid,
            at.tid,
            Micros(at.t_ns)
        )?;
        let mut comma = "";
        for (key, value) in args.iter().filter(|(_, value)| !value.is_null()) {
            write!(self.out, "{comma}\"{key}\":")?;
            serde_json::to_writer(&mut self.out, value)?;
            comma = ",";
        }
        self.out.write_all(b"}}")
    }

    pub(super) fn meta(&mut self, what: &str, at: Place, key: &str, value: &Json) -> io::Result<()> {
        self.event("M", "__metadata", what, at, "", &[(key, value.clone())])
    }

    pub(super) fn counter(&mut self, name: &str, at: Place, series: &str, value: i64) -> io::Result<()> {
        self.event("C", "counter", name, at, "", &[(series, Json::from(value))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact() {
        for (ns, expected) in
            [(0, "0.000"), (7, "0.007"), (-1_234, "-1.234"), (i64::MAX, "9223372036854775.807")]
        {
            assert_eq!(Micros(ns).to_string(), expected);
        }
    }

    #[test]
    fn numbers_that_javascript_would_round_are_text() {
        assert_eq!(number(Some(7)), Json::from(7));
        assert_eq!(number(Some(i64::MIN)), Json::from("-9223372036854775808"));
        assert_eq!(number(None), Json::Null);
    }
}
