import type { Run } from '../../api/types.ts'
import { formatBytes, formatCount } from '../../components/format.ts'
import type { Lang, Messages } from '../../i18n/index.ts'

type LimitedRun = Pick<Run, 'outcome' | 'wall_ms' | 'max_memory_bytes' | 'stdout' | 'stderr' | 'limit'>
type Limit = NonNullable<Run['limit']>

/** A last call that began so shortly before the end was one of many. */
const RECENT_MS = 200

/** What the evidence tells of the limit that struck, a sentence each; nothing where none did. */
export function limitTexts(run: LimitedRun, t: Messages, lang: Lang): string[] {
  const { limit } = run
  if (!limit) return []
  const allowed = limit.allowed ?? null
  switch (run.outcome) {
    case 'wall_limit':
      return wall(run, limit, t)
    case 'memory_limit': {
      const peak = run.max_memory_bytes
      if (peak == null || allowed == null) return []
      return [t.runs.limit.memory(formatBytes(peak, lang), formatBytes(allowed, lang))]
    }
    case 'process_limit':
      if (limit.alive == null || allowed == null) return []
      return [t.runs.limit.processes(limit.alive, allowed)]
    case 'output_limit':
      return (['stdout', 'stderr'] as const)
        .filter((stream) => run[stream].dropped_bytes > 0 && allowed != null)
        .map((stream) => t.runs.limit.output(stream, formatBytes(allowed ?? 0, lang)))
    case 'disk_limit': {
      const { full } = limit
      if (!full) return []
      if (full.entries) return [t.runs.limit.entries(full.place)]
      return allowed == null ? [] : [t.runs.limit.disk(full.place, formatBytes(allowed, lang))]
    }
    case 'trace_limit': {
      const most = limit.commonest
      return most ? [t.runs.limit.trace(most.name, formatCount(most.calls, lang))] : []
    }
    default:
      return []
  }
}

/** What the main thread did last. */
function wall(run: LimitedRun, limit: Limit, t: Messages): string[] {
  const { units } = t
  const time = (ms: number) => (ms < 1000 ? units.ms(ms) : units.seconds(ms))
  const call = limit.last_call
  if (!call) return []
  const texts = t.runs.limit
  if (call.poll && call.in_flight) return [texts.waiting(call.name, time(call.at_ms), call.line)]
  const left = limit.left_loop_ms == null ? [] : [texts.leftLoop(time(limit.left_loop_ms))]
  if (call.in_flight) return [...left, texts.inCall(call.name, time(call.at_ms), call.line)]
  const busy = run.wall_ms - call.at_ms < RECENT_MS
  return [...left, (busy ? texts.calling : texts.computing)(call.name, time(call.at_ms), call.line)]
}
