//! `--timeline`: threads along the time, in characters.

use std::io::{self, IsTerminal, Write};

use evidence::{Family, printable};
use strace::{EventKind, Phase, Thread, Trace};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::input::Read;
use super::units;
use crate::config;

/// Lanes drawn; of further threads only the number is said.
const LANES: usize = 40;
/// Columns for a lane's name.
const NAME: usize = 26;
/// Columns where the output is no terminal.
const WIDTH: u16 = 100;
/// Columns from one time of the axis to the next.
const TICK: usize = 14;

/// What is drawn of the time.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: i64,
    end: i64,
    columns: usize,
}

impl Span {
    fn column(self, t_ns: i64) -> usize {
        let length = i128::from(self.end - self.start).max(1);
        let ahead = i128::from(t_ns - self.start).max(0) * self.columns as i128 / length;
        usize::try_from(ahead).unwrap_or(0).min(self.columns - 1)
    }

    fn time(self, column: usize) -> i64 {
        let ahead = i128::from(self.end - self.start) * column as i128 / self.columns as i128;
        self.start + i64::try_from(ahead).unwrap_or(0)
    }
}

pub(super) fn print(read: &Read, config: &config::Trace, out: &mut impl Write) -> io::Result<()> {
    let trace = &read.trace;
    let first = trace.events.iter().filter_map(strace::Event::t_ns).min();
    let Some(first) = first else {
        return writeln!(out, "There is no picture without times: trace with strace -ttt -T.\n");
    };
    let user = trace.events.iter().find(|event| event.phase != Phase::Boot).and_then(strace::Event::t_ns);
    let start = user.filter(|_| !config.boot).unwrap_or(first);
    let width = usize::from(config.width.or_else(terminal).unwrap_or(WIDTH).max(40));
    let span = Span { start, end: read.wall_ns.max(start + 1), columns: width - NAME - 1 };
    if start > first {
        writeln!(
            out,
            "{:NAME$} the first {} (boot) are left out: --boot",
            "",
            units::duration(start - first)
        )?;
    }
    axis(span, out)?;
    let marks = marks(trace, span, out)?;
    let lanes = lanes(trace, span);
    for (thread, lane) in trace.threads.iter().zip(&lanes).take(LANES) {
        writeln!(out, "{} {}", name(thread), lane.iter().collect::<String>().trim_end())?;
    }
    if trace.threads.len() > LANES {
        writeln!(out, "and {} more", units::count(trace.threads.len() - LANES, "thread"))?;
    }
    writeln!(out)?;
    for mark in marks {
        writeln!(out, "  {mark}")?;
    }
    let legend: Vec<String> =
        Family::ALL.iter().map(|family| format!("{} {}", letter(*family), family.as_str())).collect();
    writeln!(out, "  {}", legend.join("   "))?;
    writeln!(out, "  a column is {}; blank: in no traced call\n", units::duration(span.time(1) - start))
}

/// Columns of the terminal that the output goes to.
fn terminal() -> Option<u16> {
    if !io::stdout().is_terminal() {
        return None;
    }
    Some(rustix::termios::tcgetwinsize(io::stdout()).ok()?.ws_col).filter(|columns| *columns > 0)
}

/// Times above the lanes, from the start of what is drawn.
fn axis(span: Span, out: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    for column in (0..span.columns).step_by(TICK) {
        if column + TICK <= span.columns || column == 0 {
            line.push_str(&format!(
                "{:<TICK$}",
                format!("|{}", units::duration(span.time(column) - span.start))
            ));
        }
    }
    writeln!(out, "{:NAME$} {}", "", line.trim_end())
}

/// Numbers where marks are; their names for below.
fn marks(trace: &Trace, span: Span, out: &mut impl Write) -> io::Result<Vec<String>> {
    let mut row = vec![' '; span.columns];
    let mut names = Vec::new();
    let timed = trace.marks.iter().filter_map(|mark| {
        let t_ns = trace.events.get(mark.event as usize)?.t_ns()?;
        (t_ns >= span.start).then_some((mark, t_ns))
    });
    for (number, (mark, t_ns)) in ('1'..='9').chain('a'..='z').zip(timed) {
        row[span.column(t_ns)] = number;
        let at = units::duration(t_ns - span.start);
        names.push(format!("{number} mark {} at {at}", printable(&mark.name)));
    }
    if !names.is_empty() {
        let row: String = row.into_iter().collect();
        writeln!(out, "{:NAME$} {}", "marks", row.trim_end())?;
    }
    Ok(names)
}

/// What each thread did in each column. A call, however short, is seen before a wait: a column of a
/// second's trace is ten milliseconds, and most calls take some microseconds.
fn lanes(trace: &Trace, span: Span) -> Vec<Vec<char>> {
    const FAMILIES: usize = Family::ALL.len();
    let shown = trace.threads.len().min(LANES);
    let mut weights = vec![vec![[0_i64; FAMILIES]; span.columns]; shown];
    for event in trace.events.iter().filter(|event| event.kind == EventKind::Syscall) {
        let (Some(lane), Some(from)) = (weights.get_mut(event.thread as usize), event.t_ns()) else {
            continue;
        };
        // A call that never returned lasted until its thread's end.
        let open = event.ret().is_none() && trace.errno(event).is_none();
        let ended = trace.thread(event).exited_ns.unwrap_or(span.end);
        let to = event.end_ns().unwrap_or(if open { ended } else { from });
        if to < span.start {
            continue;
        }
        let kind =
            event.serial().and_then(|serial| trace.fds.get(serial as usize)).map(|life| life.kind.as_str());
        let family = Family::of(trace.name(event), kind);
        let place = Family::ALL.iter().position(|other| *other == family).unwrap_or(0);
        let (first, last) = (span.column(from), span.column(to));
        for column in lane.iter_mut().take(last + 1).skip(first) {
            // Whole columns weigh the same, whatever part of one a call takes.
            let part = if first == last { (to - from).max(1) } else { span.time(1) - span.start };
            column[place] = column[place].saturating_add(part);
        }
    }
    let shown = |column: &[i64; FAMILIES]| {
        let heaviest = |wait: bool| {
            let families = Family::ALL
                .iter()
                .zip(column)
                .filter(|(family, weight)| (**family == Family::Wait) == wait && **weight > 0);
            families.max_by_key(|(_, weight)| **weight).map(|(family, _)| letter(*family))
        };
        heaviest(false).or_else(|| heaviest(true)).unwrap_or(' ')
    };
    weights.iter().map(|lane| lane.iter().map(shown).collect()).collect()
}

const fn letter(family: Family) -> char {
    match family {
        Family::File => 'f',
        Family::Network => 'n',
        Family::Pipe => 'p',
        Family::Process => 'P',
        Family::Other => 'o',
        Family::Wait => '.',
    }
}

/// Role, number and name of a thread in exactly [`NAME`] columns.
fn name(thread: &Thread) -> String {
    let comm = thread.comm.as_deref().map(printable).unwrap_or_default();
    let full = format!("{} {} {comm}", thread.role.as_str(), thread.tid);
    let (mut name, mut width) = (String::new(), 0);
    for c in full.trim_end().chars() {
        width += c.width().unwrap_or(0);
        if width > NAME {
            break;
        }
        name.push(c);
    }
    let pad = NAME - name.width().min(NAME);
    name + &" ".repeat(pad)
}
