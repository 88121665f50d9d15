//! What a limit cut short, told from the evidence: facts that a learner can act on.

use evidence::{Evidence, QueryLimits};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::run::{Outcome, Run};

/// What the trace tells of a run that a limit ended. A part is `None` where it does not apply, or the trace does
/// not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// Time ran out: what the main thread did last.
    pub last_call: Option<LastCall>,
    /// Time ran out: when the main thread last left its event loop (or boot, where it never came to the loop), in
    /// ns from the trace's start.
    pub left_loop_ns: Option<i64>,
    /// Processes ran out: processes and threads that were alive when the first was refused.
    pub alive: Option<u32>,
    /// A disk was full: which, and of what.
    pub full: Option<Full>,
    /// The trace was too long: what most of it was.
    pub commonest: Option<Commonest>,
}

/// The last call of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCall {
    /// Its name.
    pub name: String,
    /// Its line of the trace.
    pub line: u32,
    /// Its start, in ns from the trace's start.
    pub start_ns: i64,
    /// Whether it had not returned when the run ended.
    pub in_flight: bool,
    /// Whether it is the event loop's own wait.
    pub poll: bool,
}

/// A writable place that was full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Full {
    /// Its folder.
    pub place: String,
    /// Full of files and folders, rather than of bytes.
    pub entries: bool,
}

/// The call that was made most often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commonest {
    /// Its name.
    pub name: String,
    /// How often it was made.
    pub calls: u64,
}

const LAST_CALL: &str = "
    select name, line, t_ns, ret is null and name not in ('exit_group', 'exit'),
           name in ('epoll_wait', 'epoll_pwait', 'epoll_pwait2')
    from events where run = :run and try = :try and role = 'main' and kind = 'syscall' and t_ns is not null
    order by id desc limit 1";

const LEFT_LOOP: &str = "
    select coalesce(
      (select max(end_ns) from events where run = :run and try = :try and role = 'main' and phase = 'user'
         and name in ('epoll_wait', 'epoll_pwait', 'epoll_pwait2') and ret is not null),
      (select min(t_ns) from events where run = :run and try = :try and role = 'main' and phase = 'user'))";

const ALIVE: &str = "
    with refused as (select t_ns from events where run = :run and try = :try
                       and name in ('clone', 'clone3', 'fork', 'vfork') and errno = 'EAGAIN' order by id limit 1)
    select count(*) from threads, refused where run = :run and try = :try
      and (created_ns is null or created_ns <= refused.t_ns) and (exited_ns is null or exited_ns > refused.t_ns)
    having count(*) > 0";

const FULL: &str = "
    select coalesce(e.real, f.path, e.path), e.name
    from events e left join fds f on f.serial = e.serial
    where e.run = :run and e.try = :try and e.errno = 'ENOSPC' and e.name not in ('inotify_add_watch', 'epoll_ctl')
    order by e.id limit 1";

const COMMONEST: &str = "
    select name, count(*) from events where run = :run and try = :try and kind = 'syscall'
    group by name order by count(*) desc, name limit 1";

/// What the evidence tells of a run that a limit struck; `None` for any other run. Total: what cannot be
/// told is left out.
#[must_use]
pub fn explain(evidence: &Evidence, run: &Run) -> Option<Explanation> {
    let ask = |sql| ask(evidence, run, sql);
    let told = Explanation::default();
    Some(match run.outcome {
        Outcome::Exited | Outcome::Signalled => return None,
        Outcome::MemoryLimit | Outcome::OutputLimit => told,
        Outcome::WallLimit => Explanation {
            last_call: ask(LAST_CALL).and_then(|row| last_call(&row)),
            left_loop_ns: ask(LEFT_LOOP).and_then(|row| row.first()?.as_i64()),
            ..told
        },
        Outcome::ProcessLimit => {
            let count = ask(ALIVE).and_then(|row| row.first()?.as_u64());
            Explanation { alive: count.and_then(|n| n.try_into().ok()), ..told }
        }
        Outcome::DiskLimit => Explanation { full: ask(FULL).and_then(|row| full(&row)), ..told },
        Outcome::TraceLimit => {
            Explanation { commonest: ask(COMMONEST).and_then(|row| commonest(&row)), ..told }
        }
    })
}

/// The first row.
fn ask(evidence: &Evidence, run: &Run, sql: &str) -> Option<Vec<Value>> {
    let params = [("run".to_owned(), json!(run.label)), ("try".to_owned(), json!(run.try_no))];
    evidence.query(sql, &params, &QueryLimits::default()).ok()?.rows.into_iter().next()
}

fn last_call(row: &[Value]) -> Option<LastCall> {
    let [name, line, start, in_flight, poll] = row else { return None };
    Some(LastCall {
        name: name.as_str()?.to_owned(),
        line: line.as_u64()?.try_into().ok()?,
        start_ns: start.as_i64()?,
        in_flight: in_flight.as_i64()? == 1,
        poll: poll.as_i64()? == 1,
    })
}

fn full(row: &[Value]) -> Option<Full> {
    let [path, call] = row else { return None };
    let path = path.as_str()?;
    let inside =
        |place: &&str| path.strip_prefix(*place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let place = match ["/lab", "/tmp", "/dev/shm"].into_iter().find(inside) {
        Some(place) => place,
        // Relative: the program began in the work folder.
        None if !path.starts_with('/') => "/lab",
        None => return None,
    };
    // What makes a new entry needs no room for bytes; what writes needs no new entry.
    let makes = ["open", "creat", "mkdir", "mknod", "symlink", "link"];
    let entries = makes.iter().any(|prefix| call.as_str().is_some_and(|call| call.starts_with(prefix)));
    Some(Full { place: place.to_owned(), entries })
}

fn commonest(row: &[Value]) -> Option<Commonest> {
    let [name, calls] = row else { return None };
    Some(Commonest { name: name.as_str()?.to_owned(), calls: calls.as_u64()? })
}
