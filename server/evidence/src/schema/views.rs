//! The views. Their queries use SQLite's own functions alone, so that they work in any SQLite.

use super::{Kind, RUN, TRY, Table, int, text};

/// Every view.
pub(super) const VIEWS: &[Table] = &[
    Table {
        name: "served",
        kind: Kind::View,
        about: "One row for each HTTP request read from a connection that the program accepted.",
        columns: &[
            RUN,
            TRY,
            int("n", "Number of the request in its run, from 1."),
            int("serial", "The connection: `fds.serial`."),
            int("tid", "Thread that read it."),
            text("role", "Role of that thread."),
            text("method", "Its method."),
            text("path", "Its target, query included, as far as the tracer shows it."),
            int("read_id", "`events.id` of the read of its first bytes."),
            int("write_id", "`events.id` of the last write before the connection's next request. Null where nothing was written."),
            int("read_ns", "Start of that read."),
            int("write_ns", "End of that write."),
        ],
        // Methods: RFC 9110, section 9.3, and RFC 5789. `windows.rs` has the same list.
        sql: "
with calls as (
  select id, run, try, serial, tid, role, data, t_ns, coalesce(end_ns, t_ns) as end_ns,
    name in ('read', 'readv', 'recvfrom', 'recvmsg') and coalesce(substr(data, 1, instr(data, ' ') - 1), '')
      in ('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH') as asks,
    name in ('write', 'writev', 'sendto', 'sendmsg', 'sendfile') as writes
  from events
  where ok and serial in (select serial from sockets where direction = 'accept')
    and name in ('read', 'readv', 'recvfrom', 'recvmsg', 'write', 'writev', 'sendto', 'sendmsg', 'sendfile')
), turns as (
  select *, sum(asks) over (partition by serial order by id) as turn from calls
), requests as (
  select run, try, serial,
    max(tid) filter (where asks) as tid, max(role) filter (where asks) as role, max(data) filter (where asks) as data,
    min(id) as read_id, min(t_ns) as read_ns, max(id) filter (where writes) as write_id,
    max(end_ns) filter (where writes) as write_ns
  from turns where turn > 0
  group by serial, turn
), parts as (
  select *, substr(data, 1, instr(data, ' ') - 1) as method, substr(data, instr(data, ' ') + 1) as rest from requests
)
select run, try, row_number() over (partition by run, try order by read_id), serial, tid, role, method,
  case when instr(rest, ' ') then substr(rest, 1, instr(rest, ' ') - 1) else rest end,
  read_id, write_id, read_ns, write_ns
from parts",
    },
    Table {
        name: "gaps",
        kind: Kind::View,
        about: "One row for each span in which the main thread made no call: it computed, or waited for a processor. Needs the durations of calls.",
        columns: &[
            RUN,
            TRY,
            int("after_id", "`events.id` of the call before it."),
            int("before_id", "`events.id` of the call after it."),
            int("t_ns", "Its start: the end of the call before it."),
            int("dur_ns", "Its length, more than 0."),
            text("phase", "Phase of the call before it."),
            text("win", "Window of the calls on both sides; null where they differ."),
        ],
        // Pairs by id alone, the order of the rows: a window by run, or of more columns, takes twice as long.
        sql: "
select b.run, b.try, a.id, b.id, a.end_ns, b.t_ns - a.end_ns, a.phase, case when a.win = b.win then b.win end
from (
  select id, lag(id) over (order by id) as after_id from events where role = 'main' and kind = 'syscall'
) pair
join events a on a.id = pair.after_id
join events b on b.id = pair.id
where a.run = b.run and a.try = b.try and b.t_ns > a.end_ns",
    },
    Table {
        name: "steps",
        kind: Kind::View,
        about: "What happened to the connections that the program asked for (TCP), a letter each, and the waits between. `shape(step order by id)` makes a word of them: two requests one after the other are `CW~RCW~R`, two at once `CCWW~RR`.",
        columns: &[
            int("id", "Its `events.id`."),
            RUN,
            TRY,
            text("role", "Role of the thread."),
            text("win", "Window it was begun in."),
            int("serial", "The connection: `fds.serial`. Null for a wait."),
            text("step", "`C`: a connect. `W`: bytes written. `R`: bytes read. `~`: a wait for events longer than 1 ms."),
        ],
        sql: "
select e.id, e.run, e.try, e.role, e.win, e.serial, 'C'
from sockets s join events e on e.id = s.connect_id
where s.type = 'stream' and s.family in ('AF_INET', 'AF_INET6')
union all
select id, run, try, role, win, serial,
  case when name in ('write', 'writev', 'sendto', 'sendmsg', 'sendfile') then 'W' else 'R' end
from events
where bytes > 0
  and name in ('read', 'readv', 'recvfrom', 'recvmsg', 'write', 'writev', 'sendto', 'sendmsg', 'sendfile')
  and serial in (select serial from sockets where direction = 'connect' and type = 'stream'
                 and family in ('AF_INET', 'AF_INET6'))
union all
select w.id, w.run, w.try, w.role, e.win, null, '~'
from waits w join events e on e.id = w.id
where w.dur_ns > 1000000",
    },
];
