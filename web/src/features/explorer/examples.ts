import type { LabQuery } from '../../api/types.ts'
import type { DataMessages } from '../../i18n/index.ts'

/** Questions that can be asked of any trace. Titles are in the page's language, so they come from there. */
export function generalQueries(t: DataMessages): LabQuery[] {
  const { opens, roles, sleeps } = t.explorer.general
  return [
    {
      title: opens,
      sql: `select run, role, tid, path, t_ns, id
from events
where name in ('open', 'openat') and ok and phase = 'user'
order by id`,
    },
    {
      title: roles,
      sql: `select run, role, count(*) as calls, count(errno) as errors,
  sum(dur_ns) as inside_ns, max(dur_ns) as longest_ns
from events
where kind = 'syscall'
group by run, role
order by run, calls desc`,
    },
    {
      title: sleeps,
      sql: `select id, run, t_ns, dur_ns, timeout_ms, ready
from waits
where role = 'main' and dur_ns is not null
order by dur_ns desc
limit 20`,
    },
  ]
}
