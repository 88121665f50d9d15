import { onScopeDispose, ref, shallowRef, watch, type Ref } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { hashOf, NOWHERE, parsePlace, type Place, type TracePlace, type View } from './place.ts'

/** Browsers allow few changes of the address in a short time. */
const WRITE_AFTER_MS = 400

/** Which view of the attempt is open, and where in it, kept in the address: it can be reloaded and linked. */
export function usePlace(attemptId: Ref<string | null>) {
  const route = useRoute()
  const router = useRouter()
  const view = ref<View>('report')
  /** What the views are asked to show. They move on by themselves and say so with `moved` and `asked`. */
  const traceAt = shallowRef<TracePlace>(NOWHERE)
  const sql = ref<string | null>(null)
  let latest: { trace: TracePlace; explorer: string | null } = { trace: NOWHERE, explorer: null }
  let written = ''
  let timer = 0

  function read(hash: string): void {
    const place = parsePlace(hash)
    if (!place || hash === written) return
    written = hash
    view.value = place.view
    if (place.view === 'trace') latest.trace = traceAt.value = place.at
    if (place.view === 'explorer') latest.explorer = sql.value = place.sql
  }

  function write(how: 'push' | 'replace'): void {
    clearTimeout(timer)
    const places: Record<View, Place> = {
      report: { view: 'report' },
      trace: { view: 'trace', at: latest.trace },
      explorer: { view: 'explorer', sql: latest.explorer },
    }
    written = hashOf(places[view.value])
    if (written !== route.hash) void router[how]({ hash: written })
  }

  function choose(now: View): void {
    if (now === view.value) return
    view.value = now
    write('push')
  }

  function openTrace(at: TracePlace): void {
    latest.trace = traceAt.value = at
    view.value = 'trace'
    write('push')
  }

  function moved(at: TracePlace): void {
    latest.trace = at
    clearTimeout(timer)
    if (view.value === 'trace') timer = window.setTimeout(() => write('replace'), WRITE_AFTER_MS)
  }

  function asked(now: string): void {
    latest.explorer = now
    if (view.value === 'explorer') write('replace')
  }

  watch(() => route.hash, read, { immediate: true })
  // Lines and queries of one attempt mean nothing in another.
  watch(attemptId, (_, before) => {
    if (!before) return
    latest = { trace: NOWHERE, explorer: latest.explorer }
    traceAt.value = NOWHERE
  })
  onScopeDispose(() => clearTimeout(timer))

  return { view, traceAt, sql, choose, openTrace, moved, asked }
}
