import { computed, onScopeDispose, ref, shallowRef, watch, type Ref } from 'vue'
import { traceUrl } from '../../api/client.ts'
import type { Failure } from '../../api/failure.ts'
import type { Run } from '../../api/types.ts'
import type { Contents, Questions, Topic } from './protocol.ts'
import type { LineDetails } from './trace-book.ts'
import { openTrace, type TraceClient } from './trace-client.ts'
import { NO_FILTER, type Filter } from './trace-filter.ts'
import { useRows } from './useRows.ts'

const FILTER_AFTER_MS = 150

/** The trace of one run: fetched once, filtered, and one line of it the current one. */
export function useTrace(run: Ref<Run | null>) {
  const contents = shallowRef<Contents | null>(null)
  const failure = shallowRef<Failure | null>(null)
  const progress = ref(0)
  const filter = ref<Filter>({ ...NO_FILTER })
  const filtering = ref(false)
  const shown = shallowRef({ version: 0, rows: 0, matches: 0 })
  /** The current row, and the line in it. */
  const row = ref(0)
  const details = shallowRef<LineDetails | null>(null)
  const version = computed(() => shown.value.version)

  let client: TraceClient | null = null
  let [opened, resolveOpened] = promise()
  /** Set while a change waits to be applied. */
  let timer = 0
  /** The end of the newest filtering. */
  let applied: Promise<void> = Promise.resolve()
  const ask = <T extends Topic>(topic: T, about: Questions[T]['ask']) => client?.ask(topic, about)
  const rows = useRows(version, (from, to) => ask('rows', { from, to }))

  function open(): void {
    client?.close()
    client = null
    contents.value = failure.value = details.value = null
    progress.value = row.value = 0
    filter.value = { ...NO_FILTER }
    shown.value = { version: 0, rows: 0, matches: 0 }
    rows.clear()
    ;[opened, resolveOpened] = promise()
    if (!run.value) return
    const { id, trace_bytes, trace_lines } = run.value
    client = openTrace(
      { url: traceUrl(id), bytes: trace_bytes, lines: trace_lines },
      {
        progress: (bytes) => (progress.value = bytes),
        opened: (all) => {
          contents.value = all
          shown.value = { version: 0, rows: all.lines, matches: all.lines }
          resolveOpened()
          void select(0)
        },
        failed: (why) => (failure.value = why),
      },
    )
  }

  function applyFilter(): Promise<void> {
    clearTimeout(timer)
    timer = 0
    applied = filterNow()
    return applied
  }

  async function filterNow(): Promise<void> {
    const line = details.value?.line ?? 1
    filtering.value = true
    const now = await ask('filter', { ...filter.value })
    if (!now) return
    filtering.value = false
    shown.value = now
    rows.clear()
    const place = await ask('rowOf', { line })
    await select(place?.row ?? 0)
  }

  /** Filters a moment after the last change. */
  function change(part: Partial<Filter>): void {
    filter.value = { ...filter.value, ...part }
    clearTimeout(timer)
    timer = window.setTimeout(() => void applyFilter(), FILTER_AFTER_MS)
  }

  /** Rows and matches mean something once the last change is applied. */
  function upToDate(): Promise<void> {
    return timer ? applyFilter() : applied
  }

  /** Makes a row the current one. */
  async function select(to: number): Promise<void> {
    row.value = Math.min(Math.max(to, 0), Math.max(shown.value.rows - 1, 0))
    if (shown.value.rows === 0) {
      details.value = null
      return
    }
    const wanted = row.value
    const found = await ask('rows', { from: wanted, to: wanted + 1 })
    const line = found?.lines[0]?.line
    const all = line === undefined ? null : await ask('details', { line })
    if (wanted === row.value) details.value = all ?? null
  }

  /** Goes to a line, lifting a filter that hides it. Answers what was done. */
  async function goTo(line: number): Promise<'shown' | 'unfiltered' | 'missing'> {
    await opened
    if (!contents.value || line < 1 || line > contents.value.lines) return 'missing'
    await upToDate()
    let place = await ask('rowOf', { line })
    const hidden = !place?.exact
    if (hidden) {
      filter.value = { ...NO_FILTER, matchesOnly: filter.value.matchesOnly }
      await applyFilter()
      place = await ask('rowOf', { line })
    }
    await select(place?.row ?? 0)
    return hidden ? 'unfiltered' : 'shown'
  }

  async function goToMatch(step: 1 | -1): Promise<void> {
    await upToDate()
    const to = await ask('match', { row: row.value, step })
    if (to != null) await select(to)
  }

  watch(() => run.value?.id, open, { immediate: true })
  onScopeDispose(() => {
    clearTimeout(timer)
    client?.close()
  })

  return {
    contents,
    failure,
    progress,
    filter,
    filtering,
    shown,
    row,
    details,
    rows,
    change,
    select,
    goTo,
    goToMatch,
    reopen: open,
  }
}

function promise(): [made: Promise<void>, resolve: () => void] {
  let resolve = () => {}
  const made = new Promise<void>((done) => (resolve = done))
  return [made, resolve]
}

export type TraceState = ReturnType<typeof useTrace>
